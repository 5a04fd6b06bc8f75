//! A search that ends early, however busy the machine is, and what is kept of it.

use super::POOL;
use crate::support::{Target, number, plimsoll, text};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// What is written within this time is soon enough.
const SOON: Duration = Duration::from_secs(30);

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
