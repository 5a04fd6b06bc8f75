//! Agents of this machine that are lost, refused or copied, however busy it is.

use super::slurm::processes;
use super::{Hosts, SOON};
use crate::support::{Ended, Started, Target, count, list, number, plimsoll, text, wait_for};
use rustix::process::{Signal, kill_process};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn wait_for_load(started: &Started) {
    started.wait_for_events("tick", 2);
}

#[test]
fn the_program_is_copied_once_into_a_private_folder_and_mended_when_it_is_damaged() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let run = || hosts.run(&target.url("/bytes/10"), &["-c", "4", "-d", "500ms"]).run().measured().json();
    run();
    let copy = hosts.copy("a");
    let metadata = |path: &Path| std::fs::metadata(path).expect("it is there");
    assert_eq!(metadata(&copy).mode() & 0o777, 0o700);
    assert_eq!(metadata(copy.parent().expect("a folder")).mode() & 0o777, 0o700);
    let before = metadata(&copy).ino();
    run();
    assert_eq!(metadata(&copy).ino(), before, "it was there already");
    let file = std::fs::File::options().write(true).open(&copy).expect("our own file");
    std::os::unix::fs::FileExt::write_all_at(&file, b"damaged", 4096).expect("our own file");
    drop(file);
    run();
    assert_ne!(metadata(&copy).ino(), before, "what is damaged is sent again");
}

/// Ends one agent in the middle of a load of 8 s, and tells how long that was measured; what is left has to go by itself.
#[track_caller]
fn lose_one(signal: Signal, more: &[&str], code: i32) -> (Ended, f64) {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let args = [&["-c", "4", "-d", "8s"], more].concat();
    let started = hosts.run(&target.url("/sleep?time=5ms"), &args).start();
    wait_for_load(&started);
    kill_process(hosts.pid("b"), signal).expect("it runs");
    let ended = started.end();
    ended.exits(code);
    hosts.are_gone();
    let record = ended.json();
    assert_eq!(record["interrupted"], true, "{record:#}");
    assert!(count(&record, "requests.good") > 100, "what was measured is kept");
    assert_eq!(record["agents"][0].get("lost"), None);
    assert!(record["agents"][1]["lost"]["why"].is_string(), "{record:#}");
    assert_eq!(text(&record, "agent_lost.name"), "ssh://b");
    assert!(ended.stderr.contains("agent ssh://b was lost"), "{ended:#?}");
    // A run that had lost half of its load was valid, and its schedule, load threads and burst credits were blamed.
    let rules = |list: &str| -> Vec<String> {
        let list = record["verdict"][list].as_array().expect("a list").iter();
        list.map(|one| one.get("rule").unwrap_or(one).as_str().expect("a rule").to_owned()).collect()
    };
    let fired = rules("findings");
    assert!(fired.iter().any(|rule| rule == "CL-18"), "{fired:?}");
    assert!(!fired.iter().any(|rule| ["LD-01", "EN-04"].contains(&rule.as_str())), "{fired:?}");
    assert_ne!(text(&record, "verdict.state"), "valid", "{record:#}");
    (ended, number(&record, "measured_ns") / 1e9)
}

#[test]
fn a_killed_agent_ends_the_load() {
    let (ended, measured_s) = lose_one(Signal::KILL, &[], 4);
    assert!(measured_s < 7.9, "{ended:#?}");
    assert!(ended.stderr.contains("its process was killed there by signal 9 (SIGKILL)"), "{ended:#?}");
}

#[test]
fn a_killed_agent_leaves_the_others_the_load_if_that_is_wanted() {
    let (ended, measured_s) = lose_one(Signal::KILL, &["--on-agent-loss", "continue"], 5);
    assert!(measured_s > 7.9, "{ended:#?}");
    let record = ended.json();
    let missing_ns = count(&record, "agents.1.window.missing_ns");
    assert!((4_000_000_000..7_900_000_000).contains(&missing_ns), "killed after two ticks: {missing_ns}");
    assert_eq!(count(&record, "agents.0.window.missing_ns"), 0);
    let window = |n: usize| count(&record, &format!("agents.{n}.window.completed"));
    let completed: u64 =
        record["seconds"].as_array().expect("seconds").iter().map(|second| count(second, "completed")).sum();
    assert_eq!(window(0) + window(1), completed, "what the agents did is what was done in the window");
}

#[test]
fn an_agent_that_stalls_is_lost_after_five_seconds() {
    let (ended, _) = lose_one(Signal::STOP, &[], 4);
    assert!(ended.stderr.contains("nothing came from it for 5 s"), "{ended:#?}");
}

#[test]
fn agents_of_a_killed_coordinator_end() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let started = hosts.run(&target.url("/sleep?time=5ms"), &["-c", "4", "-d", "60s"]).start();
    wait_for_load(&started);
    started.signal(Signal::KILL);
    hosts.are_gone();
    assert_eq!(started.end().status.code(), None);
}

#[test]
fn an_interrupted_load_keeps_what_all_have_measured() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let started = hosts.run(&target.url("/sleep?time=5ms"), &["-c", "4", "-d", "60s"]).start();
    wait_for_load(&started);
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!(record["interrupted"], true);
    assert!(record["agents"].as_array().is_some_and(|agents| agents.iter().all(|agent| agent.get("lost").is_none())));
    hosts.are_gone();
}

