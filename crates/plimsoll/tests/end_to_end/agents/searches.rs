//! Sweeps and searches for a capacity with load of two agents, one load after the other.

use super::Hosts;
use crate::recovered::is_the_same_again;
use crate::support::{Ended, Started, Target, close_to, count, decide_watched, list, number, text, wait_for};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::time::Duration;

/// A load is measured within this time.
const SOON: Duration = Duration::from_secs(30);
/// Requests that the probe sends.
const PROBED: u64 = 3;

/// The agents of a load, of which none was lost.
#[track_caller]
fn agents(load: &Value) -> &[Value] {
    let agents = load["agents"].as_array().expect("agents");
    assert_eq!(agents.len(), 2, "{load:#}");
    assert!(agents.iter().all(|agent| agent.get("lost").is_none()), "{agents:#?}");
    agents
}

/// Requests that all agents have sent under these loads.
fn sent(loads: &Value) -> u64 {
    let loads = loads.as_array().expect("loads");
    loads.iter().flat_map(agents).map(|agent| count(agent, "flow.sent")).sum()
}

#[test]
fn a_sweep_finds_a_pool_with_the_same_agents_under_all_its_loads() {
    decide_watched(|| {
        // 4 workers of 20 ms: 50/s for each connection, up to 200/s.
        let (target, hosts) = (Target::start(&["--pool", "4", "--pool-time", "20ms"]), Hosts::new());
        let loads = ["--to", "8", "--points", "3", "--iterations", "2", "-d", "1s"];
        let ended = hosts.measure("sweep", &target.url("/pool"), &loads).run();
        let record = ended.measured().json();
        let curve = record["curve"].as_array().expect("a curve");
        assert!(curve.len() >= 3, "{curve:#?}");
        assert_eq!((number(&curve[0], "load"), number(&curve[curve.len() - 1], "load")), (2.0, 8.0), "{curve:#?}");
        for point in curve {
            let truth = 50.0 * number(point, "load").min(4.0);
            close_to(number(point, "goodput_per_s"), truth, 0.06, "goodput of the pool");
        }
        close_to(number(&record, "peak.goodput_per_s"), 200.0, 0.06, "peak");
        for point in record["points"].as_array().expect("points") {
            let responses: u64 = agents(point).iter().map(|agent| count(agent, "response_ns.n")).sum();
            assert_eq!(responses, count(point, "latency_ns.response.n"), "both iterations of both agents");
            assert!(agents(point).iter().all(|agent| count(agent, "start_error_ns") < 20_000_000), "{point:#}");
        }
        assert_eq!(target.seen().1, sent(&record["points"]) + PROBED, "the server has seen what the agents say");
        assert_eq!((record["interrupted"].as_bool(), record.get("agent_lost")), (Some(false), None));
        assert_eq!((hosts.starts("a"), hosts.starts("b")), (1, 1), "the agents stay from load to load");
        hosts.are_gone();
        is_the_same_again(&ended);
    });
}

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
    is_the_same_again(&lose_one(&[], 4));
}

#[test]
fn a_sweep_whose_load_the_others_carry_on_ends_after_it() {
    lose_one(&["--on-agent-loss", "continue"], 5);
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

#[test]
fn a_search_finds_the_capacity_of_a_pool() {
    // 5 workers of 5 ms.
    const CAPACITY_PER_S: f64 = 1_000.0;
    decide_watched(|| {
        let (target, hosts) = (Target::start(&["--pool", "5", "--pool-time", "5ms"]), Hosts::new());
        let goal = ["--goal", "p99<500ms,errors<1%", "--arrivals", "constant", "--timeout", "1s"];
        let size = ["-d", "4s", "--budget", "30s", "--width", "5%"];
        let ended = hosts.measure("capacity", &target.url("/pool"), &[&goal[..], &size].concat()).run();
        let record = ended.json();
        assert!(matches!(ended.status.code(), Some(0 | 4 | 5)), "{ended:#?}");
        let (low, high) = (number(&record, "capacity.low"), number(&record, "capacity.high"));
        assert!(low < 1.02 * CAPACITY_PER_S && high > 0.98 * CAPACITY_PER_S, "{low} {high}");
        assert!(low < high && high / low < 2.5, "{low} {high}");
        let trials = record["trials"].as_array().expect("trials");
        assert!(trials.len() >= 3, "{}", trials.len());
        for (trial, outcome) in trials.iter().zip(record["outcomes"].as_array().expect("outcomes")) {
            let responses: u64 = agents(trial).iter().map(|agent| count(agent, "response_ns.n")).sum();
            assert_eq!(responses, count(trial, "latency_ns.response.n"), "{outcome:#}");
            if outcome["ran_away"] == false {
                let planned = number(outcome, "load_per_s") * number(trial, "measured_ns") / 1e9;
                close_to(count(trial, "requests.planned") as f64, planned, 0.02, "the rate of both agents");
            }
        }
        assert_eq!((hosts.starts("a"), hosts.starts("b")), (1, 1), "the agents stay from trial to trial");
        hosts.are_gone();
        is_the_same_again(&ended);
    });
}
