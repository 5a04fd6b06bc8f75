//! Times of the protocol; ns.

use model::NS_PER_S;

/// Between two pings of a coordinator, and between two signs of life of an agent.
pub const HEARTBEAT_NS: u64 = NS_PER_S;
/// An agent of which nothing came for so long is late, which is said.
pub const LATE_NS: u64 = 3 * NS_PER_S;
/// An agent of which nothing came for so long is lost.
pub const LOST_NS: u64 = 5 * NS_PER_S;
/// An agent whose ticks end so long ago is lost, whatever else it says.
pub const STALLED_NS: u64 = 2 * LOST_NS;
/// An agent that heard nothing of its coordinator for so long ends.
pub const ALONE_NS: u64 = 10 * NS_PER_S;
/// An agent has to say hello within this time once its stream is there.
pub const HELLO_NS: u64 = 60 * NS_PER_S;
/// Once one agent is missing, the others are waited for so long: all whom ssh does not reach are told after its own 10 s.
pub const OTHERS_NS: u64 = 11 * NS_PER_S;
/// All agents have to be ready within this time beyond the timeout of a request.
pub const READY_NS: u64 = 60 * NS_PER_S;
/// Pings before the start.
pub const SYNC_PINGS: u32 = 40;
/// The clocks are compared for so long at most.
pub const SYNC_NS: u64 = 4 * NS_PER_S;
/// Of these pings so many are enough.
pub const SYNC_PINGS_MIN: u32 = 5;
/// From the order to start to the instant agreed on, and how many of the longest round trips.
pub const LEAD_NS: u64 = NS_PER_S;
/// See [`LEAD_NS`].
pub const LEAD_ROUND_TRIPS: u64 = 4;
/// Attempts to have all agents armed.
pub const ARM_TRIES: u32 = 3;
/// Processes that are watched beside a server.
pub const SELECTORS_MAX: usize = 128;
/// The processes of a server have to be found within this time, the fingerprint included.
pub const OBSERVE_NS: u64 = 60 * NS_PER_S;
/// A server has to answer within this time after an order, with all that is done before it answers for the first time.
pub const SERVE_NS: u64 = 900 * NS_PER_S;
/// A load that was stopped has to tell its totals within this time beyond the timeout of a request.
pub const END_NS: u64 = 10 * NS_PER_S;

/// By how much another clock can have run ahead, or fallen behind, in a time: no machine's is worse than that.
#[must_use]
pub const fn drift_max_ns(elapsed_ns: u64) -> u64 {
    elapsed_ns / 1000
}
