//! Faults of the load generator, the answers, the load and the curve, and of physics.

use super::Fault::{self, Closed, Open, Sweep};
use crate::testing::{Mutate, clean_open_run, clean_sweep, far_away, generator, machine, server, set_counter, tls};
use model::{
    AgentLoss, AgentRecord, AgentStart, AgentWindow, Arrivals, Estimate, Evidence, Load, NS_PER_S, SourceId,
    SweepEvidence, TlsSession,
};

pub(super) static FAULTS: &[(&str, Fault)] = &[
    ("CL-08", Closed(|e| machine(e).cpu_shares[1].steal = 0.08)),
    ("CL-09", Closed(|e| generator(e).threads[0].wait_mean = 0.31)),
    (
        "CL-10",
        Closed(|e| {
            set_counter(e, "cgroup/generator", "throttled_periods", 40);
            set_counter(e, "cgroup/generator", "throttled_ns", 2 * NS_PER_S);
        }),
    ),
    ("CL-11", Closed(|e| set_counter(e, "tcp", "TCPRcvQDrop", 20_000))),
    (
        "CL-14",
        Open(|e| {
            e.fail("send.timeout", 1_000);
            e.cohort.counts.sent -= 1_000;
        }),
    ),
    ("CL-15", Open(|e| e.latency.slip_blocked.p99_ns = 40_000_000)),
    ("CL-16", Closed(|e| generator(e).major_faults = Some(240))),
    ("CL-17", Closed(handshakes)),
    ("CL-18", Closed(lose_half)),
    ("CL-19", Closed(|e| e.agents = unlike_agents(21_000_000.0))),
    ("ER-04", Sweep(overload)),
    ("ER-06", Closed(|e| e.flow.bytes_received = 200 * 1_000_000)),
    ("ER-07", Closed(|e| e.status[0].requests.iter_mut().for_each(|counted| counted.server = 700_000.0))),
    ("ER-08", Closed(|e| e.answer(429, 300_000))),
    ("ER-09", Closed(|e| e.flow.opened = 1_000_000)),
    ("ER-17", Closed(|e| (e.connections.attempts, e.connections.fruitless.reset) = (Some(78), 14))),
    ("ER-11", Closed(|e| fetches(e, |fetch| fetch.cached = Some("X-Cache: HIT".into())))),
    (
        "ER-10",
        Closed(|e| {
            let coded = model::Coded { encoding: Some("gzip".to_owned()), size_bytes: 300 };
            e.probe.iter_mut().for_each(|probe| probe.compressed = Some(coded.clone()));
        }),
    ),
    ("ER-12", Closed(|e| server(e).cpu_ns_per_request = Some(20.0))),
    (
        "ER-13",
        Closed(|e| {
            e.plan.requests[0].method = "POST".into();
            let seconds = e.observed.iter_mut().flat_map(|observed| &mut observed.seconds);
            seconds.enumerate().for_each(|(i, second)| second.server_cores = Some(0.5 + 0.02 * i as f64));
        }),
    ),
    (
        "ER-14",
        Sweep(|| {
            let mut sweep = curve();
            sweep.points[2].evidence.flow.bytes_received /= 2;
            sweep
        }),
    ),
    (
        "LD-01",
        Open(|e| {
            e.plan.load = Load::Open { rate_per_s: 400.0, arrivals: Arrivals::Poisson, connections: 64 };
            e.sends_ns = (0..2000).map(|i| i / 8 * 20_000_000).collect();
        }),
    ),
    (
        "LD-02",
        Closed(|e| {
            e.latency.corrected_p99_ns = 1_100_000_000;
            e.latency.service.max_ns = 700_000_000;
            e.seconds[11].good /= 3;
        }),
    ),
    ("LD-05", Closed(|e| (e.latency.distinct, e.latency.step_ns) = (4, 1_000_000))),
    ("LD-06", Open(|e| e.sends_ns = (0..2000).map(|i| i / 10 * 4_000_000).collect())),
    ("LD-07", Closed(|_| {})),
    (
        "LD-08",
        Closed(|e| {
            e.plan.cpus = vec![0, 1];
            machine(e).cpu_busy_mean = vec![0.97, 0.95];
        }),
    ),
    ("ST-02", Open(|e| backlog(e, 500.0))),
    ("ST-04", Sweep(|| iterations(&[199.0, 160.0, 201.0, 161.0, 200.0, 159.0]))),
    ("ST-05", Closed(|e| e.seconds.iter_mut().enumerate().for_each(|(i, second)| second.good += 100 * i as u64))),
    ("ST-06", Closed(|_| {})),
    ("ST-07", Sweep(|| iterations(&[200.0, 202.0, 140.0, 198.0, 201.0, 199.0]))),
    ("SA-02", Sweep(|| rates(&[(1000.0, 1000.0), (2000.0, 1999.0), (4000.0, 2100.0)]))),
    ("SA-04", Sweep(|| clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 190.0), (8.0, 150.0), (16.0, 80.0)]))),
    (
        "SA-05",
        Sweep(|| {
            let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 390.0), (8.0, 400.0), (16.0, 400.0)]);
            sweep.points.iter_mut().for_each(|point| server(&mut point.evidence).threads.clear());
            sweep
        }),
    ),
    ("SA-06", Sweep(|| rates(&[(1000.0, 1000.0), (2000.0, 1500.0), (3000.0, 2995.0), (4000.0, 3000.0)]))),
    ("PH-02", Closed(|e| server(e).cpu_cores = 1.6)),
    ("PH-03", Closed(full_link)),
    (
        "PH-04",
        Sweep(|| {
            let mut sweep = clean_sweep(&[(1.0, 95.0), (2.0, 190.0), (8.0, 1_300.0)]);
            sweep.points[0].evidence.latency.service.min_ns = 10_000_000;
            sweep
        }),
    ),
    (
        "PH-05",
        Closed(|e| {
            fetches(e, |fetch| fetch.connect_ns = 20_000_000);
            e.latency.service.min_ns = 2_000_000;
        }),
    ),
    ("PH-06", Closed(|e| machine(e).accounted_share = Some(0.6))),
    ("PH-07", Sweep(|| clean_sweep(&[(1.0, 264.0), (2.0, 210.0), (4.0, 205.0)]))),
    (
        "PH-08",
        Closed(|e| {
            let facts = e.fingerprint.iter_mut().flat_map(|fingerprint| fingerprint.facts.get_mut("clock"));
            facts.for_each(|facts| drop(facts.insert("current_clocksource".to_owned(), "hpet".to_owned())));
        }),
    ),
];

