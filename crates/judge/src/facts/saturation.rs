//! Saturation: whether more load gains no more goodput, and where the peak is.

use model::{NS_PER_S, SweepEvidence, SweepPoint};

/// Gain per doubling of the connections below which more of them buy nothing.
const FLAT_GAIN: f64 = 0.03;
/// Doublings over which the gain is computed: noise hides a plateau from one of them more often than from both.
const DOUBLINGS: [i32; 2] = [1, 2];
/// Less than this share of the highest goodput at the last load is a fall.
pub(crate) const FALLEN_SHARE: f64 = 0.9;
/// Share of an offered rate that must come back good for the rate to count as held; Nighthawk's send-rate threshold.
const HELD_SHARE: f64 = 0.99;

/// True if more load gained no goodput at the end of the sweep: less than 3 % per doubling over the last one or two
/// doublings of connections, or a fall below 90 % of the highest, or a last rate that was not sustained. False with
/// fewer than two points, and when nothing was good.
#[must_use]
pub fn saturated(sweep: &SweepEvidence) -> bool {
    is_flat(&sweep.points, sweep.over_rate)
}

/// The same of the first points of a sweep.
pub(crate) fn is_flat(points: &[SweepPoint], over_rate: bool) -> bool {
    let [_, .., last] = points else { return false };
    let highest_per_s = points.iter().map(|point| point.goodput_per_s).fold(0.0, f64::max);
    if highest_per_s <= 0.0 {
        return false;
    }
    if over_rate {
        return !held(last);
    }
    last.goodput_per_s < FALLEN_SHARE * highest_per_s
        || DOUBLINGS.iter().any(|doublings| gain_per_doubling(points, *doublings) < FLAT_GAIN)
}

/// Position of the peak, as [`stats::peak_index`] defines it.
pub(crate) fn peak_index(points: &[SweepPoint]) -> Option<usize> {
    stats::peak_index(&points.iter().map(|point| point.goodput_per_s).collect::<Vec<_>>())
}

/// Relative gain per doubling of the last load over the best at loads smaller by so many doublings, or, where the
/// sweep does not go down that far, over the first load.
pub(crate) fn gain_per_doubling(points: &[SweepPoint], doublings: i32) -> f64 {
    let (first, last) = (&points[0], &points[points.len() - 1]);
    let smaller = (last.load / 2f64.powi(doublings)).max(first.load);
    let before =
        points.iter().filter(|point| point.load <= smaller).map(|point| point.goodput_per_s).fold(0.0, f64::max);
    if before <= 0.0 || smaller >= last.load {
        return f64::INFINITY;
    }
    (last.goodput_per_s / before).powf(1.0 / (last.load / smaller).log2()) - 1.0
}

/// True if the planned rate came back as goodput.
pub(crate) fn held(point: &SweepPoint) -> bool {
    let evidence = &point.evidence;
    let planned_per_s = evidence.cohort.counts.planned as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    evidence.sustained_per_s(point.goodput_per_s) >= HELD_SHARE * planned_per_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clean_sweep;

    #[test]
    fn a_rate_is_held_when_all_that_was_planned_came_back_and_few_requests_were_due_in_undisturbed_time() {
        let mut point = clean_sweep(&[(100.0, 94.0)]).points.remove(0);
        point.evidence.cohort.counts.planned = 100 * point.evidence.measured_ns / NS_PER_S;
        assert!(!held(&point));
        let whole = model::WholeWindow { goodput_per_s: 100.0, ..Default::default() };
        point.evidence.disturbance = Some(model::Disturbance { whole, ..Default::default() });
        assert!(held(&point));
    }

    #[test]
    fn a_noisy_plateau_and_a_fall_are_saturated() {
        assert!(saturated(&clean_sweep(&[(1.0, 100.0), (2.0, 171.0), (4.0, 168.0), (8.0, 175.0)])));
        assert!(saturated(&clean_sweep(&[(4.0, 200.0), (5.0, 170.0)])));
        assert!(!saturated(&clean_sweep(&[(1.0, 0.0), (2.0, 0.0)])));
    }
}
