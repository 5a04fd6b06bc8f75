//! Figures against what is known: the target's own counters, arithmetic, and the bytes that must have passed.

use crate::support::{BrokenServer, Findings, Target, close_to, count, decide, number, plimsoll, text};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// The probe fetches three times, each on its own connection, after one that only looks whether anybody listens.
const PROBE_REQUESTS: u64 = 3;
const PROBE_CONNECTIONS: u64 = 4;
/// The target's head for a body of 1,024 bytes; its lines may come in any order.
const HEAD_OF_1KIB: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\nContent-Type: application/octet-stream\r\n\
    Connection: keep-alive\r\n\r\n";

/// The record of `plimsoll run URL ARGS --json` without warm-up: short, so not valid.
#[track_caller]
fn run(url: &str, args: &[&str]) -> Value {
    plimsoll(["run", url, "--warmup", "0s", "--json"].iter().chain(args)).run().measured().json()
}

#[test]
fn every_request_of_a_counted_run_reaches_the_server_once() {
    for threads in ["1", "2"] {
        let target = Target::start(&[]);
        let record = run(&target.url("/bytes/64"), &["-n", "1000", "-c", "8", "-t", threads]);
        for name in ["planned", "sent", "completed", "good"] {
            assert_eq!(count(&record, &format!("requests.{name}")), 1000, "{name}, {threads} threads");
        }
        assert_eq!(count(&record, "requests.status.200"), 1000);
        assert_eq!(target.seen(), (PROBE_CONNECTIONS + 8, PROBE_REQUESTS + 1000), "{threads} threads");
    }
}

#[test]
fn connections_are_as_many_as_asked_for_whatever_the_threads() {
    let target = Target::start(&[]);
    let record = run(&target.url("/bytes/64"), &["-d", "300ms", "-c", "7", "-t", "2"]);
    assert_eq!(count(&record, "connections.requested"), 7);
    assert_eq!(count(&record, "connections.established"), 7);
    assert_eq!(count(&record, "connections.opened"), 7);
    assert_eq!(count(&record, "connections.reconnects"), 0);
    assert_eq!(target.seen().0, PROBE_CONNECTIONS + 7);
}

#[test]
fn without_keepalive_every_request_has_its_own_connection() {
    let target = Target::start(&[]);
    let record = run(&target.url("/bytes/64"), &["-n", "200", "-c", "4", "--no-keepalive"]);
    assert_eq!(count(&record, "requests.good"), 200);
    assert_eq!(count(&record, "connections.opened"), 200);
    assert_eq!(target.seen(), (PROBE_CONNECTIONS + 200, PROBE_REQUESTS + 200));
}

#[test]
fn errors_are_counted_and_never_goodput() {
    let target = Target::start(&["--error-share", "0.1"]);
    let record = run(&target.url("/bytes/64"), &["-n", "5000", "-c", "4"]);
    let failed = count(&record, "requests.failures.contract.status");
    assert_eq!(failed, count(&record, "requests.status.500"));
    close_to(failed as f64, 500.0, 0.01, "failed requests");
    assert_eq!(count(&record, "requests.good") + failed, 5000);
    let (state, message) = Findings(&record).of("ER-01");
    assert_eq!(state, "invalid");
    assert!(message.contains("contract.status") && message.contains("500"), "{message}");
    assert!(number(&record, "goodput_per_s.value") < 0.91 * number(&record, "throughput_per_s"));
}

