//! CL-17: were there TLS handshakes in the measured time that nobody declared?

use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const SHARE: f64 = 0.01;
/// Fewer are an accident.
const HANDSHAKES_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "CL-17",
    title: "undeclared handshakes",
    detects: "TLS handshakes among requests that were to go over connections kept open",
    threshold: "more than 1 % of the requests and ten or more: warning (own threshold); with --no-keepalive they are \
                declared, and a server that resumes no session is a note",
    data: "TLS; handshakes, resumed ones and requests",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(plan) = &evidence.plan.tls else { return Outcome::Pass };
    let Some(session) = &evidence.tls else {
        return Outcome::Unchecked("no TLS handshake was finished");
    };
    let handshakes = evidence.latency.handshake.n;
    let later = handshakes.saturating_sub(evidence.connections.established.into());
    if later < HANDSHAKES_MIN {
        return Outcome::Pass;
    }
    if !evidence.plan.keepalive {
        if !plan.resumption || session.resumed > 0 {
            return Outcome::Pass;
        }
        let message = format!("all {} TLS handshakes were full ones: the server resumes no session", count(handshakes));
        let remedy =
            "switch session tickets on in the server, if its users' browsers are to come back faster".to_owned();
        return Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("handshakes", handshakes as f64)]);
    }
    let share = later as f64 / evidence.cohort.planned.max(1) as f64;
    if share <= SHARE {
        return Outcome::Pass;
    }
    let message = format!(
        "{} TLS handshakes ({} of the requests) on connections that were to stay open: their cost is in the figures",
        count(later),
        percent(share)
    );
    let remedy = "let the server keep connections open for longer, or declare new ones: --no-keepalive".to_owned();
    let figures = [("handshakes", later as f64), ("share", share)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, state, tls};
    use model::TlsSession;

    fn encrypted(handshakes: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.plan.tls = Some(tls());
        evidence.tls = Some(TlsSession::default());
        evidence.latency.handshake.n = handshakes;
        evidence
    }

    #[test]
    fn handshakes_beyond_the_first_of_each_connection_warn() {
        assert_eq!(check(&encrypted(64)), Outcome::Pass);
        assert_eq!(check(&encrypted(64 + 10_000)), Outcome::Pass);
        assert_eq!(state(&check(&encrypted(64 + 10_100))), Some(FindingState::Warning));
    }

    #[test]
    fn declared_ones_pass_and_a_server_without_resumption_is_noted() {
        let mut evidence = encrypted(1_000_000);
        evidence.plan.keepalive = false;
        assert_eq!(state(&check(&evidence)), Some(FindingState::Note));
        evidence.tls = Some(TlsSession { resumed: 900_000, ..TlsSession::default() });
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.tls = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
        assert_eq!(check(&clean_run()), Outcome::Pass);
    }
}
