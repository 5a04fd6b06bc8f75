//! Tests of the sums over samples.

use super::*;
use model::{GeneratorUse, KernelFigures, Phase, PoolUse, ServerThread, ServerUse, StatesUse, ThreadRun, ThreadsUse};

fn process(name: &str, count: u64, cpu_ms: u64, rss_bytes: u64) -> ProcessUse {
    let figures = ProcessFigures { count, cpu_ns: cpu_ms * 1_000_000, rss_bytes, ..ProcessFigures::default() };
    ProcessUse { name: name.into(), figures }
}

/// A sample of `length_ms` in which one of two CPUs was `busy_ms` busy.
fn sample(length_ms: u64, busy_ms: u64, processes: Vec<ProcessUse>) -> Sample {
    let ns = |ms: u64| ms * 1_000_000;
    let cpu = |busy| CpuTimes { user_ns: ns(busy), idle_ns: ns(length_ms - busy), ..CpuTimes::default() };
    let (busy, idle) = (cpu(busy_ms), cpu(0));
    let mut total = busy;
    total.add(&idle);
    Sample {
        source: model::SourceId::LOCAL,
        phase: Phase::Measure,
        from_ns: 0,
        to_ns: ns(length_ms),
        machine: Some(MachineCpu { total, cpus: vec![busy, idle], ..MachineCpu::default() }),
        server: Some(ServerUse { processes, ended_unaccounted: 1, ended: BTreeMap::new(), threads: None }),
        generator: Some(GeneratorUse {
            cpu_ns: ns(300),
            threads: vec![ThreadRun { name: "load-0".into(), cpu_ns: ns(200), wait_ns: ns(50), runs: 21 }],
            cpus: vec![1],
            major_faults: Some(2),
        }),
        sockets: Some(Sockets {
            server: Some([("established".to_owned(), busy_ms)].into()),
            client: [("time_wait".to_owned(), 7)].into(),
            accept_queue: Some(busy_ms / 100),
            accept_backlog: Some(10),
            accept_fullest: Some(busy_ms as f64 / 1000.0),
        }),
        companions: [("db".to_owned(), ServerUse { processes: vec![process("db", 1, 10, 1)], ..Default::default() })]
            .into(),
        companion_sockets: BTreeMap::new(),
        others: Some(OthersUse {
            from_ns: 0,
            processes: vec![process("cron", 1, busy_ms / 4, 1)],
            ..OthersUse::default()
        }),
        kernel: KernelFigures {
            counters: [("tcp".to_owned(), [("ListenDrops".to_owned(), busy_ms)].into())].into(),
            gauges: [("memory".to_owned(), [("dirty_bytes".to_owned(), busy_ms)].into())].into(),
        },
        states: Some(StatesUse {
            looks: 10,
            cpu_ns: busy_ms,
            cpu_ns_max: busy_ms,
            pools: vec![PoolUse {
                name: "a".into(),
                workers: 20,
                workers_max: 2,
                running: busy_ms / 100,
                idle: 20 - busy_ms / 100,
                ..PoolUse::default()
            }],
        }),
        look_cpu_ns: Some(busy_ms),
        unavailable: BTreeMap::new(),
    }
}

fn sum(samples: &[Sample]) -> ObservedSum {
    let mut sum = ObservedSum::default();
    samples.iter().for_each(|sample| sum.add(sample, 1.0));
    sum
}

