//! Agents that Slurm starts (`--client slurm://N`): one `srun` with a task on each node, whose agents connect.
//!
//! srun has one standard input and output for all tasks, so that these carry no streams.

use crate::agents::connect::launcher::{ConnectLauncher, Meeting};
use crate::agents::connect::token::TOKEN_VARIABLE;
use crate::agents::launcher::{Launcher, Stream};
use crate::agents::said::Said;
use crate::exit::CommandError;
use crate::lock::hold;
use model::{NS_PER_S, human};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::Duration;

/// Begin of the names of its agents.
pub(crate) const SCHEME: &str = "slurm://";
/// Bytes of what srun and its tasks say last that are kept.
const SAID_MAX: usize = 8 << 10;
/// How often srun is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Polls that srun has to end by itself once its agents have ended, and then when it is told to.
const END_POLLS: u32 = 60;

/// How Slurm is asked.
#[derive(Clone, Debug)]
pub(crate) struct SlurmOptions {
    pub(crate) meeting: Meeting,
    /// srun and options of the user, in words.
    pub(crate) srun: Vec<String>,
}

/// Has Slurm start agents, and waits for them.
pub(crate) struct SlurmLauncher {
    connect: Arc<ConnectLauncher>,
    srun: Arc<Srun>,
}

/// A running srun.
struct Srun {
    child: Mutex<Child>,
    said: Arc<Said>,
    agents: usize,
}

impl SlurmLauncher {
    /// Listens, and starts srun.
    pub(crate) fn new(options: &SlurmOptions) -> Result<Self, CommandError> {
        let connect = Arc::new(ConnectLauncher::new(options.meeting.clone(), SCHEME)?);
        let program = std::env::current_exe()
            .map_err(|error| CommandError::usage(format!("cannot find the own program: {error}")))?;
        let srun = Arc::new(Srun::start(options, connect.address(), program)?);
        let (watched, told) = (Arc::clone(&srun), Arc::clone(&connect));
        let watch = move || {
            let status = watched.ended();
            // Of those that have connected, their streams tell.
            told.give_up(&watched.why(status));
        };
        Builder::new()
            .name("srun".into())
            .spawn(watch)
            .map_err(|error| CommandError::usage(format!("cannot start a thread: {error}")))?;
        Ok(Self { connect, srun })
    }
}

impl Launcher for SlurmLauncher {
    fn names(&self) -> Vec<String> {
        self.connect.names()
    }

    fn connect(&self, agent: usize) -> Result<Stream, String> {
        self.connect.connect(agent).map_err(|why| match self.srun.last_said() {
            Some(said) if !why.contains(&said) => format!("{why}; srun says: {said}"),
            _ => why,
        })
    }

    fn state(&self) -> String {
        format!("srun is started, {}", self.connect.state())
    }

    fn take_notes(&self) -> Vec<String> {
        self.connect.take_notes()
    }

    fn timeout_ns(&self) -> u64 {
        self.connect.timeout_ns()
    }

    fn close(&self) {
        let is_there = self.connect.is_complete();
        self.connect.close();
        self.srun.end(is_there);
    }
}

impl Drop for SlurmLauncher {
    fn drop(&mut self) {
        self.close();
    }
}

/// srun with its options: each node runs one task, and the loss of one ends no other. The nodes are to be had within three
/// quarters of the time or not at all, so that srun says why before agents are missed.
fn words(options: &SlurmOptions, address: &str, program: PathBuf) -> Vec<String> {
    let Meeting { agents, wait, .. } = &options.meeting;
    let wait_s = (wait.ns / 4 * 3 / NS_PER_S).max(1);
    let own = [
        format!("--immediate={wait_s}"),
        "--no-kill".into(),
        "--kill-on-bad-exit=0".into(),
        "--input=none".into(),
        "--job-name=plimsoll".into(),
        // What else stands in the environment, credentials too, stays here.
        format!("--export=PATH,{TOKEN_VARIABLE}"),
        format!("--nodes={agents}"),
        format!("--ntasks={agents}"),
        "--ntasks-per-node=1".into(),
    ];
    let agent = [program.to_string_lossy().into_owned(), "agent".into(), "--connect".into(), address.into()];
    options.srun.iter().cloned().chain(own).chain(agent).collect()
}

