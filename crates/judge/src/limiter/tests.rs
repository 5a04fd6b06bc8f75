//! Each detector with its evidence and just without; the order of the detectors; what comes next and what a change buys.

mod ceilings;
mod network;
mod pools;
mod strangers;
mod unprepared;

use super::*;
use crate::speeds;
use crate::testing::{Mutate, clean_run, clean_sweep};
use model::{
    CpuShares, Figure, GaugeObserved, Load, MachineObserved, NS_PER_S, Observed, PoolObserved, ProcessObserved,
    ServerObserved, ServerThreadObserved, Setting, SocketsObserved, StatusRecord,
};

const SECONDS: f64 = 30.0;

/// 20 connections at 1000/s, and a machine of 4 CPUs that is a fifth busy.
fn run() -> Evidence {
    let mut evidence = clean_run();
    evidence.plan.load = Load::Closed { connections: 20 };
    evidence.connections.requested = 20;
    evidence.connections.established = 20;
    (evidence.flow.sent, evidence.flow.good, evidence.flow.completed) = (30_000, 30_000, 30_000);
    (evidence.flow.bytes_received, evidence.flow.bytes_sent) = (30_000 * 1_200, 30_000 * 80);
    evidence.status.clear();
    evidence.outstanding.mean = 20.0;
    evidence.outstanding.little = 20.0;
    evidence.latency.response.mean_ns = 20e6;
    let server = ServerObserved {
        cpu_cores: 0.4,
        processes: vec![ProcessObserved {
            name: "app".into(),
            count: 3,
            cpu_cores: 0.4,
            fds_max: Some(40),
            fds_limit: Some(1024),
            ..ProcessObserved::default()
        }],
        threads: vec![thread("app", 1, 0.3)],
        threads_seen: 1,
        ..ServerObserved::default()
    };
    let counters = [
        (
            "tcp",
            &[
                ("ListenOverflows", 0),
                ("PassiveOpens", 20),
                ("RetransSegs", 0),
                ("TCPLossProbes", 0),
                ("TCPOrigDataSent", 60_000),
            ][..],
        ),
        ("paging", &[("swapped_in_pages", 0), ("swapped_out_pages", 0), ("major_faults", 0)]),
        ("pressure/cpu", &[("some_ns", 0)]),
        ("pressure/io", &[("some_ns", 0)]),
        ("pressure/memory", &[("full_ns", 0)]),
        ("cgroup/server", &[("throttled_ns", 0)]),
        ("disk/sda", &[("busy_ns", NS_PER_S)]),
        (
            "nic/eth0",
            &[("sent_bytes", 375_000_000), ("received_bytes", 1), ("sent_packets", 300_000), ("sent_dropped", 0)],
        ),
    ];
    evidence.observed = Some(Observed {
        machine: Some(MachineObserved {
            cpus: 4,
            busy_mean: 0.2,
            user_mean: 0.1,
            system_mean: 0.07,
            softirq_mean: 0.03,
            cpu_busy_mean: vec![0.2; 4],
            cpu_shares: vec![CpuShares { user: 0.1, system: 0.07, softirq: 0.03, steal: 0.0, idle: 0.8 }; 4],
            ..MachineObserved::default()
        }),
        server: Some(server),
        sockets: Some(SocketsObserved {
            accept_backlog: Some(511),
            accept_fullest_max: Some(0.0),
            ..Default::default()
        }),
        counters: counters
            .iter()
            .map(|(part, all)| ((*part).into(), all.iter().map(|(name, n)| ((*name).into(), *n)).collect()))
            .collect(),
        ..Observed::default()
    });
    evidence
}

fn thread(name: &str, tid: i32, busy: f64) -> ServerThreadObserved {
    ServerThreadObserved { pid: tid, tid, name: name.into(), user_mean: busy, ..ServerThreadObserved::default() }
}

