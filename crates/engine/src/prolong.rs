//! Prolonging: a measured window of which too much was disturbed ends later, within what it may.

use crate::marks::SliceMarks;
use crate::window::{UNDECIDED_NS, Window};
use model::{Plan, SLICE_NS, slice_of};
use std::sync::Arc;

/// Share of a planned window that should be undisturbed.
const CLEAN_SHARE: f64 = 2.0 / 3.0;
/// The end is moved at least this long before it comes, so that every load thread knows in time; ns.
const LEAD_NS: u64 = 80_000_000;

/// Watches over the end of a window.
pub(crate) struct Prolonging {
    marks: Arc<SliceMarks>,
    /// Undisturbed slices that are wanted.
    wanted: u64,
    /// How much is left of what it may be prolonged by; ns.
    left_ns: u64,
    /// Slices of the window before this one were counted, as their marks will be forgotten.
    counted_until: u64,
    /// Of these, the undisturbed.
    counted_clean: u64,
}

impl Prolonging {
    /// Of the load of `plan`; `prolong_max_ns` is how much it may be prolonged by, `marks` say which slices are disturbed.
    pub(crate) fn new(plan: &Plan, marks: &Arc<SliceMarks>, prolong_max_ns: u64) -> Self {
        let planned_ns = plan.stop.duration_ns().unwrap_or(0);
        let wanted = (planned_ns as f64 * CLEAN_SHARE / SLICE_NS as f64) as u64;
        Self { marks: Arc::clone(marks), wanted, left_ns: prolong_max_ns, counted_until: 0, counted_clean: 0 }
    }

    /// Moves the end of the window, when it is about to come and too little undisturbed time lies behind; tells by how much.
    /// To be called all along, as marks are not remembered for ever.
    pub(crate) fn look(&mut self, now: u64, window: &Window) -> Option<u64> {
        let (start_ns, end_ns) = (window.start_ns(), window.end_ns());
        if start_ns != UNDECIDED_NS {
            self.count_until(self.marks.fading(), start_ns);
        }
        let is_due = end_ns != UNDECIDED_NS && now < end_ns && end_ns - now < 2 * LEAD_NS;
        if !is_due || end_ns - now < LEAD_NS || self.left_ns < SLICE_NS || !self.marks.is_kept() {
            return None;
        }
        let rest = self.marks.clean(self.counted_until.max(slice_of(start_ns)), slice_of(end_ns));
        let clean = self.counted_clean + rest;
        let missing_ns = self.wanted.saturating_sub(clean) * SLICE_NS;
        // In small steps, as the time that is added may be disturbed as well.
        let by_ns = missing_ns.min(self.left_ns / SLICE_NS * SLICE_NS).min(5 * SLICE_NS);
        if by_ns == 0 {
            return None;
        }
        self.left_ns -= by_ns;
        window.prolong(end_ns + by_ns);
        Some(by_ns)
    }

    /// Counts the slices before `until` of a window that begins at `start_ns`.
    fn count_until(&mut self, until: u64, start_ns: u64) {
        let from = self.counted_until.max(slice_of(start_ns));
        if until > from {
            self.counted_clean += self.marks.clean(from, until);
            self.counted_until = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 10 * SLICE_NS;

    fn prolonging(disturbed: std::ops::Range<u64>, prolong_max_ns: u64) -> Prolonging {
        let marks = Arc::new(SliceMarks::default());
        marks.keep();
        disturbed.for_each(|slice| marks.mark(slice));
        Prolonging { marks, wanted: 20, left_ns: prolong_max_ns, counted_until: 0, counted_clean: 0 }
    }

    /// By how much a window of half an hour is prolonged when the slices of `disturbed` were.
    fn prolonged_after_half_an_hour(disturbed: impl Fn(u64) -> bool) -> Option<u64> {
        const SLICES: u64 = 18_000;
        let mut prolonging = prolonging(0..0, 900 * S);
        prolonging.wanted = SLICES * 2 / 3;
        let window = Window::new(S, S + SLICES * SLICE_NS);
        for slice in 0..S / SLICE_NS + SLICES - 1 {
            if disturbed(slice) {
                prolonging.marks.mark(slice);
            }
            prolonging.marks.publish(slice + 1);
            assert_eq!(prolonging.look(slice * SLICE_NS, &window), None, "there is time yet");
        }
        prolonging.look(window.end_ns() - 100_000_000, &window)
    }

    /// Marks of 400 s stood for each of the others.
    #[test]
    fn a_window_longer_than_the_marks_are_remembered_is_prolonged_by_what_was_disturbed_in_all_of_it() {
        // Almost all quiet, and 40 % of the last seven minutes disturbed.
        assert_eq!(prolonged_after_half_an_hour(|slice| slice > 13_800 && slice % 5 < 2), None);
        // All disturbed but these.
        assert_eq!(prolonged_after_half_an_hour(|slice| slice <= 13_800), Some(5 * SLICE_NS));
        // Three more are wanted.
        assert_eq!(prolonged_after_half_an_hour(|slice| (10..6_013).contains(&slice)), Some(3 * SLICE_NS));
    }

    #[test]
    fn a_window_that_was_disturbed_ends_later_as_far_as_it_may() {
        let window = Window::new(0, 3 * S);
        let mut all = prolonging(5..18, S);
        assert_eq!(all.look(2 * S, &window), None, "there is time yet");
        assert_eq!(all.look(3 * S - 100_000_000, &window), Some(3 * SLICE_NS));
        assert_eq!(window.end_ns(), 3 * S + 3 * SLICE_NS);
        let mut little = prolonging(0..28, 250_000_000);
        let window = Window::new(0, 3 * S);
        assert_eq!(little.look(3 * S - 100_000_000, &window), Some(2 * SLICE_NS));
        assert_eq!(little.look(3 * S + 100_000_000, &window), None, "nothing is left");
    }

    #[test]
    fn too_late_is_too_late_and_a_quiet_window_ends_as_planned() {
        let window = Window::new(0, 3 * S);
        assert_eq!(prolonging(5..18, S).look(3 * S - 10_000_000, &window), None);
        assert_eq!(prolonging(5..9, S).look(3 * S - 100_000_000, &window), None);
        let undecided = Window::new(UNDECIDED_NS, UNDECIDED_NS);
        assert_eq!(prolonging(5..18, S).look(3 * S, &undecided), None);
    }
}
