//! `report --recover`: the events of a measurement are enough to make its result again, to the byte, and what there is of a
//! measurement that was killed.

use crate::support::{Ended, Program, Target, count, list, number, plimsoll, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// What is written within this time is soon enough.
const SOON: Duration = Duration::from_secs(20);

/// Makes the result in a directory again, whose own is gone.
#[track_caller]
fn recover(directory: &Path) -> String {
    let directory = directory.to_str().expect("UTF-8");
    plimsoll(["report", "--recover", "--format", "json", directory]).run().exits(0).stdout.clone()
}

/// Fails unless the result of the only run directory is the same when it is made of its events.
#[track_caller]
fn is_the_same_again(ended: &Ended) {
    let (directory, before) = (ended.run_directory(), ended.recorded("run.json"));
    std::fs::remove_file(directory.join("run.json")).expect("it is there");
    let printed = recover(&directory);
    let again = ended.recorded("run.json");
    let difference = before.lines().zip(again.lines()).find(|(before, again)| before != again);
    assert!(before == again, "{difference:#?}");
    assert_eq!(printed, again);
}

#[test]
fn every_kind_of_run_is_made_again_of_its_events() {
    let target = Target::start(&["--error-share", "0.02"]);
    let url = target.url("/sleep?time=1ms");
    for args in [
        &["run", &url, "-c", "4", "-d", "1s", "--warmup", "0s"][..],
        &["run", &url, "-R", "500", "-d", "1s", "--warmup", "500ms"],
        &["run", &url, "-n", "200", "-c", "2", "--no-observe"],
        &[
            "run",
            &url,
            "-c",
            "2",
            "-d",
            "1s",
            "--warmup",
            "0s",
            "-H",
            "Authorization: Bearer secret",
            "-b",
            "a=b",
            "-m",
            "POST",
        ],
        &["run", "--tls", "-c", "2", "-d", "1s", "--warmup", "0s"],
        &["run", "-c", "8", "-d", "1s", "--warmup", "0s", "--profile"],
    ] {
        let ended = plimsoll(args.iter().copied().chain(["-q"])).run();
        assert!([Some(0), Some(4)].contains(&ended.status.code()), "{ended:#?}");
        is_the_same_again(&ended);
    }
}

#[test]
fn a_sweep_of_two_servers_is_made_again_of_its_events() {
    let servers = ["--serve", "target pool=2", "--serve", "target pool=1"];
    let short = ["--to", "4", "-d", "500ms", "--warmup", "0s", "--points", "4", "--iterations", "2", "-q"];
    let ended = plimsoll(["sweep"].iter().chain(&servers).chain(&short)).run();
    assert!([Some(0), Some(4)].contains(&ended.status.code()), "{ended:#?}");
    is_the_same_again(&ended);
}

#[test]
fn a_run_that_was_killed_is_recovered_as_far_as_it_was_measured() {
    let target = Target::start(&[]);
    let started =
        plimsoll(["run", &target.url("/sleep?time=5ms"), "-c", "4", "-d", "30s", "--warmup", "0s", "-q"]).start();
    started.wait_for_events("tick", 3);
    started.signal(Signal::KILL);
    let ended = started.end();
    let directory = ended.run_directory();
    plimsoll(["report", directory.to_str().expect("UTF-8")]).run().fails(2, &["the result is missing", "--recover"]);
    // As if the machine had died while it wrote.
    let events = directory.join("events.jsonl");
    let text = std::fs::read_to_string(&events).expect("events");
    std::fs::write(&events, format!("{text}{{\"event\":\"tick\",\"pha")).expect("events");
    let record: Value = serde_json::from_str(&recover(&directory)).expect("JSON");
    assert_eq!(record["interrupted"], true);
    assert!(count(&record, "measured_ns") >= 2_000_000_000 && count(&record, "requests.good") > 400, "{record:#}");
    assert!(number(&record, "latency_ns.response.p50") > 4e6, "{record:#}");
    plimsoll(["report", "--recover", directory.to_str().expect("UTF-8")]).run().fails(2, &["run.json", "complete"]);
}

#[test]
fn a_sweep_that_was_killed_is_recovered_with_the_loads_that_were_measured() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    let args = ["sweep", &url, "-d", "500ms", "--warmup", "0s", "--to", "64", "--points", "8", "-q"];
    let started = plimsoll(args).start();
    // Three loads are measured.
    started.wait_for_sessions(SOON, "point", 3);
    started.signal(Signal::KILL);
    let ended = started.end();
    let record: Value = serde_json::from_str(&recover(&ended.run_directory())).expect("JSON");
    assert_eq!(record["interrupted"], true);
    assert!(record["points"].as_array().is_some_and(|points| points.len() >= 2), "{record:#}");
}

