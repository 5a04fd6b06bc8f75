//! Made-up loads: clean ones, and the same with one fault for each rule that judges loads.
//!
//! The tests of the rules spoil a clean load one field at a time; the laboratory puts each rule to its fault and writes down what
//! it says, which the catalogue shows. Nothing of it is in the product.

mod examples;
mod pages;
mod surroundings;

pub use examples::{Fault, Measured, clean_of, fault, in_words, rates, run, unlike_agents};

pub use pages::{clean_page, fail_page, page_fault};
pub use surroundings::{
    far_away, generator, machine, probed_path, seen_there, server, set_counter, set_figure, set_gauge, stopped_pool,
};

use model::{
    Arrivals, Body, Cohort, Connections, Contract, Counts, Evidence, Fetch, Flow, Fruitless, Latencies, LatencySummary,
    Load, NS_PER_S, Outstanding, Plan, Probe, Request, SERVICE_BINS, Second, SizeBand, Stop, SweepEvidence, SweepPoint,
    Target, ThreadUse, TlsPlan, Warmup,
};

const GOOD: u64 = 1_000_000;
const SECONDS: u64 = 30;
const CONNECTIONS: u32 = 64;
/// By Little's law: 64 connections x 30 s / 1e6 requests.
const MEAN_NS: f64 = 1_920_000.0;

/// Of one million responses of about 1.9 ms.
fn response() -> LatencySummary {
    LatencySummary {
        n: GOOD,
        mean_ns: MEAN_NS,
        min_ns: 100_000,
        p50_ns: 1_800_000,
        p90_ns: 2_400_000,
        p95_ns: 2_800_000,
        p99_ns: 4_000_000,
        p99_9_ns: 8_000_000,
        max_ns: 20_000_000,
        ..LatencySummary::default()
    }
}

/// 30 s closed loop, 64 connections, one million good responses, automatic warm-up that settled.
pub fn clean_run() -> Evidence {
    let response = response();
    Evidence {
        plan: plan(),
        load_unknown: None,
        probe: Some(probe(200)),
        measured_ns: SECONDS * NS_PER_S,
        iterations: 1,
        agents: Vec::new(),
        flow: Flow {
            resumed: 0,
            sent: GOOD,
            completed: GOOD,
            good: GOOD,
            failed: 0,
            bytes_received: GOOD * 1_200,
            bytes_sent: GOOD * 80,
            opened: 0,
            outstanding_ns: u64::from(CONNECTIONS) * SECONDS * NS_PER_S,
            grown: 0,
            fruitless: Fruitless::default(),
        },
        cohort: Cohort {
            counts: Counts {
                planned: GOOD,
                sent: GOOD,
                completed: GOOD,
                good: GOOD,
                bodies_compared: 9_900,
                ..Counts::default()
            },
            status: [(200, GOOD)].into(),
            ..Cohort::default()
        },
        sent_in_all: None,
        connections: Connections {
            requested: CONNECTIONS,
            established: CONNECTIONS,
            opened: 64,
            attempts: Some(64),
            ..Connections::default()
        },
        tls: None,
        latency: Latencies {
            corrected_p99_ns: response.p99_ns,
            service: response.clone(),
            response,
            distinct: 900,
            step_ns: 4_000,
            ..Latencies::default()
        },
        service_bins: service_bins(),
        seconds: (0..SECONDS).map(second).collect(),
        threads: vec![ThreadUse { cpu_ns: 15 * NS_PER_S, wall_ns: SECONDS * NS_PER_S, busy_max: 0.6 }; 2],
        outstanding: Outstanding { mean: f64::from(CONNECTIONS), little: f64::from(CONNECTIONS), standard_error: 0.01 },
        sends_ns: Vec::new(),
        observed: Some(surroundings::observed()),
        client_machine: None,
        disturbance: None,
        status: surroundings::status(),
        profile: None,
        fingerprint: Some(surroundings::fingerprint()),
        bandwidth: None,
        changes: Some(Vec::new()),
        settled: true,
        interrupted: false,
    }
}

