//! `plimsoll compare`: targets that do not answer, and stored runs. Nothing is put on a server.

use crate::support::{Program, number, plimsoll, text};
use serde_json::Value;

/// A URL nothing listens behind.
const NOWHERE: &str = "http://127.0.0.1:1/";

/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");

#[test]
fn a_variant_that_cannot_be_reached_is_named() {
    plimsoll(["compare", NOWHERE, NOWHERE, "--name", "old", "--name", "new"]).run().fails(3, &["'old'", "127.0.0.1:1"]);
}

/// `plimsoll compare before after ARGS`, where `after` is the stored run with a change.
fn compare_with(change: impl FnOnce(&mut Value), args: &[&str]) -> Program {
    let program = plimsoll(["compare", "before", "after"].iter().chain(args));
    let mut after: Value = serde_json::from_str(RUN).expect("a record");
    change(&mut after);
    for (name, text) in [("before", RUN.to_owned()), ("after", after.to_string())] {
        let directory = program.directory().join(name);
        std::fs::create_dir(&directory).expect("our own directory");
        std::fs::write(directory.join("run.json"), text).expect("a file in it");
    }
    program
}

#[test]
fn stored_runs_are_compared_as_far_as_they_may_be() {
    let ended = compare_with(|run| run["goodput_per_s"]["value"] = 1_010.0.into(), &["--json"]).run();
    let record = ended.exits(5).json();
    assert_eq!(text(&record, "ended"), "stored");
    let metrics = record["metrics"].as_array().expect("a list");
    let goodput = metrics.iter().find(|one| one["metric"] == "goodput_per_s").expect("goodput");
    assert_eq!((text(goodput, "load"), number(goodput, "ratio.value")), ("stored", 1.01));
    assert_eq!(text(goodput, "call"), "cannot_tell", "two runs are no equivalence");
    let findings = record["verdict"]["findings"].as_array().expect("a list");
    assert!(findings.iter().any(|one| one["rule"] == "CP-03"), "{findings:#?}");
    let more = |run: &mut Value| run["plan"]["load"]["connections"] = 8.into();
    compare_with(more, &[]).run().fails(2, &["CP-01", "another load", "4 connections", "8 connections"]);
}
