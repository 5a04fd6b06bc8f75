//! Until when: the measured window, shared by all load threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bounds of the measured window and the stop sign. ns since the clock of the run started.
///
/// The bounds may be set while the run goes on (automatic warm-up); a worker looks at them once a turn.
/// Plain relaxed loads and stores suffice: each value stands for itself.
#[derive(Debug)]
pub(crate) struct Window {
    start_ns: AtomicU64,
    end_ns: AtomicU64,
    stopped: AtomicBool,
}

/// An instant that has not been decided.
pub(crate) const UNDECIDED_NS: u64 = u64::MAX;

impl Window {
    /// A window from `start_ns` to `end_ns`; either may be [`UNDECIDED_NS`].
    pub(crate) const fn new(start_ns: u64, end_ns: u64) -> Self {
        Self { start_ns: AtomicU64::new(start_ns), end_ns: AtomicU64::new(end_ns), stopped: AtomicBool::new(false) }
    }

    /// Decides the bounds. The end is stored first, so that no one sees a started window without its end.
    pub(crate) fn decide(&self, start_ns: u64, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Release);
        self.start_ns.store(start_ns, Ordering::Release);
    }

    /// Moves the end, which has not come yet, to `end_ns`.
    pub(crate) fn prolong(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Release);
    }

    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Acquire)
    }

    /// Ends the run as soon as possible; what was measured is kept.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
