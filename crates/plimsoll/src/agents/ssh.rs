//! An agent on another machine, started through the system's ssh: its configuration, keys, agent and jump hosts are the user's.

use crate::agents::host::Host;
use crate::agents::identity::OWN_PROGRAM;
use crate::agents::launcher::{Carrier, END_NS, ended_until};
use crate::agents::said::Said;
use crate::agents::script;
use crate::exit::CommandError;
use crate::lock::hold;
use agent::shell::{self, Word};
use clock::monotonic_ns;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Environment variable that names the command in the place of `ssh`.
pub(crate) const COMMAND_VARIABLE: &str = "PLIMSOLL_SSH";
/// No questions, and an end when the other side is gone; each can be set otherwise by `--ssh 'ssh -o ...'`, as the first counts.
const OPTIONS: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=2",
    "-o",
    "ServerAliveCountMax=3",
];
/// Bytes before the agent's first that are looked at for its word: start files of shells print.
const BEFORE_MAX: u64 = 64 << 10;
/// Bytes of what ssh says last that are kept.
const SAID_MAX: usize = 4 << 10;
/// What ssh itself returns when there is no connection, or none any more, and when a signal has ended what it ran.
const SSH_FAILED: i32 = 255;
/// A shell adds the number of the signal that has ended a program.
const BY_SIGNAL: i32 = 128;

/// The command that reaches other machines, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ssh {
    words: Vec<String>,
}

/// The program as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    pub(crate) architecture: String,
}

/// A running ssh, ended with this value.
#[derive(Debug)]
pub(crate) struct Connection {
    child: Mutex<Child>,
    said: Mutex<Option<JoinHandle<String>>>,
    host: Host,
    /// True once the agent's own bytes follow: the connection was there, and its shell came so far.
    has_begun: AtomicBool,
}

impl Ssh {
    /// What `--ssh` or the environment says, else `ssh`.
    pub(crate) fn new(typed: Option<&str>) -> Result<Self, CommandError> {
        let from_environment = std::env::var(COMMAND_VARIABLE).ok().filter(|text| !text.trim().is_empty());
        let (flag, text) = match (typed, from_environment) {
            (Some(typed), _) => ("--ssh", typed.to_owned()),
            (None, Some(text)) => (COMMAND_VARIABLE, text),
            (None, None) => ("--ssh", "ssh".to_owned()),
        };
        let words = shlex::split(&text).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| CommandError::usage(format!("{flag} is no command: quotes do not match")))?;
        Ok(Self { words })
    }

    /// Starts an agent on `host`; bytes for it, and of it. It says its word first: see [`Connection::begin`].
    pub(crate) fn connect(
        &self,
        host: &Host,
        program: &Program,
    ) -> Result<(Connection, ChildStdin, ChildStdout), String> {
        let Program { sha256, bytes, architecture } = program;
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(OPTIONS);
        if let Some(port) = host.port {
            command.arg("-p").arg(port.to_string());
        }
        command.arg("--").arg(&host.destination).arg(script::command(sha256, *bytes, architecture));
        // ^C is for this program, which then stops the agents in good order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let wrong = |error: io::Error| format!("cannot start {:?}: {error}", self.words[0]);
        let mut child = command.spawn().map_err(wrong)?;
        let missing = || wrong(io::ErrorKind::BrokenPipe.into());
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let said = std::thread::Builder::new().name("ssh-stderr".into()).spawn(move || last_said(stderr)).ok();
        let (child, said, host) = (Mutex::new(child), Mutex::new(said), host.clone());
        Ok((Connection { child, said, host, has_begun: AtomicBool::new(false) }, stdin, stdout))
    }
}

