//! One program under way in a folder of its own: started, looked at, and waited for, but not for ever.

use super::disk::Disk;
use super::follow::{Follow, LOOK, Standing};
use super::moment::{Moment, Since};
use super::processes::{kill, kill_group};
use super::setting::{Place, Setting, Streams};
use super::terminal::Terminal;
use super::verb::Verb;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// No program of these takes longer, up to its instant and from there on.
const LIMIT: Duration = Duration::from_secs(60);
const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";

/// Killed, if need be, with this value.
pub(super) struct Scene {
    pub(super) verb: Verb,
    /// Where its result goes.
    pub(super) result: PathBuf,
    pub(super) child: Child,
    pub(super) disk: Option<Disk>,
    pub(super) terminal: Option<Terminal>,
    /// Who reads stdout and stderr, if these are a pipe.
    pub(super) reader: Option<PipeReader>,
    folder: PathBuf,
    follow: Follow,
    began: Instant,
}

/// Why a program was not started.
pub(super) enum Unable {
    /// What is needed for it is not to be had here.
    Skipped(String),
    Failed(String),
}

/// How it has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Empty unless it went to a file.
    pub(super) stdout: String,
    /// None unless it went to a file.
    pub(super) stderr: Option<String>,
}

impl Scene {
    /// Starts plimsoll in `folder`, which is empty.
    pub(super) fn start(program: &Path, verb: Verb, setting: Setting, folder: &Path) -> Result<Self, Unable> {
        installed(setting.wrapper)?;
        let disk = disk(setting.place, folder).map_err(Unable::Skipped)?;
        let result = disk.as_ref().map_or_else(|| folder.to_owned(), Disk::place).join("result");
        let mut command = command(program, verb, setting, folder, &result);
        let wrong = |error: io::Error| Unable::Failed(format!("cannot start plimsoll: {error}"));
        let (terminal, reader) = connect(&mut command, setting.streams, folder).map_err(wrong)?;
        let child = command.spawn().map_err(wrong)?;
        let (follow, began) = (Follow::new(&result, verb.log()), Instant::now());
        Ok(Self { verb, result, child, disk, terminal, reader, folder: folder.to_owned(), follow, began })
    }

    /// Waits for an instant; false when the program has ended before it.
    pub(super) fn wait_until(&mut self, moment: Moment) -> Result<bool, String> {
        loop {
            if self.has_ended() {
                return Ok(false);
            }
            self.look();
            let since = match moment.since {
                Since::Start => Some(self.began),
                Since::Closing => self.follow.closing(),
            };
            let left = since.map(|since| moment.delay.saturating_sub(since.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(true);
            }
            if self.began.elapsed() > LIMIT {
                return Err(format!("plimsoll has not ended after {LIMIT:?}"));
            }
            std::thread::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
        }
    }

    /// Looks on for a while.
    pub(super) fn hold(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            self.follow.look();
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// The load that is under way.
    pub(super) fn standing(&self) -> Option<Standing> {
        self.follow.standing()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sends the program a signal, and nobody else.
    pub(super) fn signal(&mut self, signal: Signal) -> Result<(), String> {
        if self.has_ended() {
            return Err("it has ended".into());
        }
        kill(self.child.id().cast_signed(), signal)
    }

    /// Waits for its end.
    pub(super) fn finish(&mut self) -> Result<Ended, String> {
        let since = Instant::now();
        loop {
            self.look();
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Ok(self.ended(status));
            }
            if since.elapsed() > LIMIT {
                return Err(format!("plimsoll does not end within {LIMIT:?}"));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        let text = |name: &str| {
            let bytes = std::fs::read(self.folder.join(name)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ended { status, stdout: text(STDOUT).unwrap_or_default(), stderr: text(STDERR) }
    }

    fn look(&mut self) {
        self.follow.look();
        if let Some(terminal) = &mut self.terminal {
            terminal.show();
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !self.has_ended() {
            // It leads no group when the terminal is its own and it has not got there yet.
            let _ = kill_group(&self.child, Signal::KILL);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn disk(place: Place, folder: &Path) -> Result<Option<Disk>, String> {
    let below = folder.join("disk");
    match place {
        Place::Ordinary => Ok(None),
        Place::Small => Disk::small(&below).map(Some),
        Place::Failing => Disk::failing(&below).map(Some),
        Place::Full => {
            let disk = Disk::small(&below)?;
            disk.fill()?;
            Ok(Some(disk))
        }
    }
}

fn command(program: &Path, verb: Verb, setting: Setting, folder: &Path, result: &Path) -> Command {
    // Under nohup it would leave SIGHUP ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").args(setting.wrapper).arg(program);
    command.args(verb.words());
    let is_shown = matches!(setting.streams, Streams::Terminal | Streams::OwnTerminal);
    let flags: &[&str] = if is_shown { &[] } else { &["--json", "--quiet"] };
    if verb.result().is_some() {
        command.args(flags).arg("--output").arg(result);
    }
    if setting.streams != Streams::OwnTerminal {
        command.process_group(0);
    }
    // What it starts is known by the folder.
    command.env("TMPDIR", folder).current_dir(folder).stdin(Stdio::null());
    command
}

/// Connects its streams; returns who is at their other end.
fn connect(
    command: &mut Command,
    streams: Streams,
    folder: &Path,
) -> io::Result<(Option<Terminal>, Option<PipeReader>)> {
    let file = |name: &str| File::create(folder.join(name));
    match streams {
        Streams::Files => {
            command.stdout(file(STDOUT)?).stderr(file(STDERR)?);
            Ok((None, None))
        }
        Streams::FullDevice => {
            command.stdout(File::options().write(true).open("/dev/full")?).stderr(file(STDERR)?);
            Ok((None, None))
        }
        Streams::Pipe => {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            Ok((None, Some(reader)))
        }
        Streams::Terminal | Streams::OwnTerminal => {
            let (terminal, line) = Terminal::open()?;
            command.stdin(line.try_clone()?).stdout(line.try_clone()?).stderr(line);
            Ok((Some(terminal), None))
        }
    }
}
/// Fails when the program that a scene is started by is missing.
fn installed(wrapper: &[&str]) -> Result<(), Unable> {
    let Some(program) = wrapper.first() else { return Ok(()) };
    match Command::new(program).arg("--version").stdout(Stdio::null()).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Unable::Skipped(format!("{program} is not installed")))
        }
        _ => Ok(()),
    }
}
