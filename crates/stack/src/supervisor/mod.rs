//! The supervisor: a process between plimsoll and the servers, which outlives neither.
//!
//! It reads orders from its stdin and answers on its stdout, one JSON object a line. When its stdin ends, plimsoll is
//! gone: it ends what it has started, removes the state directory, and goes too. It is the *subreaper* of all its
//! descendants (prctl(2)), so that none can hide behind a parent that has ended, and where it can it puts them into a control
//! group of their own ([`Group`]), which the kernel ends as a whole.
//!
//! nginx and others leave their workers running when their master is killed, and nothing within plimsoll can act when
//! plimsoll is killed. The servers hear of the supervisor's own end by the kernel's parent-death signal, set after the
//! change of user, which clears it. Its note of whom it started lies where servers cannot write.
//!
//! Servers may be left to it alone (`Order::Leave`): then it stays when its stdin ends, until a signal asks it to end.
//!
//! It keeps a state directory that it has made itself ([`state::make_new`]), as it removes what it keeps: whoever is killed
//! while a server is started leaves nothing.

mod child;
mod disk;
mod heard;
mod logs;
mod orders;
mod processes;

pub(crate) use disk::{KEPT_BYTES, is_full};
pub(crate) use orders::{How, Launch, Order, Report};
pub(crate) use processes::{end_session, members, send};

use crate::error::StackError;
use crate::group::{self, Group};
use crate::standing::Standing;
use crate::state::{self, Mark, Note, boot};
use crate::sys;
use child::Child;
use disk::Disk;
use heard::{Heard, Message};
use logs::Logs;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How often it looks at the disk and the logs. That a process has ended it hears, so that it takes next to no CPU time from
/// servers that run on.
const LOOK_UP: Duration = Duration::from_millis(200);
/// Time between the end of a process and the look at it: whoever starts and ends processes all the time does not keep it busy.
const ENDS_TOGETHER: Duration = Duration::from_millis(10);

