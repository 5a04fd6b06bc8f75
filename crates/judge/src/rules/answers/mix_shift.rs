//! ER-14: is it the same work at all loads?

use crate::rules::facts::observed;
use crate::rules::saturation::peak_index;
use crate::sweep::place;
use crate::{Check, Outcome, Rule};
use model::human::{percent, time};
use model::{Evidence, FindingState, SweepEvidence};
use std::collections::BTreeSet;

/// Share of the responses whose status may differ.
const STATUS_SHIFT: f64 = 0.01;
/// Bytes of a response may differ by so much from those at the first load.
const BYTES_SHIFT: f64 = 0.05;
/// CPU time of a request, as a multiple of that at the first load.
const CPU_RATIO: std::ops::RangeInclusive<f64> = 0.67..=1.5;
/// In a lighter request the wake-ups of an idle server weigh more than its work.
const CPU_MIN_NS: f64 = 1_000_000.0;
const RESPONSES_MIN: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "ER-14",
    title: "work differs by load",
    detects: "responses that are others under load: other statuses, sizes or costs than at the first load",
    threshold: "up to the peak: status shares differ by > 1 %, bytes of a response by > 5 %, or CPU time of a \
                request outside 0.67 to 1.5 times that at the first load: warning; looked at from 1 ms on, as an \
                idle server's wake-ups weigh more in lighter ones (own thresholds)",
    data: "a sweep of two loads or more with 100 responses at each",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let (Some(peak), true) = (peak_index(&sweep.points), sweep.points.len() >= 2) else {
        return Outcome::Unchecked("one load is no curve");
    };
    let enough = |evidence: &Evidence| evidence.cohort.completed >= RESPONSES_MIN;
    let points = &sweep.points[..=peak];
    if !points.iter().all(|point| enough(&point.evidence)) {
        return Outcome::Unchecked("fewer than 100 responses at a load");
    }
    let first = &points[0].evidence;
    let found = points.iter().enumerate().skip(1).find_map(|(at, point)| Some((at, shift(first, &point.evidence)?)));
    let Some((at, (what, size))) = found else { return Outcome::Pass };
    let message = format!(
        "at {} the work is not that of {}: {what}; they are no points of one curve",
        place(sweep, at),
        place(sweep, 0)
    );
    let remedy = "look at the answers at both loads, and declare what they must be: --expect status=... or size=...";
    let figures = [("load", sweep.points[at].load), ("shift", size)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures)
}

/// How the work at a load differs from that at the first, in words and as a figure; none when it does not.
fn shift(first: &Evidence, other: &Evidence) -> Option<(String, f64)> {
    let statuses = status_shift(first, other);
    if statuses > STATUS_SHIFT {
        return Some((format!("{} of the responses have another status", percent(statuses)), statuses));
    }
    let bytes = |evidence: &Evidence| evidence.flow.bytes_received as f64 / evidence.flow.completed.max(1) as f64;
    let ratio = bytes(other) / bytes(first).max(1.0);
    if (ratio - 1.0).abs() > BYTES_SHIFT {
        return Some((format!("a response has {:.0} bytes, not {:.0}", bytes(other), bytes(first)), ratio - 1.0));
    }
    let cpu = |evidence: &Evidence| observed(evidence)?.server.as_ref()?.cpu_ns_per_request;
    let (before, after) = (cpu(first).filter(|ns| *ns >= CPU_MIN_NS)?, cpu(other)?);
    let ratio = after / before;
    (!CPU_RATIO.contains(&ratio))
        .then(|| (format!("a request takes {} of CPU time, not {}", time(after), time(before)), ratio - 1.0))
}

/// Share of the responses whose status would have to change for the shares to be the same.
fn status_shift(a: &Evidence, b: &Evidence) -> f64 {
    let share = |evidence: &Evidence, status: u16| {
        evidence.cohort.status.get(&status).copied().unwrap_or(0) as f64 / evidence.cohort.completed.max(1) as f64
    };
    let statuses: BTreeSet<u16> = a.cohort.status.keys().chain(b.cohort.status.keys()).copied().collect();
    statuses.iter().map(|status| (share(a, *status) - share(b, *status)).abs()).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Spoil, clean_sweep, finding, server};

    fn sweep() -> SweepEvidence {
        clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 199.0)])
    }

    #[test]
    fn other_statuses_sizes_and_costs_warn() {
        let mut statuses = sweep();
        statuses.points[1].evidence.answer(304, 20_000);
        let found = finding(check(&statuses));
        let expected = "at 2 connections the work is not that of 1 connection: 2.0 % of the responses have another status; \
                        they are no points of one curve";
        assert_eq!((found.state, found.message.as_str()), (FindingState::Warning, expected));
        let mut sizes = sweep();
        sizes.points[2].evidence.flow.bytes_received /= 2;
        assert!(finding(check(&sizes)).message.contains("a response has 600 bytes, not 1200"));
        let mut costs = sweep();
        for (point, ns) in costs.points.iter_mut().zip([20e6, 21e6, 5e6, 1e6]) {
            server(&mut point.evidence).cpu_ns_per_request = Some(ns);
        }
        assert!(finding(check(&costs)).message.contains("takes 5.00 ms of CPU time, not 20.0 ms"));
    }

    #[test]
    fn past_the_peak_and_in_light_requests_it_may_differ() {
        let mut sweep = sweep();
        sweep.points[3].evidence.answer(503, 200_000);
        server(&mut sweep.points[0].evidence).cpu_ns_per_request = Some(70_000.0);
        assert_eq!(check(&sweep), Outcome::Pass);
        sweep.points[1].evidence.cohort.completed = 99;
        assert!(matches!(check(&sweep), Outcome::Unchecked(_)));
    }
}
