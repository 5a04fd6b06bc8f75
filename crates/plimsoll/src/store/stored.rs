//! Reads a run directory back: the record, and the histograms beside it.

use crate::exit::CommandError;
use crate::store::{HISTOGRAMS, RESULT, has_events};
use evidence::interval_log::Intervals;
use input::{ReadError, open_file, read_open};
use model::{Basis, Histograms, RunRecord};
use report::Named;
pub(crate) use report::stored::Record;
use std::io::{BufReader, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Largest result: one of a week has half of it.
const RESULT_MAX_BYTES: u64 = 1 << 30;

/// A result that was read back.
pub(crate) struct Stored {
    /// Last part of the directory's path.
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) record: Record,
}

impl Stored {
    /// The result in `directory`; one line says what is wrong with what is none.
    pub(crate) fn read(directory: &Path) -> Result<Self, CommandError> {
        let wrong = |what: String| CommandError::usage(format!("{}: {what}", directory.display()));
        let text = text(directory).map_err(wrong)?;
        let record = Record::parse(&text).map_err(wrong)?;
        let whole = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.into());
        let name = whole.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { name, directory: directory.into(), record })
    }

    pub(crate) fn named(&self) -> Named<'_> {
        Named { name: &self.name, record: self.record.as_ref() }
    }

    /// The distributions of a run; none of sweeps and capacities, or when the histograms are gone or damaged.
    pub(crate) fn distributions(&self) -> Option<Histograms> {
        match &self.record {
            Record::Run(record) => distributions(&self.directory, basis(record)),
            Record::Sweep(_)
            | Record::Sweeps(_)
            | Record::Capacity(_)
            | Record::Compare(_)
            | Record::Experiment(_)
            | Record::Render(_) => None,
        }
    }
}

/// The path of what a list in `directory` names; none of what lies elsewhere, also by a link, as the list and what is there
/// may come from anywhere.
pub(crate) fn below(directory: &Path, name: &str) -> Option<PathBuf> {
    Path::new(name).components().try_fold(directory.to_path_buf(), |path, part| {
        let Component::Normal(part) = part else { return None };
        let path = path.join(part);
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        (!is_link).then_some(path)
    })
}

/// The content of one, which has at most `max_bytes`.
pub(crate) fn stored_bytes(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    read_open(open_file(path)?, max_bytes)
}

/// The same for text.
pub(crate) fn stored_text(path: &Path, max_bytes: u64) -> Result<String, ReadError> {
    String::from_utf8(stored_bytes(path, max_bytes)?).map_err(|_| ReadError::NotText)
}

/// The text of a result, or why there is none.
fn text(directory: &Path) -> Result<String, String> {
    stored_text(&directory.join(RESULT), RESULT_MAX_BYTES).map_err(|error| match error {
        ReadError::Io(error) => match error.kind() {
            ErrorKind::NotFound if has_events(directory) => {
                "the result is missing (no run.json): the measurement still runs, or it was killed; plimsoll report --recover \
                 DIR makes it of what was measured"
                    .into()
            }
            ErrorKind::NotFound if directory.is_dir() => "not a run directory (no run.json in it)".into(),
            ErrorKind::NotFound => "no such directory".into(),
            ErrorKind::NotADirectory => "not a directory; name the one that has the run.json".into(),
            _ => format!("cannot read its run.json: {error}"),
        },
        error => format!("cannot read its run.json: {error}"),
    })
}

/// What the numbers of a run rest on.
pub(crate) fn basis(record: &RunRecord) -> Basis {
    record.disturbance.as_ref().map_or(Basis::Whole, |seen| seen.basis)
}

/// The histograms of all seconds in `directory`, merged, on the `basis` of the record's numbers; none when there is nothing
/// to merge.
pub(crate) fn distributions(directory: &Path, basis: Basis) -> Option<Histograms> {
    let log = BufReader::new(open_file(&directory.join(HISTOGRAMS)).ok()?);
    let (mut merged, mut set_aside) = (Histograms::default(), Histograms::default());
    for interval in Intervals::new(log) {
        let interval = interval.ok()?;
        interval.place(&mut merged, &mut set_aside)?.add(&interval.histogram);
    }
    if basis == Basis::Clean {
        merged.subtract(&set_aside);
    }
    (!merged.response.is_empty()).then_some(merged)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;

    /// Makes a pipe, which nobody writes to.
    #[track_caller]
    pub(crate) fn pipe(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    }

    #[test]
    fn what_a_list_names_is_below_its_directory_and_behind_no_link() {
        let own = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("another");
        std::fs::create_dir(own.path().join("steps")).expect("our own directory");
        symlink(other.path(), own.path().join("steps/linked")).expect("a link in it");
        let below = |name| below(own.path(), name);
        assert_eq!(below("steps/001"), Some(own.path().join("steps/001")), "it need not be there");
        for elsewhere in ["../001", "/steps/001", "steps/../../001", "steps/linked", "steps/linked/001"] {
            assert_eq!(below(elsewhere), None, "{elsewhere}");
        }
    }

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
        assert!(read_error(directory).contains("it was killed"));
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

    #[test]
    fn files_without_an_end_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        for name in [RESULT, HISTOGRAMS] {
            symlink("/dev/zero", directory.path().join(name)).unwrap();
        }
        assert!(read_error(directory.path()).contains("run.json: it is no file"));
        assert!(distributions(directory.path(), Basis::Whole).is_none());
    }

    #[test]
    fn a_pipe_among_stored_files_holds_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        [RESULT, HISTOGRAMS].iter().for_each(|name| pipe(&directory.path().join(name)));
        assert!(read_error(directory.path()).contains("run.json: it is no file"));
        assert!(distributions(directory.path(), Basis::Whole).is_none());
    }

    #[test]
    fn a_result_of_another_encoding_is_told() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(RESULT), [0xff, 0xfe, b'{']).unwrap();
        assert!(read_error(directory.path()).contains("not text in UTF-8"));
    }
}
