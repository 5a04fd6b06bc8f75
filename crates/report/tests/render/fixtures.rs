//! Fixed records: what the golden files are rendered from.

#[path = "fixtures/environment.rs"]
mod environment;

use crate::series::series;
use environment::environment;
use model::{
    Arrivals, Body, Capacity, Cohort, Confidence, Confirmation, ConfirmationOutcome, Connections, Contract, Counts,
    CpuShares, CurveModel, Estimate, Evidence, FORMAT_SWEEP, Fetch, Finding, FindingState, Flow, GaugeObserved,
    GeneratorObserved, Knee, Latencies, LatencySummary, Limiter, Load, MachineObserved, ModelAicc, NS_PER_S,
    NextLimiter, Observed, ObservedSecond, OtherObserved, OthersObserved, Outstanding, Plan, PoolFit, Prediction,
    Probe, ProcessObserved, Request, RestsOn, Retrograde, RunRecord, SamplerObserved, Second, SentInAll,
    ServerObserved, ServerThreadObserved, SizeBand, SocketsObserved, Stop, SweepRecord, SweepsRecord, Target,
    ThreadObserved, ThreadUse, Utilisation, Verdict, VerdictState, Warmup,
};
use report::record::{peak, point_summary, run_record, sweeps_record};
use std::collections::BTreeMap;

pub(crate) const URL: &str = "http://127.0.0.1:8080/";
const SECONDS: u64 = 30;

/// Closed loop, nothing wrong.
pub(crate) fn valid_run() -> RunRecord {
    let evidence = Evidence { observed: Some(observed(1.24)), ..evidence(1_000_000) };
    record(&evidence, verdict(VerdictState::Valid, vec![closed_loop()], &["ER-03"]), Some(0.012))
}

/// Closed loop with a busy client, too short, so that the tail is withheld.
pub(crate) fn bound_run() -> RunRecord {
    let mut evidence = evidence(60_000);
    evidence.measured_ns = 10 * NS_PER_S;
    evidence.threads[0].busy_max = 0.97;
    evidence.latency.service.p50_ns -= 200_000;
    evidence.observed = Some(Observed {
        server: None,
        unavailable: [("server".to_owned(), "the server is not on this machine".to_owned())].into(),
        ..observed(0.0)
    });
    let busy = finding(
        "CL-01",
        FindingState::Bound,
        "a load thread was 97 % busy and may be the bottleneck: the server can do 6,000/s or more",
        "use more load threads (-t 4) if CPUs are idle, or a separate client machine",
        &[("busy_max", 0.97)],
    );
    let short = finding(
        "LD-04",
        FindingState::Bound,
        "only 10.0 s of the advised 30 s: rare events may be missing; p99.9 not shown",
        "measure longer: -d 30s",
        &[("p99_9_tail_n", 60.0)],
    );
    record(&evidence, verdict(VerdictState::Bound, vec![busy, short, closed_loop()], &[]), None)
}