#[test]
fn bytes_are_those_that_passed() {
    let target = Target::start(&[]);
    let url = target.url("/bytes/1KiB");
    let record = run(&url, &["-n", "2000", "-c", "4"]);
    let response = HEAD_OF_1KIB.len() as u64 + 1024;
    assert_eq!(count(&record, "bytes.received"), 2000 * response, "is the head still {HEAD_OF_1KIB:?}?");
    let authority = url.strip_prefix("http://").unwrap().strip_suffix("/bytes/1KiB").unwrap();
    let sent = count(&record, "bytes.sent");
    assert_eq!(sent % 2000, 0);
    let request = format!("GET /bytes/1KiB HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    assert!(sent / 2000 >= request.len() as u64 && sent / 2000 < request.len() as u64 + 100, "{sent} bytes");
}

#[test]
fn pool_limits_goodput_and_obeys_littles_law() {
    let target = Target::start(&["--pool", "5", "--pool-time", "5ms"]);
    let url = target.url("/pool");
    decide(
        || run(&url, &["-d", "2s", "-c", "20"]),
        |record| {
            let goodput = number(record, "goodput_per_s.value");
            let response_s = number(record, "latency_ns.response.mean") / 1e9;
            close_to(goodput * response_s, 20.0, 0.05, "rate x response time of 20 connections");
            close_to(goodput, 1000.0, 0.05, "goodput of 5 workers at 5 ms");
            Findings(record).invalid_only_by(&["LD-04"]);
        },
    );
}

#[test]
fn head_requests_expect_no_body() {
    let target = Target::start(&[]);
    let record = run(&target.url("/bytes/1KiB"), &["-n", "500", "-c", "2", "-m", "HEAD"]);
    assert_eq!(count(&record, "requests.good"), 500);
    assert_eq!(count(&record, "bytes.received"), 500 * HEAD_OF_1KIB.len() as u64);
}

#[test]
fn declared_size_decides_what_is_good() {
    let target = Target::start(&[]);
    let record = run(&target.url("/bytes/64"), &["-n", "100", "-c", "1", "--expect", "status=200,size=65..70"]);
    assert_eq!(count(&record, "requests.completed"), 100);
    assert_eq!(count(&record, "requests.good"), 0);
    assert_eq!(count(&record, "requests.failures.contract.size"), 100);
    assert_eq!(number(&record, "goodput_per_s.value"), 0.0);
}

#[test]
fn body_from_a_file_arrives_whole() {
    let got = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&got);
    let server = BrokenServer::start(move |peer| {
        while let Some(request) = peer.request() {
            heard.lock().unwrap().push(request);
            peer.send(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let url = server.url("/save?as=new");
    let args = ["run", &url, "-m", "post", "-b", "@form", "-H", "X-Mark: seen", "-H", "Authorization: Bearer s3cret"];
    let args = args.iter().chain(&["-n", "20", "-c", "2", "--warmup", "0s", "--json"]);
    let body = "name=value&more=\u{e9}\r\n\r\nend";
    let ended = plimsoll(args).with_file("form", body.as_bytes()).run();
    let record = ended.measured().json();
    assert_eq!(count(&record, "requests.status.201"), 20);
    let got = got.lock().unwrap();
    assert_eq!(got.len() as u64, PROBE_REQUESTS + 20);
    for request in got.iter() {
        let (head, content) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /save?as=new HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nX-Mark: seen") && head.contains("\r\nAuthorization: Bearer s3cret"), "{head}");
        assert_eq!(content, body);
    }
    // What was sent as a secret stays one.
    for kept in [&ended.stdout, &ended.recorded("run.json"), &ended.recorded("events.jsonl")] {
        assert!(kept.contains("X-Mark") && !kept.contains("s3cret"), "{kept}");
    }
}

#[test]
fn uploads_are_counted_by_the_target() {
    let target = Target::start(&[]);
    let body = "x".repeat(1000);
    let record = run(&target.url("/upload"), &["-n", "300", "-c", "3", "-m", "PUT", "-b", &body]);
    assert_eq!(count(&record, "requests.good"), 300);
    let received = target.sum("body_bytes");
    assert_eq!(received, (PROBE_REQUESTS + 300) * 1000);
}

#[test]
fn a_redirect_is_refused_before_the_load_unless_it_is_declared() {
    let target = Target::start(&["--redirect", "/elsewhere"]);
    let elsewhere = target.url("/elsewhere");
    let refused = plimsoll(["run", &target.url("/"), "-n", "200", "-c", "2"]).run();
    refused.fails(3, &["answers 302", &format!("{elsewhere}: measure that URL"), "--expect status=302"]);
    let record = run(&target.url("/"), &["-n", "200", "-c", "2", "--expect", "status=302"]);
    assert_eq!(count(&record, "requests.good"), 200);
}

#[test]
fn valid_verdict_exits_with_0() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    let ended = plimsoll(["run", &url, "-c", "5", "-d", "5s", "--warmup", "0s", "--json"]).run();
    let record = ended.json();
    Findings(&record).invalid_only_by(&[]);
    // Only what else runs on this machine can have spoilt it.
    let is_spoilt = record["verdict"]["findings"].as_array().expect("a list").iter().any(|f| f["state"] == "invalid");
    ended.exits(if is_spoilt { 4 } else { 0 });
    assert_eq!(text(&record, "verdict.state"), if is_spoilt { "invalid" } else { "bound" });
    assert_eq!(Findings(&record).of("LD-04").0, "bound");
}
