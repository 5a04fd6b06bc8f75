//! Pools of workers that are full.

use super::*;

/// Method 5.3, detector 5, from either source.
#[test]
fn a_full_pool_with_requests_waiting_says_what_twice_as_many_would_do() {
    let by_states = |evidence: &mut Evidence| {
        seen(evidence).pools = vec![pool("php-fpm", 5.0, 0.99, 0.1, &[("sleep", 0.89)])];
    };
    let by_page = |evidence: &mut Evidence| {
        evidence.status =
            vec![page("php-fpm", &[("processes", 5.0), ("processes_active", 4.95), ("listen_queue", 15.0)])];
    };
    for (source, waits) in [(&by_states as &dyn Fn(&mut Evidence), true), (&by_page, false)] {
        let mut evidence = run();
        source(&mut evidence);
        let limiter = of(&evidence);
        assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("worker-pool-limited", "php-fpm workers"));
        assert_eq!(limiter.says.contains("(90 % of it waiting on sleep)"), waits, "{}", limiter.says);
        let prediction = limiter.prediction.unwrap();
        assert_eq!((prediction.setting.as_deref(), prediction.to), (Some("pm.max_children"), Some(10.0)));
        assert!((limiter.ceiling_per_s.unwrap() - 1_010.1).abs() < 0.1, "{:?}", limiter.ceiling_per_s);
        assert!((prediction.expected_per_s - 2_020.2).abs() < 0.1, "{prediction:?}");
        let range = [prediction.low_per_s, prediction.high_per_s].map(Option::unwrap);
        assert!((range[0] - 1_616.2).abs() < 0.1 && (range[1] - 2_424.2).abs() < 0.1, "{prediction:?}");
    }
}

/// A pool's share is of undisturbed time: with the responses of the whole window it was said to be full at half its rate.
#[test]
fn a_full_pool_holds_what_it_gave_in_undisturbed_time() {
    let mut evidence = run();
    seen(&mut evidence).pools = vec![pool("php-fpm", 5.0, 1.0, 0.1, &[("sleep", 0.9)])];
    let clean_ns = evidence.measured_ns / 2;
    let clean_good = evidence.flow.good * 3 / 4;
    evidence.disturbance =
        Some(model::Disturbance { basis: model::Basis::Clean, clean_ns, clean_good, ..Default::default() });
    let clean_per_s = evidence::goodput(&evidence).value;
    let limiter = of(&evidence);
    let workers = limiter.utilisations.iter().find(|used| used.resource == "php-fpm workers").unwrap();
    assert_eq!((workers.share, workers.ceiling_per_s), (1.0, Some(clean_per_s)));
}

/// A user without root who observes php-fpm of another one: four workers that share a CPU were "100 % of it running", and eight of
/// them were to do twice as much.
#[test]
fn workers_that_look_as_if_they_run_have_run_no_longer_than_their_cpu_time() {
    let with = |cores: f64, runnable: Option<f64>| {
        let mut evidence = run();
        server(&mut evidence).cpu_cores = cores;
        let process = &mut server(&mut evidence).processes[0];
        (process.name, process.cpu_cores, process.count) = ("php-fpm".to_owned(), cores, 4);
        let observed = PoolObserved { runnable, ..pool("php-fpm", 4.0, 1.0, 1.0, &[]) };
        seen(&mut evidence).pools = vec![observed];
        of(&evidence)
    };
    assert_ne!(with(0.99, None).name, "worker-pool-limited");
    assert_eq!(with(3.3, None).name, "worker-pool-limited", "each has a CPU");
    assert_eq!(with(0.99, Some(0.0)).name, "worker-pool-limited", "its scheduler says that none of them waits");
}

#[test]
fn a_pool_with_workers_to_spare_or_nobody_waiting_is_no_limit() {
    let full = |evidence: &mut Evidence, occupancy: f64| {
        seen(evidence).pools = vec![pool("php-fpm", 5.0, occupancy, 0.1, &[])];
    };
    assert!(!named_after(|evidence| full(evidence, 0.94)).contains("pool"));
    let exactly_busy = |evidence: &mut Evidence| {
        full(evidence, 1.0);
        evidence.outstanding.mean = 5.0;
    };
    assert!(!named_after(exactly_busy).contains("pool"), "five requests for five workers");
}

/// 70 workers of php-fpm that wait 100 ms, and 100 connections: each of 30 requests waited for one of them, and no limiter was
/// named.
#[test]
fn a_large_pool_is_full_with_fewer_requests_waiting_than_half_of_its_workers() {
    let full = |evidence: &mut Evidence, in_flight: f64| {
        seen(evidence).pools = vec![pool("php-fpm", 70.0, 1.0, 0.002, &[("sleep", 0.99)])];
        evidence.outstanding.mean = in_flight;
    };
    assert_eq!(named_after(|evidence| full(evidence, 100.0)), "worker-pool-limited");
    assert!(!named_after(|evidence| full(evidence, 80.0)).contains("pool"), "they may be on the way");
}

