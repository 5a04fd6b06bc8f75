//! Several servers, one after the other, in one report.

use super::measure;
use crate::cli::SweepArgs;
use crate::deliver::{deliver, exit};
use crate::exit::{Exit, Trouble};
use crate::{printer, store};
use report::record::{AnyRecord, arm_folder, sweeps_record};
use stack::Spec;
use stats::SweepSettings;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sweeps each server. When one fails the others are still reported, and the first failure is the outcome.
pub(super) fn sweep(
    args: &SweepArgs,
    search: &SweepSettings,
    specs: &[Spec],
    stop: &Arc<AtomicBool>,
) -> Result<Exit, Trouble> {
    // Made with the first arm, so that a failure before it leaves no directory.
    let mut top: Option<PathBuf> = None;
    let (mut arms, mut failed) = (Vec::new(), None);
    for (index, spec) in specs.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if !args.output.quiet {
            printer::note(&format!("server {} of {}: {}", index + 1, specs.len(), spec.label));
        }
        // Arms that nothing was measured of have no place in the report.
        let folder = arm_folder(arms.len(), &spec.label);
        let measured = measure(args, search, Some(spec), stop, |started| {
            let top = match &top {
                Some(top) => top,
                None => top.insert(store::create(args.output.output.as_deref(), "sweep", started)?),
            };
            store::create(Some(&top.join(&folder)), "sweep", started)
        });
        let walked = measured.and_then(|measured| {
            let mut record = measured.record;
            record.arm = Some(spec.label.clone());
            // Now, as the next arm may be the last thing this machine does.
            store::write_arm(&measured.directory, &report::json::sweep(&record));
            arms.push((spec.label.clone(), record));
            measured.walked
        });
        if let Err(trouble) = walked {
            let trouble = Trouble { message: format!("{}: {}", spec.label, trouble.message), ..trouble };
            if failed.is_none() {
                failed = Some(trouble);
            } else {
                printer::error(&trouble.message);
            }
        }
    }
    if let (Some(top), false) = (&top, arms.is_empty()) {
        let record = sweeps_record(arms);
        deliver(top, AnyRecord::Sweeps(&record), &args.output)?;
        let interrupted = stop.load(Ordering::Relaxed);
        return failed.map_or_else(|| Ok(exit(record.verdict.state, interrupted)), Err);
    }
    Err(failed.unwrap_or_else(Trouble::interrupted))
}
