//! Several servers, one after the other, in one report.

use super::{Checked, measure};
use crate::cli::SweepArgs;
use crate::coordinate::unless_interrupted;
use crate::exit::{CommandError, Exit};
use crate::outlet::Sink;
use crate::output::printer;
use crate::result::sweeps_record;
use crate::serving;
use crate::store;
use crate::store::Recorder;
use crate::verbs::conclude::{Finished, finish};
use crate::verbs::deliver::{deliver, deliver_to_ci};
use crate::verbs::exit_code::exit_code;
use model::{Event, Redacted, SessionEvent};
use report::record::{AnyRecord, arm_folder};
use report::stored::Record;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sweeps each server. When one fails the others are still reported, and the first failure is the outcome.
pub(super) fn sweep(args: &SweepArgs, checked: &Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    let specs = &checked.target.specs;
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
        let measured = measure(args, checked, (Some(spec), Some(label.clone())), stop, |started| {
            let top = match &top {
                Some(top) => top,
                None => top.insert(create(args, started, specs.len())?),
            };
            store::create(Some(&top.join(&folder)), "sweep", started)
        });
        let walked = measured.and_then(|(journal, walked)| {
            let Finished { journal, record, walked } = finish(journal, walked, stop)?;
            if let Record::Sweep(record) = record {
                // Now, as the next arm may be the last thing this machine does.
                store::write_arm(journal.directory(), &report::json::sweep(&record));
                arms.push((label.to_string(), *record));
            }
            walked
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
        deliver_to_ci(top, AnyRecord::Sweeps(&record), &args.thresholds.files)?;
        let is_stopped = stop.load(Ordering::Relaxed);
        let exit = if is_stopped { Exit::Interrupted } else { exit_code(AnyRecord::Sweeps(&record)) };
        return failed.map_or(Ok(exit), Err);
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
