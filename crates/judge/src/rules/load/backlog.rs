//! ST-02: growing backlog.

use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate, time};
use model::{Evidence, FindingState, Load, NS_PER_S, SweepEvidence};
use stats::trend;

/// Growth in a second, as a share of the rate.
const GROWTH_SHARE: f64 = 0.002;
/// A slope of chance has less.
const T_MIN: f64 = 3.0;
const SECONDS_MIN: usize = 8;
/// The backlog of the last third must be so many times that of the first, and so many requests more.
const GROWN: f64 = 2.0;
const GROWN_BY: f64 = 10.0;

pub(crate) const RULE: Rule = Rule {
    id: "ST-02",
    title: "backlog grows",
    detects: "An open loop was above the server's capacity, so that backlog and latency grow without end.",
    fires: &[
        Fires::invalid(
            "The requests in flight and due grew by more than 0.2 % of the rate each second (t value above 3), and \
             more than doubled, by more than 10 requests, from the first to the last third of the window.",
        ),
        Fires::note("The requests in flight and due grew as much at a load of a sweep."),
    ],
    remarks: "Growth in disturbed seconds does not count where at least 8 seconds were undisturbed.",
    applies: Applies::OpenLoop,
    needs: &[Need::Window, Need::Requests, Need::Plan],
    conditions: "at least 8 s in one window",
    check: Check::Both { run: check, sweep: check_sweep },
};

fn check(evidence: &Evidence) -> Outcome {
    match growth(evidence) {
        Err(outcome) => outcome,
        Ok((per_s, share)) => {
            let latency = &evidence.latency.response;
            let message = format!(
                "backlog grows by {} requests per second ({} of the rate): above the server's capacity; the p99 of {} \
                 only reflects the run length",
                rate(per_s).trim_end_matches("/s"),
                percent(share),
                time(latency.p99_ns as f64)
            );
            let goodput = evidence.flow.good as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
            let remedy = format!("offer less than the goodput of {} (-R)", rate(goodput));
            let figures = [("growth_per_s", per_s), ("share", share)];
            Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, figures)
        }
    }
}

fn check_sweep(sweep: &SweepEvidence) -> Outcome {
    let grown: Vec<_> = sweep.points.iter().map(|point| growth(&point.evidence)).collect();
    if let Some(at) = grown.iter().position(Result::is_ok) {
        let message =
            format!("backlog grows from {} on: latencies there only reflect the run length", place(sweep, at));
        let remedy = "read latencies at lower rates".to_owned();
        return Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("load", sweep.points[at].load)]);
    }
    let unchecked = grown.into_iter().filter_map(Result::err).find(|outcome| *outcome != Outcome::Pass);
    unchecked.unwrap_or(Outcome::Pass)
}

/// Requests by which the backlog grows each second, and the same as a share of the rate.
fn growth(evidence: &Evidence) -> Result<(f64, f64), Outcome> {
    let Load::Open { rate_per_s, .. } = evidence.plan.load else {
        return Err(Outcome::Pass); // a closed loop has no more out than its connections
    };
    let all = evidence::backlog(&evidence.seconds, rate_per_s);
    if all.len() < SECONDS_MIN || evidence.iterations > 1 {
        return Err(Outcome::Unchecked("no single window of 8 s"));
    }
    if grown(&all, rate_per_s).is_none() {
        return Err(Outcome::Pass);
    }
    // Where little was undisturbed that says too little, and what is clearly more than a server holds is named all the same.
    let undisturbed = evidence::undisturbed_backlog(&evidence.seconds, rate_per_s);
    let own = if undisturbed.len() >= SECONDS_MIN { undisturbed } else { all };
    grown(&own, rate_per_s).map(|slope| (slope, (slope / rate_per_s).min(1.0))).ok_or(Outcome::Pass)
}