#[test]
fn means_are_over_the_time_and_largest_are_of_long_samples() {
    let seen = sum(&[
        sample(1000, 800, vec![process("a", 1, 100, 10), process("b", 3, 500, 20)]),
        sample(1000, 400, vec![process("a", 2, 100, 30), process("b", 2, 300, 20)]),
        sample(100, 100, vec![process("a", 1, 100, 1)]),
    ])
    .observed(1000.0)
    .unwrap();
    let machine = seen.machine.unwrap();
    assert!((machine.busy_mean - 1300.0 / 4200.0).abs() < 1e-9, "{machine:?}");
    assert_eq!((machine.cpus, machine.busy_max, machine.cpu_busy_mean[1]), (2, 0.4, 0.0));
    let server = seen.server.unwrap();
    assert!((server.cpu_cores - 1.1 / 2.1).abs() < 1e-9 && (server.cpu_cores_max - 0.6).abs() < 1e-9);
    assert!((server.cpu_ns_per_request.unwrap() - 1e6 * 1.1 / 2.1).abs() < 1e-3);
    assert_eq!((server.rss_bytes_max, server.ended_unaccounted), (50, 3));
    let told: Vec<_> = server.processes.iter().map(|p| (p.name.as_str(), p.count, p.rss_bytes_max)).collect();
    assert_eq!(told, [("b", 3, 20), ("a", 2, 30)], "the one with the most CPU time first");
    let generator = seen.generator.unwrap();
    assert_eq!((generator.cpus.as_slice(), generator.major_faults), (&[1][..], Some(6)));
    let thread = &generator.threads[0];
    assert!((thread.runs_per_s - 30.0).abs() < 1e-9, "{thread:?}");
    assert!((thread.busy_mean - 0.6 / 2.1).abs() < 1e-9 && (thread.wait_mean - 0.15 / 2.1).abs() < 1e-9);
    let sockets = seen.sockets.unwrap();
    assert_eq!((sockets.server.unwrap()["established"], sockets.accept_queue_max), (800, Some(8)));
    assert_eq!((sockets.accept_backlog, sockets.accept_fullest_max), (Some(10), Some(0.8)));
    let idle = CpuShares { idle: 1.0, ..CpuShares::default() };
    assert_eq!((machine.cpu_shares[0].user, machine.cpu_shares[1]), (1300.0 / 2100.0, idle));
    let others = seen.others.unwrap();
    assert_eq!((others.processes[0].name.as_str(), others.cpu_cores), ("cron", 0.325 / 2.1));
    let db = &seen.companions["db"];
    assert_eq!((db.cpu_cores, db.cpu_cores_max), (0.03 / 2.1, 0.01));
    // Server 1.1 s, others 0.325 s, generator 0.9 s and the database 0.03 s, of 1.3 s.
    assert!((machine.accounted_share.unwrap() - 2.355 / 1.3).abs() < 1e-9, "{machine:?}");
    assert_eq!(seen.counters["tcp"]["ListenDrops"], 1300);
    let dirty = seen.gauges["memory"]["dirty_bytes"];
    assert_eq!((dirty.max, dirty.min, dirty.mean), (800, 100, 1300.0 / 3.0));
    let sampler = seen.sampler.unwrap();
    assert_eq!((sampler.looks, sampler.cpu_ns_max, sampler.cpu_share), (3, 800, 1300.0 / 2.1e9));
    let cores: Vec<_> = seen.seconds.iter().map(|second| second.server_cores).collect();
    assert_eq!(cores, [Some(0.6), Some(0.4)], "the short sample is no second");
    assert_eq!(seen.seconds[0].companions_cores, Some(0.01));
    assert_eq!(seen.seconds[0].machine_cores, Some(0.8));
    assert!((seen.seconds[1].pools["a"] - 0.2).abs() < 1e-9, "{:?}", seen.seconds);
    let pool = &seen.pools[0];
    assert!((pool.occupancy - 13.0 / 60.0).abs() < 1e-9 && (pool.occupancy_max - 0.4).abs() < 1e-9, "{pool:?}");
    assert_eq!(pool.samples, 60);
    assert_eq!(seen.pools_sampler.map(|sampler| sampler.looks), Some(30));
}

#[test]
fn a_cpu_that_is_offline_moves_no_other() {
    let mut samples = [sample(1000, 800, Vec::new()), sample(1000, 400, Vec::new())];
    for sample in &mut samples {
        sample.machine.as_mut().unwrap().numbers = vec![0, 2];
    }
    let all = sum(&[sample(1000, 600, Vec::new())]);
    let mut apart = sum(&samples);
    let machine = apart.observed(1.0).unwrap().machine.unwrap();
    assert_eq!(
        (machine.cpu_numbers.as_slice(), machine.busy_of(2), machine.busy_of(1)),
        (&[0, 2][..], Some(0.0), None)
    );
    assert_eq!((machine.busy_of(0), machine.shares_of(2).map(|shares| shares.idle)), (Some(0.6), Some(1.0)));
    // CPU 1 is switched on.
    apart.merge(&all);
    let machine = apart.observed(1.0).unwrap().machine.unwrap();
    let of: Vec<_> = machine.shares_by_number().map(|(cpu, shares)| (cpu, shares.user)).collect();
    assert_eq!((of, machine.cpus), (vec![(0, 0.6), (1, 0.0), (2, 0.0)], 3));
}

/// One thread answers for all workers of the pool: a chart of threads has it at 7 % where the pool is full.
#[test]
fn the_pool_of_the_built_in_server_is_as_full_as_it_says() {
    let look = |at_ns: u64, busy: f64| StatusLook {
        url: "http://h/stats".into(),
        status: Some(model::ServerStatus {
            server: "target".into(),
            figures: [("pool_busy".to_owned(), busy), ("pool_workers".to_owned(), 4.0)].into(),
        }),
        reason: None,
        at_ns: Some(at_ns),
        took_ns: 1,
    };
    let mut sum = sum(&[sample(1000, 70, vec![process("a", 1, 70, 10)])]);
    let second = sum.seconds[0].clone();
    sum.add_status(&look(second.from_ns + second.length_ns / 2, 4.0));
    assert_eq!(sum.seconds[0].pools[BUILT_IN_POOL], 1.0);
    // Of a second that is not over yet, and of many that are never seen.
    for late in 0..100 {
        sum.add_status(&look(second.from_ns + second.length_ns + late, 2.0));
    }
    assert!(sum.told_pool.len() <= TOLD_WITHIN + 1 && sum.seconds[0].pools[BUILT_IN_POOL] == 1.0);
    let mut next = sample(1000, 70, vec![process("a", 1, 70, 10)]);
    (next.from_ns, next.to_ns) = (second.from_ns + second.length_ns, second.from_ns + 2 * second.length_ns);
    sum.add(&next, 1.0);
    assert_eq!((sum.seconds[1].pools[BUILT_IN_POOL], sum.told_pool.len()), (0.5, 0));
}

