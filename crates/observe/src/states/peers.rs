//! Who is at the other end of a process's sockets, by the kernel's list of sockets and the descriptors of processes.
//!
//! Asked are only sockets at which a worker was found waiting. What is found is kept while the socket lives.

use super::classify::End;
use crate::is_own_address;
use crate::sockets::{Connection, SocketTable};
use procfs::process::{FDPermissions, FDTarget, Process};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;

/// Sockets that are kept in mind; above it all are forgotten.
const KEPT_MAX: usize = 4096;
/// Descriptors of one process that are looked through for a socket.
const FDS_MAX: usize = 4096;
/// Looks after which it is asked once more who the clients of a listening socket are, and where that was not found.
const CLIENTS_KEPT_LOOKS: u64 = 300;
const STRANGERS_KEPT_LOOKS: u64 = 10;
/// CPU time for the list of all connections that each sample may spend on average: half a percent of a CPU at ten samples
/// a second.
const LIST_NS_A_LOOK: u64 = 500_000;
/// What the load generator is called, here as in profiles.
const OWN_NAME: &str = "load_generator";

/// An end of a connection: an address, or the path that the listener is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    Tcp(SocketAddr),
    Unix(String),
}

/// A connection as one of its ends has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    here: Option<Place>,
    there: Option<Place>,
    /// The socket at the other end, as far as it is here and told.
    other: Option<u64>,
}

/// What is known of sockets.
#[derive(Debug)]
pub(super) struct Peers {
    table: SocketTable,
    thread_cpu_ns: fn() -> u64,
    looks: u64,
    /// Looks to leave out before all connections are listed once more.
    resting: u64,
    /// True if all connections were listed in this sample.
    listed: bool,
    /// Listening sockets, and where.
    listening: HashMap<u64, Place>,
    /// The target's own.
    target: BTreeSet<u64>,
    /// Ends of connections by socket.
    known: HashMap<u64, End>,
    /// What a descriptor led to before, to fall back on until the next list.
    before: HashMap<(i32, i32), End>,
    /// TCP connections as they were listed last.
    connections: HashMap<u64, Link>,
    /// Programs that listen, by listening socket.
    servers: HashMap<u64, String>,
    /// Programs that connect to a listening socket, and the look up to which that holds.
    clients: HashMap<u64, (String, u64)>,
    /// Programs that read from a pipe, and the look up to which that holds.
    readers: HashMap<u64, (Option<String>, u64)>,
    /// The processes of the server and of companions.
    pids: Vec<i32>,
}

impl Peers {
    pub(super) fn new(thread_cpu_ns: fn() -> u64) -> Self {
        Self {
            table: SocketTable::default(),
            thread_cpu_ns,
            looks: 0,
            resting: 0,
            listed: false,
            listening: HashMap::new(),
            target: BTreeSet::new(),
            known: HashMap::new(),
            before: HashMap::new(),
            connections: HashMap::new(),
            servers: HashMap::new(),
            clients: HashMap::new(),
            readers: HashMap::new(),
            pids: Vec::new(),
        }
    }

    /// Takes in the processes of now, and who listens where. `target` are the listening sockets of the target.
    pub(super) fn refresh(&mut self, pids: &[i32], target: &BTreeSet<u64>) {
        self.pids = pids.to_vec();
        self.target.clone_from(target);
        if self.known.len() > KEPT_MAX {
            self.known.clear();
        }
        if self.readers.len() > KEPT_MAX {
            self.readers.clear();
        }
        self.before.retain(|(pid, _), _| pids.contains(pid));
        // What the kernel does not list has no names; its sockets are then told as such.
        let tcp = self.table.listening_anywhere().unwrap_or_default();
        let unix = self.table.listening_by_path().unwrap_or_default();
        let tcp = tcp.into_iter().map(|(inode, address)| (inode, Place::Tcp(address)));
        let unix = unix.into_iter().map(|(inode, path)| (inode, Place::Unix(path)));
        self.listening = tcp.chain(unix).collect();
        let listening = &self.listening;
        self.servers.retain(|inode, _| listening.contains_key(inode));
        self.clients.retain(|inode, _| listening.contains_key(inode));
    }

