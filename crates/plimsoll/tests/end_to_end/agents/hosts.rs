//! Load through real sshds, each in a network namespace of its own.

use super::network::Network;
use crate::support::{Ended, close_to, count, decide_watched, list, number, skip, text};
use rustix::process::Signal;
use serde_json::Value;

pub(super) const CLIENTS: &str = "ssh://h1,ssh://h2";

/// Runs the test on the hosts; where there are none it counts as skipped.
pub(super) fn on_hosts(test: impl Fn(&Network)) {
    match Network::start() {
        Ok(network) => test(&network),
        Err(why) => skip(&why),
    }
}

#[test]
fn two_hosts_give_the_same_as_one_client_at_the_same_load() {
    on_hosts(|network| {
        decide_watched(|| {
            let load = ["run", Network::TARGET, "-R", "500", "-c", "64", "-d", "4s", "--warmup", "1s", "--json"];
            let measured =
                |more: &[&str]| -> Value { network.plimsoll("known", &[&load, more].concat()).run().measured().json() };
            let (alone, both) = (measured(&["--budget", "0s"]), measured(&["--client", CLIENTS]));
            let agents = both["agents"].as_array().expect("agents");
            assert_eq!(agents.len(), 2);
            let responses: u64 = agents.iter().map(|agent| count(agent, "response_ns.n")).sum();
            assert_eq!(responses, count(&both, "latency_ns.response.n"));
            assert_eq!(count(&alone, "requests.planned"), responses, "the same schedule");
            for agent in agents {
                // A start that is not agreed on is a tenth of a second off; a thread that has to wait for a shared CPU some milliseconds.
                assert!(count(agent, "start_error_ns") < 10_000_000, "started within 10 ms: {agent:#}");
            }
            let goodput = |record| number(record, "goodput_per_s.value");
            close_to(goodput(&both), goodput(&alone), 0.03, "goodput");
            // Of 2,000 responses 20 are beyond the last of these: the two agents, which share these CPUs, move it by more.
            for (quantile, tolerance) in [("p50", 0.05), ("p90", 0.05), ("p99", 0.1)] {
                let name = format!("latency_ns.response.{quantile}");
                close_to(number(&both, &name), number(&alone, &name), tolerance, quantile);
            }
            network.is_clean();
        });
    });
}

/// Each login waited a minute for a lock of the files that a shell of this machine starts with, as long as one of a test before
/// had been killed in them.
#[test]
fn a_login_runs_nothing_that_belongs_to_this_machine() {
    on_hosts(|network| {
        let size = network.shell("h1", "cat ~root/.bashrc /etc/bash.bashrc 2>&1 | grep -v 'No such file' | wc -c");
        assert_eq!(size.expect("a size").trim(), "0");
    });
}

#[test]
fn a_host_that_ssh_does_not_reach_or_trust_is_one_clear_line() {
    on_hosts(|network| {
        let fails = |hosts: &str, clients: &str, named: &[&str]| {
            let args = ["run", Network::TARGET, "--client", clients, "-c", "4", "-d", "1s", "--warmup", "0s"];
            let ended = network.plimsoll(hosts, &args).run();
            ended.fails(2, named);
            assert!(list(&ended.path("plimsoll-runs")).is_empty(), "no directory is left");
            network.is_clean();
        };
        fails("unknown", CLIENTS, &["agent ssh://h", "Host key verification failed", "try: ssh h"]);
        fails("changed", CLIENTS, &["agent ssh://h", "Host key verification failed"]);
        fails("known", "ssh://h1,ssh://h1:9", &["agent ssh://h1:9", "Connection refused"]);
        fails("known", "ssh://h1,ssh://noone@h2", &["agent ssh://noone@h2", "Permission denied"]);
        fails("known", "ssh://h1,ssh://h3", &["agent ssh://h3", "cannot run", "noexec", "XDG_CACHE_HOME"]);
        fails(
            "known",
            "ssh://h1:9,ssh://h2,ssh://noone@h1",
            &["h1:9: no connection", "agent ssh://noone@h1: no connection"],
        );
        fails("known", "ssh://h1,ssh://h4", &["agent ssh://h4", "cannot write", "No space left"]);
    });
}

/// Kills something in the middle of a load.
#[track_caller]
fn killed(network: &Network, kill: impl FnOnce(&Network), why: &str) -> Ended {
    let load = ["run", Network::TARGET, "--client", CLIENTS, "-c", "8", "-d", "20s", "--warmup", "500ms", "--json"];
    let started = network.plimsoll("known", &load).start();
    started.wait_for_events("tick", 2);
    kill(network);
    let ended = started.end();
    network.is_clean();
    let record = ended.exits(4).json();
    assert_eq!(record["interrupted"], true);
    assert!(text(&record, "agents.1.lost.why").starts_with(why), "{:#}", record["agents"][1]["lost"]);
    assert_eq!(record["agent_lost"]["name"], "ssh://h2");
    assert!(ended.stderr.contains("agent ssh://h2 was lost"), "{ended:#?}");
    ended
}

