//! Which process is called what, and whose child it is.

use crate::listener::{Listener, holds};
use crate::listening::Unfound;
use crate::sockets::SocketTable;
use model::Address;
use procfs::process::Process;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Generations that are followed: more than any server has, and an end should the kernel's numbers form a ring.
const GENERATIONS_MAX: usize = 64;

/// Why a process to look at is not there.
#[derive(Debug, Error)]
pub enum Missing {
    /// No such process.
    #[error("there is no process {0}: it has ended, or runs in another container")]
    Gone(u32),
    /// Nothing listens, or not where it can be seen.
    #[error("{0}")]
    Unfound(String),
}

/// The process, if it runs.
pub fn running(pid: u32) -> Result<BTreeSet<u32>, Missing> {
    let found = Process::new(pid.cast_signed()).and_then(|process| process.stat());
    // One that has ended and was not waited for is still listed.
    found.ok().filter(|stat| stat.state != 'Z').map(|_| BTreeSet::from([pid])).ok_or(Missing::Gone(pid))
}

/// The processes that hold a listening socket of TCP port `port`, on whatever address.
pub fn behind_port(port: u16) -> Result<BTreeSet<u32>, Missing> {
    let sockets = SocketTable::default().listening(port).map_err(unfound)?;
    let inodes: BTreeSet<u64> = sockets.iter().map(|socket| u64::from(socket.header.inode)).collect();
    if inodes.is_empty() {
        return Err(Missing::Unfound(format!(
            "nothing listens on TCP port {port} in this network namespace; see ss -ltn for what does"
        )));
    }
    socket_owners(&inodes)
        .ok_or_else(|| Missing::Unfound(format!("whoever listens on port {port} shows it to root only")))
}

/// The processes behind the address of a target on this machine.
pub fn behind_address(address: &Address) -> Result<BTreeSet<u32>, Missing> {
    let listening = Listener::new(address.clone(), true).sample(&mut SocketTable::default()).map_err(unfound)?;
    socket_owners(&listening.inodes).ok_or_else(|| unfound(Unfound::Hidden(address.clone())))
}

fn unfound(error: Unfound) -> Missing {
    Missing::Unfound(error.to_string())
}

fn socket_owners(inodes: &BTreeSet<u64>) -> Option<BTreeSet<u32>> {
    let all = procfs::process::all_processes().ok()?.flatten();
    let found: BTreeSet<u32> = all
        .filter(|process| holds(process.pid, inodes) == Some(true))
        .map(|process| process.pid.cast_unsigned())
        .collect();
    (!found.is_empty()).then_some(found)
}

/// Names and parents of the processes that were seen. What the kernel says of them comes from a ring for each CPU: a new
/// program's name may be read before the fork that it comes after.
#[derive(Debug, Default)]
pub(super) struct Tree {
    names: BTreeMap<u32, Name>,
    parents: BTreeMap<u32, u32>,
    /// Processes of which something new is known.
    changed: BTreeSet<u32>,
    /// True if it was written down: a process that runs now is another one.
    is_past: bool,
}

#[derive(Clone, Debug)]
struct Name {
    text: String,
    /// When the kernel said so; 0 for a sample, and of a name that came with a fork.
    told_ns: u64,
}

impl Tree {
    /// One that was written down, of which nothing is looked up.
    pub(super) fn past() -> Self {
        Self { is_past: true, ..Self::default() }
    }

    /// What was written down of a process.
    pub(super) fn restore(&mut self, pid: u32, name: Option<String>, parent: Option<u32>) {
        self.names.extend(name.map(|text| (pid, Name { text, told_ns: 0 })));
        self.parents.extend(parent.map(|parent| (pid, parent)));
    }

