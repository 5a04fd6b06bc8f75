//! Every setting at which a row changes its state; and each row that advises anything does so in a rule's words.

use super::*;
use crate::testing::{clean_run, probe};
use model::{
    Arrivals, Burst, Coded, CpuTimes, HttpTraits, KernelFigures, Load, MachineCpu, NS_PER_S, OthersUse, ProcessFigures,
    ProcessUse, Refusal, Sockets, TargetCheck,
};

/// A machine with nothing to mind: two cores of its own, looked at for a second.
struct Fixture {
    plan: Plan,
    fingerprint: Fingerprint,
    samples: Vec<Sample>,
    is_target_here: bool,
}

const FACTS: [(&str, &str, &str); 18] = [
    ("cpu", "cpus", "2"),
    ("cpu", "cores", "2"),
    ("frequency", "scaling_governor", "performance"),
    ("frequency", "no_turbo", "1"),
    ("hugepages", "transparent_enabled", "always [madvise] never"),
    ("hypervisor", "virtual_machine", "no"),
    ("kernel", "boot_parameters", "quiet iommu=pt"),
    ("iommu", "groups", "12"),
    ("limits", "max_open_files", "1024 4096"),
    ("nic/eth0", "driver", "mlx5_core"),
    ("nic/eth0", "receive_queues", "8"),
    ("nic/eth0", "device", "of this machine"),
    ("sysctl", "net/core/somaxconn", "4096"),
    ("sysctl", "net/ipv4/ip_local_port_range", "32768 60999"),
    ("sysctl", "net/ipv4/tcp_max_syn_backlog", "1024"),
    ("sysctl", "net/ipv4/tcp_syncookies", "1"),
    ("sysctl", "net/ipv4/tcp_tw_reuse", "2"),
    ("nic/lo", "receive_queues", "1"),
];

impl Fixture {
    fn clean() -> Self {
        let mut fixture = Self {
            plan: clean_run().plan,
            fingerprint: Fingerprint::default(),
            samples: vec![sample()],
            is_target_here: true,
        };
        FACTS.iter().for_each(|(section, name, value)| fixture.set(section, name, value));
        fixture
    }

    fn set(&mut self, section: &str, name: &str, value: &str) {
        self.fingerprint.facts.entry(section.to_owned()).or_default().insert(name.to_owned(), value.to_owned());
    }

    fn gauge(&mut self, part: &str, name: &str, value: u64) {
        let gauges = &mut self.samples[0].kernel.gauges;
        gauges.entry(part.to_owned()).or_default().insert(name.to_owned(), value);
    }

    fn machine(&self) -> Machine<'_> {
        let Self { plan, fingerprint, samples, is_target_here } = self;
        Machine { plan, is_target_here: *is_target_here, fingerprint, samples }
    }

    /// The row of what was looked at, as rule and state. Whatever is worse than unknown has to advise something.
    #[track_caller]
    fn row(&self, what: &str) -> String {
        let rows = machine(&self.machine());
        told(&rows, what)
    }
}

#[track_caller]
fn told(rows: &[CheckRow], what: &str) -> String {
    let row = rows.iter().find(|row| row.what == what).unwrap_or_else(|| panic!("no {what} in {rows:#?}"));
    assert_eq!(row.remedy.is_some(), row.state > CheckState::Unavailable, "{row:#?}");
    format!("{} {:?}", row.rule, row.state)
}

fn sample() -> Sample {
    let cpu = CpuTimes { user_ns: NS_PER_S / 10, idle_ns: NS_PER_S * 9 / 10, ..CpuTimes::default() };
    let mut total = cpu;
    total.add(&cpu);
    Sample {
        source: model::SourceId::LOCAL,
        phase: Phase::Measure,
        from_ns: 0,
        to_ns: NS_PER_S,
        machine: Some(MachineCpu { total, cpus: vec![cpu; 2], ..MachineCpu::default() }),
        server: None,
        generator: None,
        sockets: None,
        companions: BTreeMap::new(),
        companion_sockets: BTreeMap::new(),
        others: Some(OthersUse { from_ns: 0, processes: Vec::new(), ..OthersUse::default() }),
        states: None,
        kernel: KernelFigures::default(),
        look_cpu_ns: None,
        unavailable: BTreeMap::from([("conntrack".to_owned(), "nothing is tracked".to_owned())]),
    }
}