/// The same as an open loop at the same rate, with a little slip.
pub fn clean_open_run() -> Evidence {
    let mut evidence = clean_run();
    evidence.plan.load =
        Load::Open { rate_per_s: GOOD as f64 / SECONDS as f64, arrivals: Arrivals::Poisson, connections: CONNECTIONS };
    let slip = LatencySummary { n: GOOD, mean_ns: 20e3, p50_ns: 15_000, p99_ns: 60_000, ..LatencySummary::default() };
    evidence.latency.slip_client = slip;
    evidence.latency.slip_blocked = LatencySummary { n: GOOD, ..LatencySummary::default() };
    evidence.outstanding = Outstanding { mean: 30.0, little: 30.0, standard_error: 0.01 };
    evidence.sends_ns = (0..2000).map(|i| i * 30_000).collect();
    for (i, second) in evidence.seconds.iter_mut().enumerate() {
        // As a Poisson process varies: a standard deviation of 183.
        second.sent = second.sent + 150 * (i as u64 % 3) - 150 + 100 * (i as u64 % 2);
        second.outstanding = 30.0;
    }
    evidence
}

/// A clean closed-loop sweep with the given `(connections, goodput per second)`.
pub fn clean_sweep(curve: &[(f64, f64)]) -> SweepEvidence {
    let points: Vec<_> = curve
        .iter()
        .map(|&(load, goodput_per_s)| {
            let iterations_per_s = [0.99, 1.01].map(|noise| noise * goodput_per_s).to_vec();
            SweepPoint { load, goodput_per_s, iterations_per_s, evidence: clean_run() }
        })
        .collect();
    let limit = points.last().map_or(0.0, |point| point.load);
    SweepEvidence { points, limit, over_rate: false }
}

/// TLS with nothing unusual.
pub fn tls() -> TlsPlan {
    TlsPlan { verify: true, alpn: Vec::new(), resumption: true, server_name: "h".into(), extra_roots: Vec::new() }
}

/// A probe that saw `status`, without redirect.
pub fn probe(status: u16) -> Probe {
    let fetch = Fetch {
        status,
        size_bytes: 1_024,
        content_type: Some("text/html".into()),
        server: Some("nginx".into()),
        location: None,
        received_bytes: 1_200,
        surplus_bytes: 0,
        cached: None,
        body_hash: 1,
        keepalive: true,
        connect_ns: 50_000,
        response_ns: 200_000,
    };
    Probe { fetches: vec![fetch], body: Body::Stable, redirects: Vec::new(), compressed: None, sent: None, again: 0 }
}

/// Shorthands that make faults of a clean run.
pub trait Mutate {
    /// Lets `n` of the requests fail as `failure`; those in phase `contract` still complete.
    fn fail(&mut self, failure: &str, n: u64);
    /// Lets `n` of the responses have `status` instead of 200.
    fn answer(&mut self, status: u16, n: u64);
}

impl Mutate for Evidence {
    fn fail(&mut self, failure: &str, n: u64) {
        *self.cohort.failures.entry(failure.to_owned()).or_default() += n;
        self.cohort.counts.good -= n;
        self.flow.good -= n;
        self.flow.failed += n;
        if !failure.starts_with("contract.") {
            self.cohort.counts.completed -= n;
            self.flow.completed -= n;
            *self.cohort.status.get_mut(&200).expect("a clean run") -= n;
        }
    }

    fn answer(&mut self, status: u16, n: u64) {
        *self.cohort.status.get_mut(&200).expect("a clean run") -= n;
        *self.cohort.status.entry(status).or_default() += n;
    }
}

fn plan() -> Plan {
    let contract = Contract {
        status: Some(200),
        size_bytes: Some(SizeBand { min: 1_024, max: 1_024 }),
        usual_hash: Some(1),
        ..Contract::default()
    };
    let target = Target::at("127.0.0.1:8080".parse().expect("an address"));
    let (load, stop) = (Load::Closed { connections: CONNECTIONS }, Stop::Duration { duration_ns: SECONDS * NS_PER_S });
    Plan {
        requests: vec![Request { contract, ..Request::get("/") }],
        warmup: Warmup::Auto,
        timeout_ns: 2 * NS_PER_S,
        threads: 2,
        seed: 1,
        ..Plan::new(target, load, stop)
    }
}

/// Nearly all at a few milliseconds, and a thin tail.
fn service_bins() -> Vec<u64> {
    let mut bins = vec![0; SERVICE_BINS];
    bins[0] = GOOD - 10;
    bins[1..6].fill(2);
    bins
}

fn second(i: u64) -> Second {
    let n = GOOD / SECONDS;
    Second {
        from_ns: i * NS_PER_S,
        length_ns: NS_PER_S,
        good: n,
        completed: n,
        bytes_received: n * 1_200,
        sent: n,
        failed: 0,
        busy_max: 0.5,
        response_p50_ns: 1_800_000,
        response_p99_ns: 4_000_000,
        outstanding: f64::from(CONNECTIONS),
        late_ns: 0,
        clean_ns: NS_PER_S,
        clean_good: n,
        lost_share: 0.0,
    }
}
