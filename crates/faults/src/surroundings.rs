//! Samples of a load without faults: a quiet machine of two CPUs, and status pages.

use super::{GOOD, SECONDS};
use model::{
    Address, CountedRequests, CpuShares, Evidence, Figure, Figures, Fingerprint, GaugeObserved, GeneratorObserved,
    MachineObserved, NS_PER_S, Observed, ObservedSecond, OtherObserved, OthersObserved, ProcessObserved,
    ServerObserved, ServerThreadObserved, SocketsObserved, StatusRecord, ThreadObserved,
};
use std::collections::BTreeMap;

const CPUS: u32 = 2;

/// Counters of a clean window that are not zero.
const TRAFFIC: [(&str, &str, u64); 9] = [
    ("tcp", "InSegs", 4 * GOOD),
    ("tcp", "OutSegs", 4 * GOOD),
    ("tcp", "TCPOrigDataSent", 2 * GOOD),
    ("softnet", "processed", 4 * GOOD),
    ("nic/lo", "received_bytes", GOOD * 1_400),
    ("nic/lo", "received_packets", 2 * GOOD),
    ("nic/lo", "sent_packets", 2 * GOOD),
    ("cgroup/server", "periods", 300),
    ("cgroup/generator", "periods", 300),
];
/// Counters that stay where they are when nothing goes wrong.
const QUIET: [(&str, &[&str]); 10] = [
    (
        "tcp",
        &[
            "ListenOverflows",
            "ListenDrops",
            "SyncookiesSent",
            "TCPReqQFullDoCookies",
            "TCPReqQFullDrop",
            "RetransSegs",
            "TCPTimeouts",
            "TCPSynRetrans",
            "TCPLossProbes",
            "TCPLossProbeRecovery",
            "DelayedACKs",
            "EstabResets",
            "OutRsts",
            "TCPAbortOnMemory",
            "TCPAbortOnTimeout",
            "TCPTimeWaitOverflow",
            "TCPToZeroWindowAdv",
            "TCPFromZeroWindowAdv",
            "ActiveOpens",
            "PassiveOpens",
            "TCPRcvQDrop",
            "TCPBacklogDrop",
            "PruneCalled",
        ],
    ),
    ("softnet", &["dropped", "squeezed"]),
    ("nic/lo", &["received_dropped", "received_errors", "sent_dropped"]),
    ("paging", &["swapped_in_pages", "swapped_out_pages", "oom_kills"]),
    ("pressure/memory", &["some_ns", "full_ns"]),
    ("pressure/io", &["some_ns", "full_ns"]),
    ("pressure/cpu", &["some_ns"]),
    ("throttling", &["core_throttles"]),
    ("cgroup/server", &["throttled_periods", "throttled_ns"]),
    ("cgroup/generator", &["throttled_periods", "throttled_ns"]),
];
const LEVELS: [(&str, &str, u64); 4] = [
    ("conntrack", "connections", 100),
    ("conntrack", "connections_limit", 65_536),
    ("ports", "local_ports", 28_232),
    ("frequency", "mean_hz", 3_000_000_000),
];

pub(super) fn observed() -> Observed {
    let mut counters = Figures::new();
    let quiet = QUIET.iter().flat_map(|(part, names)| names.iter().map(move |name| (*part, *name, 0)));
    for (part, name, n) in quiet.chain(TRAFFIC) {
        counters.entry(part.to_owned()).or_default().insert(name.to_owned(), n);
    }
    let mut gauges: BTreeMap<String, BTreeMap<String, GaugeObserved>> = BTreeMap::new();
    for (part, name, value) in LEVELS {
        gauges.entry(part.to_owned()).or_default().insert(name.to_owned(), level(value));
    }
    let cpu = CpuShares { user: 0.2, system: 0.2, softirq: 0.1, steal: 0.0, idle: 0.5 };
    Observed {
        machine: Some(MachineObserved {
            cpus: CPUS,
            busy_mean: 0.5,
            busy_max: 0.6,
            cpu_shares: vec![cpu; CPUS as usize],
            cpu_busy_mean: vec![0.5; CPUS as usize],
            accounted_share: Some(1.0),
            ..MachineObserved::default()
        }),
        server: Some(ServerObserved {
            cpu_cores: 0.5,
            cpu_ns_per_request: Some(15_000.0),
            threads: vec![ServerThreadObserved { name: "nginx".to_owned(), user_mean: 0.8, ..Default::default() }],
            cpus: vec![0],
            processes: vec![ProcessObserved {
                name: "nginx".to_owned(),
                count: 3,
                fds_max: Some(80),
                fds_limit: Some(1_024),
                ..ProcessObserved::default()
            }],
            ..ServerObserved::default()
        }),
        generator: Some(GeneratorObserved {
            cpu_cores: 0.5,
            threads: vec![ThreadObserved { name: "load-0".to_owned(), busy_mean: 0.5, ..ThreadObserved::default() }],
            cpus: vec![1],
            major_faults: Some(0),
        }),
        sockets: Some(SocketsObserved {
            server: Some([("established".to_owned(), 64)].into()),
            client: [("established".to_owned(), 64)].into(),
            accept_queue_max: Some(0),
            accept_backlog: Some(511),
            accept_fullest_max: Some(0.0),
        }),
        others: Some(OthersObserved {
            cpu_cores: 0.01,
            processes: vec![OtherObserved { name: "sshd".to_owned(), cpu_cores: 0.01 }],
            undecided: Vec::new(),
        }),
        counters,
        gauges,
        seconds: (0..SECONDS).map(observed_second).collect(),
        ..Observed::default()
    }
}

