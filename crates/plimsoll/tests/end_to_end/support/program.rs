//! Runs a program in a temporary directory with its output captured, and ends it when it takes too long.

use super::{list, now, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// No program of these tests needs longer.
const LIMIT: Duration = Duration::from_secs(90);

/// How an error of the argument parser ends.
const HINT_OF_PARSER: &str = "\n\nFor more information, try '--help'.\n";

/// A command line that has not been started.
pub(crate) struct Program {
    program: OsString,
    args: Vec<OsString>,
    variables: Vec<(String, String)>,
    directory: TempDir,
}

/// `plimsoll` with these arguments.
pub(crate) fn plimsoll<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Program {
    Program::new(env!("CARGO_BIN_EXE_plimsoll"), args)
}

/// A bash script; `$PLIMSOLL` is the binary.
pub(crate) fn shell(script: &str) -> Program {
    Program::new("bash", ["-c", script])
}

/// A bash script in which file systems can be mounted that nobody else sees; none where the kernel does not let us.
pub(crate) fn mounting(script: &str) -> Option<Program> {
    let how = ["-m", "-rm"].into_iter().find(|how| {
        let tried = Command::new("unshare").args([how, "mount", "-t", "tmpfs", "none", "/mnt"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    })?;
    Some(Program::new("unshare", [how, "bash", "-c", script]))
}

impl Program {
    pub(crate) fn new<A: Into<OsString>>(program: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // Commands that root starts as servers run in it as another user.
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("our own directory");
        let args = args.into_iter().map(Into::into).collect();
        Self { program: program.into(), args, variables: Vec::new(), directory }
    }

    /// The directory it runs in.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Puts a file into that directory.
    pub(crate) fn with_file(self, name: &str, content: &[u8]) -> Self {
        std::fs::write(self.directory().join(name), content).expect("a file in the temporary directory");
        self
    }

    /// Sets an environment variable.
    #[allow(dead_code, reason = "tests of the command line need it, and those that measure do not")]
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn run(self) -> Ended {
        self.start().end()
    }

    /// Starts it.
    #[track_caller]
    pub(crate) fn start(self) -> Started {
        let (stdout, stderr) = (self.directory().join("stdout"), self.directory().join("stderr"));
        let file = |path: &Path| File::create(path).expect("a file in the temporary directory");
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(self.directory())
            .env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll"))
            .env("RUST_BACKTRACE", "1")
            // A shell complains of one that is set and not installed.
            .env("LC_ALL", "C.UTF-8");
        // What whoever runs the tests likes in a terminal is not what they compare.
        ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"].iter().for_each(|name| {
            command.env_remove(name);
        });
        let child = command
            .envs(self.variables)
            .stdin(Stdio::null())
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.program));
        let mut command = vec![self.program];
        command.extend(self.args);
        Started { child, directory: self.directory, command, since: now() }
    }
}

/// A running program. Killed when dropped before its end.
pub(crate) struct Started {
    child: Child,
    directory: TempDir,
    command: Vec<OsString>,
    since: std::time::Instant,
}

impl Started {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True once it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the program runs");
    }

    /// Waits until the only run directory has `n` events of that kind.
    #[track_caller]
    pub(crate) fn wait_for_events(&self, kind: &str, n: usize) {
        self.wait_for_written(LIMIT, &format!("\"event\":\"{kind}\""), n);
    }

    /// The same of events of the session, which may take longer.
    #[track_caller]
    pub(crate) fn wait_for_sessions(&self, within: Duration, kind: &str, n: usize) {
        self.wait_for_written(within, &format!("\"session\":\"{kind}\""), n);
    }

    #[track_caller]
    fn wait_for_written(&self, within: Duration, tag: &str, n: usize) {
        let seen = wait_for(within, || {
            let run = list(&self.directory().join("plimsoll-runs")).pop()?;
            let events = std::fs::read_to_string(run.join("events.jsonl")).ok()?;
            (events.lines().filter(|line| line.contains(tag)).count() >= n).then_some(())
        });
        let said = || std::fs::read_to_string(self.directory().join("stderr")).unwrap_or_default();
        seen.unwrap_or_else(|| panic!("{:?} wrote {tag} not {n} times; it said: {}", self.command, said()));
    }

    /// Waits for its end; kills it and fails when that takes too long.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let status = wait_for(LIMIT, || self.child.try_wait().expect("our own child"));
        let took = self.since.elapsed();
        let read = |name: &str| {
            let bytes = std::fs::read(self.directory.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        let command = format!("{:?}", self.command);
        let Some(status) = status else {
            panic!("{command} does not end within {LIMIT:?}\nstdout: {stdout}\nstderr: {stderr}")
        };
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().expect("a temporary directory"));
        Ended { status, stdout, stderr, took, directory, command }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Both do nothing when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    directory: TempDir,
    #[expect(dead_code, reason = "a failing test shows it")]
    command: String,
}

impl Ended {
    /// Fails unless it exited with `code` and no panic was printed.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        for sign in ["panicked", "stack backtrace", "RUST_BACKTRACE"] {
            assert!(!self.stderr.contains(sign), "{self:#?}");
        }
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self
    }

    /// Fails unless there is a result: whether a short one is a bound (exit code 0) or invalid (4) is up to its requests, and to
    /// what else the machine does.
    #[track_caller]
    pub(crate) fn measured(&self) -> &Self {
        self.exits(if self.status.code() == Some(0) { 0 } else { 4 })
    }

    /// Fails unless it exited with `code`, printed no result, and one line on stderr has all of `named`.
    ///
    /// Usage errors of the argument parser are followed by a hint; everything else is one line.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, named: &[&str]) -> &Self {
        self.exits(code);
        assert_eq!(self.stdout, "", "{self:#?}");
        let line = self.stderr.lines().next().unwrap_or_default();
        assert!(line.starts_with("plimsoll: "), "{self:#?}");
        let is_parsers = self.stderr.ends_with(HINT_OF_PARSER);
        assert!(is_parsers || self.stderr.lines().count() == 1, "more than one line: {self:#?}");
        for part in named {
            assert!(line.contains(part), "{part:?} is not named: {self:#?}");
        }
        self
    }

    /// The one JSON object on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:#?}"))
    }

    /// The only run directory.
    #[track_caller]
    pub(crate) fn run_directory(&self) -> PathBuf {
        let mut runs = list(&self.directory.path().join("plimsoll-runs"));
        assert_eq!(runs.len(), 1, "{self:#?}");
        runs.remove(0)
    }

    /// The path of a file of the directory it ran in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file of the directory it ran in.
    #[track_caller]
    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.directory.path().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A file of the only run directory.
    #[track_caller]
    pub(crate) fn recorded(&self, name: &str) -> String {
        let path = self.run_directory().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