fn pool(program: &str, workers: f64, occupancy: f64, running: f64, blocked: &[(&str, f64)]) -> PoolObserved {
    PoolObserved {
        name: program.into(),
        program: program.into(),
        workers_mean: workers,
        samples: 1_000,
        occupancy,
        running,
        idle: 1.0 - occupancy,
        blocked: blocked.iter().map(|(on, share)| ((*on).to_owned(), *share)).collect(),
        ..PoolObserved::default()
    }
}

fn seen(evidence: &mut Evidence) -> &mut Observed {
    evidence.observed.as_mut().expect("it was observed")
}

fn server(evidence: &mut Evidence) -> &mut ServerObserved {
    seen(evidence).server.as_mut().expect("it runs here")
}

fn count(evidence: &mut Evidence, part: &str, name: &str, n: u64) {
    seen(evidence).counters.get_mut(part).expect("the part").insert(name.into(), n);
}

/// A page with these figures, the same at every look.
fn page(server: &str, figures: &[(&str, f64)]) -> StatusRecord {
    let figure = |value: f64| Figure { first: value, last: value, min: value, max: value, mean: value };
    let figures = figures.iter().map(|(name, value)| ((*name).to_owned(), figure(*value))).collect();
    StatusRecord { url: "/".into(), server: Some(server.into()), looks: 30, figures, ..StatusRecord::default() }
}

fn context() -> LimiterContext {
    let children = Setting {
        key: "children".into(),
        native: "pm.max_children".into(),
        limits: "php-fpm".into(),
        value: 5,
        max: 1000,
    };
    LimiterContext {
        settings: vec![children],
        links_bit_per_s: [("eth0".to_owned(), 1e9)].into(),
        ..LimiterContext::default()
    }
}

fn of(evidence: &Evidence) -> Limiter {
    limiter_of_run(evidence, &judge_run(evidence), &context())
}

/// What a run becomes with each change: the name of its limiter.
#[track_caller]
fn named_after(mutate: impl Fn(&mut Evidence)) -> String {
    let mut evidence = run();
    mutate(&mut evidence);
    of(&evidence).name
}

#[test]
fn a_server_with_room_everywhere_is_not_saturated() {
    let limiter = of(&run());
    assert_eq!(limiter.name, NOT_SATURATED, "{limiter:#?}");
    assert!(limiter.says.contains("20 connections can request at most 1,000/s (each response takes 20.0 ms)"));
    assert!(!names_a_limit(&limiter));
    let resources: Vec<_> = limiter.utilisations.iter().map(|used| used.resource.as_str()).collect();
    assert_eq!(resources, ["thread app", "server CPUs", "link eth0"]);
    let cpus = &limiter.utilisations[1];
    // 0.4 of 4 CPUs, and 3 % for interrupts.
    assert!((cpus.share - 0.13).abs() < 1e-9 && (cpus.ceiling_per_s.unwrap() - 7_692.3).abs() < 0.1, "{cpus:?}");
}

#[test]
fn a_quota_that_throttles_is_named_with_its_size() {
    let throttled = |share: f64| {
        let mut evidence = run();
        count(&mut evidence, "cgroup/server", "throttled_ns", (share * SECONDS * 1e9) as u64);
        let quota = GaugeObserved { mean: 0.5e9, max: 500_000_000, min: 500_000_000 };
        seen(&mut evidence).gauges = [("cgroup/server".into(), [("cpu_quota_ns_per_s".into(), quota)].into())].into();
        of(&evidence)
    };
    let limiter = throttled(0.06);
    assert_eq!((limiter.name.as_str(), limiter.ceiling_per_s), ("cpu-quota-limited", Some(1_250.0)), "0.4 of 0.5 CPUs");
    assert!(limiter.says.contains("0.50 CPUs (cpu.max) throttles the server 6.0 % of the time"), "{}", limiter.says);
    assert!(!names_a_limit(&throttled(0.04)));
}

