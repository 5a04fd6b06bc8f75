//! Connections of an attack, held by processes of their own until it is dropped.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use super::attack::{ATTACKS, Attack};

/// Descriptors of a process that are no connections: its streams, and what the program opens.
const SPARE: u64 = 100;
/// First local port of an attack; the last one is below those that the kernel gives to others.
const PORT_MIN: u16 = 10_000;
/// First client address of an attack.
const FIRST_CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
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

impl Flood {
    /// Opens all connections without waiting for one, from as many processes as it takes when each may have `files_max` files
    /// open.
    pub(super) fn start(attack: &'static Attack, server: SocketAddr, files_max: Option<u64>) -> Result<Self> {
        let mut flood = Self { begun: Instant::now(), holders: Vec::new() };
        let parts = parts(attack.connections, files_max);
        for Range { start, end } in &parts {
            let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
            command.args(["attacks", "--hold", attack.name]).args([start, end].map(usize::to_string));
            command.arg(server.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
            flood.holders.push(command.spawn().context("cannot start a part of an attack")?);
        }
        for (part, holder) in parts.iter().zip(&mut flood.holders) {
            let mut line = String::new();
            let stdout = holder.stdout.as_mut().context("it has a stdout")?;
            BufReader::new(stdout).read_line(&mut line).context("a part of an attack does not begin")?;
            let held = line.trim().parse() == Ok(part.len());
            ensure!(held, "{}: a part of the attack has {line:?} of {} connections", attack.name, part.len());
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

/// Connections by the process that holds them, in equal parts: as few as can be.
fn parts(connections: usize, files_max: Option<u64>) -> Vec<Range<usize>> {
    let each = files_max.map_or(connections, |files| files.saturating_sub(SPARE) as usize).max(1);
    let n = connections.div_ceil(each);
    (0..n).map(|i| connections * i / n..connections * (i + 1) / n).collect()
}

/// Holds the connections `numbers` of the attack of a name until stdin ends; says how many have been asked for.
pub(super) fn hold(name: &str, numbers: Range<usize>, server: SocketAddr) -> Result<()> {
    let attack = ATTACKS.iter().find(|attack| attack.name == name).context("no such attack")?;
    let mut connections: Vec<_> = numbers.clone().map(|i| open(attack, i, server)).collect();
    println!("{}", connections.iter().flatten().count());
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

/// The connection number `i`; none if it cannot be had.
fn open(attack: &Attack, i: usize, server: SocketAddr) -> Option<Held> {
    let from = local(attack, i);
    // Where somebody listens on this port of all addresses, on one that the kernel chooses.
    let socket = connecting(from, server).or_else(|_| connecting(SocketAddrV4::new(*from.ip(), 0), server)).ok()?;
    Some(Held { socket: File::from(socket), is_begun: false })
}

/// Where the connection number `i` comes from.
fn local(attack: &Attack, i: usize) -> SocketAddrV4 {
    let each = attack.connections.div_ceil(attack.addresses);
    // Others come from 127.0.0.1.
    SocketAddrV4::new(Ipv4Addr::from(FIRST_CLIENT.to_bits() + (i / each) as u32), PORT_MIN + (i % each) as u16)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_attack_is_whole_however_few_files_a_process_may_open() {
        for (files_max, processes) in
            [(None, 1), (Some(1 << 20), 1), (Some(20_000), 2), (Some(1024), 22), (Some(50), 20_000)]
        {
            let parts = parts(20_000, files_max);
            assert_eq!(parts.len(), processes, "{files_max:?}");
            assert!(parts.iter().flat_map(Clone::clone).eq(0..20_000), "{files_max:?}");
            let most = parts.iter().map(Range::len).max().unwrap_or(0) as u64;
            assert!(files_max.is_none_or(|files| most == 1 || most + SPARE <= files), "{most} of {files_max:?}");
        }
    }

    #[test]
    fn each_connection_has_an_address_of_its_own() {
        for attack in &ATTACKS {
            let all: BTreeSet<SocketAddrV4> = (0..attack.connections).map(|i| local(attack, i)).collect();
            assert_eq!(all.len(), attack.connections, "{}", attack.name);
            let clients: BTreeSet<&Ipv4Addr> = all.iter().map(SocketAddrV4::ip).collect();
            assert_eq!(clients.len(), attack.addresses, "{}", attack.name);
            // Where the kernel's own begin.
            assert!(all.iter().all(|from| from.ip().is_loopback() && (PORT_MIN..32_768).contains(&from.port())));
        }
    }
}
