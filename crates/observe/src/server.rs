//! The processes of the server: those that hold its listening sockets, and their descendants.

use crate::group::Group;
use crate::identified;
use crate::listening::{Listening, Unfound};
use crate::processes::Present;
use crate::socket_owners::SocketOwners;
use model::ServerUse;

/// The server's processes at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Server {
    socket_owners: SocketOwners,
    group: Group,
    /// What it calls itself, where that is known: the `Server` of its answers.
    product: Option<String>,
    /// True if it is told by that and by who owns the port, as its sockets are not shown.
    is_identified: bool,
}

impl Server {
    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    /// What it calls itself.
    pub(crate) fn is_called(&mut self, product: Option<String>) {
        self.product = product;
    }

    /// True if some process does not show its sockets, and so nobody is found to be the server.
    pub(crate) fn is_hidden(&self) -> bool {
        self.socket_owners.is_hidden() && (self.is_identified || self.group.is_empty())
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
        let own = [std::process::id().cast_signed()].into();
        self.group.adopt(socket_owners, present, &own);
        if !self.group.is_empty() || !self.socket_owners.is_hidden() || !present.is_complete {
            return;
        }
        let found = self.product.as_deref().and_then(|product| identified::server(present, listening, product));
        self.is_identified = found.is_some();
        self.group.adopt(found.into_iter().collect(), present, &own);
    }
}