/// The kernel adds the stops of all CPUs up: "throttles the server 1400 % of the time", and six stops of 60 CPUs were 20 %.
#[test]
fn a_quota_stops_a_server_no_longer_than_in_the_periods_that_have_a_stop() {
    let throttled = |periods: u64| {
        let mut evidence = run();
        let counters =
            [("throttled_ns", 14 * SECONDS as u64 * 1_000_000_000), ("periods", 300), ("throttled_periods", periods)];
        counters.into_iter().for_each(|(name, n)| count(&mut evidence, "cgroup/server", name, n));
        of(&evidence)
    };
    assert!(throttled(300).says.contains("stops the server in 100 % of its periods"), "{}", throttled(300).says);
    assert!(!names_a_limit(&throttled(2)));
}

#[test]
fn busy_cpus_with_requests_waiting_are_the_limit_and_split() {
    let mut evidence = run();
    evidence.plan.cpus = vec![1];
    seen(&mut evidence).machine.as_mut().unwrap().cpu_busy_mean = vec![0.96, 0.4, 0.4, 0.4];
    let context = LimiterContext { server_cpus: vec![0], ..context() };
    // Strangers that keep its CPU busy are not what limits it.
    assert!(!names_a_limit(&limiter_of_run(&evidence, &judge_run(&evidence), &context)));
    server(&mut evidence).cpu_cores = 0.9;
    server(&mut evidence).processes[0].cpu_cores = 0.9;
    let limiter = limiter_of_run(&evidence, &judge_run(&evidence), &context);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("cpu-limited", "server CPUs"));
    assert!(
        limiter.says.starts_with("the 1 CPU available to the server (of 4) is 96 % busy (user 10 %, "),
        "{}",
        limiter.says
    );
    assert!(limiter.says.contains("app uses 0.90"), "{}", limiter.says);
    // What the hypervisor takes is nothing the server could use: 84 % of what it leaves are 96 % of it.
    seen(&mut evidence).machine.as_mut().unwrap().cpu_busy_mean[0] = 0.84;
    assert!(!names_a_limit(&limiter_of_run(&evidence, &judge_run(&evidence), &context)));
    seen(&mut evidence).machine.as_mut().unwrap().cpu_shares[0].steal = 0.125;
    let limiter = limiter_of_run(&evidence, &judge_run(&evidence), &context);
    assert!(
        limiter.says.starts_with("the 1 CPU available to the server (of 4) is 96 % busy (user 11 %, "),
        "{}",
        limiter.says
    );
    assert!(limiter.says.contains(" of the time left by the hypervisor; "), "{}", limiter.says);
    // One request in flight is no queue, unless the scheduler has one.
    evidence.outstanding.mean = 1.0;
    assert!(!names_a_limit(&limiter_of_run(&evidence, &judge_run(&evidence), &context)));
    count(&mut evidence, "pressure/cpu", "some_ns", 7 * NS_PER_S);
    assert_eq!(limiter_of_run(&evidence, &judge_run(&evidence), &context).name, "cpu-limited");
}

/// gunicorn with 8 threads on one CPU, and Go with GOMAXPROCS=1: "2 CPUs instead of 1: 2,385/s", with high confidence, and the
/// second CPU was worth nothing.
#[test]
fn what_threads_of_one_process_could_do_on_more_cpus_is_not_predicted_from_one() {
    let with = |threads: Vec<ServerThreadObserved>, processes: u32| {
        let mut evidence = run();
        evidence.plan.cpus = vec![1];
        seen(&mut evidence).machine.as_mut().unwrap().cpu_busy_mean = vec![0.98, 0.4, 0.4, 0.4];
        server(&mut evidence).cpu_cores = 0.95;
        (server(&mut evidence).processes[0].cpu_cores, server(&mut evidence).processes[0].count) = (0.95, processes);
        server(&mut evidence).threads = threads;
        let context = LimiterContext { server_cpus: vec![0], ..context() };
        limiter_of_run(&evidence, &judge_run(&evidence), &context)
    };
    let several = || (1..=4).map(|tid| thread("app", tid, 0.24)).collect::<Vec<_>>();
    let threaded = with(several(), 1);
    assert_eq!((threaded.name.as_str(), &threaded.prediction, &threaded.next), ("cpu-limited", &None, &None));
    assert!(threaded.says.ends_with("could use more CPUs cannot be seen on one"), "{}", threaded.says);
    assert!(with(several(), 4).prediction.is_some(), "processes need no lock of each other");
    let one = with(vec![thread("app", 1, 0.94)], 1);
    assert!(one.next.is_some() && !one.says.contains("cannot be seen"), "its one thread is next: {one:#?}");
}

