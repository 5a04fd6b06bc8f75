//! Sweeps with load of two agents, one load after the other. Searches for a capacity are in `comparisons` and `losses`.

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
