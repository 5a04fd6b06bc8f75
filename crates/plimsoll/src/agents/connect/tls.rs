//! Byte stream of an agent on a TLS connection: a handshake that has to end in time, then one half that reads and one that writes,
//! each on a thread of its own.
//!
//! Only the half that writes puts bytes on the socket, so that records stay in order; the lock of the TLS state is never held
//! while the socket is waited for.

use crate::agents::launcher::{Carrier, ended_until};
use crate::lock::hold;
use rustls::{AlertDescription, CertificateError, Connection, Error};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;
/// Plaintext that is encrypted at once.
const WRITE_BYTES: usize = 64 << 10;

/// Reason why there is no stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HandshakeError {
    /// It took too long.
    Late,
    /// The peer has closed the connection.
    Closed,
    /// The socket's error.
    Socket(String),
    /// The peer has another token.
    Token,
    /// The peer is another build of this program.
    Build,
    /// The peer speaks something else than TLS, or none of ours.
    Stranger(String),
}

/// Agrees with the peer until the instant; ns.
pub(super) fn handshake(tls: &mut Connection, socket: &TcpStream, until_ns: u64) -> Result<(), HandshakeError> {
    loop {
        while tls.wants_write() {
            socket.set_write_timeout(Some(left(until_ns)?)).map_err(|error| of_socket(&error))?;
            tls.write_tls(&mut &*socket).map_err(|error| of_socket(&error))?;
        }
        if !tls.is_handshaking() {
            break;
        }
        socket.set_read_timeout(Some(left(until_ns)?)).map_err(|error| of_socket(&error))?;
        if tls.read_tls(&mut &*socket).map_err(|error| of_socket(&error))? == 0 {
            return Err(HandshakeError::Closed);
        }
        if let Err(error) = tls.process_new_packets() {
            // The peer is told why; what does not get through does not matter.
            let _ = tls.write_tls(&mut &*socket);
            return Err(of_tls(error));
        }
    }
    let untimed = socket.set_read_timeout(None).and_then(|()| socket.set_write_timeout(None));
    untimed.and_then(|()| socket.set_nodelay(true)).map_err(|error| of_socket(&error))
}

/// The time left, never 0.
fn left(until_ns: u64) -> Result<Duration, HandshakeError> {
    clock::left_until(until_ns).ok_or(HandshakeError::Late)
}

fn of_socket(error: &io::Error) -> HandshakeError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => HandshakeError::Late,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => HandshakeError::Closed,
        _ => HandshakeError::Socket(error.to_string()),
    }
}

fn of_tls(error: Error) -> HandshakeError {
    match error {
        Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
        | Error::AlertReceived(AlertDescription::AccessDenied) => HandshakeError::Token,
        Error::NoApplicationProtocol | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            HandshakeError::Build
        }
        Error::NoCertificatesPresented => HandshakeError::Stranger("it has no certificate".into()),
        Error::InvalidMessage(_) => HandshakeError::Stranger("it does not speak TLS".into()),
        error => HandshakeError::Stranger(error.to_string()),
    }
}

/// What both halves share.
pub(super) struct Shared {
    tls: Mutex<Connection>,
    socket: TcpStream,
    /// Why the stream has ended.
    why: OnceLock<&'static str>,
}

/// Half that reads.
pub(super) struct Reader {
    shared: Arc<Shared>,
    buffer: Vec<u8>,
    /// Plaintext that has not been asked for.
    plain: Vec<u8>,
}

/// Half that writes; the peer is told when it is dropped.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    encrypted: Vec<u8>,
}

/// Both halves of a connection on which the ends have agreed.
pub(super) fn halves(tls: Connection, socket: TcpStream) -> (Reader, Writer, Arc<Shared>) {
    let shared = Arc::new(Shared { tls: Mutex::new(tls), socket, why: OnceLock::new() });
    let reader = Reader { shared: Arc::clone(&shared), buffer: vec![0; READ_BYTES], plain: Vec::new() };
    let writer = Writer { shared: Arc::clone(&shared), encrypted: Vec::new() };
    (reader, writer, shared)
}

impl Reader {
    /// Decrypts what a read has brought; false at the end of the stream.
    fn take(&mut self, n: usize) -> io::Result<bool> {
        let mut tls = hold(&self.shared.tls);
        let mut rest = &self.buffer[..n];
        loop {
            // Without bytes it is told the end of the connection.
            if n == 0 || !rest.is_empty() {
                tls.read_tls(&mut rest)?;
            }
            tls.process_new_packets().map_err(io::Error::other)?;
            let is_open = drain(&mut tls, &mut self.plain)?;
            if !is_open || rest.is_empty() {
                return Ok(is_open);
            }
        }
    }

    fn read_on(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // The first bytes may have come with the end of the handshake.
        let mut is_open = drain(&mut hold(&self.shared.tls), &mut self.plain)?;
        while self.plain.is_empty() && is_open {
            let n = (&self.shared.socket).read(&mut self.buffer)?;
            is_open = self.take(n)?;
        }
        let n = out.len().min(self.plain.len());
        out[..n].copy_from_slice(&self.plain[..n]);
        self.plain.drain(..n);
        Ok(n)
    }
}

/// Takes plaintext; false if the peer has ended its side, in good order.
fn drain(tls: &mut Connection, plain: &mut Vec<u8>) -> io::Result<bool> {
    match tls.reader().read_to_end(plain) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
        // What came before the end is handed out first.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof && !plain.is_empty() => Ok(true),
        Err(error) => Err(error),
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.read_on(out);
        let why = match &read {
            Ok(0) => "it has ended its connection: the agent was ended there",
            Ok(_) => return read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return read,
            Err(error) if is_cut(error) => {
                "its connection was cut: the agent was killed, or its machine or network is gone"
            }
            Err(_) => "it sent bytes that are no TLS",
        };
        // The first reason stands.
        let _ = self.shared.why.set(why);
        read
    }
}

/// True if the connection has ended without a word of the peer.
pub(super) fn is_cut(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe | TimedOut)
}

impl Writer {
    /// Sends what the TLS state has to say.
    fn send(&mut self) -> io::Result<()> {
        self.encrypted.clear();
        let mut tls = hold(&self.shared.tls);
        while tls.wants_write() {
            tls.write_tls(&mut self.encrypted)?;
        }
        drop(tls);
        (&self.shared.socket).write_all(&self.encrypted)
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(WRITE_BYTES)];
        let n = hold(&self.shared.tls).writer().write(piece)?;
        self.send()?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        hold(&self.shared.tls).send_close_notify();
        // A peer that is gone is told nothing.
        let _ = self.send().and_then(|()| self.shared.socket.shutdown(Shutdown::Write));
    }
}

impl Carrier for Shared {
    fn end(&self, until_ns: u64) {
        ended_until(until_ns, || self.why.get());
        // One that is closed already is closed.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn why(&self) -> String {
        let why = self.why.get().copied().unwrap_or("its connection has ended").to_owned();
        let _ = self.socket.shutdown(Shutdown::Both);
        why
    }
}
