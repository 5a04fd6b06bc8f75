//! ER-04: throughput that grows only by fast failures.

use crate::facts::per_s;
use crate::facts::saturation::peak_index;
use crate::sweep::place;
use crate::{Check, Outcome, Rule};
use model::human::{percent, rate, time};
use model::{Evidence, FindingState, SweepEvidence};

/// Share of failures from which on a load is checked.
const FAILED_SHARE: f64 = 0.01;
/// A rate that grew by less is the same rate.
const GAIN: f64 = 0.03;
/// A failure that takes less than this share of a good answer's time is a fast one.
const FAST: f64 = 0.5;
/// Fewer broken responses have no mean.
const BROKEN_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "ER-04",
    title: "fast failures",
    detects: "throughput that rises and latency that falls only because failures are fast",
    threshold: "from one load to the next responses up by > 3 %, good ones not, > 1 % failed, and wrong responses take \
                < half the time of good ones: invalid up to the peak, warning past it (plimsoll defaults)",
    data: "sweep of >= 2 loads; response times of wrong responses",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let (Some(peak), true) = (peak_index(&sweep.points), sweep.points.len() >= 2) else {
        return Outcome::Unchecked("only one load measured");
    };
    let rates = |i: usize| {
        let evidence = &sweep.points[i].evidence;
        (per_s(evidence, evidence.flow.completed), sweep.points[i].goodput_per_s)
    };
    let is_overload = |at: &usize| {
        let ((all_before, good_before), (all, good)) = (rates(at - 1), rates(*at));
        let grew = |before: f64, after: f64| after > (1.0 + GAIN) * before;
        let evidence = &sweep.points[*at].evidence;
        failed_share(evidence) > FAILED_SHARE
            && grew(all_before, all)
            && !grew(good_before, good)
            && means(evidence).is_some_and(|(broken, good)| broken < FAST * good)
    };
    let Some(at) = (1..sweep.points.len()).find(is_overload) else { return Outcome::Pass };
    let evidence = &sweep.points[at].evidence;
    let (all, good) = rates(at);
    let (broken_ns, good_ns) = means(evidence).unwrap_or_default();
    let state = if at <= peak { FindingState::Invalid } else { FindingState::Warning };
    let message = format!(
        "overloaded from {}: {} responses, but only {} good; a failure takes {}, a good response {}",
        place(sweep, at),
        rate(all),
        rate(good),
        time(broken_ns),
        time(good_ns)
    );
    let remedy = format!(
        "disregard loads above {}: {} failures flatter rate and latency there",
        place(sweep, at - 1),
        percent(failed_share(evidence))
    );
    let figures = [
        ("load", sweep.points[at].load),
        ("throughput_per_s", all),
        ("goodput_per_s", good),
        ("broken_mean_ns", broken_ns),
        ("good_mean_ns", good_ns),
    ];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

fn failed_share(evidence: &Evidence) -> f64 {
    let cohort = &evidence.cohort;
    cohort.failed() as f64 / cohort.planned.max(1) as f64
}

/// Mean response times of complete responses: of those that broke the contract, and of good ones; ns.
fn means(evidence: &Evidence) -> Option<(f64, f64)> {
    let (cohort, response) = (&evidence.cohort, &evidence.latency.response);
    let broken = cohort.completed.saturating_sub(cohort.good);
    if broken < BROKEN_MIN || cohort.good == 0 {
        return None;
    }
    // Requests without an answer are in the mean with the whole timeout.
    let unanswered_ns = cohort.censored as f64 * evidence.plan.timeout_ns as f64;
    let all_ns = response.mean_ns * response.n as f64 - unanswered_ns;
    let good_ns = (all_ns - cohort.broken_response_ns as f64) / cohort.good as f64;
    Some((cohort.broken_response_ns as f64 / broken as f64, good_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_sweep, finding};

    /// Overloaded at 8 connections: a third of the million responses are wrong ones that take `broken_ns`.
    fn overloaded(broken_ns: u64) -> SweepEvidence {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 198.0)]);
        for (point, completed) in sweep.points.iter_mut().zip([3_000, 5_100, 6_000, 9_000]) {
            point.evidence.flow.completed = completed;
        }
        let evidence = &mut sweep.points[3].evidence;
        evidence.fail("contract.status", 300_000);
        evidence.cohort.broken_response_ns = 300_000 * broken_ns;
        sweep
    }

    #[test]
    fn throughput_that_rises_by_failing_is_told_with_the_load_it_begins_at() {
        let found = finding(check(&overloaded(100_000)));
        assert_eq!(found.state, FindingState::Warning, "the peak is before it");
        let expected = "overloaded from 8 connections: 300/s responses, but only 198/s good; a failure takes 100 µs, a \
                        good response 2.70 ms";
        assert_eq!(found.message, expected);
        let mut sweep = overloaded(100_000);
        sweep.points[3].goodput_per_s = 205.0;
        assert_eq!(finding(check(&sweep)).state, FindingState::Invalid, "it is the peak");
    }

    #[test]
    fn slow_failures_and_a_curve_without_any_are_no_overload() {
        assert_eq!(check(&overloaded(2_000_000)), Outcome::Pass);
        let mut sweep = overloaded(100_000);
        sweep.points[3].goodput_per_s = 250.0;
        assert_eq!(check(&sweep), Outcome::Pass, "more good ones too");
        sweep.points.truncate(1);
        assert!(matches!(check(&sweep), Outcome::Unchecked(_)));
    }
}