fn observed_second(i: u64) -> ObservedSecond {
    let (from_ns, length_ns, server_cores) = (i * NS_PER_S, NS_PER_S, Some(0.5));
    ObservedSecond { from_ns, length_ns, server_cores, ..ObservedSecond::default() }
}

/// A machine with a good clock.
pub(super) fn fingerprint() -> Fingerprint {
    let clock = [("current_clocksource".to_owned(), "tsc".to_owned())].into();
    Fingerprint { facts: [("clock".to_owned(), clock)].into(), ..Fingerprint::default() }
}

pub(super) fn status() -> Vec<StatusRecord> {
    let page = |server: &str, figures: &[(&str, f64)]| StatusRecord {
        url: format!("http://127.0.0.1:8081/{server}"),
        server: Some(server.to_owned()),
        looks: 30,
        reason: None,
        figures: figures.iter().map(|(name, value)| ((*name).to_owned(), figure(*value, *value))).collect(),
        around: BTreeMap::new(),
        requests: None,
    };
    let counted =
        CountedRequests { server: GOOD as f64, client: GOOD as f64, span_ns: SECONDS * NS_PER_S, unclear: 0.0 };
    let nginx = page("nginx", &[("accepted", 68.0), ("handled", 68.0)]);
    vec![
        StatusRecord { requests: Some(counted), ..nginx },
        page(
            "php-fpm",
            &[("processes", 5.0), ("processes_active", 2.0), ("listen_queue", 0.0), ("max_children_reached", 0.0)],
        ),
        page(
            "mysql",
            &[
                ("threads_connected", 6.0),
                ("connections_max", 6.0),
                ("connections_limit", 151.0),
                ("connections_refused", 0.0),
            ],
        ),
    ]
}

const fn level(value: u64) -> GaugeObserved {
    GaugeObserved { mean: value as f64, max: value, min: value }
}

fn figure(first: f64, last: f64) -> Figure {
    Figure { first, last, min: first.min(last), max: first.max(last), mean: f64::midpoint(first, last) }
}

/// Lets a counter of the kernel grow by `n` in the window.
pub fn set_counter(evidence: &mut Evidence, part: &str, name: &str, n: u64) {
    let observed = evidence.observed.get_or_insert_default();
    observed.counters.entry(part.to_owned()).or_default().insert(name.to_owned(), n);
}

/// Lets the kernel tell `value` at every look.
pub fn set_gauge(evidence: &mut Evidence, part: &str, name: &str, value: u64) {
    let observed = evidence.observed.get_or_insert_default();
    observed.gauges.entry(part.to_owned()).or_default().insert(name.to_owned(), level(value));
}

/// Lets a figure on the status page of `server` go from one value to another.
pub fn set_figure(evidence: &mut Evidence, server: &str, name: &str, first: f64, last: f64) {
    let page = evidence.status.iter_mut().find(|page| page.server.as_deref() == Some(server));
    if let Some(page) = page {
        page.figures.insert(name.to_owned(), figure(first, last));
    }
}

/// What was seen of the machine.
pub fn machine(evidence: &mut Evidence) -> &mut MachineObserved {
    evidence.observed.get_or_insert_default().machine.get_or_insert_default()
}

/// What was seen of the server.
pub fn server(evidence: &mut Evidence) -> &mut ServerObserved {
    evidence.observed.get_or_insert_default().server.get_or_insert_default()
}

/// What was seen of the client.
pub fn generator(evidence: &mut Evidence) -> &mut GeneratorObserved {
    evidence.observed.get_or_insert_default().generator.get_or_insert_default()
}

/// Puts the server on another machine.
/// The server on another machine that an agent observes, and the load generator on one of its own.
pub fn seen_there(evidence: &mut Evidence) {
    evidence.plan.target.address = Address::Tcp(([192, 0, 2, 1], 80).into());
    let client = Observed { server: None, pools: Vec::new(), ..evidence.observed.clone().unwrap_or_default() };
    evidence.client_machine = Some(client);
}

/// A path that carries so much each way.
pub fn probed_path(bit_per_s: u64) -> model::Bandwidth {
    let way = Some(model::Throughput { bit_per_s, bytes: bit_per_s / 8, duration_ns: NS_PER_S });
    model::Bandwidth {
        address: "192.0.2.1".into(),
        clients: 1,
        connections: 4,
        interface: Some("eth0".into()),
        mtu_bytes: Some(1500),
        round_trip_ns: Some(200_000),
        to_server: way,
        from_server: way,
        unavailable: None,
    }
}

/// Puts the server on another machine, which nobody observes.
pub fn far_away(evidence: &mut Evidence) {
    evidence.plan.target.address = Address::Tcp(([192, 0, 2, 1], 80).into());
    let observed = evidence.observed.get_or_insert_default();
    (observed.server, observed.sockets) = (None, None);
}

/// A pool of one worker that is stopped for this share of its time, and runs for the rest.
pub fn stopped_pool(share: f64) -> model::PoolObserved {
    model::PoolObserved {
        name: "gosrv".to_owned(),
        program: "gosrv".to_owned(),
        workers_mean: 1.0,
        samples: 300,
        occupancy: 1.0,
        running: 1.0 - share,
        blocked: [("stopped".to_owned(), share)].into(),
        runs_per_s: Some(2_000.0),
        ..model::PoolObserved::default()
    }
}
