//! Requests that were in flight in disturbed time: told apart once it is known which time was.
//!
//! All requests are recorded when they end. Each also waits here until the account has come past its end; if a slice of its
//! life turns out to be disturbed, its values are recorded once more, as set aside.

use crate::marks::SliceMarks;
use crate::recorder::WorkerTick;
use model::{SLICE_NS, WorkerHistograms};
use std::collections::VecDeque;
use std::sync::Arc;

/// Values that may wait. At 30,000 a second and less all of them wait until the account is sure; with more the oldest are
/// decided by what is known of them.
const WAITING_MAX: usize = 16 * 1024;
/// How long after its end the account of a slice is sure: it is published right after it, unless whoever keeps it was
/// held up as well.
const SURE_NS: u64 = 3 * SLICE_NS;

/// What waits to be told apart.
pub(super) struct Aside {
    marks: Arc<SliceMarks>,
    waiting: VecDeque<Waiting>,
    next_look_ns: u64,
}

/// A value of a request, and the time it was of.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    from_ns: u64,
    to_ns: u64,
    value: Value,
}

/// What to record once more.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// It ended; its response time is the whole time.
    Ended { service_ns: u64, first_byte_ns: u64 },
    /// It was sent so late; the rest of the delay is our own.
    Sent { blocked_ns: u64 },
    /// It was never sent.
    GivenUp,
}

impl Aside {
    pub(super) fn new(marks: Arc<SliceMarks>) -> Self {
        Self { marks, waiting: VecDeque::new(), next_look_ns: 0 }
    }

    /// A value of a request of the window was recorded at `to_ns`; the request was scheduled at `from_ns`.
    #[inline]
    pub(super) fn put(&mut self, from_ns: u64, to_ns: u64, value: Value, tick: &mut WorkerTick) {
        if !self.marks.is_kept() {
            return;
        }
        if self.waiting.len() == WAITING_MAX {
            self.decide_first(tick);
        }
        self.waiting.push_back(Waiting { from_ns, to_ns, value });
    }

    /// Decides what can be decided at `now`; cheap when it was called shortly before.
    #[inline]
    pub(super) fn look(&mut self, now: u64, tick: &mut WorkerTick) {
        if now >= self.next_look_ns {
            self.next_look_ns = now + SLICE_NS;
            self.decide_until(now.saturating_sub(SURE_NS), tick);
        }
    }

    /// True if everything up to `end_ns` is decided, or will not be any more at `now`.
    pub(super) fn is_sure(&self, end_ns: u64, now: u64) -> bool {
        !self.marks.is_kept() || self.marks.until() * SLICE_NS >= end_ns || now >= end_ns.saturating_add(SURE_NS)
    }

    /// Decides the rest by what is known.
    pub(super) fn finish(&mut self, tick: &mut WorkerTick) {
        self.decide_until(u64::MAX, tick);
    }

    fn decide_until(&mut self, until_ns: u64, tick: &mut WorkerTick) {
        while self.waiting.front().is_some_and(|first| first.to_ns <= until_ns) {
            self.decide_first(tick);
        }
    }

    fn decide_first(&mut self, tick: &mut WorkerTick) {
        let Some(Waiting { from_ns, to_ns, value }) = self.waiting.pop_front() else { return };
        if !self.marks.any(from_ns, to_ns) {
            return;
        }
        let WorkerHistograms { response, service, first_byte, slip_client, slip_blocked, .. } = &mut tick.set_aside;
        let whole_ns = to_ns - from_ns;
        match value {
            Value::Ended { service_ns, first_byte_ns } => {
                response.record(whole_ns);
                service.record(service_ns);
                first_byte.record(first_byte_ns);
            }
            Value::Sent { blocked_ns } => {
                slip_client.record(whole_ns - blocked_ns);
                slip_blocked.record(blocked_ns);
            }
            Value::GivenUp => {
                response.record(whole_ns);
                slip_blocked.record(whole_ns);
            }
        }
    }
}
