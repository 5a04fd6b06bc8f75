//! `plimsoll history`: changes found in stored results, what is left out, and its exit codes. Nothing is measured.

use crate::support::{plimsoll, text};
use serde_json::Value;
use std::path::Path;

/// A run as it is stored, which other runs differ from in time and figures.
const RUN: &str = include_str!("../../../report/tests/stored/run");

/// A program that runs in a directory with the stored runs `all/NN`.
fn stored(args: &[&str], goodputs: &[f64]) -> crate::support::Program {
    let program = plimsoll(args.iter().copied());
    for (i, goodput) in goodputs.iter().enumerate() {
        put(&program.directory().join(format!("all/{:02}", i + 1)), &run(i + 1, *goodput));
    }
    program
}

fn put(directory: &Path, run: &Value) {
    std::fs::create_dir_all(directory).expect("our own directory");
    std::fs::write(directory.join("run.json"), run.to_string()).expect("a file in it");
}

fn run(day: usize, goodput: f64) -> Value {
    let mut run: Value = serde_json::from_str(RUN).expect("JSON");
    run["started"] = format!("2026-01-{day:02}T00:00:00Z").into();
    run["goodput_per_s"]["value"] = goodput.into();
    run["latency_ns"]["response"]["p99"] = (4_000_000 + 1_000 * (day as u64 % 3)).into();
    run
}

/// Goodput of each day, with a fall to `after` from the 15th on.
fn fall(after: f64) -> Vec<f64> {
    (1..=24).map(|day| if day < 15 { 1_000.0 } else { after } + f64::from(day * 7 % 5)).collect()
}

#[test]
fn a_fall_is_found_at_its_run_and_fails_only_where_that_is_asked_for() {
    let ended = stored(&["history", "all", "--json"], &fall(900.0)).run();
    let record = ended.exits(0).json();
    assert_eq!(text(&record, "format"), "plimsoll.history/1");
    let changes = record["series"][0]["figures"][0]["changes"].as_array().expect("a list");
    assert_eq!((changes.len(), text(&changes[0], "run"), &changes[0]["is_worse"]), (1, "15", &Value::Bool(true)));

    let told = stored(&["history", "all", "--fail-if-worse", "-o", "history.html"], &fall(900.0)).run();
    let page = told.exits(1).file("history.html");
    assert!(told.stdout.contains("worse        goodput -10 %") && told.stdout.contains("page: history.html"));
    assert!(page.contains("plimsoll history") && page.contains("from 15 on"));
    stored(&["history", "all", "--fail-if-worse"], &fall(1_100.0)).run().exits(0);
    stored(&["history", "all", "--fail-if-worse", "--margin", "15%"], &fall(900.0)).run().exits(0);
}

#[test]
fn what_is_left_out_is_named() {
    let program = stored(&["history", "all"], &fall(900.0));
    let mut invalid = run(25, 1.0);
    invalid["verdict"]["state"] = "invalid".into();
    invalid["verdict"]["findings"][0]["state"] = "invalid".into();
    put(&program.directory().join("all/25"), &invalid);
    let broken = program.directory().join("all/26");
    put(&broken, &Value::Null);
    let other = program.directory().join("all/27");
    std::fs::create_dir_all(&other).expect("our own directory");
    std::fs::write(other.join("events.jsonl"), "").expect("a file in it");
    let ended = program.run();
    let told = ended.exits(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["left out 3 results", "25: INVALID (ER-01)", "all/26: its run.json", "all/27: the result is missing"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_told_in_one_line() {
    stored(&["history", "all", "-o", "/dev/null/x"], &[1.0]).run().fails(2, &["cannot write", "/dev/null/x"]);
}