impl Srun {
    fn start(options: &SlurmOptions, address: &str, program: PathBuf) -> Result<Self, CommandError> {
        let words = words(options, address, program);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(TOKEN_VARIABLE, options.meeting.token.token()?.secret());
        // ^C is for this program, which then ends the agents in good order.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let wrong = |error: std::io::Error| {
            CommandError::usage(format!(
                "cannot start {:?}: {error}; --client {SCHEME}{} needs srun of Slurm, or its name by --srun",
                words[0], options.meeting.agents
            ))
        };
        let mut child = command.spawn().map_err(wrong)?;
        let stderr = child.stderr.take();
        let said = Arc::new(Said::new(SAID_MAX));
        let heard = Arc::clone(&said);
        let listen = move || stderr.into_iter().for_each(|stderr| heard.listen(stderr));
        // Without a thread nothing of it is told.
        let _ = Builder::new().name("srun-stderr".into()).spawn(listen);
        Ok(Self { child: Mutex::new(child), said, agents: options.meeting.agents })
    }

    /// Waits for its end.
    fn ended(&self) -> Option<ExitStatus> {
        loop {
            match hold(&self.child).try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
            }
            std::thread::sleep(POLL);
        }
    }

    /// Why it has ended, in a line.
    fn why(&self, status: Option<ExitStatus>) -> String {
        let code = status.and_then(|status| status.code());
        let how = code.map_or_else(|| "srun was killed".to_owned(), |code| format!("srun ended with {code}"));
        // What it says last may be on its way.
        std::thread::sleep(POLL);
        let said = self.last_said().map_or_else(String::new, |said| format!(": {said}"));
        let nodes = human::plural(self.agents as u64, "node");
        format!("{how}{said}; sinfo shows if {nodes} can be had, and each needs this program and a way to this machine")
    }

    fn last_said(&self) -> Option<String> {
        last_line(&self.said.text())
    }

    /// Ends it, in good order if its agents end by themselves.
    fn end(&self, agents_end: bool) {
        if agents_end && self.ends() {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            self.signal(signal);
            if self.ends() {
                return;
            }
        }
    }

    /// True if it ends within some polls.
    fn ends(&self) -> bool {
        (0..END_POLLS).any(|_| {
            let has_ended = !matches!(hold(&self.child).try_wait(), Ok(None));
            if !has_ended {
                std::thread::sleep(POLL);
            }
            has_ended
        })
    }

    fn signal(&self, signal: Signal) {
        let mut child = hold(&self.child);
        // It is our own child, not waited for yet: the number is its.
        if let Ok(None) = child.try_wait() {
            let _ = kill_process(Pid::from_child(&child), signal);
        }
    }
}

/// The last line that tells of a failure; agents that have connected say so too.
fn last_line(said: &str) -> Option<String> {
    let lines = said.lines().rev().map(str::trim);
    let mut failures =
        lines.filter(|line| line.contains("error:") || line.starts_with("plimsoll:") || line.starts_with("srun:"));
    let last = failures.next()?;
    let words = last.strip_prefix("srun: ").unwrap_or(last);
    let words = words.strip_prefix("error: ").unwrap_or(words);
    Some(words.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::connect::token::{Token, TokenSource};

    #[test]
    fn srun_is_told_to_start_at_once_or_not_and_nothing_secret() {
        let token = Token::random().expect("a token");
        let secret = token.secret().to_owned();
        let meeting = Meeting {
            agents: 3,
            listen: "127.0.0.1:0".parse().expect("an address"),
            wait: model::Duration { ns: 4_500_000_000 },
            token: TokenSource::Known(token),
            token_file: None,
        };
        let options = SlurmOptions { meeting, srun: vec!["srun".into(), "-p".into(), "load".into()] };
        let words = words(&options, "10.0.0.1:7000", "/opt/plimsoll".into());
        assert_eq!(words[..4], ["srun", "-p", "load", "--immediate=3"]);
        assert_eq!(words[words.len() - 4..], ["/opt/plimsoll", "agent", "--connect", "10.0.0.1:7000"]);
        let exports: Vec<_> = words.iter().filter(|word| word.starts_with("--export")).collect();
        assert_eq!(exports, ["--export=PATH,PLIMSOLL_TOKEN"], "the rest of the environment is nobody's business there");
        assert!(words.contains(&"--nodes=3".to_owned()) && !words.iter().any(|word| word.contains(&secret)));
    }

    #[test]
    fn the_last_failure_is_told() {
        let said = "connected to the coordinator at a:1\nsrun: error: Unable to allocate resources: busy.\nconnected\n";
        assert_eq!(last_line(said).as_deref(), Some("Unable to allocate resources: busy"));
        assert_eq!(last_line("srun: job 2 queued and waiting\n").as_deref(), Some("job 2 queued and waiting"));
        assert_eq!(last_line("connected to the coordinator at a:1\n"), None);
    }
}
