//! The server observed by an agent on its machine, which is this one here.

use super::Hosts;
use crate::support::{Ended, Target, count, list, number, plimsoll, text};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

const THERE: [&str; 2] = ["--server-host", "ssh://s"];

/// The result of a verb with the server observed by the agent `s`, which is gone after it.
#[track_caller]
pub(super) fn observed(hosts: &Hosts, verb: &str, url: &str, more: &[&str]) -> Ended {
    let ended = hosts.reached(verb, url, &[&THERE, more].concat()).run();
    hosts.is_gone("s");
    ended
}

#[test]
fn both_machines_are_in_the_result_and_each_instant_is_on_one_clock() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let ended = observed(&hosts, "run", &target.url("/bytes/10"), &["-R", "200", "-d", "3s", "--warmup", "1s"]);
    let record = ended.json();
    assert!(record["observed"]["generator"]["cpu_cores"].is_number(), "{record:#}");
    assert!(record["client_machine"]["machine"]["busy_mean"].is_number(), "{:#}", record["client_machine"]);
    assert!(record["client_machine"]["server"].is_null(), "it is seen by the agent alone");
    let host = &record["environment"]["server_host"];
    assert_eq!(text(host, "name"), "ssh://s");
    assert!(host["fingerprint"]["facts"]["program/plimsoll"].is_object(), "{host:#}");
    let (mut ticks, mut samples) = (Vec::new(), Vec::new());
    for line in ended.recorded("events.jsonl").lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        match event["event"].as_str() {
            Some("tick") => ticks.push(event),
            Some("observed") if event["source"] == u16::MAX => samples.push(event),
            _ => {}
        }
    }
    assert_eq!(samples.len(), ticks.len(), "one for each");
    for (tick, sample) in ticks.iter().zip(&samples) {
        assert_eq!(tick["phase"], sample["phase"]);
        let late_ns = number(sample, "to_ns") - number(tick, "to_ns");
        assert!((-0.1e9..2e9).contains(&late_ns), "{late_ns} ns after the tick");
    }
}

#[test]
fn the_load_may_come_from_other_machines_at_the_same_time() {
    let (target, hosts) = (Target::start(&["--workers", "1"]), Hosts::new());
    let load = ["--client", "ssh://a,ssh://b", "-c", "4", "-d", "3s", "--warmup", "500ms"];
    let ended = observed(&hosts, "run", &target.url("/cpu?us=500"), &load);
    hosts.are_gone();
    let record = ended.json();
    assert_eq!(record["agents"].as_array().map(Vec::len), Some(2));
    assert!(number(&record, "observed.server.cpu_ns_per_request") > 0.0, "{:#}", record["observed"]["server"]);
    assert!(text(&record, "observed.unavailable.generator").contains("the load comes from agents"), "{record:#}");
    let unchecked = record["verdict"]["unchecked_why"].to_string();
    assert!(!unchecked.contains("--no-observe"), "{unchecked}");
    assert!(record["observed"]["generator"].is_null());
}

#[test]
fn all_loads_of_a_sweep_and_of_a_search_are_observed_by_the_same_agent() {
    let (target, hosts) = (Target::start(&["--workers", "1"]), Hosts::new());
    let url = target.url("/cpu?us=500");
    let loads = ["--to", "4", "--points", "2", "--iterations", "1", "-d", "1s", "--warmup", "300ms"];
    let ended = observed(&hosts, "sweep", &url, &loads);
    let record = ended.json();
    let points = record["points"].as_array().expect("points");
    assert!(points.len() >= 2, "{record:#}");
    for point in points {
        // How much it is in a second of a quiet machine is for `server_seen`.
        assert!(number(point, "observed.server.cpu_ns_per_request") > 0.0, "{:#}", point["observed"]["server"]);
    }
    assert_eq!(hosts.starts("s"), 1, "it stays from load to load");
    let goal = ["--goal", "p99<500ms,cpu<95%", "-d", "4s", "--budget", "25s", "--width", "20%"];
    let record = observed(&hosts, "capacity", &url, &goal).json();
    let trials = record["trials"].as_array().expect("trials");
    assert!(!trials.is_empty() && hosts.starts("s") == 2, "{record:#}");
    assert!(number(&trials[0], "observed.server.cpu_cores") > 0.01, "{:#}", trials[0]["observed"]["server"]);
}

/// Ends the agent in the middle of a load of 15 s; how long that was measured.
#[track_caller]
fn lose_it(signal: Signal, more: &[&str], code: i32) -> (Ended, f64) {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let args = [&THERE, &["-c", "4", "-d", "15s", "--warmup", "500ms"][..], more].concat();
    let started = hosts.reached("run", &target.url("/sleep?time=5ms"), &args).start();
    started.wait_for_events("observed", 5);
    kill_process(hosts.pid("s"), signal).expect("it runs");
    let ended = started.end();
    hosts.is_gone("s");
    let record = ended.exits(code).json();
    assert_eq!(record["interrupted"], true, "{record:#}");
    assert!(count(&record, "requests.good") > 100, "what was measured is kept");
    assert!(text(&record, "observed.unavailable.server").contains("agent ssh://s was lost"), "{record:#}");
    assert!(ended.stderr.contains("agent ssh://s was lost"), "{ended:#?}");
    (ended, number(&record, "measured_ns") / 1e9)
}

