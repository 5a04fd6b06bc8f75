//! The line to a supervisor. Every wait on it ends.

use super::Options;
use crate::account::Account;
use crate::error::StackError;
use crate::state;
use crate::supervisor::{Order, Report};
use crate::sys;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

/// How often one looks whether a wait has to end.
const LOOK_UP: Duration = Duration::from_millis(5);
/// Time that a supervisor is given to make its directory; ns.
const READY_MAX_NS: u64 = 60_000_000_000;
/// What fails where there is none.
const STARTING: &str = "start the supervisor of the server";
/// Time that a supervisor is given to end what it keeps. A database may take 20 s, and there are few processes.
const END_MAX_NS: u64 = 120_000_000_000;

pub(crate) struct Connection {
    supervisor: Child,
    /// Closed, it tells the supervisor to end.
    orders: Option<ChildStdin>,
    reports: Receiver<Report>,
    closed: bool,
    /// Name and number of the processes that were started, in their order.
    pub(super) started: Vec<(String, i32)>,
}

/// Why no report has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The supervisor is gone.
    Closed,
    /// The time is over.
    Late,
    /// ^C.
    Interrupted,
}

impl Connection {
    /// Starts a supervisor, which makes a state directory for a server of this name; its folders for the server are given to
    /// `account`. `pipes` are for the process that gets them ([`Launch`](crate::supervisor::Launch)).
    pub(crate) fn open(
        options: &Options,
        name: &str,
        account: Option<&Account>,
        pipes: Option<[OwnedFd; 2]>,
    ) -> Result<(Self, PathBuf), StackError> {
        let dir = state::new_place(name)?;
        let mut connection = Self::start(options, &dir, pipes)?;
        let made = connection.await_ready(options).and_then(|()| state::furnish(&dir, account));
        match made {
            Ok(()) => Ok((connection, dir)),
            Err(error) => {
                connection.close(options.now_ns);
                Err(error)
            }
        }
    }

    /// Waits until it has made its directory.
    fn await_ready(&mut self, options: &Options) -> Result<(), StackError> {
        let wrong = |reason: String| StackError::Machine { doing: STARTING.into(), reason };
        match self.next((options.now_ns)() + READY_MAX_NS, options) {
            Ok(Report::Ready) => Ok(()),
            Ok(Report::Failed { why, .. }) => Err(wrong(why)),
            Err(Silence::Interrupted) => Err(StackError::Interrupted),
            Err(Silence::Late) => Err(wrong("it says nothing".into())),
            Ok(_) | Err(Silence::Closed) => Err(wrong("it has ended".into())),
        }
    }

    /// Starts the supervisor of the state directory `dir`.
    fn start(options: &Options, dir: &Path, pipes: Option<[OwnedFd; 2]>) -> Result<Self, StackError> {
        let wrong = |reason: String| StackError::Machine { doing: STARTING.into(), reason };
        let (program, args) = options.supervisor.split_first().ok_or_else(|| wrong("it has no command".into()))?;
        let mut command = Command::new(program);
        command.args(args).arg(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        if options.may_be_left {
            // Whoever waits for the end of our stderr must not wait for the servers.
            command.stderr(Stdio::null());
        }
        if let Some(pipes) = pipes {
            sys::hand_over(&mut command, pipes);
        }
        let mut supervisor = command.spawn().map_err(|error| wrong(error.to_string()))?;
        let (orders, stdout) = (supervisor.stdin.take(), supervisor.stdout.take());
        let (sender, reports) = channel();
        let hear = move || {
            let Some(stdout) = stdout else { return };
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(report) = serde_json::from_str(&line) else { return };
                if sender.send(report).is_err() {
                    return;
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("supervisor".into()).spawn(hear) {
            // Without orders it ends by itself.
            drop(orders);
            let _ = supervisor.wait();
            return Err(wrong(format!("cannot start a thread: {error}")));
        }
        Ok(Self { supervisor, orders, reports, closed: false, started: Vec::new() })
    }

    /// Number of the supervisor.
    pub(crate) fn pid(&self) -> i32 {
        self.supervisor.id().cast_signed()
    }

    /// Gives an order. One that does not arrive is noticed by the silence that follows.
    pub(crate) fn tell(&mut self, order: &Order) {
        let line = serde_json::to_string(order).unwrap_or_default();
        if let Some(orders) = &mut self.orders {
            let _ = writeln!(orders, "{line}");
        }
    }

    /// A report that has come.
    pub(crate) fn try_next(&mut self) -> Option<Report> {
        match self.reports.try_recv() {
            Ok(report) => Some(report),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.closed = true;
                None
            }
        }
    }

    /// The next report, if it comes before `deadline_ns`.
    pub(crate) fn next(&mut self, deadline_ns: u64, options: &Options) -> Result<Report, Silence> {
        loop {
            match self.reports.recv_timeout(LOOK_UP) {
                Ok(report) => return Ok(report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.closed = true;
                    return Err(Silence::Closed);
                }
            }
            if (options.now_ns)() >= deadline_ns {
                return Err(Silence::Late);
            }
            if options.stop.load(Ordering::Relaxed) {
                return Err(Silence::Interrupted);
            }
        }
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Lets the supervisor end all, and waits until it has. Returns its last words. One that does not end is killed; what it
    /// kept is found by its note.
    pub(crate) fn close(&mut self, now_ns: fn() -> u64) -> Vec<Report> {
        self.orders = None;
        let deadline_ns = now_ns() + END_MAX_NS;
        let mut last = Vec::new();
        while now_ns() < deadline_ns {
            match self.reports.recv_timeout(LOOK_UP) {
                Ok(report) => last.push(report),
                Err(RecvTimeoutError::Timeout) => {}
                // Its end, or all but: its stdout is closed.
                Err(RecvTimeoutError::Disconnected) => match self.supervisor.try_wait() {
                    Ok(None) => std::thread::sleep(LOOK_UP),
                    _ => return last,
                },
            }
        }
        let _ = self.supervisor.kill();
        let _ = self.supervisor.try_wait();
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    /// A clock of its own: each reading is a second later.
    fn now_ns() -> u64 {
        static NOW_NS: AtomicU64 = AtomicU64::new(0);
        NOW_NS.fetch_add(1_000_000_000, Ordering::Relaxed)
    }

    fn options() -> Options {
        Options {
            supervisor: ["sh", "-c", "exec sleep 600"].map(OsString::from).into(),
            own_program: "/nonexistent".into(),
            now_ns,
            cpus: Vec::new(),
            ready_timeout_ns: 0,
            stop: Arc::new(AtomicBool::new(false)),
            keep_state: false,
            may_be_left: false,
        }
    }

    #[test]
    fn a_supervisor_that_says_nothing_is_not_waited_for_without_end() {
        let mut options = options();
        let mut connection = Connection::start(&options, Path::new("/nonexistent"), None).expect("it starts");
        assert_eq!(connection.next(now_ns() + 10_000_000_000, &options).err(), Some(Silence::Late));
        options.stop = Arc::new(AtomicBool::new(true));
        assert_eq!(connection.next(u64::MAX, &options).err(), Some(Silence::Interrupted));
        assert!(connection.close(now_ns).is_empty());
        assert!(!connection.supervisor.wait().expect("our own child").success(), "it was killed");
    }
}
