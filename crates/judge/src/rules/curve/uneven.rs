//! SA-06: load that did worse than a higher one.

use crate::facts::saturation::{FALLEN_SHARE, held, peak_index};
use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{FindingState, SweepEvidence};

pub(crate) const RULE: Rule = Rule {
    id: "SA-06",
    title: "uneven curve",
    detects: "A load did worse than a higher one.",
    fires: &[Fires::warning(
        "A rate was sustained above one that was not; or, over connections, the goodput at a load before the \
             peak was below 90 % of that at a smaller load.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Loads],
    conditions: "",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::UNMET;
    };
    let (low, high, what) = if sweep.over_rate {
        let failed = points.iter().position(|point| !held(point));
        let passed = points.iter().rposition(held);
        match failed.zip(passed).filter(|(failed, passed)| failed < passed) {
            Some((failed, passed)) => (failed, passed, "was not sustained"),
            None => return Outcome::Pass,
        }
    } else {
        let dips = |at: &usize| {
            let before = points[..*at].iter().map(|point| point.goodput_per_s).fold(0.0, f64::max);
            points[*at].goodput_per_s < FALLEN_SHARE * before
        };
        match (1..peak).find(dips) {
            Some(at) => (at, peak, "did less than a smaller load"),
            None => return Outcome::Pass,
        }
    };
    let message = format!(
        "{} {what}, but {} did better: something disturbed part of the sweep",
        place(sweep, low),
        place(sweep, high)
    );
    let remedy = "use more iterations (--iterations 6) and trust only what they agree on".to_owned();
    let figures = [("low", points[low].load), ("high", points[high].load)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    #[test]
    fn a_rate_held_above_one_that_was_not_warns() {
        let mut sweep = clean_sweep(&[(1000.0, 1000.0), (2000.0, 1500.0), (3000.0, 2995.0), (4000.0, 3000.0)]);
        sweep.over_rate = true;
        for point in &mut sweep.points {
            point.evidence.cohort.counts.planned = (point.load * 30.0) as u64;
        }
        let found = finding(judged_sweep(&RULE, &sweep));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("2,000/s was not sustained, but 3,000/s did better"), "{}", found.message);
        sweep.points.remove(1);
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
    }

    #[test]
    fn a_dip_before_the_peak_warns_and_a_rising_curve_passes() {
        let found =
            finding(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 90.0), (8.0, 200.0)])));
        assert!(
            found.message.starts_with("4 connections did less than a smaller load, but 8 conn"),
            "{}",
            found.message
        );
        assert_eq!(
            judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 160.0), (8.0, 90.0)])),
            Outcome::Pass
        );
        assert!(matches!(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0)])), Outcome::Unchecked(_)));
    }
}
