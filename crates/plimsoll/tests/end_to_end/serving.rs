//! `--serve`: plimsoll starts what it measures.

use crate::support::{count, number, plimsoll, shell, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

/// Short, so that nothing but the serving is looked at.
const SHORT: [&str; 6] = ["-d", "500ms", "--warmup", "0s", "--json", "-q"];
const SHORT_SWEEP: [&str; 8] = ["--points", "2", "--iterations", "1", "--to", "2", "-d", "300ms"];

#[test]
fn a_run_starts_its_server_on_other_cpus_and_leaves_nothing() {
    let ended = plimsoll(["run", "--serve", "nginx workers=1 file-size=3KiB", "-c", "4"].iter().chain(&SHORT)).run();
    let record = ended.json();
    let served = &record["environment"]["served"];
    assert_eq!((text(served, "server"), text(served, "label")), ("nginx", "nginx workers=1 file-size=3KiB"));
    assert_eq!(text(served, "program_sha256").len(), 64);
    assert_eq!(text(&served["steps"][0], "name"), "start nginx");
    assert!(count(&served["steps"][0], "ns") > 0);
    let planned = count(&record, "requests.planned");
    assert!(planned > 0 && count(&record, "requests.good") == planned, "{:#}", record["requests"]);
    assert_eq!(count(&record["probe"]["fetches"][0], "size_bytes"), 3072, "{:#}", record["probe"]);
    if record["environment"]["cpus"].as_u64() > Some(1) {
        let numbers =
            |list: &Value| list.as_array().expect("a list").iter().map(Value::to_string).collect::<BTreeSet<_>>();
        let (server, load) = (numbers(&served["cpus"]), numbers(&record["plan"]["cpus"]));
        assert!(!server.is_empty() && !load.is_empty() && server.is_disjoint(&load), "{server:?} {load:?}");
    }
    let process = count(&record["observed"]["server"]["processes"][0], "count");
    assert_eq!(process, 2, "master and worker: {:#}", record["observed"]["server"]);
    // It is the server itself, and so no companion of it.
    assert_eq!(record["observed"]["companions"], serde_json::json!({}), "{:#}", record["observed"]["unavailable"]);
    let program = &record["environment"]["fingerprint"]["facts"]["program/nginx"];
    assert_eq!(program["sha256"], served["program_sha256"], "{program:#}");
}

#[test]
fn several_servers_are_several_curves_in_one_report() {
    let arms = ["--serve", "nginx", "--serve", "nginx tls=on gzip=on workers=2"];
    let ended = plimsoll(["sweep"].iter().chain(&arms).chain(&SHORT_SWEEP)).run();
    let record: Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
    assert_eq!(text(&record, "format"), "plimsoll.sweeps/1", "{ended:#?}");
    let sweeps = record["sweeps"].as_array().expect("a list");
    let labels: Vec<&str> = sweeps.iter().map(|sweep| text(sweep, "arm")).collect();
    assert_eq!(labels, ["nginx", "nginx tls=on gzip=on workers=2"]);
    assert!(
        text(&sweeps[1]["points"][0]["plan"]["target"], "url").starts_with("https://"),
        "{:#}",
        sweeps[1]["points"][0]["plan"]["target"]
    );
    for sweep in sweeps {
        assert!(number(sweep, "peak.goodput_per_s") > 0.0);
        assert_eq!(text(&sweep["environment"]["served"], "label"), text(sweep, "arm"));
    }
    assert!(ended.stdout.contains("nginx tls=on gzip=on workers=2"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("\nlimiter ").count(), 2, "one for each: {}", ended.stdout);
    let page = ended.recorded("report.html");
    assert!(labels.iter().all(|label| page.contains(&format!("<dt>limiter</dt><dd>{label}: "))), "one line for each");
    assert!(labels.iter().all(|label| page.contains(label)));
}

#[test]
fn a_restart_between_points_is_another_process() {
    let script =
        format!("echo started >> starts; exec {} target --listen 127.0.0.1:$PORT", env!("CARGO_BIN_EXE_plimsoll"));
    let serve = format!("-- sh -c '{script}'");
    let restart = ["sweep", "--serve", &serve, "--restart", "--json"];
    let program = plimsoll(restart.iter().chain(&SHORT_SWEEP));
    // Whoever the server runs as counts its starts there.
    set_permissions(program.directory(), Permissions::from_mode(0o777)).expect("our own directory");
    let ended = program.run();
    let points = ended.json()["points"].as_array().expect("a list").len();
    assert!(points >= 2);
    assert_eq!(ended.file("starts").lines().count(), points);
}

#[test]
fn a_server_that_dies_under_load_ends_the_run_and_keeps_what_was_measured() {
    let script = format!("exec timeout 3 {} target --listen 127.0.0.1:$PORT", env!("CARGO_BIN_EXE_plimsoll"));
    let serve = format!("-- sh -c '{script}'");
    let load = ["-c", "2", "-d", "5s", "--warmup", "0s", "--budget", "0s", "--json"];
    let ended = plimsoll(["run", "--serve", &serve].iter().chain(&load)).run();
    ended.exits(3);
    assert!(ended.stderr.contains("sh ended with exit code 124"), "{}", ended.stderr);
    assert!(count(&ended.json(), "requests.good") > 0);
}

#[test]
fn a_program_is_built_and_its_log_kept() {
    let own = env!("CARGO_BIN_EXE_plimsoll");
    let file = format!(
        "command = [\"./server\", \"target\", \"--listen\", \"127.0.0.1:{{port}}\"]\n\
         build = \"echo made it; cp {own} server\"\nlabel = \"our build\"\n"
    );
    let ended = plimsoll(["run", "--serve", "@server.toml"].iter().chain(&SHORT))
        .with_file("server.toml", file.as_bytes())
        .run();
    let served = ended.json()["environment"]["served"].clone();
    assert_eq!((text(&served, "label"), text(&served["steps"][0], "name")), ("our build", "build"));
    assert_eq!(ended.recorded("build.log"), "made it\n");
}

#[test]
fn what_cannot_be_served_is_told_in_one_line() {
    for (args, code, says) in [
        (&["--serve", "ngnx"][..], 2, "there is no server \"ngnx\""),
        (&["--serve", "nginx workers=many"], 2, "workers is a number from 1 to 1024"),
        (&["--serve", "nginx", "--unix-socket", "x.sock"], 2, "say two different things"),
        (&["--serve", "nginx", "--tls"], 2, "tls=on"),
        (&["--serve", "nginx binary=./no-such"], 2, "./no-such: there is no such program"),
        (&["--serve", "nginx build=false"], 3, "cannot be built by \"false\""),
        (&["--serve", "nginx config=no-such.conf"], 2, "there is no such file"),
        (&["--serve", "@no-such.toml"], 2, "no-such.toml: "),
    ] {
        let ended = plimsoll(["run"].iter().chain(args)).run();
        ended.fails(code, &[says]);
        assert!(!ended.path("plimsoll-runs").exists(), "{args:?}");
    }
}

const PAGE: &str = include_str!("../../../../docs/reference/serve.md");

#[test]
fn every_command_line_of_the_page_works() {
    let lines: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("plimsoll ")).collect();
    assert!(lines.len() >= 4, "{lines:#?}");
    for line in lines {
        let line = line.strip_prefix("plimsoll ").expect("it begins so");
        let short = match line.split_once(' ') {
            // What stands after -- is the server's.
            Some(("serve", rest)) if !rest.contains("--print-config") => format!("serve --print-config {rest}"),
            Some(("serve", _)) => line.into(),
            Some(("sweep", rest)) => format!("sweep --points 2 --to 2 --iterations 1 -d 100ms --warmup 0s {rest}"),
            Some((verb, rest)) => format!("{verb} -d 100ms --warmup 0s {rest}"),
            None => panic!("{line} has no arguments"),
        };
        let server = b"#!/bin/sh\nexec \"$PLIMSOLL\" target --listen 127.0.0.1:$2\n";
        let ended = shell(&format!("chmod +x my-server; \"$PLIMSOLL\" {short}")).with_file("my-server", server).run();
        // Such short windows have no valid result; what was printed is one all the same.
        assert!(matches!(ended.status.code(), Some(0 | 4)) && !ended.stdout.is_empty(), "{line}: {ended:#?}");
    }
}