#[test]
fn a_machine_without_fault_has_none() {
    let fixture = Fixture::clean();
    let rows = machine(&fixture.machine());
    let not_fine: Vec<_> = rows.iter().filter(|row| row.state != CheckState::Fine).map(|row| &row.what).collect();
    assert_eq!(not_fine, ["conntrack"], "{rows:#?}");
    assert!(rows.iter().all(|row| row.remedy.is_none() && !row.found.is_empty()), "{rows:#?}");
}

#[test]
fn nothing_known_is_no_fault_and_has_its_reason() {
    let mut fixture = Fixture::clean();
    fixture.fingerprint = Fingerprint::default();
    fixture.fingerprint.unavailable.insert("frequency".to_owned(), "as in most virtual machines".to_owned());
    fixture.samples = vec![Sample { machine: None, others: None, ..sample() }];
    let rows = machine(&fixture.machine());
    assert!(rows.iter().all(|row| row.state <= CheckState::Unavailable && !row.found.is_empty()), "{rows:#?}");
    let governor = rows.iter().find(|row| row.what == "governor").expect("a row");
    assert_eq!(governor.found, "as in most virtual machines");
}

#[test]
fn a_status_page_tells_its_figures_or_why_it_does_not() {
    let status = |figures: &[(&str, f64)]| {
        let figures = figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Some(model::ServerStatus { server: "nginx".to_owned(), figures })
    };
    let look = |status, reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        page(&model::StatusLook { url: "http://h/s".to_owned(), status, reason, at_ns: None, took_ns: 0 })
    };
    let answers = look(status(&[("connections_active", 1.0), ("requests", 2.0)]), None);
    assert_eq!((answers.state, answers.found.as_str()), (CheckState::Fine, "http://h/s: nginx tells 2 figures"));
    let silent = look(None, Some("there is no such page (404)"));
    assert_eq!(silent.state, CheckState::Unavailable);
    assert_eq!(silent.found, "http://h/s: there is no such page (404)");
}

#[test]
fn descriptors_and_ports_are_enough_or_not() {
    let mut fixture = Fixture::clean();
    // 2 threads and 64 descriptors besides.
    for (connections, expected) in [(4030, "CL-06 Fine"), (4031, "CL-06 Invalid")] {
        fixture.plan.load = Load::Closed { connections };
        assert_eq!(fixture.row("open files"), expected, "{connections}");
    }
    fixture.set("limits", "max_open_files", "1024 unlimited");
    for (connections, expected) in [(28_232, "CL-07 Fine"), (28_233, "CL-07 Invalid")] {
        fixture.plan.load = Load::Closed { connections };
        assert_eq!(fixture.row("local ports"), expected, "{connections}");
        assert_eq!(fixture.row("open files"), "CL-06 Fine");
    }
    fixture.plan.load = Load::Closed { connections: 64 };
    fixture.plan.keepalive = false;
    assert_eq!(fixture.row("local ports"), "CL-07 Note");
}

#[test]
fn the_planned_rate_is_held_against_the_time_for_which_ports_are_held() {
    let mut fixture = Fixture::clean();
    fixture.plan.keepalive = false;
    let mut at = |rate_per_s, reuse, is_here| {
        fixture.plan.load = Load::Open { rate_per_s, arrivals: Arrivals::Poisson, connections: 64 };
        fixture.set("sysctl", "net/ipv4/tcp_tw_reuse", reuse);
        fixture.is_target_here = is_here;
        fixture.row("local ports")
    };
    // 80 % of 28,232 ports, each held for 60 s or for 1 s.
    for (fine, more, reuse, is_here) in [
        (376.0, 377.0, "0", true),
        (376.0, 377.0, "2", false),
        (22_585.0, 22_586.0, "2", true),
        (22_585.0, 22_586.0, "1", false),
    ] {
        assert_eq!(at(fine, reuse, is_here), "CL-07 Fine", "{reuse} {is_here}");
        assert_eq!(at(more, reuse, is_here), "CL-07 Warning", "{reuse} {is_here}");
    }
}

