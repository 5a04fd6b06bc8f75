//! ER-09: connections not kept open as declared.

use crate::facts::closes::closes_are_ours;
use crate::facts::descriptors::descriptors;
use crate::facts::kernel::share;
use crate::facts::rests_idle;
use crate::facts::surplus::Surplus;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState, Flow};

/// Slightly above 1 %: by default Apache closes a connection after 100 requests.
const WARNING_SHARE: f64 = 0.012;
/// Above it most requests paid for a connection of their own.
const INVALID_SHARE: f64 = 0.5;
const CONNECTIONS_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "ER-09",
    title: "connections not kept open",
    detects: "Connections had to be reopened although they should stay open.",
    fires: &[
        Fires::invalid(
            "At least 10 connections, and more than one for every second response, were reopened in the window, and the \
             server had not announced to the probe that it closes connections.",
        ),
        Fires::warning(
            "At least 10 connections, and more than 1.2 % as many as responses, were reopened in the window; or more, \
             as the server had announced.",
        ),
    ],
    remarks: "The share of 1.2 % allows for Apache, which by default closes a connection after 100 requests. \
              Connections that failed requests gave up, and those that an open loop adds as it needs them, do not \
              count. An open loop that uses each connection only every 2 s or less often is not judged, unless the \
              server announced to the probe that it closes connections.",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan, Need::WhereKnown(&[Need::Probe])],
    conditions: "a complete response",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if closes_are_ours(evidence) {
        return Outcome::Pass; // declared as new connections, and the engine opens one for each
    }
    // All of the window: a warm-up that is longer reopens more than the window has responses.
    let Flow { opened, grown, completed, good, failed, .. } = evidence.flow;
    if completed == 0 {
        return Outcome::Unchecked("no complete response");
    }
    // A request without a complete response gives its connection up; that counts in the failures.
    let given_up = failed.saturating_sub(completed.saturating_sub(good));
    // An open loop opens more as it needs them.
    let opened = opened.saturating_sub(grown).saturating_sub(given_up);
    // Connections that are closed before they serve a request may be more than the responses.
    let share = share(opened, completed);
    let said = evidence.probe.as_ref().is_some_and(|probe| probe.fetches.iter().any(|fetch| !fetch.keepalive));
    let state = match share {
        _ if opened < CONNECTIONS_MIN => return Outcome::Pass,
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        // What a server says of itself is how it serves its users, too.
        _ if said => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    if rests_idle(evidence) && !said {
        return Outcome::Pass;
    }
    let why = if said { ", as announced to the probe" } else { "" };
    let of = if opened > completed { "more than one each".to_owned() } else { percent(share) };
    let message = format!(
        "the server closed connections{why}: {} reopened for {} responses ({of}); their cost is in the results",
        count(opened),
        count(completed),
    );
    let short = descriptors(evidence).filter(|nearest| nearest.are_short()).map(|nearest| {
        let (program, open, limit) = (nearest.program, count(nearest.open), count(nearest.limit));
        format!("raise the open-file limit of {program} first: {open} of {limit} were in use (SV-05)")
    });
    let remedy = match (Surplus::of(evidence), state) {
        (Some(surplus), _) => surplus.remedy(),
        (None, FindingState::Warning) if share > INVALID_SHARE => {
            "if it is to keep connections open, enable keep-alive; if not, say so: --no-keepalive"
        }
        (None, FindingState::Invalid) => "enable keep-alive on the server, or declare new connections: --no-keepalive",
        (None, _) => "allow more requests per connection (keepalive_requests, MaxKeepAliveRequests)",
    };
    let figures = [("reconnects", opened as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, short.unwrap_or_else(|| remedy.to_owned()), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, finding, judged, state};

    fn reopened(opened: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.flow.opened = opened;
        evidence
    }

    #[test]
    fn fires_by_the_share_of_requests_with_a_connection_of_their_own() {
        for (opened, expected) in
            [(10_100, None), (50_000, Some(FindingState::Warning)), (1_000_000, Some(FindingState::Invalid))]
        {
            assert_eq!(state(&judged(&RULE, &reopened(opened))), expected, "{opened}");
        }
    }

    /// squid with 57 of 64 descriptors: "enable keep-alive on the server", which was enabled.
    #[test]
    fn a_server_without_descriptors_to_spare_is_told_to_have_more() {
        let mut evidence = reopened(1_000_000);
        let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
        (server.processes[0].fds_max, server.processes[0].fds_limit) = (Some(57), Some(64));
        let remedy = finding(judged(&RULE, &evidence)).remedy;
        assert_eq!(remedy, "raise the open-file limit of nginx first: 57 of 64 were in use (SV-05)");
    }

    /// `-R 10` on 64 load threads uses each connection every 6.4 s, and Apache keeps an idle one for 5 s.
    #[test]
    fn connections_that_rest_idle_are_closed_by_right() {
        let mut evidence = crate::testing::clean_open_run();
        let model::Load::Open { rate_per_s, .. } = &mut evidence.plan.load else { panic!("a closed loop") };
        *rate_per_s = 10.0;
        (evidence.connections.established, evidence.flow.opened) = (64, 290);
        (evidence.flow.completed, evidence.flow.good) = (300, 300);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.connections.established = 8;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid), "each is used every 0.8 s");
    }

    /// A pause of 600 ms in an open loop: "the server closed connections: 54 reopened", and it had closed none.
    #[test]
    fn connections_that_an_open_loop_needed_were_not_closed_by_the_server() {
        let mut evidence = reopened(50_000);
        evidence.flow.grown = 50_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// "5,839 reopened for 4,619 responses (126 %)": those of the warm-up were on one side only.
    #[test]
    fn connections_of_the_warm_up_are_not_held_against_the_responses_of_the_window() {
        let mut evidence = reopened(1_000_000);
        evidence.connections.reconnects = 1_260_000;
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.contains("1,000,000 reopened for 1,000,000 responses (100 %)"), "{found:?}");
        assert_eq!(found.evidence["share"], 1.0);
        evidence.flow.opened = 0;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn connections_that_serve_nothing_are_no_share_of_the_responses() {
        let found = finding(judged(&RULE, &reopened(2_000_000)));
        assert!(found.message.contains("2,000,000 reopened for 1,000,000 responses (more than one each)"), "{found:?}");
        assert_eq!(found.evidence["share"], 1.0);
    }

    #[test]
    fn what_the_server_told_the_probe_is_told() {
        let mut evidence = reopened(1_000_000);
        evidence.probe.as_mut().expect("a probe").fetches[0].keepalive = false;
        let found = finding(judged(&RULE, &evidence));
        assert!(
            found.message.starts_with("the server closed connections, as announced to the probe: 1,000,000"),
            "{found:?}"
        );
        assert!(found.remedy.contains("--no-keepalive"));
    }

    #[test]
    fn declared_and_failed_ones_do_not_count() {
        let mut evidence = reopened(1_000_000);
        evidence.plan.keepalive = false;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        let mut evidence = reopened(50_000);
        evidence.fail("body.reset", 50_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        let mut answered_badly = reopened(50_000);
        answered_badly.fail("contract.status", 50_000);
        assert_eq!(state(&judged(&RULE, &answered_badly)), Some(FindingState::Warning), "those were answered");
        evidence.flow.completed = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
