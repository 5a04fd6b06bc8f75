//! SA-01 and SA-03: did the sweep go past what the server can do?

use crate::sweep::place;
use crate::text::round_up;
use crate::{Check, Outcome, Rule};
use model::human::{percent, rate};
use model::{FindingState, NS_PER_S, SweepEvidence, SweepPoint};

/// Gain per doubling of the connections below which more of them buy nothing.
const FLAT_GAIN: f64 = 0.03;
/// Doublings the gain is looked at over: noise hides a plateau from one of them more often than from both.
const DOUBLINGS: [i32; 2] = [1, 2];
/// Less than this share of the highest goodput at the last load is a fall.
pub(super) const FALLEN_SHARE: f64 = 0.9;
/// Share of an offered rate that must come back good for the rate to count as held; Nighthawk's send-rate threshold.
const HELD_SHARE: f64 = 0.99;

pub(crate) const NO_FAILING_LOAD: Rule = Rule {
    id: "SA-01",
    title: "not saturated",
    detects: "a sweep that ended while more load still bought more goodput",
    threshold: "goodput gained >= 3 % per doubling over the last one and the last two doublings of connections and has not \
                fallen (own threshold), or the last rate was held to 99 % (Nighthawk): bound",
    data: "a sweep of two loads or more",
    check: Check::Sweep(check_saturated),
};

pub(crate) const PEAK_AT_EDGE: Rule = Rule {
    id: "SA-03",
    title: "peak at the edge",
    detects: "a peak at the highest load that was tried, which may not be the top",
    threshold: "goodput at the last load more than 1 % above that of any other (own threshold): bound; a note when it gained \
                less than 3 % per doubling, as SA-01 says",
    data: "a sweep of two loads or more",
    check: Check::Sweep(check_edge),
};

const ONE_LOAD: &str = "one load is no curve";

/// Whether more load bought no more goodput at the end of the sweep: less than 3 % per doubling over the last one or
/// two doublings of connections, or a fall below 90 % of the highest, or a last rate that was not held. False with fewer
/// than two points, and when nothing was good.
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

fn check_saturated(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::Unchecked(ONE_LOAD);
    };
    if saturated(sweep) {
        return Outcome::Pass;
    }
    let peak_per_s = points[peak].goodput_per_s;
    let last = points[points.len() - 1].load;
    let (why, gain) = if sweep.over_rate {
        (format!("every rate up to {} was held", rate(last)), 0.0)
    } else {
        let gain = gain_per_doubling(points, 1);
        (format!("goodput still rose by {} per doubling at {}", percent(gain), place(sweep, points.len() - 1)), gain)
    };
    let message = format!("{why}: the server can do {} or more", rate(peak_per_s));
    let figures = [("last_load", last), ("gain_per_doubling", gain), ("peak_per_s", peak_per_s)];
    Outcome::fired(NO_FAILING_LOAD.id, FindingState::Bound, message, extend(sweep), figures)
}

fn check_edge(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::Unchecked(ONE_LOAD);
    };
    if peak + 1 < points.len() {
        return Outcome::Pass;
    }
    let point = &points[peak];
    let facts = format!("the peak is at the highest load measured, {}", place(sweep, peak));
    let figures = [("peak_load", point.load), ("peak_per_s", point.goodput_per_s)];
    if saturated(sweep) {
        let message = format!("{facts}, where the curve is nearly flat");
        let remedy = "read the knee, not the place of the peak".to_owned();
        return Outcome::fired(PEAK_AT_EDGE.id, FindingState::Note, message, remedy, figures);
    }
    let message = format!("{facts}: the real one may be higher");
    Outcome::fired(PEAK_AT_EDGE.id, FindingState::Bound, message, extend(sweep), figures)
}

fn extend(sweep: &SweepEvidence) -> String {
    let last = sweep.points.last().map_or(0.0, |point| point.load);
    if last < sweep.limit {
        return format!("the sweep ended before its limit of {:.0}: let it finish", sweep.limit);
    }
    format!("go further: --to {}", round_up(sweep.limit.max(last) * 4.0))
}

