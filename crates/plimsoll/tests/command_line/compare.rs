//! `plimsoll compare`: wrong flags, variants and conditions, targets that do not answer, and stored runs. Nothing is put on a
//! server.

use crate::support::{Program, number, plimsoll, text};
use serde_json::Value;

/// A URL nothing listens behind; it must not get that far.
const NOWHERE: &str = "http://127.0.0.1:1/";

/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");

/// Why flags of a measurement are refused beside stored runs.
const STORED: &str = "is for servers that are measured; stored runs are compared as they are";

/// `plimsoll compare NOWHERE NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    plimsoll(["compare", NOWHERE, NOWHERE].iter().chain(args)).run().fails(2, named);
}

#[test]
fn a_comparison_needs_a_baseline_and_a_variant() {
    let fails = |args: &[&str], named: &[&str]| {
        plimsoll(["compare"].iter().chain(args)).run().fails(2, named);
    };
    fails(&[], &["a baseline and a variant", "--aa"]);
    fails(&[NOWHERE], &["a baseline and a variant"]);
    fails(&["--aa", NOWHERE, NOWHERE], &["--aa", "one server with itself, not 2"]);
    fails(&[NOWHERE, "plimsoll-runs/x"], &["is a URL and plimsoll-runs/x is none"]);
    fails(&["nowhere/a", "nowhere/b"], &["nowhere/a is neither a URL", "nor the directory of a stored run"]);
    fails(&[".", "."], &["not a run directory"]);
    fails(&["."], &["2 to 16 directories", "here are 1"]);
}

#[test]
fn conditions_that_are_none_are_named_with_what_was_meant() {
    refused(&["--fail-if", "godput<-3%"], &["--fail-if", "godput<-3%", "did you mean goodput?"]);
    refused(&["--fail-if", "cpu>2"], &["--fail-if", "cpu>2", "in percent"]);
    refused(&["--fail-if", "cpu"], &["--fail-if", "no < or >"]);
    refused(&["--fail-if", "rss>5%", "--only", "fixed"], &["--fail-if", "rss>5%", "not measured at fixed load"]);
    refused(&["--fail-if", "capacity<-5%"], &["--fail-if", "capacity<-5%", "with --capacity"]);
}

#[test]
fn values_out_of_range_are_named() {
    refused(&["--margin", "0%"], &["--margin", "0.10 %", "50 %"]);
    refused(&["--precision", "narrow"], &["--precision", "narrow"]);
    refused(&["--blocks", "0"], &["--blocks 0"]);
    refused(&["--budget", "5s"], &["--budget 5s", "one block"]);
    refused(&["-d", "100ms"], &["--duration 100ms", "1s"]);
    refused(&["-c", "0"], &["--connections", "0"]);
    refused(&["--fail-if", "goodput>3%"], &["would fail a better one", "write goodput<-3%"]);
    refused(&["--pipeline", "4"], &["--pipeline 4"]);
    refused(&["-R", "100", "--only", "saturated"], &["--rate", "--only"]);
    refused(&["--capacity", "--budget", "1m"], &["--budget 60s", "one block"]);
    refused(&["--capacity", "--capacity-budget", "5s"], &["--capacity-budget 5s", "two trials"]);
    refused(&["--goal", "p99<50ms"], &["--goal", "--capacity"]);
    refused(&["--capacity", "--goal", "p99<9s"], &["--goal p99<9s", "--timeout 5s"]);
    refused(&["--capacity", "--goal", "p50<9ms,p99<5ms"], &["--goal", "p50<9ms", "p99<5ms"]);
    refused(&["--name", "a", "--name", "b", "--name", "c"], &["3 names with --name and 2 variants"]);
    refused(&["--name", "a", "--name", " "], &["--name is empty"]);
    refused(&["--name", "a"], &["1 name with --name and 2 variants"]);
    refused(&["--server", ":80"], &["--server names one server"]);
}

#[test]
fn a_variant_that_cannot_be_reached_is_named() {
    plimsoll(["compare", NOWHERE, NOWHERE, "--name", "old", "--name", "new"]).run().fails(3, &["'old'", "127.0.0.1:1"]);
}

#[test]
fn what_other_machines_cannot_do_is_refused_before_anything_is_started() {
    for (machine, flag) in [("--client=ssh://a,ssh://b", "--client"), ("--server-host=ssh://s", "--server-host")] {
        refused(&[machine, "--profile"], &[flag, "--profile"]);
        refused(&[machine, "--unix-socket", "/run/app.sock"], &[flag, "--unix-socket"]);
        refused(&[machine, "--ssh", "ssh '"], &["--ssh", "quotes"]);
        plimsoll(["compare", "--aa", machine]).run().exits(2);
        plimsoll(["compare", ".", ".", machine]).run().fails(2, &[flag, STORED]);
    }
    let clients = ["--client", "ssh://a,ssh://b"];
    refused(&[&clients[..], &["--warmup", "auto"]].concat(), &["--warmup auto"]);
    refused(&[&clients[..], &["--cpus", "0"]].concat(), &["--client", "--cpus"]);
    refused(&[&clients[..], &["-c", "1"]].concat(), &["-c 1", "fewer connections than the 2 agents"]);
    refused(&["--client", "b"], &["--client", "ssh://"]);
    refused(&["--server-host", "ssh://s", "--no-observe"], &["--server-host", "--no-observe"]);
    refused(&["--server-host", "s"], &["--server-host", "ssh://"]);
    refused(&["--server-ip", "192.0.2.2", "--connect-to", "a:1"], &["--server-ip", "--connect-to"]);
    plimsoll(["compare", NOWHERE, NOWHERE, "--on-agent-loss", "continue"]).run().exits(2);
}

#[test]
fn somebody_elses_servers_and_stored_runs_cannot_be_measured_at_once() {
    refused(&["--duet"], &["--duet", "servers that plimsoll starts (--serve)", NOWHERE]);
    plimsoll(["compare", "--duet", "."]).run().fails(2, &["--duet", STORED]);
}

#[test]
fn stored_runs_take_no_flags_of_a_measurement() {
    let stored = |more: &[&str], named: &[&str]| {
        plimsoll(["compare", ".", "."].iter().chain(more)).run().fails(2, named);
    };
    for flag in [
        &["--only", "capacity"][..],
        &["--capacity"],
        &["--goal", "p99<50ms"],
        &["--capacity-budget", "1m"],
        &["--rate", "100"],
        &["--precision", "1%"],
        &["--blocks", "6"],
        &["--observe", "nginx"],
        &["--status", "http://127.0.0.1:1/"],
        &["--server", ":80"],
        &["--header", "X: y"],
        &["--threads", "1"],
        &["--no-observe"],
        &["--aa"],
        // As it is without the flag.
        &["--duration", "4s"],
    ] {
        stored(flag, &[flag[0], STORED]);
    }
    stored(&["-R", "100"], &["--rate", STORED]);
    stored(&["--profile"], &["--profile measures", "if all of them were measured with --profile"]);
    // What they do take leads on to the directories, which hold no runs.
    let own = ["--name", "a", "--name", "b", "--margin", "5%", "--fail-if", "goodput<-3%", "--json", "-q", "-v"];
    stored(&own, &["not a run directory"]);
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
