//! Servers that pass the probe and fail under load: the run ends in time and accounts for every request.

use crate::support::{BrokenServer, Findings, Peer, Target, count, plimsoll};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const PROBE_CONNECTIONS: usize = 4;

fn answer(peer: &mut Peer) {
    while peer.request().is_some() && peer.send(HELLO) {}
}

/// Every planned request has exactly one end.
#[track_caller]
pub(crate) fn accounted(record: &Value) {
    let failures = record["requests"]["failures"].as_object().expect("a map");
    let failed: u64 = failures.values().map(|n| n.as_u64().expect("a number")).sum();
    assert_eq!(count(record, "requests.planned"), count(record, "requests.good") + failed, "{:#}", record["requests"]);
}

#[test]
fn server_that_dies_ends_no_run_before_its_time() {
    // Slow enough that what fails later is a share that counts: retries are paced by a pause of their own.
    let mut server = BrokenServer::start(|peer| {
        while peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(5));
            peer.send(HELLO);
        }
    });
    let started = plimsoll(["run", &server.url("/"), "-c", "4", "-d", "3s", "--warmup", "0s", "--json"]).start();
    started.wait_for_events("tick", 1);
    server.die();
    let ended = started.end();
    let record = ended.exits(4).json();
    assert_eq!(record["interrupted"], false);
    assert!(count(&record, "measured_ns") >= 3_000_000_000, "disturbed time may prolong it");
    assert!(count(&record, "requests.good") > 100);
    assert!(count(&record, "requests.failures.connect.refused") > 0);
    assert_eq!(Findings(&record).of("ER-01").0, "invalid");
    accounted(&record);
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

#[test]
fn server_that_is_gone_after_the_probe_is_named() {
    let server = BrokenServer::start_for(PROBE_CONNECTIONS, answer);
    let ended = plimsoll(["run", &server.url("/"), "-c", "3", "-d", "1s", "-q"]).run();
    ended.fails(3, &["none of 3 connections", "connect.refused"]);
}

#[test]
fn server_that_closes_now_and_then_is_no_failure() {
    let server = BrokenServer::start(|peer| {
        for _ in 0..9 {
            if peer.request().is_none() || !peer.send(HELLO) {
                return;
            }
        }
        if peer.request().is_some() {
            peer.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    let url = server.url("/");
    for load in [&["-n", "500", "-c", "2"][..], &["-R", "400", "-d", "1s", "-c", "20", "--arrivals", "constant"]] {
        let args = ["run", &url, "--warmup", "0s", "--json"];
        let record = plimsoll(args.iter().chain(load)).run().measured().json();
        let planned = count(&record, "requests.planned");
        assert!(planned >= 399, "{planned}");
        assert_eq!(count(&record, "requests.good"), planned, "{:#}", record["requests"]);
        assert!(count(&record, "connections.reconnects") >= planned / 10 - 20, "{:#}", record["connections"]);
    }
}

#[test]
fn server_that_closes_unannounced_is_accounted_for() {
    let server = BrokenServer::saying(HELLO);
    let args = ["run", &server.url("/"), "-n", "300", "-c", "3", "--warmup", "0s", "--json"];
    let record = plimsoll(args).run().measured().json();
    assert_eq!(count(&record, "requests.planned"), 300);
    assert!(count(&record, "requests.good") > 0);
    accounted(&record);
}

/// It made 20 to 100 % of the requests fail, by timing.
#[test]
fn a_body_after_head_is_named_with_what_to_measure_instead() {
    let server = BrokenServer::start(|peer| while peer.request().is_some() && peer.send(HELLO) {});
    let url = server.url("/");
    let record = plimsoll(["run", &url, "-m", "HEAD", "-n", "50", "-c", "2", "--warmup", "0s", "--json"]).run().json();
    let (state, message) = Findings(&record).of("ER-03");
    assert_eq!((state, message.contains("its response to HEAD (5 B or more)")), ("invalid", true), "{message}");
    let checked = plimsoll(["check", &url, "-m", "HEAD", "-c", "2"]).run();
    let words: Vec<&str> = checked.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("measure GET (-m GET)"), "{checked:#?}");
    assert!(!checked.stdout.contains("enable keep-alive"), "{checked:#?}");
}

/// A server that holds 32 connections made `-R 200 -d 3s` take 53 s without a line.
#[test]
fn connections_that_do_not_open_are_told_at_once_and_given_up_after_one_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    rustix::net::listen(&listener, 32).expect("a shorter queue");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let serving = std::thread::spawn(move || {
        for stream in listener.incoming().take(PROBE_CONNECTIONS) {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 1024];
            // The first connection of a probe only looks whether anybody listens.
            if stream.read(&mut request).is_ok_and(|n| n > 0) {
                stream.write_all(HELLO).expect("the client reads");
            }
        }
        listener
    });
    let args = ["run", &url, "-c", "256", "-d", "300ms", "--warmup", "0s", "--timeout", "3s", "--json"];
    let ended = plimsoll(args).run();
    drop(serving.join().expect("it has served the probe"));
    let record = ended.json();
    let open = count(&record, "connections.established");
    assert!((1..256).contains(&open), "{open}");
    let told =
        [format!("{open} of 256 connections open, waiting"), format!("use -c {open}, or raise the server's limit")];
    assert!(told.iter().all(|words| ended.stderr.contains(words)), "{}", ended.stderr);
    assert_eq!(Findings(&record).of("CL-06").0, "invalid");
}

#[test]
fn http_1_0_bodies_end_with_the_connection() {
    let server = BrokenServer::saying(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello until the end");
    let args = ["run", &server.url("/"), "-n", "200", "-c", "2", "--warmup", "0s", "--json"];
    let record = plimsoll(args).run().measured().json();
    assert_eq!(count(&record, "requests.good"), 200, "{:#}", record["requests"]);
    assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), 19);
    assert_eq!(count(&record, "connections.opened"), 200);
    accounted(&record);
}

#[test]
fn broken_bodies_under_load_are_counted_by_kind() {
    for (answer, kind) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"[..], "body.closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "body.malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "head.closed"),
        (b"", "first_byte.closed"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "first_byte.malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello!", "contract.size"),
    ] {
        let server = BrokenServer::start(move |peer| {
            let said = if peer.index < PROBE_CONNECTIONS { HELLO } else { answer };
            if peer.request().is_some() {
                peer.send(said);
            }
        });
        let args = ["run", &server.url("/"), "-n", "50", "-c", "2", "--warmup", "0s", "--json"];
        let record = plimsoll(args).run().exits(4).json();
        assert_eq!(count(&record, &format!("requests.failures.{kind}")), 50, "{kind}: {:#}", record["requests"]);
        assert_eq!(count(&record, "requests.good"), 0);
    }
}

#[test]
fn connections_closed_for_being_too_many_are_failures() {
    let target = Target::start(&["--max-connections", "2"]);
    let args = ["run", &target.url("/bytes/64"), "-c", "8", "-d", "1s", "--warmup", "0s", "--json"];
    let record = plimsoll(args).run().exits(4).json();
    assert!(count(&record, "requests.good") > 0);
    assert_eq!(Findings(&record).of("ER-01").0, "invalid");
    accounted(&record);
}
