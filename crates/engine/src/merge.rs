//! Puts the ticks of all load threads together, second by second.

use crate::recorder::{Tally, WorkerTick};
use model::{Cohort, Failure, Histograms, MixCount, Phase, SliceFlow, SourceId, ThreadUse, Tick};
use std::collections::BTreeMap;

/// A busy share is told only for ticks of at least this length: CPU clocks are too coarse below.
const BUSY_MIN_NS: u64 = 500_000_000;

/// Collects ticks until every thread that still runs has delivered its piece.
pub(crate) struct Merge {
    /// How far each thread has delivered; [`OVER`] once it has ended.
    delivered_ns: Vec<u64>,
    /// Unfinished ticks by the instant they begin.
    open: BTreeMap<u64, Partial>,
}

const OVER: u64 = u64::MAX;

struct Partial {
    phase: Phase,
    to_ns: u64,
    flow: model::Flow,
    cohort: Cohort,
    threads: Vec<ThreadUse>,
    latency: Histograms,
    set_aside: Histograms,
    slices: BTreeMap<u64, SliceFlow>,
    late_ns: u64,
    sends_ns: Vec<u64>,
}

impl Merge {
    /// For `threads` load threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self { delivered_ns: vec![0; threads], open: BTreeMap::new() }
    }

    /// Adds one thread's tick.
    pub(crate) fn add(&mut self, tick: &WorkerTick) {
        let threads = self.delivered_ns.len();
        self.open.entry(tick.from_ns).or_insert_with(|| Partial::new(tick.phase, threads)).add(tick);
        self.delivered_ns[tick.worker] = if tick.last { OVER } else { tick.to_ns };
    }

    /// The oldest tick, once every thread has delivered beyond its begin or has ended.
    pub(crate) fn take(&mut self) -> Option<Tick> {
        let (&from_ns, _) = self.open.first_key_value()?;
        let complete = self.delivered_ns.iter().all(|&to_ns| to_ns > from_ns);
        complete.then(|| self.open.pop_first()).flatten().map(|(from_ns, partial)| partial.finish(from_ns))
    }

    /// True if every thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.delivered_ns.iter().all(|&to_ns| to_ns == OVER)
    }
}

impl Partial {
    fn new(phase: Phase, threads: usize) -> Self {
        Self {
            phase,
            to_ns: 0,
            flow: model::Flow::default(),
            cohort: Cohort::default(),
            threads: vec![ThreadUse::default(); threads],
            latency: Histograms::default(),
            set_aside: Histograms::default(),
            slices: BTreeMap::new(),
            late_ns: 0,
            sends_ns: Vec::new(),
        }
    }

    fn add(&mut self, tick: &WorkerTick) {
        let WorkerTick {
            worker,
            last: _,
            phase: _,
            from_ns,
            to_ns,
            flow,
            tally,
            latency,
            set_aside,
            slices,
            late_ns,
            sends_ns,
            cpu_ns,
        } = tick;
        self.to_ns = self.to_ns.max(*to_ns);
        self.flow.add(flow);
        add_tally(&mut self.cohort, tally);
        let wall_ns = to_ns - from_ns;
        let busy = if wall_ns >= BUSY_MIN_NS { *cpu_ns as f64 / wall_ns as f64 } else { 0.0 };
        self.threads[*worker] = ThreadUse { cpu_ns: *cpu_ns, wall_ns, busy_max: busy.min(1.0) };
        self.latency.add(latency);
        self.set_aside.add(set_aside);
        for slice in slices {
            self.slices.entry(slice.slice).or_insert_with(|| SliceFlow::new(slice.slice)).add(slice);
        }
        self.late_ns = self.late_ns.max(*late_ns);
        self.sends_ns.extend_from_slice(sends_ns);
    }

    fn finish(mut self, from_ns: u64) -> Tick {
        self.sends_ns.sort_unstable();
        Tick {
            source: SourceId::LOCAL,
            agents: Vec::new(),
            phase: self.phase,
            from_ns,
            to_ns: self.to_ns,
            flow: self.flow,
            cohort: self.cohort,
            threads: self.threads,
            response_p50_ns: self.latency.response.quantile(0.5),
            response_p99_ns: self.latency.response.quantile(0.99),
            late_ns: self.late_ns,
            sends_ns: self.sends_ns,
            slices: self.slices.into_values().collect(),
            histograms: self.latency,
            set_aside: self.set_aside,
        }
    }
}

