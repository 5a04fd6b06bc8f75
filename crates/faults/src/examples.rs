//! One fault for each rule, put into a run or sweep that has no other.

mod load;

pub use load::{rates, unlike_agents};

use crate::{Mutate, clean_open_run, clean_run, clean_sweep, far_away, probe, set_counter, set_figure, set_gauge};
use model::{
    Change, Evidence, NS_PER_S, OtherObserved, OthersObserved, Profiled, Request, SERVICE_BIN_NS, SweepEvidence, Warmup,
};

/// Where the fault is.
#[derive(Clone, Copy)]
pub enum Fault {
    /// In a closed loop.
    Closed(fn(&mut Evidence)),
    /// In an open loop.
    Open(fn(&mut Evidence)),
    /// In a sweep.
    Sweep(fn() -> SweepEvidence),
}

use Fault::{Closed, Open, Sweep};

/// The fault made up for rule `id`; none where there is none.
#[must_use]
pub fn fault(id: &str) -> Option<&'static Fault> {
    all().find(|(of, ..)| *of == id).map(|(.., fault)| fault)
}

/// The fault made up for rule `id` in words, as figures that a load does not have.
#[must_use]
pub fn in_words(id: &str) -> Option<&'static str> {
    all().find(|(of, ..)| *of == id).map(|(_, words, _)| *words)
}

/// A load as it was made up.
#[derive(Clone, Debug)]
pub enum Measured {
    /// One load.
    Run(Box<Evidence>),
    /// A sweep.
    Sweep(SweepEvidence),
}

impl Fault {
    /// The load that has it.
    #[must_use]
    pub fn measured(&self) -> Measured {
        let spoilt = |mut evidence: Evidence, mutate: &fn(&mut Evidence)| {
            mutate(&mut evidence);
            Measured::Run(Box::new(evidence))
        };
        match self {
            Closed(mutate) => spoilt(clean_run(), mutate),
            Open(mutate) => spoilt(clean_open_run(), mutate),
            Sweep(sweep) => Measured::Sweep(sweep()),
        }
    }
}

/// The run with the fault of rule `id`, which is one of a run.
///
/// # Panics
/// Where nobody has made one up.
#[must_use]
pub fn run(id: &str) -> Evidence {
    match fault(id).map(Fault::measured) {
        Some(Measured::Run(evidence)) => *evidence,
        Some(Measured::Sweep(_)) | None => panic!("{id} has no run as its example"),
    }
}

/// The load of [`fault`] without it; none where there is none.
#[must_use]
pub fn clean_of(id: &str) -> Option<Fault> {
    Some(match (id, fault(id)?) {
        // Labels of every closed loop, of one page, of a server on this machine, and of every run by itself.
        ("LD-03", _) => Open(|_| {}),
        ("LD-07", _) => Closed(|evidence| evidence.plan.requests.push(Request::get("/b"))),
        ("LD-08", _) => Closed(far_away),
        ("ST-06", _) => Closed(|evidence| evidence.iterations = 6),
        ("CL-18" | "CL-19", _) => Closed(|evidence| evidence.agents = unlike_agents(81_000.0)),
        ("SA-02" | "SA-06", _) => Sweep(close_rates),
        (_, Closed(_)) => Closed(|_| {}),
        (_, Open(_)) => Open(|_| {}),
        (_, Sweep(_)) => Sweep(saturated_curve),
    })
}

/// A sweep that went past its peak, six times.
fn saturated_curve() -> SweepEvidence {
    let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 201.0)]);
    for point in &mut sweep.points {
        let noise = [0.99, 1.01, 1.0, 0.995, 1.005, 1.0];
        point.iterations_per_s = noise.map(|noise| noise * point.goodput_per_s).to_vec();
    }
    sweep
}

/// A sweep over rates whose last but one was held, and whose last, close above it, was not.
fn close_rates() -> SweepEvidence {
    rates(&[(1000.0, 1000.0), (2000.0, 1999.0), (2030.0, 1950.0)])
}

/// Each rule, its fault in words, and the fault.
fn all() -> impl Iterator<Item = &'static (&'static str, &'static str, Fault)> {
    FAULTS.iter().chain(load::FAULTS)
}

