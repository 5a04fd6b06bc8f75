//! `--server`: who the server is where the port of the target does not tell.

use crate::support::{Target, close_to, count, decide_watched, number, plimsoll, serve, text};
use model::NS_PER_S;
use serde_json::Value;
use stack::Spec;

const SHORT: [&str; 7] = ["-c", "2", "-d", "1200ms", "--warmup", "0s", "--json"];

/// CPU time of a process; s.
#[track_caller]
pub(crate) fn cpu_s(pid: i32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    fields[11..=12].iter().map(|field| field.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}

/// Names of the processes of the server.
fn names(record: &Value) -> Vec<&str> {
    let processes = record["observed"]["server"]["processes"].as_array().map_or(&[][..], Vec::as_slice);
    processes.iter().map(|process| text(process, "name")).collect()
}

#[test]
fn a_server_behind_a_proxy_is_the_server_when_it_is_chosen() {
    decide_watched(|| {
        let proxy = serve(&Spec::parse("haproxy backend=target").expect("known"));
        let (_, behind) = proxy.processes().find(|(name, _)| *name != "haproxy").expect("it has a server behind it");
        let url = proxy.url().expect("HTTP").trim_end_matches('/').to_owned() + "/cpu?us=1000";
        let run = |args: &[&str]| plimsoll(["run", &url].iter().chain(&SHORT).chain(args)).run().json();
        assert_eq!(names(&run(&[])), ["haproxy"], "by its port");

        let (pid, before_s) = (format!("pid:{behind}"), cpu_s(behind));
        let record = run(&["--server", &pid, "--observe", "name:haproxy"]);
        let burnt_s = cpu_s(behind) - before_s;
        assert_eq!(names(&record), ["plimsoll"]);
        let measured_s = number(&record, "measured_ns") / NS_PER_S as f64;
        close_to(
            number(&record, "observed.server.cpu_cores") * measured_s,
            burnt_s,
            0.1,
            "CPU time of the chosen server",
        );
        assert!(
            number(&record, "observed.server.cpu_ns_per_request") > 0.9e6,
            "each burns 1 ms: {:#}",
            record["observed"]["server"]
        );
        // The proxy is beside it, and the sockets are still those of the target's port.
        assert_eq!(text(&record["observed"]["companions"]["haproxy"]["processes"][0], "name"), "haproxy");
        assert!(count(&record, "observed.sockets.client.established") >= 2, "{:#}", record["observed"]["sockets"]);
    });
}

#[test]
fn every_point_of_a_sweep_has_the_chosen_server() {
    decide_watched(|| {
        let (target, beside) = (Target::start(&["--workers", "1"]), Target::start(&["--workers", "1"]));
        let server = beside.pid().to_string();
        let args =
            ["sweep", &target.url("/cpu?us=500"), "--server", &server, "--to", "2", "--iterations", "1", "-d", "500ms"];
        let ended = plimsoll(args.iter().chain(&["--points", "2", "--warmup", "0s", "--json"])).run();
        for point in ended.json()["points"].as_array().expect("points") {
            // It has nothing to do: the load is on the other.
            assert!(number(point, "observed.server.cpu_cores") < 0.1, "{:#}", point["observed"]["server"]);
            assert!(number(point, "observed.machine.busy_mean") > 0.1, "{:#}", point["observed"]["machine"]);
        }
    });
}

#[test]
fn a_server_that_ends_meanwhile_is_told_and_the_run_goes_on() {
    let target = Target::start(&["--workers", "1"]);
    let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
    let server = child.id().to_string();
    let load = ["-c", "2", "-d", "3s", "--warmup", "0s", "--json"];
    let started = plimsoll(["run", &target.url("/"), "--server", &server].iter().chain(&load)).start();
    started.wait_for_events("connected", 1);
    child.kill().and_then(|()| child.wait()).expect("our own child");
    let record = started.end().json();
    assert!(count(&record, "requests.good") > 0);
    assert!(text(&record, "observed.unavailable.server").contains(&server), "{:#}", record["observed"]["unavailable"]);
}

#[test]
fn what_cannot_be_the_server_is_refused_before_anything_is_measured() {
    let run = |args: &[&str]| plimsoll(["run"].iter().chain(args)).run();
    run(&["http://127.0.0.1:1/", "--server", "pid:0"]).fails(2, &["--server", "pid:0"]);
    run(&["http://127.0.0.1:1/", "--server", "5000000"]).fails(3, &["--server", "5000000", "no process"]);
    run(&["http://127.0.0.1:1/", "--server", "cgroup:/no/such"]).fails(3, &["--server", "/no/such"]);
    run(&["--server", "1"]).fails(2, &["--server needs a URL"]);
    run(&["--serve", "nginx", "--server", "1"]).fails(2, &["--serve", "--server"]);
}
