//! Numbers of requests, of which no two of a server are the same.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers kept for the requests of one load, so that no two loads of a sweep send the same; the probe takes the last.
pub(crate) const NUMBERS_A_LOAD: u64 = 1_000_000_000;

/// Loads kept for each session on a server that others before it have asked: of one call of plimsoll, as in an experiment.
const LOADS_A_SESSION: u64 = 1_000;
/// Sessions on a server that was not started for them.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// Number of the first request of a session. A server `is_ours` has seen none, and gets the same in each variant.
pub(super) fn first_number(is_ours: bool) -> u64 {
    let session = if is_ours { 0 } else { SESSIONS.fetch_add(1, Ordering::Relaxed) };
    session * LOADS_A_SESSION * NUMBERS_A_LOAD
}
