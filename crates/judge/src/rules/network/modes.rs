//! Clusters of service times at TCP's timers.

use model::{Evidence, NS_PER_S, SERVICE_BIN_NS};

/// Multiple of the numbers on either side that makes a cluster.
const HEAP: u64 = 5;
/// Fewer are no cluster.
const HEAP_MIN: u64 = 10;

/// Number of service times between `from_ms` and `to_ms`, if they stand out from as wide a stretch on either side.
pub(super) fn heap(evidence: &Evidence, from_ms: u64, to_ms: u64) -> Option<u64> {
    let bin = |ms: u64| (ms * (NS_PER_S / 1000) / SERVICE_BIN_NS) as usize;
    let (from, to) = (bin(from_ms), bin(to_ms));
    let sum =
        |bins: std::ops::Range<usize>| -> u64 { evidence.service_bins.get(bins).map_or(0, |bins| bins.iter().sum()) };
    let within = sum(from..to);
    let around = sum(2 * from - to..from).max(sum(to..2 * to - from));
    (within >= HEAP_MIN && within > HEAP * around).then_some(within)
}