    /// A sample begins.
    pub(super) fn begin_look(&mut self) {
        self.looks += 1;
        self.resting = self.resting.saturating_sub(1);
        self.listed = false;
    }

    /// What a descriptor of a process leads to.
    pub(super) fn end(&mut self, pid: i32, fd: i32) -> End {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{fd}"));
        let Some(target) = link.ok().and_then(|link| link.to_str()?.parse().ok()) else { return End::Unknown };
        match target {
            FDTarget::Socket(inode) => self.socket(pid, fd, inode),
            FDTarget::Pipe(_) => End::Pipe,
            FDTarget::AnonInode(_) => End::Own,
            FDTarget::Path(_) | FDTarget::MemFD(_) => End::File,
            FDTarget::Net(_) | FDTarget::Other(..) | FDTarget::Unknown(..) => End::Unknown,
        }
    }

    /// The program that reads from the pipe at a descriptor of a process, other than that process; none when none is shown.
    pub(super) fn reader(&mut self, pid: i32, fd: i32) -> Option<String> {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{fd}"));
        let Ok(FDTarget::Pipe(inode)) = link.ok()?.to_str()?.parse() else { return None };
        match self.readers.get(&inode) {
            Some((name, until)) if self.looks < *until => name.clone(),
            _ => {
                let name = reader_of(pid, inode);
                self.readers.insert(inode, (name.clone(), self.looks + CLIENTS_KEPT_LOOKS));
                name
            }
        }
    }

    fn socket(&mut self, pid: i32, fd: i32, inode: u64) -> End {
        if self.listening.contains_key(&inode) {
            return End::Listener;
        }
        if let Some(end) = self.known.get(&inode) {
            return end.clone();
        }
        let end = match self.link(inode) {
            Some(link) => self.name(&link),
            // Programs use their descriptors in the same order again and again.
            None if self.resting > 0 || self.listed => {
                return self.before.get(&(pid, fd)).cloned().unwrap_or(End::Unknown);
            }
            None => End::Unknown,
        };
        // What is not told yet may be so later: a connection that has not been accepted.
        if end != End::Unknown {
            self.known.insert(inode, end.clone());
            self.before.insert((pid, fd), end.clone());
        }
        end
    }

    /// The connection that a socket is part of.
    fn link(&mut self, inode: u64) -> Option<Link> {
        if let Some(link) = self.connections.get(&inode) {
            return Some(link.clone());
        }
        if let Ok(Some((path, other))) = self.table.unix(inode) {
            let there = other.and_then(|other| self.table.unix(other).ok().flatten()?.0);
            return Some(Link { here: path.map(Place::Unix), there: there.map(Place::Unix), other });
        }
        if !self.listed && self.resting == 0 {
            self.list();
        }
        self.connections.get(&inode).cloned()
    }

    /// Asks for all TCP connections, and rests in proportion to what that has cost.
    fn list(&mut self) {
        let before_ns = (self.thread_cpu_ns)();
        let all = self.table.connections().unwrap_or_default();
        let by_ends: HashMap<_, u64> = all.iter().map(|one| ((one.here, one.there), one.inode)).collect();
        let link = |one: &Connection| Link {
            here: Some(Place::Tcp(one.here)),
            there: Some(Place::Tcp(one.there)),
            other: by_ends.get(&(one.there, one.here)).copied(),
        };
        self.connections = all.iter().map(|one| (one.inode, link(one))).collect();
        self.listed = true;
        self.resting = ((self.thread_cpu_ns)() - before_ns) / LIST_NS_A_LOOK;
    }

