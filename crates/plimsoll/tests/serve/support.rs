//! A server that `plimsoll serve` runs.

use crate::program::{Ended, Program, Started, plimsoll};
use crate::shared::{Answer, Endpoint, exchange, wait_for};
use procfs::process::{Process, all_processes};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{Permissions, create_dir, set_permissions, write};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A start or an end that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Size of the file that is served when nothing is said.
const PAGE_BYTES: usize = 1024;

/// `plimsoll serve`, up. Ends with this value; [`Self::stop`] looks whether it does so well.
pub(crate) struct Served {
    program: Started,
    /// Its first line.
    pub(crate) line: Value,
    supervisor: i32,
}

impl Served {
    /// Runs `plimsoll serve` with these arguments and waits for its first line.
    #[track_caller]
    pub(crate) fn start<A: AsRef<str>>(args: &[A]) -> Self {
        let args = args.iter().map(|arg| arg.as_ref().to_owned());
        Self::of(plimsoll(["serve".to_owned()].into_iter().chain(args)))
    }

    /// Runs a command line that is `plimsoll serve` in the end.
    #[track_caller]
    pub(crate) fn of(program: Program) -> Self {
        let program = program.start();
        let read = |name: &str| std::fs::read_to_string(program.directory().join(name)).unwrap_or_default();
        let up = wait_for(TIMEOUT, || (read("stdout").ends_with('\n') || read("stderr").ends_with('\n')).then_some(()));
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        let line = serde_json::from_str(&stdout);
        let line: Value = line.unwrap_or_else(|error| panic!("{error}: {stdout:?} {stderr:?} {up:?}"));
        let mut served = Self { program, line, supervisor: 0 };
        let first = Process::new(served.services()[0].1).and_then(|process| process.stat());
        served.supervisor = first.expect("it runs").ppid;
        served
    }

    pub(crate) fn url(&self) -> &str {
        self.line["url"].as_str().expect("a URL")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.line["state"].as_str().expect("a path").into()
    }

    /// Name and number of each process that was started.
    #[track_caller]
    pub(crate) fn services(&self) -> Vec<(String, i32)> {
        let list = self.line["processes"].as_array().expect("a list");
        let one = |entry: &Value| {
            (entry["name"].as_str().expect("a name").into(), entry["pid"].as_i64().expect("a number") as i32)
        };
        list.iter().map(one).collect()
    }

    /// The process of plimsoll.
    pub(crate) fn plimsoll(&self) -> &Started {
        &self.program
    }

    /// The process between plimsoll and the servers.
    pub(crate) fn supervisor(&self) -> i32 {
        self.supervisor
    }

    /// Where it answers; with TLS it has to show the certificate that was told.
    #[track_caller]
    pub(crate) fn endpoint(&self) -> Endpoint {
        let (scheme, rest) = self.url().split_once("://").expect("a URL");
        let address = rest.split('/').next().and_then(|text| text.parse().ok()).expect("an address");
        match self.line["certificate"].as_str() {
            Some(certificate) if scheme == "https" => Endpoint::tls(address, certificate),
            None if scheme == "http" => Endpoint::plain(address),
            _ => panic!("TLS or not? {}", self.line),
        }
    }

    /// One GET; `headers` end with their line ends.
    #[track_caller]
    pub(crate) fn get(&self, path: &str, headers: &str) -> Answer {
        exchange(
            &self.endpoint(),
            format!("GET {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n{headers}\r\n").as_bytes(),
        )
    }

    /// How many of `n` requests on one connection are answered; the last asks for its end.
    #[track_caller]
    pub(crate) fn answered_on_one_connection(&self, n: usize) -> usize {
        let mut stream = self.endpoint().open();
        for number in 1..=n {
            let end = if number == n { "Connection: close\r\n" } else { "" };
            let sent = write!(stream, "GET / HTTP/1.1\r\nHost: t\r\n{end}\r\n");
            // A connection that has ended takes no request, or gives no answer.
            if sent.is_err() || !is_answered(&mut stream) {
                return number - 1;
            }
        }
        n
    }

    /// Ends it with ^C and fails unless that is all of it.
    #[track_caller]
    pub(crate) fn stop(self) -> Ended {
        self.program.signal(Signal::INT);
        self.ends(0)
    }

    /// Waits for its end and fails unless it ends with `code` and leaves nothing.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Ended {
        let remains = self.remains();
        let ended = self.program.end();
        ended.exits(code);
        remains.are_gone();
        ended
    }

    /// What must be gone when it has ended.
    pub(crate) fn remains(&self) -> Remains {
        let sessions = self.services().iter().map(|(_, pid)| *pid).chain([self.supervisor]).collect();
        Remains { sessions, state: self.state() }
    }
}

/// Reads one answer with the page; false when the connection ends before.
fn is_answered(stream: &mut dyn Read) -> bool {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(length) if length > 0 => seen.extend_from_slice(&buffer[..length]),
            _ => return false,
        }
        let head_end = seen.windows(4).position(|four| four == b"\r\n\r\n");
        if head_end.is_some_and(|at| seen.len() == at + 4 + PAGE_BYTES) {
            return true;
        }
    }
}

/// What a server would leave behind if it did not end well.
pub(crate) struct Remains {
    /// Each service leads a session of its own, and so does the supervisor.
    sessions: Vec<i32>,
    state: PathBuf,
}

impl Remains {
    /// Fails unless all of it goes in time: after SIGKILL others tidy up.
    #[track_caller]
    pub(crate) fn are_gone(&self) {
        wait_for(TIMEOUT, || (self.left().is_empty() && !self.state.exists()).then_some(()))
            .unwrap_or_else(|| panic!("left: {:?} {}", self.left(), self.state.display()));
        assert!(!self.state.with_added_extension("json").exists(), "its note is left");
    }

    /// Waits until no process is left.
    #[track_caller]
    pub(crate) fn processes_are_gone(&self) {
        let gone = wait_for(TIMEOUT, || self.left().is_empty().then_some(()));
        gone.unwrap_or_else(|| panic!("left: {:?}", self.left()));
    }

    fn left(&self) -> Vec<i32> {
        let all = all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok());
        all.filter(|stat| self.sessions.contains(&stat.session) && stat.state != 'Z').map(|stat| stat.pid).collect()
    }
}

/// A directory that servers may read, whoever they run as.
pub(crate) fn readable(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("a directory");
    set_permissions(root.path(), Permissions::from_mode(0o755)).expect("our own directory");
    create_dir(root.path().join("sub")).expect("a directory");
    files.iter().for_each(|(name, text)| write(root.path().join(name), text).expect("a file"));
    root
}

/// Children of a process.
pub(crate) fn children(of: i32) -> Vec<i32> {
    let all = all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok());
    all.filter(|stat| stat.ppid == of).map(|stat| stat.pid).collect()
}

/// Kills a process that a test has started.
#[track_caller]
pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a number"), Signal::KILL).expect("it runs");
}
