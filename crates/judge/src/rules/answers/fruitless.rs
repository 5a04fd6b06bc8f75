//! ER-17: connections on which no response came.

use crate::facts::kernel::share;
use crate::facts::rests_idle;
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent, plural};
use model::{Evidence, FindingState, Fruitless};

const WARNING_SHARE: f64 = 0.001;
const COUNT_MIN: u64 = 2;

pub(crate) const RULE: Rule = Rule {
    id: "ER-17",
    title: "connections refused or reset",
    detects: "Connections were refused, or the server reset or closed them before any response came on them.",
    fires: &[Fires::warning(
        "More than 0.1 % of the connections that were opened or tried, and at least 2, had no response.",
    )],
    remarks: "Those that the server closed do not count in an open loop that uses each connection only every 2 s or \
              less often. Requests that were lost with a connection count in ER-01.",
    applies: Applies::Always,
    needs: &[Need::ConnectionAttempts],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(attempts) = evidence.connections.attempts else {
        return Outcome::Unchecked("this version had not counted them");
    };
    let mut lost = evidence.connections.fruitless;
    if rests_idle(evidence) {
        // One that waits for its first request is closed by right.
        lost.closed = 0;
    }
    let share = share(lost.all(), attempts);
    if lost.all() < COUNT_MIN || share <= WARNING_SHARE {
        return Outcome::Pass;
    }
    let message = format!(
        "{} of {} connections had no response ({}): {}{}",
        count(lost.all()),
        count(attempts),
        percent(share),
        ends(&lost),
        of_probe(evidence)
    );
    let remedy = "find out why the server drops connections (limit of connections, backlog, crash): read its error log";
    let figures = [("lost", lost.all() as f64), ("connections", attempts as f64), ("share", share)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures)
}

/// How they ended.
fn ends(lost: &Fruitless) -> String {
    let Fruitless { refused, unopened, reset, closed } = *lost;
    let ends = [
        (refused, "refused"),
        (unopened, "never opened"),
        (reset, "reset by the server"),
        (closed, "closed by the server"),
    ];
    let told: Vec<String> = ends
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, how)| format!("{} {} {how}", count(n), if n == 1 { "was" } else { "were" }))
        .collect();
    list(&told)
}

/// What the probe has met of it.
fn of_probe(evidence: &Evidence) -> String {
    match evidence.probe.as_ref().map_or(0, |probe| probe.again) {
        0 => String::new(),
        again => format!("; the probe had to send {} again", plural(again, "request")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged, state};

    fn lost(attempts: u64, fruitless: Fruitless) -> Evidence {
        let mut evidence = clean_run();
        (evidence.connections.attempts, evidence.connections.fruitless) = (Some(attempts), fruitless);
        evidence
    }

    /// A server that resets every second connection: "all validity checks passed", and no failure.
    #[test]
    fn connections_that_were_reset_while_they_were_opened_are_told() {
        let mut evidence = lost(30, Fruitless { reset: 14, ..Fruitless::default() });
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert_eq!(found.message, "14 of 30 connections had no response (47 %): 14 were reset by the server");
        evidence.connections.fruitless.refused = 1;
        evidence.probe.as_mut().expect("a probe").again = 2;
        let message = finding(judged(&RULE, &evidence)).message;
        assert!(
            message
                .ends_with(": 1 was refused and 14 were reset by the server; the probe had to send 2 requests again")
        );
    }

    #[test]
    fn a_few_of_many_and_those_that_rest_idle_are_nothing() {
        let of = |attempts, n| state(&judged(&RULE, &lost(attempts, Fruitless { closed: n, ..Fruitless::default() })));
        assert_eq!([of(64, 0), of(64, 1), of(10_000, 10)], [None; 3]);
        assert_eq!([of(64, 2), of(10_000, 11)], [Some(FindingState::Warning); 2]);
        let mut idle = clean_open_run();
        let model::Load::Open { rate_per_s, .. } = &mut idle.plan.load else { panic!("a closed loop") };
        *rate_per_s = 10.0;
        idle.connections.established = 64;
        (idle.connections.attempts, idle.connections.fruitless.closed) = (Some(100), 36);
        assert_eq!(judged(&RULE, &idle), Outcome::Pass, "the server closes what it waits too long for");
        idle.connections.fruitless.reset = 5;
        assert_eq!(state(&judged(&RULE, &idle)), Some(FindingState::Warning));
        idle.connections.attempts = None;
        assert!(matches!(judged(&RULE, &idle), Outcome::Unchecked(_)));
    }
}
