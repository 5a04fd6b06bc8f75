//! CL-17: unexpected TLS handshakes in the measured time.

use crate::facts::closes::closes_are_ours;
use crate::facts::kernel::share;
use crate::facts::rests_idle;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const SHARE: f64 = 0.01;
/// Fewer are an accident.
const HANDSHAKES_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "CL-17",
    title: "unexpected TLS handshakes",
    detects: "TLS handshakes took place although connections were to be kept open.",
    fires: &[
        Fires::warning(
            "At least 10 connections that were to stay open, and more than 1 % as many as requests, needed a new TLS \
             handshake.",
        ),
        Fires::note(
            "With --no-keepalive there were at least 10 handshakes, and the server resumed no session that it was \
             offered.",
        ),
    ],
    remarks: "Connections that an open loop adds as it needs them do not count. An open loop that uses each \
              connection only every 2 s or less often gets no warning, since servers close connections that are idle \
              for so long.",
    applies: Applies::Tls,
    needs: &[Need::Handshakes, Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(plan) = &evidence.plan.tls else { return Outcome::Pass };
    let Some(session) = &evidence.tls else {
        return Outcome::UNMET;
    };
    // A connection counts as opened when its handshake is done; an open loop opens more as it needs them.
    let closes_are_ours = closes_are_ours(evidence);
    let later = evidence.flow.opened.saturating_sub(if closes_are_ours { 0 } else { evidence.flow.grown });
    if later < HANDSHAKES_MIN {
        return Outcome::Pass;
    }
    if closes_are_ours {
        if !plan.resumption || session.resumed > 0 {
            return Outcome::Pass;
        }
        let handshakes = evidence.latency.handshake.n;
        let message = format!("all {} TLS handshakes were full: the server resumes no sessions", count(handshakes));
        let remedy = "enable session tickets on the server if it has returning users".to_owned();
        return Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("handshakes", handshakes as f64)]);
    }
    let share = share(later, evidence.flow.sent);
    if share <= SHARE || rests_idle(evidence) {
        return Outcome::Pass;
    }
    let message = format!(
        "{} TLS handshakes ({} of the requests) on connections meant to stay open: their cost is in the results",
        count(later),
        percent(share)
    );
    let remedy = "keep connections open longer on the server, or declare new ones: --no-keepalive".to_owned();
    let figures = [("handshakes", later as f64), ("share", share)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, state, tls};
    use model::TlsSession;

    fn encrypted(handshakes: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.plan.tls = Some(tls());
        evidence.tls = Some(TlsSession::default());
        (evidence.latency.handshake.n, evidence.flow.opened) = (64 + handshakes, handshakes);
        evidence
    }

    #[test]
    fn handshakes_beyond_the_first_of_each_connection_warn() {
        assert_eq!(judged(&RULE, &encrypted(0)), Outcome::Pass);
        assert_eq!(judged(&RULE, &encrypted(10_000)), Outcome::Pass);
        assert_eq!(state(&judged(&RULE, &encrypted(10_100))), Some(FindingState::Warning));
        let mut grown = encrypted(10_100);
        grown.flow.grown = 10_100;
        assert_eq!(judged(&RULE, &grown), Outcome::Pass, "an open loop that needed them");
    }

    #[test]
    fn handshakes_of_the_warm_up_are_not_held_against_the_requests_of_the_window() {
        let mut evidence = encrypted(0);
        evidence.latency.handshake.n = 3_000_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn declared_ones_pass_and_a_server_without_resumption_is_noted() {
        let mut evidence = encrypted(1_000_000);
        evidence.plan.keepalive = false;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
        evidence.tls = Some(TlsSession { resumed: 900_000, ..TlsSession::default() });
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.tls = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
    }
}
