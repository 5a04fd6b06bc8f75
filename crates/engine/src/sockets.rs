//! Connections on one epoll instance: each socket is registered once, edge-triggered, for both directions.

mod tls_streams;

use crate::transport::{Opening, Transport};
use model::{Address, Failure, FailureKind, FailurePhase, TlsSession};
use net::address;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, sockopt};
use rustix::time::Timespec;
use std::os::fd::OwnedFd;
use tls_streams::TlsStreams;
pub(crate) use tls_streams::{Handshake, PLAIN_BYTES};
use wire::tls::Config;

/// Events taken from the kernel at once.
const EVENTS_AT_ONCE: usize = 256;

/// The connections of one load thread.
pub(crate) struct Sockets {
    epoll: OwnedFd,
    slots: Box<[Slot]>,
    address: SocketAddrAny,
    events: Vec<epoll::Event>,
    /// Encrypts and decrypts, if the plan says so.
    tls: Option<TlsStreams>,
    /// The target is on this machine, where a connection is open as soon as `connect` returns.
    local: bool,
}

/// One connection's socket. The generation tells events of an earlier socket in the same slot apart.
#[derive(Default)]
struct Slot {
    fd: Option<OwnedFd>,
    generation: u32,
}

/// A socket that has something to say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) conn: usize,
    pub(crate) generation: u32,
    pub(crate) flags: EventFlags,
}

impl Sockets {
    /// No connection yet.
    ///
    /// # Errors
    /// If the kernel has no epoll instance left for us, or cannot take the address.
    pub(crate) fn new(address: &Address, connections: usize, tls: Option<Config>) -> std::io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            slots: (0..connections).map(|_| Slot::default()).collect(),
            address: address::kernel(address)?,
            events: Vec::with_capacity(EVENTS_AT_ONCE),
            tls: tls.map(|config| TlsStreams::new(config, connections)),
            local: address.is_each_machines_own(),
        })
    }

    /// Waits up to `timeout_ns` for events; returns how many there are.
    pub(crate) fn wait(&mut self, timeout_ns: u64) -> std::io::Result<usize> {
        let timeout = Timespec {
            tv_sec: (timeout_ns / model::NS_PER_S).cast_signed(),
            tv_nsec: (timeout_ns % model::NS_PER_S).cast_signed(),
        };
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(n) => Ok(n),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Event `i` of the last [`Sockets::wait`]; none when its socket has been closed since.
    #[inline]
    pub(crate) fn event(&self, i: usize) -> Option<Ready> {
        let event = self.events[i];
        let data = event.data.u64();
        let ready = Ready { conn: (data & 0xffff_ffff) as usize, generation: (data >> 32) as u32, flags: event.flags };
        self.is_current(ready.conn, ready.generation).then_some(ready)
    }

    #[inline]
    pub(crate) fn is_current(&self, conn: usize, generation: u32) -> bool {
        self.slots[conn].generation == generation && self.slots[conn].fd.is_some()
    }

    /// Reads what is there; 0 is the end of the stream, none means that there is nothing to be had of it, or not yet.
    #[inline]
    pub(crate) fn read(&mut self, conn: usize, buffer: &mut [u8]) -> Result<Option<usize>, FailureKind> {
        let Some(fd) = &self.slots[conn].fd else { return Ok(None) };
        if let Some(tls) = &mut self.tls {
            return tls.read(conn, fd, buffer);
        }
        match rustix::net::recv(fd, buffer, RecvFlags::empty()) {
            Ok((n, _)) => Ok(Some(n)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(kind_of(error)),
        }
    }

    /// True if the last read, which brought `n` bytes into a buffer of `capacity`, may have left something.
    #[inline]
    pub(crate) fn has_more(&self, n: usize, capacity: usize) -> bool {
        self.tls.as_ref().map_or(n == capacity, TlsStreams::has_more)
    }

    /// Sends what was taken and could not be sent at once.
    #[inline]
    pub(crate) fn flush(&mut self, conn: usize) -> Result<(), FailureKind> {
        match (&mut self.tls, &self.slots[conn].fd) {
            (Some(tls), Some(fd)) => tls.flush(conn, fd),
            _ => Ok(()),
        }
    }

    /// Something has happened while `conn` was being opened: how far it is. `buffer` is for the reads of a handshake.
    pub(crate) fn advance(&mut self, conn: usize, now: u64, buffer: &mut [u8]) -> Result<Opening, Failure> {
        let failure = |kind| Failure::new(FailurePhase::Connect, kind);
        let Some(fd) = &self.slots[conn].fd else { return Err(failure(FailureKind::Other)) };
        let phase = self.opening_phase(conn);
        match sockopt::socket_error(fd) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => return Err(Failure::new(phase, kind_of(error))),
        }
        match &mut self.tls {
            None => Ok(Opening::Done),
            Some(tls) => tls.advance(conn, fd, now, buffer),
        }
    }

    /// The TLS handshake that opening `conn` has ended with, if there was one.
    pub(crate) fn handshake(&self, conn: usize) -> Option<Handshake> {
        self.tls.as_ref().and_then(|tls| tls.handshake(conn))
    }

    /// What any of the connections has agreed on, if they are encrypted.
    pub(crate) fn session(&self) -> Option<TlsSession> {
        self.tls.as_ref().and_then(TlsStreams::session)
    }
}

