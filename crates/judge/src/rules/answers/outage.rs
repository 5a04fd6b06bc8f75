//! ER-15: whole seconds without a good response.
//!
//! A closed loop sends almost nothing while its server is away: a few failures, each after a pause, that vanish among
//! the earlier good responses. Goodput by the second shows it.

use crate::facts::slowest_of_mix_ns;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, plural};
use model::{Evidence, FindingState, Load, NS_PER_S, Second};

/// A typical response has to be much faster than a second before an empty second means anything.
const TYPICAL_MAX_NS: u64 = NS_PER_S / 5;
/// At a lower rate all requests of a second may be sent at its end, and answered in the next.
const RATE_MIN_PER_S: f64 = 10.0;
/// Shorter ticks are pieces of a second at the end of a window.
const TICK_MIN_NS: u64 = NS_PER_S / 2;
/// Above this share of the window the goodput is that of another, shorter run.
const INVALID_SHARE: f64 = 0.05;

pub(crate) const RULE: Rule = Rule {
    id: "ER-15",
    title: "server stopped responding",
    detects: "There were whole seconds without a good response.",
    fires: &[
        Fires::invalid("Undisturbed seconds without a good response were more than 5 % of the window."),
        Fires::warning("At least one whole second had no good response."),
    ],
    remarks: "A second is disturbed if client or server lost CPU time in more than half of it. In an open loop a \
              second in which nothing was sent and nothing failed does not count.",
    applies: Applies::Always,
    needs: &[Need::ServiceTimes, Need::Requests, Need::Plan],
    conditions: "a median service time, and a mean response time of each request of a mix, of at most 200 ms; an \
                 offered rate, if any, of at least 10/s",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let typical_ns = evidence.latency.service.p50_ns;
    if evidence.latency.service.n == 0 || typical_ns.max(slowest_of_mix_ns(evidence)) > TYPICAL_MAX_NS {
        return Outcome::Unchecked("no service time, or one above 200 ms");
    }
    if matches!(evidence.plan.load, Load::Open { rate_per_s, .. } if rate_per_s < RATE_MIN_PER_S) {
        return Outcome::Unchecked("rate below 10/s");
    }
    let whole: Vec<_> = evidence.seconds.iter().filter(|second| second.length_ns >= TICK_MIN_NS).collect();
    if whole.is_empty() {
        return Outcome::Unchecked("no whole second in the window");
    }
    // Nothing was asked of the server in a second without anything sent, failed or completed, except by a load
    // that waits for it.
    let asked = |sent: u64, failed: u64| evidence.plan.load.is_closed() || sent > 0 || failed > 0;
    let is_silent = |second: &&&Second| second.good == 0 && asked(second.sent, second.failed);
    let silent: Vec<_> = whole.iter().filter(is_silent).collect();
    if silent.is_empty() || evidence.cohort.counts.good == 0 {
        return Outcome::Pass;
    }
    let disturbed = silent.iter().filter(|second| is_disturbed(evidence, second)).count();
    let share = silent.len() as f64 / whole.len() as f64;
    let share_alone = (silent.len() - disturbed) as f64 / whole.len() as f64;
    let state = if share_alone > INVALID_SHARE { FindingState::Invalid } else { FindingState::Warning };
    let taken = match disturbed {
        0 => String::new(),
        n => format!("; in {n} of them client or server lost CPU time, which may be the cause"),
    };
    let message = format!(
        "no good response in {} ({} of the window): goodput averages over times without a server{taken}",
        plural(silent.len() as u64, "whole second"),
        percent(share)
    );
    let remedy = "check the server's log for those seconds (run.json, seconds)".to_owned();
    Outcome::fired(RULE.id, state, message, remedy, [("silent_seconds", silent.len() as f64), ("share", share)])
}

/// True if most of a second was disturbed, so that the cause need not be the server.
fn is_disturbed(evidence: &Evidence, second: &Second) -> bool {
    evidence.disturbance.is_some() && second.clean_ns < second.length_ns / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};
    use model::Disturbance;

    #[test]
    fn silent_on_a_server_that_keeps_answering() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
    }

    #[test]
    fn one_silent_second_in_thirty_is_a_warning() {
        let mut evidence = clean_run();
        evidence.seconds[7].good = 0;
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Warning);
    }

    #[test]
    fn a_server_that_dies_half_way_is_invalid_however_few_requests_failed() {
        let mut evidence = clean_run();
        for second in &mut evidence.seconds[15..] {
            (second.good, second.completed, second.failed) = (0, 0, 30);
        }
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("15 whole seconds (50 % of the window)"), "{}", found.message);
    }

    #[test]
    fn seconds_in_which_the_client_stood_still_are_a_warning() {
        let mut evidence = clean_run();
        evidence.disturbance = Some(Disturbance::default());
        for second in &mut evidence.seconds[10..13] {
            (second.good, second.clean_ns) = (0, 0);
        }
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.ends_with("in 3 of them client or server lost CPU time, which may be the cause"));
        for second in &mut evidence.seconds[10..13] {
            second.clean_ns = NS_PER_S;
        }
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Invalid);
    }

    #[test]
    fn slow_responses_leave_seconds_empty_by_right() {
        let mut evidence = clean_run();
        evidence.latency.service.p50_ns = 2 * NS_PER_S;
        evidence.seconds[7].good = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    /// Four connections that spend 99 % of their time in the one slow request of a mix, and `-R 1` at pages of 150 ms.
    #[test]
    fn a_slow_request_of_a_mix_and_a_low_rate_leave_seconds_empty_by_right() {
        let mut mixed = clean_run();
        mixed.seconds[7].good = 0;
        let of = |completed, ms: u64| model::MixCount {
            completed,
            good: completed,
            response_ns: completed * ms * 1_000_000,
        };
        mixed.cohort.mix = vec![of(950, 2), of(50, 3_000)];
        assert!(matches!(judged(&RULE, &mixed), Outcome::Unchecked(_)));
        mixed.cohort.mix = vec![of(950, 2), of(50, 30)];
        assert_eq!(finding(judged(&RULE, &mixed)).state, FindingState::Warning);
        let mut rare = crate::testing::clean_open_run();
        rare.seconds[7].good = 0;
        assert_eq!(finding(judged(&RULE, &rare)).state, FindingState::Warning);
        let Load::Open { rate_per_s, .. } = &mut rare.plan.load else { panic!("a closed loop") };
        *rate_per_s = 1.0;
        assert!(matches!(judged(&RULE, &rare), Outcome::Unchecked(_)));
    }
}
