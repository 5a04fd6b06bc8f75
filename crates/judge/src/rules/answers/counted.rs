//! ER-07: request counts of client and server that differ.

use crate::facts::counted::{counted, is_unmoved};
use crate::facts::slots;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState, NS_PER_S};

const WARNING_SHARE: f64 = 0.001;
const INVALID_SHARE: f64 = 0.01;
/// Uncertainty of the time at which the page was read; s.
const INSTANT_S: f64 = 0.1;
const REQUESTS_MIN: f64 = 1000.0;

pub(crate) const RULE: Rule = Rule {
    id: "ER-07",
    title: "client and server counts differ",
    detects: "The server did not send some of the responses, or had requests from other clients.",
    fires: &[
        Fires::invalid("The counts of client and server differ by more than 1 %."),
        Fires::warning("The counts of client and server differ by more than 0.1 %."),
    ],
    remarks: "In issue #140 of wrk they were 25 % apart. Failed requests, requests in flight, those of 100 ms and \
              the uncertainty of the time at which the status page was read do not count. ER-12 reports a server \
              that counted less than 10 % of the requests.",
    applies: Applies::Always,
    needs: &[Need::RequestCount, Need::Requests],
    conditions: "at least 1,000 requests",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some((server, counted)) = counted(evidence) else {
        return Outcome::UNMET;
    };
    if counted.client.max(counted.server) < REQUESTS_MIN {
        return Outcome::Unchecked("fewer than 1,000 requests");
    }
    let rate_per_s = counted.client / (counted.span_ns as f64 / NS_PER_S as f64);
    let unclear = slots(evidence) * f64::from(evidence.iterations)
        + INSTANT_S * rate_per_s * f64::from(evidence.iterations)
        + counted.unclear
        + evidence.flow.failed as f64;
    let apart = (counted.server - counted.client).abs();
    let larger = counted.server.max(counted.client);
    let share = (apart - unclear).max(0.0) / larger;
    let state = match share {
        s if s <= WARNING_SHARE => return Outcome::Pass,
        // A server that nothing reached is ER-12.
        _ if is_unmoved(counted) => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let facts = format!(
        "{server} counted {} requests, the client {} ({} apart, {} not explained by timing)",
        count(counted.server.max(0.0) as u64),
        count(counted.client as u64),
        percent(apart / larger),
        percent(share)
    );
    let (meaning, remedy) = if counted.server > counted.client {
        ("other clients use the server too", "keep other clients away and measure again")
    } else {
        ("something in front of it answers some of them", "look for a cache or proxy between client and server")
    };
    let figures = [("server", counted.server), ("client", counted.client), ("share", share)];
    Outcome::fired(RULE.id, state, format!("{facts}: {meaning}"), remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, state};

    fn run(server: f64) -> Evidence {
        let mut evidence = clean_run();
        evidence.status[0].requests.as_mut().expect("it is counted").server = server;
        evidence
    }

    #[test]
    fn fires_by_how_far_the_counts_are_apart() {
        // 1e6 requests, of which 64 + 3,333 may be unclear.
        for (server, expected) in [
            (1_000_000.0, None),
            (1_004_000.0, None),
            (1_006_000.0, Some(FindingState::Warning)),
            (980_000.0, Some(FindingState::Invalid)),
        ] {
            assert_eq!(state(&judged(&RULE, &run(server))), expected, "{server}");
        }
        let others = finding(judged(&RULE, &run(1_200_000.0)));
        assert!(others.message.starts_with("nginx counted 1,200,000 requests, the client 1,000,000"), "{others:?}");
        assert!(others.message.ends_with("other clients use the server too"));
        assert!(finding(judged(&RULE, &run(700_000.0))).remedy.contains("cache or proxy"));
    }

    #[test]
    fn others_that_come_late_do_not_hide_behind_the_seconds_that_they_slow_down() {
        let mut evidence = run(1_030_000.0);
        evidence.seconds[20].completed /= 3;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid), "one second of 30");
        evidence.status[0].requests.as_mut().expect("it is counted").unclear = 30_000.0;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn failed_requests_may_have_been_counted_and_no_counter_is_unchecked() {
        let mut evidence = run(1_020_000.0);
        evidence.flow.failed = 20_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.status[0].requests = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
