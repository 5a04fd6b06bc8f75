//! Sweeps and searches for a capacity with load of two agents, one load after the other.

use super::Hosts;
use crate::support::{Target, close_to, count, decide_watched, number};
use serde_json::Value;

/// Requests that the probe sends.
const PROBED: u64 = 3;

/// The agents of a load, of which none was lost.
#[track_caller]
pub(super) fn agents(load: &Value) -> &[Value] {
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
    });
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
    });
}
