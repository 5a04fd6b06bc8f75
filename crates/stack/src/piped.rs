//! A program that is no server, such as a browser, and no more trusted than one: started as servers are, by a supervisor, as
//! another user when we are root and in a state directory of its own, and spoken to over two pipes, its descriptors 3 and 4.

use crate::account::Account;
use crate::clean;
use crate::environment;
use crate::error::{self, StackError};
use crate::layout::Stop;
use crate::own_account;
use crate::running::Options;
use crate::running::connection::{Connection, Silence};
use crate::state::OUTPUT;
use crate::supervisor::{Launch, Order, Report};
use crate::tree::Folder;
use rustix::io::fcntl_dupfd_cloexec;
use signal_hook::consts::SIGTERM;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The pipes of a child lie above this before they become its 3 and 4.
const DESCRIPTOR_MIN: i32 = 10;
/// Time that it is given to end once it was asked to.
const KILL_AFTER_MS: u64 = 2_000;
/// Time that the supervisor is given to start it; ns.
const START_MAX_NS: u64 = 60_000_000_000;
/// How often one looks whether it has ended.
const LOOK_UP: Duration = Duration::from_millis(5);
/// The end of its output that is read for messages.
const SAID_BYTES_MAX: u64 = 16 * 1024;

/// A running program with its pipes. It is ended, with all it has started, when this goes, and when we do.
pub struct Piped {
    name: String,
    supervisor: Connection,
    dir: PathBuf,
    now_ns: fn() -> u64,
    /// How it has ended, once it has.
    ended: Option<String>,
    /// What is written here it reads from its descriptor 3; none once it was closed.
    pub input: Option<File>,
    /// What it writes to its descriptor 4.
    pub output: File,
}

impl Piped {
    /// Starts `program`, of which `name` is a short one for messages and files, with the arguments that `args` makes of its state
    /// directory. The directory has the folders `data`, `home`, `log`, `run` and `tmp` for it. `supervisor` is the command line
    /// of a supervisor ([`Options`]), `now_ns` a monotonic clock.
    ///
    /// # Errors
    /// If the directory cannot be made, or the program not be started by the user whom it runs as.
    pub fn start(
        name: &str,
        program: &Path,
        args: impl FnOnce(&Path) -> Vec<String>,
        supervisor: &[OsString],
        now_ns: fn() -> u64,
    ) -> Result<Self, StackError> {
        let account = own_account::choose(None)?;
        let options = options(supervisor, now_ns);
        let mut piped = Self::supervised(name, account.as_ref(), &options)?;
        let dir = piped.dir.clone();
        let launch = Launch {
            name: name.to_owned(),
            program: program.to_owned(),
            args: args(&dir),
            env: environment::of_helper(&dir),
            dir: dir.join("home"),
            output: dir.join(OUTPUT).join(file(name)),
            account: account.as_ref().map(|account| (account.uid, account.gid)),
            cpus: Vec::new(),
            has_pipes: true,
            stop: Stop { signal: SIGTERM, kill_after_ms: KILL_AFTER_MS },
        };
        piped.supervisor.tell(&Order::Start(launch));
        let started = piped.await_start(&options);
        started.map(|()| piped).map_err(|why| {
            let who = account.map(|account| format!(" as user {}", account.name)).unwrap_or_default();
            StackError::file(&format!("start{who}"), program, &io::Error::other(why))
        })
    }

    /// A supervisor that has the other ends of the pipes.
    fn supervised(name: &str, account: Option<&Account>, options: &Options) -> Result<Self, StackError> {
        let pipes = || -> io::Result<_> {
            let (reads, input) = pipe()?;
            let (output, writes) = pipe()?;
            // These four stay open until it is started, so 3 and 4 are not free for what std opens in between.
            let above = |fd: &dyn AsFd| fcntl_dupfd_cloexec(fd.as_fd(), DESCRIPTOR_MIN);
            Ok(([above(&reads)?, above(&writes)?], input, output, (reads, writes)))
        };
        let wrong = |error: io::Error| StackError::Machine { doing: "make a pipe".into(), reason: error.to_string() };
        let (handed, input, output, opened) = pipes().map_err(wrong)?;
        let (supervisor, dir) = Connection::open(options, name, account, Some(handed))?;
        drop(opened);
        Ok(Self {
            name: name.to_owned(),
            supervisor,
            dir,
            now_ns: options.now_ns,
            ended: None,
            input: Some(File::from(OwnedFd::from(input))),
            output: File::from(OwnedFd::from(output)),
        })
    }

    /// Waits until it has been started, or returns why not.
    fn await_start(&mut self, options: &Options) -> Result<(), String> {
        match self.supervisor.next((self.now_ns)() + START_MAX_NS, options) {
            Ok(Report::Started { .. }) => Ok(()),
            Ok(Report::Failed { why, .. }) => Err(why),
            Ok(_) | Err(Silence::Closed | Silence::Interrupted) => Err("its supervisor has ended".into()),
            Err(Silence::Late) => Err("its supervisor says nothing".into()),
        }
    }

    /// How it has ended, with the last that it wrote to stderr; none while it runs.
    pub fn ended(&mut self) -> Option<String> {
        while let (None, Some(report)) = (&self.ended, self.supervisor.try_next()) {
            self.ended = match report {
                Report::Ended { how, .. } => Some(self.told(&how.to_string())),
                Report::DiskFull => Some(self.told("was ended, as no room was left on the disk")),
                _ => None,
            };
        }
        if self.ended.is_none() && self.supervisor.is_closed() {
            self.ended = Some("lost its supervisor, which was ended from outside".into());
        }
        self.ended.clone()
    }

    /// The same, once it had so much time to end.
    pub fn ended_within(&mut self, time_ns: u64) -> Option<String> {
        let deadline_ns = (self.now_ns)() + time_ns;
        loop {
            match self.ended() {
                None if (self.now_ns)() < deadline_ns => std::thread::sleep(LOOK_UP),
                ended => return ended,
            }
        }
    }

    fn told(&self, how: &str) -> String {
        let tail = Folder::open(&self.dir.join(OUTPUT)).and_then(|out| out.tail(&file(&self.name), SAID_BYTES_MAX));
        format!("{how}{}", error::said(&String::from_utf8_lossy(&tail.unwrap_or_default())))
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        self.input = None;
        self.supervisor.close(self.now_ns);
        // When the supervisor was killed, or could not remove it, something is left, which `clean` finds later at the latest.
        if self.dir.exists() {
            clean::end(&self.dir, self.now_ns);
        }
    }
}

fn file(name: &str) -> String {
    format!("{name}.out")
}

fn options(supervisor: &[OsString], now_ns: fn() -> u64) -> Options {
    Options {
        supervisor: supervisor.to_owned(),
        own_program: PathBuf::new(),
        now_ns,
        cpus: Vec::new(),
        ready_timeout_ns: 0,
        stop: Arc::default(),
        keep_state: false,
        may_be_left: false,
    }
}
