//! One TLS connection on a socket that does not block: what its state gives is sent, what comes is taken in.

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use wire::tls::{Connection, TlsError};

/// Reads of the socket without plaintext before the caller has its turn: a peer that sends nothing else must not keep it.
const EMPTY_READS_MAX: usize = 8;

/// TLS state, and what the socket has not taken yet.
#[derive(Debug)]
pub struct TlsStream {
    /// TLS state.
    pub tls: Connection,
    /// Encrypted bytes that the socket has not taken; empty nearly always.
    unsent: Vec<u8>,
    /// The last read has left something, in the socket or of the end of the stream.
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

    /// True if the last read may not have taken everything.
    #[inline]
    pub const fn has_more(&self) -> bool {
        self.more
    }

    /// Reads into `incoming` until there is plaintext or the socket is empty; 0 is the end of the stream. Without plaintext
    /// for long it comes back as well: [`TlsStream::has_more`] tells.
    #[inline]
    pub fn read(
        &mut self,
        socket: impl AsFd + Copy,
        incoming: &mut [u8],
        plain: &mut [u8],
    ) -> Result<Option<usize>, TlsStreamError> {
        self.more = false;
        let mut lost = None;
        for _ in 0..EMPTY_READS_MAX {
            if self.tls.is_closed() {
                return Ok(Some(0));
            }
            let n = match rustix::net::recv(socket, &mut *incoming, RecvFlags::empty()) {
                // A peer that leaves without a word is no worse than one without TLS.
                Ok((0, _)) => return Ok(Some(0)),
                Ok((n, _)) => n,
                Err(Errno::AGAIN | Errno::INTR) => return lost.map_or(Ok(None), |error: Errno| Err(error.into())),
                Err(error) => return Err(error.into()),
            };
            let outcome = self.tls.receive(&incoming[..n], plain);
            // Who speaks no TLS at all has no use for an alert.
            let flushed = match &outcome {
                Err(TlsError::NotTls) => Ok(true),
                // The next flight of the handshake, or an alert that says why we leave.
                _ => self.flush(socket, false),
            };
            let plain_bytes = outcome.map_err(TlsStreamError::Tls)?;
            if plain_bytes > 0 {
                self.more = n == incoming.len() || self.tls.is_closed();
                return Ok(Some(plain_bytes));
            }
            // What a peer has said before it went is heard, in whatever parts it comes, and its end met afterwards.
            lost = flushed.err().or(lost);
        }
        self.more = true;
        Ok(None)
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use std::os::fd::OwnedFd;
    use wire::tls::{Config, RECORD_BYTES, ServerConfig, ServerSettings, Settings};

    /// 2026-01-01; certificates made in tests are valid much longer.
    const NOW_S: u64 = 1_767_225_600;

    /// One end of a connection.
    struct End {
        stream: TlsStream,
        socket: OwnedFd,
    }

    /// A client and a server that have said nothing yet.
    fn pair() -> [End; 2] {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["plimsoll.test".to_owned()]).unwrap();
        let (chain, key_pem) = ([cert.der().to_vec()], signing_key.serialize_pem());
        let settings = ServerSettings { chain: &chain, key_pem: key_pem.as_bytes(), alpn: &[], now_s: NOW_S };
        let server = Connection::accept(&ServerConfig::new(&settings).unwrap()).unwrap();
        let settings = Settings { host: "plimsoll.test", roots: None, alpn: &[], resumption: true, now_s: NOW_S };
        let client = Connection::new(&Config::new(&settings).unwrap()).unwrap();
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        [(client, one), (server, other)].map(|(tls, socket)| End { stream: TlsStream::new(tls), socket })
    }

    impl End {
        /// One read, in pieces of at most `piece` bytes.
        fn read(&mut self, piece: usize) -> Result<Option<usize>, TlsStreamError> {
            self.stream.read(&self.socket, &mut vec![0; piece], &mut vec![0; piece + RECORD_BYTES])
        }

        fn flush(&mut self) {
            assert!(self.stream.flush(&self.socket, false).unwrap());
        }
    }

    /// A peer that sent records without content, faster than they were read, kept the thread for itself.
    #[test]
    fn tls_records_without_content_do_not_keep_a_thread() {
        let [mut client, mut server] = pair();
        client.flush();
        assert!(matches!(server.read(4096), Ok(None)) && !server.stream.has_more(), "the socket is empty");
        // What the server answers is no content.
        let mut turns = 1;
        assert!(matches!(client.read(16), Ok(None)));
        while client.stream.has_more() {
            turns += 1;
            assert!(matches!(client.read(16), Ok(None)));
        }
        assert!(!client.stream.tls.is_handshaking());
        assert!(turns > 2, "{turns}");
    }
}
