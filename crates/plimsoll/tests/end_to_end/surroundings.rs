//! Faults of network, server and environment that are made on purpose: the rule that is about each must fire.

use crate::support::{Findings, Nginx, Started, Target, count, decide_watched, plimsoll, shell, text};
use model::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A process that is killed when dropped.
struct Hog(Child);

impl Hog {
    /// Keeps a CPU busy under the name of `program`.
    fn start(program: &Path) -> Self {
        Self(Command::new(program).args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Rules of network, server and environment that made more of a result than a note.
fn fired(record: &Value) -> Vec<&str> {
    let findings = record["verdict"]["findings"].as_array().expect("a list");
    let grave = findings.iter().filter(|finding| finding["state"] != "note").map(|finding| text(finding, "rule"));
    grave.filter(|rule| ["NE-", "SV-", "EN-"].iter().any(|family| rule.starts_with(family))).collect()
}

#[test]
fn a_short_backlog_fills_the_accept_queue() {
    let load = ["-c", "256", "--no-keepalive", "-d", "3s", "--warmup", "0s", "--json", "-q"];
    let record = plimsoll(["run", "--serve", "nginx workers=1 backlog=1"].iter().chain(&load)).run().exits(4).json();
    let (_, message) = Findings(&record).of("NE-01");
    assert!(message.starts_with("the server's accept queue was full "), "{message}");
    let finding = &record["verdict"]["findings"];
    let remedy = finding.as_array().expect("a list").iter().find(|f| f["rule"] == "NE-01").expect("it fired");
    assert!(text(remedy, "remedy").contains("hold 256 connections instead of 1 ("), "{remedy:#}");
}

#[test]
fn another_program_on_the_processors_is_named() {
    let target = Target::start(&["--workers", "1"]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("cpuhog");
    std::fs::copy("/bin/sh", &program).expect("a copy of the shell");
    let _hogs = [Hog::start(&program), Hog::start(&program)];
    let record = plimsoll(["run", &target.url("/"), "-c", "4", "-d", "3s", "--warmup", "0s", "--json", "-q"])
        .run()
        .exits(4)
        .json();
    // How grave it is depends on what else runs here.
    let (state, message) = Findings(&record).of("EN-03");
    assert!(["warning", "bound", "invalid"].contains(&state) && message.contains("cpuhog"), "{state}: {message}");
}

/// A worker of nginx, and the configuration that its master was started with.
fn worker_and_configuration(load: &Started) -> (i32, PathBuf) {
    let events = load.events();
    let samples =
        events.iter().filter_map(|event| if let Event::Observed(sample) = event { Some(sample) } else { None });
    let threads = samples.filter_map(|sample| sample.server.as_ref()?.threads.as_ref()).flat_map(|used| &used.threads);
    let pids: Vec<i32> = threads.map(|thread| thread.pid).collect();
    let words = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let worker = pids.iter().find(|pid| words(pid).contains("worker process")).expect("a worker");
    let master = pids.iter().map(words).find(|words| words.contains("master process")).expect("a master");
    let path = master.split(|c: char| c == '\0' || c.is_whitespace()).find(|word| word.ends_with(".conf"));
    (*worker, path.expect("-c FILE").into())
}

#[test]
fn a_worker_that_is_killed_and_a_changed_configuration_are_another_server() {
    let nginx = Nginx::with_workers(&[("small", &[b'.'; 64])], 2);
    let args = ["run", &nginx.url("/small"), "-c", "4", "-d", "4s", "--warmup", "0s", "--json", "-q"];
    let load = plimsoll(args).start();
    load.wait_for_events("observed", 2);
    let (worker, configuration) = worker_and_configuration(&load);
    kill_process(Pid::from_raw(worker).expect("a process"), Signal::KILL).expect("it runs");
    let mut file = std::fs::OpenOptions::new().append(true).open(&configuration).expect("our own file");
    writeln!(file, "# edited").expect("there is room");
    let record = load.end().exits(4).json();
    let (state, message) = Findings(&record).of("SV-03");
    assert!(state == "invalid" && message.contains("1 process of nginx ended"), "{state}: {message}");
    let (state, message) = Findings(&record).of("EN-06");
    assert_eq!(state, "invalid");
    assert!(message.contains(configuration.to_str().expect("UTF-8")) && message.contains("of nginx"), "{message}");
}

#[test]
fn a_full_pool_is_named_as_what_limits() {
    let serve = "php-fpm children=2 sleep=20ms socket=tcp";
    let args = ["run", "--serve", serve, "-c", "8", "-d", "3s", "--warmup", "1s", "--json", "-q"];
    let record = plimsoll(args).run().exits(4).json();
    let (state, message) = Findings(&record).of("SV-01");
    assert_eq!(state, "note");
    assert!(message.starts_with("php-fpm's 2 workers were ") && message.contains("requests waiting"), "{message}");
}

/// In a network of its own, so that what other programs do to the kernel's counters is not in them.
#[test]
fn a_run_that_nothing_is_wrong_with_trips_none_of_them() {
    decide_watched(|| {
        let is_able = |how: &&str| {
            Command::new("unshare").args(how.split(' ')).arg("true").status().is_ok_and(|status| status.success())
        };
        let how = ["--net", "--net --map-root-user"].into_iter().find(is_able).expect("a network of its own");
        let script = format!(
            "cat >inside <<'END'
        ip link set lo up
        for more in '' --no-keepalive '-R 1000'; do
            \"$PLIMSOLL\" run -c 16 -d 2s --warmup 0s --json -q $more >\"run $more\" || true
        done\nEND\nunshare {how} bash inside"
        );
        let ended = shell(&script).run();
        ended.exits(0);
        for more in ["", "--no-keepalive", "-R 1000"] {
            let record: Value = serde_json::from_str(&ended.file(&format!("run {more}"))).expect("JSON");
            assert!(count(&record, "requests.good") > 100, "{more}: {record:#}");
            // What else runs on this machine, and what it does to disks and CPUs, is no fault of the load.
            let machine = ["EN-01", "EN-02", "EN-03", "SV-08", "SV-09", "NE-06"];
            let fired: Vec<_> = fired(&record).into_iter().filter(|rule| !machine.contains(rule)).collect();
            assert!(fired.is_empty(), "{more:?} {fired:?}: {:#}", record["verdict"]);
        }
    });
}
