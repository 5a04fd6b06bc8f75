//! The processes of the server: those that hold its listening sockets, and their descendants.
//!
//! Which process holds a socket is looked at in all processes of the machine once, and again when the sockets have
//! changed; otherwise each second only in those that are new.

use crate::group::Group;
use crate::listener::{Listening, Unfound, holds};
use crate::processes::Present;
use model::ServerUse;
use std::collections::BTreeSet;

/// The server's processes at the look before.
#[derive(Debug, Default)]
pub(crate) struct Server {
    inodes: BTreeSet<u64>,
    /// Every process that was looked at for the sockets.
    examined: BTreeSet<i32>,
    group: Group,
    /// Whether some process does not show its sockets.
    hidden: bool,
}

impl Server {
    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    /// Whether these sockets are others than those of the look before, so that all processes have to be looked at.
    pub(crate) fn is_stranger_to(&self, listening: &Listening) -> bool {
        self.inodes != listening.inodes
    }

    /// Counts from now on.
    pub(crate) fn start(&mut self, present: &Present, listening: &Listening, now_ns: u64) {
        self.find(present, listening);
        self.group.start(present, now_ns);
    }

    /// CPU time since the look before and memory of now.
    pub(crate) fn look(&mut self, present: &Present, listening: &Listening, now_ns: u64) -> Result<ServerUse, Unfound> {
        self.find(present, listening);
        if self.group.is_empty() {
            return Err(match self.hidden {
                true => Unfound::OtherUser { address: listening.address.clone(), uid: listening.uid },
                false => Unfound::Hidden(listening.address.clone()),
            });
        }
        Ok(self.group.look(present, now_ns))
    }

    /// Takes in the processes that have joined the server.
    fn find(&mut self, present: &Present, listening: &Listening) {
        if self.is_stranger_to(listening) {
            self.inodes.clone_from(&listening.inodes);
            self.examined.clear();
            self.hidden = false;
        }
        let own = std::process::id().cast_signed();
        self.examined.retain(|pid| !present.is_complete || present.all.contains_key(pid));
        let mut holders = Vec::new();
        for pid in present.all.keys().copied().filter(|pid| *pid != own) {
            // A new process may have the number of one that has ended.
            if self.group.has(pid) || !(self.examined.insert(pid) || present.has_begun(pid)) {
                continue;
            }
            match holds(pid, &listening.inodes) {
                Some(true) => holders.push(pid),
                Some(false) => {}
                None => self.hidden = true,
            }
        }
        self.group.adopt(holders, present, &[own].into());
    }
}