#[test]
fn one_busy_thread_is_an_event_loop_and_several_are_a_pool() {
    let with = |threads: Vec<ServerThreadObserved>| {
        let mut evidence = run();
        server(&mut evidence).threads = threads;
        of(&evidence)
    };
    let one = with(vec![thread("node", 1, 0.97), thread("node", 2, 0.05)]);
    assert_eq!((one.name.as_str(), one.resource.as_str()), ("single-thread-limited", "thread node"));
    assert_eq!(one.prediction.unwrap().expected_per_s, 1_000.0 / 0.97 * 2.0);
    assert!(!names_a_limit(&with(vec![thread("node", 1, 0.94)])));
    let several = with(vec![thread("app", 1, 0.97), thread("app", 2, 0.98)]);
    assert_eq!((several.name.as_str(), several.resource.as_str()), ("worker-pool-limited", "app workers"));
    assert!(several.says.contains("CPU-heavy"), "{}", several.says);
}

/// Where strangers leave the CPUs no room a thread still does no more than all of its time.
#[test]
fn a_program_of_one_thread_that_runs_is_one_core_and_no_pool() {
    let with = |strangers: f64, running: f64, runnable: f64, busy: f64| {
        let mut evidence = run();
        seen(&mut evidence).machine.as_mut().unwrap().busy_mean = strangers;
        let waits =
            ServerThreadObserved { wait_mean: Some(runnable), tid: 2, ..thread("target-0", 1, busy - runnable) };
        server(&mut evidence).processes[0].name = "plimsoll".to_owned();
        server(&mut evidence).threads = vec![waits];
        seen(&mut evidence).pools =
            vec![PoolObserved { runnable: Some(runnable), ..pool("plimsoll", 1.0, 1.0, running, &[]) }];
        of(&evidence)
    };
    let quiet = with(0.3, 1.0, 0.0, 0.99);
    assert_eq!((quiet.name.as_str(), quiet.resource.as_str()), ("single-thread-limited", "thread target-0"));
    // A clock that ticks a little late puts the thread above the pool that it is, or below it.
    assert_eq!(with(0.3, 1.0, 0.0, 1.01).resource, "thread target-0");
    let crowded = with(1.0, 0.7, 0.3, 0.99);
    assert_eq!((crowded.name.as_str(), crowded.resource.as_str()), ("single-thread-limited", "thread target-0"));
    assert!(crowded.says.contains("while the load uses 13 % of the server's CPUs"), "{}", crowded.says);
    assert_eq!(with(1.0, 0.4, 0.6, 0.99).name, UNKNOWN, "it waits for a CPU most of the time");
    // As a sample of its states has it, which is coarser than the time that it has used.
    let sampled = with(0.3, 1.0, 0.0, 0.9);
    assert_eq!((sampled.name.as_str(), sampled.resource.as_str()), ("single-thread-limited", "thread plimsoll"));
    let waits = with(0.3, 0.6, 0.0, 0.6);
    assert_eq!(waits.name, "worker-pool-limited");
    assert!(waits.says.starts_with("the only worker (plimsoll) is occupied 100 % of the time"), "{}", waits.says);
    assert!(waits.says.contains("19 requests wait for it: at most"), "{}", waits.says);
}

