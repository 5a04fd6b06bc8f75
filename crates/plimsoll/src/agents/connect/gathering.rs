//! Peers let in and strangers kept out: a thread that accepts connections until all peers are there, and one for each handshake.
//! A coordinator waits for its agents, and an agent in a cluster for its coordinator.
//!
//! Handshakes are bounded in number and time. Where there are too many the oldest is dropped, so that connections that say
//! nothing keep no agent out; who is refused is told in a line, and after some of them no more.

use super::tls::{self, HandshakeError, Reader, Shared, Writer};
use crate::lock::hold;
use clock::monotonic_ns;
use model::NS_PER_S;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{Connection, Error};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Handshakes at the same time.
const PENDING_MAX: usize = 64;
/// Time of a handshake.
const HANDSHAKE_NS: u64 = 10 * NS_PER_S;
/// Refused connections that are told.
const REFUSED_TOLD: usize = 16;
/// How often the listener looks whether it is still wanted.
const POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Pause when a connection cannot be accepted, as without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Both halves of a peer's stream, and what carries it.
pub(super) type Halves = (Reader, Writer, Arc<Shared>);

/// Begins the handshake with a peer that has connected.
pub(super) type Begin = Arc<dyn Fn() -> Result<Connection, Error> + Send + Sync>;

/// Peers that have come; shared by all threads.
pub(super) struct Gathering {
    state: Mutex<State>,
    changed: Condvar,
    /// Name of a peer before its number.
    prefix: &'static str,
}

struct State {
    /// In the order in which they came; taken by whoever carries them.
    came: Vec<Option<Halves>>,
    wanted: usize,
    /// Why no more will come.
    closed: Option<String>,
    pending: BTreeMap<u64, TcpStream>,
    next: u64,
    refused: usize,
    notes: Vec<String>,
}

impl Gathering {
    /// Begins to accept that many peers. The listening socket is closed when all are there.
    pub(super) fn start(
        listener: TcpListener,
        begin: Begin,
        wanted: usize,
        prefix: &'static str,
    ) -> io::Result<Arc<Self>> {
        listener.set_nonblocking(true)?;
        let state = State {
            came: Vec::new(),
            wanted,
            closed: None,
            pending: BTreeMap::new(),
            next: 0,
            refused: 0,
            notes: Vec::new(),
        };
        let this = Arc::new(Self { state: Mutex::new(state), changed: Condvar::new(), prefix });
        let accepting = Arc::clone(&this);
        Builder::new().name("agents-listen".into()).spawn(move || accepting.accept(&listener, &begin))?;
        Ok(this)
    }

    /// The stream of a peer, by the order in which they come; else why it has none. `late` says so of one that has not come by
    /// the instant, of the number that has; ns.
    pub(super) fn take(&self, peer: usize, until_ns: u64, late: impl Fn(usize) -> String) -> Result<Halves, String> {
        let mut state = hold(&self.state);
        loop {
            if let Some(halves) = state.came.get_mut(peer).and_then(Option::take) {
                return Ok(halves);
            }
            if let Some(why) = &state.closed {
                return Err(why.clone());
            }
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Err(late(state.came.len()));
            }
            let wait = Duration::from_nanos(left_ns);
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// No more come, for this reason; the first stands.
    pub(super) fn close(&self, why: &str) {
        let mut state = hold(&self.state);
        state.closed.get_or_insert_with(|| why.to_owned());
        self.changed.notify_all();
    }

    /// How many have come.
    pub(super) fn count(&self) -> usize {
        hold(&self.state).came.len()
    }

    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut hold(&self.state).notes)
    }

    fn is_over(&self) -> bool {
        let state = hold(&self.state);
        state.closed.is_some() || state.came.len() >= state.wanted
    }

    /// Accepts until all are there or none is wanted any more.
    fn accept(self: &Arc<Self>, listener: &TcpListener, begin: &Begin) {
        while !self.is_over() {
            let mut ready = [PollFd::new(listener, PollFlags::IN)];
            if !poll(&mut ready, Some(&POLL)).is_ok_and(|n| n > 0) {
                continue;
            }
            match listener.accept() {
                Ok((socket, peer)) => self.admit(socket, peer, begin),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It is tried again: what is missing may come back.
                Err(_) => std::thread::sleep(ACCEPT_PAUSE),
            }
        }
        // Handshakes that are under way have no place left.
        hold(&self.state).pending.values().for_each(drop_socket);
    }

    /// Starts a handshake; the oldest makes room if there are too many.
    fn admit(self: &Arc<Self>, socket: TcpStream, peer: SocketAddr, begin: &Begin) {
        let Ok(held) = socket.try_clone() else { return };
        let mut state = hold(&self.state);
        if state.pending.len() >= PENDING_MAX
            && let Some((_, oldest)) = state.pending.pop_first()
        {
            drop_socket(&oldest);
        }
        let number = state.next;
        state.next += 1;
        state.pending.insert(number, held);
        drop(state);
        let (this, begin) = (Arc::clone(self), Arc::clone(begin));
        let greet = move || {
            let greeted = greet(socket, &begin);
            this.settle(number, peer, greeted);
        };
        if Builder::new().name("handshake".into()).spawn(greet).is_err() {
            hold(&self.state).pending.remove(&number);
        }
    }

    /// Takes the agent in, or tells why it is none.
    fn settle(&self, number: u64, peer: SocketAddr, greeted: Result<Halves, HandshakeError>) {
        let mut state = hold(&self.state);
        state.pending.remove(&number);
        let is_over = state.closed.is_some() || state.came.len() >= state.wanted;
        match greeted {
            // Those that are one too many see their connection end.
            _ if is_over => {}
            Ok(halves) => {
                state.came.push(Some(halves));
                let (n, wanted, prefix) = (state.came.len(), state.wanted, self.prefix);
                state.notes.push(format!("agent {prefix}{n} of {wanted} has connected from {peer}"));
            }
            Err(error) => {
                state.refused += 1;
                if state.refused <= REFUSED_TOLD {
                    state.notes.push(format!("refused a connection from {peer}: {}", refusal(&error)));
                }
                if state.refused == REFUSED_TOLD {
                    state.notes.push("more connections that are refused are not told".into());
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

fn drop_socket(socket: &TcpStream) {
    // One that is closed already is closed.
    let _ = socket.shutdown(Shutdown::Both);
}

fn greet(socket: TcpStream, begin: &Begin) -> Result<Halves, HandshakeError> {
    let until_ns = monotonic_ns().saturating_add(HANDSHAKE_NS);
    let mut connection = begin().map_err(|error| HandshakeError::Stranger(error.to_string()))?;
    tls::handshake(&mut connection, &socket, until_ns)?;
    Ok(tls::halves(connection, socket))
}

/// Why a connection is no agent's.
fn refusal(error: &HandshakeError) -> String {
    match error {
        HandshakeError::Late => format!("it did not prove within {} s that it is an agent", HANDSHAKE_NS / NS_PER_S),
        HandshakeError::Closed => "it ended before it had proved that it is an agent".into(),
        HandshakeError::Socket(why) => why.clone(),
        HandshakeError::Token => "it has another token; PLIMSOLL_TOKEN or the token file have to be the same".into(),
        HandshakeError::Build => {
            "it is another build of plimsoll, or no agent; both have to be the same program".into()
        }
        HandshakeError::Stranger(why) => format!("it is no agent: {why}"),
    }
}