static FAULTS: &[(&str, &str, Fault)] = &[
    ("CL-01", "load thread 95 % busy in one second", Closed(|e| e.threads[1].busy_max = 0.95)),
    (
        "CL-03",
        "send delay 2.1 ms of 4 ms response time (p99)",
        Open(|e| {
            (e.latency.slip_client.p99_ns, e.latency.response.p99_ns) = (2_100_000, 4_000_000);
            e.latency.service.p99_ns = 2_000_000;
        }),
    ),
    (
        "CL-05",
        "10 % of the schedule not sent, send delay 50 ms",
        Open(|e| {
            e.cohort.counts.sent = 900_000;
            e.latency.slip_client.p99_ns = 50_000_000;
        }),
    ),
    (
        "CL-06",
        "1,006 of 10,000 connections open",
        Closed(|e| (e.connections.requested, e.connections.established) = (10_000, 1_006)),
    ),
    ("CL-07", "12,000 connects without a local port", Closed(|e| e.fail("connect.ports_exhausted", 12_000))),
    ("ER-01", "5 % unanswered", Closed(|e| e.fail("first_byte.timeout", 50_000))),
    (
        "ER-02",
        "every response a 302 to /home",
        Closed(|e| {
            e.answer(302, 1_000_000);
            let mut seen = probe(302);
            seen.fetches[0].location = Some("/home".into());
            seen.redirects = vec!["http://127.0.0.1:8080/home".into()];
            e.probe = Some(seen);
        }),
    ),
    ("ER-03", "2,000 bodies of another size", Closed(|e| e.fail("contract.size", 2_000))),
    (
        "ER-05",
        "2 % unanswered at the timeout",
        Closed(|e| {
            e.cohort.counts.censored = 20_000;
            e.fail("first_byte.timeout", 20_000);
            (e.latency.response.p99_ns, e.latency.response.max_ns) = (2 * NS_PER_S, 2 * NS_PER_S);
        }),
    ),
    (
        "ER-16",
        "half of the compared bodies are others than the probe's",
        Closed(|e| e.cohort.counts.bodies_other = e.cohort.counts.bodies_compared / 2),
    ),
    (
        "ER-15",
        "no response in the second half",
        Closed(|e| e.seconds[15..].iter_mut().for_each(|second| (second.good, second.failed) = (0, 30))),
    ),
    ("LD-03", "closed loop", Closed(|_| {})),
    ("LD-04", "10 s and 3,000 requests", Closed(|e| (e.measured_ns, e.latency.response.n) = (10 * NS_PER_S, 3_000))),
    (
        "ST-01",
        "warm-up without steady state",
        Closed(|e| {
            e.plan.warmup = Warmup::Auto;
            e.settled = false;
        }),
    ),
    (
        "ST-03",
        "170/s, then 230/s at one load level",
        Sweep(|| {
            let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 201.0)]);
            sweep.points[2].iterations_per_s = vec![170.0, 230.0];
            sweep
        }),
    ),
    ("SA-01", "sweep that still rises at its end", Sweep(|| clean_sweep(&[(1.0, 100.0), (2.0, 190.0), (4.0, 350.0)]))),
    ("SA-03", "peak at the last load level", Sweep(|| clean_sweep(&[(1.0, 100.0), (2.0, 172.0), (4.0, 175.0)]))),
    ("PH-01", "40 in flight of 64 connections", Closed(|e| (e.outstanding.mean, e.outstanding.little) = (40.0, 40.0))),
    (
        "PR-01",
        "profiled at 99 Hz",
        Closed(|e| e.profile = Some(Profiled { frequency_hz: 99, samples: 5_000, ..Profiled::default() })),
    ),
    (
        "NE-01",
        "214 overflows of an accept queue of 8",
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
        "900 SYN cookies, 120 drops",
        Closed(|e| {
            e.flow.opened = 900;
            set_counter(e, "tcp", "SyncookiesSent", 900);
            set_counter(e, "tcp", "TCPReqQFullDrop", 120);
        }),
    ),
    ("NE-03", "24,000 TCP retransmissions", Closed(|e| set_counter(e, "tcp", "RetransSegs", 24_000))),
    (
        "NE-04",
        "300 TCP timeouts, 300 responses after 1.0 s",
        Closed(|e| {
            set_counter(e, "tcp", "TCPTimeouts", 300);
            set_counter(e, "tcp", "TCPSynRetrans", 300);
            e.service_bins[bin(1_004)] += 300;
        }),
    ),
    (
        "NE-05",
        "90,000 delayed ACKs and responses after 40 ms",
        Closed(|e| {
            set_counter(e, "tcp", "DelayedACKs", 90_000);
            e.service_bins[bin(40)] += 90_000;
        }),
    ),
    (
        "NE-06",
        "1,200 packets dropped by the backlog, and as many retransmissions",
        Closed(|e| {
            set_counter(e, "softnet", "dropped", 1_200);
            set_counter(e, "tcp", "RetransSegs", 1_200);
        }),
    ),
    (
        "NE-07",
        "2,000 packets dropped by the interface, and 1,700 retransmissions",
        Closed(|e| {
            set_counter(e, "nic/lo", "sent_dropped", 2_000);
            set_counter(e, "tcp", "RetransSegs", 1_700);
        }),
    ),
    (
        "NE-08",
        "40 resets",
        Closed(|e| {
            set_counter(e, "tcp", "EstabResets", 40);
            e.fail("first_byte.reset", 40);
        }),
    ),
    (
        "NE-09",
        "64,000 of 65,536 tracked connections",
        Closed(|e| {
            set_gauge(e, "conntrack", "connections", 64_000);
            set_gauge(e, "conntrack", "connections_limit", 65_536);
        }),
    ),
    ("NE-10", "31,000 zero receive windows", Closed(|e| set_counter(e, "tcp", "TCPFromZeroWindowAdv", 31_000))),
    (
        "NE-11",
        "one CPU 97 % in softirq",
        Closed(|e| {
            let machine = e.observed.as_mut().and_then(|seen| seen.machine.as_mut());
            machine.into_iter().for_each(|machine| machine.cpu_shares[1].softirq = 0.97);
        }),
    ),
    (
        "NE-12",
        "970,000 connections to an upstream for a million requests",
        Closed(|e| set_counter(e, "tcp", "ActiveOpens", 970_000)),
    ),
    (
        "SV-01",
        "5 of 5 workers busy, 59 requests waiting",
        Closed(|e| {
            set_figure(e, "php-fpm", "processes_active", 5.0, 5.0);
            set_figure(e, "php-fpm", "listen_queue", 59.0, 59.0);
        }),
    ),
    ("SV-02", "1,032 connections accepted, not handled", Closed(|e| set_figure(e, "nginx", "accepted", 68.0, 1_100.0))),
    (
        "SV-03",
        "nginx process ended",
        Closed(|e| {
            let server = e.observed.as_mut().and_then(|seen| seen.server.as_mut());
            server.into_iter().for_each(|server| server.ended = [("nginx".to_owned(), 1)].into());
        }),
    ),
    (
        "SV-04",
        "throttled by CFS in 240 of 300 periods",
        Closed(|e| {
            set_gauge(e, "cgroup/server", "cpu_quota_ns_per_s", NS_PER_S / 2);
            set_counter(e, "cgroup/server", "throttled_periods", 240);
        }),
    ),
    (
        "SV-05",
        "1,024 of 1,024 file descriptors",
        Closed(|e| {
            let server = e.observed.as_mut().and_then(|seen| seen.server.as_mut());
            server.into_iter().for_each(|server| server.processes[0].fds_max = Some(1_024));
        }),
    ),
    (
        "SV-06",
        "812 connections refused by MariaDB",
        Closed(|e| {
            set_figure(e, "mysql", "connections_refused", 0.0, 812.0);
            set_figure(e, "mysql", "threads_connected", 151.0, 151.0);
        }),
    ),
    ("SV-08", "40,000 pages swapped out", Closed(|e| set_counter(e, "paging", "swapped_out_pages", 40_000))),
    (
        "SV-09",
        "9 of 30 s spent waiting for a disk",
        Closed(|e| {
            set_counter(e, "pressure/io", "some_ns", 9 * NS_PER_S);
            set_counter(e, "disk/vda", "busy_ns", 27 * NS_PER_S);
        }),
    ),
    (
        "EN-01",
        "7 % steal",
        Closed(|e| {
            let machine = e.observed.as_mut().and_then(|seen| seen.machine.as_mut());
            machine.into_iter().for_each(|machine| (machine.steal_mean, machine.steal_max) = (0.07, 0.31));
        }),
    ),
    ("EN-02", "throttled 14 times by heat", Closed(|e| set_counter(e, "throttling", "core_throttles", 14))),
    (
        "EN-03",
        "stress-ng on 0.6 CPUs",
        Closed(|e| {
            let Some(observed) = &mut e.observed else { return };
            let processes = vec![OtherObserved { name: "stress-ng".to_owned(), cpu_cores: 0.6 }];
            observed.others = Some(OthersObserved { cpu_cores: 0.61, processes, undecided: Vec::new() });
            observed.machine.iter_mut().for_each(|machine| machine.busy_mean = 0.98);
            observed.server.iter_mut().for_each(|server| server.cpus.clear());
        }),
    ),
    (
        "EN-04",
        "goodput 30 % lower from second 18 on",
        Closed(|e| e.seconds.iter_mut().skip(18).for_each(|second| second.good = second.good * 7 / 10)),
    ),
    (
        "EN-05",
        "somaxconn 4096, then 128",
        Closed(|e| e.changes = Some(vec![change("sysctl", "net/core/somaxconn", "4096", "128")])),
    ),
    (
        "EN-06",
        "nginx.conf with another hash",
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
