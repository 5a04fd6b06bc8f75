//! The run directory: `run.json`, `events.jsonl` and `latency.hlog`, written as the run goes.
//!
//! Every tick is on its way to the disk before the next one begins, so that ^C, a crash or a full disk lose at
//! most the last second. A disk that fails is told once and never changes a measurement.
//!
//! What was recorded is never overwritten: events are written to new files only, and one program at a time writes into a
//! directory.

pub(crate) mod asked;
pub(crate) mod experiment;
pub(crate) mod page_file;
pub(crate) mod private;
pub(crate) mod stored;

use crate::exit::CommandError;
use crate::outlet::Sink;
use crate::output::printer;
use evidence::interval_log;
use model::{Event, Redacted, Tick};
use report::record::ARMS_FOLDER;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Where run directories go when nothing else is said.
const DEFAULT_PARENT: &str = "plimsoll-runs";
/// The result, and its name while it is not complete.
pub(crate) const RESULT: &str = "run.json";
const RESULT_PART: &str = "run.json.part";
/// Events of a measurement, one JSON object a line, and the histograms of its ticks.
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const HISTOGRAMS: &str = "latency.hlog";
/// The file of an experiment, its steps in their order, and what came of them.
const EXPERIMENT_FILE: &str = "experiment.toml";
const PLAN: &str = "plan.json";
const STEPS_LOG: &str = "steps.jsonl";
/// The page in a run directory, or of several results in the current one.
pub(crate) const PAGE: &str = "report.html";
/// Directory of the loads of a sweep.
pub(crate) const POINTS: &str = "points";
/// End of the name of the one that is measured with samples.
pub(crate) const PROFILED: &str = "-profile";
/// Attempts to find a free name for a new directory.
const NAME_TRIES: u32 = 1000;

/// Creates the directory of one result and returns its path. Nobody else writes into it until this program ends.
pub(crate) fn create(asked: Option<&Path>, verb: &str, started: &str) -> Result<PathBuf, CommandError> {
    let path = asked.map_or_else(|| create_new(verb, started), |path| create_asked(path).map(|()| path.to_owned()))?;
    let claim = claim(&path).map_err(|why| CommandError::usage(format!("--output {}: {why}", path.display())))?;
    // It ends with the program, however that ends.
    std::mem::forget(claim);
    Ok(path)
}

/// The directory that `--output` names.
fn create_asked(path: &Path) -> Result<(), CommandError> {
    let wrong = |why: String| CommandError::usage(format!("--output {}: {why}", path.display()));
    match occupied(path) {
        Some(why) => Err(wrong(format!("{why}; name another directory"))),
        None => private::create_directory(path).map_err(|error| wrong(format!("cannot write there: {error}"))),
    }
}

/// What of another measurement is in a directory, if anything is.
fn occupied(path: &Path) -> Option<String> {
    if path.join(RESULT).exists() {
        return Some("there is a result in it already".into());
    }
    if is_claimed(path) {
        return Some("another plimsoll is measuring into it".into());
    }
    has_events(path).then(|| {
        let path = path.display();
        format!("a measurement in it did not end, and plimsoll report --recover {path} makes a result of what there is")
    })
}

/// True if something was recorded in a directory.
pub(crate) fn has_events(path: &Path) -> bool {
    [EVENTS, POINTS, ARMS_FOLDER, PLAN].iter().any(|name| path.join(name).exists())
}