#[test]
fn a_sweep_that_was_killed_in_its_first_load_keeps_what_was_measured_of_it() {
    let target = Target::start(&[]);
    let started = plimsoll(["sweep", &target.url("/sleep?time=5ms"), "-d", "30s", "--warmup", "0s", "-q"]).start();
    wait_for(SOON, || {
        let sweep = list(&started.directory().join("plimsoll-runs")).pop()?;
        let load = list(&sweep.join("points")).pop()?;
        let events = std::fs::read_to_string(load.join("events.jsonl")).ok()?;
        (events.matches("\"event\":\"tick\"").count() >= 3).then_some(())
    })
    .expect("the first load has begun");
    started.signal(Signal::KILL);
    let ended = started.end();
    let record: Value = serde_json::from_str(&recover(&ended.run_directory())).expect("JSON");
    assert_eq!(record["interrupted"], true);
    assert_eq!(record["points"][0]["plan"]["load"]["connections"], 1);
    assert!(count(&record["points"][0], "measured_ns") >= 2_000_000_000, "{record:#}");
}

#[test]
fn where_nothing_was_measured_there_is_nothing_to_recover() {
    let dead = plimsoll(["run", "http://127.0.0.1:1/", "-q", "-o", "plimsoll-runs/dead"]).run();
    dead.exits(3);
    let begun = r#"{"event":"session","session":"finished","interrupted":false}"#;
    let recover = |events: &[u8]| plimsoll(["report", "--recover", "."]).with_file("events.jsonl", events).run();
    recover(b"").fails(2, &["do not begin with a measurement"]);
    recover(format!("{begun}\n").as_bytes()).fails(2, &["do not begin with a measurement"]);
    recover(b"no JSON\n").fails(2, &["line 1"]);
    let outside = r#"{"event":"session","session":"point","directory":"../../etc","load":1.0}"#;
    recover(format!("{outside}\n").as_bytes()).fails(2, &["../../etc"]);
}

/// Waits until samples of a profile were written down so often in a directory.
#[track_caller]
pub(crate) fn wait_for_samples(directory: &Path, n: usize) {
    wait_for(SOON, || {
        let samples = std::fs::read_to_string(directory.join("profile.samples")).ok()?;
        (samples.lines().filter(|line| line.contains("\"counts\":[[")).count() >= n).then_some(())
    })
    .expect("samples are written down");
}

#[test]
fn a_profile_that_was_killed_is_recovered() {
    // An idle machine has nothing to sample.
    let burner = Program::new("sh", ["-c", "while :; do :; done"]).start();
    let pid = burner.pid().to_string();
    let started = plimsoll(["profile", "--pid", &pid, "-d", "30s", "-o", "out", "-q"]).start();
    wait_for_samples(&started.directory().join("out"), 2);
    started.signal(Signal::KILL);
    let ended = started.end();
    drop(burner);
    let out = ended.path("out");
    let out = out.to_str().expect("UTF-8");
    plimsoll(["profile", "--all", "-d", "1s", "-o", out]).run().fails(2, &["did not end", "--recover"]);
    plimsoll(["report", "--recover", "--format", "html", out]).run().fails(2, &["profile without a load"]);
    let record: Value = serde_json::from_str(&recover(Path::new(out))).expect("JSON");
    assert!(record["interrupted"] == true && count(&record, "profile.samples") > 10, "{record:#}");
    assert_eq!(record["scope"], format!("process {pid}"));
    // The shell has ended, and its file names its functions as far as it has names.
    let process = &record["profile"]["processes"][0];
    assert_eq!((&process["name"], &process["role"]), (&"sh".into(), &"server".into()), "{record:#}");
    assert!(number(process, "resolved_share") >= 0.95, "{record:#}");
    let [folded, json] = ["out/profile.folded", "out/profile.json"].map(|name| ended.file(name));
    assert!(folded.lines().count() > 1 && folded.lines().all(|line| line.starts_with("sh;")), "{folded}");
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), record);
    plimsoll(["report", "--recover", out]).run().exits(2);
}

