//! Connections of an attack, held by a thread until it is dropped.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::attack::Attack;

/// Descriptors of the largest attack, with some to spare.
const DESCRIPTORS: u64 = 19_500;
/// First local port of an attack.
const PORT_MIN: u16 = 10_000;
/// How often each connection sends something.
const EACH: Duration = Duration::from_secs(1);
/// Whole requests are sent as many at once.
const PIPELINED: usize = 100;

/// An attack that goes on until it is dropped.
pub(super) struct Flood {
    /// When all connections had been asked for.
    pub(super) begun: Instant,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Lets this program hold all connections of an attack, and servers that it starts take them.
pub(super) fn raise_limit() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= DESCRIPTORS);
    ensure!(
        enough(limit.maximum),
        "an attack needs {DESCRIPTORS} open files, and the hard limit is lower (ulimit -Hn)"
    );
    if !enough(limit.current) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum: limit.maximum })
            .context("cannot raise the limit of open files")?;
    }
    Ok(())
}

impl Flood {
    /// Opens all connections without waiting for one.
    pub(super) fn start(attack: &'static Attack, server: SocketAddr) -> Self {
        let mut connections: Vec<_> = (0..attack.connections).map(|i| open(attack, i, server)).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let next = Instant::now() + EACH;
                    send_all(attack, &mut connections, server);
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            }
        });
        Self { begun: Instant::now(), stop, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection, and whether its first bytes have been sent.
struct Held {
    socket: File,
    is_begun: bool,
}

/// The next bytes of all connections. What a server does not take is tried again a second later.
fn send_all(attack: &Attack, connections: &mut [Option<Held>], server: SocketAddr) {
    let then = attack.then.repeat(if attack.then.len() > 1 { PIPELINED } else { 1 });
    for (i, place) in connections.iter_mut().enumerate() {
        let Some(held) = place else {
            *place = attack.comes_back.then(|| open(attack, i, server)).flatten();
            continue;
        };
        let bytes = if held.is_begun { then.as_str() } else { attack.first };
        match held.socket.write(bytes.as_bytes()) {
            Ok(_) => held.is_begun = true,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            // Ended by the server.
            Err(_) if !bytes.is_empty() => *place = None,
            Err(_) => {}
        }
    }
}

/// The connection number `i`; none where its port is in use.
fn open(attack: &Attack, i: usize, server: SocketAddr) -> Option<Held> {
    let each = attack.connections.div_ceil(attack.addresses);
    let port = PORT_MIN + u16::try_from(i % each).ok()?;
    // Others come from 127.0.0.1.
    let address = Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(i / each).ok()?);
    let socket = connecting(SocketAddrV4::new(address, port), server).ok()?;
    Some(Held { socket: File::from(socket), is_begun: false })
}

fn connecting(from: SocketAddrV4, to: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Its port is free at once when it is closed.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    bind(&socket, &from)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}
