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
        // Of connecting too.
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
    pub(super) fn start_tls(&mut self, config: &Config, timeout_ns: u64) -> io::Result<()> {
        self.tls = Some(Box::new(Connection::new(config).map_err(io::Error::other)?));
        let clock = Clock::start();
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            self.flush()?;
            let n = self.read_once(timeout_ns.saturating_sub(clock.now_ns()))?;
            if n == 0 {
                return Err(io::Error::other(TlsError::Closed));
            }
            self.receive(n)?;
        }
        self.flush()
    }

    /// What TLS has agreed on; none without TLS.
    pub(super) fn session(&self) -> Option<TlsSession> {
        let session = self.tls.as_ref()?.session()?;
        Some(TlsSession { version: session.version, cipher: session.cipher, resumed: u64::from(session.resumed) })
    }

    pub(super) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if self.tls.is_none() {
            return send_all(&self.socket, bytes);
        }
        while let (Some(tls), false) = (&mut self.tls, bytes.is_empty()) {
            let n = tls.send(bytes);
            bytes = &bytes[n..];
            self.flush()?;
        }
        Ok(())
    }

    /// What comes within `left_ns`; empty at the end of the stream.
    pub(super) fn read(&mut self, left_ns: u64) -> io::Result<&[u8]> {
        let clock = Clock::start();
        loop {
            let closed = self.tls.as_ref().is_some_and(|tls| tls.is_closed());
            let n = if closed { 0 } else { self.read_once(left_ns.saturating_sub(clock.now_ns()))? };
            if n == 0 || self.tls.is_none() {
                return Ok(&self.incoming[..n]);
            }
            let plain_bytes = self.receive(n)?;
            if plain_bytes > 0 {
                return Ok(&self.plain[..plain_bytes]);
            }
        }
    }

    fn read_once(&mut self, left_ns: u64) -> io::Result<usize> {
        if left_ns == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        set_socket_timeout(&self.socket, Timeout::Recv, Some(Duration::from_nanos(left_ns)))?;
        loop {
            match rustix::net::recv(&self.socket, &mut self.incoming[..], RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                outcome => return Ok(outcome?.0),
            }
        }
    }

    fn receive(&mut self, n: usize) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        let outcome = tls.receive(&self.incoming[..n], &mut self.plain);
        // After an error this is the alert; whether the peer takes it changes nothing.
        let flushed = self.flush();
        let plain_bytes = outcome.map_err(io::Error::other)?;
        flushed.map(|()| plain_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.transmit(&mut self.outgoing);
        let outcome = send_all(&self.socket, &self.outgoing);
        self.outgoing.clear();
        outcome
    }
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => bytes = &bytes[sent?..],
        }
    }
    Ok(())
}