/// True if a program that still runs writes into a directory.
pub(crate) fn is_claimed(path: &Path) -> bool {
    private::look(&path.join(RESULT_PART)).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Takes a directory until the file is closed: the kernel does that when the program dies. It becomes the result.
fn claim(path: &Path) -> Result<File, String> {
    let part = private::open(&path.join(RESULT_PART)).map_err(|error| format!("cannot write there: {error}"))?;
    match part.try_lock() {
        Err(TryLockError::WouldBlock) => Err("another plimsoll is measuring into it; name another directory".into()),
        // There are file systems without locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(part),
    }
}

/// A new directory with the time in its name.
pub(crate) fn create_new(verb: &str, started: &str) -> Result<PathBuf, CommandError> {
    let wrong = |path: &Path, error: &std::io::Error| {
        CommandError::usage(format!("cannot create {}: {error}; name a directory with --output", path.display()))
    };
    let parent = Path::new(DEFAULT_PARENT);
    std::fs::create_dir_all(parent).map_err(|error| wrong(parent, &error))?;
    let stamp = started.split('.').next().unwrap_or(started).replace(':', "-");
    for n in 1..=NAME_TRIES {
        let suffix = if n == 1 { String::new() } else { format!("-{n}") };
        let path = parent.join(format!("{stamp}-{verb}{suffix}"));
        match private::create_new_directory(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(wrong(&path, &error)),
        }
    }
    Err(CommandError::usage(format!("{} holds too many results of this second", parent.display())))
}

/// Writes a result that was made of events.
pub(crate) fn write_recovered(directory: &Path, json: &str) -> Result<(), CommandError> {
    let wrong = |why: String| CommandError::usage(format!("cannot write {}: {why}", directory.join(RESULT).display()));
    let _claim = claim(directory).map_err(wrong)?;
    put_result(directory, json).map_err(|error| wrong(error.to_string()))
}

/// Renames it at the end, so that a half-written file never passes for a result; what it holds is on the disk before, so that
/// neither does an empty one after a power cut.
fn put_result(directory: &Path, json: &str) -> std::io::Result<()> {
    let part = directory.join(RESULT_PART);
    let mut file = private::create(&part)?;
    file.write_all(json.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, directory.join(RESULT))?;
    // Where a file system knows nothing of it, the name is as safe as it can be.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Writes a result that a later one takes the place of, and keeps the directory for this program. A disk that does not take
/// it is told when that one is written.
pub(crate) fn write_so_far(directory: &Path, json: &str) {
    if put_result(directory, json).is_ok() {
        // It ends with the program, as the first one did, which has become the result.
        claim(directory).into_iter().for_each(std::mem::forget);
    }
}

/// Writes a finished result; returns false when the disk did not take it, which has then been told.
pub(crate) fn write_result(directory: &Path, json: &str) -> bool {
    match put_result(directory, json) {
        Ok(()) => true,
        Err(error) => {
            let path = directory.join(RESULT);
            printer::note(&format!("warning: cannot write {}: {error}; the result is printed only", path.display()));
            false
        }
    }
}

/// Writes the result of one arm of several into `directory`; a disk that does not take it is told, and the whole still
/// has it.
pub(crate) fn write_arm(directory: &Path, json: &str) {
    if let Err(error) = private::create_directory(directory) {
        return printer::note(&format!("warning: cannot create {}: {error}", directory.display()));
    }
    write_result(directory, json);
}

/// Writes a page about a result; returns false when the disk did not take it, which has then been told.
pub(crate) fn write_page(path: &Path, page: &impl Display) -> bool {
    match private::create(path).and_then(|file| page_file::write(file, page)) {
        Ok(()) => true,
        Err(error) => {
            // Half a page helps nobody; when it cannot be removed either, the warning stands for it.
            let _ = std::fs::remove_file(path);
            printer::note(&format!("warning: cannot write {}: {error}; the result itself is kept", path.display()));
            false
        }
    }
}

/// Writes the events of a load, and its histograms beside them.
pub(crate) struct Recorder {
    events: BufWriter<File>,
    /// None where only what happens to a measurement as a whole is written.
    histograms: Option<BufWriter<File>>,
    directory: PathBuf,
    failed: bool,
}

impl Recorder {
    /// Opens the record of one of several loads: the name of its directory below `directory`, that of the measurement, and
    /// what writes there.
    pub(crate) fn of_load(directory: &Path, name: &str) -> Result<(String, Self), CommandError> {
        let name = format!("{POINTS}/{name}");
        let path = directory.join(&name);
        private::create_directory(&path)
            .map_err(|error| CommandError::usage(format!("cannot create {}: {error}", path.display())))?;
        Ok((name, Self::open(&path)?))
    }

    /// Opens the files of a load in `directory`, which exists.
    pub(crate) fn open(directory: &Path) -> Result<Self, CommandError> {
        let mut recorder = Self::without_histograms(directory)?;
        let mut histograms = open(directory, HISTOGRAMS)?;
        let header = interval_log::write_header(&mut histograms, None);
        recorder.histograms = Some(histograms);
        recorder.tell(header);
        Ok(recorder)
    }

    /// Opens that of a measurement of several loads, which have directories of their own.
    pub(crate) fn without_histograms(directory: &Path) -> Result<Self, CommandError> {
        Ok(Self { events: open(directory, EVENTS)?, histograms: None, directory: directory.into(), failed: false })
    }

    /// Writes one event and hands it to the kernel.
    fn record(&mut self, event: &Redacted<Event>) {
        if self.failed {
            return;
        }
        let written = self.write_event(event).and_then(|()| match &**event {
            Event::Tick(tick) => self.write_histograms(tick),
            _ => Ok(()),
        });
        self.tell(written);
    }

    fn write_event(&mut self, event: &Redacted<Event>) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.events, event)?;
        self.events.write_all(b"\n")?;
        self.events.flush()
    }

    fn write_histograms(&mut self, tick: &Tick) -> std::io::Result<()> {
        let Some(out) = &mut self.histograms else { return Ok(()) };
        interval_log::write_tick(out, tick)?;
        out.flush()
    }

    fn tell(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.failed = true;
            printer::note(&format!(
                "warning: cannot write to {}: {error}; the run goes on, what follows is not recorded",
                self.directory.display()
            ));
        }
    }
}

