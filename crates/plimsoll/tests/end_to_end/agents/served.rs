//! A server that an agent starts on its machine, which is this one here, at an address of its own.

use super::{Hosts, SOON};
use crate::support::{Ended, Program, count, number, plimsoll, text, wait_for};
use rustix::process::{Signal, kill_process};
use std::collections::BTreeSet;
use std::net::TcpStream;

const THERE: [&str; 4] = ["--server-host", "ssh://s", "--server-ip", "127.0.0.2"];

/// A verb that measures what the agent `s` starts.
fn served(hosts: &Hosts, verb: &str, server: &str, more: &[&str]) -> Program {
    hosts.reached(verb, &format!("--serve={server}"), &[&THERE, more].concat())
}

/// Ports of the servers, by what was recorded of them.
fn ports(events: &str) -> BTreeSet<u16> {
    let port = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let all: BTreeSet<u16> = events.split("127.0.0.2:").skip(1).filter_map(port).collect();
    assert!(!all.is_empty(), "no server was recorded");
    all
}

/// Nobody listens there any more, and no agent runs.
#[track_caller]
fn is_over(hosts: &Hosts, events: &str) {
    hosts.is_gone("s");
    for port in ports(events) {
        let over = wait_for(SOON, || TcpStream::connect(("127.0.0.2", port)).is_err().then_some(()));
        assert!(over.is_some(), "somebody still listens on port {port}");
    }
}

#[test]
fn a_server_is_started_observed_and_ended_by_agents_on_its_machine() {
    let hosts = Hosts::new();
    let load = ["-c", "4", "-d", "2s", "--warmup", "200ms"];
    let ended = served(&hosts, "run", "target path=/cpu?us=500", &load).run();
    let record = ended.json();
    is_over(&hosts, &ended.recorded("events.jsonl"));
    assert!(text(&record, "plan.target.url").starts_with("http://127.0.0.2:"), "{record:#}");
    let environment = &record["environment"];
    assert_eq!(text(environment, "served.label"), "target path=/cpu?us=500");
    assert_eq!(text(environment, "served.program_sha256").len(), 64);
    assert_eq!(text(environment, "server_host.name"), "ssh://s");
    assert!(number(&record, "observed.server.cpu_ns_per_request") > 0.0, "{:#}", record["observed"]);
    assert_eq!(hosts.starts("s"), 2, "one has the server, one observes it");
}

#[test]
fn a_server_is_restarted_before_each_load_of_a_sweep_and_seen_each_time() {
    let hosts = Hosts::new();
    let loads = ["--restart", "--to", "4", "--points", "2", "--iterations", "1", "-d", "1s", "--warmup", "200ms"];
    let ended = served(&hosts, "sweep", "target path=/cpu?us=500", &loads).run();
    let record = ended.json();
    is_over(&hosts, &ended.recorded("events.jsonl"));
    let points = record["points"].as_array().expect("points");
    assert!(points.len() >= 2, "{record:#}");
    for point in points {
        assert!(number(point, "observed.server.cpu_ns_per_request") > 0.0, "{:#}", point["observed"]);
    }
    assert_eq!(hosts.starts("s"), 2, "the agents stay");
}

#[test]
fn two_servers_are_compared_where_they_run_and_both_end() {
    let hosts = Hosts::new();
    let both = ["--serve", "target pool=1 pool-time=20ms", "--name", "two", "--name", "one"];
    let loads = ["--only", "saturated", "--blocks", "1", "-c", "4", "-d", "1s", "--warmup", "200ms", "--margin", "10%"];
    let ended = served(&hosts, "compare", "target pool=2 pool-time=20ms", &[&both[..], &loads].concat()).run();
    let record = ended.json();
    is_over(&hosts, &ended.recorded("events.jsonl"));
    let goodput = &record["metrics"][0];
    assert_eq!((text(goodput, "metric"), text(goodput, "arm")), ("goodput_per_s", "one"), "{record:#}");
    let ratio = number(goodput, "ratio.value");
    // Where others run beside this test, each of the 20 ms takes a little longer.
    assert!((0.35..0.75).contains(&ratio), "half of the workers: {ratio}");
}

/// Does something to a load of 15 s on a server that an agent has started. Its warm-up has a length of its own: beside other
/// programs it would last until what is done.
fn disturbed(code: Option<i32>, act: impl FnOnce(&Hosts, &crate::support::Started)) -> Ended {
    let hosts = Hosts::new();
    let started =
        served(&hosts, "run", "target path=/sleep?time=5ms", &["-c", "4", "-d", "15s", "--warmup", "1s"]).start();
    started.wait_for_events("observed", 3);
    act(&hosts, &started);
    let ended = started.end();
    is_over(&hosts, &ended.recorded("events.jsonl"));
    assert_eq!(ended.status.code(), code, "{ended:#?}");
    ended
}

#[test]
fn a_server_whose_agent_is_killed_ends_and_is_told_to_be_lost() {
    let ended = disturbed(Some(3), |hosts, _| {
        // The first that was started has the server; its shell stays, to tell how it ended.
        let shell = hosts.numbers("s").lines().next().map(str::to_owned).expect("a number");
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).expect("it runs");
        let agent = children.trim().parse().expect("one child");
        kill_process(rustix::process::Pid::from_raw(agent).expect("above 0"), Signal::KILL).expect("it runs");
    });
    assert!(ended.stderr.contains("agent ssh://s was lost"), "{ended:#?}");
    let record = ended.json();
    assert!(count(&record, "requests.good") > 10, "what was measured is kept: {:#}", record["requests"]);
}

#[test]
fn no_server_is_left_when_its_coordinator_is_interrupted_or_killed() {
    let interrupted = disturbed(Some(130), |_, started| started.signal(Signal::INT));
    assert_eq!(interrupted.json()["interrupted"], true);
    disturbed(None, |_, started| started.signal(Signal::KILL));
}

#[test]
fn what_cannot_be_started_there_is_one_line() {
    let hosts = Hosts::new();
    let load = ["-c", "4", "-d", "1s"];
    let fails = |server: &str, code: i32, named: &[&str]| {
        served(&hosts, "run", server, &load).run().fails(code, named);
    };
    fails("target cpus=900", 2, &["agent ssh://s", "CPU 900 cannot be used"]);
    fails("command -- /no/such/server", 2, &["agent ssh://s", "/no/such/server"]);
    fails("command -- sleep 1", 3, &["agent ssh://s", "sleep"]);
    fails("redis", 2, &["speaks neither HTTP nor FastCGI"]);
    hosts.is_gone("s");
    for (server, named) in [
        ("@nginx.toml", "the file is of this machine"),
        ("target build=make", "build= is for this machine"),
        ("target address=10.0.0.1", "leave out address="),
        ("nginx wrokers=2", "no setting wrokers"),
    ] {
        plimsoll(["run", "--serve", server].iter().chain(&THERE)).run().fails(2, &[named]);
    }
    let here = ["run", "--serve", "target"];
    for (more, named) in [
        (&THERE[..2], "needs --server-ip"),
        (&["--server-host", "ssh://s", "--server-ip", "::1"], "IPv4"),
        (&THERE[2..], "--serve with --server-ip needs --server-host"),
        (&["--client", "ssh://a"], "--serve with --client needs --server-host"),
    ] {
        plimsoll(here.iter().chain(more)).run().fails(2, &[named]);
    }
}
