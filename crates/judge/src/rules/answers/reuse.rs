//! ER-09: were connections kept open as declared?

use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

/// A little above 1 %: Apache closes a connection after 100 requests unless it is told otherwise.
const WARNING_SHARE: f64 = 0.012;
/// Above it most requests paid for a connection of their own.
const INVALID_SHARE: f64 = 0.5;
const CONNECTIONS_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "ER-09",
    title: "connections not kept",
    detects: "connections that were to be kept open and had to be opened again",
    threshold: "connections opened during the load > 1.2 % of the responses (Apache's default of 100 requests each is allowed): \
                warning; > 50 %: invalid (own thresholds); 10 or more, beyond those lost to failures",
    data: "connections opened again, responses, failures; whether connections were to be kept",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !evidence.plan.keepalive {
        return Outcome::Pass; // declared as new connections, and the engine opens one for each
    }
    if evidence.flow.completed == 0 {
        return Outcome::Unchecked("no response was complete");
    }
    // Of a failed request the connection is given up; that is told by the failures.
    let opened = evidence.connections.reconnects.saturating_sub(evidence.flow.failed);
    let share = opened as f64 / evidence.flow.completed as f64;
    let state = match share {
        _ if opened < CONNECTIONS_MIN => return Outcome::Pass,
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let said = evidence.probe.as_ref().is_some_and(|probe| probe.fetches.iter().any(|fetch| !fetch.keepalive));
    let why = if said { ", as it told the probe" } else { "" };
    let message = format!(
        "the server closed connections{why}: {} opened again for {} responses ({}), so opening them is in the figures",
        count(opened),
        count(evidence.flow.completed),
        percent(share)
    );
    let remedy = match state {
        FindingState::Invalid => "let the server keep connections open, or declare that it does not: --no-keepalive",
        _ => "allow more requests on a connection (keepalive_requests, MaxKeepAliveRequests)",
    };
    let figures = [("reconnects", opened as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Spoil, clean_run, finding, state};

    #[test]
    fn fires_by_the_share_of_requests_with_a_connection_of_their_own() {
        for (reconnects, expected) in
            [(10_100, None), (50_000, Some(FindingState::Warning)), (1_000_000, Some(FindingState::Invalid))]
        {
            let mut evidence = clean_run();
            evidence.connections.reconnects = reconnects;
            assert_eq!(state(&check(&evidence)), expected, "{reconnects}");
        }
    }

    #[test]
    fn what_the_server_told_the_probe_is_told() {
        let mut evidence = clean_run();
        evidence.connections.reconnects = 1_000_000;
        evidence.probe.as_mut().expect("a probe").fetches[0].keepalive = false;
        let found = finding(check(&evidence));
        assert!(
            found.message.starts_with("the server closed connections, as it told the probe: 1,000,000"),
            "{found:?}"
        );
        assert!(found.remedy.contains("--no-keepalive"));
    }

    #[test]
    fn declared_and_failed_ones_do_not_count() {
        let mut evidence = clean_run();
        evidence.connections.reconnects = 1_000_000;
        evidence.plan.keepalive = false;
        assert_eq!(check(&evidence), Outcome::Pass);
        let mut evidence = clean_run();
        evidence.connections.reconnects = 50_000;
        evidence.fail("body.reset", 50_000);
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.flow.completed = 0;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
