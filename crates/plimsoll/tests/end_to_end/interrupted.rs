//! ^C, SIGTERM, SIGHUP and SIGKILL in the middle: what was measured is kept, and nothing is left running.

use crate::support::{BrokenServer, Program, Started, Target, count, list, plimsoll, shell, wait_for};
use procfs::process::Process;
use rustix::process::Signal;
use std::time::Duration;

/// A signal is acted on within this time.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn first_signal_ends_the_load_and_keeps_what_was_measured() {
    let target = Target::start(&[]);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let url = target.url("/sleep?time=5ms");
        let run = ["run", &url, "-c", "4", "-d", "30s", "--warmup", "0s", "--json"];
        // Whoever runs the tests under nohup has SIGHUP ignored.
        let words = ["--default-signal=HUP", env!("CARGO_BIN_EXE_plimsoll")];
        let started = Program::new("env", words.iter().chain(&run)).start();
        started.wait_for_events("tick", 2);
        started.signal(signal);
        let ended = started.end();
        let record = ended.exits(130).json();
        assert_eq!(record["interrupted"], true, "{signal:?}");
        assert!((2_000_000_000..30_000_000_000).contains(&count(&record, "measured_ns")), "{record:#}");
        assert!(count(&record, "requests.good") > 400, "{record:#}");
        assert_eq!(ended.recorded("run.json"), ended.stdout);
        let events = ended.recorded("events.jsonl");
        assert!(events.matches("\"event\":\"tick\"").count() >= 2, "{events}");
        assert!(events.ends_with("\"interrupted\":true}\n"), "{events}");
    }
}

#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    // As nohup starts it.
    let script = format!("trap '' HUP; exec \"$PLIMSOLL\" run '{url}' -c 4 -d 30s --warmup 0s --json");
    let started = shell(&script).start();
    started.wait_for_events("tick", 1);
    started.signal(Signal::HUP);
    started.wait_for_events("tick", 3);
    started.signal(Signal::TERM);
    started.end().exits(130);
}

#[test]
fn a_later_signal_ends_the_program_at_once() {
    let mute = BrokenServer::start(|peer| peer.hold());
    let mut started = plimsoll(["run", &mute.url("/"), "--timeout", "10m"]).start();
    wait_for(SOON, || (mute.connections() >= 2).then_some(())).expect("the probe has begun");
    started.signal(Signal::INT);
    // Those of the first second belong to the first one.
    wait_for(SOON, || {
        std::thread::sleep(Duration::from_millis(200));
        started.signal(Signal::INT);
        started.has_ended().then_some(())
    })
    .expect("it ends");
    started.end().exits(130);
}

/// `timeout 3 plimsoll run ...` lost the result in 3 of 10 tries: it signals its child, and then the group in which the child is.
#[test]
fn a_result_is_not_lost_to_a_signal_that_comes_twice() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    let started = plimsoll(["run", &url, "-c", "4", "-d", "30s", "--warmup", "0s", "--json"]).start();
    started.wait_for_events("tick", 2);
    started.signal(Signal::TERM);
    let sigterm = 1 << (Signal::TERM.as_raw() - 1);
    let is_received = || {
        let status = Process::new(started.pid().cast_signed()).and_then(|process| process.status()).ok();
        status.is_none_or(|status| (status.sigpnd | status.shdpnd) & sigterm == 0)
    };
    // Two signals of a kind that are both pending would be one.
    wait_for(SOON, || is_received().then_some(())).expect("it is received");
    started.signal(Signal::TERM);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!(record["interrupted"], true);
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

#[test]
fn signal_before_anything_is_measured_says_so() {
    let target = Target::start(&[]);
    let started = plimsoll(["run", &target.url("/bytes/1"), "-c", "2", "-d", "30s", "--warmup", "30s"]).start();
    started.wait_for_events("connected", 1);
    started.signal(Signal::INT);
    let ended = started.end();
    ended.exits(130);
    assert!(ended.recorded("events.jsonl").ends_with("\"interrupted\":true}\n"), "{ended:#?}");
}

#[test]
fn interrupted_sweep_keeps_its_points() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    // Without a budget no load is measured again, so that the third begins after two points.
    let args =
        ["sweep", &url, "-d", "500ms", "--warmup", "0s", "--to", "64", "--points", "8", "--budget", "0s", "--json"];
    let started = plimsoll(args).start();
    let points = |started: &Started| {
        let sweep = list(&started.directory().join("plimsoll-runs")).pop()?;
        (list(&sweep.join("points")).len() >= 3).then_some(())
    };
    wait_for(SOON, || points(&started)).expect("the third point begins");
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!(record["interrupted"], true);
    assert!(record["points"].as_array().is_some_and(|points| points.len() >= 2), "{record:#}");
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

/// After the whole result it was said that nothing had been measured.
#[test]
fn a_signal_while_a_server_restarts_ends_a_sweep_as_any_other() {
    let size = ["-d", "500ms", "--warmup", "0s", "--to", "4", "--points", "3", "--budget", "0s", "--json"];
    let started = plimsoll(["sweep", "--serve", "target", "--restart"].iter().chain(&size)).start();
    started.wait_for_sessions(SOON, "point", 1);
    // In the rest between two loads, after which the server is restarted.
    std::thread::sleep(Duration::from_millis(50));
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!(record["interrupted"], true);
    assert!(record["points"].as_array().is_some_and(|points| !points.is_empty()), "{record:#}");
    assert!(!ended.stderr.contains("before anything was measured"), "{ended:#?}");
}

#[test]
fn killed_program_takes_its_target_along() {
    let started = plimsoll(["run", "-d", "30s", "--warmup", "0s", "-q"]).start();
    started.wait_for_events("tick", 1);
    let children = children(started.pid());
    assert_eq!(children.len(), 1, "the built-in target is the only child");
    started.signal(Signal::KILL);
    let gone = wait_for(SOON, || (!runs(children[0])).then_some(()));
    assert!(gone.is_some(), "the target still runs as {}", children[0]);
    assert_eq!(started.end().status.code(), None);
}

#[test]
fn finished_program_leaves_no_target() {
    let started = plimsoll(["run", "-d", "1s", "--warmup", "0s", "-q", "--json"]).start();
    started.wait_for_events("connected", 1);
    let children = children(started.pid());
    assert_eq!(children.len(), 1);
    let record = started.end().exits(4).json();
    assert!(count(&record, "requests.good") > 0);
    assert!(!runs(children[0]), "the target still runs as {}", children[0]);
}

/// Processes whose parent is `pid`.
fn children(pid: u32) -> Vec<u32> {
    let pids = list("/proc".as_ref()).into_iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok());
    pids.filter(|child| stat(*child).is_some_and(|(_, parent)| parent == pid)).collect()
}

/// True if the process is there and not a zombie that waits for init.
fn runs(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z")
}

/// State and parent of a process, from proc(5).
fn stat(pid: u32) -> Option<(String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.into(), fields.next()?.parse().ok()?))
}