#[test]
fn a_profiled_run_that_was_killed_has_its_profile() {
    let target = Target::start(&["--workers", "1"]);
    let url = target.url("/cpu?us=2000");
    let args = ["run", &url, "-c", "2", "-d", "30s", "--warmup", "0s", "--profile", "-q", "-o", "plimsoll-runs/out"];
    let started = plimsoll(args).start();
    started.wait_for_events("tick", 3);
    wait_for_samples(&started.directory().join("plimsoll-runs/out"), 3);
    started.signal(Signal::KILL);
    let ended = started.end();
    let record: Value = serde_json::from_str(&recover(&ended.run_directory())).expect("JSON");
    assert!(record["interrupted"] == true && count(&record, "profile.samples") > 10, "{record:#}");
    assert!(number(&record, "profile.goodput_per_s") > 0.0, "{record:#}");
    let processes = record["profile"]["processes"].as_array().expect("a list");
    let has = |role: &str| processes.iter().any(|process| process["role"] == role);
    assert!(has("server") && has("own"), "{record:#}");
    let folded = ended.recorded("profile.folded");
    assert!(folded.contains("Worker::burn") && folded.contains("_[k]"), "names are found: {folded}");
    assert!(ended.recorded("profile.svg").contains("CPU time under"));
}

/// Starts a profiled sweep, kills it when `is_time` says so of its directory, and makes the result of what is left.
#[track_caller]
fn killed_sweep(is_time: impl Fn(&Path) -> bool) -> (Ended, Value) {
    let target = Target::start(&["--workers", "1"]);
    let url = target.url("/cpu?us=2000");
    let short = ["-d", "3s", "--warmup", "0s", "--to", "2", "--points", "2", "--iterations", "1", "--budget", "0s"];
    let args = [&["sweep", &url, "--profile", "-q", "-o", "plimsoll-runs/out"][..], &short].concat();
    let started = plimsoll(args).start();
    let directory = started.directory().join("plimsoll-runs/out");
    wait_for(SOON, || is_time(&directory).then_some(())).expect("it comes so far");
    started.signal(Signal::KILL);
    let ended = started.end();
    let record: Value = serde_json::from_str(&recover(&ended.run_directory())).expect("JSON");
    assert_eq!(record["interrupted"], true);
    (ended, record)
}

#[test]
fn a_profiled_sweep_that_was_killed_has_the_profile_of_its_peak() {
    let (ended, record) = killed_sweep(|sweep| {
        let samples = std::fs::read_to_string(sweep.join("profile.samples")).unwrap_or_default();
        samples.lines().filter(|line| line.contains("\"counts\":[[")).count() >= 3
    });
    assert!(record["points"].as_array().is_some_and(|points| points.len() == 2), "{record:#}");
    let profile = &record["profile"];
    assert!(count(profile, "samples") > 10 && number(profile, "goodput_per_s") > 0.0, "{profile:#}");
    assert_eq!(profile["load"], record["peak"]["load"]);
    assert!(record.get("profile_unavailable").is_none_or(Value::is_null), "{record:#}");
    assert!(ended.recorded("profile.folded").contains("Worker::burn"));
    assert!(ended.recorded("profile.svg").contains("CPU time under"));
}

#[test]
fn a_profiled_sweep_that_was_killed_before_its_profile_says_so() {
    let (_, record) = killed_sweep(|sweep| {
        let events = std::fs::read_to_string(sweep.join("events.jsonl")).unwrap_or_default();
        events.contains("\"session\":\"point\"")
    });
    assert!(record.get("profile").is_none_or(Value::is_null), "{record:#}");
    assert_eq!(record["profile_unavailable"], "it ended before it could be profiled");
}
