//! Searches that end early, however busy the machine is, and what is kept of them.

use super::{POOL, search};
use crate::support::{Target, number, plimsoll, text};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// What is written within this time is soon enough.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn what_the_server_uses_can_be_a_goal() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=1ms");
    let goal = [&url[..], "--goal", "rss<1KiB,cpu<100%", "--from", "50", "--to", "50", "--budget", "25s"];
    let (code, record) = search(&goal);
    assert_eq!((code, text(&record, "capacity.ended")), (1, "never_met"), "{record:#}");
    assert_eq!(record["capacity"]["failed"][0], "rss<1KiB", "{:#}", record["capacity"]);
    let cpu = number(&record["outcomes"][0]["conditions"][1], "value");
    assert!((0.0..1.0).contains(&cpu), "{cpu}");
}

#[test]
fn an_interrupt_keeps_the_trials_that_were_made() {
    let target = Target::start(&POOL);
    let url = target.url("/pool");
    let args = ["capacity", &url, "-d", "4s", "--warmup", "0s", "--timeout", "1s", "--json", "-q"];
    let started = plimsoll(args).start();
    // Two trials are made.
    started.wait_for_sessions(SOON, "trial", 2);
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!((text(&record, "capacity.ended"), &record["interrupted"]), ("interrupted", &Value::Bool(true)));
    assert!(record["trials"].as_array().is_some_and(|trials| trials.len() >= 2), "{record:#}");
    assert!(number(&record, "capacity.more.ns") > 0.0, "{:#}", record["capacity"]);
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}
