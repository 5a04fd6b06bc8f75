//! Carries the streams of agents: one thread that owns the protocol, and for each agent one that reads and one that writes, so
//! that an agent that stalls holds up no other, and heartbeats go on whatever else the program does.

use crate::agents::launcher::{Carrier, END_NS, Launcher, Stream};
use crate::agents::protocol::Protocol;
use crate::exit::CommandError;
use crate::lock::hold;
use clock::monotonic_ns;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;
/// How often one that waits for an event looks whether it is to go on.
pub(crate) const LOOK_UP: Duration = Duration::from_millis(20);
/// Pieces of an agent that may wait for the protocol: one that never stops takes no memory, nor the time of the others.
const PIECES_MAX: usize = 16;
/// Longest sleep, so that a clock that was stopped is noticed.
const SLEEP_MAX_NS: u64 = 500_000_000;

/// Something for the thread that owns the protocol.
enum Input<O> {
    /// The agent's own bytes follow.
    Attached(usize, End),
    /// With the instant at which they were read; ns.
    Bytes(usize, Vec<u8>, u64),
    Ended(usize, String),
    Order(O),
    Quit,
}

/// Our end of an agent's stream, which ends when it is dropped.
struct End {
    writer: Sender<Vec<u8>>,
    /// Makes room for a piece of the agent when one is received.
    pieces: Receiver<()>,
    carrier: Arc<dyn Carrier>,
}

/// All agents; their streams end with it.
pub(crate) struct Pump<P: Protocol> {
    to: Sender<Input<P::Order>>,
    /// Sessions that share the agents wait for events one after the other.
    events: Mutex<Receiver<P::Event>>,
    launcher: Arc<dyn Launcher>,
    thread: Option<JoinHandle<()>>,
}

impl<P: Protocol> Pump<P> {
    /// Gets the streams of all agents, at the same time. `at_once` is called with each event before it waits to be fetched.
    pub(crate) fn start(
        launcher: Arc<dyn Launcher>,
        protocol: P,
        at_once: impl Fn(&P::Event) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (to, inbox) = channel();
        let (out, events) = channel();
        let n = launcher.names().len();
        for agent in 0..n {
            let (launcher, to) = (Arc::clone(&launcher), to.clone());
            let read = move || {
                let why = match launcher.connect(agent) {
                    Ok(stream) => carry(agent, stream, &to),
                    Err(why) => why,
                };
                // If the protocol has ended, nobody wants to know.
                let _ = to.send(Input::Ended(agent, why));
            };
            Builder::new().name(format!("agent-{agent}")).spawn(read)?;
        }
        let thread = Builder::new().name("agents".into()).spawn(move || pump(protocol, n, &inbox, &out, &at_once))?;
        Ok(Self { to, events: Mutex::new(events), launcher, thread: Some(thread) })
    }

    /// The next event; none within `timeout`.
    pub(crate) fn event(&self, timeout: Duration) -> Option<P::Event> {
        hold(&self.events).recv_timeout(timeout).ok()
    }

    /// What `take` makes of the first event that it wants; none within the time. `stop` ends it early.
    pub(crate) fn wait<T>(
        &self,
        within_ns: u64,
        stop: Option<&AtomicBool>,
        mut take: impl FnMut(P::Event) -> Result<Option<T>, CommandError>,
    ) -> Result<Option<T>, CommandError> {
        let until_ns = monotonic_ns().saturating_add(within_ns);
        while monotonic_ns() < until_ns {
            if let Some(event) = self.event(LOOK_UP)
                && let Some(taken) = take(event)?
            {
                return Ok(Some(taken));
            }
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(CommandError::interrupted());
            }
        }
        Ok(None)
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
        // The streams have ended, and their agents with them.
        self.launcher.close();
    }
}

/// Hands on what an agent says, and returns why that has ended.
fn carry<O>(agent: usize, stream: Stream, to: &Sender<Input<O>>) -> String {
    let Stream { mut from, to: mut writer, carrier } = stream;
    let (sender, bytes) = channel::<Vec<u8>>();
    let write = move || {
        for piece in bytes {
            // What does not get through is missed by the agent, which ends for it.
            if writer.write_all(&piece).and_then(|()| writer.flush()).is_err() {
                break;
            }
        }
    };
    if let Err(error) = Builder::new().name(format!("to-agent-{agent}")).spawn(write) {
        return format!("cannot start a thread: {error}");
    }
    let (piece, pieces) = sync_channel(PIECES_MAX);
    let end = End { writer: sender, pieces, carrier: Arc::clone(&carrier) };
    let mut is_wanted = to.send(Input::Attached(agent, end)).is_ok();
    let mut buffer = vec![0; READ_BYTES];
    while let (true, Ok(n @ 1..)) = (is_wanted, from.read(&mut buffer)) {
        let bytes = Input::Bytes(agent, buffer[..n].to_vec(), monotonic_ns());
        // Waits while there are too many.
        is_wanted = piece.send(()).is_ok() && to.send(bytes).is_ok();
    }
    drop(from);
    carrier.why()
}

/// Owns the protocol until it is told to quit.
fn pump<P: Protocol>(
    mut protocol: P,
    agents: usize,
    inbox: &Receiver<Input<P::Order>>,
    out: &Sender<P::Event>,
    at_once: &dyn Fn(&P::Event),
) {
    let mut ends: Vec<Option<End>> = (0..agents).map(|_| None).collect();
    let mut carriers: Vec<Arc<dyn Carrier>> = Vec::new();
    loop {
        let wait_ns = protocol.deadline_ns().saturating_sub(monotonic_ns()).min(SLEEP_MAX_NS);
        match inbox.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(Input::Attached(agent, end)) => {
                carriers.push(Arc::clone(&end.carrier));
                ends[agent] = Some(end);
                protocol.attach(agent, monotonic_ns());
            }
            Ok(Input::Bytes(agent, bytes, received_ns)) => {
                protocol.on_bytes(agent, &bytes, received_ns, monotonic_ns());
                if let Some(end) = &ends[agent] {
                    // The sign of a piece comes before it.
                    let _ = end.pieces.try_recv();
                }
            }
            Ok(Input::Ended(agent, why)) => protocol.on_end(agent, &why, monotonic_ns()),
            Ok(Input::Order(order)) => protocol.on_order(order, monotonic_ns()),
            Ok(Input::Quit) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        protocol.on_time(monotonic_ns());
        for (agent, end) in ends.iter_mut().enumerate() {
            let bytes = protocol.take_output(agent);
            if let Some(end) = end.as_ref().filter(|_| !bytes.is_empty()) {
                // A writer that has ended is told by its reader.
                let _ = end.writer.send(bytes);
            }
            if protocol.is_lost(agent) {
                // Its load would go on, and is counted nowhere.
                end.take().into_iter().for_each(cut_off);
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
    drop(ends);
    let until_ns = monotonic_ns().saturating_add(END_NS);
    carriers.iter().for_each(|carrier| carrier.end(until_ns));
}

/// Ends the stream of an agent while the others go on.
fn cut_off(end: End) {
    let End { writer, carrier, .. } = end;
    drop(writer);
    let wait = move || carrier.end(monotonic_ns().saturating_add(END_NS));
    // Without a thread it ends with all others.
    let _ = Builder::new().name("end-agent".into()).spawn(wait);
}

#[cfg(test)]
mod tests;
