//! The server under test, when plimsoll itself has started it.

use serde::{Deserialize, Serialize};

/// What ran, how, and how long it took to get there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Its name in the list of known servers.
    pub server: String,
    /// What was asked for, such as `nginx workers=2`.
    pub label: String,
    /// The path of the program behind the endpoint.
    pub program: String,
    /// SHA-256 of that program, in hexadecimal; empty when it cannot be read.
    pub program_sha256: String,
    /// The user it ran as, when it is not the one that ran plimsoll.
    pub user: Option<String>,
    /// CPUs it was confined to; empty: all.
    pub cpus: Vec<u32>,
    /// Building, provisioning and starting, in their order.
    pub steps: Vec<Step>,
}

/// Something that had to be done before the first request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What.
    pub name: String,
    /// How long it took; ns.
    pub ns: u64,
}
