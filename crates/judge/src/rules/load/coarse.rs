//! LD-05: coarse latency resolution.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::time;
use model::{Evidence, FindingState};

const STEP_SHARE: f64 = 0.02;
const VALUES_MIN: u64 = 1000;
/// More different values are no steps, but a long tail.
const DISTINCT_MAX: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "LD-05",
    title: "coarse latency resolution",
    detects: "Latencies come in coarse steps, because of a clock or of a timer in the server.",
    fires: &[Fires::warning(
        "Up to the p99 there are at most 100 different response times, and the median step from one to the next \
             is more than 2 % of the median response time.",
    )],
    remarks: "Of other tools, ab prints whole milliseconds only.",
    applies: Applies::Always,
    needs: &[Need::ResponseTimes],
    conditions: "at least 1,000 response times",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let (response, distinct) = (&evidence.latency.response, evidence.latency.distinct);
    if response.n < VALUES_MIN || distinct == 0 {
        return Outcome::Unchecked("fewer than 1,000 response times");
    }
    let step_ns = evidence.latency.step_ns as f64;
    if distinct > DISTINCT_MAX || step_ns <= STEP_SHARE * response.p50_ns as f64 {
        return Outcome::Pass;
    }
    let message =
        format!("only {distinct} distinct response times up to p99, {} apart: quantiles are no finer", time(step_ns));
    let remedy = "check this machine's clock (PH-08) and timers in the server".to_owned();
    let figures = [("distinct", distinct as f64), ("step_ns", step_ns), ("p50_ns", response.p50_ns as f64)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};

    #[test]
    fn whole_milliseconds_warn_and_many_values_or_few_requests_do_not() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        (evidence.latency.distinct, evidence.latency.step_ns) = (4, 1_000_000);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("only 4 distinct response times up to p99, 1.00 ms apart"), "{found:?}");
        evidence.latency.distinct = 101;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        // Answers that all take the same time have no steps.
        (evidence.latency.distinct, evidence.latency.step_ns) = (1, 0);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        (evidence.latency.distinct, evidence.latency.step_ns) = (4, 1_000_000);
        evidence.latency.response.n = 999;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
