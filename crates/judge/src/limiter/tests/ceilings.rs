//! What comes next, and what a change gains: figures of servers that were changed afterwards.

use super::unprepared::four_slots;
use super::*;

/// A run at so many responses per second, of a server without threads that anything is known of.
fn run_at(per_s: f64) -> Evidence {
    let mut evidence = run();
    let good = (per_s * SECONDS) as u64;
    (evidence.flow.sent, evidence.flow.good, evidence.flow.completed) = (good, good, good);
    (evidence.flow.bytes_received, evidence.flow.bytes_sent) = (good * 1_200, good * 80);
    evidence.outstanding.mean = 32.0;
    count(&mut evidence, "nic/eth0", "sent_bytes", 0);
    seen(&mut evidence).machine.as_mut().unwrap().cpu_shares = vec![CpuShares::default(); 4];
    (server(&mut evidence).cpu_cores, server(&mut evidence).threads) = (0.1, Vec::new());
    evidence
}

fn next_of(limiter: &Limiter) -> Option<(&str, f64)> {
    limiter.next.as_ref().map(|next| (next.name.as_str(), next.ceiling_per_s))
}

/// Eight children of php-fpm with one session, 20 ms each: "without this limit at most 96.6/s", and with a session each it was
/// 377/s.
#[test]
fn waiting_for_a_lock_is_not_in_the_ceiling_of_those_who_wait() {
    let mut evidence = run_at(48.2);
    seen(&mut evidence).pools = vec![pool("php-fpm", 8.0, 1.0, 0.01, &[("lock", 0.875), ("sleep", 0.115)])];
    let limiter = of(&evidence);
    assert_eq!(limiter.name, "contention-limited", "{limiter:#?}");
    let (name, ceiling_per_s) = next_of(&limiter).unwrap();
    assert_eq!(name, "php-fpm workers");
    assert!((ceiling_per_s / 377.0 - 1.0).abs() < 0.1, "{ceiling_per_s}");
}

/// The sweep ended at four connections, as goodput was flat from one on: half of the children had nothing to do, and it was "1 slot
/// behind php-fpm, whose workers wait for lock".
#[test]
fn workers_that_wait_for_each_other_are_seen_however_many_others_rest() {
    let at_four = |lock: f64| {
        bent_at(1.0, 48.2, |evidence| {
            let waits = [("lock", lock), ("sleep", 0.48 - lock)];
            server(evidence).threads.clear();
            count(evidence, "nic/eth0", "sent_bytes", 0);
            seen(evidence).pools = vec![pool("php-fpm", 8.0, 0.49, 0.01, &waits)];
        })
    };
    let limiter = at_four(0.36);
    assert_eq!(limiter.name, "contention-limited", "{limiter:#?}");
    assert!((limiter.next.unwrap().ceiling_per_s / 377.0 - 1.0).abs() < 0.1);
    assert_ne!(at_four(0.1).name, "contention-limited");
}

/// "2 redis-server instead of 1: 200/s expected; next limiter: php-fpm workers at 200/s", and two did 385/s.
#[test]
fn waiting_for_a_companion_is_not_in_the_ceiling_of_those_who_wait() {
    let mut evidence = run_at(199.0);
    seen(&mut evidence).pools = vec![pool("php-fpm", 8.0, 1.0, 0.03, &[("redis-server", 0.96)])];
    let redis = ServerObserved {
        cpu_cores: 0.99,
        threads: vec![thread("redis-server", 9, 0.995)],
        ..ServerObserved::default()
    };
    seen(&mut evidence).companions = [("redis-server".to_owned(), redis)].into();
    let limiter = of(&evidence);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("single-thread-limited", "thread redis-server"));
    let expected_per_s = limiter.prediction.as_ref().unwrap().expected_per_s;
    assert!((expected_per_s / 385.0 - 1.0).abs() < 0.1, "{limiter:#?}");
    assert!(
        next_of(&limiter).is_none_or(|(_, ceiling_per_s)| ceiling_per_s > 500.0),
        "the time that Redis works remains"
    );
}

/// Eight threads that hash were occupied, as they waited for the two CPUs: "next limiter: gunicorn workers at 594/s", true 1,000.
#[test]
fn waiting_for_a_cpu_is_not_in_the_ceiling_of_those_who_wait() {
    let of_pool = |runnable: Option<f64>, blocked: &[(&str, f64)]| {
        let mut evidence = run_at(297.0);
        let machine = seen(&mut evidence).machine.as_mut().unwrap();
        (machine.cpus, machine.busy_mean) = (2, 0.99);
        (machine.cpu_busy_mean, machine.cpu_shares) = (vec![0.99; 2], vec![CpuShares::default(); 2]);
        server(&mut evidence).cpu_cores = 1.78;
        seen(&mut evidence).pools = vec![PoolObserved { runnable, ..pool("gunicorn", 8.0, 1.0, 0.23, blocked) }];
        of(&evidence)
    };
    let known = of_pool(Some(0.7), &[]);
    assert_eq!(known.name, "cpu-limited", "{known:#?}");
    assert_eq!(
        next_of(&known).map(|(name, ceiling_per_s)| (name, ceiling_per_s.round())),
        Some(("gunicorn workers", 990.0))
    );
    for unknown in [of_pool(None, &[]), of_pool(Some(0.5), &[("condition", 0.25)])] {
        assert_eq!((unknown.name.as_str(), next_of(&unknown)), ("cpu-limited", None), "it may wait for a CPU unseen");
        assert!((unknown.prediction.unwrap().expected_per_s / 594.0 - 1.0).abs() < 0.2);
    }
}

