//! `--fail-if`, `--baseline` and the files for CI: what is refused before anything is measured.

use crate::support::{BrokenServer, plimsoll};
use serde_json::Value;

/// A URL nothing listens behind; it must not get that far.
const NOWHERE: &str = "http://127.0.0.1:1/";
/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");

/// `plimsoll VERB NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(verb: &str, args: &[&str], named: &[&str]) {
    plimsoll([verb, NOWHERE].iter().chain(args)).run().fails(2, named);
}

#[test]
fn conditions_that_cannot_be_meant_are_refused() {
    refused("run", &["--fail-if", "p99<100ms"], &["--fail-if", "p99<100ms", "write p99>100ms"]);
    refused("run", &["--fail-if", "goodput"], &["--fail-if", "has no < or >"]);
    refused("sweep", &["--fail-if", "godput<1"], &["--fail-if", "did you mean goodput?"]);
    refused("run", &["--fail-if", "goodput<-3%"], &["goodput<-3%", "--baseline"]);
    refused("run", &["--fail-if", "rss>1GiB", "--no-observe"], &["rss>1GiB", "--no-observe"]);
    refused("sweep", &["--fail-if", "capacity<1000"], &["capacity<1000", "try goodput"]);
    refused("capacity", &["--fail-if", "p99>1s"], &["p99>1s", "--goal"]);
    refused("run", &["--junit", "nowhere/x.xml"], &["cannot write nowhere/x.xml", "no such directory"]);
}

#[test]
fn baselines_that_nothing_may_be_held_against_are_refused_with_the_factor() {
    let server = BrokenServer::saying("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let with = |change: &dyn Fn(&mut Value), args: &[&str]| {
        let url = server.url("/");
        let mut run: Value = serde_json::from_str(RUN).expect("JSON");
        change(&mut run);
        let program = plimsoll(["run", &url, "-q", "--baseline", "."].iter().chain(args));
        program.with_file("run.json", run.to_string().as_bytes()).run()
    };
    let change = ["--fail-if", "goodput<-3%"];
    let unlike = with(&|_| {}, &change);
    unlike.fails(2, &["--baseline", "CP-01", "load: closed loop, 64 connections, not closed loop, 4 connections"]);
    assert!(!unlike.path("plimsoll-runs").exists(), "an empty directory is left");
    with(&|run| run["verdict"]["state"] = "invalid".into(), &change).fails(2, &["--baseline", "INVALID", "CP-10"]);
    with(&|run| run["interrupted"] = true.into(), &change).fails(2, &["--baseline", "interrupted"]);
    with(&|_| {}, &["--fail-if", "goodput<3"]).fails(2, &["--baseline has no use"]);
    refused("run", &["--baseline", "nowhere", "--fail-if", "goodput<-3%"], &["nowhere", "no such directory"]);
}
