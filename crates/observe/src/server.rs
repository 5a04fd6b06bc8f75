//! The processes of the server: those that hold its listening sockets, and their descendants.
//!
//! All processes of the machine are looked at once, and again when the sockets have changed; otherwise each second
//! only those that are new, which a list of numbers tells.

use crate::ledger::{Ledger, Seen};
use crate::listener::{Listening, Unfound, holds};
use crate::machine::ticks_ns;
use model::ServerUse;
use procfs::process::Process;
use std::collections::{BTreeMap, BTreeSet};

/// The server's processes at the look before.
#[derive(Debug, Default)]
pub(crate) struct Server {
    inodes: BTreeSet<u64>,
    /// Every process of the machine that has been looked at.
    known: BTreeSet<i32>,
    ledger: Ledger,
    /// Whether some process does not show its sockets.
    hidden: bool,
}

impl Server {
    /// CPU time since the look before and memory of now.
    pub(crate) fn look(&mut self, listening: &Listening) -> Result<ServerUse, Unfound> {
        self.find(listening);
        if self.ledger.is_empty() {
            return Err(match self.hidden {
                true => Unfound::OtherUser { address: listening.address.clone(), uid: listening.uid },
                false => Unfound::Hidden(listening.address.clone()),
            });
        }
        let seen = self.ledger.pids().into_iter().filter_map(seen).collect();
        Ok(self.ledger.settle(seen))
    }

    /// Takes in the processes that have joined the server.
    fn find(&mut self, listening: &Listening) {
        let pids = pids();
        let is_first = self.known.is_empty();
        let look_at_all = self.inodes != listening.inodes;
        if look_at_all {
            self.inodes.clone_from(&listening.inodes);
            self.hidden = false;
        }
        let own = std::process::id().cast_signed();
        let unknown = pids.iter().copied().filter(|pid| look_at_all || !self.known.contains(pid));
        let mut strangers: BTreeMap<i32, Seen> = unknown
            .filter(|pid| *pid != own && !self.ledger.has(*pid))
            .filter_map(|pid| Some((pid, seen(pid)?)))
            .collect();
        // A process that is new, and not only new to us, has used all of its time since the look before.
        let known = std::mem::replace(&mut self.known, pids);
        let is_new = |pid| !is_first && !known.contains(&pid);
        let mut joining: Vec<i32> = Vec::new();
        for pid in strangers.keys() {
            match holds(*pid, &listening.inodes) {
                Some(true) => joining.push(*pid),
                Some(false) => {}
                None => self.hidden = true,
            }
        }
        while !joining.is_empty() {
            for pid in joining.drain(..) {
                if let Some(seen) = strangers.remove(&pid) {
                    self.ledger.open(seen, is_new(pid));
                }
            }
            let children = strangers.iter().filter(|(_, seen)| self.ledger.has(seen.ppid));
            joining.extend(children.map(|(pid, _)| *pid));
        }
    }
}

/// The numbers of all processes.
fn pids() -> BTreeSet<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process as it is now; none when it has ended.
fn seen(pid: i32) -> Option<Seen> {
    let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
    Some(Seen {
        pid,
        ppid: stat.ppid,
        began: stat.starttime,
        own_ns: ticks_ns(stat.utime + stat.stime),
        waited_ns: ticks_ns((stat.cutime + stat.cstime).max(0).cast_unsigned()),
        rss_bytes: stat.rss * procfs::page_size(),
        name: stat.comm,
    })
}