#[test]
fn interrupts_on_one_cpu_are_one_core_too() {
    let with = |other: f64| {
        named_after(|evidence| {
            let shares = &mut seen(evidence).machine.as_mut().unwrap().cpu_shares;
            (shares[1].softirq, shares[2].softirq) = (0.93, other);
        })
    };
    assert_eq!((with(0.1).as_str(), with(0.4).as_str()), ("single-thread-limited", NOT_SATURATED));
    let mut apart = run();
    let machine = seen(&mut apart).machine.as_mut().unwrap();
    (machine.cpu_numbers, machine.cpu_shares[1].softirq) = (vec![0, 2, 4, 6], 0.93);
    assert_eq!(of(&apart).resource, "interrupts of CPU 2");
}

/// Without SMT the CPUs of many machines are 0, 2, 4 and 6.
#[test]
fn a_cpu_that_is_offline_moves_no_other() {
    let mut evidence = run();
    evidence.plan.cpus = vec![4, 6];
    let machine = seen(&mut evidence).machine.as_mut().unwrap();
    (machine.cpu_numbers, machine.cpu_busy_mean) = (vec![0, 2, 4, 6], vec![0.96, 0.98, 0.3, 0.3]);
    server(&mut evidence).cpu_cores = 1.9;
    server(&mut evidence).processes[0].cpu_cores = 1.9;
    // It may use CPU 1 as well, which is not there.
    for cpus in [vec![0, 2], vec![0, 1, 2]] {
        let limiter =
            limiter_of_run(&evidence, &judge_run(&evidence), &LimiterContext { server_cpus: cpus, ..context() });
        let says = "the 2 CPUs available to the server (of 4) are 97 % busy (";
        assert!(limiter.says.starts_with(says), "{}", limiter.says);
    }
}

/// Strangers, or more workers than CPUs: one more worker would wait for a CPU as well.
#[test]
fn workers_that_wait_for_a_cpu_are_no_pool_that_is_short() {
    let waiting = |runnable: f64| {
        named_after(|evidence| {
            let shares = PoolObserved { runnable: Some(runnable), ..pool("php-fpm", 5.0, 1.0, 0.2, &[]) };
            seen(evidence).pools = vec![shares];
        })
    };
    assert_eq!((waiting(0.6).as_str(), waiting(0.4).as_str()), (UNKNOWN, "worker-pool-limited"));
}

#[test]
fn what_comes_next_bounds_what_a_change_buys() {
    let mut evidence = run();
    seen(&mut evidence).pools = vec![pool("php-fpm", 5.0, 1.0, 0.5, &[])];
    seen(&mut evidence).machine.as_mut().unwrap().busy_mean = 0.6;
    server(&mut evidence).cpu_cores = 2.28;
    let limiter = of(&evidence);
    let next = limiter.next.unwrap();
    assert_eq!((next.name.as_str(), next.ceiling_per_s.round()), ("server CPUs", 1_667.0));
    assert_eq!(limiter.prediction.unwrap().expected_per_s.round(), 1_667.0, "not 2,000");
}

#[test]
fn a_pool_that_waits_for_something_at_its_limit_is_not_to_blame() {
    let waits = |blocked: &'static [(&'static str, f64)], busy: f64| {
        let mut evidence = run();
        seen(&mut evidence).pools = vec![pool("php-fpm", 5.0, 1.0, 0.1, blocked)];
        let database = ServerObserved { threads: vec![thread("mariadbd", 9, busy)], ..ServerObserved::default() };
        seen(&mut evidence).companions = [("mariadbd".to_owned(), database)].into();
        of(&evidence)
    };
    let behind = waits(&[("mariadbd", 0.8)], 0.97);
    // The detector of one core comes first, and names the same thread.
    assert_eq!((behind.name.as_str(), behind.resource.as_str()), ("single-thread-limited", "thread mariadbd"));
    assert_eq!(waits(&[("mariadbd", 0.8)], 0.5).name, "worker-pool-limited");
    assert_eq!(waits(&[("lock", 0.8)], 0.5).name, "contention-limited");
    assert_eq!(waits(&[("lock", 0.4)], 0.5).name, "worker-pool-limited");
}

