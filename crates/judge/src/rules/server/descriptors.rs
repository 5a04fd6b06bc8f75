//! SV-05: server near its open-file limit.

use crate::facts::descriptors::{Descriptors, descriptors};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "SV-05",
    title: "server out of file descriptors",
    detects: "A process of the server or of a companion was near its limit of open files.",
    fires: &[
        Fires::invalid("A process had as many files open as its limit allows."),
        Fires::warning(
            "A process had more than 90 % of its limit open; or it had at least 80 % open, while at least 10 \
             connections, and more than 1.2 % as many as responses, were reopened or lost with a failed request.",
        ),
    ],
    remarks: "Some servers close connections in order to keep a reserve.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Descriptors, Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(nearest) = descriptors(evidence) else {
        return Outcome::UNMET;
    };
    if !nearest.are_short() {
        return Outcome::Pass;
    }
    let Descriptors { program: name, open, limit, share, closes } = nearest;
    let state = if share < 1.0 { FindingState::Warning } else { FindingState::Invalid };
    let effect = match closes && share < 1.0 {
        true => "it seems to close connections in order to keep the others in reserve",
        false => "at the limit it refuses connections and files",
    };
    let message = format!(
        "a {name} process had {} of {} file descriptors open ({}): {effect}",
        count(open),
        count(limit),
        percent(share)
    );
    let remedy =
        format!("raise its open-file limit above {} (LimitNOFILE=, ulimit -n, worker_rlimit_nofile)", count(limit));
    let figures = [("open", open as f64), ("limit", limit as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, state};

    #[test]
    fn the_nearest_to_its_limit_decides() {
        for (open, expected) in [(900, None), (901, Some(FindingState::Warning)), (1_000, Some(FindingState::Invalid))]
        {
            let mut evidence = clean_run();
            let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
            (server.processes[0].fds_max, server.processes[0].fds_limit) = (Some(open), Some(1_000));
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{open}");
        }
        // squid had 57 of 64 open, kept the rest in reserve, and closed each connection.
        let mut evidence = clean_run();
        let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
        (server.processes[0].fds_max, server.processes[0].fds_limit) = (Some(57), Some(64));
        assert_eq!(state(&judged(&RULE, &evidence)), None);
        evidence.flow.opened = evidence.flow.completed;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.ends_with("it seems to close connections in order to keep the others in reserve"));
        let mut evidence = clean_run();
        evidence.observed.as_mut().expect("seen").server = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