#[test]
fn queues_and_tables_have_to_hold_the_connections() {
    let mut fixture = Fixture::clean();
    fixture.set("sysctl", "net/core/somaxconn", "64");
    fixture.set("sysctl", "net/ipv4/tcp_max_syn_backlog", "64");
    fixture.set("sysctl", "net/ipv4/tcp_syncookies", "0");
    assert_eq!((fixture.row("somaxconn"), fixture.row("SYN queue")), ("NE-01 Fine".into(), "NE-02 Fine".into()));
    fixture.plan.load = Load::Closed { connections: 65 };
    // By whatever address this machine is reached.
    fixture.plan.target.address = "192.0.2.1:80".parse().expect("an address");
    assert_eq!((fixture.row("somaxconn"), fixture.row("SYN queue")), ("NE-01 Warning".into(), "NE-02 Warning".into()));
    fixture.gauge("conntrack", "connections_limit", 1000);
    for (now, expected) in [(735, "NE-09 Fine"), (736, "NE-09 Warning"), (886, "NE-09 Invalid")] {
        fixture.gauge("conntrack", "connections", now);
        assert_eq!(fixture.row("conntrack"), expected, "{now}");
    }
}

#[test]
fn clocks_pages_and_quotas_that_change_a_result_are_told() {
    for (section, name, value, what, expected) in [
        ("frequency", "scaling_governor", "powersave", "governor", "EN-02 Warning"),
        ("frequency", "no_turbo", "0", "turbo", "EN-02 Note"),
        ("cpu", "cores", "1", "SMT", "LD-08 Note"),
        ("hugepages", "transparent_enabled", "[always] madvise never", "huge pages", "EN-05 Note"),
        ("hypervisor", "virtual_machine", "yes", "hypervisor", "EN-01 Note"),
        ("kernel", "boot_parameters", "quiet", "IOMMU", "EN-05 Note"),
        ("nic/eth0", "receive_queues", "1", "card eth0", "NE-11 Note"),
        ("nic/eth0", "device", "made up by the hypervisor", "card eth0", "NE-11 Note"),
    ] {
        let mut fixture = Fixture::clean();
        fixture.set(section, name, value);
        assert_eq!(fixture.row(what), expected, "{what}");
    }
    let mut fixture = Fixture::clean();
    for (cpus, expected) in [(2, "CL-10 Note"), (1, "CL-10 Warning")] {
        fixture.gauge("cgroup/generator", "cpu_quota_ns_per_s", cpus * NS_PER_S);
        assert_eq!(fixture.row("CPU quota"), expected, "{cpus}");
    }
}

