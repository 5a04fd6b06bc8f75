//! Agents that are lost between or under the loads of a sweep or a search for a capacity.

use super::Hosts;
use super::searches::agents;
use crate::support::{Ended, Started, Target, count, list, text, wait_for};
use rustix::process::{Signal, kill_process};
use std::time::Duration;

/// A load is measured within this time.
const SOON: Duration = Duration::from_secs(60);

/// Waits until the second load is under way.
#[track_caller]
fn wait_for_second(started: &Started) {
    let ticks = || {
        let run = list(&started.directory().join("plimsoll-runs")).pop()?;
        let load = list(&run.join("points")).into_iter().nth(1)?;
        let events = std::fs::read_to_string(load.join("events.jsonl")).ok()?;
        events.contains("\"event\":\"tick\"").then_some(())
    };
    wait_for(SOON, ticks).expect("a second load");
}

/// Kills an agent under the second load of a sweep.
#[track_caller]
fn lose_one(more: &[&str], code: i32) -> Ended {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let loads = ["--to", "8", "--points", "3", "--iterations", "1", "-d", "4s"];
    let started = hosts.measure("sweep", &target.url("/sleep?time=5ms"), &[&loads[..], more].concat()).start();
    wait_for_second(&started);
    kill_process(hosts.pid("b"), Signal::KILL).expect("it runs");
    let ended = started.end();
    ended.exits(code);
    hosts.are_gone();
    let record = ended.json();
    assert_eq!(record["interrupted"], true, "{record:#}");
    let points = record["points"].as_array().expect("points");
    assert_eq!(points.len(), 1, "what was measured is kept, and nothing of what was not whole");
    assert!(agents(&points[0]).iter().all(|agent| count(agent, "flow.sent") > 100), "{record:#}");
    assert_eq!(text(&record, "agent_lost.name"), "ssh://b");
    assert!(count(&record, "agent_lost.at_ns") > 0 && !text(&record, "agent_lost.why").is_empty(), "{record:#}");
    assert!(ended.stderr.contains("agent ssh://b was lost"), "{ended:#?}");
    assert_eq!(ended.recorded("run.json"), ended.stdout);
    ended
}

#[test]
fn a_killed_agent_ends_the_sweep_with_what_was_measured() {
    lose_one(&[], 4);
}

#[test]
fn a_sweep_whose_load_the_others_carry_on_ends_after_it() {
    lose_one(&["--on-agent-loss", "continue"], 5);
}

/// Kills an agent in the second block of a comparison.
#[track_caller]
fn lose_one_in_a_block(more: &[&str], code: i32) -> Ended {
    let (one, other, hosts) = (Target::start(&[]), Target::start(&[]), Hosts::new());
    let urls = [one.url("/sleep?time=5ms"), other.url("/sleep?time=5ms")];
    let size = ["-d", "2s", "-c", "4", "--only", "saturated", "--blocks", "20", "--budget", "1h"];
    let started = hosts.compare([&urls[0], &urls[1]], &[&size[..], more].concat()).start();
    // The canary and both variants of the first block, and the canary of the second.
    started.wait_for_sessions(SOON, "compared", 4);
    kill_process(hosts.pid("b"), Signal::KILL).expect("it runs");
    let ended = started.end();
    ended.exits(code);
    hosts.are_gone();
    let record = ended.json();
    assert_eq!((record["interrupted"].as_bool(), text(&record, "ended")), (Some(true), "interrupted"), "{record:#}");
    let blocks = record["blocks"].as_array().expect("blocks");
    let counted = blocks.iter().filter(|block| block["counted"] == true).count();
    assert!((1..20).contains(&counted), "whole blocks count, and the last is none: {blocks:#?}");
    for of in record["runs"].as_array().expect("runs") {
        assert!(agents(&of["run"]).iter().all(|agent| count(agent, "flow.sent") > 100), "{of:#}");
    }
    assert_eq!((text(&record, "agent_lost.name"), text(&record, "reason")), ("ssh://b", "an agent was lost"));
    assert!(ended.stderr.contains("agent ssh://b was lost"), "{ended:#?}");
    assert_eq!(ended.recorded("run.json"), ended.stdout);
    ended
}

#[test]
fn a_killed_agent_ends_the_comparison_and_whole_blocks_count() {
    lose_one_in_a_block(&[], 4);
}

#[test]
fn a_comparison_whose_load_the_others_carry_on_ends_after_it() {
    lose_one_in_a_block(&["--on-agent-loss", "continue"], 5);
}

#[test]
fn the_loss_of_the_agent_of_the_servers_ends_the_comparison_too() {
    let (one, other, hosts) = (Target::start(&[]), Target::start(&[]), Hosts::new());
    let more = [&other.url("/sleep?time=5ms"), "--server-host", "ssh://s", "-d", "2s", "--warmup", "0s", "-c", "4"];
    let size = ["--only", "saturated", "--blocks", "20", "--budget", "1h"];
    let started = hosts.reached("compare", &one.url("/sleep?time=5ms"), &[&more[..], &size].concat()).start();
    started.wait_for_sessions(SOON, "compared", 4);
    kill_process(hosts.pid("s"), Signal::KILL).expect("it runs");
    let ended = started.end();
    hosts.is_gone("s");
    let record = ended.exits(4).json();
    assert_eq!((text(&record, "agent_lost.name"), text(&record, "reason")), ("ssh://s", "an agent was lost"));
    assert_eq!(record["blocks"][0]["counted"], true, "{record:#}");
}

#[test]
fn an_interrupted_comparison_keeps_whole_blocks_and_leaves_no_agent() {
    let (one, other, hosts) = (Target::start(&[]), Target::start(&[]), Hosts::new());
    let urls = [one.url("/sleep?time=5ms"), other.url("/sleep?time=5ms")];
    let size = ["-d", "1s", "-c", "4", "--only", "saturated", "--blocks", "20", "--budget", "1h"];
    let started = hosts.compare([&urls[0], &urls[1]], &size).start();
    started.wait_for_sessions(SOON, "compared", 4);
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    hosts.are_gone();
    assert_eq!((text(&record, "ended"), record.get("agent_lost")), ("interrupted", None));
    assert_eq!(record["blocks"][0]["counted"], true, "{record:#}");
}

#[test]
fn the_loss_in_the_only_load_is_told_with_it() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let started = hosts.measure("capacity", &target.url("/sleep?time=5ms"), &["-d", "20s", "--to", "100"]).start();
    // The first load is the closed loop, which is no trial.
    wait_for_second(&started);
    kill_process(hosts.pid("b"), Signal::KILL).expect("it runs");
    let ended = started.end();
    let record = ended.exits(4).json();
    hosts.are_gone();
    assert_eq!((text(&record, "capacity.ended"), text(&record, "agent_lost.name")), ("interrupted", "ssh://b"));
    assert_eq!(record["outcomes"][0]["counted"], false, "{record:#}");
    assert!(record["trials"][0]["agents"][1]["lost"]["why"].is_string(), "{record:#}");
    assert_eq!(record["trials"][0]["agents"][0].get("lost"), None);
}
