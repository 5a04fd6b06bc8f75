//! PH-04: N connections with more than N times the rate of one.

use crate::facts::slots;
use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{rate, time};
use model::{FindingState, NS_PER_S, SweepEvidence};

/// Servers may batch, or be slow to wake: a note from here on.
const SLACK: f64 = 1.05;
/// Beyond it no batching and no warm cache explains it.
const INVALID: f64 = 1.5;

pub(crate) const RULE: Rule = Rule {
    id: "PH-04",
    title: "more than N times one connection",
    detects: "N connections had more goodput than N times the fastest response on one connection allows.",
    fires: &[
        Fires::invalid(
            "A load had more than 1.5 times the goodput that its connections allow at the least response time of \
             one.",
        ),
        Fires::note(
            "A load had more than 1.05 times the goodput that its connections allow at the least response time of \
             one.",
        ),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Requests],
    conditions: "a sweep over connections that starts at one",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let first = sweep.points.first().filter(|first| !sweep.over_rate && first.load == 1.0);
    let Some(least_ns) = first.map(|first| first.evidence.latency.service.min_ns).filter(|ns| *ns > 0) else {
        return if sweep.over_rate { Outcome::Pass } else { Outcome::Unchecked("no load of one connection") };
    };
    let most_per_s = |at: usize| slots_of(sweep, at) * NS_PER_S as f64 / least_ns as f64;
    let excess = |at: usize| sweep.points[at].goodput_per_s / most_per_s(at);
    let worst = (1..sweep.points.len()).max_by(|a, b| excess(*a).total_cmp(&excess(*b)));
    let Some(at) = worst.filter(|at| excess(*at) > SLACK) else { return Outcome::Pass };
    let state = if excess(at) > INVALID { FindingState::Invalid } else { FindingState::Note };
    let message = format!(
        "{} did {}, but the fastest response on one connection took {}, which allows {}: different work",
        place(sweep, at),
        rate(sweep.points[at].goodput_per_s),
        time(least_ns as f64),
        rate(most_per_s(at))
    );
    let remedy = "inspect responses at both loads; check for a filling cache or a server slow to wake".to_owned();
    let figures = [("load", sweep.points[at].load), ("excess", excess(at)), ("least_ns", least_ns as f64)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

/// Requests that may be out at a load of connections.
fn slots_of(sweep: &SweepEvidence, at: usize) -> f64 {
    let point = &sweep.points[at];
    point.load * slots(&point.evidence) / f64::from(point.evidence.plan.load.connections()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    /// One connection has its answers in 10 ms at least.
    fn sweep(at_eight_per_s: f64) -> SweepEvidence {
        let mut sweep = clean_sweep(&[(1.0, 95.0), (2.0, 190.0), (8.0, at_eight_per_s)]);
        sweep.points[0].evidence.latency.service.min_ns = 10_000_000;
        sweep
    }

    #[test]
    fn more_than_n_times_one_is_told() {
        assert_eq!(judged_sweep(&RULE, &sweep(810.0)), Outcome::Pass);
        let found = finding(judged_sweep(&RULE, &sweep(900.0)));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.starts_with("8 connections did 900/s, but the fastest response"), "{}", found.message);
        assert!(found.message.contains("which allows 800/s"), "{}", found.message);
        assert_eq!(finding(judged_sweep(&RULE, &sweep(1_300.0))).state, FindingState::Invalid);
    }

    #[test]
    fn pipelining_counts_each_request_and_without_one_connection_it_is_unchecked() {
        let mut pipelined = sweep(1_500.0);
        pipelined.points[2].evidence.plan.pipeline = 2;
        assert_eq!(judged_sweep(&RULE, &pipelined), Outcome::Pass);
        pipelined.points.remove(0);
        assert!(matches!(judged_sweep(&RULE, &pipelined), Outcome::Unchecked(_)));
        pipelined.over_rate = true;
        assert_eq!(judged_sweep(&RULE, &pipelined), Outcome::Pass);
    }
}
