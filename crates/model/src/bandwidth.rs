//! Bandwidth between the machines of a load and that of its server, probed before the first load.

use serde::{Deserialize, Serialize};

/// Most probe connections of all machines of a load together.
pub const PROBE_CONNECTIONS_MAX: u32 = 128;

/// What the path between the machines of a load and that of its server carries, in bytes of TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Address that the load goes to, and the probe went to.
    pub address: String,
    /// Agents of the load, which sent and received at the same time; 1 where the load is of the machine of the coordinator.
    pub clients: u32,
    /// Connections of all of them together.
    pub connections: u32,
    /// Interface of the server's machine that leads to them; omitted where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Largest packet of that interface; omitted where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Shortest round trip between client and server, as the opening of a connection shows it, of the farthest client; ns.
    pub round_trip_ns: Option<u64>,
    /// Requests go this way.
    pub to_server: Option<Throughput>,
    /// Responses go this way.
    pub from_server: Option<Throughput>,
    /// Why it is not known; omitted where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// What was received in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Rate over the second half of the time in which nearly all came: connections are past their slow start, and none has ended;
    /// bits per second.
    pub bit_per_s: u64,
    /// All that was received.
    pub bytes: u64,
    /// From the first byte to the last; ns.
    pub duration_ns: u64,
}
