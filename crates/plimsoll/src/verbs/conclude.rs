//! The end of every verb that measures: its record is stored and printed, CI gets its files, and the shell its exit code.

use super::exit_code::exit_code;
use crate::cli::OutputArgs;
use crate::cli::threshold::CiFiles;
use crate::coordinate::unless_interrupted;
use crate::exit::{CommandError, Exit};
use crate::journal::Journal;
use crate::result::NoRecord;
use crate::verbs::deliver::{deliver, deliver_to_ci};
use model::SessionEvent;
use report::stored::Record;
use std::sync::atomic::{AtomicBool, Ordering};

/// A measurement that has ended, and its record.
pub(super) struct Finished {
    pub(super) journal: Journal,
    pub(super) record: Record,
    /// What made it end early, if anything did but ^C.
    pub(super) walked: Result<(), CommandError>,
}

/// Tells the end of a measurement, and makes its record.
///
/// # Errors
/// When there is no record: what made it end early, or else why.
pub(super) fn finish(
    mut journal: Journal,
    walked: Result<(), CommandError>,
    stop: &AtomicBool,
) -> Result<Finished, CommandError> {
    let walked = unless_interrupted(walked);
    journal.tell(SessionEvent::Finished { interrupted: stop.load(Ordering::Relaxed) || walked.is_err() });
    match journal.measurement().record() {
        Ok(record) => Ok(Finished { journal, record, walked }),
        Err(why) => walked.and(Err(match why {
            NoRecord::NothingMeasured => CommandError::interrupted(),
            NoRecord::Wrong(why) => CommandError::usage(why),
        })),
    }
}

/// Ends a measurement that `walked` says the end of. What made it end early is told after what was measured until then.
pub(super) fn conclude(
    journal: Journal,
    walked: Result<(), CommandError>,
    stop: &AtomicBool,
    output: &OutputArgs,
    ci: Option<&CiFiles>,
) -> Result<Exit, CommandError> {
    let Finished { journal, record, walked } = finish(journal, walked, stop)?;
    let record = record.as_ref();
    deliver(journal.directory(), record, journal.measurement().distributions().as_deref(), output)?;
    ci.map_or(Ok(()), |files| deliver_to_ci(journal.directory(), record, files))?;
    walked?;
    // A run whose load had ended when ^C came has all of its window, and was interrupted all the same.
    Ok(if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { exit_code(record) })
}
