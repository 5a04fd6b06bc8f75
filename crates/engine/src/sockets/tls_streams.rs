//! TLS on the sockets of a load thread: one state a slot, one buffer for all.

use super::kind_of;
use crate::transport::Opening;
use model::{Failure, FailureKind, FailurePhase, TlsSession};
use net::{TlsStream, TlsStreamError};
use std::os::fd::OwnedFd;
use wire::tls::{Config, Connection, RECORD_BYTES, TlsError};

/// One read takes at most this. With a record held back it must fit into the reader's buffer.
const READ_BYTES: usize = 32 * 1024;
/// What a buffer for plaintext must hold.
pub(crate) const PLAIN_BYTES: usize = READ_BYTES + RECORD_BYTES;

/// The TLS states of a load thread.
pub(crate) struct TlsStreams {
    config: Config,
    slots: Box<[Option<Box<Slot>>]>,
    incoming: Box<[u8]>,
    /// The last read has left something.
    more: bool,
}

struct Slot {
    stream: TlsStream,
    /// When the handshake began; ns.
    since_ns: u64,
}

/// A handshake that is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) since_ns: u64,
    pub(crate) resumed: bool,
}

impl TlsStreams {
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
            self.slots[conn] = Some(Box::new(Slot { stream: TlsStream::new(tls), since_ns: now }));
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

    /// True if the handshake of `conn` has begun and is not done.
    pub(super) fn is_handshaking(&self, conn: usize) -> bool {
        self.slots[conn].as_ref().is_some_and(|slot| slot.stream.tls.is_handshaking())
    }

    /// The handshake of `conn`, if it is done.
    pub(super) fn handshake(&self, conn: usize) -> Option<Handshake> {
        let slot = self.slots[conn].as_ref().filter(|slot| !slot.stream.tls.is_handshaking())?;
        Some(Handshake { since_ns: slot.since_ns, resumed: slot.stream.tls.is_resumed() })
    }

    /// What any of the connections has agreed on.
    pub(super) fn session(&self) -> Option<TlsSession> {
        let session = self.slots.iter().flatten().find_map(|slot| slot.stream.tls.session())?;
        Some(TlsSession { version: session.version, cipher: session.cipher, resumed: 0 })
    }

    /// True if the last read may not have taken everything.
    pub(super) const fn has_more(&self) -> bool {
        self.more
    }

    /// Reads until there is plaintext, nothing is left, or there has been no plaintext for long; 0 is the end of the stream.
    #[inline]
    pub(super) fn read(&mut self, conn: usize, fd: &OwnedFd, plain: &mut [u8]) -> Result<Option<usize>, FailureKind> {
        let Some(slot) = &mut self.slots[conn] else { return Ok(None) };
        let got = slot.stream.read(fd, &mut self.incoming, plain).map_err(|error| match error {
            TlsStreamError::Socket(error) => kind_of(error),
            TlsStreamError::Tls(error) => kind_of_tls(&error),
        });
        self.more = slot.stream.has_more();
        got
    }

    /// Encrypts and sends; returns how much of `bytes` was taken, which may wait here in encrypted form.
    #[inline]
    pub(super) fn send(&mut self, conn: usize, fd: &OwnedFd, bytes: &[u8]) -> Result<usize, FailureKind> {
        let Some(slot) = &mut self.slots[conn] else { return Err(FailureKind::Closed) };
        slot.stream.send(fd, bytes, false).map_err(kind_of)
    }

    /// Sends what waits.
    #[inline]
    pub(super) fn flush(&mut self, conn: usize, fd: &OwnedFd) -> Result<(), FailureKind> {
        let Some(slot) = &mut self.slots[conn] else { return Ok(()) };
        slot.stream.flush(fd, false).map(|_| ()).map_err(kind_of)
    }

    pub(super) fn close(&mut self, conn: usize) {
        self.slots[conn] = None;
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
