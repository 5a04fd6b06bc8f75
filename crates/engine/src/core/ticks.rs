//! Cuts the record of a worker into ticks of a second that never span two phases.

use crate::recorder::{SLICES_MAX, WorkerTick};
use crate::window::{UNDECIDED_NS, Window};
use model::{NS_PER_S, Phase, SLICE_NS, SliceFlow, slice_of};
use std::collections::VecDeque;

/// The tick being written, those waiting to be taken, and those that came back.
pub(super) struct Ticks {
    current: Box<WorkerTick>,
    ready: VecDeque<Box<WorkerTick>>,
    #[expect(clippy::vec_box, reason = "ticks go round through channels; moving the box is cheaper than the tick")]
    spare: Vec<Box<WorkerTick>>,
    worker: usize,
    /// Requests of the source.
    items: usize,
    has_slip: bool,
    boundary_ns: u64,
    start_ns: u64,
    end_ns: u64,
    outstanding: u64,
    outstanding_since_ns: u64,
    good_before: u64,
    /// When the next request is due, as of the last time the schedule was looked at; ns.
    due_ns: u64,
    /// The end of the slice that is last in the current tick; 0 without one. ns
    slice_end_ns: u64,
}

/// Ticks a worker keeps at hand. When the coordinator is slower than that, one more is allocated.
const SPARE_TICKS: usize = 1;

impl Ticks {
    pub(super) fn new(worker: usize, items: usize, has_slip: bool, window: &Window) -> Self {
        let mut ticks = Self {
            current: Box::new(WorkerTick::new(worker, items, has_slip)),
            ready: VecDeque::with_capacity(4),
            spare: (0..SPARE_TICKS).map(|_| Box::new(WorkerTick::new(worker, items, has_slip))).collect(),
            worker,
            items,
            has_slip,
            boundary_ns: 0,
            start_ns: window.start_ns(),
            end_ns: window.end_ns(),
            outstanding: 0,
            outstanding_since_ns: 0,
            good_before: 0,
            due_ns: u64::MAX,
            slice_end_ns: 0,
        };
        ticks.begin(0);
        ticks
    }

    #[inline]
    pub(super) fn current(&mut self) -> &mut WorkerTick {
        &mut self.current
    }

    /// The end of the current tick; ns.
    pub(super) const fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// Good responses since the clock started.
    pub(super) fn good_total(&self) -> u64 {
        self.good_before + self.current.flow.good
    }

    /// Cuts all ticks that have ended by `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        while now >= self.boundary_ns {
            let at = self.boundary_ns;
            let (worker, items, has_slip) = (self.worker, self.items, self.has_slip);
            let next = self.spare.pop().unwrap_or_else(|| Box::new(WorkerTick::new(worker, items, has_slip)));
            self.cut(at, next);
            self.begin(at);
        }
    }

    /// A response that was scheduled at `intended_ns` has come at `now`.
    #[inline]
    pub(super) fn in_slice(&mut self, now: u64, intended_ns: u64, is_good: bool) {
        if now >= self.slice_end_ns {
            self.begin_slice(now);
        }
        let Some(slice) = self.current.slices.last_mut() else { return };
        slice.completed += 1;
        slice.good += u64::from(is_good);
        slice.oldest_ns = slice.oldest_ns.min(intended_ns);
    }

    fn begin_slice(&mut self, now: u64) {
        let slice = slice_of(now);
        self.slice_end_ns = (slice + 1) * SLICE_NS;
        if self.current.slices.len() < SLICES_MAX {
            self.current.slices.push(SliceFlow::new(slice));
        }
    }

    /// Requests in flight change by `change` at `now`.
    #[inline]
    pub(super) fn outstanding(&mut self, now: u64, change: i64) {
        self.current.flow.outstanding_ns += self.outstanding * now.saturating_sub(self.outstanding_since_ns);
        self.outstanding_since_ns = now.max(self.outstanding_since_ns);
        self.outstanding = self.outstanding.wrapping_add_signed(change);
    }

    /// The schedule has its next request at `due_ns`.
    #[inline]
    pub(super) const fn next_due(&mut self, due_ns: u64) {
        self.due_ns = due_ns;
    }

    /// The bounds of the window have become known.
    pub(super) fn window_decided(&mut self, start_ns: u64, end_ns: u64) {
        (self.start_ns, self.end_ns) = (start_ns, end_ns);
        match self.current.phase {
            Phase::Warmup if start_ns > self.current.from_ns => self.boundary_ns = self.boundary_ns.min(start_ns),
            Phase::Measure => self.boundary_ns = (self.current.from_ns + NS_PER_S).min(end_ns),
            Phase::Warmup | Phase::Drain => {}
        }
    }

    /// The current tick is the last, whenever it is ended.
    pub(super) const fn hold(&mut self) {
        self.boundary_ns = u64::MAX;
    }

    /// Ends the last tick at `now`.
    pub(super) fn finish(&mut self, now: u64) {
        self.advance(now);
        self.current.last = true;
        self.cut(now, Box::new(WorkerTick::without_memory(self.worker)));
        self.boundary_ns = u64::MAX;
    }

    pub(super) fn take(&mut self) -> Option<Box<WorkerTick>> {
        self.ready.pop_front()
    }

    /// True if the next tick has to be allocated unless one comes back.
    pub(super) const fn lacks_spare(&self) -> bool {
        self.spare.is_empty()
    }

    pub(super) fn recycle(&mut self, mut tick: Box<WorkerTick>) {
        tick.clear();
        self.spare.push(tick);
    }

    fn begin(&mut self, from_ns: u64) {
        let (phase, limit) = if from_ns < self.start_ns {
            (Phase::Warmup, self.start_ns)
        } else if from_ns < self.end_ns {
            (Phase::Measure, self.end_ns)
        } else {
            (Phase::Drain, UNDECIDED_NS)
        };
        self.slice_end_ns = 0;
        self.current.phase = phase;
        self.current.from_ns = from_ns;
        self.boundary_ns = (from_ns + NS_PER_S).min(limit);
    }

    fn cut(&mut self, at_ns: u64, next: Box<WorkerTick>) {
        self.outstanding(at_ns, 0);
        let mut done = std::mem::replace(&mut self.current, next);
        done.to_ns = at_ns;
        done.late_ns = at_ns.saturating_sub(self.due_ns);
        self.good_before += done.flow.good;
        self.ready.push_back(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ticks_go_round_and_the_last_leaves_nothing_behind() {
        let mut ticks = Ticks::new(0, 1, false, &Window::new(0, UNDECIDED_NS));
        let memory = |tick: &WorkerTick| std::ptr::from_ref(&*tick.tally.status).addr();
        let both = [memory(&ticks.current), memory(&ticks.spare[0])];
        for second in 1..=4 {
            ticks.advance(second * NS_PER_S);
            assert!(ticks.lacks_spare());
            let tick = ticks.take().unwrap();
            assert!(both.contains(&memory(&tick)));
            ticks.recycle(tick);
            assert!(!ticks.lacks_spare());
        }
        ticks.finish(4 * NS_PER_S + 1);
        assert!(ticks.take().unwrap().last);
        assert_eq!((ticks.spare.len(), ticks.take().is_none()), (1, true));
    }
}
