//! Which processes hold listening sockets. All of the machine are looked at once, and again when the sockets have changed;
//! otherwise each second only those that are new.

use crate::group::Group;
use crate::listener::holds;
use crate::listening::{Listening, Unfound};
use crate::processes::Present;
use std::collections::BTreeSet;

/// What has been looked at so far.
#[derive(Debug, Default)]
pub(crate) struct SocketOwners {
    inodes: BTreeSet<u64>,
    /// Every process that was looked at for the sockets.
    examined: BTreeSet<i32>,
    /// Those that hold them.
    known: BTreeSet<i32>,
    /// True if some process does not show its sockets.
    hidden: bool,
}

impl SocketOwners {
    /// True if these sockets are others than those of the sample before, so that all processes have to be looked at.
    pub(crate) fn is_stranger_to(&self, listening: &Listening) -> bool {
        self.inodes != listening.inodes
    }

    /// Processes that hold the sockets, without those that are in `group` already, and without this one.
    pub(crate) fn find(&mut self, present: &Present, listening: &Listening, group: &Group) -> Vec<i32> {
        if self.is_stranger_to(listening) {
            self.inodes.clone_from(&listening.inodes);
            self.examined.clear();
            self.known.clear();
            self.hidden = false;
        }
        let own = std::process::id().cast_signed();
        self.examined.retain(|pid| !present.is_complete || present.all.contains_key(pid));
        let mut socket_owners = Vec::new();
        for pid in present.all.keys().copied().filter(|pid| *pid != own) {
            // A new process may have the number of one that has ended.
            if group.has(pid) || !(self.examined.insert(pid) || present.has_begun(pid)) {
                continue;
            }
            match holds(pid, &listening.inodes) {
                Some(true) => socket_owners.push(pid),
                Some(false) => {}
                None => self.hidden = true,
            }
        }
        self.known.extend(&socket_owners);
        socket_owners
    }

    /// All that were found to hold the sockets of now and still run, as far as that was seen.
    pub(crate) fn known(&self) -> Vec<i32> {
        self.known.intersection(&self.examined).copied().collect()
    }

    /// True if some process does not show its sockets.
    pub(crate) const fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Why nobody is found who holds them.
    pub(crate) fn unfound(&self, listening: &Listening) -> Unfound {
        match self.hidden {
            true => Unfound::OtherUser { address: listening.address.clone(), uid: listening.uid },
            false => Unfound::Hidden(listening.address.clone()),
        }
    }
}
