//! One program under way in a folder of its own: started, looked at, and waited for, but not for ever.

use super::disk::Disk;
use super::fleet::{Fleet, Victim};
use super::follow::{AGENTS_STARTED, CONNECTED, Follow, LOOK, Standing};
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
    /// The machines that generate the load, if it is not this one.
    pub(super) fleet: Option<Fleet>,
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
    pub(super) fn start(
        program: &Path,
        verb: Verb,
        setting: Setting,
        fleet: Option<Fleet>,
        folder: &Path,
    ) -> Result<Self, Unable> {
        installed(setting.wrapper)?;
        let disk = disk(setting.place, folder).map_err(Unable::Skipped)?;
        let result = disk.as_ref().map_or_else(|| folder.to_owned(), Disk::place).join("result");
        let mut command = match &fleet {
            Some(fleet) => fleet.command(program, verb),
            None => own(program, verb, setting),
        };
        complete(&mut command, verb, setting, folder, &result);
        let wrong = |error: io::Error| Unable::Failed(format!("cannot start plimsoll: {error}"));
        let (terminal, reader) = connect(&mut command, setting.streams, folder).map_err(wrong)?;
        let child = command.spawn().map_err(wrong)?;
        let begins = if fleet.is_some() { AGENTS_STARTED } else { CONNECTED };
        let (follow, began) = (Follow::new(&result, verb.log(), begins), Instant::now());
        Ok(Self { verb, result, child, disk, fleet, terminal, reader, folder: folder.to_owned(), follow, began })
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

    /// Kills one of those that take part in a load of agents, once there is one.
    pub(super) fn kill(&mut self, victim: Victim) -> Result<(), String> {
        let since = Instant::now();
        while since.elapsed() < LIMIT && !self.has_ended() {
            // A link matters to those that have a load.
            let is_early = victim == Victim::Link && self.follow.standing().is_none();
            let fleet = self.fleet.as_mut().ok_or("there are no agents")?;
            if !is_early && fleet.strike(victim)? {
                return Ok(());
            }
            self.look();
            std::thread::sleep(LOOK);
        }
        Err(format!("there was no {victim:?} to be killed"))
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

    /// For so long this machine has kept us from looking.
    pub(super) fn late(&self) -> Duration {
        self.follow.late()
    }

    fn look(&mut self) {
        self.follow.look();
        if let Some(fleet) = &mut self.fleet {
            fleet.look(&self.folder.join(STDERR));
        }
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

/// A measurement or a server of this machine.
fn own(program: &Path, verb: Verb, setting: Setting) -> Command {
    // Under nohup it would leave SIGHUP ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").args(setting.wrapper).arg(program);
    command.args(verb.words());
    command
}

/// Says where the result goes, and has the program run in `folder`.
fn complete(command: &mut Command, verb: Verb, setting: Setting, folder: &Path, result: &Path) {
    let is_shown = matches!(setting.streams, Streams::Terminal | Streams::OwnTerminal);
    if verb.result().is_some() {
        let flags = [("--json", !is_shown), ("--quiet", !is_shown && setting.is_quiet)];
        command.args(flags.iter().filter(|(_, is_wanted)| *is_wanted).map(|(flag, _)| flag));
        command.arg("--output").arg(result);
    }
    if setting.streams != Streams::OwnTerminal {
        command.process_group(0);
    }
    // What it starts is known by the folder.
    command.env("TMPDIR", folder).current_dir(folder).stdin(Stdio::null());
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