#[test]
fn a_database_whose_workers_wait_for_locks_is_what_is_in_the_way() {
    let mut evidence = run();
    seen(&mut evidence).pools =
        vec![pool("php-fpm", 5.0, 1.0, 0.1, &[("mariadbd", 0.8)]), pool("mariadbd", 5.0, 0.9, 0.1, &[("lock", 0.7)])];
    let limiter = of(&evidence);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("upstream-limited", "mariadbd"));
    assert!(limiter.says.starts_with("php-fpm workers wait 80 % of their time on mariadbd, whose workers wait 78 %"));
}

#[test]
fn limits_of_connections_are_named() {
    let refused = |handled: f64| {
        named_after(|evidence| {
            let mut nginx = page("nginx", &[("accepted", 0.0), ("handled", 0.0)]);
            nginx.figures.get_mut("accepted").unwrap().last = 100.0;
            nginx.figures.get_mut("handled").unwrap().last = handled;
            evidence.status = vec![nginx];
        })
    };
    assert_eq!((refused(99.0).as_str(), refused(100.0).as_str()), ("connection-limited", NOT_SATURATED));
    let descriptors = |n| named_after(|evidence| server(evidence).processes[0].fds_max = Some(n));
    assert_eq!((descriptors(1_000).as_str(), descriptors(900).as_str()), ("connection-limited", NOT_SATURATED));
}

/// 20 workers that share 5 connections of 5 ms each.
#[test]
fn a_database_that_refuses_connections_is_named_with_what_more_of_them_would_buy() {
    let with = |refused: f64, connected: f64| {
        let mut evidence = run();
        let waits = [("mariadbd", 0.3), ("sleep", 0.6)];
        let workers = pool("php-fpm", 20.0, 1.0, 0.1, &waits);
        seen(&mut evidence).pools = vec![workers, pool("mariadbd", 5.0, 1.0, 0.1, &[("condition", 0.9)])];
        evidence.outstanding.mean = 40.0;
        let figures = [("connections_refused", 0.0), ("threads_connected", connected), ("connections_limit", 5.0)];
        server(&mut evidence).threads.clear();
        let mut database = page("mysql", &figures);
        database.figures.get_mut("connections_refused").unwrap().last = refused;
        evidence.status = vec![database];
        of(&evidence)
    };
    let limiter = with(300.0, 5.0);
    assert_eq!(
        (limiter.name.as_str(), limiter.resource.as_str()),
        ("connection-limited", "max_connections of the database")
    );
    assert!(limiter.says.contains("100 % of 5 are in use on average, and 300 more were refused"), "{}", limiter.says);
    let prediction = limiter.prediction.unwrap();
    assert_eq!(prediction.change, "10 connections to the database instead of 5");
    assert_eq!((prediction.setting.as_deref(), prediction.expected_per_s), (Some("max_connections"), 2_000.0));
    let next = limiter.next.unwrap();
    assert_eq!((next.name.as_str(), next.ceiling_per_s), ("php-fpm workers", 4_000.0), "they only wait for it");
    assert_eq!(with(0.0, 5.0).name, "worker-pool-limited", "it refused none");
    assert_eq!(with(3.0, 2.0).name, "worker-pool-limited", "it has some to spare");
}

/// Drops of the server's own queue: 20 connections for 30 s, of which each drop keeps one out for a second or longer.
fn overflow(evidence: &mut Evidence, dropped: u64) {
    evidence.flow.opened = 10_000;
    crate::testing::set_counter(evidence, "listener", "dropped_connects", dropped);
    count(evidence, "tcp", "ListenDrops", dropped);
}

