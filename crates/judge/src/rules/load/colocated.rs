//! LD-08: did client and server take each other's CPUs away?

use crate::rules::facts::{Placement, client_cpus, observed, placement, server_cpus};
use crate::text::list;
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState};
use std::collections::BTreeSet;

/// Busy share of the shared CPUs from which on one waits for the other: the ladder of limits looks at what is above it.
const CONTENDED: f64 = 0.7;

pub(crate) const RULE: Rule = Rule {
    id: "LD-08",
    title: "client and server on one machine",
    detects: "a client that uses the CPUs of the server it measures",
    threshold: "CPUs that both may use, 70 % busy or more: a bound, as alone the server could have had the client's \
                share too (the catalogue discards the capacity; a lower one is what such a run does show); less busy, or \
                CPUs of their own: a note, as nobody waited for the other",
    data: "the CPUs that load threads and server may use, and how busy these were",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let (client, server) = (client_cpus(evidence), server_cpus(evidence));
    match placement(evidence) {
        Placement::Remote => return Outcome::Pass,
        Placement::Unknown => return Outcome::Unchecked("which CPUs client and server may use is not known"),
        Placement::Apart => {
            let message = format!(
                "client and server on one machine, each on CPUs of its own (client {}, server {}): no network between them, \
                 caches and memory shared",
                cpus(client),
                cpus(server)
            );
            let remedy = "for what users far away get, measure from another machine".to_owned();
            return Outcome::fired(RULE.id, FindingState::Note, message, remedy, []);
        }
        Placement::Shared => {}
    }
    let either: BTreeSet<u32> = client.iter().chain(server).copied().collect();
    let Some(machine) = observed(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::Unchecked("how busy the shared CPUs were is not known");
    };
    let busy: Vec<f64> = either.iter().filter_map(|cpu| machine.cpu_busy_mean.get(*cpu as usize)).copied().collect();
    let busy = if busy.is_empty() { machine.busy_mean } else { busy.iter().sum::<f64>() / busy.len() as f64 };
    let own = observed(evidence).and_then(|observed| observed.generator.as_ref()).map_or(0.0, |it| it.cpu_cores);
    let facts = format!(
        "client and server share the CPUs {}, {} busy, the client with {own:.2} of them",
        cpus(&either.into_iter().collect::<Vec<_>>()),
        percent(busy)
    );
    let (state, message) = if busy >= CONTENDED {
        (FindingState::Bound, format!("{facts}: alone the server would hold this much or more, and answer sooner"))
    } else {
        (FindingState::Note, format!("{facts}: neither had to wait much for the other"))
    };
    let figures = [("shared_busy", busy), ("client_cores", own)];
    Outcome::fired(RULE.id, state, message, remedy(evidence), figures)
}

fn remedy(evidence: &Evidence) -> String {
    let machine = observed(evidence).and_then(|observed| observed.machine.as_ref());
    if machine.is_some_and(|machine| machine.cpus < 2) {
        return "measure from another machine".to_owned();
    }
    "part them: pin the server (taskset, or let plimsoll start it: --serve) and the client (--cpus), or measure from another \
     machine"
        .to_owned()
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
    use crate::testing::{clean_run, finding, machine, state};

    #[test]
    fn shared_cpus_bound_when_they_are_busy_and_are_noted_when_not() {
        let mut evidence = clean_run();
        evidence.plan.cpus = vec![0, 1];
        machine(&mut evidence).cpu_busy_mean = vec![0.95, 0.9];
        let found = finding(check(&evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert!(
            found.message.starts_with("client and server share the CPUs 0-1, 92 % busy, the client with"),
            "{found:?}"
        );
        assert!(found.message.ends_with("this much or more, and answer sooner"));
        machine(&mut evidence).cpu_busy_mean = vec![0.3, 0.2];
        assert_eq!(state(&check(&evidence)), Some(FindingState::Note));
    }

    #[test]
    fn cpus_of_their_own_are_noted_and_another_machine_is_nothing() {
        let mut evidence = clean_run();
        let found = finding(check(&evidence));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.contains("(client 1, server 0)"), "{}", found.message);
        evidence.plan.target.address = "192.0.2.1:80".parse().expect("an address");
        evidence.observed = None;
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.plan.target.address = "127.0.0.1:80".parse().expect("an address");
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }

    #[test]
    fn cpus_are_told_in_runs() {
        assert_eq!((cpus(&[0, 1, 2, 5, 7, 8]), cpus(&[3])), ("0-2, 5 and 7-8".to_owned(), "3".to_owned()));
    }
}
