//! Which slices of the run are disturbed, as far as that is known: written by whoever watches the machine, read by the
//! load threads and by the coordinator. See [`model::SLICE_NS`].

use model::slice_of;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Slices that are remembered: several minutes, far longer than a request may take.
const REMEMBERED: u64 = 4096;
/// Slices ahead of the known ones whose places are kept free.
const AHEAD: u64 = 64;
const WORD_BITS: u64 = 64;

/// The marks of a run. Each value stands for itself, so that relaxed loads and stores do.
#[derive(Debug)]
pub struct SliceMarks {
    /// True if anybody keeps the account.
    is_kept: AtomicBool,
    /// The slices before this one are decided.
    until: AtomicU64,
    /// One more than the last slice that was marked; 0 before the first.
    marked_until: AtomicU64,
    bits: Box<[AtomicU64]>,
}

impl Default for SliceMarks {
    /// Marks that nobody sets: nothing is ever disturbed.
    fn default() -> Self {
        let bits = (0..REMEMBERED / WORD_BITS).map(|_| AtomicU64::new(0)).collect();
        Self { is_kept: AtomicBool::new(false), until: AtomicU64::new(0), marked_until: AtomicU64::new(0), bits }
    }
}

impl SliceMarks {
    /// Says that the account will be kept.
    pub fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Marks a slice as disturbed, also one that was decided otherwise before.
    pub fn mark(&self, slice: u64) {
        let (word, bit) = place(slice);
        self.bits[word].fetch_or(bit, Ordering::Relaxed);
        self.marked_until.fetch_max(slice + 1, Ordering::Relaxed);
    }

    /// Says that the slices before `until` are decided.
    pub fn publish(&self, until: u64) {
        let before = self.until.load(Ordering::Relaxed);
        // Places come round again: those that will be needed next forget what they held.
        for ahead in (before + AHEAD).max(REMEMBERED)..(until + AHEAD).max(REMEMBERED) {
            let (word, bit) = place(ahead);
            self.bits[word].fetch_and(!bit, Ordering::Relaxed);
        }
        self.until.fetch_max(until, Ordering::Release);
    }

    /// True if anybody keeps the account.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// The slices before this one are decided.
    pub(crate) fn until(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// The slices before this one will be forgotten before long.
    pub(crate) fn fading(&self) -> u64 {
        self.until().saturating_sub(REMEMBERED / 2)
    }

    /// True if any slice from that of `from_ns` to that of `to_ns` is disturbed; a slice that is forgotten counts as clean.
    pub(crate) fn any(&self, from_ns: u64, to_ns: u64) -> bool {
        let (from, to) = (slice_of(from_ns), slice_of(to_ns));
        if from >= self.marked_until.load(Ordering::Relaxed) {
            return false;
        }
        let oldest = (self.until() + AHEAD).saturating_sub(REMEMBERED);
        (from.max(oldest)..=to).any(|slice| self.is_marked(slice))
    }

    /// Undisturbed slices from `from` up to `to`, that one not counted; they have to be remembered.
    pub(crate) fn clean(&self, from: u64, to: u64) -> u64 {
        (from..to).filter(|slice| !self.is_marked(*slice)).count() as u64
    }

    /// Share of the time from `from_ns` to `to_ns` that is not known to be disturbed, 0 to 1; where that is more than is
    /// remembered, of its end.
    pub fn clean_share(&self, from_ns: u64, to_ns: u64) -> f64 {
        let to = slice_of(to_ns);
        let from = slice_of(from_ns).max(to.saturating_sub(REMEMBERED - AHEAD));
        if from >= to { 1.0 } else { self.clean(from, to) as f64 / (to - from) as f64 }
    }

    fn is_marked(&self, slice: u64) -> bool {
        let (word, bit) = place(slice);
        self.bits[word].load(Ordering::Relaxed) & bit != 0
    }
}

const fn place(slice: u64) -> (usize, u64) {
    let at = slice % REMEMBERED;
    ((at / WORD_BITS) as usize, 1 << (at % WORD_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SLICE_NS;

    #[test]
    fn a_span_is_disturbed_when_any_of_its_slices_is() {
        let marks = SliceMarks::default();
        assert!(!marks.any(0, 10 * SLICE_NS));
        marks.mark(5);
        assert!(marks.any(5 * SLICE_NS, 5 * SLICE_NS) && marks.any(0, 9 * SLICE_NS));
        assert!(!marks.any(0, 5 * SLICE_NS - 1) && !marks.any(6 * SLICE_NS, 7 * SLICE_NS));
        assert_eq!((marks.clean(0, 5), marks.clean(0, 6), marks.clean(5, 8)), (5, 5, 2));
        let share = |from, to| marks.clean_share(from * SLICE_NS, to * SLICE_NS);
        assert_eq!((share(0, 5), share(4, 8), share(5, 6), share(5, 5)), (1.0, 0.75, 0.0, 1.0));
    }

    #[test]
    fn places_come_round_again_without_their_old_marks() {
        let marks = SliceMarks::default();
        marks.mark(3);
        for until in 1..3 * REMEMBERED {
            marks.publish(until);
            let slice = until - 1;
            assert!(slice == 3 || !marks.any(slice * SLICE_NS, slice * SLICE_NS), "{slice}");
            assert!(!marks.any((slice + 1) * SLICE_NS, (slice + 50) * SLICE_NS) || slice < 3, "{slice}");
        }
    }
}
