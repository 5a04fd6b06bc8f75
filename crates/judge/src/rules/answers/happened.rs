//! ER-12: did anything happen in the server at all?

use crate::rules::answers::counted::counted;
use crate::rules::facts::observed;
use crate::{Check, Outcome, Rule};
use model::human::{count, time};
use model::{CountedRequests, Evidence, FindingState};

/// Less than this share of what must have happened is nothing.
const SHARE: f64 = 0.1;
/// No server answers a request with less CPU time; ns.
const CHEAPEST_NS: f64 = 1_000.0;
/// CPU time comes in steps of 10 ms: so many requests take ten of them at the cheapest.
const REQUESTS_MIN: u64 = 100_000;
/// A counter that a page tells needs fewer.
const COUNTED_MIN: f64 = 1_000.0;

pub(crate) const RULE: Rule = Rule {
    id: "ER-12",
    title: "nothing happened in the server",
    detects: "answers that the server that is looked at cannot have given",
    threshold: "less than a tenth of the requests in the server's own count, or less than a tenth of a microsecond \
                of its CPU time for each of 100,000 requests or more: invalid (own thresholds, after Gregg: did it \
                even happen?)",
    data: "a status page that counts requests, or the CPU time of the server's processes",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let counted = counted(evidence).filter(|(_, counted)| counted.client >= COUNTED_MIN);
    let n = evidence.flow.completed;
    let server = observed(evidence).and_then(|observed| observed.server.as_ref());
    let cpu_ns = server.and_then(|server| server.cpu_ns_per_request).filter(|_| n >= REQUESTS_MIN);
    if let Some((server, counted)) = counted
        && is_unmoved(counted)
    {
        let message = format!(
            "{server} counted {} requests of the {} that were answered: somebody else answers",
            count(counted.server.max(0.0) as u64),
            count(counted.client as u64)
        );
        return fired(message, [("server", counted.server), ("client", counted.client)]);
    }
    match cpu_ns {
        Some(ns) if ns < SHARE * CHEAPEST_NS => {
            let message = format!(
                "the processes behind the port used {} of CPU time for each of {} answers: somebody else answers",
                time(ns),
                count(n)
            );
            fired(message, [("server_cpu_ns_per_request", ns), ("responses", n as f64)])
        }
        None if counted.is_none() => {
            Outcome::Unchecked("neither the server's own count nor enough of its CPU time is known")
        }
        _ => Outcome::Pass,
    }
}

/// Whether the server's count did not move with the client's.
pub(super) fn is_unmoved(counted: CountedRequests) -> bool {
    counted.server < SHARE * counted.client
}

fn fired<'a>(message: String, figures: impl IntoIterator<Item = (&'a str, f64)>) -> Outcome {
    let remedy = "find out who answers: a cache, a proxy, another server on the same port, or a port that is forwarded";
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, server};

    #[test]
    fn a_count_or_a_cpu_time_that_does_not_move_invalidates() {
        let mut evidence = clean_run();
        evidence.status[0].requests.as_mut().expect("it is counted").server = 30.0;
        let found = finding(check(&evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("nginx counted 30 requests of the 1,000,000 that"), "{}", found.message);
        let mut evidence = clean_run();
        server(&mut evidence).cpu_ns_per_request = Some(20.0);
        assert!(finding(check(&evidence)).message.contains("20 ns of CPU time for each of 1,000,000"));
    }

    #[test]
    fn work_passes_and_nobody_looking_is_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.status.clear();
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.flow.completed = 99_999;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
