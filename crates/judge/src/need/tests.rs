//! Each rule says the same from what it needs alone, and nothing without it.

use super::*;
use crate::testing::{Fault, clean_open_run, clean_run, clean_sweep, fault, run};
use crate::{Check, Outcome, Rule, judge_run, judge_sweep, rules};
use evidence::EvidenceBuilder;
use model::{LatencySummary, Load, Plan, ServerObserved, Stop, Target, Warmup};

const ANOTHER: &str = "another program makes the load";

/// Evidence of a load in which nothing is known but how long it was and what its target is, and which differs from `whole` in
/// everything that it can be wrong about.
fn blank(whole: &Evidence) -> Evidence {
    let other_loop = match whole.plan.load {
        Load::Closed { connections } => {
            Load::Open { rate_per_s: 1.0, arrivals: model::Arrivals::Constant, connections }
        }
        Load::Open { connections, .. } => Load::Closed { connections },
    };
    let target = Target::at(whole.plan.target.address.clone());
    let plan = Plan {
        warmup: Warmup::Fixed { duration_ns: 0 },
        ..Plan::new(target, other_loop, Stop::Duration { duration_ns: NS_PER_S })
    };
    Evidence {
        measured_ns: whole.measured_ns,
        iterations: whole.iterations,
        agents: whole.agents.clone(),
        observed: whole.observed.as_ref().map(|_| Observed::default()),
        // What stands here says where client and server are, and whose time was taken.
        client_machine: whole.client_machine.as_ref().map(|_| Observed::default()),
        disturbance: whole.disturbance.clone(),
        profile: whole.profile.clone(),
        settled: false,
        interrupted: whole.interrupted,
        ..EvidenceBuilder::new(plan).evidence()
    }
}

/// Gives `to` what `need` is about, of `whole`.
fn grant(need: Need, whole: &Evidence, to: &mut Evidence) {
    let Some(seen) = &whole.observed else { return };
    let observed = to.observed.get_or_insert_default();
    match need {
        Need::Window | Need::Loads | Need::Iterations => {}
        Need::Plan => {
            to.plan = whole.plan.clone();
            to.settled = whole.settled;
        }
        Need::Requests | Need::Responses | Need::PlannedRequests | Need::ConnectionAttempts | Need::Connections => {
            to.flow = whole.flow;
            to.cohort = whole.cohort.clone();
            to.seconds.clone_from(&whole.seconds);
            to.connections = whole.connections;
            to.sent_in_all = whole.sent_in_all;
            to.outstanding = whole.outstanding;
        }
        Need::ResponseTimes | Need::ServiceTimes | Need::SendDelays | Need::ConnectionWaits => {
            to.latency = whole.latency.clone();
        }
        Need::ServiceHistogram => to.service_bins.clone_from(&whole.service_bins),
        Need::SendTimes => to.sends_ns.clone_from(&whole.sends_ns),
        Need::Handshakes => to.tls.clone_from(&whole.tls),
        Need::LoadThreads => to.threads.clone_from(&whole.threads),
        Need::Probe | Need::ConnectTimes => to.probe.clone_from(&whole.probe),
        Need::Clock => to.fingerprint.clone_from(&whole.fingerprint),
        Need::Fingerprints => to.changes.clone_from(&whole.changes),
        Need::Machine(Whose::Clients) | Need::Kernel(Kernel { whose: Whose::Clients, .. })
            if whole.client_machine.is_some() =>
        {
            to.client_machine.clone_from(&whole.client_machine);
        }
        Need::Machine(_) | Need::AllProcesses => {
            observed.machine.clone_from(&seen.machine);
            observed.seconds.clone_from(&seen.seconds);
        }
        Need::Server | Need::Descriptors => {
            observed.server.clone_from(&seen.server);
            observed.companions.clone_from(&seen.companions);
            observed.pools.clone_from(&seen.pools);
            observed.seconds.clone_from(&seen.seconds);
        }
        Need::OtherProcesses => observed.others.clone_from(&seen.others),
        Need::Affinity => {
            let cpus = |of: &ServerObserved| ServerObserved { cpus: of.cpus.clone(), ..ServerObserved::default() };
            observed.server = observed.server.take().or_else(|| seen.server.as_ref().map(cpus));
            observed.generator.clone_from(&seen.generator);
            to.plan.cpus.clone_from(&whole.plan.cpus);
        }
        Need::SchedulerStatistics | Need::PageFaults => observed.generator.clone_from(&seen.generator),
        // Figures of one part are read together.
        Need::Kernel(kernel) => kernel.figures.iter().for_each(|(part, _)| copy_parts(seen, part, observed)),
        Need::ControlGroup(_) => copy_parts(seen, "cgroup/", observed),
        Need::Interfaces => copy_parts(seen, "nic/", observed),
        Need::LocalPorts => {
            observed.sockets.clone_from(&seen.sockets);
            copy_parts(seen, "ports", observed);
        }
        Need::StatusPage(..) | Need::RequestCount | Need::Database => to.status.clone_from(&whole.status),
        Need::LinkSpeeds => {
            copy_parts(seen, "nic/", observed);
            to.fingerprint.clone_from(&whole.fingerprint);
        }
        Need::Bandwidth => to.bandwidth.clone_from(&whole.bandwidth),
        Need::OneOf(needs, _) | Need::WhereKnown(needs) => needs.iter().for_each(|need| grant(*need, whole, to)),
    }
}

