//! One fault for each rule, put into a run or sweep that has no other: what the tests judge, and what `rules` shows of a
//! rule as an example. What is shown is what the rule says of it, so that it is never out of date.

mod load;

pub(crate) use load::{rates, unlike_agents};

use crate::testing::{Mutate, clean_open_run, clean_run, clean_sweep, probe, set_counter, set_figure, set_gauge};
use crate::{Check, Outcome, Rule};
use model::{
    Change, Evidence, Finding, NS_PER_S, OtherObserved, OthersObserved, Profiled, SERVICE_BIN_NS, SweepEvidence, Warmup,
};

/// Where the fault is.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    /// In a closed loop.
    Closed(fn(&mut Evidence)),
    /// In an open loop.
    Open(fn(&mut Evidence)),
    /// In a sweep.
    Sweep(fn() -> SweepEvidence),
}

use Fault::{Closed, Open, Sweep};

/// What `rule` says of its fault; none when nobody has made one up.
pub fn finding(rule: &Rule) -> Option<Finding> {
    let fault = fault(rule.id)?;
    let outcome = match (fault, rule.check) {
        (Closed(_) | Open(_), Check::Run(check) | Check::Both { run: check, .. }) => check(&evidence(fault)?),
        (Sweep(sweep), Check::Sweep(check) | Check::Both { sweep: check, .. }) => check(&sweep()),
        _ => return None,
    };
    match outcome {
        Outcome::Fired(finding) => Some(finding),
        Outcome::Pass | Outcome::Unchecked(_) => None,
    }
}

/// The fault made up for rule `id`.
pub(crate) fn fault(id: &str) -> Option<&'static Fault> {
    all().find(|(of, _)| *of == id).map(|(_, fault)| fault)
}

/// The run with the fault of rule `id`.
#[cfg(test)]
pub(crate) fn run(id: &str) -> Evidence {
    fault(id).and_then(evidence).unwrap_or_else(|| panic!("{id} has no run as its example"))
}

fn evidence(fault: &Fault) -> Option<Evidence> {
    let (mut evidence, mutate) = match fault {
        Closed(mutate) => (clean_run(), mutate),
        Open(mutate) => (clean_open_run(), mutate),
        Sweep(_) => return None,
    };
    mutate(&mut evidence);
    Some(evidence)
}

fn all() -> impl Iterator<Item = &'static (&'static str, Fault)> {
    FAULTS.iter().chain(load::FAULTS)
}

