//! What an agent sees of a server beside it, held against the server's own truth.

use super::Hosts;
use super::server_host::observed;
use crate::chosen_server::cpu_s;
use crate::support::{Target, close_to, decide_watched, number, plimsoll, text};
use serde_json::Value;

/// The pool of the target's worker.
#[track_caller]
fn pool(record: &Value) -> &Value {
    let pools = record["observed"]["pools"].as_array().expect("a list");
    pools.iter().find(|pool| pool["program"] == "plimsoll").unwrap_or_else(|| panic!("{:#}", record["observed"]))
}

#[test]
fn the_agent_sees_the_cpu_time_and_the_limit_that_the_server_has() {
    decide_watched(|| {
        let (target, hosts) = (Target::start(&["--workers", "1"]), Hosts::new());
        let (pid, url) = (target.pid().cast_signed(), target.url("/cpu?us=1000"));
        let load = ["-c", "4", "-d", "4s", "--warmup", "500ms", "--threads", "1"];
        let (before_s, before) = (cpu_s(pid), target.sum("requests"));
        let ended = observed(&hosts, "run", &url, &load);
        let truth_ns = (cpu_s(pid) - before_s) * 1e9 / (target.sum("requests") - before) as f64;
        let record = ended.json();
        let seen_ns = number(&record, "observed.server.cpu_ns_per_request");
        close_to(seen_ns, truth_ns, 0.1, "CPU time per request");
        assert!(number(pool(&record), "occupancy") > 0.9, "it is asked for more than it can do: {:#}", pool(&record));
        // The same as is seen without the agent.
        let alone = plimsoll(["run", &url, "--json"].iter().chain(&load)).run().json();
        assert!(record["limiter"].is_object(), "{record:#}");
        assert_eq!(text(&record, "limiter.name"), text(&alone, "limiter.name"));
        close_to(seen_ns, number(&alone, "observed.server.cpu_ns_per_request"), 0.1, "the same without an agent");
    });
}

#[test]
fn the_agent_sees_how_much_of_the_time_the_worker_is_occupied() {
    decide_watched(|| {
        let (target, hosts) = (Target::start(&["--workers", "1"]), Hosts::new());
        let load = ["-R", "400", "-d", "4s", "--warmup", "500ms", "--arrivals", "constant"];
        let record = observed(&hosts, "run", &target.url("/cpu?us=1000"), &load).json();
        let occupancy = number(pool(&record), "occupancy");
        assert!((0.35..0.75).contains(&occupancy), "400 requests of 1 ms each second: {occupancy}");
        let cores = number(&record, "observed.server.cpu_cores");
        close_to(cores, 0.4 * number(&record, "observed.server.cpu_ns_per_request") / 1e6, 0.1, "CPUs");
    });
}