/// Copies the parts of the kernel whose names begin so.
fn copy_parts(from: &Observed, begin: &str, to: &mut Observed) {
    let counters = from.counters.iter().filter(|(part, _)| part.starts_with(begin));
    to.counters.extend(counters.map(|(part, figures)| (part.clone(), figures.clone())));
    let gauges = from.gauges.iter().filter(|(part, _)| part.starts_with(begin));
    to.gauges.extend(gauges.map(|(part, figures)| (part.clone(), figures.clone())));
}

/// What is known of `whole` if that is what the needs are about.
fn only(needs: &[Need], whole: &Evidence) -> Evidence {
    let mut evidence = blank(whole);
    needs.iter().for_each(|need| grant(*need, whole, &mut evidence));
    evidence
}

/// Loads to ask a rule of, the one with its own fault among them.
fn loads(rule: &Rule) -> Vec<Evidence> {
    let mut all = vec![clean_run(), clean_open_run()];
    if let Some(Fault::Closed(_) | Fault::Open(_)) = fault(rule.id) {
        all.push(run(rule.id));
    }
    all
}

fn outcome(rule: &Rule, evidence: &Evidence) -> Option<String> {
    Some(match rule.judge_load(evidence)? {
        Outcome::Pass => "passes".to_owned(),
        Outcome::Unchecked(why) => format!("unchecked: {why}"),
        Outcome::Fired(finding) => format!("fires: {:?}", finding.state),
    })
}

