//! A pool of workers in front of a bounded first-come-first-served queue, as arithmetic.
//!
//! This is the queue of a PHP-FPM, a database connection pool or a thread pool: G/D/c with a bounded waiting
//! room. No thread and no clock: an arrival is told when its answer is due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::Pool;

/// The state of the pool: when each worker is free again, and who waits.
#[derive(Debug)]
pub(super) struct PoolQueue {
    service_ns: u64,
    queue: usize,
    /// When each worker has done everything it took on; ns. One entry a worker.
    free_at: BinaryHeap<Reverse<u64>>,
    /// When each waiting request will start, in order of arrival; ns.
    starts: VecDeque<u64>,
    latest_ns: u64,
}

/// The pool is busy and its queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueFull {
    /// How many wait.
    pub(super) waiting: usize,
}

impl PoolQueue {
    pub(super) fn new(pool: Pool) -> Self {
        Self {
            service_ns: pool.service_ns,
            queue: pool.queue as usize,
            free_at: (0..pool.workers).map(|_| Reverse(0)).collect(),
            starts: VecDeque::new(),
            latest_ns: 0,
        }
    }

    /// A request arrives at `now_ns`; answers when its service is done, ns.
    ///
    /// Threads that share a pool stamp before they lock it, so arrivals may come slightly out of order; one
    /// that does counts as arriving with the latest.
    pub(super) fn arrive(&mut self, now_ns: u64) -> Result<u64, QueueFull> {
        let now_ns = now_ns.max(self.latest_ns);
        self.latest_ns = now_ns;
        while self.starts.front().is_some_and(|start| *start <= now_ns) {
            self.starts.pop_front();
        }
        let waiting = self.starts.len();
        let mut earliest = self.free_at.peek_mut().expect("a pool has at least one worker");
        if earliest.0 > now_ns && waiting >= self.queue {
            return Err(QueueFull { waiting });
        }
        let start_ns = earliest.0.max(now_ns);
        let done_ns = start_ns.saturating_add(self.service_ns);
        *earliest = Reverse(done_ns);
        if start_ns > now_ns {
            self.starts.push_back(start_ns);
        }
        Ok(done_ns)
    }

    /// Workers, those of them that are busy at `now_ns`, and requests that wait then.
    pub(super) fn state(&self, now_ns: u64) -> PoolState {
        PoolState {
            workers: self.free_at.len(),
            busy: self.free_at.iter().filter(|Reverse(free_ns)| *free_ns > now_ns).count(),
            waiting: self.starts.iter().filter(|start_ns| **start_ns > now_ns).count(),
        }
    }
}

/// The pool at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolState {
    pub(super) workers: usize,
    pub(super) busy: usize,
    pub(super) waiting: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool(workers: u32, service_ns: u64, queue: u32) -> PoolQueue {
        PoolQueue::new(Pool { workers, service_ns, queue })
    }

    #[test]
    fn free_workers_start_at_once_and_the_rest_wait_in_order() {
        let mut pool = pool(2, 100, 3);
        let done: Vec<_> = (0..5).map(|_| pool.arrive(1_000)).collect();
        assert_eq!(done, [Ok(1_100), Ok(1_100), Ok(1_200), Ok(1_200), Ok(1_300)]);
        assert_eq!(pool.arrive(1_000), Err(QueueFull { waiting: 3 }));
    }

    #[test]
    fn who_is_busy_and_who_waits_is_told_of_any_moment() {
        let mut pool = pool(2, 100, 3);
        let done: Vec<_> = (0..3).map(|_| pool.arrive(1_000)).collect();
        assert_eq!(done, [Ok(1_100), Ok(1_100), Ok(1_200)]);
        let states = [1_000, 1_100, 1_200].map(|now_ns| pool.state(now_ns)).map(|state| (state.busy, state.waiting));
        assert_eq!((pool.state(0).workers, states), (2, [(2, 1), (1, 0), (0, 0)]));
    }

    #[test]
    fn a_place_in_the_queue_is_free_when_its_request_starts() {
        let mut pool = pool(1, 100, 1);
        assert_eq!(pool.arrive(0), Ok(100));
        assert_eq!(pool.arrive(0), Ok(200));
        assert_eq!(pool.arrive(99), Err(QueueFull { waiting: 1 }));
        assert_eq!(pool.arrive(100), Ok(300));
    }

    #[test]
    fn without_a_queue_only_free_workers_take_requests() {
        let mut pool = pool(1, 100, 0);
        assert_eq!(pool.arrive(0), Ok(100));
        assert_eq!(pool.arrive(99), Err(QueueFull { waiting: 0 }));
        assert_eq!(pool.arrive(100), Ok(200));
    }

    #[test]
    fn an_arrival_out_of_order_counts_as_the_latest() {
        let mut pool = pool(2, 100, 1);
        assert_eq!(pool.arrive(1_000), Ok(1_100));
        assert_eq!(pool.arrive(900), Ok(1_100));
    }

    proptest! {
        /// Kept busy from the start, c workers finish exactly c requests each service time.
        #[test]
        fn a_saturated_pool_serves_c_over_s(workers in 1u32..20, service_ns in 1u64..1_000_000, rounds in 1u32..20) {
            let requests = workers * rounds;
            let mut pool = pool(workers, service_ns, requests);
            for index in 0..requests {
                let round = u64::from(index / workers) + 1;
                prop_assert_eq!(pool.arrive(0), Ok(round * service_ns));
            }
        }

        /// Never more than `workers` in service nor more than `queue` waiting, and nobody overtakes.
        #[test]
        fn bounds_and_order_hold(
            gaps in prop::collection::vec(0u64..300, 1..200), workers in 1u32..5, queue in 0u32..6,
        ) {
            let service_ns = 250;
            let mut pool = pool(workers, service_ns, queue);
            let (mut now_ns, mut done) = (0, Vec::new());
            for gap in gaps {
                now_ns += gap;
                if let Ok(done_ns) = pool.arrive(now_ns) {
                    prop_assert!(done_ns >= now_ns + service_ns);
                    prop_assert!(done.last().is_none_or(|last| *last <= done_ns));
                    done.push(done_ns);
                }
                let inside = done.iter().filter(|end| **end > now_ns).count();
                prop_assert!(inside <= (workers + queue) as usize);
            }
        }
    }
}