#[test]
fn a_host_that_cannot_carry_an_agent_is_named_with_the_reason() {
    let target = Target::start(&[]);
    let fails = |profile: &str, named: &[&str]| {
        let hosts = Hosts::with_profile(profile);
        let ended = hosts.run(&target.url("/bytes/1"), &["-c", "4", "-d", "1s"]).run();
        ended.fails(2, named);
        assert!(list(&ended.path("plimsoll-runs")).is_empty(), "what cannot be measured leaves no directory");
    };
    fails(
        "echo 'Host key verification failed.' >&2; exit 255",
        &["ssh://", "Host key verification failed", "try: ssh"],
    );
    fails(
        "uname() { echo riscv64; }; uname; echo 'plimsoll-agent:error its processor is riscv64'; exit 1",
        &["riscv64"],
    );
    fails("export HOME=/dev/null", &["agent ssh://", "/dev/null"]);
    fails(
        "echo plimsoll-agent:go; echo 'Hello, I am a shell'; exit 0",
        &["something else than a plimsoll agent", "Hello"],
    );
    fails("kill -9 $$", &["ssh was killed"]);
    fails(
        "exit 3",
        &["its shell ended with 3 before the agent began", ".bashrc", "try: ssh a true", "agent ssh://b: its"],
    );
    fails("head -c 100000 /dev/zero | tr '\\0' x", &["its shell printed 64 KiB before the agent began", "silent"]);
    fails("exit 255", &["no connection, for a reason that ssh does not tell; try: ssh"]);
    let missing = plimsoll(["run", &target.url("/"), "--client", "ssh://a", "--ssh", "/nowhere/ssh"]).run();
    missing.fails(2, &["agent ssh://a", "cannot start", "/nowhere/ssh"]);
}

#[test]
fn an_ssh_that_hangs_while_it_starts_ends_with_the_command() {
    let target = Target::start(&[]);
    let hanging = || processes(|words| words.contains(&&b"63.25"[..]));
    let args = ["run", &target.url("/"), "--client", "ssh://a", "--ssh", "sh -c 'exec sleep 63.25'"];
    let started = plimsoll(args).start();
    assert!(wait_for(SOON, || (!hanging().is_empty()).then_some(())).is_some(), "it was started");
    started.signal(Signal::INT);
    started.end().exits(130);
    assert_eq!(hanging(), [], "what was started as ssh is ended");
}

#[test]
fn what_agents_cannot_do_is_refused_before_anything_is_started() {
    let refused = |verb: &str, args: &[&str], named: &[&str]| {
        let url = "http://192.0.2.1/";
        plimsoll([verb, url, "--client", "ssh://a,ssh://b"].iter().chain(args).copied()).run().fails(2, named);
    };
    for verb in ["run", "sweep", "capacity"] {
        refused(verb, &["--warmup", "auto"], &["--warmup auto"]);
        refused(verb, &["--cpus", "0"], &["--client", "--cpus"]);
        refused(verb, &["--unix-socket", "/run/app.sock"], &["--client", "--unix-socket"]);
        refused(verb, &["--ssh", "ssh '"], &["--ssh", "quotes"]);
    }
    for verb in ["run", "sweep"] {
        refused(verb, &["--profile"], &["--client", "--profile"]);
        refused(verb, &["--confirm"], &["[URL]", "--confirm"]);
        refused(verb, &["--budget", "1s"], &["--client", "--budget"]);
    }
    for (verb, args, load) in [
        ("run", &["-c", "1"][..], "-c 1"),
        ("sweep", &["--from", "1"], "--from 1"),
        ("sweep", &["--to", "1"], "--to 1"),
        ("sweep", &["--over", "rate", "-c", "1"], "-c 1"),
        ("capacity", &["-c", "1"], "-c 1"),
    ] {
        refused(verb, args, &[load, "are fewer connections than the 2 agents", "2 or more"]);
    }
    for (flag, machine) in [("--client", "ssh://a"), ("--server-host", "ssh://s")] {
        let served = ["compare", "--serve", "target", "--serve", "target", flag, machine];
        plimsoll(served).run().fails(2, &[flag, "--serve"]);
    }
    let cluster = ["run", "http://192.0.2.1/", "--client", "k8s://load?replicas=2", "--ssh", "ssh -F other"];
    plimsoll(cluster).run().fails(2, &["--ssh is for --client ssh://HOST and --server-host"]);
    plimsoll(["run", "http://192.0.2.1/", "--client", "b"]).run().fails(2, &["--client", "ssh://"]);
    let ended = plimsoll(["run", "http://192.0.2.1/", "--ssh", "ssh"]).run();
    assert!(ended.exits(2).stderr.contains("--client") && ended.stderr.contains("--server-host"), "{ended:#?}");
}

#[test]
fn a_target_that_agents_cannot_load_is_their_error() {
    let (target, hosts) = (Target::start(&[]), Hosts::with_profile("ulimit -n 20"));
    let ended = hosts.run(&target.url("/bytes/1"), &["-c", "400", "-d", "1s"]).run();
    assert!(ended.exits(2).stderr.contains("plimsoll: agent ssh://"), "{ended:#?}");
    assert!(ended.stderr.contains("file descriptors"), "{ended:#?}");
}
