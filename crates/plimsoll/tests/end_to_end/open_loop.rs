//! Open loop: what was planned is offered, and a stall is felt by every request that was due in it.

use crate::support::{Decider, Ended, Target, close_to, count, decide, decide_watched, number, plimsoll};
use serde_json::Value;
use std::path::Path;

/// Requests per second of the stall tests: few enough that those of a stall are answered at once after it on a slow CPU.
const RATE_PER_S: u64 = 400;
/// What a busy machine may add to a latency, ns.
const NOISE_NS: f64 = 2e6;

fn run(url: &str, args: &[&str]) -> (Ended, Value) {
    let ended = plimsoll(["run", url, "--json", "-q"].iter().chain(args)).run();
    let record = ended.json();
    (ended, record)
}

#[test]
fn constant_arrivals_offer_exactly_the_rate() {
    decide_watched(|| {
        let target = Target::start(&[]);
        let args = ["-R", "500", "-d", "2s", "--warmup", "0s", "--arrivals", "constant", "-t", "2"];
        let (ended, record) = run(&target.url("/bytes/64"), &args);
        ended.exits(4);
        assert!(count(&record, "requests.planned").abs_diff(1000) <= 1, "{:#}", record["requests"]);
        assert_eq!(count(&record, "requests.good"), count(&record, "requests.planned"));
        close_to(number(&record, "goodput_per_s.value"), 500.0, 0.05, "goodput");
    });
}

#[test]
fn poisson_arrivals_repeat_with_their_seed() {
    let target = Target::start(&[]);
    let planned = |seed: &str, threads: &str| {
        let args = ["-R", "2000", "-d", "500ms", "--warmup", "0s", "--seed", seed, "-t", threads];
        count(&run(&target.url("/bytes/64"), &args).1, "requests.planned")
    };
    let first = planned("7", "1");
    assert_eq!(planned("7", "2"), first, "another number of threads, the same schedule");
    assert_ne!(planned("8", "1"), first);
    // Six standard deviations of a Poisson count of 1,000.
    assert!(first.abs_diff(1000) < 190, "{first}");
}

#[test]
fn overload_accounts_for_every_request() {
    decide_watched(|| {
        let target = Target::start(&["--pool", "1", "--pool-time", "10ms"]);
        let load =
            ["-R", "300", "--arrivals", "constant", "-d", "2s", "--warmup", "0s", "-c", "50", "--timeout", "500ms"];
        let (ended, record) = run(&target.url("/pool"), &load);
        ended.exits(4);
        let planned = count(&record, "requests.planned");
        assert!(planned.abs_diff(600) <= 1, "{planned}");
        let failures = record["requests"]["failures"].as_object().expect("a map").values();
        let failed: u64 = failures.map(|n| n.as_u64().expect("a number")).sum();
        assert_eq!(planned, count(&record, "requests.good") + failed, "{:#}", record["requests"]);
        assert!(count(&record, "requests.censored") > 100, "{:#}", record["requests"]);
        assert!(number(&record, "goodput_per_s.value") <= 105.0, "{:#}", record["goodput_per_s"]);
    });
}

#[test]
fn a_thread_that_stays_awake_sends_on_time_and_does_not_count_that_as_work() {
    let target = Target::start(&["--cpus", "0"]);
    let url = target.url("/bytes/64");
    let last = std::thread::available_parallelism().map_or(0, |n| n.get() - 1).to_string();
    let with = |spin: &str| {
        let args = ["-R", "200", "--arrivals", "constant", "-d", "2s", "--warmup", "0s", "-c", "4", "-t", "1"];
        let (_, record) = run(&url, &[&args[..], &["--cpus", &last, "--spin", spin]].concat());
        record
    };
    let measure = || Value::Array(vec![with("0s"), with("1ms")]);
    decide(measure, |records| {
        let [asleep_ns, awake_ns] = [0, 1].map(|i| number(&records[i], "latency_ns.slip_client.p50"));
        assert!(awake_ns < asleep_ns / 2.0, "{awake_ns} ns late when awake, {asleep_ns} when asleep");
        // Awake it takes a millisecond of CPU time for each request more; what the work itself takes varies by some 100 us.
        let [asleep_ns, awake_ns] = [0, 1].map(|i| number(&records[i], "generator.cpu_ns_per_request"));
        assert!(awake_ns < asleep_ns + 500_000.0, "{awake_ns} ns of work when awake, {asleep_ns} when asleep");
    });
}

