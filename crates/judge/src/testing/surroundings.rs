//! What is seen beside a load that nothing is wrong with: a quiet machine of two CPUs, and status pages.

use super::GOOD;
use model::{
    CpuShares, Evidence, Figure, Figures, GaugeObserved, MachineObserved, Observed, OtherObserved, OthersObserved,
    ProcessObserved, ServerObserved, SocketsObserved, StatusRecord,
};
use std::collections::BTreeMap;

const CPUS: u32 = 2;

/// Counters of a clean window that are not zero.
const TRAFFIC: [(&str, &str, u64); 8] = [
    ("tcp", "InSegs", 4 * GOOD),
    ("tcp", "OutSegs", 4 * GOOD),
    ("tcp", "TCPOrigDataSent", 2 * GOOD),
    ("softnet", "processed", 4 * GOOD),
    ("nic/lo", "received_bytes", GOOD * 1_400),
    ("nic/lo", "received_packets", 2 * GOOD),
    ("nic/lo", "sent_packets", 2 * GOOD),
    ("cgroup/server", "periods", 300),
];
/// Counters that stay where they are when nothing goes wrong.
const QUIET: [(&str, &[&str]); 9] = [
    (
        "tcp",
        &[
            "ListenOverflows", "ListenDrops", "SyncookiesSent", "TCPReqQFullDoCookies", "TCPReqQFullDrop", "RetransSegs",
            "TCPTimeouts", "TCPSynRetrans", "TCPLossProbes", "DelayedACKs", "EstabResets", "OutRsts", "TCPAbortOnMemory",
            "TCPAbortOnTimeout", "TCPTimeWaitOverflow", "TCPToZeroWindowAdv", "TCPFromZeroWindowAdv", "ActiveOpens",
            "PassiveOpens",
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
            ..MachineObserved::default()
        }),
        server: Some(ServerObserved {
            cpu_cores: 0.5,
            processes: vec![ProcessObserved {
                name: "nginx".to_owned(),
                count: 3,
                fds_max: Some(80),
                fds_limit: Some(1_024),
                ..ProcessObserved::default()
            }],
            ..ServerObserved::default()
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
        }),
        counters,
        gauges,
        ..Observed::default()
    }
}

pub(super) fn status() -> Vec<StatusRecord> {
    let page = |server: &str, figures: &[(&str, f64)]| StatusRecord {
        url: format!("http://127.0.0.1:8081/{server}"),
        server: Some(server.to_owned()),
        looks: 30,
        reason: None,
        figures: figures.iter().map(|(name, value)| ((*name).to_owned(), figure(*value, *value))).collect(),
    };
    vec![
        page("nginx", &[("accepted", 68.0), ("handled", 68.0)]),
        page("php-fpm", &[("processes", 5.0), ("processes_active", 2.0), ("listen_queue", 0.0), ("max_children_reached", 0.0)]),
        page(
            "mariadb",
            &[("Max_used_connections", 6.0), ("max_connections", 151.0), ("Connection_errors_max_connections", 0.0)],
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
pub(crate) fn set_counter(evidence: &mut Evidence, part: &str, name: &str, n: u64) {
    let observed = evidence.observed.get_or_insert_default();
    observed.counters.entry(part.to_owned()).or_default().insert(name.to_owned(), n);
}

/// Lets the kernel tell `value` at every look.
pub(crate) fn set_gauge(evidence: &mut Evidence, part: &str, name: &str, value: u64) {
    let observed = evidence.observed.get_or_insert_default();
    observed.gauges.entry(part.to_owned()).or_default().insert(name.to_owned(), level(value));
}

/// Lets a figure on the status page of `server` go from one value to another.
pub(crate) fn set_figure(evidence: &mut Evidence, server: &str, name: &str, first: f64, last: f64) {
    let page = evidence.status.iter_mut().find(|page| page.server.as_deref() == Some(server));
    if let Some(page) = page {
        page.figures.insert(name.to_owned(), figure(first, last));
    }
}
