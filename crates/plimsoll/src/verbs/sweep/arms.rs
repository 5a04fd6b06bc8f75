//! Several servers, one after the other, in one report.

use super::{Server, measure};
use crate::cli::SweepArgs;
use crate::coordinate::unless_interrupted;
use crate::exit::{CommandError, Exit};
use crate::output::deliver::{deliver, deliver_to_ci, exit, with_thresholds};
use crate::output::printer;
use crate::result::{Asked, sweeps_record};
use crate::session::serving;
use crate::session::sinks::Sink;
use crate::settings::clients::Machines;
use crate::settings::draft::Draft;
use crate::store;
use crate::store::Recorder;
use model::{Event, Redacted, SessionEvent};
use report::record::{AnyRecord, arm_folder};
use stack::Spec;
use stats::SweepSettings;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sweeps each server. When one fails the others are still reported, and the first failure is the outcome.
pub(super) fn sweep(
    args: &SweepArgs,
    options: (&Draft, &Asked),
    search: &SweepSettings,
    (specs, machines): (&[Spec], &Machines),
    stop: &Arc<AtomicBool>,
) -> Result<Exit, CommandError> {
    // Made with the first arm, so that a failure before it leaves no directory.
    let mut top: Option<PathBuf> = None;
    let (mut arms, mut failed) = (Vec::new(), None);
    for (index, spec) in specs.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let label = serving::label(spec);
        if !args.output.quiet {
            printer::note(&format!("server {} of {}: {label}", index + 1, specs.len()));
        }
        // Arms that nothing was measured of have no place in the report.
        let folder = arm_folder(arms.len(), &label);
        let server = Server { spec: Some(spec), arm: Some(label.clone()), machines };
        let measured = measure(args, options, search, server, stop, |started| {
            let top = match &top {
                Some(top) => top,
                None => top.insert(create(args, started, specs.len())?),
            };
            store::create(Some(&top.join(&folder)), "sweep", started)
        });
        let walked = measured.and_then(|measured| {
            let record = measured.record;
            // Now, as the next arm may be the last thing this machine does.
            store::write_arm(&measured.directory, &report::json::sweep(&record));
            arms.push((label.to_string(), record));
            measured.walked
        });
        if let Err(error) = unless_interrupted(walked) {
            let error = CommandError { message: format!("{label}: {}", error.message), ..error };
            if failed.is_none() {
                failed = Some(error);
            } else {
                printer::error(&error.message);
            }
        }
    }
    if let (Some(top), false) = (&top, arms.is_empty()) {
        let record = sweeps_record(arms, specs.len() as u64);
        deliver(top, AnyRecord::Sweeps(&record), None, &args.output)?;
        let (whole, interrupted) = (AnyRecord::Sweeps(&record), stop.load(Ordering::Relaxed));
        deliver_to_ci(top, whole, &args.thresholds)?;
        return failed.map_or_else(|| Ok(with_thresholds(exit(record.verdict.state, interrupted), whole)), Err);
    }
    Err(failed.unwrap_or_else(CommandError::interrupted))
}

/// The directory of all arms, and how many there are to be.
fn create(args: &SweepArgs, started: &str, arms: usize) -> Result<PathBuf, CommandError> {
    let top = store::create(args.output.output.as_deref(), "sweep", started)?;
    let planned = Event::Session(SessionEvent::Arms { planned: arms as u64 });
    Recorder::without_histograms(&top)?.take(&Redacted::new(planned));
    Ok(top)
}