/// Ten threads of Node, of which four compute and two have anything to do with requests: "next: node workers at 1,554/s".
#[test]
fn threads_of_one_process_that_mostly_rest_are_no_pool_that_is_known_to_be_alike() {
    let with = |processes: u32| {
        let mut evidence = run_at(627.0);
        let machine = seen(&mut evidence).machine.as_mut().unwrap();
        (machine.busy_mean, machine.cpu_busy_mean) = (0.99, vec![0.99; 4]);
        let node = server(&mut evidence);
        node.cpu_cores = 3.9;
        (node.processes[0].name, node.processes[0].count) = ("node".into(), processes);
        seen(&mut evidence).pools = vec![PoolObserved { runnable: Some(0.2), ..pool("node", 10.0, 0.4, 0.2, &[]) }];
        let limiter = of(&evidence);
        assert_eq!(limiter.name, "cpu-limited", "{limiter:#?}");
        next_of(&limiter).map(|(name, _)| name.to_owned())
    };
    assert_eq!((with(1), with(10).as_deref()), (None, Some("node workers")));
}

/// A quota of a third of a CPU: "throttles the server 100 % of the time", by a file that the first version does not have.
#[test]
fn a_quota_of_the_first_version_names_its_file_and_its_periods() {
    let mut evidence = run_at(197.0);
    let counters = [("throttled_ns", 20 * NS_PER_S), ("periods", 300), ("throttled_periods", 285)];
    counters.into_iter().for_each(|(name, n)| count(&mut evidence, "cgroup/server", name, n));
    let gauge = |value: u64| GaugeObserved { mean: value as f64, max: value, min: value };
    let gauges = [("cpu_quota_ns_per_s".to_owned(), gauge(300_000_000)), ("cfs_quota_us".to_owned(), gauge(30_000))];
    seen(&mut evidence).gauges = [("cgroup/server".into(), gauges.into())].into();
    server(&mut evidence).cpu_cores = 0.3;
    let waits = PoolObserved { runnable: Some(0.69), ..pool("gosrv", 1.0, 1.0, 0.3, &[]) };
    seen(&mut evidence).pools = vec![waits];
    let limiter = of(&evidence);
    assert_eq!(limiter.name, "cpu-quota-limited", "{limiter:#?}");
    assert!(limiter.says.contains("(cpu.cfs_quota_us) stops the server in 95 % of its periods"), "{}", limiter.says);
    assert_eq!(limiter.prediction.as_ref().unwrap().setting.as_deref(), Some("cpu.cfs_quota_us"));
    // Without its stops one CPU is all that it could use: 656/s.
    let (name, ceiling_per_s) = next_of(&limiter).unwrap();
    assert!(name == "gosrv workers" && (ceiling_per_s / 656.0 - 1.0).abs() < 0.1, "{name} {ceiling_per_s}");
}

#[test]
fn a_gain_of_less_than_a_twentieth_is_not_predicted() {
    let mut evidence = run_at(1_000.0);
    seen(&mut evidence).pools =
        vec![pool("php-fpm", 5.0, 1.0, 0.1, &[("sleep", 0.9)]), pool("other", 4.0, 0.97, 0.1, &[("sleep", 0.87)])];
    let limiter = of(&evidence);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("worker-pool-limited", "php-fpm workers"));
    // "Predicted 10 php-fpm workers instead of 5", and the next line said that they would gain nothing.
    let both = "; changing it alone would gain nothing: the next limit (other workers) is at 1,031/s, so both have to be raised";
    assert!(limiter.says.ends_with(both), "{}", limiter.says);
    assert_eq!((limiter.prediction, limiter.next.unwrap().name.as_str()), (None, "other workers"));
    seen(&mut evidence).pools[1].occupancy = 0.9;
    let limiter = of(&evidence);
    assert!(limiter.prediction.unwrap().expected_per_s > 1_100.0 && !limiter.says.contains("gain nothing"));
}

/// A sweep that bends at `knee`, with these figures of each load.
fn bent_at(knee: f64, slot_per_s: f64, mutate: impl Fn(&mut Evidence)) -> Limiter {
    let mut sweep = four_slots();
    for point in &mut sweep.points {
        point.goodput_per_s = slot_per_s * point.load.min(knee);
        point.iterations_per_s = vec![point.goodput_per_s; 2];
        point.evidence.flow.good = (point.goodput_per_s * SECONDS) as u64;
        point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
        mutate(&mut point.evidence);
    }
    limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap()
}

