//! CL-15: requests that waited because all connections were busy.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState, LatencySummary, Load};

/// A quantile of a histogram.
type Quantile = fn(&LatencySummary) -> u64;

/// Shares of the requests that are checked, the largest first, with their quantile of the histogram.
const SHARES: [(f64, Quantile); 4] =
    [(0.5, |s| s.p50_ns), (0.1, |s| s.p90_ns), (0.01, |s| s.p99_ns), (0.001, |s| s.p99_9_ns)];
/// A shorter wait is one for an answer that was just being read.
const WAIT_MIN_NS: u64 = 100_000;
/// With fewer requests one of them would be the share.
const REQUESTS_MIN: u64 = 10_000;
/// As many blocked requests are enough in a shorter run.
const BLOCKED_MIN: f64 = 10.0;

pub(crate) const RULE: Rule = Rule {
    id: "CL-15",
    title: "all connections busy",
    detects: "Requests of an open loop waited for a free connection.",
    fires: &[
        Fires::bound(
            "More than 0.1 % of the requests, and at least 10, waited longer than 100 µs for a free connection.",
        ),
        Fires::warning(
            "As many requests waited at a load of a sweep, whose result is its goodput and not its latencies.",
        ),
    ],
    remarks: "",
    applies: Applies::OpenLoop,
    needs: &[Need::ConnectionWaits],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Load::Open { connections, .. } = evidence.plan.load else {
        return Outcome::Pass; // a closed loop is its connections
    };
    let blocked = &evidence.latency.slip_blocked;
    let Some(share) = share(blocked) else { return Outcome::Pass };
    let message = format!(
        "more than {} % of the requests waited for a free connection (all {} busy): service and response times are \
         lower bounds",
        share * 100.0,
        count(connections.into())
    );
    let figures = [("blocked_share_above", share), ("slip_blocked_p99_ns", blocked.p99_ns as f64)];
    Outcome::fired(RULE.id, FindingState::Bound, message, remedy(evidence), figures)
}

/// True if the rule fires on `evidence`.
pub(in crate::rules) fn fires(evidence: &Evidence) -> bool {
    matches!(check(evidence), Outcome::Fired(_))
}

/// More connections, unless the server is past its capacity anyway.
pub(super) fn remedy(evidence: &Evidence) -> String {
    let connections = u64::from(evidence.plan.load.connections());
    format!("allow more connections (-c {}); if the server is past its capacity, lower the rate", connections * 4)
}

/// The largest of [`SHARES`] that more requests than that were blocked; none up to 0.1 %.
fn share(blocked: &LatencySummary) -> Option<f64> {
    let found = SHARES.iter().find(|(_, quantile)| quantile(blocked) > WAIT_MIN_NS).map(|(share, _)| *share)?;
    (blocked.n >= REQUESTS_MIN || found * blocked.n as f64 >= BLOCKED_MIN).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged};

    #[test]
    fn the_share_is_told_by_the_quantile_that_waited() {
        let mut evidence = clean_open_run();
        evidence.latency.slip_blocked.p99_9_ns = 3_000_000;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert!(found.message.starts_with("more than 0.1 % of the requests waited"), "{}", found.message);
        assert_eq!(found.remedy.split(';').next(), Some("allow more connections (-c 256)"));
        evidence.latency.slip_blocked.p90_ns = 3_000_000;
        assert!(finding(judged(&RULE, &evidence)).message.starts_with("more than 10 %"));
    }

    #[test]
    fn silent_on_short_waits_few_requests_and_closed_loops() {
        let mut evidence = clean_open_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.latency.slip_blocked.p99_9_ns = 90_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.latency.slip_blocked.p99_9_ns = 900_000;
        evidence.latency.slip_blocked.n = 900;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.latency.slip_blocked.n = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
    }
}
