//! Faults whose numbers are known, put into a server, a load or a connection: what is counted of each, and how it is said.

use crate::failing_servers::accounted;
use crate::support::{BrokenServer, Ended, Findings, Target, close_to, count, decide_watched, number, plimsoll};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The probe fetches three times, each on its own connection, after one that only looks whether anybody listens.
const PROBE_CONNECTIONS: usize = 4;

/// True if a rule was looked at and had nothing to say.
#[track_caller]
fn passed(record: &Value, rule: &str) {
    Findings(record).is_silent(rule);
    let unchecked = record["verdict"]["unchecked"].as_array().expect("a list");
    assert!(unchecked.iter().all(|id| id != rule), "{rule} is among {unchecked:?}");
}

/// The record of a short run without warm-up.
#[track_caller]
fn run(args: &[&str]) -> Value {
    plimsoll(["run", "--warmup", "0s", "--json", "-q"].iter().chain(args)).run().json()
}

#[test]
fn connections_that_the_server_closes_are_not_kept_ones() {
    let server = BrokenServer::saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    let record = run(&[&server.url("/"), "-n", "200", "-c", "2"]);
    let (state, message) = Findings(&record).of("ER-09");
    assert_eq!(state, "warning");
    assert!(message.starts_with("the server closed connections, as announced to the probe: "), "{message}");
    let declared = run(&[&server.url("/"), "-n", "200", "-c", "2", "--no-keepalive"]);
    Findings(&declared).is_silent("ER-09");
}

#[test]
fn a_rate_above_the_capacity_makes_a_backlog_and_fills_the_connections() {
    decide_watched(|| {
        let target = Target::start(&["--pool", "2", "--pool-time", "10ms"]);
        let load = ["-R", "300", "-c", "32", "-d", "9s", "--timeout", "10s", "--arrivals", "constant"];
        let record = run(&[&[&target.url("/pool") as &str][..], &load].concat());
        let (state, message) = Findings(&record).of("ST-02");
        assert_eq!(state, "invalid");
        // 100 of 300 requests find no worker.
        let growth = record["verdict"]["findings"].as_array().expect("a list").iter().find(|f| f["rule"] == "ST-02");
        close_to(number(&growth.expect("it fired")["evidence"], "growth_per_s"), 100.0, 0.1, message);
        assert_eq!(Findings(&record).of("CL-15").0, "bound");
        // On one machine, and which CPUs either may use is known.
        Findings(&record).of("LD-08");
        assert!(number(&record, "seconds.8.late_ns") > number(&record, "seconds.2.late_ns"), "{:#}", record["seconds"]);
    });
}

#[test]
fn nginx_counts_what_the_client_counts() {
    decide_watched(|| {
        let record = run(&["--serve", "nginx workers=1", "-c", "8", "-d", "3s"]);
        let counted = &record["status"][0]["requests"];
        let (client, server) = (number(counted, "client"), number(counted, "server"));
        // Pages are slow to come on a busy machine, and what was answered meanwhile may be on either side.
        assert!((client - server).abs() <= 0.05 * server + number(counted, "unclear"), "{counted:#}");
        // Three looks, or two where the last is answered when the window is over.
        assert!(number(counted, "span_ns") > 0.9e9, "{counted:#}");
        Findings(&record).is_silent("ER-07");
        Findings(&record).is_silent("ER-12");
    });
}

#[test]
fn three_findings_are_shown_and_the_rest_on_demand() {
    decide_watched(|| {
        let target = Target::start(&["--error-share", "0.1"]);
        let url = target.url("/bytes/64");
        let text = |more: &[&str]| {
            let args = ["run", &url, "-n", "2000", "-c", "4", "--warmup", "0s", "-q"];
            plimsoll(args.iter().chain(more)).run().measured().stdout.clone()
        };
        let short = text(&[]);
        assert!(short.starts_with("INVALID ") && short.contains("(-v lists all)"), "{short}");
        let findings = |text: &str| text.lines().filter(|line| line.contains("-> ")).count();
        assert!(findings(&short) <= 3 && !short.contains("LD-07"), "{short}");
        let long = text(&["-v"]);
        assert!(findings(&long) > 3 && long.contains("NOTE    LD-07  one URL"), "{long}");
    });
}

#[test]
fn answers_that_never_come_are_failures_and_lower_bounds_of_latency() {
    decide_watched(|| {
        let requests = Arc::new(AtomicU64::new(0));
        let server = BrokenServer::start(move |peer| {
            while peer.request().is_some() {
                if requests.fetch_add(1, Ordering::Relaxed) % 100 == 99 {
                    return peer.hold();
                }
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            }
        });
        let args = ["run", &server.url("/"), "-n", "1000", "-c", "4", "--timeout", "200ms", "--warmup", "0s", "--json"];
        let ended = plimsoll(args).run();
        let record = ended.measured().json();
        // The three requests of the probe come first; numbers 99, 199, ... 999 follow.
        assert_eq!(count(&record, "requests.failures.first_byte.timeout"), 10);
        assert_eq!(count(&record, "requests.censored"), 10);
        assert_eq!(count(&record, "requests.good"), 990);
        assert_eq!(count(&record, "latency_ns.response.n"), 1000);
        assert!(number(&record, "latency_ns.response.max") >= 199e6, "{:#}", record["latency_ns"]);
        accounted(&record);
        assert!(ended.took < Duration::from_secs(15), "{ended:#?}");
    });
}

/// A published mistake: 22 bytes were measured where 2,048 were asked for. Here a body is as large as it should be only while
/// the probe looks.
#[test]
fn twenty_two_bytes_called_2048_are_caught() {
    let run = |expect: &str| -> Ended {
        let server = BrokenServer::start(|peer| {
            let size = if peer.index < PROBE_CONNECTIONS { 2048 } else { 22 };
            let head = format!("HTTP/1.1 200 OK\r\nX-Cache: HIT\r\nContent-Length: {size}\r\n\r\n");
            let answer = head + &"x".repeat(size);
            while peer.request().is_some() && peer.send(answer.as_bytes()) {}
        });
        let url = server.url("/urandom?size=2048");
        plimsoll(["run", &url, "-d", "900ms", "-c", "4", "--warmup", "0s", "--expect", expect, "--json", "-q"]).run()
    };
    // Its window is shorter than some bursts of others.
    decide_watched(|| {
        let record = run("size=2048").exits(4).json();
        let (state, message) = Findings(&record).of("ER-03");
        assert_eq!((state, message.contains("2,048")), ("invalid", true), "{message}");
        assert_eq!(Findings(&record).of("LD-04").0, "invalid");
        assert_eq!(number(&record, "goodput_per_s.value"), 0.0);
        assert!(number(&record, "throughput_per_s") > 0.0);
        // Where any size is good, only the probe knows better; and whatever else is wrong, rate and time agree.
        let record = run("size=1..4096").exits(4).json();
        assert_eq!(count(&record, "requests.good"), count(&record, "requests.completed"));
        let (state, message) = Findings(&record).of("ER-06");
        assert_eq!(state, "invalid");
        assert!(message.ends_with("under load the server sends something smaller"), "{message}");
        passed(&record, "PH-01");
    });
}
