//! TLS on the sockets of a load thread: one state a slot, one buffer for all.

use super::kind_of;
use crate::transport::Opening;
use model::{Failure, FailureKind, FailurePhase, TlsSession};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::OwnedFd;
use wire::tls::{Config, Connection, RECORD_BYTES, TlsError};

/// One read takes at most this. With a record held back it must fit into the reader's buffer.
const READ_BYTES: usize = 32 * 1024;
/// What a buffer for plaintext must hold.
pub(crate) const PLAIN_BYTES: usize = READ_BYTES + RECORD_BYTES;

/// The TLS states of a load thread.
pub(crate) struct Secure {
    config: Config,
    slots: Box<[Option<Box<Slot>>]>,
    incoming: Box<[u8]>,
    /// The last read has left something, in the socket or of the end of the stream.
    more: bool,
}

struct Slot {
    tls: Connection,
    /// When the handshake began; ns.
    since_ns: u64,
    /// Encrypted bytes that the socket has not taken; empty nearly always.
    unsent: Vec<u8>,
}

/// A handshake that is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) since_ns: u64,
    pub(crate) resumed: bool,
}

impl Secure {
    pub(super) fn new(config: Config, connections: usize) -> Self {
        Self {
            config,
            slots: (0..connections).map(|_| None).collect(),
            incoming: vec![0; READ_BYTES].into_boxed_slice(),
            more: false,
        }
    }

    /// Goes on with the handshake of `conn`, whose socket is open, as far as it goes now.
    pub(super) fn advance(
        &mut self,
        conn: usize,
        fd: &OwnedFd,
        now: u64,
        plain: &mut [u8],
    ) -> Result<Opening, Failure> {
        let failure = |kind| Failure::new(FailurePhase::Tls, kind);
        if self.slots[conn].is_none() {
            let tls = Connection::new(&self.config).map_err(|error| failure(kind_of_tls(&error)))?;
            self.slots[conn] = Some(Box::new(Slot { tls, since_ns: now, unsent: Vec::new() }));
            self.flush(conn, fd).map_err(failure)?;
        }
        let early = self.read(conn, fd, plain).map_err(failure)?;
        self.flush(conn, fd).map_err(failure)?;
        match early {
            Some(0) => Err(failure(FailureKind::Closed)),
            // Nobody has asked for anything yet.
            Some(_) => Err(failure(FailureKind::Malformed)),
            None if self.is_handshaking(conn) => Ok(Opening::Pending),
            None => Ok(Opening::Done),
        }
    }

    /// Whether the handshake of `conn` has begun and is not done.
    pub(super) fn is_handshaking(&self, conn: usize) -> bool {
        self.slots[conn].as_ref().is_some_and(|slot| slot.tls.is_handshaking())
    }

    /// The handshake of `conn`, if it is done.
    pub(super) fn handshake(&self, conn: usize) -> Option<Handshake> {
        let slot = self.slots[conn].as_ref().filter(|slot| !slot.tls.is_handshaking())?;
        Some(Handshake { since_ns: slot.since_ns, resumed: slot.tls.is_resumed() })
    }

    /// What any of the connections has agreed on.
    pub(super) fn session(&self) -> Option<TlsSession> {
        let session = self.slots.iter().flatten().find_map(|slot| slot.tls.session())?;
        Some(TlsSession { version: session.version, cipher: session.cipher, resumed: 0 })
    }

    /// Whether the last read may not have taken everything.
    pub(super) const fn has_more(&self) -> bool {
        self.more
    }

    /// Reads until there is plaintext or nothing is left; 0 is the end of the stream.
    #[inline]
    pub(super) fn read(&mut self, conn: usize, fd: &OwnedFd, plain: &mut [u8]) -> Result<Option<usize>, FailureKind> {
        let Some(slot) = &mut self.slots[conn] else { return Ok(None) };
        loop {
            if slot.tls.is_closed() {
                return Ok(Some(0));
            }
            let n = match rustix::net::recv(fd, &mut *self.incoming, RecvFlags::empty()) {
                // A server that leaves without a word is no worse than one without TLS.
                Ok((0, _)) => return Ok(Some(0)),
                Ok((n, _)) => n,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
                Err(error) => return Err(kind_of(error)),
            };
            let outcome = slot.tls.receive(&self.incoming[..n], plain);
            slot.tls.transmit(&mut slot.unsent);
            if !slot.unsent.is_empty() {
                // The next flight of the handshake, or an alert that says why we leave.
                slot.flush(fd)?;
            }
            let plain_bytes = outcome.map_err(|error| kind_of_tls(&error))?;
            self.more = n == self.incoming.len() || slot.tls.is_closed();
            if plain_bytes > 0 {
                return Ok(Some(plain_bytes));
            }
            if !self.more {
                return Ok(None);
            }
        }
    }

    /// Encrypts and sends; returns how much of `bytes` was taken, which may wait here in encrypted form.
    #[inline]
    pub(super) fn send(&mut self, conn: usize, fd: &OwnedFd, bytes: &[u8]) -> Result<usize, FailureKind> {
        let Some(slot) = &mut self.slots[conn] else { return Err(FailureKind::Closed) };
        let mut taken = 0;
        // The socket says that it can take more only after it has been full.
        while slot.unsent.is_empty() && taken < bytes.len() {
            let n = slot.tls.send(&bytes[taken..]);
            if n == 0 {
                break;
            }
            taken += n;
            slot.tls.transmit(&mut slot.unsent);
            slot.flush(fd)?;
        }
        Ok(taken)
    }

    /// Sends what waits.
    #[inline]
    pub(super) fn flush(&mut self, conn: usize, fd: &OwnedFd) -> Result<(), FailureKind> {
        let Some(slot) = &mut self.slots[conn] else { return Ok(()) };
        slot.tls.transmit(&mut slot.unsent);
        if slot.unsent.is_empty() { Ok(()) } else { slot.flush(fd) }
    }

    pub(super) fn close(&mut self, conn: usize) {
        self.slots[conn] = None;
    }
}

impl Slot {
    #[inline]
    fn flush(&mut self, fd: &OwnedFd) -> Result<(), FailureKind> {
        while !self.unsent.is_empty() {
            match rustix::net::send(fd, &self.unsent, SendFlags::NOSIGNAL) {
                Ok(n) if n == self.unsent.len() => self.unsent.clear(),
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(kind_of(error)),
            }
        }
        Ok(())
    }
}

/// What an error of TLS means for a connection.
fn kind_of_tls(error: &TlsError) -> FailureKind {
    match error {
        error if error.is_certificate() => FailureKind::Certificate,
        TlsError::NotTls => FailureKind::Malformed,
        TlsError::Closed => FailureKind::Closed,
        _ => FailureKind::Handshake,
    }
}
