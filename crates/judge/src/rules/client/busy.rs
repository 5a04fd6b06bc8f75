//! CL-01: saturated load generator.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate};
use model::{Evidence, FindingState, NS_PER_S};

/// Busy share of one tick above which a load thread counts as saturated; Locust warns at the same figure.
const BUSY_TICK_MAX: f64 = 0.90;
/// Busy share over the whole window above which it does; queueing in the client grows steeply from there.
const BUSY_MEAN_MAX: f64 = 0.80;

pub(crate) const RULE: Rule = Rule {
    id: "CL-01",
    title: "client saturated",
    detects: "A load thread was so busy that the client may be the bottleneck.",
    fires: &[
        Fires::invalid(
            "A load thread of an open loop was busy for more than 90 % of one second, or for more than 80 % of the \
             window.",
        ),
        Fires::bound(
            "A load thread of a closed loop was busy for more than 90 % of one second, or for more than 80 % of the \
             window.",
        ),
    ],
    remarks: "Locust warns at the same share of one second. In a sweep the state is BOUND at most.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::LoadThreads, Need::Plan, Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let threads = &evidence.threads;
    let busy_max = threads.iter().map(|thread| thread.busy_max).fold(0.0, f64::max);
    let busy_mean = threads.iter().filter(|t| t.wall_ns > 0).map(|t| t.cpu_ns as f64 / t.wall_ns as f64);
    let busy_mean = busy_mean.fold(0.0, f64::max);
    if busy_max <= BUSY_TICK_MAX && busy_mean <= BUSY_MEAN_MAX {
        return Outcome::Pass;
    }
    let goodput_per_s = evidence.flow.good as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    let busy = format!("a load thread was {} busy", percent(busy_max.max(busy_mean)));
    let (state, message) = if evidence.plan.load.is_closed() {
        let goodput = rate(goodput_per_s);
        (FindingState::Bound, format!("{busy} and may be the bottleneck: the server can do {goodput} or more"))
    } else {
        (FindingState::Invalid, format!("{busy} and delayed requests: the latencies say little about the server"))
    };
    let figures = [("busy_max", busy_max), ("busy_mean", busy_mean), ("goodput_per_s", goodput_per_s)];
    Outcome::fired(RULE.id, state, message, remedy(evidence), figures)
}

fn remedy(evidence: &Evidence) -> String {
    let threads = evidence.plan.threads;
    let mut ways = Vec::new();
    if threads < evidence.plan.load.connections() {
        ways.push(format!("more load threads (-t {}) if CPUs are idle", threads.saturating_mul(2)));
    }
    if !evidence.plan.load.is_closed() {
        ways.push("a lower rate".to_owned());
    }
    ways.push("a separate client machine".to_owned());
    format!("use {}", ways.join(", or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged, state};

    #[test]
    fn a_busy_second_or_a_busy_window_bounds_a_closed_loop() {
        let mut evidence = clean_run();
        evidence.threads[1].busy_max = 0.95;
        let busy = finding(judged(&RULE, &evidence));
        assert_eq!(busy.state, FindingState::Bound);
        assert!(busy.message.contains("95 %") && busy.message.contains("33,333/s or more"), "{}", busy.message);
        assert!(busy.remedy.contains("-t 4"), "{}", busy.remedy);

        let mut evidence = clean_run();
        evidence.threads[0].cpu_ns = 25 * NS_PER_S;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Bound));
    }

    #[test]
    fn an_open_loop_is_invalid() {
        let mut evidence = clean_open_run();
        evidence.threads[1].busy_max = 0.95;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
    }

    #[test]
    fn an_idle_client_passes_and_an_unknown_one_is_unchecked() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = clean_run();
        evidence.threads.clear();
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