fn curve() -> SweepEvidence {
    clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 198.0)])
}

/// Iterations of the second of two loads.
fn iterations(per_s: &[f64]) -> SweepEvidence {
    let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0)]);
    sweep.points[1].iterations_per_s = per_s.to_vec();
    sweep
}

/// Rates that were offered, and what came back.
pub(crate) fn rates(curve: &[(f64, f64)]) -> SweepEvidence {
    let mut sweep = clean_sweep(curve);
    sweep.over_rate = true;
    for point in &mut sweep.points {
        point.evidence = clean_open_run();
        point.evidence.cohort.counts.planned = (point.load * 30.0) as u64;
    }
    sweep
}

/// From 8 connections on a third of the answers are errors, and fast.
fn overload() -> SweepEvidence {
    let mut sweep = curve();
    for (point, completed) in sweep.points.iter_mut().zip([3_000, 5_100, 6_000, 9_000]) {
        point.evidence.flow.completed = completed;
    }
    let evidence = &mut sweep.points[3].evidence;
    evidence.fail("contract.status", 300_000);
    evidence.cohort.counts.broken_response_ns = 300_000 * 100_000;
    sweep
}

fn handshakes(evidence: &mut Evidence) {
    evidence.plan.tls = Some(tls());
    evidence.tls = Some(TlsSession { version: "TLSv1.3".into(), ..TlsSession::default() });
    (evidence.latency.handshake.n, evidence.flow.opened) = (20_064, 20_000);
}

/// One of two agents is lost after two thirds of the window.
fn lose_half(evidence: &mut Evidence) {
    let why = "its process was killed by signal 9 (SIGKILL)".to_owned();
    evidence.agents = unlike_agents(80_000.0);
    evidence.agents[0].lost = Some(AgentLoss { at_ns: 20_600_000_000, why });
    for second in &mut evidence.seconds[20..] {
        (second.lost_share, second.good, second.sent) = (0.5, second.good / 2, second.sent / 2);
    }
    let gone = evidence.flow.good / 6;
    evidence.flow.good -= gone;
    evidence.flow.completed -= gone;
}

/// Two agents, the second with this median response time; ns.
pub(crate) fn unlike_agents(second_p50_ns: f64) -> Vec<AgentRecord> {
    let agent = |(source, name, value): (u16, &str, f64)| {
        let (source, name) = (SourceId(source), name.to_owned());
        let second_p50_ns = Some(Estimate { value, low: Some(0.98 * value), high: Some(1.02 * value), n: 15 });
        AgentRecord {
            window: Some(AgentWindow { second_p50_ns, ..AgentWindow::default() }),
            ..AgentRecord::begun(&AgentStart { source, name, threads: 1, ..AgentStart::default() })
        }
    };
    [(1, "ssh://load1", 80_000.0), (2, "ssh://load2", second_p50_ns)].map(agent).into()
}

/// So many more requests wait with each second.
fn backlog(evidence: &mut Evidence, more: f64) {
    for (i, second) in evidence.seconds.iter_mut().enumerate() {
        // 33,333/s, so that a request more is 30 us.
        (second.outstanding, second.late_ns) = (64.0, (more * i as f64 * 30_000.0) as u64);
    }
}

fn fetches(evidence: &mut Evidence, mutate: impl Fn(&mut model::Fetch)) {
    evidence.probe.iter_mut().flat_map(|probe| &mut probe.fetches).for_each(mutate);
}

fn full_link(evidence: &mut Evidence) {
    far_away(evidence);
    set_counter(evidence, "nic/eth0", "received_bytes", 3_637_500_000);
    let fingerprint = evidence.fingerprint.get_or_insert_default();
    let speed = ("speed_mbit_per_s".to_owned(), "1000".to_owned());
    fingerprint.facts.insert("nic/eth0".to_owned(), [speed].into());
}