#[test]
fn a_killed_agent_of_the_server_ends_the_load() {
    let (ended, measured_s) = lose_it(Signal::KILL, &[], 4);
    assert!(measured_s < 10.0, "{ended:#?}");
}

#[test]
fn a_killed_agent_of_the_server_leaves_the_load_if_that_is_wanted() {
    let (ended, measured_s) = lose_it(Signal::KILL, &["--on-agent-loss", "continue"], 5);
    assert!(measured_s > 14.9, "{ended:#?}");
}

#[test]
fn an_agent_of_the_server_that_stalls_is_lost_after_five_seconds() {
    let (ended, measured_s) = lose_it(Signal::STOP, &[], 4);
    assert!(ended.stderr.contains("nothing came from it for 5 s") && measured_s < 14.9, "{ended:#?}");
}

#[test]
fn an_interrupted_load_keeps_what_the_agent_saw_and_a_killed_coordinator_leaves_no_agent() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let args = [&THERE, &["-c", "4", "-d", "60s", "--warmup", "500ms"][..]].concat();
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let started = hosts.reached("run", &target.url("/sleep?time=5ms"), &args).start();
        started.wait_for_events("observed", 5);
        started.signal(signal);
        hosts.is_gone("s");
        let ended = started.end();
        assert_eq!(ended.status.code(), code, "{ended:#?}");
        if code.is_some() {
            let record = ended.json();
            assert!(number(&record, "observed.server.cpu_cores") > 0.0, "{:#}", record["observed"]);
            assert_eq!(record["interrupted"], true);
        }
    }
}

#[test]
fn the_server_is_chosen_by_its_processes_there() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let (url, beside) = (target.url("/bytes/10"), Target::start(&[]));
    let pid = beside.pid().to_string();
    let load = ["-c", "2", "-d", "1500ms", "--warmup", "0s", "--server", &pid, "--observe", target.address()];
    let record = observed(&hosts, "run", &url, &load).json();
    assert!(number(&record, "observed.server.cpu_cores") < 0.1, "it has nothing to do: {:#}", record["observed"]);
    let companions = record["observed"]["companions"].as_object().expect("companions");
    assert!(companions.contains_key(target.address()), "{companions:#?}");
    let refused = |choice: &[&str], code: i32, named: &[&str]| {
        let ended = observed(&hosts, "run", &url, choice);
        ended.fails(code, named);
        assert!(list(&ended.path("plimsoll-runs")).is_empty(), "no directory is left");
    };
    refused(&["--server", "5000000"], 3, &["agent ssh://s", "--server", "5000000", "no process"]);
    refused(&["--server", "pid:0"], 2, &["agent ssh://s", "--server", "pid:0"]);
}

#[test]
fn the_load_goes_to_the_address_of_the_server_and_asks_for_the_host_of_the_url() {
    let target = Target::start(&[]);
    let port = target.address().rsplit_once(':').expect("a port").1;
    let url = format!("http://shop.invalid:{port}/bytes/10");
    let args = ["run", &url, "--server-ip", "127.0.0.1", "-c", "2", "-d", "500ms", "--warmup", "0s", "--json"];
    let record = plimsoll(args).run().json();
    assert_eq!(text(&record, "plan.target.address"), target.address());
    assert_eq!(text(&record, "plan.target.connect_to"), target.address());
    assert!(count(&record, "requests.good") > 10);
}

#[test]
fn what_does_not_go_with_an_observed_machine_is_refused_before_anything_is_started() {
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(args.iter().copied()).run().fails(2, named);
    };
    let url = "http://192.0.2.1/";
    for verb in ["run", "sweep", "capacity"] {
        let with = |more: &[&'static str]| [&[verb, url, "--server-host", "ssh://s"], more].concat();
        refused(&with(&["--no-observe"]), &["--server-host", "--no-observe"]);
        refused(&with(&["--unix-socket", "/run/app.sock"]), &["--server-host", "--unix-socket"]);
        refused(&[verb, "--serve", "nginx", "--server-host", "ssh://s"], &["--server-host", "--serve"]);
        refused(&[verb, url, "--server-host", "s"], &["--server-host", "ssh://"]);
        plimsoll([verb, "--server-host", "ssh://s"]).run().exits(2);
        refused(&[verb, url, "--server-ip", "shop"], &["--server-ip", "shop"]);
        refused(&[verb, url, "--server-ip", "192.0.2.2", "--connect-to", "a:1"], &["--server-ip", "--connect-to"]);
    }
    for verb in ["run", "sweep"] {
        refused(&[verb, url, "--server-host", "ssh://s", "--profile"], &["--server-host", "--profile"]);
        refused(&[verb, url, "--server-host", "ssh://s", "--confirm"], &["[URL]", "--confirm"]);
    }
}