/// Relative gain per doubling of the last load over the best at loads smaller by so many doublings, or, where the
/// sweep does not go down that far, over the first load.
fn gain_per_doubling(points: &[SweepPoint], doublings: i32) -> f64 {
    let (first, last) = (&points[0], &points[points.len() - 1]);
    let smaller = (last.load / 2f64.powi(doublings)).max(first.load);
    let before =
        points.iter().filter(|point| point.load <= smaller).map(|point| point.goodput_per_s).fold(0.0, f64::max);
    if before <= 0.0 || smaller >= last.load {
        return f64::INFINITY;
    }
    (last.goodput_per_s / before).powf(1.0 / (last.load / smaller).log2()) - 1.0
}

/// Whether the rate that was planned came back as goodput.
pub(super) fn held(point: &SweepPoint) -> bool {
    let evidence = &point.evidence;
    let planned_per_s = evidence.cohort.planned as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    point.goodput_per_s >= HELD_SHARE * planned_per_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding};

    #[test]
    fn a_flat_end_is_saturated() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 175.0), (8.0, 174.0)]);
        assert!(saturated(&sweep));
        assert_eq!((check_saturated(&sweep), check_edge(&sweep)), (Outcome::Pass, Outcome::Pass));
    }

    #[test]
    fn a_noisy_plateau_and_a_fall_are_saturated_too() {
        assert!(saturated(&clean_sweep(&[(1.0, 100.0), (2.0, 171.0), (4.0, 168.0), (8.0, 175.0)])));
        assert!(saturated(&clean_sweep(&[(4.0, 200.0), (5.0, 170.0)])));
        assert!(!saturated(&clean_sweep(&[(1.0, 0.0), (2.0, 0.0)])));
    }

    #[test]
    fn a_rising_end_bounds() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 190.0), (4.0, 350.0)]);
        let rising = finding(check_saturated(&sweep));
        assert_eq!(rising.state, FindingState::Bound);
        assert!(rising.message.contains("84 %") && rising.message.contains("350/s or more"), "{}", rising.message);
        let edge = finding(check_edge(&sweep));
        assert_eq!((edge.state, edge.remedy.as_str()), (FindingState::Bound, "go further: --to 16"));
    }

    #[test]
    fn a_peak_at_a_flat_edge_is_a_note() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 172.0), (4.0, 175.0)]);
        assert_eq!(check_saturated(&sweep), Outcome::Pass);
        let edge = finding(check_edge(&sweep));
        assert_eq!(edge.state, FindingState::Note);
        assert_eq!(
            edge.message,
            "the peak is at the highest load measured, 4 connections, where the curve is nearly flat"
        );
    }

    #[test]
    fn a_plateau_that_ends_highest_by_chance_has_its_peak_where_it_begins() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 174.0), (4.0, 173.0), (8.0, 175.0)]);
        assert_eq!(peak_index(&sweep.points), Some(1));
        assert_eq!(check_edge(&sweep), Outcome::Pass);
    }

    #[test]
    fn a_sweep_that_ended_early_is_told_to_finish() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 190.0)]);
        sweep.limit = 64.0;
        assert!(finding(check_edge(&sweep)).remedy.contains("limit of 64"));
    }

    #[test]
    fn a_rate_that_is_not_held_saturates() {
        let mut sweep = clean_sweep(&[(1_000.0, 1_000.0), (2_000.0, 2_000.0)]);
        sweep.over_rate = true;
        for point in &mut sweep.points {
            point.evidence.cohort.planned = point.load as u64 * 30;
        }
        assert_eq!(finding(check_saturated(&sweep)).state, FindingState::Bound);
        sweep.points[1].goodput_per_s = 1_900.0;
        assert_eq!(check_saturated(&sweep), Outcome::Pass);
    }

    #[test]
    fn one_point_is_unchecked() {
        let sweep = clean_sweep(&[(1.0, 100.0)]);
        assert!(matches!(check_saturated(&sweep), Outcome::Unchecked(_)));
        assert!(matches!(check_edge(&sweep), Outcome::Unchecked(_)));
        assert!(!saturated(&sweep));
    }
}
