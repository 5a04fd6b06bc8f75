//! Searches for a capacity on servers whose capacity is known.

mod kept;

use crate::support::{Target, count, decide, decide_watched, number, plimsoll, text};
use serde_json::Value;

/// Workers of the pool, and how long each request keeps one: 1,000 requests/s.
const POOL: [&str; 4] = ["--pool", "5", "--pool-time", "5ms"];
const CAPACITY_PER_S: f64 = 1_000.0;
/// Loads further away than this from the capacity cannot be judged wrongly by chance.
const FAR: f64 = 0.15;

/// A search that takes some 30 s at most.
fn search(args: &[&str]) -> (i32, Value) {
    let short = ["-d", "4s", "--warmup", "500ms", "--timeout", "1s", "--json", "-q"];
    let ended = plimsoll(["capacity"].iter().chain(args).chain(&short)).run();
    (ended.status.code().expect("it ends by itself"), ended.json())
}

#[test]
fn the_capacity_of_a_pool_is_inside_the_bracket() {
    // Served, so that the occupation of its pool is known.
    let serve = ["--serve", "target pool=5 pool-time=5ms"];
    let args = ["--goal", "p99<500ms,errors<1%", "--budget", "30s", "--width", "5%", "--arrivals", "constant"];
    decide(
        || search(&[&serve[..], &args].concat()).1,
        |record| {
            assert_eq!(text(record, "format"), "plimsoll.capacity/1");
            assert_eq!(text(record, "goal"), "p99<500ms,errors<1%,send-rate>99%");
            let (low, high) = (number(record, "capacity.low"), number(record, "capacity.high"));
            assert!(low < 1.02 * CAPACITY_PER_S && high > 0.98 * CAPACITY_PER_S, "{low} {high}");
            // Half a minute confirms no end; where all trials put the capacity is known better than by the loads tried.
            assert!(low < high && high / low < 2.5, "{low} {high}");
            assert!(
                (number(record, "capacity.estimate_per_s.value") / CAPACITY_PER_S - 1.0).abs() < 0.05,
                "{record:#}"
            );
            assert!(count(record, "capacity.n") >= 4 && number(record, "capacity.value") > 0.9 * low, "{record:#}");
            for trial in record["outcomes"].as_array().expect("a list").iter().filter(|one| one["counted"] == true) {
                let load = number(trial, "load_per_s");
                if (load / CAPACITY_PER_S - 1.0).abs() > FAR {
                    assert_eq!(trial["held"], load < CAPACITY_PER_S, "{trial:#}");
                }
            }
            let limiter = text(record, "limiter.name");
            assert_eq!(limiter, "worker-pool-limited", "{:#}", record["limiter"]);
        },
    );
}

#[test]
fn what_the_server_uses_can_be_a_goal() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=1ms");
    let goal = [&url[..], "--goal", "rss<1KiB,cpu<100%", "--from", "50", "--to", "50", "--budget", "25s"];
    decide_watched(|| {
        let (code, record) = search(&goal);
        assert_eq!((code, text(&record, "capacity.ended")), (1, "never_met"), "{record:#}");
        assert_eq!((&record["capacity"]["low"], number(&record, "capacity.high")), (&Value::Null, 50.0));
        assert_eq!(record["capacity"]["failed"][0], "rss<1KiB", "{:#}", record["capacity"]);
        let cpu = number(&record["outcomes"][0]["conditions"][1], "value");
        assert!((0.0..1.0).contains(&cpu), "{cpu}");
    });
}
