//! Agents on the machines of `ssh://` addresses: some handshakes at the same time, and further attempts where sshd drops them.

use crate::agents::host::Host;
use crate::agents::identity::{OWN_PROGRAM, identity};
use crate::agents::launcher::{Carrier, Launcher, Stream};
use crate::agents::ssh::{Connection, Program, Ssh};
use crate::exit::CommandError;
use crate::lock::hold;
use model::human;
use std::io::BufReader;
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Handshakes at the same time: the default of sshd drops some of more than ten (`MaxStartups 10:30:100`).
const STARTING_MAX: usize = 8;
/// Attempts to connect to an sshd that drops some, and the pause before the next.
const CONNECT_TRIES: u32 = 3;
const CONNECT_PAUSE: Duration = Duration::from_millis(500);
/// What ssh says when the other side has dropped the handshake.
const DROPPED: [&str; 3] = ["Connection closed", "Connection reset", "kex_exchange_identification"];
const READ_BYTES: usize = 64 << 10;

/// Starts an agent on each of its hosts.
pub(crate) struct SshLauncher {
    hosts: Vec<Host>,
    ssh: Ssh,
    program: Program,
    slots: Slots,
    /// Those that have not got through; none once nobody waits for them any more.
    starting: Mutex<Option<Vec<Arc<Connection>>>>,
}

/// Bounds the number of handshakes.
#[derive(Default)]
struct Slots {
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Slots {
    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut taken = hold(&self.taken);
        while *taken >= STARTING_MAX {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        drop(taken);
        let done = work();
        *hold(&self.taken) -= 1;
        self.freed.notify_one();
        done
    }
}

impl SshLauncher {
    /// One that sends this program to each host, unless it is there.
    pub(crate) fn new(hosts: Vec<Host>, ssh: Ssh) -> Result<Self, CommandError> {
        Ok(Self {
            hosts,
            ssh,
            program: own_program()?,
            slots: Slots::default(),
            starting: Mutex::new(Some(Vec::new())),
        })
    }
}

/// This program, as it is sent.
fn own_program() -> Result<Program, CommandError> {
    let own = identity()?;
    let file = std::fs::metadata(OWN_PROGRAM)
        .map_err(|error| CommandError::usage(format!("cannot read the own program through {OWN_PROGRAM}: {error}")))?;
    Ok(Program { sha256: own.build, bytes: file.len(), architecture: own.architecture })
}

impl Launcher for SshLauncher {
    fn names(&self) -> Vec<String> {
        self.hosts.iter().map(ToString::to_string).collect()
    }

    fn state(&self) -> String {
        format!("starting {}", human::plural(self.hosts.len() as u64, "agent"))
    }

    fn connect(&self, agent: usize) -> Result<Stream, String> {
        for left in (0..CONNECT_TRIES).rev() {
            match self.slots.with(|| self.begin(agent)) {
                Err(why) if left > 0 && DROPPED.iter().any(|text| why.contains(text)) => {
                    std::thread::sleep(CONNECT_PAUSE);
                }
                connected => return connected,
            }
        }
        Err(String::new())
    }

    fn close(&self) {
        // Who hangs while it starts reads nothing, so that the end of its streams does not end it.
        let starting = hold(&self.starting).take();
        starting.into_iter().flatten().for_each(|connection| connection.kill());
    }
}

impl Drop for SshLauncher {
    fn drop(&mut self) {
        self.close();
    }
}

impl SshLauncher {
    /// One attempt.
    fn begin(&self, agent: usize) -> Result<Stream, String> {
        let (connection, mut stdin, stdout) = self.start(agent)?;
        let mut stdout = BufReader::with_capacity(READ_BYTES, stdout);
        let begun = connection.begin(&mut stdin, &mut stdout);
        if let Some(starting) = &mut *hold(&self.starting) {
            starting.retain(|other| !Arc::ptr_eq(other, &connection));
        }
        match begun {
            Ok(()) => Ok(Stream { from: Box::new(stdout), to: Box::new(stdin), carrier: connection }),
            Err(why) => {
                drop((stdin, stdout));
                let ended = connection.why();
                Err(why.unwrap_or(ended))
            }
        }
    }

    /// Starts ssh, which is ended with the others that start.
    fn start(&self, agent: usize) -> Result<(Arc<Connection>, ChildStdin, ChildStdout), String> {
        // Held until it is among them, so that none is forgotten.
        let mut starting = hold(&self.starting);
        let starting = starting.as_mut().ok_or("nobody waits for it any more")?;
        let (connection, stdin, stdout) = self.ssh.connect(&self.hosts[agent], &self.program)?;
        let connection = Arc::new(connection);
        starting.push(Arc::clone(&connection));
        Ok((connection, stdin, stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::monotonic_ns;
    use model::NS_PER_S;

    #[test]
    fn an_ssh_that_hangs_while_it_starts_ends_when_nobody_waits_for_it_any_more() {
        let host = Host { destination: "h".into(), port: None };
        let ssh = Ssh::new(Some("sh -c 'sleep 60; true'")).unwrap_or_else(|error| panic!("{}", error.message));
        let launcher = Arc::new(SshLauncher::new(vec![host], ssh).unwrap_or_else(|error| panic!("{}", error.message)));
        let started_ns = monotonic_ns();
        let connecting = Arc::clone(&launcher);
        let thread = std::thread::spawn(move || connecting.connect(0).map(drop));
        while hold(&launcher.starting).as_ref().is_some_and(Vec::is_empty) {
            std::thread::sleep(Duration::from_millis(5));
        }
        launcher.close();
        let why = thread.join().expect("no panic").expect_err("it hangs");
        assert_eq!(why, "ssh was killed");
        assert!(
            monotonic_ns() < started_ns + 30 * NS_PER_S,
            "its streams end with it, also those of what it has started"
        );
        assert_eq!(launcher.connect(0).map(drop), Err("nobody waits for it any more".into()));
    }
}