fn add_tally(cohort: &mut Cohort, tally: &Tally) {
    let Tally { counts, status, failures, mix, fairness } = tally;
    cohort.counts.add(counts);
    cohort.mix.resize(mix.len(), MixCount::default());
    for (sum, more) in cohort.mix.iter_mut().zip(mix) {
        sum.add(more);
    }
    if let Some(fairness) = fairness {
        cohort.fairness.get_or_insert_default().add(fairness);
    }
    for (status, &n) in (0_u16..).zip(status.iter()) {
        if n > 0 {
            *cohort.status.entry(status).or_default() += n;
        }
    }
    for (index, &n) in failures.iter().enumerate() {
        if n > 0 {
            *cohort.failures.entry(Failure::from_index(index).to_string()).or_default() += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Counts, Fairness};

    fn tick(worker: usize, from_ns: u64, to_ns: u64, good: u64, last: bool) -> WorkerTick {
        let mut tick = WorkerTick::new(worker, 1, false);
        (tick.from_ns, tick.to_ns, tick.last, tick.flow.good) = (from_ns, to_ns, last, good);
        tick
    }

    #[test]
    fn a_tick_waits_for_every_thread_that_still_runs() {
        let mut merge = Merge::new(2);
        merge.add(&tick(0, 0, 10, 3, false));
        assert!(merge.take().is_none());
        merge.add(&tick(1, 0, 10, 4, false));
        assert_eq!(merge.take().map(|t| t.flow.good), Some(7));
        // Thread 0 ends early; the tick still waits for thread 1.
        merge.add(&tick(0, 10, 12, 1, true));
        assert!(merge.take().is_none() && !merge.is_over());
        merge.add(&tick(1, 10, 20, 2, false));
        assert_eq!(merge.take().map(|t| (t.to_ns, t.flow.good)), Some((20, 3)));
        merge.add(&tick(1, 20, 25, 5, true));
        assert_eq!(merge.take().map(|t| t.flow.good), Some(5));
        assert!(merge.is_over());
    }

    /// A counter that `clear` forgot was counted again in each later second; one that the sum forgot was 0 in every result.
    #[test]
    fn a_tick_is_added_whole_and_leaves_nothing_behind_once_it_is_cleared() {
        let counts = Counts { planned: 5, completed: 3, censored: 1, ..Counts::default() };
        let mut tick = WorkerTick::new(0, 2, true);
        (tick.to_ns, tick.last, tick.late_ns, tick.cpu_ns) = (BUSY_MIN_NS, true, 7, BUSY_MIN_NS / 2);
        tick.flow = model::Flow { sent: 2, opened: 3, ..model::Flow::default() };
        tick.tally.counts = counts;
        (tick.tally.status[200], tick.tally.failures[0]) = (3, 1);
        tick.tally.mix[1] = MixCount { completed: 3, good: 2, response_ns: 9 };
        tick.tally.fairness = Some(Fairness { connections: 1, ..Fairness::default() });
        for histograms in [&mut tick.latency, &mut tick.set_aside] {
            histograms.response.record(7);
            histograms.handshake.record(7);
        }
        tick.slices.push(SliceFlow::new(3));
        tick.sends_ns.push(5);
        let merged = |tick: &WorkerTick| {
            let mut merge = Merge::new(1);
            merge.add(tick);
            merge.take().expect("its thread has delivered")
        };

        let sum = merged(&tick);
        assert_eq!((sum.flow, sum.cohort.counts), (tick.flow, counts));
        assert_eq!((sum.cohort.status, sum.cohort.failures.into_values().sum::<u64>()), ([(200, 3)].into(), 1));
        assert_eq!((sum.cohort.mix, sum.cohort.fairness), (tick.tally.mix.to_vec(), tick.tally.fairness));
        assert_eq!((sum.late_ns, sum.sends_ns, sum.slices), (7, vec![5], vec![SliceFlow::new(3)]));
        assert_eq!(sum.threads, [ThreadUse { cpu_ns: BUSY_MIN_NS / 2, wall_ns: BUSY_MIN_NS, busy_max: 0.5 }]);
        assert_eq!([sum.histograms.response.count(), sum.set_aside.handshake.count()], [1, 1]);

        tick.clear();
        assert!(!tick.last);
        let unused = WorkerTick { to_ns: BUSY_MIN_NS, ..WorkerTick::new(0, 2, true) };
        assert_eq!(merged(&WorkerTick { last: true, ..tick }), merged(&WorkerTick { last: true, ..unused }));
    }

    #[test]
    fn the_latest_thread_counts_and_instants_are_put_in_order() {
        let mut merge = Merge::new(2);
        for (worker, late_ns, sends_ns) in [(0, 7, vec![2, 8]), (1, 3, vec![1, 5])] {
            merge.add(&WorkerTick { late_ns, sends_ns, ..tick(worker, 0, 10, 1, true) });
        }
        let tick = merge.take().expect("both have delivered");
        assert_eq!((tick.late_ns, tick.sends_ns), (7, vec![1, 2, 5, 8]));
    }
}
