//! The run directory: `run.json`, `events.jsonl` and `latency.hlog`, written as the run goes.
//!
//! Every tick is on its way to the disk before the next one begins, so that ^C, a crash or a full disk lose at
//! most the last second. A disk that fails is told once and never changes a measurement.

use crate::environment::redact_headers;
use crate::exit::Trouble;
use crate::{page_file, printer};
use judge::audit::redact;
use model::{Event, Plan, Tick};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where run directories go when nothing else is said.
const DEFAULT_PARENT: &str = "plimsoll-runs";
/// The result, and its name while it is not complete.
const RESULT: &str = "run.json";
const RESULT_PART: &str = "run.json.part";
/// Attempts to find a free name for a new directory.
const NAME_TRIES: u32 = 1000;

/// Creates the directory of one result and returns its path.
pub(crate) fn create(asked: Option<&Path>, verb: &str, started: &str) -> Result<PathBuf, Trouble> {
    let Some(path) = asked else { return create_new(verb, started) };
    if path.join(RESULT).exists() {
        return Err(Trouble::usage(format!(
            "--output {}: there is a result in it already; name another directory",
            path.display()
        )));
    }
    std::fs::create_dir_all(path)
        .and_then(|()| File::create(path.join(RESULT_PART)).map(drop))
        .map_err(|error| Trouble::usage(format!("--output {}: cannot write there: {error}", path.display())))?;
    Ok(path.into())
}

/// A new directory with the time in its name.
fn create_new(verb: &str, started: &str) -> Result<PathBuf, Trouble> {
    let wrong = |path: &Path, error: &std::io::Error| {
        Trouble::usage(format!("cannot create {}: {error}; name a directory with --output", path.display()))
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
    Err(Trouble::usage(format!("{} holds too many results of this second", parent.display())))
}

/// Writes a finished result; returns false when the disk did not take it, which has then been told.
pub(crate) fn write_result(directory: &Path, json: &str) -> bool {
    let path = directory.join(RESULT);
    let part = directory.join(RESULT_PART);
    // Renamed at the end, so that a half-written file never passes for a result.
    match std::fs::write(&part, json).and_then(|()| std::fs::rename(&part, &path)) {
        Ok(()) => true,
        Err(error) => {
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

/// Writes events and histograms of one run.
pub(crate) struct Recorder {
    events: BufWriter<File>,
    histograms: BufWriter<File>,
    directory: PathBuf,
    failed: bool,
}

impl Recorder {
    /// Opens the files of a run in `directory`, which exists.
    pub(crate) fn open(directory: &Path) -> Result<Self, Trouble> {
        let open = |name: &str| {
            let path = directory.join(name);
            File::create(&path)
                .map(BufWriter::new)
                .map_err(|error| Trouble::usage(format!("cannot write {}: {error}", path.display())))
        };
        let mut recorder = Self {
            events: open("events.jsonl")?,
            histograms: open("latency.hlog")?,
            directory: directory.into(),
            failed: false,
        };
        let header = stats::interval_log::write_header(&mut recorder.histograms, None);
        recorder.tell(header);
        Ok(recorder)
    }

    /// Writes one event and hands it to the kernel.
    pub(crate) fn record(&mut self, event: &Event) {
        if self.failed {
            return;
        }
        let written = match event {
            Event::Started { started, plan } => {
                self.write_event(&Event::Started { started: started.clone(), plan: Box::new(storable(plan)) })
            }
            Event::Tick(tick) => self.write_event(event).and_then(|()| self.write_histograms(tick)),
            Event::Probed(_)
            | Event::Connected { .. }
            | Event::Warmed { .. }
            | Event::Observed(_)
            | Event::Disturbed { .. }
            | Event::Prolonged { .. }
            | Event::Status { .. }
            | Event::Ended { .. } => self.write_event(event),
        };
        self.tell(written);
    }

    fn write_event(&mut self, event: &Event) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.events, event)?;
        self.events.write_all(b"\n")?;
        self.events.flush()
    }

    fn write_histograms(&mut self, tick: &Tick) -> std::io::Result<()> {
        let length_ns = tick.to_ns - tick.from_ns;
        let (all, aside) = (&tick.histograms, &tick.set_aside);
        for (tag, encoded) in [
            ("response", &all.response),
            ("service", &all.service),
            ("slip_client", &all.slip_client),
            ("slip_blocked", &all.slip_blocked),
            ("handshake", &all.handshake),
            ("set_aside_response", &aside.response),
            ("set_aside_service", &aside.service),
            ("set_aside_slip_client", &aside.slip_client),
            ("set_aside_slip_blocked", &aside.slip_blocked),
        ] {
            stats::interval_log::write_interval(&mut self.histograms, tag, tick.from_ns, length_ns, encoded)?;
        }
        self.histograms.flush()
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
