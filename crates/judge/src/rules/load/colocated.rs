//! LD-08: client and server on one machine.

use crate::facts::{Placement, client_cpus, observed, part_client_and_server, placement, server_cpus};
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{Evidence, FindingState};
use std::collections::BTreeSet;

/// Busy share of the shared CPUs from which on one waits for the other; the limiter's detectors use the same. Alone,
/// the server could also have had the client's share, so that its capacity is a lower bound.
const CONTENDED: f64 = 0.7;
/// A client with this share of the CPU time in use, or less, takes no more of the server's capacity.
const CLIENT_SHARE_MAX: f64 = 0.05;

pub(crate) const RULE: Rule = Rule {
    id: "LD-08",
    title: "client and server on one machine",
    detects: "The client used the CPUs of the server that it measures.",
    fires: &[
        Fires::bound(
            "Client and server share CPUs that were at least 70 % busy, and the client's part of that was more than \
             5 % or is not known.",
        ),
        Fires::note(
            "Client and server have separate CPUs of one machine; or they share CPUs that were less busy, or of \
             which the client used little.",
        ),
    ],
    remarks: "",
    applies: Applies::OneMachine,
    needs: &[Need::Window, Need::Affinity, Need::Machine(Whose::Observed)],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let (client, server) = (client_cpus(evidence), server_cpus(evidence));
    match placement(evidence) {
        Placement::Remote => return Outcome::Pass,
        Placement::Unknown => return Outcome::UNMET,
        Placement::Apart => {
            let message = format!(
                "client and server on separate CPUs of one machine (client {}, server {}): no network, shared caches \
                 and memory",
                cpus(client),
                cpus(server)
            );
            let remedy = "measure from another machine for what remote users get".to_owned();
            return Outcome::fired(RULE.id, FindingState::Note, message, remedy, []);
        }
        Placement::Shared => {}
    }
    let either: BTreeSet<u32> = client.iter().chain(server).copied().collect();
    let Some(machine) = observed(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::UNMET;
    };
    let busy: Vec<f64> = either.iter().filter_map(|cpu| machine.busy_of(*cpu)).collect();
    let busy = if busy.is_empty() { machine.busy_mean } else { busy.iter().sum::<f64>() / busy.len() as f64 };
    let own = observed(evidence).and_then(|observed| observed.generator.as_ref()).map_or(0.0, |it| it.cpu_cores);
    let facts = format!(
        "client and server share CPUs {}, {} busy, {own:.2} of them by the client",
        cpus(&either.iter().copied().collect::<Vec<_>>()),
        percent(busy)
    );
    // What uses the CPUs besides is not known to be the server where the client is not known.
    let is_small = own > 0.0 && own <= CLIENT_SHARE_MAX * busy * either.len() as f64;
    let (state, message) = if busy < CONTENDED {
        (FindingState::Note, format!("{facts}: neither waited much for the other"))
    } else if is_small {
        (FindingState::Note, format!("{facts}: it left the server at least {}", percent(1.0 - CLIENT_SHARE_MAX)))
    } else {
        (FindingState::Bound, format!("{facts}: alone, the server would sustain this much or more, with lower latency"))
    };
    let figures = [("shared_busy", busy), ("client_cores", own)];
    Outcome::fired(RULE.id, state, message, part_client_and_server(evidence), figures)
}

fn cpus(cpus: &[u32]) -> String {
    let runs: Vec<String> = cpus
        .chunk_by(|a, b| *b == a + 1)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    list(&runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, generator, judged, machine, state};

    #[test]
    fn shared_cpus_bound_when_they_are_busy_and_are_noted_when_not() {
        let mut evidence = clean_run();
        evidence.plan.cpus = vec![0, 1];
        machine(&mut evidence).cpu_busy_mean = vec![0.95, 0.9];
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert!(found.message.starts_with("client and server share CPUs 0-1, 92 % busy, "), "{found:?}");
        assert!(found.message.ends_with("this much or more, with lower latency"));
        assert_eq!(found.remedy, "measure from another machine", "of two CPUs none is to spare");
        machine(&mut evidence).cpus = 4;
        assert!(
            finding(judged(&RULE, &evidence)).remedy.starts_with("pin server (taskset, --serve) and client (--cpus)")
        );
        machine(&mut evidence).cpu_busy_mean = vec![0.3, 0.2];
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
    }

    /// 12 pages of WordPress per second on two CPUs, of which the client used 2 %, were a bound.
    #[test]
    fn a_client_that_uses_next_to_nothing_of_shared_cpus_bounds_nothing() {
        let mut evidence = clean_run();
        evidence.plan.cpus = vec![0, 1];
        machine(&mut evidence).cpu_busy_mean = vec![1.0, 0.96];
        let mut found_with = |client_cores: f64| {
            generator(&mut evidence).cpu_cores = client_cores;
            finding(judged(&RULE, &evidence))
        };
        assert_eq!(found_with(0.12).state, FindingState::Bound);
        let small = found_with(0.04);
        assert_eq!(small.state, FindingState::Note);
        assert!(small.message.ends_with("0.04 of them by the client: it left the server at least 95 %"), "{small:?}");
        assert_eq!(found_with(0.0).state, FindingState::Bound, "a client whose CPU time is not known");
    }

    #[test]
    fn cpus_of_their_own_are_noted_and_another_machine_is_nothing() {
        let mut evidence = clean_run();
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.contains("(client 1, server 0)"), "{}", found.message);
        evidence.plan.target.address = "192.0.2.1:80".parse().expect("an address");
        evidence.observed = None;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.plan.target.address = "127.0.0.1:80".parse().expect("an address");
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    #[test]
    fn cpus_are_told_in_runs() {
        assert_eq!((cpus(&[0, 1, 2, 5, 7, 8]), cpus(&[3])), ("0-2, 5 and 7-8".to_owned(), "3".to_owned()));
    }
}