#[test]
fn the_route_to_another_machine_is_told() {
    let mut fixture = Fixture::clean();
    let found = |fixture: &Fixture| {
        let rows = machine(&fixture.machine());
        rows.into_iter().find(|row| row.what == "route").map(|row| (row.state, row.found))
    };
    assert_eq!(found(&fixture), None, "loopback");
    fixture.plan.target.address = "192.0.2.1:80".parse().expect("an address");
    assert_eq!(found(&fixture).map(|(state, _)| state), Some(CheckState::Unavailable));
    fixture.set("route", "interface", "lo");
    let own = "192.0.2.1 is an address of this machine: packets go through lo, not through a card";
    assert_eq!(found(&fixture), Some((CheckState::Fine, own.to_owned())));
    fixture.set("route", "interface", "eth0");
    fixture.set("route", "source", "192.0.2.7");
    fixture.set("nic/eth0", "mtu", "1500");
    let way = "192.0.2.1 through eth0 (mlx5_core, speed not told), MTU 1500, from 192.0.2.7";
    assert_eq!(found(&fixture), Some((CheckState::Fine, way.to_owned())));
    fixture.set("nic/eth0", "speed_mbit_per_s", "25000");
    let way = "192.0.2.1 through eth0 (mlx5_core, 25000 Mbit/s), MTU 1500, from 192.0.2.7";
    assert_eq!(found(&fixture), Some((CheckState::Fine, way.to_owned())));
    fixture.set("route", "gateway", "192.0.2.254");
    assert_eq!(found(&fixture), Some((CheckState::Note, format!("{way}, router 192.0.2.254"))));
    assert_eq!(fixture.row("route"), "NE-11 Note");
    fixture.set("route", "interface", "veth1");
    let (_, found) = found(&fixture).expect("a row");
    assert!(found.starts_with("192.0.2.1 through veth1 (virtual, speed not told), from 192.0.2.7"), "{found}");
}

#[test]
fn steal_and_other_programs_are_judged_by_their_rules() {
    let mut fixture = Fixture::clean();
    let stolen = |per_mille: u64| {
        let steal_ns = NS_PER_S / 1000 * per_mille;
        let cpu = CpuTimes { steal_ns, idle_ns: NS_PER_S - steal_ns, ..CpuTimes::default() };
        let mut total = cpu;
        total.add(&cpu);
        Some(MachineCpu { total, cpus: vec![cpu; 2], ..MachineCpu::default() })
    };
    for (per_mille, expected) in
        [(5, "EN-01 Fine"), (20, "EN-01 Warning"), (60, "EN-01 Warning"), (800, "EN-01 Invalid")]
    {
        fixture.samples[0].machine = stolen(per_mille);
        assert_eq!(fixture.row("steal"), expected, "{per_mille}");
    }
    fixture.is_target_here = false;
    fixture.plan.target.address = "192.0.2.1:80".parse().expect("an address");
    assert_eq!(fixture.row("steal"), "CL-08 Invalid");
    let figures = ProcessFigures { cpu_ns: NS_PER_S, ..ProcessFigures::default() };
    let process = ProcessUse { name: "stress-ng".to_owned(), figures };
    fixture.samples[0].others = Some(OthersUse { from_ns: 0, processes: vec![process], ..OthersUse::default() });
    assert_eq!(fixture.row("other programs"), "CL-09 Warning");
    // A look of no length sees neither.
    fixture.samples[0].to_ns = 0;
    assert!(machine(&fixture.machine()).iter().all(|row| row.what != "steal" && row.what != "other programs"));
}

/// A target with nothing to mind.
fn clean_target() -> TargetCheck {
    TargetCheck {
        url: "http://127.0.0.1:8080/".to_owned(),
        address: "127.0.0.1:8080".parse().expect("an address"),
        canonical_url: None,
        redirects: Vec::new(),
        probe: probe(200),
        http_traits: HttpTraits {
            version: "HTTP/1.1".to_owned(),
            tls: None,
            asked_on_one: 10,
            answered_on_one: 10,
            plain: Coded { encoding: None, size_bytes: 1024 },
            compressed: Some(Coded { encoding: None, size_bytes: 1024 }),
            cache_headers: [("age".to_owned(), "0".to_owned())].into(),
            requests_sent: 11,
        },
        burst: Some(Burst {
            planned: 200,
            sent: 200,
            connections: 20,
            opened: 20,
            good: 200,
            status: [(200, 200)].into(),
            ..Burst::default()
        }),
        burst_unavailable: None,
        requests_sent: 214,
    }
}

#[test]
fn a_target_without_fault_has_none() {
    let mut fixture = Fixture::clean();
    fixture.samples[0].sockets = Some(Sockets { accept_backlog: Some(511), ..Sockets::default() });
    let rows = target(&clean_target(), &fixture.machine());
    assert!(rows.iter().all(|row| row.state == CheckState::Fine), "{rows:#?}");
    assert_eq!(rows.len(), 9);
}

