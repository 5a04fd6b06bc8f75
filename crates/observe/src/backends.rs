//! Programs behind the server: whoever listens where the server, or another of them, is connected to; who reads what it writes
//! into a pipe; and what runs in its service. No name decides: see [`links`].
//!
//! A pool may be opened only under load, and connections may be short. So this is asked again and again, and keeps what it has
//! found, also from one load to the next.

mod links;

use crate::files::Files;
use crate::listener::holds;
use crate::processes::seen;
use crate::sockets::SocketTable;
use links::{Called, Links, is_same_service};
use procfs::process::{FDPermissions, FDTarget, Process};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Descriptors and sockets that may be gone through each time; after more of them some times are left out.
const EACH_TIME_MAX: usize = 1_000;
/// Programs that are followed one behind the other: more than any server has.
const DEPTH_MAX: usize = 8;
/// Times after which it is asked once more who listens where nobody was found.
const UNHELD_RESTS: u32 = 10;
/// More processes than this are behind no server.
const BACKENDS_MAX: usize = 1_000;
/// Starts all services: never behind one.
const INIT: i32 = 1;

/// What is known of the programs behind a server, for all who observe it.
#[derive(Clone, Debug, Default)]
pub struct Backends {
    known: Arc<Mutex<Known>>,
}

/// A process behind the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    pub(crate) pid: i32,
    /// When it began, to tell it from a later one with its number.
    began: u64,
    /// By what it is shown: the name of its first process.
    pub(crate) label: String,
}

#[derive(Debug, Default)]
struct Known {
    table: SocketTable,
    found: BTreeMap<i32, Backend>,
    /// Listening sockets whose processes are found.
    listeners: BTreeSet<u64>,
    /// Listening sockets whose processes are not shown, and the times after which they are looked for again.
    unheld: BTreeMap<u64, u32>,
    /// Times to leave out.
    resting: usize,
}

/// What a set of processes holds.
#[derive(Debug, Default)]
struct Held {
    sockets: BTreeSet<u64>,
    /// Pipes that are written.
    pipes: BTreeSet<u64>,
    /// Descriptors that were gone through.
    descriptors: usize,
}

impl Backends {
    /// Looks who is behind the processes `members` now; `suspects` use CPU time and are not known to belong to anybody. True if
    /// somebody was found who was not known.
    pub(crate) fn look(&self, members: &[i32], suspects: &[i32]) -> bool {
        let mut known = self.hold();
        if known.resting > 0 {
            known.resting -= 1;
            return false;
        }
        known.forget_ended();
        let before = known.found.len();
        known.look(members, suspects);
        known.found.len() > before
    }

    /// All that were found and still run, as far as that was seen.
    pub(crate) fn found(&self) -> Vec<Backend> {
        let mut known = self.hold();
        known.forget_ended();
        known.found.values().cloned().collect()
    }

