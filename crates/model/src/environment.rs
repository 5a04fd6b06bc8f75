//! Where a load ran: program, machines, and what of them may make a difference.

use crate::{Bandwidth, CheckRow, Served};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where it ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of this program.
    pub plimsoll: String,
    /// Kernel name, release and machine.
    pub kernel: String,
    /// Host name.
    pub host: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Soft limit of open files.
    pub nofile: u64,
    /// The command, secrets replaced.
    pub command: Vec<String>,
    /// The server under test, when this program has started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// Everything else that may make a difference; none in records from before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The machine of the server, where an agent observed it; the rest is of the machine of the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<ServerHost>,
    /// What the path between the machines of the load and that of the server carries, where it was probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// What of this machine was known to stand in the way of the load before it began; warnings and worse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<CheckRow>,
    /// What of it was another after the last load; none when that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
}

/// Machine of the server, as its agent told it before the first load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHost {
    /// How it was named, such as `ssh://web1`.
    pub name: String,
    /// Host name.
    pub host: String,
    /// Kernel name, release and machine.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs that the agent may use.
    pub cpus: u32,
    /// Largest error of its clock against that of the coordinator: half of the shortest round trip; ns.
    pub clock_error_ns: u64,
    /// Shortest round trip from the coordinator to it over their connection; omitted where it was not told; ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<u64>,
    /// Everything else that may make a difference.
    pub fingerprint: Fingerprint,
}

/// What machine and server are, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// By section, such as `cpu`, `sysctl` or `program/nginx`, and by name.
    pub facts: BTreeMap<String, BTreeMap<String, String>>,
    /// Why a section is missing.
    pub unavailable: BTreeMap<String, String>,
}

/// A fact of the fingerprint that has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its section.
    pub section: String,
    /// Its name.
    pub name: String,
    /// What it was before the first load; empty when it was not there.
    pub before: String,
    /// What it was after the last; empty when it was gone.
    pub after: String,
}
