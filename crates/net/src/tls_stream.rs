//! One TLS connection on a socket that does not block: what its state gives is sent, what comes is taken in.

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use wire::tls::{Connection, TlsError};

/// TLS state, and what the socket has not taken yet.
#[derive(Debug)]
pub struct TlsStream {
    /// TLS state.
    pub tls: Connection,
    /// Encrypted bytes that the socket has not taken; empty nearly always.
    unsent: Vec<u8>,
    /// The last read that brought plaintext has left something, in the socket or of the end of the stream.
    more: bool,
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub enum TlsStreamError {
    /// The socket's end.
    Socket(Errno),
    /// The peer's TLS.
    Tls(TlsError),
}

impl From<Errno> for TlsStreamError {
    fn from(error: Errno) -> Self {
        Self::Socket(error)
    }
}

impl TlsStream {
    /// Nothing sent or received yet.
    #[must_use]
    pub const fn new(tls: Connection) -> Self {
        Self { tls, unsent: Vec::new(), more: false }
    }

    /// True if the last read that brought plaintext may not have taken everything.
    #[inline]
    pub const fn has_more(&self) -> bool {
        self.more
    }

    /// Reads into `incoming` until there is plaintext or the socket is empty; 0 is the end of the stream.
    #[inline]
    pub fn read(
        &mut self,
        socket: impl AsFd + Copy,
        incoming: &mut [u8],
        plain: &mut [u8],
    ) -> Result<Option<usize>, TlsStreamError> {
        loop {
            if self.tls.is_closed() {
                return Ok(Some(0));
            }
            let n = match rustix::net::recv(socket, &mut *incoming, RecvFlags::empty()) {
                // A peer that leaves without a word is no worse than one without TLS.
                Ok((0, _)) => return Ok(Some(0)),
                Ok((n, _)) => n,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let outcome = self.tls.receive(&incoming[..n], plain);
            // Who speaks no TLS at all has no use for an alert.
            if !matches!(outcome, Err(TlsError::NotTls)) {
                // The next flight of the handshake, or an alert that says why we leave.
                self.flush(socket, false)?;
            }
            let plain_bytes = outcome.map_err(TlsStreamError::Tls)?;
            if plain_bytes > 0 {
                self.more = n == incoming.len() || self.tls.is_closed();
                return Ok(Some(plain_bytes));
            }
        }
    }

    /// Encrypts and sends; returns how much of `bytes` was taken, which may wait here in encrypted form. With `more`
    /// to follow, the kernel may wait for it to fill a segment.
    #[inline]
    pub fn send(&mut self, socket: impl AsFd + Copy, bytes: &[u8], more: bool) -> Result<usize, Errno> {
        self.flush(socket, more)?;
        let mut taken = 0;
        // The socket says that it can take more only after it has been full.
        while self.unsent.is_empty() && taken < bytes.len() {
            let n = self.tls.send(&bytes[taken..]);
            if n == 0 {
                break;
            }
            taken += n;
            self.flush(socket, more)?;
        }
        Ok(taken)
    }

    /// Sends what waits; whether nothing waits any more.
    #[inline]
    pub fn flush(&mut self, socket: impl AsFd + Copy, more: bool) -> Result<bool, Errno> {
        self.tls.transmit(&mut self.unsent);
        let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
        while !self.unsent.is_empty() {
            match rustix::net::send(socket, &self.unsent, flags) {
                Ok(n) if n == self.unsent.len() => self.unsent.clear(),
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