impl Connection {
    /// Ends an ssh that has not got through, with what it has started.
    pub(crate) fn kill(&self) {
        let mut child = hold(&self.child);
        // It leads a group of its own and was not waited for yet: the number is its.
        if let Ok(None) = child.try_wait() {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
    }

    /// Sends the program if it is wanted, and returns when the agent's own bytes follow.
    pub(crate) fn begin(&self, to: &mut ChildStdin, from: &mut BufReader<ChildStdout>) -> Result<(), Option<String>> {
        Self::prepare(to, from)?;
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn prepare(to: &mut ChildStdin, from: &mut BufReader<ChildStdout>) -> Result<(), Option<String>> {
        match next_word(from)? {
            Word::Go => return Ok(()),
            Word::Error(why) => return Err(Some(why)),
            Word::Send => {}
        }
        let program = File::open(OWN_PROGRAM).map_err(|error| Some(format!("cannot read {OWN_PROGRAM}: {error}")))?;
        // If the host takes no more, it says why.
        let _ = io::copy(&mut BufReader::with_capacity(1 << 16, program), to).and_then(|_| to.flush());
        match next_word(from)? {
            Word::Go => Ok(()),
            Word::Error(why) => Err(Some(why)),
            Word::Send => Err(Some("it wants the program twice".into())),
        }
    }
}

impl Carrier for Connection {
    fn end(&self, until_ns: u64) {
        end(&self.child, until_ns);
    }

    fn why(&self) -> String {
        let status = end(&self.child, monotonic_ns().saturating_add(END_NS));
        let said = hold(&self.said).take().and_then(|said| said.join().ok()).unwrap_or_default();
        why_ended(self.has_begun.load(Ordering::Relaxed), status.and_then(|status| status.code()), &said, &self.host)
    }
}

/// Why an ssh has ended with `code` (none: by a signal), by what was `said` last, in a line with what to do.
fn why_ended(has_begun: bool, code: Option<i32>, said: &str, host: &Host) -> String {
    let is_word = |line: &&str| !line.is_empty() && !line.starts_with(shell::MARK);
    let last = said.lines().rev().map(str::trim).find(is_word).unwrap_or_default().trim_end_matches('.');
    let last = if last.is_empty() { String::new() } else { format!(": {last}") };
    if let Some(status) = shell::ended(said) {
        return why_agent_ended(status, &last);
    }
    let Host { destination, port } = host;
    let port = port.map_or_else(String::new, |port| format!("-p {port} "));
    let attempt = format!("try: ssh {port}{destination} true");
    match (code, has_begun) {
        (None, _) => "ssh was killed".to_owned(),
        (Some(SSH_FAILED), false) if last.is_empty() => {
            format!("no connection, for a reason that ssh does not tell; {attempt}")
        }
        (Some(SSH_FAILED), false) => format!("no connection{last}; {attempt}"),
        (Some(SSH_FAILED), true) if last.is_empty() => {
            "its connection broke, or its shell was killed: ssh does not tell; see its machine and the network"
                .to_owned()
        }
        (Some(SSH_FAILED), true) => format!("its connection broke{last}; see its machine and the network"),
        (Some(code), false) => {
            format!(
                "its shell ended with {code} before the agent began{last}; see its start files (.bashrc), {attempt}"
            )
        }
        (Some(0), true) => "its stream ended: agent or ssh was ended there".to_owned(),
        (Some(code), true) => format!("ssh ended with {code}{last}"),
    }
}

/// Why the process of an agent has ended, as its shell tells.
fn why_agent_ended(status: i32, last: &str) -> String {
    let signal @ 1..=64 = status - BY_SIGNAL else { return format!("its process ended with {status}{last}") };
    let (name, hint) = match signal {
        1 => (" (SIGHUP)", ""),
        2 => (" (SIGINT)", ""),
        6 => (" (SIGABRT)", ""),
        7 => (" (SIGBUS)", ""),
        9 => (" (SIGKILL)", ": by somebody, or for want of memory (see dmesg there)"),
        11 => (" (SIGSEGV)", ""),
        15 => (" (SIGTERM)", ""),
        _ => ("", ""),
    };
    format!("its process was killed there by signal {signal}{name}{hint}")
}

impl Drop for Connection {
    fn drop(&mut self) {
        end(&self.child, monotonic_ns().saturating_add(END_NS));
    }
}

/// Waits for a process whose streams are closed, until an instant, and ends it; ns.
fn end(child: &Mutex<Child>, until_ns: u64) -> Option<ExitStatus> {
    let ended = ended_until(until_ns, || hold(child).try_wait().ok().flatten());
    if ended.is_some() {
        return ended;
    }
    let mut child = hold(child);
    // It is our own child, not waited for yet: the number is its.
    let _ = child.kill();
    child.wait().ok()
}

/// The next line that is meant for us; an error without text if the stream ends before, which ssh then explains.
fn next_word(from: &mut BufReader<ChildStdout>) -> Result<Word, Option<String>> {
    let mut left = BEFORE_MAX;
    loop {
        let mut line = Vec::new();
        let n = from.by_ref().take(left).read_until(b'\n', &mut line).map_err(|_| None)?;
        if n == 0 {
            return Err((left == 0).then(|| {
                format!(
                    "its shell printed {} KiB before the agent began: keep its start files (.bashrc) silent for commands",
                    BEFORE_MAX >> 10
                )
            }));
        }
        left -= n as u64;
        if let Some(word) = shell::word(&String::from_utf8_lossy(&line)) {
            return Ok(word);
        }
    }
}

/// The last that ssh says.
fn last_said(stderr: ChildStderr) -> String {
    let said = Said::new(SAID_MAX);
    said.listen(stderr);
    said.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A killed agent was told as `no connection: ; try: ssh load1 true`.
    #[test]
    fn each_end_is_told_with_its_reason_and_no_text_breaks_off() {
        let host = Host { destination: "load1".into(), port: Some(2222) };
        let why = |has_begun, code, said: &str| why_ended(has_begun, code, said, &host);
        let told = [
            (
                why(true, Some(137), "Killed\nplimsoll-agent:ended 137\n"),
                "its process was killed there by signal 9 (SIGKILL): by",
            ),
            (why(true, Some(255), "plimsoll-agent:ended 139\n"), "its process was killed there by signal 11 (SIGSEGV)"),
            (
                why(true, Some(2), "plimsoll: agent: no\nplimsoll-agent:ended 2\n"),
                "its process ended with 2: plimsoll: agent: no",
            ),
            (why(true, Some(255), ""), "its connection broke, or its shell was killed"),
            (
                why(true, Some(255), "Connection to h closed by remote host.\r\n"),
                "its connection broke: Connection to h closed by",
            ),
            (
                why(false, Some(255), "x\nConnection refused.\n"),
                "no connection: Connection refused; try: ssh -p 2222 load1",
            ),
            (
                why(false, Some(255), ""),
                "no connection, for a reason that ssh does not tell; try: ssh -p 2222 load1 true",
            ),
            (
                why(false, Some(3), ""),
                "its shell ended with 3 before the agent began; see its start files (.bashrc), try: ssh",
            ),
            (why(false, None, ""), "ssh was killed"),
            (why(true, Some(0), ""), "its stream ended: agent or ssh was ended there"),
        ];
        for (told, expected) in told {
            assert!(told.starts_with(expected), "{told}");
            assert!(!told.ends_with([':', ' ']) && !told.contains(": ;"), "{told}");
            assert!(told.len() <= 200, "longer ones are cut: {told}");
        }
    }

    #[test]
    fn the_command_is_split_as_a_shell_does() {
        assert_eq!(Ssh::new(Some("ssh -F 'a b'")).unwrap().words, ["ssh", "-F", "a b"]);
        for text in ["", "ssh 'x"] {
            assert!(Ssh::new(Some(text)).is_err(), "{text:?}");
        }
    }
}
