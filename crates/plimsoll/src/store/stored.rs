//! Reads a run directory back: the record, and the histograms beside it.

use crate::exit::CommandError;
use crate::store::{EVENTS, HISTOGRAMS, POINTS, RESULT};
use evidence::interval_log::Interval;
use model::{Basis, FORMAT_RUN, FORMAT_SWEEP, FORMAT_SWEEPS, Histograms, RunRecord, SweepRecord, SweepsRecord};
use report::Named;
use report::record::{ARMS_FOLDER, AnyRecord};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A result that was read back.
pub(crate) struct Stored {
    /// Last part of the directory's path.
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) record: Record,
}

/// Its record.
pub(crate) enum Record {
    Run(Box<RunRecord>),
    Sweep(Box<SweepRecord>),
    Sweeps(Box<SweepsRecord>),
}

impl Stored {
    /// The result in `directory`; one line says what is wrong with what is none.
    pub(crate) fn read(directory: &Path) -> Result<Self, CommandError> {
        let wrong = |what: String| CommandError::usage(format!("{}: {what}", directory.display()));
        let text = std::fs::read_to_string(directory.join(RESULT)).map_err(|error| {
            let unfinished = [EVENTS, POINTS, ARMS_FOLDER].iter().any(|name| directory.join(name).exists());
            wrong(match error.kind() {
                std::io::ErrorKind::NotFound if unfinished => {
                    "the result is missing (no run.json): the run has not ended yet, or did not end: --recover makes it of what \
                     was measured"
                        .into()
                }
                std::io::ErrorKind::NotFound if directory.is_dir() => "not a run directory (no run.json in it)".into(),
                std::io::ErrorKind::NotFound => "no such directory".into(),
                std::io::ErrorKind::NotADirectory => "not a directory; name the one that has the run.json".into(),
                _ => format!("cannot read its run.json: {error}"),
            })
        })?;
        let record = Record::parse(&text).map_err(wrong)?;
        let whole = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.into());
        let name = whole.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { name, directory: directory.into(), record })
    }

    pub(crate) fn named(&self) -> Named<'_> {
        Named { name: &self.name, record: self.record.as_ref() }
    }

    /// The distributions of a run; none of sweeps, or when the histograms are gone or damaged.
    pub(crate) fn distributions(&self) -> Option<Histograms> {
        match &self.record {
            Record::Run(record) => distributions(&self.directory, basis(record)),
            Record::Sweep(_) | Record::Sweeps(_) => None,
        }
    }
}

impl Record {
    pub(crate) fn as_ref(&self) -> AnyRecord<'_> {
        match self {
            Self::Run(record) => AnyRecord::Run(record),
            Self::Sweep(record) => AnyRecord::Sweep(record),
            Self::Sweeps(record) => AnyRecord::Sweeps(record),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("its run.json is no JSON: {error}"))?;
        let format = json.get("format").and_then(serde_json::Value::as_str).unwrap_or_default();
        let damaged = |error: serde_json::Error| format!("its run.json is no complete {format}: {error}");
        // From the text, as numbers have to be the same to the bit.
        match format {
            FORMAT_RUN => serde_json::from_str(text).map(Self::Run).map_err(damaged),
            FORMAT_SWEEP => serde_json::from_str(text).map(Self::Sweep).map_err(damaged),
            FORMAT_SWEEPS => match serde_json::from_str(text).map_err(damaged)? {
                SweepsRecord { sweeps, .. } if sweeps.is_empty() => {
                    Err(format!("its run.json is no complete {format}: there is no sweep in it"))
                }
                record => Ok(Self::Sweeps(Box::new(record))),
            },
            other if other.starts_with("plimsoll.") => Err(format!(
                "its format is {other:?}, and this plimsoll reads {FORMAT_RUN}, {FORMAT_SWEEP} and {FORMAT_SWEEPS}"
            )),
            _ => Err("its run.json is not of plimsoll (no format it knows)".into()),
        }
    }
}

/// What the numbers of a run rest on.
pub(crate) fn basis(record: &RunRecord) -> Basis {
    record.disturbance.as_ref().map_or(Basis::Whole, |seen| seen.basis)
}

/// The histograms of all seconds in `directory`, merged, on the `basis` of the record's numbers; none when there is nothing
/// to merge.
pub(crate) fn distributions(directory: &Path, basis: Basis) -> Option<Histograms> {
    let log = BufReader::new(File::open(directory.join(HISTOGRAMS)).ok()?);
    let (mut merged, mut set_aside) = (Histograms::default(), Histograms::default());
    for line in log.lines() {
        let Some(interval) = Interval::parse(&line.ok()?).ok()? else { continue };
        interval.place(&mut merged, &mut set_aside)?.add(&interval.histogram);
    }
    if basis == Basis::Clean {
        merged.subtract(&set_aside);
    }
    (!merged.response.is_empty()).then_some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read_error(directory: &Path) -> String {
        Stored::read(directory).err().expect("no result").message
    }

    #[test]
    fn what_is_no_result_is_told_in_one_line() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path();
        assert!(read_error(&directory.join("nowhere")).ends_with("no such directory"));
        assert!(read_error(directory).contains("not a run directory"));
        std::fs::write(directory.join("events.jsonl"), "").unwrap();
        assert!(read_error(directory).contains("did not end"));
        assert!(read_error(&directory.join("events.jsonl")).contains("not a directory"));
        let without_sweeps = report::json::sweeps(&report::record::sweeps_record(Vec::new()));
        for (text, said) in [
            ("{", "no JSON"),
            ("[1]", "not of plimsoll"),
            (r#"{"format":"other/1"}"#, "not of plimsoll"),
            (r#"{"format":"plimsoll.run/2"}"#, "\"plimsoll.run/2\", and this plimsoll reads plimsoll.run/1"),
            (r#"{"format":"plimsoll.sweep/1"}"#, "no complete plimsoll.sweep/1"),
            (r#"{"format":"plimsoll.sweeps/1"}"#, "no complete plimsoll.sweeps/1"),
            (&without_sweeps, "there is no sweep in it"),
        ] {
            std::fs::write(directory.join("run.json"), text).unwrap();
            let message = read_error(directory);
            assert!(message.contains(said) && message.lines().count() == 1, "{message}");
        }
    }

    #[test]
    fn histograms_that_are_gone_or_damaged_are_none() {
        let directory = tempfile::tempdir().unwrap();
        assert!(distributions(directory.path(), Basis::Whole).is_none());
        std::fs::write(directory.path().join("latency.hlog"), "Tag=response,0.000,1.000,1.000,AAAA\n").unwrap();
        assert!(distributions(directory.path(), Basis::Whole).is_none());
    }
}
