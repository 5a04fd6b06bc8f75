//! The processes of the server: those that hold its listening sockets, and their descendants.

use crate::group::Group;
use crate::listening::{Listening, Unfound};
use crate::processes::Present;
use crate::socket_owners::SocketOwners;
use model::ServerUse;

/// The server's processes at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Server {
    socket_owners: SocketOwners,
    group: Group,
}

impl Server {
    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    /// True if these sockets are others than those of the sample before, so that all processes have to be looked at.
    pub(crate) fn is_stranger_to(&self, listening: &Listening) -> bool {
        self.socket_owners.is_stranger_to(listening)
    }

    /// Counts from now on.
    pub(crate) fn start(&mut self, present: &Present, listening: &Listening, now_ns: u64) {
        self.find(present, listening);
        self.group.start(present, now_ns);
    }

    /// CPU time since the sample before and memory of now.
    pub(crate) fn sample(
        &mut self,
        present: &Present,
        listening: &Listening,
        now_ns: u64,
    ) -> Result<ServerUse, Unfound> {
        self.find(present, listening);
        if self.group.is_empty() {
            return Err(self.socket_owners.unfound(listening));
        }
        Ok(self.group.sample(present, now_ns))
    }

    /// Takes in the processes that have joined the server.
    fn find(&mut self, present: &Present, listening: &Listening) {
        let socket_owners = self.socket_owners.find(present, listening, &self.group);
        self.group.adopt(socket_owners, present, &[std::process::id().cast_signed()].into());
    }
}