#[test]
fn each_rule_says_the_same_from_what_it_needs_alone() {
    let mut problems = Vec::new();
    for rule in rules() {
        for evidence in loads(rule) {
            // What a rule applies to is asked of the plan.
            let plan = [Need::Plan].into_iter().filter(|_| rule.applies != Applies::Always);
            let needs: Vec<Need> = rule.needs.iter().copied().chain(plan).collect();
            let (whole, alone) = (outcome(rule, &evidence), outcome(rule, &only(&needs, &evidence)));
            if whole != alone {
                problems.push(format!("{}: {whole:?}, but from its needs alone {alone:?}", rule.id));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Takes away what `need` is about.
fn take(need: Need, evidence: &mut Evidence) {
    let mut observed = evidence.observed.take().unwrap_or_default();
    let generator = observed.generator.as_mut();
    match need {
        Need::Window => evidence.measured_ns = LEAST_NS - 1,
        Need::Plan | Need::Requests => evidence.load_unknown = Some(ANOTHER),
        Need::Responses => evidence.cohort.counts.completed = 0,
        Need::PlannedRequests => evidence.cohort.counts.planned = 0,
        Need::ResponseTimes => evidence.latency.response = LatencySummary::default(),
        Need::ServiceTimes => evidence.latency.service = LatencySummary::default(),
        Need::SendDelays => evidence.latency.slip_client = LatencySummary::default(),
        Need::ConnectionWaits => evidence.latency.slip_blocked = LatencySummary::default(),
        Need::ServiceHistogram => evidence.service_bins.clear(),
        Need::SendTimes => evidence.sends_ns.clear(),
        Need::Connections => evidence.connections.requested = 0,
        Need::ConnectionAttempts => evidence.connections.attempts = None,
        Need::Handshakes => evidence.tls = None,
        Need::LoadThreads => evidence.threads.clear(),
        Need::Probe | Need::ConnectTimes => evidence.probe = None,
        Need::Clock => evidence.fingerprint = None,
        Need::Fingerprints => evidence.changes = None,
        Need::Machine(Whose::Clients) if evidence.client_machine.is_some() => {
            evidence.client_machine = Some(Observed::default());
        }
        Need::Machine(_) => observed.machine = None,
        Need::AllProcesses => {
            observed.machine.iter_mut().for_each(|machine| machine.accounted_share = None);
        }
        Need::Server => observed.server = None,
        Need::OtherProcesses => observed.others = None,
        Need::Affinity => observed.server.iter_mut().for_each(|server| server.cpus.clear()),
        Need::SchedulerStatistics => generator.into_iter().for_each(|generator| generator.threads.clear()),
        Need::PageFaults => generator.into_iter().for_each(|generator| generator.major_faults = None),
        Need::Descriptors => {
            let processes = observed.server.iter_mut().flat_map(|server| &mut server.processes);
            processes.for_each(|process| process.fds_max = None);
        }
        Need::Kernel(kernel) => {
            for (part, name) in kernel.figures {
                observed.counters.get_mut(*part).and_then(|counters| counters.remove(*name));
                observed.gauges.get_mut(*part).and_then(|gauges| gauges.remove(*name));
            }
        }
        Need::ControlGroup(_) => {
            for part in ["cgroup/generator", "cgroup/server"] {
                observed.counters.remove(part);
                observed.gauges.remove(part);
            }
        }
        Need::Interfaces => observed.counters.retain(|part, _| !part.starts_with("nic/")),
        Need::LocalPorts => {
            observed.gauges.remove("ports");
        }
        Need::StatusPage(..) | Need::RequestCount | Need::Database => evidence.status.clear(),
        Need::LinkSpeeds => evidence.fingerprint = None,
        Need::Bandwidth => evidence.bandwidth = None,
        Need::Loads | Need::Iterations | Need::WhereKnown(_) => {}
        Need::OneOf(needs, _) => {
            evidence.observed = Some(observed);
            needs.iter().for_each(|need| take(*need, evidence));
            return;
        }
    }
    evidence.observed = Some(observed);
}

/// A load that the rule has something to say of.
fn load_of(rule: &Rule) -> Evidence {
    let whole = fault(rule.id);
    loads(rule).pop().filter(|_| matches!(whole, Some(Fault::Closed(_) | Fault::Open(_)))).unwrap_or_else(clean_run)
}

#[test]
fn without_one_of_its_needs_a_rule_is_not_checked_and_says_which() {
    let mut problems = Vec::new();
    for rule in rules().iter().filter(|rule| !matches!(rule.check, Check::Sweep(_))) {
        for need in rule.needs.iter().filter(|need| !matches!(need, Need::WhereKnown(_))) {
            let mut evidence = load_of(rule);
            assert_eq!(need.lacking(&evidence), None, "{}: {need:?}", rule.id);
            take(*need, &mut evidence);
            let outcome = rule.judge_load(&evidence);
            let why = need.lacking(&evidence);
            if why.is_none() || !matches!(outcome, Some(Outcome::Unchecked(_))) {
                problems.push(format!("{} without {need:?}: {outcome:?}", rule.id));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Zeros in the place of what nobody counted would be passed by most rules.
#[test]
fn of_a_load_that_another_program_makes_no_rule_passes_for_want_of_figures() {
    let seen = Evidence { load_unknown: Some(ANOTHER), ..only(&[], &clean_run()) };
    let with_machine = {
        let clean = clean_run();
        Evidence { observed: clean.observed, fingerprint: clean.fingerprint, ..seen.clone() }
    };
    let blind = judge_run(&seen);
    let of_load = |rule: &&Rule| rule.needs.iter().any(|need| [Need::Plan, Need::Requests].contains(need));
    let applies = |rule: &&Rule| rule.applies.to(&seen) != Ok(false) && !matches!(rule.check, Check::Sweep(_));
    for rule in rules().iter().filter(of_load).filter(applies) {
        assert!(blind.unchecked_why.contains_key(rule.id), "{} passed or fired: {blind:#?}", rule.id);
    }
    let found: Vec<&str> = blind.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(found, ["ST-06"], "that there was one run is known");
    // What needs no figures of the load is judged all the same.
    let judged = judge_run(&with_machine);
    for id in
        ["CL-08", "CL-09", "CL-10", "CL-16", "EN-01", "EN-03", "PH-02", "PH-06", "PH-08", "SV-03", "SV-04", "SV-08"]
    {
        assert!(!judged.unchecked_why.contains_key(id), "{id}: {:?}", judged.unchecked_why);
    }
}

#[test]
fn nobody_reads_that_a_check_lacked_what_its_rule_needs() {
    let Outcome::Unchecked(unmet) = Outcome::UNMET else { panic!("it is a reason") };
    let mut loads = vec![clean_run(), clean_open_run(), only(&[], &clean_run())];
    loads.extend(rules().iter().flat_map(|rule| {
        rule.needs.iter().map(|need| {
            let mut evidence = load_of(rule);
            take(*need, &mut evidence);
            evidence
        })
    }));
    for evidence in &loads {
        let why = judge_run(evidence).unchecked_why;
        assert!(why.values().all(|why| why != unmet), "{why:#?}");
    }
}

/// A load that nobody observes.
fn blind_for(why: &str, evidence: &mut Evidence) {
    let unavailable = [("machine".to_owned(), why.to_owned())].into();
    evidence.observed = Some(Observed { unavailable, ..Observed::default() });
    evidence.status.clear();
}

#[test]
fn rules_that_need_an_observer_say_that_there_was_none() {
    let mut evidence = clean_run();
    blind_for(NOT_OBSERVED, &mut evidence);
    evidence.threads.clear();
    let verdict = judge_run(&evidence);
    for rule in ["CL-10", "EN-01", "EN-03", "NE-01", "NE-04", "SV-01", "SV-02", "SV-05"] {
        assert_eq!(verdict.unchecked_why.get(rule).map(String::as_str), Some(NOT_OBSERVED), "{rule}");
    }
    assert!(verdict.unchecked_why.keys().eq(std::collections::BTreeSet::from_iter(&verdict.unchecked)));
    // What was missed for another reason keeps that.
    assert_eq!(verdict.unchecked_why["CL-01"], "CPU time of the load threads unknown");
    // An observer who finds nothing is none who was sent away.
    evidence.observed = None;
    assert!(!judge_run(&evidence).unchecked_why.values().any(|why| why == NOT_OBSERVED));
}

/// Each run with `--client` of a remote server told of a flag that nobody had written.
#[test]
fn rules_do_not_blame_a_flag_where_load_and_server_are_elsewhere() {
    let mut evidence = clean_run();
    blind_for(ALL_ELSEWHERE, &mut evidence);
    let why = judge_run(&evidence).unchecked_why;
    for rule in ["CL-10", "EN-01", "SV-01"] {
        assert_eq!(why.get(rule).map(String::as_str), Some(ALL_ELSEWHERE), "{rule}");
    }
    assert!(!why.values().any(|why| why == NOT_OBSERVED));
}

#[test]
fn sweeps_say_it_as_runs_do() {
    let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 176.0)]);
    sweep.points.iter_mut().for_each(|point| blind_for(NOT_OBSERVED, &mut point.evidence));
    let why = judge_sweep(&sweep).unchecked_why;
    assert_eq!(why["EN-01"], NOT_OBSERVED);
    assert!(
        why.keys().all(|rule| why[rule] == NOT_OBSERVED || ["CL-01", "ST-04", "ST-07"].contains(&rule.as_str())),
        "{why:#?}"
    );
}

/// "Disk vda is 100 % busy", "a load thread was 211 % busy", "receive buffers were full, 100 % of the responses": of 12 ms.
#[test]
fn in_milliseconds_no_rule_of_counters_or_shares_fires_and_each_says_why() {
    for rule in rules().iter().filter(|rule| rule.needs.contains(&Need::Window)) {
        if matches!(fault(rule.id), None | Some(Fault::Sweep(_))) {
            continue;
        }
        let of = |measured_ns: u64| judge_run(&Evidence { measured_ns, ..run(rule.id) });
        let verdict = of(12_500_000);
        assert!(verdict.findings.iter().all(|finding| finding.rule != rule.id), "{}", rule.id);
        assert_eq!(verdict.unchecked_why[rule.id], TOO_SHORT, "{}", rule.id);
        assert_ne!(of(LEAST_NS).unchecked_why.get(rule.id).map(String::as_str), Some(TOO_SHORT), "{}", rule.id);
    }
}