    fn hold(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn look(&mut self, members: &[i32], suspects: &[i32]) {
        let mut newest: BTreeSet<i32> = members.iter().chain(self.found.keys()).copied().collect();
        let all_members = newest.clone();
        // What a moment shows is taken at once: a connection may be gone in the next.
        let first = Held::of(&newest);
        let Ok(links) = self.links() else { return };
        let cost = first.descriptors + links.tcp.len() + links.unix.len();
        self.resting = cost / EACH_TIME_MAX;
        self.suspect(members, &all_members, suspects, &first);
        for depth in 0..DEPTH_MAX {
            let held = if depth == 0 { first.sockets.clone() } else { Held::of(&newest).sockets };
            let called = links.called_by(&held);
            let unknown: Vec<Called> = called.into_iter().filter(|called| !self.knows(called)).collect();
            newest = self.take_in(&unknown);
            if newest.is_empty() {
                return;
            }
        }
    }

    fn links(&mut self) -> io::Result<Links> {
        // The connections first: they are the shortest.
        let (tcp, unix) = (self.table.connections()?, self.table.unix_connections()?);
        let (tcp_listeners, unix_listeners) = (self.table.listening_anywhere()?, self.table.listening_by_path()?);
        Ok(Links { tcp_listeners, unix_listeners, tcp, unix })
    }

    /// True if the processes are found that listen there, or cannot be for now.
    fn knows(&mut self, called: &Called) -> bool {
        called.listeners.iter().all(|inode| {
            self.listeners.contains(inode)
                || self.unheld.get_mut(inode).is_some_and(|rests| {
                    *rests = rests.saturating_sub(1);
                    *rests > 0
                })
        })
    }

    /// Finds the processes that hold these listening sockets; those that were not known.
    fn take_in(&mut self, unknown: &[Called]) -> BTreeSet<i32> {
        let mut joined = BTreeSet::new();
        if unknown.is_empty() {
            return joined;
        }
        let own = std::process::id().cast_signed();
        let pids: Vec<i32> = processes().into_iter().filter(|pid| *pid != own).collect();
        for called in unknown {
            let mut holders: Vec<i32> =
                pids.iter().copied().filter(|pid| holds(*pid, &called.listeners) == Some(true)).collect();
            if holders.is_empty() {
                self.unheld.extend(called.listeners.iter().map(|inode| (*inode, UNHELD_RESTS)));
                continue;
            }
            self.listeners.extend(&called.listeners);
            // A master listens before its workers do, who are shown by its name.
            holders.sort_unstable();
            let label = holders.first().and_then(|pid| seen(*pid)).map_or_else(|| called.at.clone(), |seen| seen.name);
            joined.extend(holders.into_iter().filter(|pid| self.join(*pid, &label)));
        }
        joined
    }

    /// Those of the suspects that read what a member writes, or are in the server's service.
    fn suspect(&mut self, members: &[i32], all_members: &BTreeSet<i32>, suspects: &[i32], held: &Held) {
        let group = |pid: &str| Files::default().text(&format!("/proc/{pid}/cgroup")).ok();
        let server = members.first().and_then(|pid| group(&pid.to_string()));
        let own = group("self");
        for pid in suspects.iter().copied().filter(|pid| !all_members.contains(pid)) {
            let Some(seen) = seen(pid) else { continue };
            let (server, own) = (server.as_deref().map(str::trim_end), own.as_deref().map(str::trim_end));
            let theirs = group(&pid.to_string());
            let theirs = theirs.as_deref().map(str::trim_end);
            // Who has started a member or this process reads what it writes, and does nothing for it.
            let is_reader = !held.pipes.is_empty() && reads(pid, &held.pipes) && !is_above(pid, members);
            if is_reader || is_same_service(server, own, theirs, seen.ppid) {
                self.join(pid, &seen.name);
            }
        }
    }

    fn join(&mut self, pid: i32, label: &str) -> bool {
        if self.found.len() >= BACKENDS_MAX || self.found.contains_key(&pid) {
            return false;
        }
        let Some(seen) = seen(pid) else { return false };
        self.found.insert(pid, Backend { pid, began: seen.began, label: label.to_owned() });
        true
    }

    /// Leaves out those that have ended; a number that was given to another process is another process.
    fn forget_ended(&mut self) {
        self.found.retain(|pid, backend| seen(*pid).is_some_and(|seen| seen.began == backend.began));
    }
}

impl Held {
    /// What these processes hold, as far as that is shown.
    fn of(pids: &BTreeSet<i32>) -> Self {
        let mut held = Self::default();
        for pid in pids {
            let Ok(fds) = Process::new(*pid).and_then(|process| process.fd()) else { continue };
            for fd in fds.flatten() {
                held.descriptors += 1;
                match fd.target {
                    FDTarget::Socket(inode) => held.sockets.insert(inode),
                    FDTarget::Pipe(inode) if fd.mode().contains(FDPermissions::WRITE) => held.pipes.insert(inode),
                    _ => false,
                };
            }
        }
        held
    }
}

/// Processes whose children are their own affair: those that this process descends from, as a shell or a test does, those above
/// `members`, and init.
pub(crate) fn standing_alone(members: &[i32]) -> BTreeSet<i32> {
    let own = std::process::id().cast_signed();
    let mut above = BTreeSet::from([INIT]);
    for pid in members.iter().copied().chain([own]) {
        let mut parent = pid;
        // What is above one that was met before was met with it.
        while let Some(ppid) = seen(parent).map(|seen| seen.ppid).filter(|ppid| *ppid > 0) {
            if !above.insert(ppid) {
                break;
            }
            parent = ppid;
        }
    }
    above.retain(|pid| *pid == INIT || !members.contains(pid));
    above
}

fn is_above(pid: i32, members: &[i32]) -> bool {
    standing_alone(members).contains(&pid)
}

/// True if a process has one of these pipes open to read.
fn reads(pid: i32, pipes: &BTreeSet<u64>) -> bool {
    let Ok(fds) = Process::new(pid).and_then(|process| process.fd()) else { return false };
    fds.flatten().any(|fd| {
        let is_read = fd.mode().contains(FDPermissions::READ);
        matches!(fd.target, FDTarget::Pipe(inode) if is_read && pipes.contains(&inode))
    })
}

fn processes() -> Vec<i32> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    all.map(|process| process.pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    /// A process that holds the descriptor of a socket: its only one beside those that all have.
    fn holder(of: impl Into<Stdio>) -> Child {
        let child = Command::new("sleep").arg("60").stdin(of).spawn().unwrap();
        // The kernel lets who starts a program go on before it gives the process the name of the program.
        while seen(child.id().cast_signed()).is_none_or(|seen| seen.name != "sleep") {
            std::thread::yield_now();
        }
        child
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn whoever_listens_where_the_server_is_connected_to_is_behind_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = holder(std::os::fd::OwnedFd::from(connection.try_clone().unwrap()));
        let sockets = BTreeSet::from([rustix::fs::fstat(&listener).unwrap().st_ino]);
        let backend = holder(std::os::fd::OwnedFd::from(listener));
        // What another test starts meanwhile has all descriptors of this process until it is the program that it becomes.
        let holds_it = |pid: &i32| holds(*pid, &sockets) == Some(true);
        while processes().iter().filter(|pid| holds_it(pid)).count() > 1 {
            std::thread::yield_now();
        }
        let [server_pid, backend_pid] = [&server, &backend].map(|child| child.id().cast_signed());
        let backends = Backends::default();
        let is_found = backends.look(&[server_pid], &[]);
        let found: Vec<_> = backends.found().into_iter().map(|one| (one.pid, one.label)).collect();
        // The other way round nobody is: who connects to a server is its client.
        let clients = Backends::default();
        let has_clients = clients.look(&[backend_pid], &[]);
        end(server);
        end(backend);
        assert!(is_found && found.contains(&(backend_pid, "sleep".to_owned())), "{found:?}");
        assert!(!has_clients, "{:?}", clients.found());
        assert!(!backends.found().iter().any(|one| one.pid == backend_pid), "it has ended");
    }

    #[test]
    fn who_reads_what_the_server_writes_is_behind_it_and_who_shares_its_pipe_is_not() {
        let (reading, writing) = io::pipe().unwrap();
        let reader = holder(reading);
        let other = holder(writing.try_clone().unwrap());
        let server = Command::new("sleep").arg("60").stdout(writing).spawn().unwrap();
        let [server_pid, reader_pid, other_pid] = [&server, &reader, &other].map(|child| child.id().cast_signed());
        let backends = Backends::default();
        backends.look(&[server_pid], &[reader_pid, other_pid, std::process::id().cast_signed()]);
        let found: Vec<i32> = backends.found().into_iter().map(|one| one.pid).collect();
        for child in [server, reader, other] {
            end(child);
        }
        assert_eq!(found, [reader_pid]);
    }
}
