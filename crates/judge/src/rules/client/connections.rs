//! CL-06: connections missing at the start.

use crate::facts::failures_named;
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState};

/// Descriptors a process needs beside its connections and one epoll instance for each thread.
const SPARE_FDS: u64 = 64;

pub(crate) const RULE: Rule = Rule {
    id: "CL-06",
    title: "connections missing",
    detects: "Fewer connections were open than requested, or the client ran out of file descriptors.",
    fires: &[Fires::invalid(
        "A connection was missing at the start, or one failed because the client had no free file descriptor.",
    )],
    remarks: "The manual of httperf calls such results meaningless.",
    applies: Applies::Always,
    needs: &[Need::Connections, Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let connections = evidence.connections;
    let exhausted: u64 = failures_named(evidence, ".fds_exhausted").map(|(_, n)| n).sum();
    let (requested, established) = (u64::from(connections.requested), u64::from(connections.established));
    if established >= requested && exhausted == 0 {
        return Outcome::Pass;
    }
    let needed = requested + u64::from(evidence.plan.threads) + SPARE_FDS;
    let (message, remedy) = if exhausted > 0 {
        (
            format!(
                "out of file descriptors {} times, {} of {} connections open at the start: not the requested load",
                count(exhausted),
                count(established),
                count(requested)
            ),
            format!("raise the open-file limit to {} or more (ulimit -n {needed})", count(needed)),
        )
    } else {
        let causes: Vec<_> = failures_named(evidence, "connect.")
            .chain(failures_named(evidence, "tls."))
            .map(|(name, n)| format!("{} {name}", count(n)))
            .collect();
        let causes = if causes.is_empty() { String::new() } else { format!(" ({})", list(&causes)) };
        (
            format!(
                "only {} of {} connections were open at the start{causes}: not the requested load",
                count(established),
                count(requested)
            ),
            format!("raise the server's connection limit and backlog, or use -c {established}"),
        )
    };
    let remedy =
        if established == 0 && exhausted == 0 { "check that the server is up and reachable".into() } else { remedy };
    let figures =
        [("requested", requested as f64), ("established", established as f64), ("fds_exhausted", exhausted as f64)];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, finding, judged};

    #[test]
    fn a_missing_connection_invalidates_and_names_the_cause() {
        let mut evidence = clean_run();
        evidence.connections.established = 63;
        evidence.fail("connect.refused", 5);
        let missing = finding(judged(&RULE, &evidence));
        assert_eq!(missing.state, FindingState::Invalid);
        assert!(missing.message.contains("63 of 64") && missing.message.contains("5 connect.refused"), "{missing:?}");
    }

    #[test]
    fn exhausted_descriptors_invalidate_even_when_all_connections_were_open() {
        let mut evidence = clean_run();
        evidence.fail("connect.fds_exhausted", 1);
        let exhausted = finding(judged(&RULE, &evidence));
        assert_eq!(exhausted.state, FindingState::Invalid);
        assert!(exhausted.remedy.contains("ulimit -n 130"), "{exhausted:?}");
    }

    #[test]
    fn complete_passes_and_unknown_is_unchecked() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = clean_run();
        evidence.connections.requested = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