impl Transport for Sockets {
    fn connect(&mut self, conn: usize) -> Result<Opening, FailureKind> {
        let fd = address::stream(&self.address, SocketFlags::NONBLOCK).map_err(kind_of)?;
        let opening = match rustix::net::connect(&fd, &self.address) {
            Ok(()) => Opening::Done,
            // Asking is cheaper than a round through epoll when the peer is on this machine.
            Err(Errno::INPROGRESS) if self.local && rustix::net::getpeername(&fd).is_ok() => Opening::Done,
            Err(Errno::INPROGRESS) => Opening::Pending,
            // The accept queue of a Unix socket is full, and nobody tells when there is room in it.
            Err(Errno::AGAIN) if self.address.address_family() == AddressFamily::UNIX => {
                return Err(FailureKind::Refused);
            }
            Err(error) => return Err(kind_of(error)),
        };
        let slot = &mut self.slots[conn];
        let data = EventData::new_u64(u64::from(slot.generation) << 32 | conn as u64);
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &fd, data, interest).map_err(kind_of)?;
        slot.fd = Some(fd);
        // The handshake begins when the socket says that it is open.
        Ok(if self.tls.is_some() { Opening::Pending } else { opening })
    }

    #[inline]
    fn send(&mut self, conn: usize, bytes: &[u8]) -> Result<usize, FailureKind> {
        let Some(fd) = &self.slots[conn].fd else { return Err(FailureKind::Closed) };
        if let Some(tls) = &mut self.tls {
            return tls.send(conn, fd, bytes);
        }
        match rustix::net::send(fd, bytes, SendFlags::NOSIGNAL) {
            Ok(n) => Ok(n),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(kind_of(error)),
        }
    }

    fn opening_phase(&self, conn: usize) -> FailurePhase {
        match &self.tls {
            Some(tls) if tls.is_handshaking(conn) => FailurePhase::Tls,
            _ => FailurePhase::Connect,
        }
    }

    fn close(&mut self, conn: usize) {
        if let Some(tls) = &mut self.tls {
            tls.close(conn);
        }
        let slot = &mut self.slots[conn];
        slot.fd = None;
        slot.generation = slot.generation.wrapping_add(1);
    }
}

/// What an error of the operating system means for a connection.
pub(crate) fn kind_of(error: Errno) -> FailureKind {
    match error {
        Errno::CONNREFUSED => FailureKind::Refused,
        Errno::TIMEDOUT => FailureKind::Timeout,
        Errno::CONNRESET | Errno::CONNABORTED => FailureKind::Reset,
        Errno::PIPE | Errno::NOTCONN => FailureKind::Closed,
        Errno::NOENT | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::NETDOWN | Errno::HOSTDOWN => {
            FailureKind::Unreachable
        }
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => FailureKind::PortsExhausted,
        Errno::MFILE | Errno::NFILE => FailureKind::FdsExhausted,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unix_socket_whose_queue_is_full_refuses() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("full.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 2).unwrap();
        let mut sockets = Sockets::new(&Address::Unix(path), 8, None).unwrap();
        let outcomes: Vec<_> = (0..8).map(|conn| sockets.connect(conn)).collect();
        assert_eq!(outcomes[0], Ok(Opening::Done));
        assert_eq!(outcomes[7], Err(FailureKind::Refused));
    }
}
