//! Counters of each worker. A worker writes only its own counters, anybody may read them.

use super::pool::PoolState;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Milliseconds of arrivals a worker keeps until the log has taken them.
pub(super) const RING_MS: usize = 8192;
pub(super) const NS_PER_MS: u64 = 1_000_000;

/// The counters of one worker, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct WorkerStats {
    /// Connections handed to the worker so far.
    pub(super) connections: AtomicU64,
    /// Connections it has now, those on their way to it included.
    pub(super) open: AtomicU64,
    /// Requests answered or being answered.
    pub(super) requests: AtomicU64,
    /// Connections closed because what they sent was not HTTP or beyond the limits.
    pub(super) malformed: AtomicU64,
    /// Bytes of request bodies read and discarded.
    pub(super) body_bytes: AtomicU64,
    /// Connections closed because their clients kept the server waiting for too long.
    pub(super) timed_out: AtomicU64,
    /// Requests per millisecond since the start, by millisecond modulo [`RING_MS`]; empty without a log.
    arrivals: Vec<AtomicU32>,
}

impl WorkerStats {
    pub(super) fn new(count_arrivals: bool) -> Self {
        let slots = if count_arrivals { RING_MS } else { 0 };
        Self { arrivals: (0..slots).map(|_| AtomicU32::new(0)).collect(), ..Self::default() }
    }

    /// One request, read at `now_ns` since the start.
    #[inline]
    pub(super) fn arrival(&self, now_ns: u64) {
        bump(&self.requests, 1);
        if !self.arrivals.is_empty() {
            self.arrivals[slot(now_ns / NS_PER_MS)].fetch_add(1, Relaxed);
        }
    }

    /// Takes the arrivals of one millisecond (since the start) out of the ring.
    pub(super) fn take_arrivals(&self, millisecond: u64) -> u32 {
        self.arrivals[slot(millisecond)].swap(0, Relaxed)
    }
}

/// Adds to a counter that only the calling thread writes: no locked instruction.
#[inline]
pub(super) fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}

/// All workers' counters as the JSON of `/stats`, and the pool as it is now, if there is one.
pub(super) fn json(workers: &[WorkerStats], refused: u64, pool: Option<PoolState>) -> String {
    let mut out = String::from("{\"workers\":[");
    for (index, worker) in workers.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let WorkerStats { connections, open, requests, malformed, body_bytes, timed_out, .. } = worker;
        let [connections, open, requests, malformed, body_bytes, timed_out] =
            [connections, open, requests, malformed, body_bytes, timed_out].map(|counter| counter.load(Relaxed));
        write!(
            out,
            "{comma}{{\"connections\":{connections},\"open\":{open},\"requests\":{requests},\
             \"malformed\":{malformed},\"body_bytes\":{body_bytes},\"timed_out\":{timed_out}}}"
        )
        .expect("writing to a string does not fail");
    }
    write!(out, "],\"refused_connections\":{refused}").expect("writing to a string does not fail");
    if let Some(PoolState { workers, busy, waiting }) = pool {
        write!(out, ",\"pool\":{{\"workers\":{workers},\"busy\":{busy},\"waiting\":{waiting}}}")
            .expect("writing to a string does not fail");
    }
    out.push_str("}\n");
    out
}

const fn slot(millisecond: u64) -> usize {
    millisecond as usize % RING_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_taken_once_by_millisecond() {
        let stats = WorkerStats::new(true);
        for now_ns in [0, 999_999, 1_000_000, 9_000 * NS_PER_MS] {
            stats.arrival(now_ns);
        }
        assert_eq!((stats.take_arrivals(0), stats.take_arrivals(1)), (2, 1));
        assert_eq!((stats.take_arrivals(9_000), stats.take_arrivals(9_000)), (1, 0));
        assert_eq!(stats.requests.load(Relaxed), 4);
    }

    #[test]
    fn stats_are_one_line_of_json() {
        let workers = [WorkerStats::new(false), WorkerStats::new(false)];
        workers[1].arrival(5);
        assert_eq!(
            json(&workers, 3, None),
            "{\"workers\":[\
             {\"connections\":0,\"open\":0,\"requests\":0,\"malformed\":0,\"body_bytes\":0,\"timed_out\":0},\
             {\"connections\":0,\"open\":0,\"requests\":1,\"malformed\":0,\"body_bytes\":0,\"timed_out\":0}],\
             \"refused_connections\":3}\n"
        );
        let pool = Some(PoolState { workers: 5, busy: 4, waiting: 0 });
        assert_eq!(
            json(&[], 0, pool),
            "{\"workers\":[],\"refused_connections\":0,\"pool\":{\"workers\":5,\"busy\":4,\"waiting\":0}}\n"
        );
    }
}