#[test]
fn a_short_accept_queue_is_told() {
    let mut fixture = Fixture::clean();
    fixture.samples[0].sockets = Some(Sockets { accept_backlog: Some(63), ..Sockets::default() });
    // Another server has deferred one meanwhile.
    for (part, name, n) in [("listener", "dropped_connects", 0), ("tcp", "TCPDeferAcceptDrop", 1)] {
        fixture.samples[0].kernel.counters.entry(part.to_owned()).or_default().insert(name.to_owned(), n);
    }
    let rows = target(&clean_target(), &fixture.machine());
    assert_eq!(told(&rows, "accept queue"), "NE-01 Warning");
    assert!(rows.iter().any(|row| row.what == "accept queue" && row.remedy.is_some()), "{rows:#?}");
    fixture.samples[0].sockets = None;
    assert_eq!(told(&target(&clean_target(), &fixture.machine()), "accept queue"), "NE-01 Unavailable");
}

#[test]
fn refusals_by_status_and_by_closing_are_advised_on() {
    let fixture = Fixture::clean();
    for (status, failure, words) in [
        (Some(403), None, "the ban"),
        (Some(429), None, "the limit"),
        (Some(503), None, "the limit"),
        (None, Some("first_byte.reset"), "the limit"),
    ] {
        let mut seen = clean_target();
        let failure = failure.map(str::to_owned);
        seen.burst = seen.burst.map(|burst| Burst {
            refused: 150,
            good: 50,
            first_refused: Some(Refusal { request: 51, status, failure, retry_after: None }),
            ..burst
        });
        let rows = target(&seen, &fixture.machine());
        assert_eq!(told(&rows, "many at once"), "ER-08 Invalid");
        let row = rows.iter().find(|row| row.rule == "ER-08").expect("a row");
        assert!(row.found.starts_with("150 of 200 requests") && row.found.contains("from request 51 on"), "{row:#?}");
        assert!(row.remedy.as_ref().is_some_and(|remedy| remedy.contains(words)), "{row:#?}");
        assert_eq!(row.figures["first_refused"], 51.0);
    }
}

#[test]
fn silence_is_no_refusal_and_no_consent() {
    let fixture = Fixture::clean();
    let mut seen = clean_target();
    let burst = seen.burst.as_mut().expect("it was sent");
    (burst.sent, burst.status) = (40, [(200, 20)].into());
    let rows = target(&seen, &fixture.machine());
    assert_eq!(told(&rows, "many at once"), "ER-08 Note");
    assert!(rows.iter().any(|row| row.found.contains("but 20 had no answer when the burst ended")), "{rows:#?}");
    seen.burst.as_mut().expect("it was sent").failures = [("connect.timeout".to_owned(), 20)].into();
    let rows = target(&seen, &fixture.machine());
    assert_eq!(told(&rows, "errors"), "ER-01 Invalid");
    assert_eq!(told(&rows, "many at once"), "ER-08 Fine");
}

#[test]
fn redirects_and_what_they_lead_to_are_told() {
    let fixture = Fixture::clean();
    let mut seen = clean_target();
    seen.probe = probe(301);
    seen.probe.fetches[0].location = Some("/home".to_owned());
    seen.redirects = vec!["/home".to_owned()];
    seen.canonical_url = Some("http://127.0.0.1:8080/home".to_owned());
    let rows = target(&seen, &fixture.machine());
    assert_eq!(told(&rows, "redirect"), "ER-02 Invalid");
    let row = rows.iter().find(|row| row.what == "redirect").expect("a row");
    assert!(row.remedy.as_ref().is_some_and(|it| it.starts_with("measure http://127.0.0.1:8080/home")), "{row:#?}");
    seen.canonical_url = None;
    let rows = target(&seen, &fixture.machine());
    assert!(rows.iter().any(|row| row.found.ends_with("where no page was found")), "{rows:#?}");
}
