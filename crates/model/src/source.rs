//! Where what is told comes from.

use serde::{Deserialize, Serialize};

/// An agent that generates load, or a host that is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(pub u16);

impl SourceId {
    /// This process, on this machine.
    pub const LOCAL: Self = Self(0);
    /// The machine of the server, where it is observed by an agent; above the numbers of all agents that generate load.
    pub const SERVER_HOST: Self = Self(u16::MAX);
}
