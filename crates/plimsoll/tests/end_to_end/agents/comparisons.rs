//! Comparisons of servers whose difference is known, with load of two agents.

use super::Hosts;
use super::searches::agents;
use crate::support::{Target, close_to, count, decide, decide_watched, number, text};
use serde_json::Value;
use std::time::Duration;

/// One search is over within this time.
const SOON: Duration = Duration::from_secs(40);
/// Requests that the probe sends to a server.
const PROBED: u64 = 3;

/// A pool of four workers.
fn pool(time: &str) -> Target {
    Target::start(&["--pool", "4", "--pool-time", time])
}

/// The quantity of the variant at a load.
#[track_caller]
fn metric<'a>(record: &'a Value, name: &str, load: &str) -> &'a Value {
    let mut all = record["metrics"].as_array().expect("a list").iter();
    all.find(|one| one["metric"] == name && one["load"] == load).unwrap_or_else(|| panic!("no {name}: {record:#}"))
}

#[test]
fn the_ratio_of_two_pools_is_found_with_the_same_agents_under_all_loads() {
    // 200/s and 133/s.
    let (fast, slow, hosts) = (pool("20ms"), pool("30ms"), Hosts::new());
    let urls = [fast.url("/pool"), slow.url("/pool")];
    let size = ["-d", "1s", "-c", "16", "--blocks", "2", "--only", "saturated", "--name", "fast", "--name", "slow"];
    let mut starts = 0;
    decide(
        || {
            let ended = hosts.compare([&urls[0], &urls[1]], &size).run();
            starts += 1;
            (ended.json(), (ended, starts))
        },
        |(record, (ended, starts))| {
            assert_eq!((text(record, "format"), ended.status.code()), ("plimsoll.compare/1", Some(5)), "{record:#}");
            let goodput = metric(record, "goodput_per_s", "saturated");
            // Of fewer than six blocks no call is made.
            assert_eq!((text(goodput, "call"), text(goodput, "arm")), ("cannot_tell", "slow"));
            close_to(number(goodput, "ratio.value"), 2.0 / 3.0, 0.05, "ratio of the pools");
            assert_eq!(count(goodput, "ratio.n"), 2);
            assert!(record["blocks"][0]["canary_cpu_ns_per_request"].is_number(), "the servers run here");
            for of in record["runs"].as_array().expect("runs") {
                let run = &of["run"];
                let responses: u64 = agents(run).iter().map(|agent| count(agent, "response_ns.n")).sum();
                assert_eq!(responses, count(run, "latency_ns.response.n"), "all blocks of both agents");
            }
            assert_eq!((hosts.starts("a"), hosts.starts("b")), (*starts, *starts), "the agents stay from load to load");
            hosts.are_gone();
        },
    );
}

#[test]
fn each_variant_is_observed_by_the_same_agent_on_the_machine_of_the_servers() {
    decide_watched(|| {
        let (one, other) = (Target::start(&["--workers", "1"]), Target::start(&["--workers", "1"]));
        let hosts = Hosts::new();
        let urls = [one.url("/cpu?us=1000"), other.url("/cpu?us=1500")];
        let size = ["--server-host", "ssh://s", "-d", "2s", "-R", "200", "--blocks", "1", "--only", "fixed"];
        let ended = hosts.compare([&urls[0], &urls[1]], &size).run();
        let record = ended.json();
        let cpu = metric(&record, "server_cpu_ns_per_request", "fixed");
        // CPU time is counted in steps of 10 ms, and a request costs a little more than it is told to.
        close_to(number(cpu, "baseline"), 1.1e6, 0.15, "CPU time of the baseline");
        close_to(number(cpu, "ratio.value"), 1.5, 0.15, "ratio of the CPU times");
        assert_eq!(text(&record, "environment.server_host.name"), "ssh://s");
        assert_eq!(hosts.starts("s"), 1, "it stays from variant to variant");
        hosts.are_gone();
        hosts.is_gone("s");
    });
}

#[test]
fn capacities_of_two_pools_are_searched_for_in_a_block() {
    decide_watched(|| {
        // 1,000/s and 500/s.
        let (fast, slow) = (Target::start(&["--pool", "5", "--pool-time", "5ms"]), pool("8ms"));
        let hosts = Hosts::new();
        let urls = [fast.url("/pool"), slow.url("/pool")];
        let goal = ["--goal", "p99<500ms,errors<1%", "--arrivals", "constant", "--timeout", "1s"];
        let size = ["-d", "1s", "--only", "capacity", "--capacity-budget", "20s", "--blocks", "1"];
        let started = hosts.compare([&urls[0], &urls[1]], &[&goal[..], &size].concat()).start();
        // The canary and the search of the first; that of the second has as much time again.
        started.wait_for_sessions(SOON, "compared", 2);
        let ended = started.end();
        let record = ended.json();
        let capacity = metric(&record, "capacity_per_s", "capacity");
        close_to(number(capacity, "ratio.value"), 0.5, 0.2, "ratio of the capacities");
        assert_eq!((hosts.starts("a"), hosts.starts("b")), (1, 1), "the agents stay from trial to trial");
        hosts.are_gone();
    });
}

#[test]
fn both_servers_have_seen_what_the_agents_say() {
    decide_watched(|| {
        let (one, other, hosts) = (pool("20ms"), pool("20ms"), Hosts::new());
        let urls = [one.url("/pool"), other.url("/pool")];
        let size = ["-d", "1s", "--warmup", "0s", "-c", "4", "-R", "50", "--blocks", "1"];
        let reached = [&[urls[1].as_str(), "--client", "ssh://a,ssh://b"][..], &size].concat();
        let record = hosts.reached("compare", &urls[0], &reached).run().json();
        let mut sent = 0;
        for of in record["runs"].as_array().expect("runs") {
            sent += agents(&of["run"]).iter().map(|agent| count(agent, "flow.sent")).sum::<u64>();
        }
        // The closed loops before the block are no trials.
        let pilots: f64 =
            record["arms"].as_array().expect("variants").iter().map(|arm| number(arm, "pilot_per_s")).sum();
        let seen = (one.seen().1 + other.seen().1 - 2 * PROBED) as f64;
        close_to(seen, sent as f64 + pilots, 0.05, "requests at both servers");
    });
}