/// Workers that are occupied for nine tenths of the time beside CPUs that are as busy: either may be what is short, and no
/// sentence said so.
#[test]
fn where_no_resource_is_full_those_that_may_be_are_named_with_the_experiment() {
    let with = |occupancy: f64, busy: f64| {
        let mut evidence = run();
        seen(&mut evidence).pools = vec![pool("php-fpm", 5.0, occupancy, 0.1, &[("sleep", occupancy - 0.1)])];
        let machine = seen(&mut evidence).machine.as_mut().unwrap();
        (machine.busy_mean, machine.cpu_busy_mean) = (busy, vec![busy; 4]);
        server(&mut evidence).cpu_cores = 4.0 * busy;
        server(&mut evidence).processes[0].cpu_cores = 4.0 * busy;
        of(&evidence)
    };
    let both = with(0.88, 0.8);
    assert_eq!(both.name, UNKNOWN, "{both:#?}");
    let says = "; these two are possible: php-fpm workers (88 % in use) and server CPUs (80 % in use); an experiment with 10 \
                php-fpm workers instead of 5 (pm.max_children) would tell";
    assert!(both.says.ends_with(says), "{}", both.says);
    let possible: Vec<_> = both.possible.iter().map(|possible| possible.name.as_str()).collect();
    assert_eq!(possible, ["worker-pool-limited", "cpu-limited"]);
    let one = with(0.88, 0.3);
    assert!(one.says.contains("; possible is php-fpm workers (88 % in use); an experiment"), "{}", one.says);
    assert!(with(0.5, 0.3).possible.is_empty());
}

/// Redis on another CPU than the front was "the only worker (redis-server)": a pool whose name no setting has.
#[test]
fn a_companion_of_one_thread_that_runs_on_a_cpu_of_its_own_is_one_core() {
    let with = |cpu_busy: Vec<f64>, running: f64| {
        let mut evidence = run();
        (server(&mut evidence).cpu_cores, server(&mut evidence).cpus) = (0.4, vec![0]);
        let mut redis = server(&mut evidence).clone();
        redis.processes[0].name = "redis-server".to_owned();
        redis.threads = vec![thread("redis-server", 7, running)];
        (redis.cpu_cores, redis.cpus) = (running, vec![1]);
        let seen = seen(&mut evidence);
        seen.companions = [("redis".to_owned(), redis)].into();
        seen.machine.as_mut().unwrap().cpu_busy_mean = cpu_busy;
        seen.pools = vec![pool("redis-server", 1.0, 1.0, running, &[])];
        limiter_of_run(&evidence, &judge_run(&evidence), &LimiterContext { server_cpus: vec![0], ..context() })
    };
    let apart = with(vec![0.2, 1.0, 0.1, 0.1], 0.99);
    assert_eq!((apart.name.as_str(), apart.resource.as_str()), ("single-thread-limited", "thread redis-server"));
    assert!(apart.says.ends_with("99 % busy, while the server's CPU is 20 % busy"), "{}", apart.says);
    // Of two Redis the second would have what the front leaves of its CPU: 2 CPUs, of which a response takes 0.4 and 0.99 ms.
    let prediction = apart.prediction.unwrap();
    assert!((prediction.expected_per_s - 1_000.0 * 2.0 / 1.39).abs() < 1.0, "{prediction:?}");
    assert_eq!(with(vec![0.2, 1.0, 0.1, 0.1], 0.5).name, "worker-pool-limited", "it waits for half of its time");
    assert_ne!(with(vec![0.99, 0.1, 0.1, 0.1], 0.99).name, "single-thread-limited", "it may be on that CPU");
}

/// "8 connections leave it room: a higher rate needs more" was said beside a database that had its own CPU, and all of it.
#[test]
fn a_companion_that_has_all_of_its_own_cpu_is_the_limit_and_names_it() {
    let with = |busy: f64, own_cores: f64| {
        let mut evidence = run();
        (server(&mut evidence).cpu_cores, server(&mut evidence).cpus) = (0.2, vec![0]);
        let mut database = server(&mut evidence).clone();
        database.processes[0].name = "mariadbd".to_owned();
        database.threads = (1..=4).map(|tid| thread("connection", tid, own_cores / 4.0)).collect();
        (database.cpu_cores, database.cpus) = (own_cores, vec![1]);
        let seen = seen(&mut evidence);
        seen.companions = [("mariadb".to_owned(), database)].into();
        let machine = seen.machine.as_mut().unwrap();
        (machine.cpu_busy_mean, machine.busy_mean) = (vec![0.2, busy, 0.1, 0.1], 0.35);
        limiter_of_run(&evidence, &judge_run(&evidence), &LimiterContext::default())
    };
    let full = with(0.99, 0.95);
    assert_eq!((full.name.as_str(), full.resource.as_str()), ("cpu-limited", "CPUs of mariadb"), "{}", full.says);
    assert_eq!(full.says, "the 1 CPU available to mariadb (of 4) is 99 % busy, 96 % of it by mariadb");
    assert!(!names_a_limit(&with(0.6, 0.55)), "it has room");
    assert!(!names_a_limit(&with(0.99, 0.3)), "somebody else has that CPU");
}