/// nginx with one worker that proxies to itself: its thread 93 % busy, its worker 94 % occupied, and "2 slots of 107 us each" that
/// more slots would not have raised. With 98 % the same nginx was named rightly.
#[test]
fn a_nearly_full_thread_that_allows_no_more_than_the_plateau_is_no_pool_of_slots() {
    let nginx = |thread_busy: f64, occupancy: f64| {
        bent_at(2.0, 9_325.0, |evidence| {
            server(evidence).processes[0].name = "nginx".into();
            server(evidence).threads = vec![thread("nginx", 1, thread_busy)];
            seen(evidence).pools = vec![pool("nginx", 1.0, occupancy, occupancy, &[])];
        })
    };
    for (thread_busy, occupancy) in [(0.98, 0.99), (0.933, 0.943)] {
        let limiter = nginx(thread_busy, occupancy);
        assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("single-thread-limited", "thread nginx"));
        let is_less_sure = limiter.confidence <= Confidence::Medium;
        assert!(is_less_sure || thread_busy > 0.95, "{limiter:#?}");
    }
    let slots = nginx(0.8, 0.8);
    assert_eq!(slots.name, "concurrency-limited (inferred)");
    let prediction = slots.prediction.unwrap();
    assert!(prediction.change.ends_with("by a setting that is not known"), "{}", prediction.change);
    assert!((prediction.expected_per_s / 18_650.0 - 1.25).abs() < 0.01, "the thread comes next: {prediction:?}");
}

/// Go with GOMAXPROCS=1: whichever of its threads runs, it is one. "1 slot, whose workers wait for sleep; 2 requests at a time
/// instead of 1: 1,932/s", and without the mutex it was 909/s.
#[test]
fn threads_that_take_turns_on_one_cpu_are_no_slots_that_wait() {
    let gosrv = |cores: f64, knee: f64| {
        bent_at(knee, 938.0, |evidence| {
            let group = server(evidence);
            (group.cpu_cores, group.threads) = (cores, vec![thread("gosrv", 1, 0.5), thread("gosrv", 2, 0.49)]);
            (group.processes[0].name, group.processes[0].count) = ("gosrv".into(), 1);
            group.processes[0].cpu_cores = cores;
            seen(evidence).pools = vec![pool("gosrv", 6.0, 0.7, 0.16, &[("sleep", 0.5)])];
        })
    };
    let limiter = gosrv(1.0, 1.0);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("single-thread-limited", "thread gosrv"));
    assert!(limiter.says.contains("GOMAXPROCS"), "{}", limiter.says);
    assert_eq!(limiter.prediction.unwrap().change, "2 gosrv processes instead of 1");
    assert_eq!(gosrv(0.3, 1.0).name, "concurrency-limited (inferred)", "one at a time that waits");
    assert_eq!(gosrv(2.0, 2.0).name, "worker-pool-limited");
}

/// nginx with two workers and three connections, two of them at one worker: "2 nginx processes instead of 1".
#[test]
fn a_full_worker_beside_others_that_rest_needs_an_even_spread_and_no_second_worker() {
    let mut evidence = run_at(277.0);
    let main = |pid: i32, busy: f64| ServerThreadObserved { pid, ..thread("nginx", pid, busy) };
    server(&mut evidence).threads = vec![main(2, 0.98), main(3, 0.15)];
    server(&mut evidence).processes[0].name = "nginx".into();
    seen(&mut evidence).pools = vec![pool("nginx", 2.0, 0.57, 0.56, &[])];
    let limiter = of(&evidence);
    assert_eq!(limiter.name, "single-thread-limited", "{limiter:#?}");
    assert!(limiter.says.contains("the 2 nginx workers are 56 % busy on average"), "{}", limiter.says);
    let prediction = limiter.prediction.unwrap();
    assert_eq!(prediction.change, "connections spread evenly over the 2 nginx workers");
    assert!((prediction.expected_per_s / 490.0 - 1.0).abs() < 0.01, "{prediction:?}");
}

/// Node of another user: "6 connections can request at most 2,413/s: a higher rate needs more connections", beside 1,862/s with 8 and
/// 1,592/s with 16.
#[test]
fn where_more_connections_got_less_nobody_is_told_to_use_more() {
    let goodput = [(1.0, 1_198.0), (2.0, 1_850.0), (4.0, 2_248.0), (6.0, 2_419.0), (8.0, 1_862.0), (16.0, 1_592.0)];
    let mut sweep = clean_sweep(&goodput);
    for point in &mut sweep.points {
        point.evidence.observed = None;
        point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
    }
    let limiter = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert_eq!((limiter.name.as_str(), limiter.load), (UNKNOWN, Some(6.0)), "{}", limiter.says);
    sweep.points.truncate(4);
    let rises = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert_eq!(rises.name, NOT_SATURATED, "{}", rises.says);
}