/// Open loop with failures, timeouts and lost connections.
pub(crate) fn invalid_run() -> RunRecord {
    let mut evidence = evidence(1_000_000);
    evidence.plan.load = Load::Open { rate_per_s: 33_400.0, arrivals: Arrivals::Poisson, connections: 64 };
    evidence.plan.keepalive = false;
    evidence.interrupted = true;
    evidence.observed = Some(observed(0.31));
    evidence.cohort.counts.planned = 1_002_000;
    evidence.cohort.counts.good = 950_000;
    evidence.flow.good = 950_000;
    evidence.cohort.counts.censored = 12_000;
    evidence.cohort.status = [(200, 950_000), (503, 38_000)].into();
    evidence.cohort.failures =
        [("contract.status", 38_000), ("first_byte.timeout", 12_000), ("connect.refused", 2_000)]
            .map(|(name, n)| (name.to_owned(), n))
            .into();
    evidence.connections.established = 60;
    evidence.connections.reconnects = 1_000_000;
    evidence.latency.response.p99_ns = 2 * NS_PER_S;
    evidence.latency.response.p99_9_ns = 2 * NS_PER_S;
    evidence.latency.response.max_ns = 2 * NS_PER_S;
    evidence.latency.service = evidence.latency.response.clone();
    evidence.latency.slip_client = summary(20_000);
    evidence.latency.slip_blocked = summary(150_000);
    let missing = finding(
        "CL-06",
        FindingState::Invalid,
        "only 60 of 64 connections were open at the start (2,000 connect.refused): not the requested load",
        "raise the server's connection limit and backlog, or use -c 60",
        &[("requested", 64.0), ("established", 60.0)],
    );
    let errors = finding(
        "ER-01",
        FindingState::Invalid,
        "52,000 of 1,002,000 requests failed (5.2 %): contract.status 38,000, first_byte.timeout 12,000 and \
         connect.refused 2,000; by status 503 38,000",
        "a rate limiter may be answering instead of the application: exempt this client, or lower the load",
        &[("share", 0.052)],
    );
    let tail = finding(
        "ER-05",
        FindingState::Bound,
        "12,000 requests (1.2 %) had no answer in 2.00 s: p99, p99.9 and max are lower bounds",
        "raise --timeout above 2.00 s, or lower the load",
        &[("p99_at_least_ns", 2e9), ("p99_9_at_least_ns", 2e9), ("max_at_least_ns", 2e9)],
    );
    record(&evidence, verdict(VerdictState::Invalid, vec![missing, errors, tail], &[]), None)
}

/// A pool of 4 workers behind 1 to 1024 connections.
pub(crate) fn valid_sweep() -> SweepRecord {
    let mut record = sweep(4.0, (0..11).map(|i| f64::from(1 << i)).collect(), true);
    record.knee = Some(Knee { load: 4.2, low: Some(4.04), high: Some(4.41), goodput_per_s: 4_000.0 });
    record.plateau = Some(Estimate { value: 4_000.0, low: Some(3_962.0), high: Some(4_041.0), n: 33 });
    record.retrograde = Some(Retrograde {
        from_load: 32.0,
        load: 1024.0,
        goodput_per_s: 2_976.0,
        loss: 0.255,
        low: Some(0.241),
        high: Some(0.269),
    });
    record.model = Some(CurveModel::Pool);
    record.aicc = Some(ModelAicc { pool: Some(-44.1), usl: Some(-30.2) });
    record.saturated = true;
    record.limiter = Some(limiter());
    record.fit = Some(PoolFit { residence_ns: 1_050_000.0, plateau_per_s: 4_000.0, sharpness: 3.0, error_max: 0.02 });
    record
}

/// Four workers, all busy, and what eight would do.
fn limiter() -> Limiter {
    let ratio = Estimate { value: 1.97, low: Some(1.94), high: Some(2.0), n: 6 };
    Limiter {
        name: "worker-pool-limited".to_owned(),
        resource: "php-fpm workers".to_owned(),
        says: "all 4 php-fpm workers are occupied 100 % of the time, 1.00 ms per response (95 % of it waiting on \
               mariadbd); 1,020 requests wait for them: at most 4,000/s"
            .to_owned(),
        confidence: Confidence::Confirmed,
        evidence: [("workers".to_owned(), 4.0), ("occupancy".to_owned(), 1.0)].into(),
        ceiling_per_s: Some(4_000.0),
        next: Some(NextLimiter { name: "server CPUs".to_owned(), ceiling_per_s: 9_000.0 }),
        prediction: Some(Prediction {
            change: "8 php-fpm workers instead of 4".to_owned(),
            setting: Some("pm.max_children".to_owned()),
            from: Some(4.0),
            to: Some(8.0),
            expected_per_s: 8_000.0,
            low_per_s: None,
            high_per_s: None,
        }),
        utilisations: vec![Utilisation {
            resource: "php-fpm workers".to_owned(),
            share: 1.0,
            ceiling_per_s: Some(4_000.0),
        }],
        unchecked: vec!["disk: disks not monitored".to_owned()],
        load: Some(1024.0),
        confirmation: Some(Confirmation {
            resource: String::new(),
            setting: "children".to_owned(),
            from: 4,
            to: 8,
            connections: 1024,
            predicted_per_s: 8_000.0,
            predicted_ratio: 2.0,
            before_per_s: 4_000.0,
            after_per_s: 7_880.0,
            ratio,
            outcome: ConfirmationOutcome::Confirmed,
            control: None,
            blocks: Vec::new(),
            says: "children 4 -> 8: 8,000/s predicted, 7,880/s measured: confirmed".to_owned(),
        }),
        possible: Vec::new(),
        confirmation_unavailable: None,
    }
}

