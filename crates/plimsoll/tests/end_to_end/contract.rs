//! What `--expect` declares about bodies, held against servers that answer with others.

use crate::support::{BrokenServer, Findings, count, plimsoll};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};

const PROBE_FETCHES: u64 = 3;
const GOOD: &str = "<html>good</html>";
/// As long as the good one.
const WRONG: &str = "<html>good<.html>";

/// Answers request number n, counted from 0 without the probe's, with `body(n)`, its last bytes in a second write.
fn server(body: impl Fn(u64) -> String + Send + Sync + 'static) -> BrokenServer {
    let seen = AtomicU64::new(0);
    BrokenServer::start(move |peer| {
        while peer.request().is_some() {
            let n = seen.fetch_add(1, Ordering::Relaxed);
            let body = if n < PROBE_FETCHES { GOOD.into() } else { body(n - PROBE_FETCHES) };
            let (front, end) = body.split_at(body.len().saturating_sub(4));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{front}", body.len());
            if !peer.send(head.as_bytes()) || !peer.send(end.as_bytes()) {
                return;
            }
        }
    })
}

/// Every 20th body is a wrong one.
fn one_in_twenty() -> BrokenServer {
    server(|n| if n % 20 == 19 { WRONG.into() } else { GOOD.into() })
}

/// The record of 3,400 requests on one connection.
#[track_caller]
fn run(server: &BrokenServer, expect: &[&str]) -> Value {
    let url = server.url("/");
    let args = ["run", &url, "-n", "3400", "-c", "1", "--warmup", "0s", "--json"];
    plimsoll(args.iter().chain(expect)).run().measured().json()
}

#[test]
fn wrong_text_in_one_body_of_twenty_is_found_in_those_looked_at() {
    let record = run(&one_in_twenty(), &["--expect", r#"status=200,body~"</html>""#]);
    assert_eq!(count(&record, "requests.body_checked"), 200, "one in 17");
    assert_eq!(count(&record, "requests.failures.contract.body"), 10, "one in 20 of these");
    assert_eq!(count(&record, "requests.good"), 3390);
    let (state, message) = Findings(&record).of("ER-03");
    assert_eq!(state, "invalid");
    assert!(message.contains("10 of 200") && message.contains("\"</html>\""), "{message}");
}

#[test]
fn wrong_hash_in_one_body_of_twenty_is_found_in_those_looked_at() {
    let record = run(&one_in_twenty(), &["--expect", "hash"]);
    assert_eq!(count(&record, "requests.failures.contract.hash"), 10);
    assert!(Findings(&record).of("ER-03").1.contains("10 of 200"));
}

#[test]
fn bodies_that_are_as_declared_are_silent() {
    let record = run(&server(|_| GOOD.into()), &["--expect", "hash,body~</html>,size=17"]);
    assert_eq!(count(&record, "requests.body_checked"), 200);
    assert_eq!(count(&record, "requests.good"), 3400);
    Findings(&record).invalid_only_by(&["LD-04"]);
}

#[test]
fn another_body_of_the_same_size_is_good_unasked_and_a_warning() {
    let record = run(&one_in_twenty(), &[]);
    assert_eq!(count(&record, "requests.body_checked"), 0);
    assert_eq!(count(&record, "requests.good"), 3400);
    assert_eq!(count(&record, "requests.bodies_compared"), 200, "one in 17");
    assert_eq!(count(&record, "requests.bodies_other"), 10, "one in 20 of these");
    let (state, message) = Findings(&record).of("ER-16");
    assert_eq!(state, "warning");
    assert!(message.contains("10 of 200"), "{message}");
}

#[test]
fn a_page_that_changes_its_size_has_a_band_of_sizes() {
    // The probe gets 100, 101 and 102 bytes; later come 100 to 111, and every 100th answer is an error page.
    let seen = AtomicU64::new(0);
    let server = BrokenServer::start(move |peer| {
        while peer.request().is_some() {
            let n = seen.fetch_add(1, Ordering::Relaxed);
            let length = if n % 100 == 99 { 30 } else { 100 + n as usize % 12 };
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length)).as_bytes());
        }
    });
    let ended = plimsoll(["run", &server.url("/"), "-n", "1000", "-c", "1", "--warmup", "0s", "--json"]).run();
    let record = ended.measured().json();
    assert!(ended.stderr.contains("(100 to 102 bytes); 90 to 113 bytes are good"), "{ended:#?}");
    assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), 90);
    assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.max"), 113);
    assert_eq!(count(&record, "requests.failures.contract.size"), 10);
    assert_eq!(count(&record, "requests.good"), 990);
    let hash = plimsoll(["run", &server.url("/"), "-n", "10", "--expect", "hash"]).run();
    hash.fails(2, &["--expect hash", "another one at each fetch", "body~"]);
}