    /// Processes of which something new is known since this was asked last.
    pub(super) fn take_changed(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.changed)
    }

    /// Name and parent of a process, as far as they are known.
    pub(super) fn known(&self, pid: u32) -> (Option<String>, Option<u32>) {
        (self.names.get(&pid).map(|name| name.text.clone()), self.parent(pid))
    }

    /// Looks at a process that ran, unless that was done.
    pub(super) fn seen(&mut self, pid: u32) {
        if !self.parents.contains_key(&pid) {
            self.sample(pid);
        }
    }

    /// What the kernel has said: `pid` is a new process, or a new thread of its own.
    pub(super) fn forked(&mut self, pid: u32, parent: u32) {
        if pid == parent {
            return;
        }
        self.changed.insert(pid);
        self.parents.insert(pid, parent);
        self.seen(parent);
        // One that has a name by now was looked at, or named, after it was forked.
        if let Some(name) = self.names.get(&parent).filter(|_| !self.names.contains_key(&pid)) {
            self.names.insert(pid, Name { told_ns: 0, ..name.clone() });
        }
    }

    /// What the kernel has said at `told_ns`: this is what `pid` is called from now on.
    pub(super) fn named(&mut self, pid: u32, name: &[u8], told_ns: u64) {
        // Whose child it is has to be seen while it runs.
        self.seen(pid);
        let text = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if self.names.get(&pid).is_none_or(|known| known.told_ns <= told_ns) {
            self.changed.insert(pid);
            self.names.insert(pid, Name { text: String::from_utf8_lossy(text).into_owned(), told_ns });
        }
    }

    pub(super) fn name(&self, pid: u32) -> &str {
        self.names.get(&pid).map_or("(ended)", |name| name.text.as_str())
    }

    pub(super) fn parent(&self, pid: u32) -> Option<u32> {
        self.parents.get(&pid).copied()
    }

    /// True if `pid` is one of `roots` or descends from one.
    pub(super) fn is_of(&mut self, pid: u32, roots: &BTreeSet<u32>) -> bool {
        let mut at = pid;
        for _ in 0..GENERATIONS_MAX {
            if roots.contains(&at) {
                return true;
            }
            self.seen(at);
            match self.parents.get(&at) {
                Some(parent) if *parent != 0 => at = *parent,
                _ => return false,
            }
        }
        false
    }

    fn sample(&mut self, pid: u32) {
        if self.is_past {
            return;
        }
        let Ok(stat) = Process::new(pid.cast_signed()).and_then(|process| process.stat()) else { return };
        self.changed.insert(pid);
        self.names.insert(pid, Name { text: stat.comm, told_ns: 0 });
        self.parents.insert(pid, stat.ppid.cast_unsigned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silent_port::silent_port;

    #[test]
    fn descendants_are_told_from_others_also_when_they_have_ended() {
        let (own, mut tree) = (std::process::id(), Tree::default());
        // Numbers above the largest that Linux gives out.
        let (child, grandchild) = (5_000_000, 5_000_001);
        tree.forked(child, own);
        tree.forked(grandchild, child);
        tree.named(grandchild, b"worker\0\0", 1);
        let roots = BTreeSet::from([own]);
        assert!(tree.is_of(grandchild, &roots) && tree.is_of(own, &roots) && !tree.is_of(1, &roots));
        assert!(!tree.is_of(own, &BTreeSet::from([child])));
        assert_eq!((tree.name(grandchild), tree.name(child)), ("worker", tree.name(own)));
        assert_eq!(tree.name(5_000_002), "(ended)");
        // One that was there before, and is called something else now.
        let mut tree = Tree::default();
        tree.named(own, b"renamed", 1);
        assert!(tree.parents.contains_key(&own) && tree.name(own) == "renamed");
    }

    #[test]
    fn a_new_program_keeps_its_name_in_whatever_order_the_rings_are_read() {
        let (own, child, mut tree) = (std::process::id(), 5_000_000, Tree::default());
        tree.named(child, b"sh", 20);
        tree.forked(child, own);
        tree.named(child, b"env", 10);
        assert_eq!((tree.name(child), tree.parent(child)), ("sh", Some(own)));
        tree.named(child, b"sleep", 30);
        assert_eq!(tree.name(child), "sleep");
    }

    #[test]
    fn who_is_not_there_is_named() {
        assert!(running(5_000_000).unwrap_err().to_string().contains("no process 5000000"));
        assert_eq!(running(std::process::id()).unwrap(), BTreeSet::from([std::process::id()]));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // What another test starts at this moment has it too, until it has become another program.
        assert!(behind_port(port).unwrap().contains(&std::process::id()));
        let (_socket, port) = silent_port();
        assert!(behind_port(port).unwrap_err().to_string().contains("nothing listens on TCP port"));
    }
}
