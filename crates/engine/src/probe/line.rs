//! One blocking connection of the probe, encrypted or not.

use crate::tls::Config;
use clock::Clock;
use model::{Address, TlsSession};
use net::address;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, SocketFlags};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::time::Duration;
use wire::tls::{Connection, RECORD_BYTES, TlsError};

/// One read takes at most this.
const READ_BYTES: usize = 64 * 1024;

/// Until when something has to be done: as a whole, however many system calls it takes.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    clock: Clock,
    timeout_ns: u64,
}

impl Deadline {
    /// In so long a time.
    pub(super) fn after(timeout_ns: u64) -> Self {
        Self { clock: Clock::start(), timeout_ns }
    }

    /// What is left of the time; an error when it is up.
    fn left(self) -> io::Result<Duration> {
        match self.timeout_ns.saturating_sub(self.clock.now_ns()) {
            0 => Err(ErrorKind::TimedOut.into()),
            left_ns => Ok(Duration::from_nanos(left_ns)),
        }
    }
}

/// A connection; TLS errors come as [`io::Error`] with a [`TlsError`] inside.
pub(super) struct Line {
    socket: OwnedFd,
    tls: Option<Box<Connection>>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    plain: Vec<u8>,
}

impl Line {
    /// Opens a connection.
    pub(super) fn connect(address: &Address, timeout_ns: u64) -> io::Result<Self> {
        let address = address::kernel(address)?;
        let socket = address::stream(&address, SocketFlags::empty())?;
        // Of connecting.
        set_socket_timeout(&socket, Timeout::Send, Some(Duration::from_nanos(timeout_ns)))?;
        match rustix::net::connect(&socket, &address) {
            Err(Errno::INPROGRESS) => return Err(ErrorKind::TimedOut.into()),
            outcome => outcome?,
        }
        Ok(Self {
            socket,
            tls: None,
            incoming: vec![0; READ_BYTES],
            outgoing: Vec::new(),
            plain: vec![0; READ_BYTES + RECORD_BYTES],
        })
    }

    /// Does the TLS handshake.
    pub(super) fn start_tls(&mut self, config: &Config, deadline: Deadline) -> io::Result<()> {
        self.tls = Some(Box::new(Connection::new(config).map_err(io::Error::other)?));
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            self.flush(deadline)?;
            let n = self.read_once(deadline)?;
            if n == 0 {
                return Err(io::Error::other(TlsError::Closed));
            }
            self.receive(n, deadline)?;
        }
        self.flush(deadline)
    }

    /// What TLS has agreed on; none without TLS.
    pub(super) fn session(&self) -> Option<TlsSession> {
        let session = self.tls.as_ref()?.session()?;
        Some(TlsSession { version: session.version, cipher: session.cipher, resumed: u64::from(session.resumed) })
    }

    /// Sends all of `bytes`.
    pub(super) fn write_all(&mut self, mut bytes: &[u8], deadline: Deadline) -> io::Result<()> {
        if self.tls.is_none() {
            return send_all(&self.socket, bytes, deadline);
        }
        while let (Some(tls), false) = (&mut self.tls, bytes.is_empty()) {
            let n = tls.send(bytes);
            bytes = &bytes[n..];
            self.flush(deadline)?;
        }
        Ok(())
    }

    /// What comes next; empty at the end of the stream.
    pub(super) fn read(&mut self, deadline: Deadline) -> io::Result<&[u8]> {
        loop {
            let closed = self.tls.as_ref().is_some_and(|tls| tls.is_closed());
            let n = if closed { 0 } else { self.read_once(deadline)? };
            if n == 0 || self.tls.is_none() {
                return Ok(&self.incoming[..n]);
            }
            let plain_bytes = self.receive(n, deadline)?;
            if plain_bytes > 0 {
                return Ok(&self.plain[..plain_bytes]);
            }
        }
    }

    fn read_once(&mut self, deadline: Deadline) -> io::Result<usize> {
        set_socket_timeout(&self.socket, Timeout::Recv, Some(deadline.left()?))?;
        loop {
            match rustix::net::recv(&self.socket, &mut self.incoming[..], RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                outcome => return Ok(outcome?.0),
            }
        }
    }

    fn receive(&mut self, n: usize, deadline: Deadline) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        let outcome = tls.receive(&self.incoming[..n], &mut self.plain);
        // After an error this is the alert; whether the peer takes it changes nothing.
        let flushed = self.flush(deadline);
        let plain_bytes = outcome.map_err(io::Error::other)?;
        flushed.map(|()| plain_bytes)
    }

    fn flush(&mut self, deadline: Deadline) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.transmit(&mut self.outgoing);
        let outcome = send_all(&self.socket, &self.outgoing, deadline);
        self.outgoing.clear();
        outcome
    }
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8], deadline: Deadline) -> io::Result<()> {
    while !bytes.is_empty() {
        // Of one call: a peer that takes a little now and then would have a new one each time.
        set_socket_timeout(socket, Timeout::Send, Some(deadline.left()?))?;
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => bytes = &bytes[sent?..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NS_PER_S;
    use std::io::Read;
    use std::net::TcpListener;

    /// 64 MB to a server that took 10 kB/s were two hours of silence.
    #[test]
    fn a_server_that_reads_slowly_is_given_up_after_the_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let mut line = Line::connect(&address, NS_PER_S).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        // The rest comes at once in the end, should anybody wait for it.
        let server = std::thread::spawn(move || {
            let mut part = vec![0; 64 * 1024];
            for _ in 0..200 {
                std::thread::sleep(Duration::from_millis(10));
                if !matches!(peer.read(&mut part), Ok(1..)) {
                    return;
                }
            }
            let _ = io::copy(&mut peer, &mut io::sink());
        });
        let error = line.write_all(&vec![0; 32 * 1024 * 1024], Deadline::after(NS_PER_S / 5)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error:?}");
        drop(line);
        server.join().unwrap();
    }
}
