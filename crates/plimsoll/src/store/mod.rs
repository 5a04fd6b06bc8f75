//! The run directory: `run.json`, `events.jsonl` and `latency.hlog`, written as the run goes.
//!
//! Every tick is on its way to the disk before the next one begins, so that ^C, a crash or a full disk lose at
//! most the last second. A disk that fails is told once and never changes a measurement.

pub(crate) mod page_file;
pub(crate) mod stored;

use crate::exit::CommandError;
use crate::output::printer;
use crate::result::Facts;
use crate::session::environment::redact_headers;
use crate::session::sinks::Sink;
use audit::redact;
use evidence::interval_log;
use model::{Begun, Event, Plan, SessionEvent, Tick};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where run directories go when nothing else is said.
const DEFAULT_PARENT: &str = "plimsoll-runs";
/// The result, and its name while it is not complete.
pub(crate) const RESULT: &str = "run.json";
const RESULT_PART: &str = "run.json.part";
/// Events of a measurement, one JSON object a line, and the histograms of its ticks.
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const HISTOGRAMS: &str = "latency.hlog";
/// Directory of the loads of a sweep.
pub(crate) const POINTS: &str = "points";
/// Attempts to find a free name for a new directory.
const NAME_TRIES: u32 = 1000;

/// Creates the directory of one result and returns its path.
pub(crate) fn create(asked: Option<&Path>, verb: &str, started: &str) -> Result<PathBuf, CommandError> {
    let Some(path) = asked else { return create_new(verb, started) };
    if path.join(RESULT).exists() {
        return Err(CommandError::usage(format!(
            "--output {}: there is a result in it already; name another directory",
            path.display()
        )));
    }
    std::fs::create_dir_all(path)
        .and_then(|()| File::create(path.join(RESULT_PART)).map(drop))
        .map_err(|error| CommandError::usage(format!("--output {}: cannot write there: {error}", path.display())))?;
    Ok(path.into())
}

/// A new directory with the time in its name.
fn create_new(verb: &str, started: &str) -> Result<PathBuf, CommandError> {
    let wrong = |path: &Path, error: &std::io::Error| {
        CommandError::usage(format!("cannot create {}: {error}; name a directory with --output", path.display()))
    };
    let parent = Path::new(DEFAULT_PARENT);
    std::fs::create_dir_all(parent).map_err(|error| wrong(parent, &error))?;
    let stamp = started.split('.').next().unwrap_or(started).replace(':', "-");
    for n in 1..=NAME_TRIES {
        let suffix = if n == 1 { String::new() } else { format!("-{n}") };
        let path = parent.join(format!("{stamp}-{verb}{suffix}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(wrong(&path, &error)),
        }
    }
    Err(CommandError::usage(format!("{} holds too many results of this second", parent.display())))
}

/// Writes a result that was made of events.
pub(crate) fn write_recovered(directory: &Path, json: &str) -> Result<(), CommandError> {
    let wrong = |error| CommandError::usage(format!("cannot write {}: {error}", directory.join(RESULT).display()));
    put_result(directory, json).map_err(wrong)
}

/// Renames it at the end, so that a half-written file never passes for a result.
fn put_result(directory: &Path, json: &str) -> std::io::Result<()> {
    let part = directory.join(RESULT_PART);
    std::fs::write(&part, json).and_then(|()| std::fs::rename(&part, directory.join(RESULT)))
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
    if let Err(error) = std::fs::create_dir_all(directory) {
        return printer::note(&format!("warning: cannot create {}: {error}", directory.display()));
    }
    write_result(directory, json);
}

/// Writes a page about a result; returns false when the disk did not take it, which has then been told.
pub(crate) fn write_page(path: &Path, page: &impl Display) -> bool {
    match page_file::write(path, page) {
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
    fn record(&mut self, event: &Event) {
        if self.failed {
            return;
        }
        let written = self.write_event(event).and_then(|()| match event {
            Event::Tick(tick) => self.write_histograms(tick),
            _ => Ok(()),
        });
        self.tell(written);
    }

    fn write_event(&mut self, event: &Event) -> std::io::Result<()> {
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

fn open(directory: &Path, name: &str) -> Result<BufWriter<File>, CommandError> {
    let path = directory.join(name);
    File::create(&path)
        .map(BufWriter::new)
        .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", path.display())))
}

impl Sink for Recorder {
    const NAME: &'static str = "record";

    fn take(&mut self, event: &Event) {
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

/// The log of a measurement: what happened to it as a whole, written and kept.
pub(crate) struct Log {
    recorder: Recorder,
    pub(crate) facts: Facts,
}

impl Log {
    /// Begins it; `recorder` gets the events of its only load as well, if there is but one.
    pub(crate) fn new(recorder: Recorder, begun: Begun) -> Self {
        let mut log = Self { recorder, facts: Facts::new(begun.clone()) };
        log.recorder.record(&Event::Session(SessionEvent::Begun(Box::new(begun))));
        log
    }

    pub(crate) fn tell(&mut self, event: SessionEvent) {
        self.facts.apply(&event);
        self.recorder.record(&Event::Session(event));
    }

    pub(crate) const fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

/// The plan without secrets.
pub(crate) fn storable(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.target.url = redact(&plan.target.url).0;
    for request in &mut plan.requests {
        request.headers = redact_headers(&request.headers);
        request.path = redact(&request.path).0;
    }
    plan
}
