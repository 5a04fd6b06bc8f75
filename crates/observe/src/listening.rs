//! Sockets that listen on an address, or why the processes behind it are not known.

use model::{Address, Sockets};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Listening sockets of an address, a port or a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listening {
    pub(crate) address: Address,
    pub(crate) inodes: BTreeSet<u64>,
    /// Connection attempts that each of its sockets has dropped since it listens; none when the kernel does not tell.
    pub(crate) dropped: Option<BTreeMap<u64, u64>>,
    /// Owner of the first.
    pub(crate) uid: u32,
    /// True if the kernel keeps their connections as IPv6, which those of IPv4 may be.
    pub(crate) is_ipv6: bool,
    /// Connections that wait to be accepted, on all of them.
    pub(crate) accept_queue: u64,
    /// Connections that may wait on all of them.
    pub(crate) accept_backlog: u64,
    /// How full the fullest of them is.
    pub(crate) accept_fullest: f64,
}

impl Listening {
    /// Connection attempts dropped since `before`; none when the kernel does not tell. A socket that was not there has
    /// dropped all of its since.
    pub(crate) fn dropped_since(&self, before: &BTreeMap<u64, u64>) -> Option<u64> {
        let grown = |(inode, n): (&u64, &u64)| n.saturating_sub(before.get(inode).copied().unwrap_or(0));
        Some(self.dropped.as_ref()?.iter().map(grown).sum())
    }

    /// Its accept queue alone.
    pub(crate) fn accept_only(&self) -> Sockets {
        Sockets {
            accept_queue: Some(self.accept_queue),
            accept_backlog: Some(self.accept_backlog),
            accept_fullest: Some(self.accept_fullest),
            ..Sockets::default()
        }
    }
}

/// Why the processes of the server are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unfound {
    #[error("the server is not on this machine")]
    Elsewhere,
    #[error("not in every second: there are thousands, and listing them costs CPU time that the load may need")]
    Resting,
    #[error("the kernel keeps no states of a Unix socket's connections that tell them apart")]
    Stateless,
    #[error("the kernel does not list its sockets: {0}")]
    Kernel(String),
    #[error(
        "no process in this network namespace listens on {0}: a container or a port forwarder answers; run plimsoll \
         where the server runs"
    )]
    NoListener(Address),
    #[error("nothing listens on TCP port {0} in this network namespace; see ss -ltn for what does")]
    NoPort(u16),
    #[error(
        "the processes that listen on {address} cannot be seen: they are of user {uid}, and which sockets a process \
         has is shown to its own user and to root only; run plimsoll as one of them"
    )]
    OtherUser { address: Address, uid: u32 },
    #[error("the processes that listen on {0} cannot be seen: they run in another container, or /proc hides them")]
    Hidden(Address),
}

impl From<std::io::Error> for Unfound {
    fn from(error: std::io::Error) -> Self {
        Self::Kernel(error.to_string())
    }
}