/// Keeps servers in the state directory `dir`, which it makes; the `main` of the supervisor. Fails, and touches nothing, if there
/// is something at that place, or it is no place of a state directory.
///
/// `now_ns` is a monotonic clock.
#[must_use]
pub fn keep(dir: &Path, now_ns: fn() -> u64) -> ExitCode {
    // Orders are heard before anything is made that a supervisor without them would leave behind.
    let begun = heard::hear().and_then(|heard| {
        state::make_new(dir).map_err(io::Error::other)?;
        let supervisor = Supervisor::new(dir, now_ns);
        // The error that counts is the first.
        Ok((heard, supervisor.inspect_err(|_| drop(state::remove(dir)))?))
    });
    match begun {
        Ok((heard, mut supervisor)) => {
            tell(&Report::Ready);
            supervisor.serve(&heard);
            supervisor.end_all();
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell(&Report::Failed { name: "supervisor".into(), why: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

struct Supervisor {
    dir: PathBuf,
    now_ns: fn() -> u64,
    note: Note,
    /// Of all that is started; none where there can be none.
    group: Option<Group>,
    /// In the order of their start.
    children: Vec<Child>,
    logs: Logs,
    disk: Disk,
    /// True if the state directory stays.
    keep_state: bool,
}

impl Supervisor {
    fn new(dir: &Path, now_ns: fn() -> u64) -> io::Result<Self> {
        let owner = rustix::process::getppid().and_then(|pid| Mark::of(pid.as_raw_nonzero().get()));
        // Away from the terminal of plimsoll, whose ^C is meant for plimsoll. It cannot fail in a fresh process that
        // leads no group; if it leads one, it is away already.
        let _ = rustix::process::setsid();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let own = Mark::of(rustix::process::getpid().as_raw_nonzero().get()).unwrap_or_default();
        let mut note = Note { boot: boot(), owner: owner.unwrap_or_default(), supervisor: own, ..Note::default() };
        // It is noted before it is made: whoever is killed in between leaves nothing that nobody finds.
        note.group = Group::place(dir);
        note.write(dir).map_err(io::Error::other)?;
        let group = note.group.clone().and_then(Group::make);
        if group.is_none() {
            note.group = None;
            note.write(dir).map_err(io::Error::other)?;
        }
        let supervisor = Self {
            dir: dir.to_owned(),
            now_ns,
            note,
            group,
            children: Vec::new(),
            logs: Logs::new(dir),
            disk: Disk::new(dir),
            keep_state: false,
        };
        Ok(supervisor)
    }

    fn serve(&mut self, heard: &Heard) {
        let mut is_ordered = true;
        while is_ordered || self.note.standing.is_some() {
            match heard.next(LOOK_UP) {
                Some(Message::Order(order)) => self.obey(order),
                Some(Message::NoMoreOrders) => is_ordered = false,
                Some(Message::ProcessEnded) => std::thread::sleep(ENDS_TOGETHER),
                Some(Message::End) => return,
                None => {}
            }
            self.look_after();
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start(launch) => self.start(&launch),
            Order::Stop { name } => self.stop(&name),
            Order::KeepState => self.keep_state = true,
            Order::Leave(None) => self.note.standing = None,
            Order::Leave(Some(standing)) => self.leave(*standing),
        }
    }

    /// Stays from now on. The note tells where the servers are and that they are to be.
    fn leave(&mut self, standing: Standing) {
        self.note.standing = Some(standing);
        // The directory that this was started in may go.
        let report =
            match std::env::set_current_dir("/").map_err(|error| StackError::file("enter", Path::new("/"), &error)) {
                Ok(()) => self.note.write(&self.dir).map(|()| Report::Left),
                Err(error) => Err(error),
            };
        tell(&report.unwrap_or_else(|error| {
            self.note.standing = None;
            Report::Failed { name: "supervisor".into(), why: error.to_string() }
        }));
    }

    /// Tells that something has ended by itself, and notes it where nobody listens.
    fn ended(&mut self, name: String, how: How) {
        if let Some(standing) = &mut self.note.standing {
            standing.ended.push((name.clone(), how.to_string()));
            // Without the note one sees that it does not run, but not why.
            let _ = self.note.write(&self.dir);
        }
        tell(&Report::Ended { name, how });
    }

    fn start(&mut self, launch: &Launch) {
        // It inherits them. Nobody else has them when this is over, so that each side hears when the other has ended.
        let pipes = launch.has_pipes.then(sys::handed_over);
        let report = match Child::spawn(launch, self.group.as_ref()) {
            Ok(child) => {
                self.note.services.push((child.mark, launch.program.clone()));
                // Without the note a later `--clean` finds less; the server runs all the same.
                let _ = self.note.write(&self.dir);
                let report = Report::Started { name: launch.name.clone(), pid: child.mark.pid };
                self.children.push(child);
                report
            }
            Err(error) => Report::Failed { name: launch.name.clone(), why: why(launch, &error) },
        };
        drop(pipes);
        tell(&report);
    }

    fn stop(&mut self, name: &str) {
        let Some(at) = self.children.iter().position(|child| child.name == name) else {
            return tell(&Report::Stopped { name: name.to_owned(), killed: false });
        };
        let mut child = self.children.remove(at);
        let killed = child.end(self.now_ns);
        self.end_strays();
        tell(&Report::Stopped { name: name.to_owned(), killed });
    }

    /// Ends what has left the session of a process that has ended. While others run it may be theirs, and waits for their end.
    fn end_strays(&self) {
        if !self.children.is_empty() {
            return;
        }
        if let Some(group) = &self.group {
            group.kill(self.now_ns);
        }
        let pids = processes::end_descendants(self.now_ns);
        if !pids.is_empty() {
            tell(&Report::Unended { pids });
        }
    }

    /// Notices what has ended by itself, and what grows.
    fn look_after(&mut self) {
        let mut at = 0;
        while at < self.children.len() {
            match self.children[at].ended() {
                None => at += 1,
                Some(how) => {
                    let child = self.children.remove(at);
                    // What the one that has ended leaves behind is of no use to anybody.
                    end_session(child.mark, self.now_ns);
                    self.end_strays();
                    self.ended(child.name, how);
                }
            }
        }
        processes::reap(&self.children.iter().map(|child| child.mark.pid).collect::<Vec<_>>());
        if let Some(path) = self.logs.look((self.now_ns)()) {
            tell(&Report::LogCut { path });
        }
        if !self.children.is_empty() && self.disk.is_full((self.now_ns)()) {
            self.end_services();
            tell(&Report::DiskFull);
        }
    }

    /// Ends all in the reverse order of their start, then whatever else they have left.
    fn end_services(&mut self) {
        while let Some(mut child) = self.children.pop() {
            let killed = child.end(self.now_ns);
            tell(&Report::Stopped { name: child.name, killed });
        }
        self.end_strays();
    }

    /// Ends all and tidies up.
    fn end_all(&mut self) {
        self.end_services();
        if self.note.group.as_deref().is_some_and(|group| group::remove(group).is_err()) {
            // The note of it stays, for `--clean`.
            return;
        }
        // What cannot be removed, or be marked as kept, is left to `--clean`.
        let _ = if self.keep_state { state::keep(&self.dir) } else { state::remove(&self.dir) };
    }
}

/// Why a process cannot be started, and what to do where a directory is closed to the user that it would run as.
fn why(launch: &Launch, error: &io::Error) -> String {
    match launch.account {
        Some((uid, _)) if uid != 0 && error.kind() == io::ErrorKind::PermissionDenied => format!(
            "{error}: user {uid}, who is to run it, cannot reach {} or {}; open them, or choose another with the setting user",
            launch.program.display(),
            launch.dir.display()
        ),
        _ => error.to_string(),
    }
}

/// A report for whoever still listens.
fn tell(report: &Report) {
    let line = serde_json::to_string(report).unwrap_or_default();
    // Nobody listens when plimsoll is gone; then the end of stdin says so.
    let _ = writeln!(stdout().lock(), "{line}");
}
