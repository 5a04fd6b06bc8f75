//! Counters and histograms of one load thread and tick, all memory taken beforehand.

use model::{
    Counts, Failure, Fairness, Flow, LatencyHistogram, MIX_TOLD_APART_MAX, MixCount, Phase, SENDS_MAX, SliceFlow,
    WorkerHistograms,
};

/// Highest status code that can be counted, plus one.
pub(crate) const STATUS_CODES: usize = 1000;

/// Slices that a tick of a second can have part in, and as many again for one that was held up.
pub(crate) const SLICES_MAX: usize = 24;

/// One tick of one load thread.
pub(crate) struct WorkerTick {
    /// Which thread.
    pub(crate) worker: usize,
    /// True if the thread ends with this tick.
    pub(crate) last: bool,
    pub(crate) phase: Phase,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) flow: Flow,
    pub(crate) tally: Tally,
    pub(crate) latency: WorkerHistograms,
    /// See [`model::Tick::set_aside`]; without memory until there is anything in it.
    pub(crate) set_aside: WorkerHistograms,
    /// See [`model::Tick::slices`].
    pub(crate) slices: Vec<SliceFlow>,
    /// See [`model::Tick::late_ns`].
    pub(crate) late_ns: u64,
    /// See [`model::Tick::sends_ns`]; takes no more than it has memory for.
    pub(crate) sends_ns: Vec<u64>,
    /// CPU time of the thread in this tick; ns.
    pub(crate) cpu_ns: u64,
}

/// Requests of the measured window, countable without allocation. See [`model::Cohort`].
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    pub(crate) status: Box<[u64; STATUS_CODES]>,
    pub(crate) failures: [u64; Failure::COUNT],
    /// See [`model::Cohort::mix`].
    pub(crate) mix: Box<[MixCount]>,
    /// See [`model::Cohort::fairness`].
    pub(crate) fairness: Option<Fairness>,
}

impl WorkerTick {
    /// An empty tick for thread `worker`, with `items` requests to choose from; `has_slip` in an open loop.
    pub(crate) fn new(worker: usize, items: usize, has_slip: bool) -> Self {
        let slip = || if has_slip { LatencyHistogram::new() } else { LatencyHistogram::default() };
        Self {
            tally: Tally::new(items),
            // What every request records into has its memory beforehand; handshakes are rare or none.
            latency: WorkerHistograms {
                response: LatencyHistogram::new(),
                service: LatencyHistogram::new(),
                first_byte: LatencyHistogram::new(),
                slip_client: slip(),
                slip_blocked: slip(),
                ..WorkerHistograms::default()
            },
            sends_ns: Vec::with_capacity(if has_slip { SENDS_MAX } else { 0 }),
            slices: Vec::with_capacity(SLICES_MAX),
            ..Self::without_memory(worker)
        }
    }

    /// What stands in the place of a tick after the last one.
    pub(crate) fn without_memory(worker: usize) -> Self {
        Self {
            worker,
            last: false,
            phase: Phase::Warmup,
            from_ns: 0,
            to_ns: 0,
            flow: Flow::default(),
            tally: Tally::new(0),
            latency: WorkerHistograms::default(),
            set_aside: WorkerHistograms::default(),
            slices: Vec::new(),
            late_ns: 0,
            sends_ns: Vec::new(),
            cpu_ns: 0,
        }
    }

    /// A request was sent in the stretch whose instants are kept.
    #[inline]
    pub(crate) fn sent_at(&mut self, now: u64) {
        if self.sends_ns.len() < self.sends_ns.capacity() {
            self.sends_ns.push(now);
        }
    }

    /// Empties the tick for its next use, which has its own phase and instants, and the same thread.
    pub(crate) fn clear(&mut self) {
        let Self {
            worker: _,
            last,
            phase: _,
            from_ns: _,
            to_ns: _,
            flow,
            tally,
            latency,
            set_aside,
            slices,
            late_ns,
            sends_ns,
            cpu_ns,
        } = self;
        (*last, *late_ns, *cpu_ns) = (false, 0, 0);
        *flow = Flow::default();
        tally.clear();
        latency.clear();
        set_aside.clear();
        slices.clear();
        sends_ns.clear();
    }
}

impl Tally {
    fn new(items: usize) -> Self {
        let told_apart = if (2..=MIX_TOLD_APART_MAX).contains(&items) { items } else { 0 };
        Self {
            counts: Counts::default(),
            status: Box::new([0; STATUS_CODES]),
            failures: [0; Failure::COUNT],
            mix: vec![MixCount::default(); told_apart].into(),
            fairness: None,
        }
    }

    fn clear(&mut self) {
        let Self { counts, status, failures, mix, fairness } = self;
        *counts = Counts::default();
        status.fill(0);
        failures.fill(0);
        mix.fill(MixCount::default());
        *fairness = None;
    }
}
