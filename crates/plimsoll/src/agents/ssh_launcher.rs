//! Agents on the machines of `ssh://` addresses: some handshakes at the same time, and further attempts where sshd drops them.

use crate::agents::host::Host;
use crate::agents::identity::{OWN_PROGRAM, identity};
use crate::agents::launcher::{Carrier, Launcher, Stream};
use crate::agents::ssh::{Program, Ssh};
use crate::exit::CommandError;
use crate::lock::hold;
use model::human;
use std::io::BufReader;
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
        Ok(Self { hosts, ssh, program: own_program()?, slots: Slots::default() })
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
            match self.slots.with(|| connect(&self.ssh, &self.hosts[agent], &self.program)) {
                Err(why) if left > 0 && DROPPED.iter().any(|text| why.contains(text)) => {
                    std::thread::sleep(CONNECT_PAUSE);
                }
                connected => return connected,
            }
        }
        Err(String::new())
    }
}

fn connect(ssh: &Ssh, host: &Host, program: &Program) -> Result<Stream, String> {
    let (connection, mut stdin, stdout) = ssh.connect(host, program)?;
    let mut stdout = BufReader::with_capacity(READ_BYTES, stdout);
    match connection.begin(&mut stdin, &mut stdout) {
        Ok(()) => Ok(Stream { from: Box::new(stdout), to: Box::new(stdin), carrier: Arc::new(connection) }),
        Err(why) => {
            drop((stdin, stdout));
            let ended = connection.why();
            Err(why.unwrap_or(ended))
        }
    }
}