#[test]
fn a_thread_stays_awake_by_itself_only_on_cpus_that_the_server_does_not_use() {
    let spin_ns = |args: &[&str]| {
        let fixed = ["run", "-c", "8", "-d", "200ms", "--warmup", "0s", "--json", "-q"];
        count(&plimsoll(fixed.iter().chain(args)).run().json(), "plan.spin_ns")
    };
    let served = |rate| spin_ns(&["--serve", "target", "-t", "1", "-R", rate]);
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        assert_eq!([served("100"), served("1000"), served("10000")], [500_000, 500_000, 100_000]);
    }
    assert_eq!(spin_ns(&["--serve", "target"]), 0, "nothing is due in a closed loop");
    let target = Target::start(&[]);
    let url = target.url("/bytes/64");
    assert_eq!((spin_ns(&[&url, "-R", "1000"]), spin_ns(&[&url, "-R", "1000", "--spin", "5us"])), (0, 5000));
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        let pinned = Target::start(&["--cpus", "0"]);
        let url = pinned.url("/bytes/64");
        let on = |cpus| spin_ns(&[&url, "-R", "1000", "-t", "1", "--cpus", cpus]);
        assert_eq!([on("1"), on("0"), on("0,1")], [500_000, 0, 0], "of somebody else's server that is pinned");
    }
    let ended = plimsoll(["run", &url, "-R", "1000", "--spin", "2s"]).run();
    ended.exits(2);
    assert!(ended.stderr.contains("--spin 2s is longer than 1s"), "{}", ended.stderr);
}

#[test]
fn stalls_show_in_response_times_as_long_as_they_were() {
    // Enough connections that each request goes out in time, and so few that most wait for one.
    let decider = Decider::new();
    for (connections, seconds) in [("256", 5), ("8", 3)] {
        let measure = || stalled(connections, seconds);
        decider.decide(connections, measure, |(record, implied)| follows_the_log(record, implied, connections));
    }
}

/// Runs against a target that stalls; the record, and the response times that the target's log implies.
fn stalled(connections: &str, seconds: u64) -> (Value, Vec<f64>) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("stalls.jsonl");
    let target = Target::start(&["--stall", "200ms/1s", "--log", log.to_str().unwrap()]);
    let (rate, duration) = (RATE_PER_S.to_string(), format!("{seconds}s"));
    // The warm-up is as long as a period: from then on, any second holds one stall.
    let args =
        ["-R", &rate, "--arrivals", "constant", "-d", &duration, "--warmup", "1s", "--budget", "0s", "-c", connections];
    let (_, record) = run(&target.url("/bytes/64"), &args);
    target.stop();
    let planned = count(&record, "requests.planned");
    assert!(planned.abs_diff(RATE_PER_S * seconds) <= 1, "{planned}");
    (record, implied(&stall_lengths(&log), planned))
}

#[track_caller]
fn follows_the_log(record: &Value, implied: &[f64], connections: &str) {
    assert_eq!(count(record, "requests.good"), count(record, "requests.planned"), "{:#}", record["requests"]);
    // What is implied is of all requests: without those that noise was set aside with, a larger share waits in stalls.
    let response = match record["disturbance"]["basis"].as_str() {
        Some("clean") => "disturbance.whole.response_ns",
        _ => "latency_ns.response",
    };
    for (name, q) in [("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
        let expected = implied[((implied.len() - 1) as f64 * q) as usize];
        let found = number(record, &format!("{response}.{name}"));
        let band = 0.05 * expected + NOISE_NS;
        assert!((found - expected).abs() <= band, "{name}: {found} is not {expected} +- {band}");
    }
    let p50 = number(record, "latency_ns.response.p50");
    assert!(p50 < 5e6, "p50: {p50} although most requests meet no stall");
    if connections == "8" {
        // Seen from the connections alone, nearly all is well: that is coordinated omission.
        assert!(number(record, "latency_ns.service.p90") < 20e6, "{:#}", record["latency_ns"]);
        assert!(number(record, "latency_ns.slip_blocked.p99") > 150e6, "{:#}", record["latency_ns"]);
    }
}

/// Lengths of the stalls that ended in full; ns.
fn stall_lengths(log: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(log).expect("the log is there");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let stalls = lines.filter(|line| line.get("stall_begin_ns").is_some());
    stalls.map(|line| (count(&line, "stall_end_ns") - count(&line, "stall_begin_ns")) as f64).collect()
}

/// Response times of requests at constant gaps, in rising order: one that is due within a stall is answered when
/// that ends, all others at once.
fn implied(stalls_ns: &[f64], requests: u64) -> Vec<f64> {
    // The last may have been cut short by the end of the target.
    let whole = &stalls_ns[..stalls_ns.len() - 1];
    let mean_ns = whole.iter().sum::<f64>() / whole.len() as f64;
    let gap_ns = 1e9 / RATE_PER_S as f64;
    let stalls = (requests as f64 / RATE_PER_S as f64).round() as usize;
    let each = (mean_ns / gap_ns) as usize;
    let mut times = vec![0.0; requests as usize - stalls * each];
    times.extend((0..stalls * each).map(|n| mean_ns - (n % each) as f64 * gap_ns));
    times.sort_by(f64::total_cmp);
    times
}