/// The same, stopped before the curve bends.
pub(crate) fn bound_sweep() -> SweepRecord {
    let mut record = sweep(4.0, vec![1.0, 2.0, 3.0], false);
    record.verdict = verdict(
        VerdictState::Bound,
        vec![
            finding(
                "SA-01",
                FindingState::Bound,
                "goodput still rose by 100 % per doubling at 3 connections: the server can do 2,850/s or more",
                "go further: --to 12",
                &[("last_load", 3.0)],
            ),
            closed_loop(),
        ],
        &["ER-03"],
    );
    record.capacity = Some(Capacity {
        value: record.peak.expect("three points").goodput_per_s,
        low: Some(record.peak.expect("three points").goodput_per_s),
        high: None,
        n: 3,
        reason: "no load above it failed".to_owned(),
    });
    record.limiter = Some(Limiter {
        name: "not-saturated".to_owned(),
        says: "3 connections can request at most 2,850/s (each response takes 1.05 ms)".to_owned(),
        ..Limiter::default()
    });
    record
}

/// Pools of 4 and of 2 workers, one after the other.
pub(crate) fn arms() -> SweepsRecord {
    let mut slower = sweep(2.0, (0..9).map(|i| f64::from(1 << i)).collect(), true);
    slower.knee = Some(Knee { load: 2.1, goodput_per_s: 2_000.0, ..Knee::default() });
    slower.saturated = true;
    slower.limiter = Some(Limiter {
        name: "single-thread-limited".to_owned(),
        resource: "thread apache2".to_owned(),
        says: "one thread (apache2) is 99 % busy, while the server's CPUs are 30 % busy".to_owned(),
        ..Limiter::default()
    });
    slower.started = "2026-01-02T03:09:05Z".to_owned();
    let varies = finding(
        "ST-03",
        FindingState::Warning,
        "goodput varies at 2 connections: CV 33 % in 3 iterations, a coarse estimate",
        "measure longer (-d), more often (--iterations 6), or on a quieter machine",
        &[("cv", 0.33)],
    );
    slower.verdict = verdict(VerdictState::Bound, vec![withheld_tail(), varies, closed_loop()], &["ST-01"]);
    sweeps_record(vec![("nginx workers=4".to_owned(), valid_sweep()), ("apache mpm=event".to_owned(), slower)])
}

/// A page behind two redirects, whose body changes.
pub(crate) fn redirecting_probe() -> Probe {
    let mut probe = stable_probe();
    probe.body = Body::ChangingSize;
    probe.fetches.push(probe.fetches[0].clone());
    probe.fetches[0].status = 302;
    probe.fetches[0].location = Some("/home".to_owned());
    probe.fetches[1].size_bytes = 1_100;
    probe.fetches[1].keepalive = false;
    probe.redirects = vec!["http://127.0.0.1:8080/home".to_owned(), "https://example.org/home/".to_owned()];
    probe
}

/// A plain page.
pub(crate) fn stable_probe() -> Probe {
    let fetch = Fetch {
        status: 200,
        size_bytes: 1_024,
        content_type: Some("text/html".to_owned()),
        server: Some("nginx/1.28.0".to_owned()),
        location: None,
        received_bytes: 1_224,
        surplus_bytes: 0,
        cached: None,
        body_hash: 1,
        keepalive: true,
        connect_ns: 50_000,
        response_ns: 212_000,
    };
    Probe { fetches: vec![fetch], body: Body::Stable, redirects: Vec::new(), compressed: None, sent: None, again: 0 }
}

