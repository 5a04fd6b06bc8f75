//! `plimsoll compare`: wrong flags, variants and conditions.

use super::{NOWHERE, fails};

/// Why flags of a measurement are refused beside stored runs.
const STORED: &str = "is for servers that are measured; stored runs are compared as they are";

/// `plimsoll compare NOWHERE NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    fails(&["compare", NOWHERE, NOWHERE], args, named);
}

#[test]
fn a_comparison_needs_a_baseline_and_a_variant() {
    let fails = |args: &[&str], named: &[&str]| {
        fails(&["compare"], args, named);
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
    refused(&["--budget", "70s"], &["70.0 s hold 4 blocks", "6 are needed", "--budget 110s", "--blocks 4"]);
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
fn what_other_machines_cannot_do_is_refused_before_anything_is_started() {
    for (machine, flag) in [("--client=ssh://a,ssh://b", "--client"), ("--server-host=ssh://s", "--server-host")] {
        refused(&[machine, "--profile"], &[flag, "--profile"]);
        refused(&[machine, "--unix-socket", "/run/app.sock"], &[flag, "--unix-socket"]);
        refused(&[machine, "--ssh", "ssh '"], &["--ssh", "quotes"]);
        fails(&["compare"], &["--aa", machine], &[]);
        fails(&["compare"], &[".", ".", machine], &[flag, STORED]);
    }
    let clients = ["--client", "ssh://a,ssh://b"];
    refused(&[&clients[..], &["--warmup", "auto"]].concat(), &["--warmup auto"]);
    refused(&[&clients[..], &["--cpus", "0"]].concat(), &["--client", "--cpus"]);
    refused(&[&clients[..], &["-c", "1"]].concat(), &["-c 1", "fewer connections than the 2 agents"]);
    refused(&["--client", "b"], &["--client", "ssh://"]);
    refused(&["--server-host", "ssh://s", "--no-observe"], &["--server-host", "--no-observe"]);
    refused(&["--server-host", "s"], &["--server-host", "ssh://"]);
    refused(&["--server-ip", "192.0.2.2", "--connect-to", "a:1"], &["--server-ip", "--connect-to"]);
    fails(&["compare"], &[NOWHERE, NOWHERE, "--on-agent-loss", "continue"], &[]);
}

#[test]
fn somebody_elses_servers_and_stored_runs_cannot_be_measured_at_once() {
    refused(&["--duet"], &["--duet", "servers that plimsoll starts (--serve)", NOWHERE]);
    fails(&["compare"], &["--duet", "."], &["--duet", STORED]);
}

#[test]
fn stored_runs_take_no_flags_of_a_measurement() {
    let stored = |more: &[&str], named: &[&str]| {
        fails(&["compare", ".", "."], more, named);
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
