//! Faults of the load generator, the answers, the load and the curve, and of physics.

use super::Fault::{self, Closed, Open, Sweep};
use crate::{Mutate, clean_open_run, clean_sweep, far_away, generator, machine, server, set_counter, tls};
use model::{
    AgentLoss, AgentRecord, AgentStart, AgentWindow, Arrivals, Estimate, Evidence, Load, NS_PER_S, Recording, SourceId,
    SweepEvidence, TlsSession,
};

pub(super) static FAULTS: &[(&str, &str, Fault)] = &[
    ("CL-08", "8 % steal on the client's CPU", Closed(|e| machine(e).cpu_shares[1].steal = 0.08)),
    ("CL-09", "load thread 31 % in run-queue wait", Closed(|e| generator(e).threads[0].wait_mean = 0.31)),
    (
        "CL-10",
        "40 periods throttled by CFS, 2 s in all",
        Closed(|e| {
            set_counter(e, "cgroup/generator", "throttled_periods", 40);
            set_counter(e, "cgroup/generator", "throttled_ns", 2 * NS_PER_S);
        }),
    ),
    (
        "CL-11",
        "20,000 segments dropped from the receive queue",
        Closed(|e| set_counter(e, "tcp", "TCPRcvQDrop", 20_000)),
    ),
    (
        "CL-14",
        "1,000 of a million requests never sent",
        Open(|e| {
            e.fail("send.timeout", 1_000);
            e.cohort.counts.sent -= 1_000;
        }),
    ),
    ("CL-15", "connection wait 40 ms (p99)", Open(|e| e.latency.slip_blocked.p99_ns = 40_000_000)),
    ("CL-16", "240 major page faults", Closed(|e| generator(e).major_faults = Some(240))),
    ("CL-17", "20,000 TLS handshakes for a million requests", Closed(handshakes)),
    ("CL-18", "one of two agents lost after two thirds of the window", Closed(lose_half)),
    (
        "CL-19",
        "median response times of 80 µs at one agent and 21 ms at another",
        Closed(|e| e.agents = unlike_agents(21_000_000.0)),
    ),
    ("ER-04", "at 8 connections a third fail, in 0.1 ms", Sweep(overload)),
    ("ER-06", "a sixth of the bytes that the probe got", Closed(|e| e.flow.bytes_received = 200 * 1_000_000)),
    (
        "ER-07",
        "the server counted 700,000 of a million requests",
        Closed(|e| e.status[0].requests.iter_mut().for_each(|counted| counted.server = 700_000.0)),
    ),
    ("ER-08", "300,000 responses 429", Closed(|e| e.answer(429, 300_000))),
    ("ER-09", "connection per request", Closed(|e| e.flow.opened = 1_000_000)),
    (
        "ER-17",
        "14 of 78 connections reset before any response",
        Closed(|e| (e.connections.attempts, e.connections.fruitless.reset) = (Some(78), 14)),
    ),
    (
        "ER-11",
        "`X-Cache: HIT` in the probe's response",
        Closed(|e| fetches(e, |fetch| fetch.cached = Some("X-Cache: HIT".into()))),
    ),
    (
        "ER-10",
        "gzip of 300 of 1,024 bytes for clients that take it",
        Closed(|e| {
            let coded = model::Coded { encoding: Some("gzip".to_owned()), size_bytes: 300 };
            e.probe.iter_mut().for_each(|probe| probe.compressed = Some(coded.clone()));
        }),
    ),
    ("ER-12", "20 ns of server CPU per request", Closed(|e| server(e).cpu_ns_per_request = Some(20.0))),
    (
        "ER-13",
        "POST, and server CPU that doubles in the window",
        Closed(|e| {
            e.plan.requests[0].method = "POST".into();
            let seconds = e.observed.iter_mut().flat_map(|observed| &mut observed.seconds);
            seconds.enumerate().for_each(|(i, second)| second.server_cores = Some(0.5 + 0.02 * i as f64));
        }),
    ),
    (
        "ER-14",
        "half the bytes at the third load level",
        Sweep(|| {
            let mut sweep = curve();
            sweep.points[2].evidence.flow.bytes_received /= 2;
            sweep
        }),
    ),
    (
        "LD-01",
        "Poisson schedule sent in bursts of 8",
        Open(|e| {
            e.plan.load = Load::Open { rate_per_s: 400.0, arrivals: Arrivals::Poisson, connections: 64 };
            e.sends_ns = (0..2000).map(|i| i / 8 * 20_000_000).collect();
        }),
    ),
    (
        "LD-02",
        "closed loop with corrected p99 1.1 s",
        Closed(|e| {
            e.latency.corrected_p99_ns = 1_100_000_000;
            e.latency.service.max_ns = 700_000_000;
            e.seconds[11].good /= 3;
        }),
    ),
    ("LD-05", "4 distinct values up to p99", Closed(|e| (e.latency.distinct, e.latency.step_ns) = (4, 1_000_000))),
    (
        "LD-06",
        "repeatedly ten requests sent at one instant",
        Open(|e| e.sends_ns = (0..2000).map(|i| i / 10 * 4_000_000).collect()),
    ),
    ("LD-07", "one URL", Closed(|_| {})),
    ("LD-09", "recording of which 12 of 41 requests were taken", Closed(|e| e.plan.recording = Some(recording()))),
    (
        "LD-08",
        "client and server share two CPUs, 97 % busy",
        Closed(|e| {
            e.plan.cpus = vec![0, 1];
            machine(e).cpu_busy_mean = vec![0.97, 0.95];
        }),
    ),
    ("ST-02", "backlog that grows by 500 requests a second", Open(|e| backlog(e, 500.0))),
    (
        "ST-04",
        "iterations at 160/s and at 200/s in turn",
        Sweep(|| iterations(&[199.0, 160.0, 201.0, 161.0, 200.0, 159.0])),
    ),
    (
        "ST-05",
        "goodput that rises every second",
        Closed(|e| e.seconds.iter_mut().enumerate().for_each(|(i, second)| second.good += 100 * i as u64)),
    ),
    ("ST-06", "one run", Closed(|_| {})),
    (
        "ST-07",
        "iteration of 140/s among five of 200/s",
        Sweep(|| iterations(&[200.0, 202.0, 140.0, 198.0, 201.0, 199.0])),
    ),
    (
        "SA-02",
        "2,000/s sustained, 4,000/s not",
        Sweep(|| rates(&[(1000.0, 1000.0), (2000.0, 1999.0), (4000.0, 2100.0)])),
    ),
    (
        "SA-04",
        "80/s at 16 connections, 200/s at 2",
        Sweep(|| clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 190.0), (8.0, 150.0), (16.0, 80.0)])),
    ),
    (
        "SA-05",
        "knee without a busy resource",
        Sweep(|| {
            let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 390.0), (8.0, 400.0), (16.0, 400.0)]);
            sweep.points.iter_mut().for_each(|point| server(&mut point.evidence).threads.clear());
            sweep
        }),
    ),
    (
        "SA-06",
        "3,000/s sustained, 2,000/s not",
        Sweep(|| rates(&[(1000.0, 1000.0), (2000.0, 1500.0), (3000.0, 2995.0), (4000.0, 3000.0)])),
    ),
    ("PH-02", "1.6 CPUs used of one", Closed(|e| server(e).cpu_cores = 1.6)),
    ("PH-03", "970 Mbit/s on a link of 1,000", Closed(full_link)),
    (
        "PH-04",
        "1,300/s at 8 connections, 10 ms at one",
        Sweep(|| {
            let mut sweep = clean_sweep(&[(1.0, 95.0), (2.0, 190.0), (8.0, 1_300.0)]);
            sweep.points[0].evidence.latency.service.min_ns = 10_000_000;
            sweep
        }),
    ),
    (
        "PH-05",
        "response in 2 ms, connect in 20 ms",
        Closed(|e| {
            fetches(e, |fetch| fetch.connect_ns = 20_000_000);
            e.latency.service.min_ns = 2_000_000;
        }),
    ),
    ("PH-06", "processes with 60 % of the busy time", Closed(|e| machine(e).accounted_share = Some(0.6))),
    (
        "PH-07",
        "264/s at one connection, 210/s at most with more",
        Sweep(|| clean_sweep(&[(1.0, 264.0), (2.0, 210.0), (4.0, 205.0)])),
    ),
    (
        "PH-08",
        "clocksource hpet",
        Closed(|e| {
            let facts = e.fingerprint.iter_mut().flat_map(|fingerprint| fingerprint.facts.get_mut("clock"));
            facts.for_each(|facts| drop(facts.insert("current_clocksource".to_owned(), "hpet".to_owned())));
        }),
    ),
];

/// A page that is mostly made of what other servers send.
fn recording() -> Recording {
    let origin = "http://shop.example".to_owned();
    Recording { origin, taken: 12, recorded: 41, other_servers: 28, redirects: 1, without_body: 0 }
}

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
pub fn rates(curve: &[(f64, f64)]) -> SweepEvidence {
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
pub fn unlike_agents(second_p50_ns: f64) -> Vec<AgentRecord> {
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