#[test]
fn processes_and_machine_are_compared_over_the_same_time() {
    let at = |from_ms: u64, to_ms: u64, since_ms: Option<u64>| {
        let ns = |ms| ms * 1_000_000;
        let mut sample = sample(to_ms - from_ms, 500, Vec::new());
        (sample.from_ns, sample.to_ns) = (ns(from_ms), ns(to_ms));
        (sample.companions, sample.generator) = (BTreeMap::new(), Some(GeneratorUse::default()));
        let others =
            |ms| OthersUse { from_ns: ns(ms), processes: vec![process("cron", 1, 400, 1)], ..OthersUse::default() };
        sample.others = since_ms.map(others);
        sample
    };
    let share = |samples: &[Sample]| sum(samples).observed(0.0).unwrap().machine.unwrap().accounted_share;
    assert_eq!(share(&[at(0, 1000, None), at(1000, 2000, Some(0))]), Some(0.4));
    assert_eq!(share(&[at(1000, 2000, Some(0))]), None, "most of it was before the window");
    assert_eq!(share(&[at(0, 1000, Some(0)), at(1000, 2000, None)]), Some(0.8), "what is open is left out");
}

#[test]
fn windows_merge_as_if_they_were_one() {
    let first = sample(1000, 800, vec![process("a", 1, 100, 10)]);
    let second = sample(2000, 400, vec![process("a", 2, 300, 5), process("b", 1, 50, 5)]);
    let mut merged = sum(std::slice::from_ref(&first));
    merged.merge(&sum(std::slice::from_ref(&second)));
    assert_eq!(merged, sum(&[first, second]));
}

#[test]
fn what_is_not_available_is_none_with_its_reason() {
    let mut bare = sample(1000, 0, Vec::new());
    (bare.machine, bare.server, bare.generator, bare.sockets) = (None, None, None, None);
    (bare.others, bare.look_cpu_ns, bare.kernel) = (None, None, KernelFigures::default());
    bare.states = None;
    bare.unavailable = [("server".to_owned(), "elsewhere".to_owned())].into();
    let mut seen = sum(std::slice::from_ref(&bare));
    seen.note(&bare);
    let observed = seen.observed(1.0).unwrap();
    assert_eq!((observed.machine, observed.server, observed.sockets), (None, None, None));
    assert_eq!((observed.others, observed.sampler, observed.counters), (None, None, BTreeMap::new()));
    assert_eq!((&observed.pools, observed.pools_sampler), (&Vec::new(), None));
    assert_eq!(observed.unavailable["server"], "elsewhere");
    assert_eq!(observed.seconds[0].server_cores, None);
    assert_eq!(ObservedSum::default().observed(1.0), None);
    assert_eq!(sum(&[sample(1000, 0, Vec::new())]).observed(0.0).unwrap().server.unwrap().cpu_ns_per_request, None);
}

#[test]
fn the_process_of_an_agent_is_no_load_generator_and_counts_among_all_processes() {
    let mut sum = ObservedSum::default();
    sum.add(&Sample { source: model::SourceId::SERVER_HOST, ..sample(1000, 400, vec![process("web", 1, 80, 1)]) }, 1.0);
    let seen = sum.observed(1.0).expect("it was looked at");
    assert_eq!((seen.generator, seen.seconds[0].generator_cores), (None, None));
    let own = sample(1000, 400, vec![process("web", 1, 80, 1)]);
    let mut here = ObservedSum::default();
    here.add(&own, 1.0);
    let share = |seen: &Observed| seen.machine.as_ref().and_then(|machine| machine.accounted_share);
    let here = here.observed(1.0).expect("it was looked at");
    assert_eq!(share(&sum.observed(1.0).expect("it was looked at")), share(&here));
}

/// A `convert` that computed for 12 s of 30 was a thread that is 99 % busy, and hid what limits.
#[test]
fn a_thread_that_lived_for_a_part_of_the_window_was_idle_in_the_rest() {
    let ns = |ms: u64| ms * 1_000_000;
    let seconds = (0..10).map(|second| {
        let thread =
            |tid, user_ms| ServerThread { pid: tid, tid, user_ns: ns(user_ms), wait_ns: Some(0), ..Default::default() };
        let brief = (second < 4).then(|| thread(2, 1000));
        let threads = [thread(1, 500)].into_iter().chain(brief).collect();
        let mut sample = sample(1000, 100, vec![process("a", 1, 100, 1)]);
        (sample.from_ns, sample.to_ns) = (ns(1000 * second), ns(1000 * (second + 1)));
        let server = sample.server.as_mut().expect("a server");
        server.threads = Some(ThreadsUse { from_ns: sample.from_ns, threads, cpus: vec![0] });
        sample
    });
    let observed = sum(&seconds.collect::<Vec<_>>()).observed(1.0).unwrap();
    let busy: Vec<_> = observed.server.unwrap().threads.iter().map(|thread| (thread.tid, thread.user_mean)).collect();
    assert_eq!(busy, [(1, 0.5), (2, 0.4)]);
}
