//! ER-12: responses that did not come from the monitored server.

use crate::facts::counted::{SHARE, counted, is_unmoved};
use crate::facts::observed;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, time};
use model::{Evidence, FindingState};

/// No server answers a request with less CPU time; ns.
const CHEAPEST_NS: f64 = 1_000.0;
/// CPU time comes in steps of 10 ms: so many requests take ten of them at the cheapest.
const REQUESTS_MIN: u64 = 100_000;
/// Requests that a status page's counter needs.
const COUNTED_MIN: f64 = 1_000.0;

pub(crate) const RULE: Rule = Rule {
    id: "ER-12",
    title: "responses not from the server",
    detects: "The monitored server cannot have sent the responses.",
    fires: &[Fires::invalid(
        "The server's status page counted less than 10 % of the requests, or its processes used less than 0.1 µs \
             of CPU time for each response.",
    )],
    remarks: "It asks Brendan Gregg's question \"did it even happen?\" of the responses.",
    applies: Applies::Always,
    needs: &[
        Need::Requests,
        Need::OneOf(&[Need::RequestCount, Need::Server], "neither a request count nor enough CPU time of the server"),
    ],
    conditions: "1,000 requests for the status page, or 100,000 responses for the CPU time",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let counted = counted(evidence).filter(|(_, counted)| counted.client >= COUNTED_MIN);
    let n = evidence.flow.completed;
    let server = observed(evidence).and_then(|observed| observed.server.as_ref());
    // Of so many a CPU time that is not known is less than the kernel counts.
    let cpu_ns = server.filter(|_| n >= REQUESTS_MIN).map(|server| server.cpu_ns_per_request.unwrap_or(0.0));
    if let Some((server, counted)) = counted
        && is_unmoved(counted)
    {
        let message = format!(
            "{server} counted {} of {} answered requests: something else answers",
            count(counted.server.max(0.0) as u64),
            count(counted.client as u64)
        );
        return fired(message, [("server", counted.server), ("client", counted.client)]);
    }
    match cpu_ns {
        Some(ns) if ns < SHARE * CHEAPEST_NS => {
            let used =
                if ns > 0.0 { format!("{} of CPU time", time(ns)) } else { "no CPU time that counts".to_owned() };
            let message = format!(
                "the server's processes used {used} for each of {} responses: something else answers",
                count(n)
            );
            fired(message, [("server_cpu_ns_per_request", ns), ("responses", n as f64)])
        }
        None if counted.is_none() => Outcome::Unchecked("neither a request count nor enough CPU time of the server"),
        _ => Outcome::Pass,
    }
}

fn fired<'a>(message: String, figures: impl IntoIterator<Item = (&'a str, f64)>) -> Outcome {
    let remedy = "find out what answers: a cache, a proxy, another server or port forwarding";
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, server};

    #[test]
    fn a_count_or_a_cpu_time_that_does_not_move_invalidates() {
        let mut evidence = clean_run();
        evidence.status[0].requests.as_mut().expect("it is counted").server = 30.0;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("nginx counted 30 of 1,000,000 answered requests"), "{}", found.message);
        let mut evidence = clean_run();
        server(&mut evidence).cpu_ns_per_request = Some(20.0);
        assert!(finding(judged(&RULE, &evidence)).message.contains("20 ns of CPU time for each of 1,000,000"));
    }

    #[test]
    fn work_passes_and_nobody_looking_is_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.status.clear();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.flow.completed = 99_999;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
