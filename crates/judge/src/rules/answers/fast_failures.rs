//! ER-04: throughput that grows only by fast failures.

use crate::facts::saturation::peak_index;
use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
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
    detects: "Throughput rose and latency fell only because failures are fast.",
    fires: &[
        Fires::invalid("Fast failures raised the throughput of a load up to the peak."),
        Fires::warning("Fast failures raised the throughput of a load past the peak."),
    ],
    remarks: "That is so if, from one load to the next, all responses together rose by more than 3 % while the good \
              ones did not, more than 1 % of the requests failed, and at least 10 wrong responses took on average \
              less than half of the time of a good one.",
    applies: Applies::Always,
    needs: &[Need::Loads, Need::Requests],
    conditions: "",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let (Some(peak), true) = (peak_index(&sweep.points), sweep.points.len() >= 2) else {
        return Outcome::UNMET;
    };
    let rates = |i: usize| {
        let evidence = &sweep.points[i].evidence;
        (evidence::throughput_per_s(evidence), sweep.points[i].goodput_per_s)
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
    cohort.failed() as f64 / cohort.counts.planned.max(1) as f64
}

/// Mean response times of complete responses: of those that broke the contract, and of good ones; ns.
fn means(evidence: &Evidence) -> Option<(f64, f64)> {
    let cohort = &evidence.cohort;
    let broken = cohort.counts.completed.saturating_sub(cohort.counts.good);
    if broken < BROKEN_MIN || cohort.counts.good == 0 {
        return None;
    }
    // Requests without an answer are in the mean with the whole timeout.
    let unanswered_ns = cohort.counts.censored as f64 * evidence.plan.timeout_ns as f64;
    let all_ns = whole_ns(evidence) - unanswered_ns;
    let good_ns = (all_ns - cohort.counts.broken_response_ns as f64) / cohort.counts.good as f64;
    Some((cohort.counts.broken_response_ns as f64 / broken as f64, good_ns))
}

/// All response times together, of the whole window as counts are; ns.
fn whole_ns(evidence: &Evidence) -> f64 {
    let response = &evidence.latency.response;
    let whole = evidence.disturbance.as_ref().map(|seen| (seen.whole.response_ns.mean, seen.whole.response_ns.n));
    let (mean_ns, n) = whole.unwrap_or((response.mean_ns, response.n));
    mean_ns * n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_sweep, finding, judged_sweep};
    use model::{Basis, Disturbance, NS_PER_S, Quantiles, WholeWindow};

    /// Overloaded at 8 connections: a third of the million responses are wrong ones that take `broken_ns`.
    fn overloaded(broken_ns: u64) -> SweepEvidence {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 198.0)]);
        for (point, completed) in sweep.points.iter_mut().zip([3_000, 5_100, 6_000, 9_000]) {
            point.evidence.flow.completed = completed;
        }
        let evidence = &mut sweep.points[3].evidence;
        evidence.fail("contract.status", 300_000);
        evidence.cohort.counts.broken_response_ns = 300_000 * broken_ns;
        sweep
    }

    #[test]
    fn throughput_that_rises_by_failing_is_told_with_the_load_it_begins_at() {
        let found = finding(judged_sweep(&RULE, &overloaded(100_000)));
        assert_eq!(found.state, FindingState::Warning, "the peak is before it");
        let expected = "overloaded from 8 connections: 300/s responses, but only 198/s good; a failure takes 100 µs, a \
                        good response 2.70 ms";
        assert_eq!(found.message, expected);
        let mut sweep = overloaded(100_000);
        sweep.points[3].goodput_per_s = 205.0;
        assert_eq!(finding(judged_sweep(&RULE, &sweep)).state, FindingState::Invalid, "it is the peak");
    }

    /// With most of the time set aside a failure was told to take longer than a good response.
    #[test]
    fn times_of_failures_are_of_the_same_window_as_their_counts() {
        let mut sweep = overloaded(100_000);
        let told = finding(judged_sweep(&RULE, &sweep)).message;
        let evidence = &mut sweep.points[3].evidence;
        let response = &mut evidence.latency.response;
        let response_ns = Quantiles { n: response.n, mean: response.mean_ns, ..Quantiles::default() };
        let (clean_ns, set_aside_ns) = (6 * NS_PER_S, 24 * NS_PER_S);
        // A fifth of the responses, in a fifth of the time.
        response.n /= 5;
        evidence.disturbance = Some(Disturbance {
            basis: Basis::Clean,
            clean_ns,
            set_aside_ns,
            clean_completed: evidence.flow.completed / 5,
            whole: WholeWindow { response_ns, ..WholeWindow::default() },
            ..Disturbance::default()
        });
        assert_eq!(finding(judged_sweep(&RULE, &sweep)).message, told);
        // In disturbed time less comes back: more than at the load before came only because that was disturbed.
        let mut sweep = overloaded(100_000);
        for point in &mut sweep.points {
            point.evidence.flow.completed = 9_000;
        }
        let before = &mut sweep.points[2].evidence;
        before.flow.completed = 6_000;
        before.disturbance = Some(Disturbance {
            basis: Basis::Clean,
            clean_ns,
            set_aside_ns,
            clean_completed: 1_800,
            ..Disturbance::default()
        });
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass, "both have 300/s of undisturbed time");
    }

    #[test]
    fn slow_failures_and_a_curve_without_any_are_no_overload() {
        assert_eq!(judged_sweep(&RULE, &overloaded(2_000_000)), Outcome::Pass);
        let mut sweep = overloaded(100_000);
        sweep.points[3].goodput_per_s = 250.0;
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass, "more good ones too");
        sweep.points.truncate(1);
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }
}