static FAULTS: &[(&str, Fault)] = &[
    ("CL-01", Closed(|e| e.threads[1].busy_max = 0.95)),
    (
        "CL-03",
        Open(|e| {
            (e.latency.slip_client.p99_ns, e.latency.response.p99_ns) = (2_100_000, 4_000_000);
            e.latency.service.p99_ns = 2_000_000;
        }),
    ),
    (
        "CL-05",
        Open(|e| {
            e.cohort.counts.sent = 900_000;
            e.latency.slip_client.p99_ns = 50_000_000;
        }),
    ),
    ("CL-06", Closed(|e| (e.connections.requested, e.connections.established) = (10_000, 1_006))),
    ("CL-07", Closed(|e| e.fail("connect.ports_exhausted", 12_000))),
    ("ER-01", Closed(|e| e.fail("first_byte.timeout", 50_000))),
    (
        "ER-02",
        Closed(|e| {
            e.answer(302, 1_000_000);
            let mut seen = probe(302);
            seen.fetches[0].location = Some("/home".into());
            seen.redirects = vec!["http://127.0.0.1:8080/home".into()];
            e.probe = Some(seen);
        }),
    ),
    ("ER-03", Closed(|e| e.fail("contract.size", 2_000))),
    (
        "ER-05",
        Closed(|e| {
            e.cohort.counts.censored = 20_000;
            e.fail("first_byte.timeout", 20_000);
            (e.latency.response.p99_ns, e.latency.response.max_ns) = (2 * NS_PER_S, 2 * NS_PER_S);
        }),
    ),
    ("ER-16", Closed(|e| e.cohort.counts.bodies_other = e.cohort.counts.bodies_compared / 2)),
    ("ER-15", Closed(|e| e.seconds[15..].iter_mut().for_each(|second| (second.good, second.failed) = (0, 30)))),
    ("LD-03", Closed(|_| {})),
    ("LD-04", Closed(|e| (e.measured_ns, e.latency.response.n) = (10 * NS_PER_S, 3_000))),
    (
        "ST-01",
        Closed(|e| {
            e.plan.warmup = Warmup::Auto;
            e.settled = false;
        }),
    ),
    (
        "ST-03",
        Sweep(|| {
            let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 201.0)]);
            sweep.points[2].iterations_per_s = vec![170.0, 230.0];
            sweep
        }),
    ),
    ("SA-01", Sweep(|| clean_sweep(&[(1.0, 100.0), (2.0, 190.0), (4.0, 350.0)]))),
    ("SA-03", Sweep(|| clean_sweep(&[(1.0, 100.0), (2.0, 172.0), (4.0, 175.0)]))),
    ("PH-01", Closed(|e| (e.outstanding.mean, e.outstanding.little) = (40.0, 40.0))),
    ("PR-01", Closed(|e| e.profile = Some(Profiled { frequency_hz: 99, samples: 5_000, ..Profiled::default() }))),
    (
        "NE-01",
        Closed(|e| {
            e.plan.keepalive = false;
            e.flow.opened = 412_000;
            set_counter(e, "tcp", "ListenOverflows", 214);
            set_counter(e, "tcp", "PassiveOpens", 412_000);
            let sockets = e.observed.as_mut().and_then(|seen| seen.sockets.as_mut());
            sockets.into_iter().for_each(|sockets| sockets.accept_backlog = Some(8));
        }),
    ),
    (
        "NE-02",
        Closed(|e| {
            e.flow.opened = 900;
            set_counter(e, "tcp", "SyncookiesSent", 900);
            set_counter(e, "tcp", "TCPReqQFullDrop", 120);
        }),
    ),
    ("NE-03", Closed(|e| set_counter(e, "tcp", "RetransSegs", 24_000))),
    (
        "NE-04",
        Closed(|e| {
            set_counter(e, "tcp", "TCPTimeouts", 300);
            set_counter(e, "tcp", "TCPSynRetrans", 300);
            e.service_bins[bin(1_004)] += 300;
        }),
    ),
    (
        "NE-05",
        Closed(|e| {
            set_counter(e, "tcp", "DelayedACKs", 90_000);
            e.service_bins[bin(40)] += 90_000;
        }),
    ),
    (
        "NE-06",
        Closed(|e| {
            set_counter(e, "softnet", "dropped", 1_200);
            set_counter(e, "tcp", "RetransSegs", 1_200);
        }),
    ),
    (
        "NE-07",
        Closed(|e| {
            set_counter(e, "nic/lo", "sent_dropped", 2_000);
            set_counter(e, "tcp", "RetransSegs", 1_700);
        }),
    ),
    (
        "NE-08",
        Closed(|e| {
            set_counter(e, "tcp", "EstabResets", 40);
            e.fail("first_byte.reset", 40);
        }),
    ),
    (
        "NE-09",
        Closed(|e| {
            set_gauge(e, "conntrack", "connections", 64_000);
            set_gauge(e, "conntrack", "connections_limit", 65_536);
        }),
    ),
    ("NE-10", Closed(|e| set_counter(e, "tcp", "TCPFromZeroWindowAdv", 31_000))),
    (
        "NE-11",
        Closed(|e| {
            let machine = e.observed.as_mut().and_then(|seen| seen.machine.as_mut());
            machine.into_iter().for_each(|machine| machine.cpu_shares[1].softirq = 0.97);
        }),
    ),
    ("NE-12", Closed(|e| set_counter(e, "tcp", "ActiveOpens", 970_000))),
    (
        "SV-01",
        Closed(|e| {
            set_figure(e, "php-fpm", "processes_active", 5.0, 5.0);
            set_figure(e, "php-fpm", "listen_queue", 59.0, 59.0);
        }),
    ),
    ("SV-02", Closed(|e| set_figure(e, "nginx", "accepted", 68.0, 1_100.0))),
    (
        "SV-03",
        Closed(|e| {
            let server = e.observed.as_mut().and_then(|seen| seen.server.as_mut());
            server.into_iter().for_each(|server| server.ended = [("nginx".to_owned(), 1)].into());
        }),
    ),
    (
        "SV-04",
        Closed(|e| {
            set_gauge(e, "cgroup/server", "cpu_quota_ns_per_s", NS_PER_S / 2);
            set_counter(e, "cgroup/server", "throttled_periods", 240);
        }),
    ),
    (
        "SV-05",
        Closed(|e| {
            let server = e.observed.as_mut().and_then(|seen| seen.server.as_mut());
            server.into_iter().for_each(|server| server.processes[0].fds_max = Some(1_024));
        }),
    ),
    (
        "SV-06",
        Closed(|e| {
            set_figure(e, "mysql", "connections_refused", 0.0, 812.0);
            set_figure(e, "mysql", "threads_connected", 151.0, 151.0);
        }),
    ),
    ("SV-08", Closed(|e| set_counter(e, "paging", "swapped_out_pages", 40_000))),
    (
        "SV-09",
        Closed(|e| {
            set_counter(e, "pressure/io", "some_ns", 9 * NS_PER_S);
            set_counter(e, "disk/vda", "busy_ns", 27 * NS_PER_S);
        }),
    ),
    (
        "EN-01",
        Closed(|e| {
            let machine = e.observed.as_mut().and_then(|seen| seen.machine.as_mut());
            machine.into_iter().for_each(|machine| (machine.steal_mean, machine.steal_max) = (0.07, 0.31));
        }),
    ),
    ("EN-02", Closed(|e| set_counter(e, "throttling", "core_throttles", 14))),
    (
        "EN-03",
        Closed(|e| {
            let Some(observed) = &mut e.observed else { return };
            let processes = vec![OtherObserved { name: "stress-ng".to_owned(), cpu_cores: 0.6 }];
            observed.others = Some(OthersObserved { cpu_cores: 0.61, processes, undecided: Vec::new() });
            observed.machine.iter_mut().for_each(|machine| machine.busy_mean = 0.98);
            observed.server.iter_mut().for_each(|server| server.cpus.clear());
        }),
    ),
    ("EN-04", Closed(|e| e.seconds.iter_mut().skip(18).for_each(|second| second.good = second.good * 7 / 10))),
    ("EN-05", Closed(|e| e.changes = Some(vec![change("sysctl", "net/core/somaxconn", "4096", "128")]))),
    (
        "EN-06",
        Closed(|e| e.changes = Some(vec![change("program/nginx", "file /etc/nginx/nginx.conf", "9f86d0", "60303a")])),
    ),
];

