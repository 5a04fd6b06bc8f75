//! SA-01 and SA-03: sweeps that end before saturation or with their peak.

use crate::facts::saturation::{gain_per_doubling, peak_index, saturated};
use crate::text::place;
use crate::text::round_up;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate};
use model::{FindingState, SweepEvidence};

pub(crate) const NO_FAILING_LOAD: Rule = Rule {
    id: "SA-01",
    title: "not saturated",
    detects: "A sweep ended while more load still raised goodput, or no load failed in the search for a capacity.",
    fires: &[Fires::bound(
        "Goodput did not fall and still rose by at least 3 % per doubling, over the last doubling of connections \
             and over the last two; the last rate of a sweep was sustained to 99 %; or a search for a capacity found \
             no load that failed.",
    )],
    remarks: "Nighthawk uses 99 % for a rate that is sustained. Goodput fell if at the last load it was below 90 % \
              of the highest.",
    applies: Applies::Always,
    needs: &[Need::Loads],
    conditions: "",
    check: Check::Sweep(check_saturated),
};

pub(crate) const PEAK_AT_EDGE: Rule = Rule {
    id: "SA-03",
    title: "peak at the highest load",
    detects: "The peak is at the last load, and may not be the true one.",
    fires: &[
        Fires::bound(
            "The goodput at the last load was more than 1 % above that at any other, and the load did not saturate \
             the server (SA-01).",
        ),
        Fires::note(
            "The goodput at the last load was more than 1 % above that at any other, although the load saturated the \
             server.",
        ),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Loads],
    conditions: "",
    check: Check::Sweep(check_edge),
};

/// Told where there was nothing before: JSON has no infinity.
const GAIN_MAX: f64 = 1e6;

fn check_saturated(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::UNMET;
    };
    if saturated(sweep) {
        return Outcome::Pass;
    }
    let peak_per_s = points[peak].goodput_per_s;
    if peak_per_s <= 0.0 {
        return Outcome::Unchecked("no good response at any load");
    }
    let last = points[points.len() - 1].load;
    let (why, gain) = if sweep.over_rate {
        (format!("every rate up to {} was sustained", rate(last)), 0.0)
    } else {
        let gain = gain_per_doubling(points, 1);
        let at = place(sweep, points.len() - 1);
        match gain.is_finite() {
            true => (format!("goodput still rose by {} per doubling at {at}", percent(gain)), gain),
            false => (format!("the first good responses came at {at}"), GAIN_MAX),
        }
    };
    let message = format!("{why}: the server can do {} or more", rate(peak_per_s));
    let figures = [("last_load", last), ("gain_per_doubling", gain), ("peak_per_s", peak_per_s)];
    Outcome::fired(NO_FAILING_LOAD.id, FindingState::Bound, message, extend(sweep), figures)
}

fn check_edge(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::UNMET;
    };
    if peak + 1 < points.len() {
        return Outcome::Pass;
    }
    let point = &points[peak];
    let facts = format!("the peak is at the highest load measured, {}", place(sweep, peak));
    let figures = [("peak_load", point.load), ("peak_per_s", point.goodput_per_s)];
    if saturated(sweep) {
        let message = format!("{facts}, where the curve is nearly flat");
        let remedy = "use the knee, not the position of the peak".to_owned();
        return Outcome::fired(PEAK_AT_EDGE.id, FindingState::Note, message, remedy, figures);
    }
    let message = format!("{facts}: the true peak may be higher");
    Outcome::fired(PEAK_AT_EDGE.id, FindingState::Bound, message, extend(sweep), figures)
}

fn extend(sweep: &SweepEvidence) -> String {
    let last = sweep.points.last().map_or(0.0, |point| point.load);
    if last < sweep.limit {
        return format!("let the sweep finish: it ended before its limit of {:.0}", sweep.limit);
    }
    format!("go further: --to {}", round_up(sweep.limit.max(last) * 4.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    #[test]
    fn a_flat_end_is_saturated() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 175.0), (8.0, 174.0)]);
        assert!(saturated(&sweep));
        assert_eq!(
            (judged_sweep(&NO_FAILING_LOAD, &sweep), judged_sweep(&PEAK_AT_EDGE, &sweep)),
            (Outcome::Pass, Outcome::Pass)
        );
    }

    #[test]
    fn a_rising_end_bounds() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 190.0), (4.0, 350.0)]);
        let rising = finding(judged_sweep(&NO_FAILING_LOAD, &sweep));
        assert_eq!(rising.state, FindingState::Bound);
        assert!(rising.message.contains("84 %") && rising.message.contains("350/s or more"), "{}", rising.message);
        let edge = finding(judged_sweep(&PEAK_AT_EDGE, &sweep));
        assert_eq!((edge.state, edge.remedy.as_str()), (FindingState::Bound, "go further: --to 16"));
    }

    /// "Goodput still rose by inf %": JSON has no such number, and the stored sweep could not be read any more.
    #[test]
    fn loads_without_a_good_response_have_no_infinite_gain() {
        let none = clean_sweep(&[(1.0, 0.0), (2.0, 0.0), (4.0, 0.0)]);
        assert_eq!(judged_sweep(&NO_FAILING_LOAD, &none), Outcome::Unchecked("no good response at any load"));
        let late = finding(judged_sweep(&NO_FAILING_LOAD, &clean_sweep(&[(1.0, 0.0), (2.0, 10.0)])));
        assert!(late.message.starts_with("the first good responses came at 2 connections: "), "{}", late.message);
        assert!(late.evidence.values().all(|value| value.is_finite()), "{late:?}");
    }

    #[test]
    fn a_peak_at_a_flat_edge_is_a_note() {
        let sweep = clean_sweep(&[(1.0, 100.0), (2.0, 172.0), (4.0, 175.0)]);
        assert_eq!(judged_sweep(&NO_FAILING_LOAD, &sweep), Outcome::Pass);
        let edge = finding(judged_sweep(&PEAK_AT_EDGE, &sweep));
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
        assert_eq!(judged_sweep(&PEAK_AT_EDGE, &sweep), Outcome::Pass);
    }

    #[test]
    fn a_sweep_that_ended_early_is_told_to_finish() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 190.0)]);
        sweep.limit = 64.0;
        assert!(finding(judged_sweep(&PEAK_AT_EDGE, &sweep)).remedy.contains("limit of 64"));
    }

    #[test]
    fn a_rate_that_is_not_held_saturates() {
        let mut sweep = clean_sweep(&[(1_000.0, 1_000.0), (2_000.0, 2_000.0)]);
        sweep.over_rate = true;
        for point in &mut sweep.points {
            point.evidence.cohort.counts.planned = point.load as u64 * 30;
        }
        assert_eq!(finding(judged_sweep(&NO_FAILING_LOAD, &sweep)).state, FindingState::Bound);
        sweep.points[1].goodput_per_s = 1_900.0;
        assert_eq!(judged_sweep(&NO_FAILING_LOAD, &sweep), Outcome::Pass);
    }

    #[test]
    fn one_point_is_unchecked() {
        let sweep = clean_sweep(&[(1.0, 100.0)]);
        assert!(matches!(judged_sweep(&NO_FAILING_LOAD, &sweep), Outcome::Unchecked(_)));
        assert!(matches!(judged_sweep(&PEAK_AT_EDGE, &sweep), Outcome::Unchecked(_)));
        assert!(!saturated(&sweep));
    }
}
