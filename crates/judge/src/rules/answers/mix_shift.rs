//! ER-14: responses that differ between loads.

use crate::facts::observed;
use crate::facts::saturation::peak_index;
use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, time};
use model::{Evidence, FindingState, SweepEvidence};
use std::collections::BTreeSet;

/// Share of the responses whose status may differ.
const STATUS_SHIFT: f64 = 0.01;
/// Bytes of a response may differ by so much from those at the first load.
const BYTES_SHIFT: f64 = 0.05;
/// CPU time of a request, as a multiple of that at the first load. Two busy threads of a core, and a clock without turbo, make
/// it twice and more.
const CPU_RATIO: std::ops::RangeInclusive<f64> = 0.67..=3.0;
/// In a lighter request the wake-ups of an idle server weigh more than its work.
const CPU_MIN_NS: f64 = 1_000_000.0;
const RESPONSES_MIN: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "ER-14",
    title: "responses differ between loads",
    detects: "The status, size or cost of responses differs from that at the first load.",
    fires: &[Fires::warning(
        "At a load up to the peak more than 1 % of the responses had another status than at the first load, a \
             response was more than 5 % larger or smaller, or a request took less than 0.67 or more than 3 times as \
             much CPU time.",
    )],
    remarks: "CPU time counts where a request takes at least 1 ms of it at the first load.",
    applies: Applies::Always,
    needs: &[Need::Loads, Need::Requests],
    conditions: "at least 100 responses at each load up to the peak",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let (Some(peak), true) = (peak_index(&sweep.points), sweep.points.len() >= 2) else {
        return Outcome::UNMET;
    };
    let enough = |evidence: &Evidence| evidence.cohort.counts.completed >= RESPONSES_MIN;
    let points = &sweep.points[..=peak];
    if !points.iter().all(|point| enough(&point.evidence)) {
        return Outcome::Unchecked("fewer than 100 responses at a load");
    }
    let first = &points[0].evidence;
    let found = points.iter().enumerate().skip(1).find_map(|(at, point)| Some((at, shift(first, &point.evidence)?)));
    let Some((at, (what, size))) = found else { return Outcome::Pass };
    let message =
        format!("different work at {} and {}: {what}; the loads are not comparable", place(sweep, at), place(sweep, 0));
    let remedy = "inspect responses at both loads; declare them: --expect status=... or size=...";
    let figures = [("load", sweep.points[at].load), ("shift", size)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures)
}

/// Difference of a load from the first one, in words and as a figure; none when there is none.
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
    let cpu = |evidence: &Evidence| observed(evidence)?.server_cpu_ns_per_request();
    let (before, after) = (cpu(first).filter(|ns| *ns >= CPU_MIN_NS)?, cpu(other)?);
    let ratio = after / before;
    (!CPU_RATIO.contains(&ratio))
        .then(|| (format!("a request takes {} of CPU time, not {}", time(after), time(before)), ratio - 1.0))
}

/// Share of the responses whose status would have to change for the shares to be the same.
fn status_shift(a: &Evidence, b: &Evidence) -> f64 {
    let share = |evidence: &Evidence, status: u16| {
        evidence.cohort.status.get(&status).copied().unwrap_or(0) as f64
            / evidence.cohort.counts.completed.max(1) as f64
    };
    let statuses: BTreeSet<u16> = a.cohort.status.keys().chain(b.cohort.status.keys()).copied().collect();
    statuses.iter().map(|status| (share(a, *status) - share(b, *status)).abs()).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_sweep, finding, judged_sweep, server};

    fn sweep() -> SweepEvidence {
        clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 199.0)])
    }

    #[test]
    fn other_statuses_sizes_and_costs_warn() {
        let mut statuses = sweep();
        statuses.points[1].evidence.answer(304, 20_000);
        let found = finding(judged_sweep(&RULE, &statuses));
        let expected = "different work at 2 connections and 1 connection: 2.0 % of the responses have another status; \
                        the loads are not comparable";
        assert_eq!((found.state, found.message.as_str()), (FindingState::Warning, expected));
        let mut sizes = sweep();
        sizes.points[2].evidence.flow.bytes_received /= 2;
        assert!(finding(judged_sweep(&RULE, &sizes)).message.contains("a response has 600 bytes, not 1200"));
        let mut costs = sweep();
        for (point, ns) in costs.points.iter_mut().zip([20e6, 21e6, 5e6, 1e6]) {
            server(&mut point.evidence).cpu_ns_per_request = Some(ns);
        }
        assert!(finding(judged_sweep(&RULE, &costs)).message.contains("takes 5.00 ms of CPU time, not 20.0 ms"));
        // Pages of a PHP behind nginx that get cheaper under load.
        let mut behind = sweep();
        for (point, ns) in behind.points.iter_mut().zip([20e6, 20e6, 2e6, 2e6]) {
            server(&mut point.evidence).cpu_ns_per_request = Some(60_000.0);
            let php = model::ServerObserved { cpu_ns_per_request: Some(ns), ..Default::default() };
            point.evidence.observed.as_mut().expect("seen").companions = [("php-fpm".to_owned(), php)].into();
        }
        assert!(finding(judged_sweep(&RULE, &behind)).message.contains("takes 2.06 ms of CPU time, not 20.1 ms"));
        // Two threads of each core are busy, at the clock of all cores.
        let mut shared = sweep();
        for (point, ns) in shared.points.iter_mut().zip([20e6, 30e6, 38e6, 38e6]) {
            server(&mut point.evidence).cpu_ns_per_request = Some(ns);
        }
        assert_eq!(judged_sweep(&RULE, &shared), Outcome::Pass);
    }

    #[test]
    fn past_the_peak_and_in_light_requests_it_may_differ() {
        let mut sweep = sweep();
        sweep.points[3].evidence.answer(503, 200_000);
        server(&mut sweep.points[0].evidence).cpu_ns_per_request = Some(70_000.0);
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
        sweep.points[1].evidence.cohort.counts.completed = 99;
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }
}
