//! The thread that accepts connections and hands each to the worker that has the fewest.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::clients::Slot;
use super::stats::bump;
use super::{Shared, timespec};

/// Connections accepted before the workers that got them are woken.
const BATCH: usize = 64;
/// How long nothing is accepted when there is neither descriptor nor memory for it: connections that wait keep this
/// thread awake otherwise; ns.
const PAUSE_NS: u64 = 100_000_000;

/// A connection, and where its client is counted.
pub(super) type Newcomer = (OwnedFd, Slot);

/// Connections on their way to a worker, and what wakes it.
#[derive(Debug)]
pub(super) struct Mailbox {
    sockets: Mutex<Vec<Newcomer>>,
    handle: OwnedFd,
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { sockets: Mutex::new(Vec::new()), handle: wake_handle()? })
    }

    pub(super) fn wake(&self) {
        wake(&self.handle);
    }

    /// Swaps everything that has come into `taken`, which is empty.
    pub(super) fn collect(&self, taken: &mut Vec<Newcomer>) {
        clear(&self.handle);
        std::mem::swap(&mut *self.sockets.lock().expect("no thread panics with it"), taken);
    }

    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    fn send(&self, newcomer: Newcomer) {
        self.sockets.lock().expect("no thread panics with it").push(newcomer);
    }
}

/// Something to end a wait with.
pub(super) fn wake_handle() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

/// Ends the wait of whoever waits for `handle`.
pub(super) fn wake(handle: &OwnedFd) {
    // Fails only when it is set beyond counting, and then the other side wakes anyway.
    let _ = rustix::io::write(handle, &1u64.to_ne_bytes());
}

fn clear(handle: &OwnedFd) {
    // Fails only when it is not set.
    let _ = rustix::io::read(handle, &mut [0u8; 8]);
}

pub(super) struct Acceptor {
    listener: OwnedFd,
    epoll: OwnedFd,
    shared: Arc<Shared>,
    /// Given up to accept and close a connection when the process has no descriptor left: left in the backlog it
    /// would keep this thread awake.
    spare: Option<OwnedFd>,
    /// Worker that is asked first when all have the same number.
    next: usize,
}

/// What an attempt to accept brought.
enum Accepted {
    /// A connection, and where it comes from; over a Unix socket from nowhere.
    Connection(OwnedFd, Option<IpAddr>),
    /// None is there.
    Nothing,
    /// One may be there, but there is nothing left to accept it with.
    Exhausted,
}

impl Acceptor {
    pub(super) fn new(listener: OwnedFd, shared: Arc<Shared>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &shared.acceptor, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
        Ok(Self { listener, epoll, spare: Some(wake_handle()?), next: 0, shared })
    }

    /// Accepts until the server stops.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut woken = vec![false; self.shared.mailboxes.len()];
        let mut events = Vec::with_capacity(2);
        while !self.shared.stopping() {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.shared.pass_stall();
            woken.fill(false);
            let exhausted = self.accept_batch(&mut woken)?;
            for (mailbox, _) in self.shared.mailboxes.iter().zip(&woken).filter(|(_, woken)| **woken) {
                mailbox.wake();
            }
            if exhausted {
                // Interrupted or not: the next attempt tells.
                let _ = rustix::thread::nanosleep(&timespec(PAUSE_NS));
            }
        }
        Ok(())
    }

    /// Accepts some connections and marks the workers that got them; true if there is nothing left to accept with.
    fn accept_batch(&mut self, woken: &mut [bool]) -> io::Result<bool> {
        if self.spare.is_none() {
            self.spare = wake_handle().ok();
        }
        for _ in 0..BATCH {
            match self.accept()? {
                Accepted::Connection(socket, client) => {
                    if let Some(worker) = self.hand_over(socket, client) {
                        woken[worker] = true;
                    }
                }
                Accepted::Nothing => break,
                Accepted::Exhausted => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The next connection.
    fn accept(&mut self) -> io::Result<Accepted> {
        loop {
            match accept_from(&self.listener) {
                Ok((socket, client)) => return Ok(Accepted::Connection(socket, client)),
                Err(Errno::AGAIN) => return Ok(Accepted::Nothing),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => return Ok(self.turn_away()),
                // The connection was reset before it was accepted, or the like: not this server's end.
                Err(
                    Errno::INTR
                    | Errno::CONNABORTED
                    | Errno::PROTO
                    | Errno::PERM
                    | Errno::NETDOWN
                    | Errno::NONET
                    | Errno::HOSTDOWN
                    | Errno::HOSTUNREACH
                    | Errno::NETUNREACH
                    | Errno::NOPROTOOPT
                    | Errno::OPNOTSUPP
                    | Errno::TIMEDOUT,
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Closes the next connection, which there is nothing left to serve with, and has the workers make room.
    fn turn_away(&mut self) -> Accepted {
        bump(&self.shared.turned_away, 1);
        self.spare = None;
        let accepted = match accept_from(&self.listener) {
            Ok(_) => {
                bump(&self.shared.refused, 1);
                Accepted::Nothing
            }
            Err(Errno::AGAIN) => Accepted::Nothing,
            Err(_) => Accepted::Exhausted,
        };
        self.spare = wake_handle().ok();
        accepted
    }

    /// The worker that got the connection; none when it was closed for being one too many, of all or of its client.
    fn hand_over(&mut self, socket: OwnedFd, client: Option<IpAddr>) -> Option<usize> {
        let stats = &self.shared.stats;
        let open: u64 = stats.iter().map(|worker| worker.open.load(Relaxed)).sum();
        if open >= u64::from(self.shared.config.max_connections) {
            bump(&self.shared.turned_away, 1);
            bump(&self.shared.refused, 1);
            return None;
        }
        let Some(slot) = self.shared.clients.enter(client) else {
            bump(&self.shared.refused, 1);
            return None;
        };
        let in_turn = (0..stats.len()).map(|step| (self.next + step) % stats.len());
        let worker = in_turn.min_by_key(|index| stats[*index].open.load(Relaxed)).unwrap_or_default();
        self.next = (worker + 1) % stats.len();
        stats[worker].open.fetch_add(1, Relaxed);
        bump(&stats[worker].connections, 1);
        self.shared.mailboxes[worker].send((socket, slot));
        Some(worker)
    }
}

/// A connection, and the address it comes from, if it has one.
fn accept_from(listener: impl AsFd) -> Result<(OwnedFd, Option<IpAddr>), Errno> {
    let (socket, peer) = rustix::net::acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    let client = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).map(|peer| peer.ip());
    Ok((socket, client))
}