/// Requests by which a backlog grows each second, if it does.
fn grown(backlog: &[f64], rate_per_s: f64) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let third = backlog.len() / 3;
    let (first, last) = (mean(&backlog[..third]), mean(&backlog[backlog.len() - third..]));
    let (slope, t) = trend(backlog)?;
    let grows = slope > GROWTH_SHARE * rate_per_s && t > T_MIN && last > GROWN * first && last > first + GROWN_BY;
    grows.then_some(slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, clean_sweep, finding, judged, judged_sweep, state};

    /// The backlog of each second in requests.
    fn with_backlog(backlog: impl Fn(usize) -> f64) -> Evidence {
        let mut evidence = clean_open_run();
        for (i, second) in evidence.seconds.iter_mut().enumerate() {
            second.outstanding = backlog(i).min(64.0);
            // 33,333/s
            second.late_ns = ((backlog(i) - 64.0).max(0.0) * 30_000.0) as u64;
        }
        evidence
    }

    #[test]
    fn a_backlog_that_grows_invalidates() {
        let found = finding(judged(&RULE, &with_backlog(|i| 50.0 + 500.0 * i as f64)));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("backlog grows by 500 requests per second (1.5 % of the rate)"), "{found:?}");
    }

    #[test]
    fn a_level_backlog_a_single_stall_and_slow_growth_are_none() {
        assert_eq!(judged(&RULE, &with_backlog(|i| 30.0 + 9.0 * (i % 3) as f64)), Outcome::Pass);
        assert_eq!(judged(&RULE, &with_backlog(|i| if i == 20 { 3e4 } else { 30.0 })), Outcome::Pass);
        assert_eq!(judged(&RULE, &with_backlog(|i| 30.0 + 50.0 * i as f64)), Outcome::Pass);
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = with_backlog(|i| 500.0 * i as f64);
        evidence.seconds.truncate(7);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    /// `of` says how much of each second is undisturbed; ns.
    fn disturbed(mut evidence: Evidence, of: impl Fn(usize) -> u64) -> Evidence {
        evidence.seconds.iter_mut().enumerate().for_each(|(i, second)| second.clean_ns = of(i));
        evidence
    }

    /// CPUs taken from second 20 on, all of it set aside, made a run whose printed p99 held none of it invalid.
    #[test]
    fn a_backlog_of_disturbed_seconds_is_none() {
        let grows = |i: usize| if i < 20 { 30.0 } else { 30.0 + 1_500.0 * (i - 19) as f64 };
        assert_eq!(state(&judged(&RULE, &with_backlog(grows))), Some(FindingState::Invalid));
        let late = disturbed(with_backlog(grows), |i| if i < 20 { NS_PER_S } else { NS_PER_S / 2 });
        assert_eq!(judged(&RULE, &late), Outcome::Pass);
        let always = disturbed(with_backlog(|i| 50.0 + 500.0 * i as f64), |_| NS_PER_S / 2);
        assert_eq!(state(&judged(&RULE, &always)), Some(FindingState::Invalid), "none is undisturbed");
    }

    #[test]
    fn a_backlog_that_grows_in_undisturbed_seconds_too_is_one() {
        let own = |i: usize| 50.0 + 500.0 * i as f64;
        let some = disturbed(with_backlog(own), |i| if i % 2 == 0 { NS_PER_S } else { NS_PER_S / 2 });
        assert_eq!(state(&judged(&RULE, &some)), Some(FindingState::Invalid), "15 seconds are undisturbed");
    }

    #[test]
    fn a_sweep_notes_where_it_begins() {
        let mut sweep = clean_sweep(&[(1000.0, 1000.0), (2000.0, 1990.0), (4000.0, 2000.0)]);
        sweep.over_rate = true;
        for point in &mut sweep.points {
            point.evidence = clean_open_run();
        }
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
        sweep.points[2].evidence = with_backlog(|i| 500.0 * i as f64);
        let found = finding(judged_sweep(&RULE, &sweep));
        assert_eq!((found.state, found.evidence["load"]), (FindingState::Note, 4000.0));
        sweep.points.truncate(2);
        sweep.points[0].evidence.iterations = 2;
        assert_eq!(state(&judged_sweep(&RULE, &sweep)), None);
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }
}
