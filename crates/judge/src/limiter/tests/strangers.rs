//! A server beside a program that takes CPU time from it and from the load generator: what it does in undisturbed time says what is
//! full, and what a change would buy.

use super::*;

/// A server on CPU 0 of two, which has used so much of it, and has done three quarters of what it does in undisturbed time.
fn beside_a_stranger(cores: f64) -> Evidence {
    let mut evidence = run();
    let (clean_ns, clean_good) = (evidence.measured_ns / 2, evidence.flow.good * 2 / 3);
    evidence.disturbance =
        Some(model::Disturbance { basis: model::Basis::Clean, clean_ns, clean_good, ..Default::default() });
    let machine = seen(&mut evidence).machine.as_mut().unwrap();
    (machine.cpus, machine.cpu_busy_mean) = (2, vec![0.8, 0.6]);
    let shares = CpuShares { user: 0.7, system: 0.1, idle: 0.2, ..CpuShares::default() };
    machine.cpu_shares = vec![shares, shares];
    let server = server(&mut evidence);
    server.cpus = vec![0];
    server.cpu_cores = cores;
    server.processes[0].cpu_cores = cores;
    server.threads = vec![thread("app", 1, cores)];
    evidence
}

/// The load generator stops for the stranger too, so that the CPU rests: "the only worker is occupied 99.7 % of the time", and two
/// of them were to do twice as much on that CPU.
#[test]
fn a_cpu_that_is_full_in_undisturbed_time_is_the_limit_and_not_the_worker_on_it() {
    let mut evidence = beside_a_stranger(0.75);
    seen(&mut evidence).pools = vec![pool("app", 1.0, 0.99, 0.99, &[])];
    let clean_per_s = evidence::goodput(&evidence).value;
    let limiter = of(&evidence);
    assert_eq!(limiter.name, "cpu-limited", "{}", limiter.says);
    assert!(limiter.says.contains("100 % busy") && limiter.says.contains("of undisturbed time"), "{}", limiter.says);
    assert!(limiter.ceiling_per_s.is_some_and(|per_s| (per_s / clean_per_s - 1.0).abs() < 0.01), "{limiter:?}");
}

/// CPU time is counted in steps, and is spent by others too: a worker that was only ever seen to run has filled its CPU.
#[test]
fn workers_that_only_run_fill_the_cpus_that_they_have() {
    let mut evidence = beside_a_stranger(0.6);
    seen(&mut evidence).pools = vec![pool("app", 1.0, 0.99, 0.99, &[])];
    assert_eq!(of(&evidence).name, "cpu-limited");
    seen(&mut evidence).pools = vec![pool("app", 1.0, 0.99, 0.3, &[("sleep", 0.69)])];
    assert_eq!(of(&evidence).name, "worker-pool-limited");
}

/// "All 8 workers are occupied, 92 % of it waiting on redis-server": more workers were to do more, with high confidence.
#[test]
fn a_companion_whose_thread_is_full_in_undisturbed_time_is_what_its_workers_wait_for() {
    let with = |busy: f64| {
        let mut evidence = beside_a_stranger(0.1);
        server(&mut evidence).threads.clear();
        seen(&mut evidence).pools = vec![pool("php-fpm", 8.0, 1.0, 0.05, &[("redis-server", 0.92)])];
        let redis = ServerObserved {
            cpu_cores: busy,
            cpus: vec![1],
            threads: vec![ServerThreadObserved { wait_mean: Some(0.05), ..thread("redis-server", 9, busy) }],
            ..ServerObserved::default()
        };
        seen(&mut evidence).companions = [("redis-server".to_owned(), redis)].into();
        of(&evidence)
    };
    let full = with(0.7);
    assert!(["single-thread-limited", "upstream-limited", "cpu-limited"].contains(&full.name.as_str()), "{full:?}");
    assert!(full.says.contains("redis-server"), "{}", full.says);
    assert_eq!(with(0.3).name, "worker-pool-limited", "it has room");
}

/// What one thread did was told as half of what two do, measured with the disturbed time in it: 461/s, and two did 615/s.
#[test]
fn a_prediction_is_of_undisturbed_time_as_the_goodput_is() {
    let mut evidence = beside_a_stranger(0.75);
    server(&mut evidence).cpus = vec![0, 1];
    seen(&mut evidence).machine.as_mut().unwrap().cpu_busy_mean = vec![0.5, 0.5];
    let clean_per_s = evidence::goodput(&evidence).value;
    let limiter = of(&evidence);
    assert_eq!(limiter.name, "single-thread-limited", "{}", limiter.says);
    assert!(limiter.ceiling_per_s.is_some_and(|per_s| (per_s / clean_per_s - 1.0).abs() < 0.05), "{limiter:?}");
}