    fn name(&mut self, link: &Link) -> End {
        // One that was accepted has the address of the socket it came in on.
        if let Some(listener) = link.here.as_ref().and_then(|here| self.listener(here)) {
            return End::Client(self.client(listener, link.other));
        }
        let Some(there) = &link.there else {
            // Two ends without an address are a pair within a program.
            return if link.other.is_some() { End::Pipe } else { End::Unknown };
        };
        let is_here = match there {
            Place::Unix(_) => true,
            Place::Tcp(there) => link.other.is_some() || is_own_address(there.ip()),
        };
        match self.listener(there).filter(|_| is_here) {
            Some(listener) => End::Peer(self.server(listener).unwrap_or_else(|| words(there))),
            None => End::Peer(words(there)),
        }
    }

    /// The socket that listens at a place.
    fn listener(&self, place: &Place) -> Option<u64> {
        let is_met = |listening: &Place| match (listening, place) {
            (Place::Tcp(listening), Place::Tcp(place)) => {
                let (ip, wanted) = (listening.ip().to_canonical(), place.ip().to_canonical());
                listening.port() == place.port() && (ip == wanted || ip.is_unspecified())
            }
            (listening, place) => listening == place,
        };
        self.listening.iter().filter(|(_, listening)| is_met(listening)).map(|(inode, _)| *inode).min()
    }

    /// The program that holds a listening socket.
    fn server(&mut self, listener: u64) -> Option<String> {
        if let Some(name) = self.servers.get(&listener) {
            return Some(name.clone());
        }
        let near = self.pids.iter().copied().find(|pid| has(*pid, listener));
        let pid = near.or_else(|| {
            let all = procfs::process::all_processes().ok()?.flatten();
            all.map(|process| process.pid).find(|pid| has(*pid, listener))
        })?;
        let name = program(pid)?;
        self.servers.insert(listener, name.clone());
        Some(name)
    }

    /// The program that connects to a listening socket, as the last of its connections that was looked at has it.
    fn client(&mut self, listener: u64, other: Option<u64>) -> String {
        if self.target.contains(&listener) {
            return OWN_NAME.to_owned();
        }
        match self.clients.get(&listener) {
            Some((name, until)) if self.looks < *until => name.clone(),
            _ => {
                let name = self.holder(other);
                let kept = if name.is_empty() { STRANGERS_KEPT_LOOKS } else { CLIENTS_KEPT_LOOKS };
                self.clients.insert(listener, (name.clone(), self.looks + kept));
                name
            }
        }
    }

    /// The program of the server and its companions that holds a socket; empty when none does.
    fn holder(&self, inode: Option<u64>) -> String {
        let Some(inode) = inode else { return String::new() };
        let held = self.pids.iter().copied().find(|pid| has(*pid, inode));
        held.and_then(program).unwrap_or_default()
    }
}

/// True if a process holds a socket, as far as that is shown.
fn has(pid: i32, inode: u64) -> bool {
    let Ok(fds) = Process::new(pid).and_then(|process| process.fd()) else { return false };
    fds.take(FDS_MAX).flatten().any(|fd| matches!(fd.target, FDTarget::Socket(held) if held == inode))
}

/// The name of the program that reads from a pipe into which `writer` writes: rather one of another name, as processes of one
/// program inherit ends that they do not use.
fn reader_of(writer: i32, inode: u64) -> Option<String> {
    let reads = |process: &Process| {
        let fds = process.fd().into_iter().flatten().take(FDS_MAX).flatten();
        let is_end = |fd: procfs::process::FDInfo| {
            matches!(fd.target, FDTarget::Pipe(held) if held == inode) && fd.mode().contains(FDPermissions::READ)
        };
        fds.into_iter().any(is_end)
    };
    let all =
        procfs::process::all_processes().ok()?.flatten().filter(|process| process.pid != writer && reads(process));
    let names: Vec<String> = all.filter_map(|process| program(process.pid)).collect();
    let own = program(writer);
    names.iter().find(|name| Some(*name) != own.as_ref()).or_else(|| names.first()).cloned()
}

/// The name of a process.
fn program(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn words(place: &Place) -> String {
    match place {
        Place::Tcp(address) => SocketAddr::new(address.ip().to_canonical(), address.port()).to_string(),
        Place::Unix(path) => path.clone(),
    }
}
