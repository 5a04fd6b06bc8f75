//! CL-05: offered rate not achieved.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate};
use model::{Evidence, FindingState, Load, NS_PER_S};

/// Nighthawk's send-rate threshold.
pub(super) const SENT_SHARE_MIN: f64 = 0.99;

pub(crate) const RULE: Rule = Rule {
    id: "CL-05",
    title: "offered rate not achieved",
    detects: "An open loop sent fewer requests than scheduled.",
    fires: &[
        Fires::invalid(
            "Less than 99 % of the scheduled requests were sent, and the client's send delay (p99) was longer than \
             the wait for a free connection.",
        ),
        Fires::bound(
            "Less than 99 % of the scheduled requests were sent, and the wait for a free connection (p99) was at \
             least as long as the client's send delay.",
        ),
    ],
    remarks: "Nighthawk uses the same threshold.",
    applies: Applies::OpenLoop,
    needs: &[Need::Window, Need::PlannedRequests, Need::SendDelays],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Load::Open { rate_per_s, connections, .. } = evidence.plan.load else {
        return Outcome::Pass; // a closed loop offers whatever it sends
    };
    let cohort = &evidence.cohort;
    let share = cohort.counts.sent as f64 / cohort.counts.planned as f64;
    if share >= SENT_SHARE_MIN {
        return Outcome::Pass;
    }
    let sent_per_s = cohort.counts.sent as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    let facts = format!("only {} of {} was sent", percent(share), rate(rate_per_s));
    // The larger of the two delays kept them back.
    let (blocked, own) = (evidence.latency.slip_blocked.p99_ns, evidence.latency.slip_client.p99_ns);
    let (state, message, remedy) = if blocked >= own {
        let all = if connections == 1 { "the one connection".into() } else { format!("all {connections} connections") };
        (
            FindingState::Bound,
            format!("{facts}, with {all} busy: the server sustains less"),
            format!("lower the rate, or raise -c {connections} if the server is slow but not saturated"),
        )
    } else {
        (
            FindingState::Invalid,
            format!("{facts}: the client could not keep up and measured its own limit, {}", rate(sent_per_s)),
            "use more load threads (-t), a lower rate or a faster client machine".to_owned(),
        )
    };
    let figures = [
        ("planned", cohort.counts.planned as f64),
        ("sent", cohort.counts.sent as f64),
        ("slip_client_p99_ns", own as f64),
        ("slip_blocked_p99_ns", blocked as f64),
    ];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged};

    #[test]
    fn a_late_client_invalidates_and_busy_connections_bound() {
        let mut evidence = clean_open_run();
        evidence.cohort.counts.sent = 980_000;
        evidence.latency.slip_client.p99_ns = 50_000_000;
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Invalid);

        evidence.latency.slip_blocked.p99_ns = 90_000_000;
        let blocked = finding(judged(&RULE, &evidence));
        assert_eq!(blocked.state, FindingState::Bound);
        assert!(blocked.message.contains("all 64 connections"), "{}", blocked.message);
    }

    #[test]
    fn silent_when_sent_or_closed_and_unchecked_without_requests() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = clean_open_run();
        evidence.cohort.counts.sent = 990_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.cohort.counts.planned = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
