//! Carries the streams of agents: one thread that owns the protocol, and for each agent one that reads and one that writes, so
//! that an agent that stalls holds up no other, and heartbeats go on whatever else the program does.

use crate::agents::host::Host;
use crate::agents::protocol::Protocol;
use crate::agents::ssh::{Connection, Program, Ssh, end};
use crate::lock::hold;
use clock::monotonic_ns;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Handshakes at the same time: the default of sshd drops some of more than ten (`MaxStartups 10:30:100`).
const STARTING_MAX: usize = 8;
/// Attempts to connect to an sshd that drops some, and the pause before the next.
const CONNECT_TRIES: u32 = 3;
const CONNECT_PAUSE: Duration = Duration::from_millis(500);
/// What ssh says when the other side has dropped the handshake.
const DROPPED: [&str; 3] = ["Connection closed", "Connection reset", "kex_exchange_identification"];
const READ_BYTES: usize = 64 << 10;
/// Longest sleep, so that a clock that was stopped is noticed.
const SLEEP_MAX_NS: u64 = 500_000_000;

/// Something for the thread that owns the protocol.
enum Input<O> {
    /// The agent's own bytes follow; bytes for it go here, and the process ends when it is dropped.
    Attached(usize, Sender<Vec<u8>>, Arc<Mutex<Child>>),
    /// With the instant at which they were read; ns.
    Bytes(usize, Vec<u8>, u64),
    Ended(usize, String),
    Order(O),
    Quit,
}

/// All agents; their processes end with it.
pub(crate) struct Pump<P: Protocol> {
    to: Sender<Input<P::Order>>,
    /// Sessions that share the agents wait for events one after the other.
    events: Mutex<Receiver<P::Event>>,
    thread: Option<JoinHandle<()>>,
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

impl<P: Protocol> Pump<P> {
    /// Starts an agent on each host, all at the same time. `at_once` is called with each event before it waits to be fetched.
    pub(crate) fn start(
        hosts: &[Host],
        ssh: &Ssh,
        program: &Program,
        protocol: P,
        at_once: impl Fn(&P::Event) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (to, inbox) = channel();
        let (out, events) = channel();
        let slots = Arc::new(Slots::default());
        for (agent, host) in hosts.iter().enumerate() {
            let (ssh, host, program, to, slots) =
                (ssh.clone(), host.clone(), program.clone(), to.clone(), Arc::clone(&slots));
            let read = move || {
                let why = carry(agent, &ssh, &host, &program, &slots, &to);
                // If the protocol has ended, nobody wants to know.
                let _ = to.send(Input::Ended(agent, why));
            };
            Builder::new().name(format!("agent-{agent}")).spawn(read)?;
        }
        let n = hosts.len();
        let thread = Builder::new().name("agents".into()).spawn(move || pump(protocol, n, &inbox, &out, &at_once))?;
        Ok(Self { to, events: Mutex::new(events), thread: Some(thread) })
    }

    /// The next event; none within `timeout`.
    pub(crate) fn event(&self, timeout: Duration) -> Option<P::Event> {
        hold(&self.events).recv_timeout(timeout).ok()
    }

    /// Asks something of the agents.
    pub(crate) fn order(&self, order: P::Order) {
        // The thread ends with this value alone.
        let _ = self.to.send(Input::Order(order));
    }
}

impl<P: Protocol> Drop for Pump<P> {
    fn drop(&mut self) {
        let _ = self.to.send(Input::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connects to a host, hands on what its agent says, and returns why that has ended.
fn carry<O>(agent: usize, ssh: &Ssh, host: &Host, program: &Program, slots: &Slots, to: &Sender<Input<O>>) -> String {
    for left in (0..CONNECT_TRIES).rev() {
        let connected = slots.with(|| connect(ssh, host, program));
        match connected {
            Ok((connection, stdin, stdout)) => return read_all(agent, connection, stdin, stdout, to),
            Err(why) if left > 0 && DROPPED.iter().any(|text| why.contains(text)) => std::thread::sleep(CONNECT_PAUSE),
            Err(why) => return why,
        }
    }
    String::new()
}

type Connected = (Connection, ChildStdin, BufReader<ChildStdout>);

fn connect(ssh: &Ssh, host: &Host, program: &Program) -> Result<Connected, String> {
    let (mut connection, mut stdin, stdout) = ssh.connect(host, program)?;
    let mut stdout = BufReader::with_capacity(READ_BYTES, stdout);
    match connection.begin(&mut stdin, &mut stdout) {
        Ok(()) => Ok((connection, stdin, stdout)),
        Err(why) => {
            drop((stdin, stdout));
            let ended = connection.end();
            Err(why.unwrap_or(ended))
        }
    }
}

fn read_all<O>(
    agent: usize,
    mut connection: Connection,
    mut stdin: ChildStdin,
    mut stdout: BufReader<ChildStdout>,
    to: &Sender<Input<O>>,
) -> String {
    let (sender, bytes) = channel::<Vec<u8>>();
    let write = move || {
        for piece in bytes {
            // What does not get through is missed by the agent, which ends for it.
            if stdin.write_all(&piece).and_then(|()| stdin.flush()).is_err() {
                break;
            }
        }
    };
    if let Err(error) = Builder::new().name(format!("to-agent-{agent}")).spawn(write) {
        return format!("cannot start a thread: {error}");
    }
    let mut is_wanted = to.send(Input::Attached(agent, sender, connection.child())).is_ok();
    let mut buffer = vec![0; READ_BYTES];
    while let (true, Ok(n @ 1..)) = (is_wanted, stdout.read(&mut buffer)) {
        is_wanted = to.send(Input::Bytes(agent, buffer[..n].to_vec(), monotonic_ns())).is_ok();
    }
    drop(stdout);
    connection.end()
}

/// Owns the protocol until it is told to quit.
fn pump<P: Protocol>(
    mut protocol: P,
    agents: usize,
    inbox: &Receiver<Input<P::Order>>,
    out: &Sender<P::Event>,
    at_once: &dyn Fn(&P::Event),
) {
    let mut writers: Vec<Option<Sender<Vec<u8>>>> = (0..agents).map(|_| None).collect();
    let mut children: Vec<Arc<Mutex<Child>>> = Vec::new();
    loop {
        let wait_ns = protocol.deadline_ns().saturating_sub(monotonic_ns()).min(SLEEP_MAX_NS);
        match inbox.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(Input::Attached(agent, writer, child)) => {
                writers[agent] = Some(writer);
                children.push(child);
                protocol.attach(agent, monotonic_ns());
            }
            Ok(Input::Bytes(agent, bytes, received_ns)) => {
                protocol.on_bytes(agent, &bytes, received_ns, monotonic_ns())
            }
            Ok(Input::Ended(agent, why)) => protocol.on_end(agent, &why, monotonic_ns()),
            Ok(Input::Order(order)) => protocol.on_order(order, monotonic_ns()),
            Ok(Input::Quit) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        protocol.on_time(monotonic_ns());
        for (agent, writer) in writers.iter().enumerate() {
            let bytes = protocol.take_output(agent);
            if let Some(writer) = writer.as_ref().filter(|_| !bytes.is_empty()) {
                // A writer that has ended is told by its reader.
                let _ = writer.send(bytes);
            }
        }
        while let Some(event) = protocol.take_event() {
            at_once(&event);
            if out.send(event).is_err() {
                break;
            }
        }
    }
    // Their streams close, and the agents end.
    drop(writers);
    for child in children {
        let _ = end(&child);
    }
}