/// A pool of `workers` of 1 ms each behind these connections.
fn sweep(workers: f64, loads: Vec<f64>, complete: bool) -> SweepRecord {
    let (mut points, mut curve) = (Vec::new(), Vec::new());
    for load in loads {
        let goodput_per_s = if load < workers { load * 950.0 } else { workers * 1_000.0 - load };
        let mut evidence = evidence((goodput_per_s * SECONDS as f64) as u64);
        evidence.iterations = 3;
        evidence.plan.load = Load::Closed { connections: load as u32 };
        for thread in &mut evidence.threads {
            thread.busy_max = 0.08 + load.log2() / 50.0;
        }
        if load > 500.0 {
            evidence.cohort.failures = [("first_byte.timeout".to_owned(), 640)].into();
        }
        evidence.observed = Some(observed(goodput_per_s / 3_000.0));
        let mean_ns = (load / goodput_per_s * 1e9) as u64;
        evidence.latency.response = summary(mean_ns);
        evidence.latency.service = summary(mean_ns);
        let withheld = if load < 4.0 { vec![withheld_tail()] } else { Vec::new() };
        let run = record(&evidence, verdict(VerdictState::Valid, withheld, &[]), None);
        let iterations = [0.99, 1.0, 1.01].map(|noise| noise * goodput_per_s).to_vec();
        curve.push(point_summary(load, iterations, &run));
        points.push(run);
    }
    SweepRecord {
        sent_in_all: Some(SentInAll { probe: 3, warmup: 40_000, window: 500_000, after: 12 }),
        thresholds: Vec::new(),
        rests_on: RestsOn::default(),
        format: FORMAT_SWEEP.to_owned(),
        arm: None,
        verdict: verdict(VerdictState::Valid, vec![closed_loop()], &[]),
        over: "connections".to_owned(),
        points,
        peak: peak(&curve),
        plateau: None,
        plateau_range_per_s: None,
        retrograde: None,
        model: None,
        aicc: None,
        curve,
        knee: None,
        capacity: None,
        fit: None,
        usl: None,
        saturated: false,
        limit: None,
        rise_end: None,
        limiter: None,
        profile: None,
        profile_unavailable: None,
        environment: environment(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: !complete,
        agent_lost: None,
    }
}

fn withheld_tail() -> Finding {
    finding("LD-04", FindingState::Bound, "too few", "longer", &[("p99_tail_n", 60.0), ("p99_9_tail_n", 6.0)])
}

fn closed_loop() -> Finding {
    finding(
        "LD-03",
        FindingState::Note,
        "closed loop: independent users would wait longer",
        "try -R 23000",
        &[("connections", 64.0)],
    )
}

fn finding(rule: &str, state: FindingState, message: &str, remedy: &str, figures: &[(&str, f64)]) -> Finding {
    Finding {
        rule: rule.to_owned(),
        state,
        message: message.to_owned(),
        remedy: remedy.to_owned(),
        evidence: figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    }
}

fn verdict(state: VerdictState, findings: Vec<Finding>, unchecked: &[&str]) -> Verdict {
    Verdict {
        state,
        findings,
        unchecked: unchecked.iter().map(|id| (*id).to_owned()).collect(),
        unchecked_why: BTreeMap::new(),
    }
}

/// The record of `evidence`; `spread` is the relative half-width of the interval, if there is one.
fn record(evidence: &Evidence, verdict: Verdict, spread: Option<f64>) -> RunRecord {
    let value = evidence.flow.good as f64 * NS_PER_S as f64 / evidence.measured_ns as f64;
    let goodput = Estimate {
        value,
        low: spread.map(|spread| value * (1.0 - spread)),
        high: spread.map(|spread| value * (1.0 + spread)),
        n: 10,
    };
    run_record(evidence, verdict, goodput, environment(), "2026-01-02T03:04:05Z".to_owned())
}

fn evidence(good: u64) -> Evidence {
    let latency = summary(1_920_000);
    Evidence {
        plan: plan(),
        load_unknown: None,
        probe: Some(stable_probe()),
        measured_ns: SECONDS * NS_PER_S,
        disturbance: None,
        iterations: 1,
        agents: Vec::new(),
        flow: Flow {
            sent: good,
            completed: good,
            good,
            bytes_received: good * 1_224,
            bytes_sent: good * 80,
            outstanding_ns: 64 * SECONDS * NS_PER_S,
            ..Flow::default()
        },
        cohort: Cohort {
            counts: Counts { planned: good, sent: good, completed: good, good, ..Counts::default() },
            status: [(200, good)].into(),
            ..Cohort::default()
        },
        sent_in_all: Some(SentInAll { probe: 3, warmup: 2_000, window: good, after: 4 }),
        connections: Connections { requested: 64, established: 64, opened: 64, ..Connections::default() },
        tls: None,
        latency: Latencies { response: latency.clone(), service: latency.clone(), ..Latencies::default() },
        service_bins: Vec::new(),
        seconds: vec![Second {
            from_ns: 0,
            length_ns: NS_PER_S,
            good: good / SECONDS,
            completed: good / SECONDS,
            bytes_received: good / SECONDS * 1_200,
            sent: good / SECONDS,
            failed: 0,
            busy_max: 0.5,
            response_p50_ns: latency.p50_ns,
            response_p99_ns: latency.p99_ns,
            outstanding: 64.0,
            late_ns: 0,
            clean_ns: SECONDS * NS_PER_S,
            clean_good: good,
            lost_share: 0.0,
        }],
        threads: vec![ThreadUse { cpu_ns: 15 * NS_PER_S, wall_ns: SECONDS * NS_PER_S, busy_max: 0.61 }; 2],
        outstanding: Outstanding { mean: 64.0, little: 64.0, standard_error: 0.01 },
        sends_ns: Vec::new(),
        observed: None,
        client_machine: None,
        status: Vec::new(),
        profile: None,
        bandwidth: None,
        fingerprint: None,
        changes: None,
        settled: true,
        interrupted: false,
    }
}

/// A server of two kinds of processes that keeps `cores` of 4 CPUs busy, for five seconds.
fn observed(cores: f64) -> Observed {
    let process = |name, count, share| process(name, count, cores * share);
    let second = |i: u64| ObservedSecond {
        from_ns: i * NS_PER_S,
        length_ns: NS_PER_S,
        machine_cores: Some(cores + 0.9 + 0.1 * i as f64),
        steal_cores: Some(0.0),
        server_cores: Some(cores),
        companions_cores: Some(0.04),
        generator_cores: Some(0.6),
        server_rss_bytes: Some(16_000_000),
        established: Some(64),
        pools: Default::default(),
    };
    Observed {
        machine: Some(MachineObserved {
            cpus: 4,
            busy_mean: (cores + 0.9) / 4.0,
            busy_max: (cores + 1.0) / 4.0,
            user_mean: 0.2,
            system_mean: 0.2,
            cpu_busy_mean: vec![0.5; 4],
            cpu_shares: vec![CpuShares { user: 0.2, system: 0.2, softirq: 0.1, steal: 0.0, idle: 0.5 }; 4],
            accounted_share: Some(0.97),
            ..MachineObserved::default()
        }),
        server: Some(ServerObserved {
            cpu_cores: cores,
            cpu_cores_max: cores,
            cpu_ns_per_request: Some(cores * 30_000.0),
            rss_bytes_max: 16_000_000,
            processes: vec![process("nginx", 3, 0.75), process("php-fpm", 1, 0.25)],
            ended_unaccounted: 0,
            ended: [("php-fpm".to_owned(), 2)].into(),
            threads: vec![thread(cores)],
            threads_seen: 4,
            cpus: vec![0, 1],
        }),
        generator: Some(generator()),
        sockets: Some(SocketsObserved {
            server: Some([("established".to_owned(), 64), ("time_wait".to_owned(), 5)].into()),
            client: [("established".to_owned(), 64)].into(),
            accept_queue_max: Some(0),
            accept_backlog: Some(511),
            accept_fullest_max: Some(0.0),
        }),
        companions: [("mariadbd".to_owned(), companion())].into(),
        others: Some(OthersObserved {
            cpu_cores: 0.12,
            processes: vec![OtherObserved { name: "cron".to_owned(), cpu_cores: 0.1 }],
            undecided: Vec::new(),
        }),
        counters: [("tcp".to_owned(), [("ListenDrops".to_owned(), 0), ("RetransSegs".to_owned(), 3)].into())].into(),
        gauges: [(
            "sockstat".to_owned(),
            [("tcp_time_wait".to_owned(), GaugeObserved { mean: 5.5, max: 8, min: 2 })].into(),
        )]
        .into(),
        sampler: Some(SamplerObserved { looks: 5, cpu_ns_per_look: 2e6, cpu_ns_max: 3_000_000, cpu_share: 0.002 }),
        pools: Vec::new(),
        pools_sampler: None,
        seconds: (0..5).map(second).collect(),
        series: series(cores),
        unavailable: Default::default(),
    }
}

/// A client of one thread.
fn generator() -> GeneratorObserved {
    GeneratorObserved {
        cpu_cores: 0.6,
        threads: vec![ThreadObserved {
            name: "load-0".to_owned(),
            busy_mean: 0.5,
            wait_mean: 0.01,
            runs_per_s: 9_000.0,
        }],
        cpus: vec![2, 3],
        major_faults: Some(0),
    }
}

/// Processes of a name that keep `cores` CPUs busy.
fn process(name: &str, count: u32, cores: f64) -> ProcessObserved {
    ProcessObserved {
        name: name.to_owned(),
        count,
        cpu_cores: cores,
        cpu_ns_per_request: Some(cores * 30_000.0),
        rss_bytes_max: 4_000_000 * u64::from(count),
        vms_bytes_max: 9_000_000 * u64::from(count),
        pss_bytes_max: Some(3_000_000 * u64::from(count)),
        fds_max: Some(80),
        fds_limit: Some(1_024),
    }
}

fn thread(cores: f64) -> ServerThreadObserved {
    ServerThreadObserved {
        pid: 71,
        tid: 72,
        name: "nginx".to_owned(),
        user_mean: cores * 0.1,
        system_mean: cores * 0.3,
        wait_mean: Some(0.02),
        voluntary_switches_per_s: 812.5,
        involuntary_switches_per_s: 3.25,
    }
}

fn companion() -> ServerObserved {
    ServerObserved {
        cpu_cores: 0.04,
        cpu_cores_max: 0.05,
        rss_bytes_max: 90_000_000,
        processes: vec![ProcessObserved { rss_bytes_max: 90_000_000, ..process("mariadbd", 1, 0.04) }],
        ..ServerObserved::default()
    }
}

fn summary(mean_ns: u64) -> LatencySummary {
    LatencySummary {
        n: 1_000_000,
        mean_ns: mean_ns as f64,
        min_ns: mean_ns / 10,
        p50_ns: mean_ns,
        p90_ns: mean_ns * 3 / 2,
        p95_ns: mean_ns * 2,
        p99_ns: mean_ns * 3,
        p99_9_ns: mean_ns * 5,
        max_ns: mean_ns * 9,
        ..LatencySummary::default()
    }
}

fn plan() -> Plan {
    let contract =
        Contract { status: Some(200), size_bytes: Some(SizeBand { min: 1_024, max: 1_024 }), ..Contract::default() };
    let target = Target { url: URL.to_owned(), ..Target::at("127.0.0.1:8080".parse().expect("an address")) };
    let (load, stop) = (Load::Closed { connections: 64 }, Stop::Duration { duration_ns: SECONDS * NS_PER_S });
    Plan {
        requests: vec![Request { contract, ..Request::get("/") }],
        warmup: Warmup::Auto,
        timeout_ns: 2 * NS_PER_S,
        threads: 2,
        seed: 1,
        ..Plan::new(target, load, stop)
    }
}