#[test]
fn a_busy_disk_and_workers_that_wait_for_one_are_the_disk() {
    let busy = |seconds| named_after(|evidence| count(evidence, "disk/sda", "busy_ns", seconds * NS_PER_S));
    assert_eq!((busy(28).as_str(), busy(10).as_str()), ("disk-limited", NOT_SATURATED));
    let waiting = |pressed_s: u64| {
        named_after(|evidence| {
            count(evidence, "pressure/io", "some_ns", pressed_s * NS_PER_S);
            seen(evidence).pools = vec![pool("php-fpm", 5.0, 1.0, 0.1, &[("disk", 0.5), ("fsync", 0.4)])];
        })
    };
    let of_others = named_after(|evidence| {
        count(evidence, "disk/sda", "busy_ns", 28 * NS_PER_S);
        seen(evidence).pools = vec![pool("php-fpm", 5.0, 0.5, 0.1, &[("sleep", 0.4)])];
    });
    assert_eq!(of_others, UNKNOWN, "no worker waits for it");
    let says = {
        let mut evidence = run();
        seen(&mut evidence).pools =
            vec![pool("php-fpm", 5.0, 1.0, 0.1, &[("disk", 0.4), ("fsync", 0.4), ("file", 0.1)])];
        of(&evidence).says
    };
    assert!(says.contains("(80 % of it waiting on a disk)"), "{says}");
    // Without pressure it is the number of workers: a disk takes more writes at a time than they make.
    assert_eq!((waiting(7).as_str(), waiting(5).as_str()), ("disk-limited", "worker-pool-limited"));
}

#[test]
fn swapping_and_stalls_for_memory_are_named() {
    let with = |part: &'static str, name: &'static str, n| named_after(move |evidence| count(evidence, part, name, n));
    assert_eq!(with("pressure/memory", "full_ns", NS_PER_S), "memory-limited");
    assert_eq!(with("paging", "swapped_out_pages", 301), "memory-limited");
    assert_eq!(with("paging", "major_faults", 3_001), NOT_SATURATED, "a program began, and nothing stalled");
    let stalled = |faults| {
        named_after(|evidence| {
            count(evidence, "paging", "major_faults", faults);
            count(evidence, "pressure/memory", "full_ns", NS_PER_S / 10);
        })
    };
    assert_eq!((stalled(3_001).as_str(), stalled(2_900).as_str()), ("memory-limited", NOT_SATURATED));
}

#[test]
fn faults_of_client_or_answers_stop_the_search() {
    let mut evidence = run();
    seen(&mut evidence).pools = vec![pool("php-fpm", 5.0, 1.0, 0.1, &[])];
    assert_eq!(of(&evidence).name, "worker-pool-limited");
    let mut busy_client = evidence.clone();
    busy_client.threads[0].busy_max = 0.97;
    assert_eq!(of(&busy_client).name, NOT_A_SERVER_LIMIT);
    assert!(of(&busy_client).says.contains("the load generator determined the result (CL-01)"));
    evidence.fail("contract.status", 15_000);
    let wrong = of(&evidence);
    assert_eq!((wrong.name.as_str(), wrong.prediction), (NOT_A_SERVER_LIMIT, None));
    assert!(wrong.says.contains("ER-01"), "{}", wrong.says);
}