#[test]
fn a_killed_agent_or_ssh_ends_the_load_and_leaves_nothing() {
    on_hosts(|network| {
        killed(
            network,
            |network| Network::kill(&network.agents("h2")),
            "its process was killed there by signal 9 (SIGKILL)",
        );
        killed(network, |network| Network::kill(&network.connections("h2")), "ssh was killed");
    });
}

#[test]
fn a_killed_coordinator_leaves_nothing() {
    on_hosts(|network| {
        let load = ["run", Network::TARGET, "--client", CLIENTS, "-c", "8", "-d", "60s", "--warmup", "500ms"];
        let started = network.plimsoll("known", &load).start();
        started.wait_for_events("tick", 2);
        assert!(!network.agents("h1").is_empty() && !network.agents("h2").is_empty());
        started.signal(Signal::KILL);
        started.end();
        network.is_clean();
    });
}

/// With load of the coordinator, and with load of two other hosts.
#[test]
fn the_server_is_observed_on_its_own_host() {
    on_hosts(|network| {
        decide_watched(|| {
            for more in [&[][..], &["--client", CLIENTS]] {
                let load = ["run", Network::TARGET, "-R", "500", "-c", "64", "-d", "3s", "--warmup", "1s", "--json"];
                let there = ["--server-host", "ssh://t"];
                let record = network.plimsoll("known", &[&load[..], &there, more].concat()).run().measured().json();
                let observed = &record["observed"];
                assert_eq!(observed["server"]["processes"][0]["name"], "plimsoll", "{:#}", observed["unavailable"]);
                assert!(number(observed, "server.cpu_ns_per_request") > 1_000.0, "{:#}", observed["server"]);
                assert!(count(observed, "sockets.server.established") >= 1, "{:#}", observed["sockets"]);
                let seen = observed["seconds"].as_array().map_or(0, Vec::len);
                assert!((2..=4).contains(&seen), "{seen} of 3 s");
                let host = &record["environment"]["server_host"];
                assert_eq!(host["name"], "ssh://t", "{host:#}");
                assert!(count(host, "clock_error_ns") < 5_000_000, "{host:#}");
                assert!(record["client_machine"].is_object(), "the load is elsewhere");
                network.is_clean();
            }
        });
    });
}

/// Rules on the client passed by what was seen of the server's machine, and were unchecked later; and the server was said to be
/// unseen for a flag that nobody had written.
#[test]
fn rules_on_clients_look_at_the_machines_of_the_agents_wherever_the_server_is() {
    on_hosts(|network| {
        let run = |url: &str| -> Value {
            let load = ["run", url, "--client", CLIENTS, "-c", "8", "-d", "2s", "--warmup", "0s", "--json"];
            network.plimsoll("known", &load).run().measured().json()
        };
        let (here, elsewhere) = (run(Network::OWN_TARGET), run(Network::TARGET));
        assert_eq!(here["observed"]["server"]["processes"][0]["name"], "plimsoll", "{:#}", here["observed"]);
        let why = &here["client_machine"]["unavailable"]["generator"];
        assert!(why.as_str().is_some_and(|why| why.contains("agents on other machines")), "{why}");
        for record in [&here, &elsewhere] {
            let unchecked = record["verdict"]["unchecked_why"].as_object().expect("rules");
            assert!(unchecked.contains_key("PH-03"), "the speed of their links is not known: {unchecked:#?}");
            for rule in ["CL-08", "CL-09", "CL-11", "CL-16"] {
                assert!(!unchecked.contains_key(rule), "{rule}: {unchecked:#?}");
            }
            for agent in record["agents"].as_array().expect("agents") {
                assert!(number(agent, "machine.machine.busy_mean") > 0.0, "{agent:#}");
                assert!(number(agent, "machine.generator.cpu_cores") > 0.0, "{agent:#}");
            }
            assert!(!unchecked.values().any(|why| why.to_string().contains("--no-observe")), "{unchecked:#?}");
        }
        let unseen = &elsewhere["verdict"]["unchecked_why"]["EN-01"];
        assert!(unseen.as_str().is_some_and(|why| why.contains("--server-host")), "{unseen}");
        network.is_clean();
    });
}

#[test]
fn a_killed_agent_of_the_server_or_its_ssh_ends_the_load_and_leaves_nothing() {
    on_hosts(|network| {
        for is_ssh in [false, true] {
            let load = ["run", Network::TARGET, "--server-host", "ssh://t", "-c", "8", "-d", "20s", "--json"];
            let started = network.plimsoll("known", &load).start();
            started.wait_for_events("observed", 3);
            Network::kill(&if is_ssh { network.connections("t") } else { network.agents("t") });
            let ended = started.end();
            network.is_clean();
            let record = ended.exits(4).json();
            assert_eq!(record["interrupted"], true);
            assert!(ended.stderr.contains("agent ssh://t was lost"), "{ended:#?}");
        }
    });
}