/// Opens a file that is not there yet: events of another measurement are all that is left of it.
fn open(directory: &Path, name: &str) -> Result<BufWriter<File>, CommandError> {
    let path = directory.join(name);
    private::create_new(&path)
        .map(BufWriter::new)
        .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", path.display())))
}

impl Sink for Recorder {
    const NAME: &'static str = "record";

    fn take(&mut self, event: &Redacted<Event>) {
        self.record(event);
    }

    fn missed(&mut self, events: u64) {
        self.failed = true;
        printer::note(&format!(
            "warning: {} stalled for minutes: {events} events are not recorded; the result has them",
            self.directory.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[track_caller]
    fn refused(path: &Path) -> String {
        create(Some(path), "run", "now").expect_err("it is occupied").message
    }

    #[test]
    fn events_of_a_measurement_that_did_not_end_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        for name in [EVENTS, POINTS, ARMS_FOLDER] {
            let directory = folder.path().join(name);
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join(name), "precious").unwrap();
            let message = refused(&directory);
            let recover = format!("plimsoll report --recover {}", directory.display());
            assert!(message.starts_with("--output") && message.contains(&recover), "{message}");
            assert_eq!(std::fs::read_to_string(directory.join(name)).unwrap(), "precious");
        }
        let error = Recorder::open(&folder.path().join(EVENTS)).err().expect("there are events");
        assert!(error.message.contains("File exists"), "{}", error.message);
        assert_eq!(std::fs::read_to_string(folder.path().join(EVENTS).join(EVENTS)).unwrap(), "precious");
    }

    #[test]
    fn two_programs_do_not_write_into_one_directory() {
        let folder = tempfile::tempdir().unwrap();
        let directory = create(Some(&folder.path().join("new")), "run", "now").unwrap();
        assert!(refused(&directory).contains("another plimsoll is measuring into it"));
        let _recorder = Recorder::open(&directory).unwrap();
        assert!(refused(&directory).contains("another plimsoll"), "its events are no crash");
        let error = write_recovered(&directory, "{}").unwrap_err();
        assert!(error.message.contains("another plimsoll"), "{}", error.message);
        assert!(!directory.join(RESULT).exists());
        // Whoever has died holds nothing.
        let dead = folder.path().join("dead");
        std::fs::create_dir(&dead).unwrap();
        drop(claim(&dead).unwrap());
        assert!(dead.join(RESULT_PART).exists() && create(Some(&dead), "run", "now").is_ok());
    }

    #[test]
    fn a_result_is_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let directory = create(Some(&folder.path().join("new")), "run", "now").unwrap();
        drop(Recorder::open(&directory).unwrap());
        assert!(write_result(&directory, "{}") && write_page(&directory.join("report.html"), &"page"));
        let names = [EVENTS, HISTOGRAMS, RESULT, "report.html"];
        for path in names.iter().map(|name| directory.join(name)).chain([directory.clone()]) {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
        }
        assert!(!directory.join(RESULT_PART).exists());
    }

    #[test]
    fn a_result_is_not_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("victim"), "precious").unwrap();
        symlink(folder.path().join("victim"), folder.path().join(RESULT_PART)).unwrap();
        assert!(!write_result(folder.path(), "{}"));
        assert!(write_recovered(folder.path(), "{}").is_err() && create(Some(folder.path()), "run", "now").is_err());
        assert_eq!(std::fs::read_to_string(folder.path().join("victim")).unwrap(), "precious");
    }
}
