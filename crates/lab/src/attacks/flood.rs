//! Connections of an attack, held by processes of their own until it is dropped.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::attack::{ATTACKS, Attack};

/// Connections that one process holds: a process may have no more files open than the hard limit says, which not even root
/// may raise everywhere.
const HELD_MAX: usize = 10_000;
/// Descriptors of such a process, with some to spare.
const DESCRIPTORS: u64 = 10_500;
/// First local port of an attack.
const PORT_MIN: u16 = 10_000;
/// How often each connection sends something.
const EACH: Duration = Duration::from_secs(1);
/// How often is looked whether the attack has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Whole requests are sent as many at once.
const PIPELINED: usize = 100;

/// An attack that goes on until it is dropped, in processes of its own.
pub(super) struct Flood {
    /// When all connections had been asked for.
    pub(super) begun: Instant,
    /// Each ends with its stdin.
    holders: Vec<Child>,
}

/// Lets this program hold its part of an attack, and servers that it starts have as many files open.
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
    pub(super) fn start(attack: &'static Attack, server: SocketAddr) -> Result<Self> {
        let mut flood = Self { begun: Instant::now(), holders: Vec::new() };
        for part in 0..attack.connections.div_ceil(HELD_MAX) {
            let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
            command.args(["attacks", "--hold", attack.name, &part.to_string(), &server.to_string()]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            flood.holders.push(command.spawn().context("cannot start a part of an attack")?);
        }
        for holder in &mut flood.holders {
            let mut line = String::new();
            let stdout = holder.stdout.as_mut().context("it has a stdout")?;
            BufReader::new(stdout).read_line(&mut line).context("a part of an attack does not begin")?;
            ensure!(line.trim() == HOLDS, "a part of an attack does not begin: {line:?}");
        }
        flood.begun = Instant::now();
        Ok(flood)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.holders.iter_mut().for_each(|holder| drop(holder.stdin.take()));
        self.holders.iter_mut().for_each(|holder| drop(holder.wait()));
    }
}

/// What a part of an attack says when its connections have been asked for.
const HOLDS: &str = "holds";

/// Holds a part of the attack of a name until stdin ends.
pub(super) fn hold(name: &str, part: usize, server: SocketAddr) -> Result<()> {
    let attack = ATTACKS.iter().find(|attack| attack.name == name).context("no such attack")?;
    let numbers = part * HELD_MAX..attack.connections.min((part + 1) * HELD_MAX);
    let mut connections: Vec<_> = numbers.clone().map(|i| open(attack, i, server)).collect();
    println!("{HOLDS}");
    let ended = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ended);
    std::thread::spawn(move || {
        // However it ends.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        told.store(true, Ordering::Relaxed);
    });
    while !ended.load(Ordering::Relaxed) {
        let next = Instant::now() + EACH;
        send_all(attack, &mut connections, numbers.start, server);
        while Instant::now() < next && !ended.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// A connection, and whether its first bytes have been sent.
struct Held {
    socket: File,
    is_begun: bool,
}

/// The next bytes of connections, which are numbered from `first`. What a server does not take is tried again a second later.
fn send_all(attack: &Attack, connections: &mut [Option<Held>], first: usize, server: SocketAddr) {
    let then = attack.then.repeat(if attack.then.len() > 1 { PIPELINED } else { 1 });
    for (i, place) in connections.iter_mut().enumerate() {
        let Some(held) = place else {
            *place = attack.comes_back.then(|| open(attack, first + i, server)).flatten();
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