/// An nginx that was out of worker_connections closed 86 % of the connections: "not-a-server-limit" stood beside the advice to
/// raise its limit.
#[test]
fn connections_that_are_closed_before_they_serve_anything_are_a_limit_of_the_server() {
    let mut evidence = run();
    (evidence.cohort.counts.planned, evidence.cohort.counts.completed, evidence.cohort.counts.good) =
        (30_000, 4_200, 4_200);
    evidence.cohort.failures.insert("first_byte.closed".to_owned(), 25_800);
    (evidence.flow.completed, evidence.flow.good, evidence.flow.failed) = (4_200, 4_200, 25_800);
    evidence.flow.opened = 25_800;
    let found = of(&evidence);
    assert_eq!((found.name.as_str(), found.resource.as_str()), ("connection-limited", "connections of the server"));
    assert!(found.says.contains("most of the 25,800 connections that were opened were closed"), "{}", found.says);
    assert!(found.confidence < Confidence::High, "it is inferred");
    let verdict = judge_run(&evidence);
    let errors = verdict.findings.iter().find(|finding| finding.rule == "ER-01").expect("most failed");
    assert!(errors.remedy.contains("raise its limit of connections"), "{errors:?}");
    // A client that made the result is no server's limit.
    evidence.threads[0].busy_max = 0.97;
    assert_eq!(of(&evidence).name, NOT_A_SERVER_LIMIT);
}

#[test]
fn what_was_not_seen_is_unchecked() {
    let mut evidence = run();
    evidence.observed = None;
    let limiter = of(&evidence);
    assert_eq!((limiter.name.as_str(), limiter.unchecked.len()), (UNKNOWN, DETECTORS.len()), "{limiter:#?}");
    assert!(limiter.says.contains("the server is not visible"));
    let unchecked = of(&run()).unchecked;
    assert_eq!(unchecked.len(), 8, "pools, what their workers wait for, fairness and a curve: {unchecked:#?}");
}

/// Golden test 9 as arithmetic: 5 workers of 5 ms behind 1 to 40 connections.
#[test]
fn a_sweep_past_a_pool_names_it_with_high_confidence() {
    let loads = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0, 20.0, 40.0];
    let mut sweep = clean_sweep(&loads.map(|n: f64| (n, 200.0 * n.min(5.0))));
    for point in &mut sweep.points {
        let evidence = run();
        point.evidence = Evidence { latency: point.evidence.latency.clone(), ..evidence };
        let workers = point.load.min(5.0);
        point.evidence.flow.good = (point.goodput_per_s * SECONDS) as u64;
        point.evidence.outstanding.mean = point.load;
        point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
        point.evidence.status = vec![page("target", &[("pool_workers", 5.0), ("pool_busy", workers)])];
    }
    let limiter = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert_eq!((limiter.name.as_str(), limiter.confidence), ("worker-pool-limited", Confidence::High), "{limiter:#?}");
    assert_eq!((limiter.load, limiter.ceiling_per_s), (Some(40.0), Some(1_000.0)));
    assert_eq!(limiter.prediction.unwrap().expected_per_s, 2_000.0);
    // Half-way up nothing is full.
    sweep.points.truncate(3);
    let below = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert_eq!((below.name.as_str(), below.load), (NOT_SATURATED, Some(4.0)));
    sweep.points.clear();
    assert_eq!(limiter_of_sweep(&sweep, &LimiterContext::default()), None);
}

#[test]
fn a_point_that_something_is_wrong_with_is_passed_over() {
    let mut sweep = clean_sweep(&[(1.0, 200.0), (5.0, 1_000.0), (10.0, 1_000.0), (20.0, 1_000.0)]);
    for point in &mut sweep.points {
        point.evidence.outstanding.mean = point.load;
    }
    sweep.points[3].evidence.fail("contract.status", 50_000);
    assert_eq!(limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap().load, Some(10.0));
}

#[test]
fn speeds_are_read_from_a_fingerprint() {
    let facts =
        [("nic/eth0", "speed_mbit_per_s", "1000"), ("nic/lo", "mtu", "65536"), ("nic/eth1", "speed_mbit_per_s", "?")];
    let facts = facts.map(|(section, name, value)| (section.to_owned(), [(name.to_owned(), value.to_owned())].into()));
    let fingerprint = model::Fingerprint { facts: facts.into(), ..model::Fingerprint::default() };
    assert_eq!(speeds(&fingerprint), [("eth0".to_owned(), 1e9)].into());
}
