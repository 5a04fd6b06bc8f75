//! Bandwidth between the machines of a load and that of its server, over links that the kernel limits.

use super::Hosts;
use super::hosts::{CLIENTS, on_hosts};
use super::network::Network;
use crate::support::{Ended, Target, count, decide_watched, number, plimsoll, text};
use serde_json::Value;

const PROBED: [&str; 3] = ["--server-host", "ssh://t", "--probe-bandwidth"];

/// The host sends no faster. Its queue holds what waits for 400 ms: a probe of a second over a queue that is soon full and drops
/// carries less than the link, once in some ten.
fn limit(network: &Network, host: &str, mbit: u32) {
    network.inside(host, &format!("tc qdisc add dev veth0 root tbf rate {mbit}mbit burst 32kb latency 400ms"));
}

/// Responses of 20 kB: those of 8 connections find room in front of a slow link.
fn run(network: &Network, more: &[&str]) -> Ended {
    let load = ["run", "http://10.77.0.20/bytes/20k", "--warmup", "500ms", "--json"];
    let ended = network.plimsoll("known", &[&load, &PROBED[..], more].concat()).run();
    network.is_clean();
    ended
}

/// A finding of the rule about full links.
fn full(record: &Value) -> Option<&str> {
    let findings = record["verdict"]["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["rule"] == "PH-03").map(|finding| text(finding, "message"))
}

#[test]
fn a_link_that_the_load_fills_is_named_with_the_cpus_of_the_server_and_one_with_room_is_not() {
    on_hosts(|network| {
        // Copies of the program come before the links are slow.
        let clients = ["--client", CLIENTS, "-R", "50", "-c", "4", "-d", "1s"];
        has_room(&run(network, &clients).json());
        limit(network, "t", 40);
        limit(network, "c", 10);
        decide_watched(|| {
            let from = filled(network);
            // Both clients at the same time have the same link, and this load does not fill it.
            let both = run(network, &clients).json();
            let bandwidth = &both["environment"]["bandwidth"];
            assert_eq!((count(bandwidth, "clients"), count(bandwidth, "connections")), (2, 8));
            let shared = number(bandwidth, "from_server.bit_per_s") / from;
            assert!((0.75..1.25).contains(&shared), "{shared} of one client: {bandwidth:#}");
        });
    });
}

/// A load that fills the link from the server; what that was probed to carry.
#[track_caller]
fn filled(network: &Network) -> f64 {
    let ended = run(network, &["-c", "8", "-d", "2s"]);
    let record = ended.json();
    let bandwidth = &record["environment"]["bandwidth"];
    let [to, from] = ["to_server", "from_server"].map(|way| number(bandwidth, &format!("{way}.bit_per_s")));
    // Each way has its own limit.
    assert!(from / to > 2.5, "{bandwidth:#}");
    assert!(count(bandwidth, "from_server.bytes") <= 64 << 20 && count(bandwidth, "round_trip_ns") > 0);
    assert_eq!((text(bandwidth, "interface"), count(bandwidth, "mtu_bytes")), ("veth0", 1500));
    let limiter = &record["limiter"];
    assert_eq!(limiter["name"], "network-limited", "{limiter:#}, {bandwidth:#}, {:#}", record["goodput_per_s"]);
    assert_eq!(text(limiter, "resource"), "path from the server", "{limiter:#}, {bandwidth:#}");
    assert!(text(limiter, "says").ends_with("% server CPU"), "{limiter:#}");
    let message = full(&record).unwrap_or_else(|| panic!("{:#}", record["verdict"]));
    assert!(message.contains("that were probed before at") && message.contains("server CPU"), "{message}");
    from
}

/// The link was judged, and nothing is said of it.
#[track_caller]
fn has_room(record: &Value) {
    let unchecked = record["verdict"]["unchecked"].as_array().expect("a list");
    assert!(full(record).is_none() && !unchecked.iter().any(|rule| rule == "PH-03"), "{:#}", record["verdict"]);
    assert_ne!(record["limiter"]["name"], "network-limited");
}

#[test]
fn a_port_that_a_firewall_forbids_is_a_note_and_no_error() {
    on_hosts(|network| {
        network.inside("c", "ip rule add priority 100 ipproto tcp dport 1024-65534 prohibit");
        let ended = run(network, &["-R", "50", "-c", "4", "-d", "1s"]);
        let record = ended.json();
        let why = text(&record, "environment.bandwidth.unavailable");
        assert!(why.contains("cannot connect to 10.77.0.20:") && why.contains("firewall"), "{why}");
        assert!(ended.stderr.contains("note: the bandwidth could not be probed"), "{}", ended.stderr);
        assert!(record["environment"]["bandwidth"]["to_server"].is_null() && count(&record, "requests.good") > 20);
    });
}

#[test]
fn all_loads_of_a_measurement_have_the_bandwidth_that_was_probed_once() {
    let (target, hosts) = (Target::start(&[]), Hosts::new());
    let probed = ["--server-host", "ssh://s", "--probe-bandwidth"];
    let loads = ["--to", "2", "--points", "2", "--iterations", "1", "-d", "500ms", "--warmup", "0s"];
    let ended = hosts.reached("sweep", &target.url("/bytes/10"), &[&probed[..], &loads].concat()).run();
    hosts.is_gone("s");
    let record = ended.json();
    let bandwidth = &record["environment"]["bandwidth"];
    assert_eq!((text(bandwidth, "address"), text(bandwidth, "interface")), ("127.0.0.1", "lo"));
    for way in ["to_server", "from_server"] {
        // A piece of each connection may be on its way when the bytes are used up.
        assert!(count(bandwidth, &format!("{way}.bytes")) <= (64 << 20) + 8 * (64 << 10), "{bandwidth:#}");
    }
}

#[test]
fn a_bandwidth_is_probed_to_a_machine_with_an_agent_only() {
    let ended = plimsoll(["run", "http://192.0.2.1/", "--probe-bandwidth"]).run();
    assert!(ended.exits(2).stderr.contains("--server-host"), "{ended:#?}");
}