/// The bin of a service time.
const fn bin(ms: u64) -> usize {
    (ms * 1_000_000 / SERVICE_BIN_NS) as usize
}

fn change(section: &str, name: &str, before: &str, after: &str) -> Change {
    let [section, name, before, after] = [section, name, before, after].map(str::to_owned);
    Change { section, name, before, after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::states_in;
    use crate::{judge_run, rules};
    use model::FindingState;

    #[test]
    fn each_fault_makes_its_rule_fire_with_a_state_that_its_threshold_names() {
        for (id, _) in all() {
            let rule = rules().iter().find(|rule| rule.id == *id).unwrap_or_else(|| panic!("no rule {id}"));
            let found = finding(rule).unwrap_or_else(|| panic!("{id} is silent on its own fault"));
            assert_eq!(found.rule, *id);
            assert!(
                states_in(rule.threshold).contains(&found.state),
                "{id}: {:?} is not in {:?}",
                found.state,
                rule.threshold
            );
            assert!(!found.message.is_empty() && !found.remedy.is_empty() && found.message.len() < 330, "{found:?}");
        }
    }

    #[test]
    fn rules_of_network_server_and_environment_all_have_an_example() {
        for rule in rules().iter().filter(|rule| ["NE-", "SV-", "EN-"].iter().any(|family| rule.id.starts_with(family)))
        {
            assert!(finding(rule).is_some(), "{}", rule.id);
        }
    }

    #[test]
    fn a_fault_of_the_surroundings_trips_its_own_rule_only() {
        for (id, fault) in FAULTS.iter().filter(|(id, _)| ["NE-", "SV-", "EN-"].iter().any(|f| id.starts_with(f))) {
            let verdict = judge_run(&evidence(fault).expect("a run"));
            let others =
                verdict.findings.iter().filter(|finding| finding.rule != *id && finding.state > FindingState::Note);
            // Resets end requests, which is another fault.
            let others: Vec<_> = others.filter(|finding| finding.rule != "ER-01").collect();
            assert!(others.is_empty(), "{id}: {others:#?}");
        }
    }

    #[test]
    fn without_anything_observed_no_rule_of_the_surroundings_passes() {
        let mut evidence = clean_run();
        (evidence.observed, evidence.changes) = (None, None);
        evidence.status.clear();
        evidence.service_bins.clear();
        evidence.seconds.clear();
        let unchecked = judge_run(&evidence).unchecked;
        for rule in rules().iter().filter(|rule| ["NE-", "SV-", "EN-"].iter().any(|family| rule.id.starts_with(family)))
        {
            assert!(unchecked.iter().any(|id| id == rule.id), "{} passed without data", rule.id);
        }
    }
}
