//! What the result says was sent, held against a server that counts; and servers that reset connections.

use crate::support::{CountingServer, Findings, count, plimsoll};
use serde_json::Value;

/// Requests of a warm-up that nobody has asked for, where they may change something.
const CHANGING_WARMUP: u64 = 20;
const PROBE: u64 = 3;

/// Parts of `sent_in_all`: probe, warm-up, window, after it.
fn sent(record: &Value) -> [u64; 4] {
    ["probe", "warmup", "window", "after"].map(|part| count(record, &format!("sent_in_all.{part}")))
}

/// Runs a load on a server that counts, whose count is that of the result.
#[track_caller]
fn counted(args: &[&str]) -> ([u64; 4], CountingServer, String) {
    let server = CountingServer::start();
    let url = server.url();
    let words = [&["run", url.as_str(), "--json"][..], args].concat();
    let ended = plimsoll(words).run();
    let record = ended.measured().json();
    let sent = sent(&record);
    assert_eq!(sent.iter().sum::<u64>(), server.count(), "{args:?}: {:#}", record["sent_in_all"]);
    assert_eq!(sent[0], PROBE);
    (sent, server, ended.stderr)
}

/// `-n 1` had sent 118,223 requests.
#[test]
fn a_number_of_requests_is_sent_and_no_others_but_those_of_the_probe() {
    let (sent, _, said) = counted(&["-n", "1"]);
    assert_eq!(sent, [PROBE, 0, 1, 0]);
    assert!(!said.contains("warm-up"), "{said}");
    let (sent, ..) = counted(&["-n", "500", "-c", "4", "--no-keepalive"]);
    assert_eq!(sent, [PROBE, 0, 500, 0]);
    let (sent, ..) = counted(&["-n", "30", "-R", "200"]);
    assert_eq!([sent[1], sent[2] + sent[3]], [0, 30]);
    let (sent, ..) = counted(&["-n", "30", "-c", "2", "--warmup", "100ms"]);
    assert!(sent[1] > 0 && sent[2] + sent[3] == 30, "a warm-up was asked for: {sent:?}");
}

#[test]
fn all_that_a_time_of_load_has_sent_is_told_and_its_warm_up_before_it_begins() {
    for args in [&["-c", "4"][..], &["-R", "300"], &["-c", "2", "--no-keepalive"], &["-c", "2", "--pipeline", "4"]] {
        let (sent, _, said) = counted(&[args, &["-d", "1s", "--warmup", "300ms"]].concat());
        assert!(sent[1] > 0 && sent[2] > 0, "{args:?}: {sent:?}");
        assert!(said.contains("warm-up: 300 ms"), "{args:?}: {said}");
    }
}

/// `-b` without `-m` had sent GET requests with a body, and a warm-up as many POSTs as a server takes in two seconds.
#[test]
fn a_body_is_posted_and_what_changes_something_is_warmed_up_by_few() {
    let (sent, server, said) = counted(&["-b", "x=1", "-d", "1s", "-c", "32"]);
    assert_eq!(server.seen().into_keys().collect::<Vec<_>>(), ["POST"]);
    assert_eq!(sent[1], CHANGING_WARMUP);
    assert!(said.contains("warm-up: at most 20 requests before each window, as POST may change something"), "{said}");
    let (sent, ..) = counted(&["-m", "DELETE", "-R", "200", "-d", "1s"]);
    assert_eq!(sent[1], CHANGING_WARMUP);
    let (sent, server, _) = counted(&["-m", "PUT", "-b", "x", "-d", "1s", "-c", "2", "--warmup", "500ms"]);
    assert!(sent[1] > CHANGING_WARMUP, "{sent:?}");
    assert_eq!(server.seen().into_keys().collect::<Vec<_>>(), ["PUT"]);
}

#[test]
fn a_sweep_and_a_capacity_tell_all_that_their_loads_have_sent() {
    let sweep = ["sweep", "-d", "300ms", "--warmup", "100ms", "--to", "4", "--points", "3", "--iterations", "1"];
    let capacity = ["capacity", "-d", "4s", "--warmup", "100ms", "--budget", "20s", "--from", "20", "--to", "40"];
    for words in [&sweep[..], &capacity] {
        let server = CountingServer::start();
        let url = server.url();
        let record = plimsoll(words.iter().copied().chain([url.as_str(), "--json"])).run().json();
        assert_eq!(sent(&record).iter().sum::<u64>(), server.count(), "{words:?}: {:#}", record["sent_in_all"]);
        assert_eq!(sent(&record)[0], PROBE, "its loads have one probe");
    }
}

/// A server that resets every second connection: "all validity checks passed", and without keep-alive no measurement at all.
#[test]
fn connections_that_are_reset_are_counted_and_such_a_server_is_measured() {
    let server = CountingServer::resetting();
    let record = plimsoll(["run", &server.url(), "-c", "16", "-d", "1s", "--json"]).run().measured().json();
    assert_eq!(Findings(&record).of("ER-17").0, "warning", "{:#}", record["connections"]);
    assert!(count(&record, "connections.fruitless.reset") >= 8, "{:#}", record["connections"]);
    assert!(count(&record, "probe.again") > 0, "{:#}", record["probe"]);

    let server = CountingServer::resetting();
    let words = ["run", &server.url(), "-c", "2", "-d", "1s", "--no-keepalive", "--json"];
    let record = plimsoll(words).run().exits(4).json();
    let (planned, good) = (count(&record, "requests.planned") as f64, count(&record, "requests.good") as f64);
    let failed_share = 1.0 - good / planned;
    assert!((0.2..0.8).contains(&failed_share), "{failed_share}: {:#}", record["requests"]);
    assert_eq!(Findings(&record).of("ER-01").0, "invalid");
    assert_eq!(Findings(&record).of("ER-17").0, "warning");
}
