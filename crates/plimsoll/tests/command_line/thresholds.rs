//! `--baseline`: what is refused before anything is measured.

use crate::support::{BrokenServer, plimsoll};
use serde_json::Value;

/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");

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
}
