//! `plimsoll check`: what it asks beside this machine and the target.

use crate::support::{BrokenServer, Peer, count, plimsoll, text};
use serde_json::Value;

/// As nginx says it.
const STUB_STATUS: &str =
    "Active connections: 1 \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 0 \n";

#[test]
fn a_status_page_is_checked() {
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{STUB_STATUS}", STUB_STATUS.len());
    let (known, unknown) =
        (BrokenServer::saying(answer), BrokenServer::saying("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    let (good, typo) = (known.url("/nginx_status"), unknown.url("/typo"));
    // What else is found of this machine decides the exit code.
    let record = plimsoll(["check", "--json", "--status", &good, "--status", &typo]).run().json();
    let rows: Vec<&Value> = record["rows"].as_array().expect("a list").iter().collect();
    let found = |url: &str| {
        let of_page = |row: &&&Value| row["what"] == "status page" && text(row, "found").starts_with(url);
        let row = rows.iter().find(of_page).unwrap_or_else(|| panic!("nobody asked {url}: {record:#}"));
        (text(row, "rule"), text(row, "state"), text(row, "found"))
    };
    let (rule, state, told) = found(&good);
    assert!((rule, state) == ("ER-07", "fine") && told.contains("nginx tells"), "{told}");
    let (rule, state, told) = found(&typo);
    assert!((rule, state) == ("ER-07", "unavailable") && told.contains("no such page (404)"), "{told}");
}

/// 29 kB, and a third of it for those who take gzip.
fn compressing(peer: &mut Peer) {
    while let Some(request) = peer.request() {
        let takes = request.to_ascii_lowercase().contains("gzip");
        let (coding, length) = if takes { ("Content-Encoding: gzip\r\n", 10_700) } else { ("", 29_000) };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{coding}Content-Length: {length}\r\n\r\n");
        if !peer.send((head + &"x".repeat(length)).as_bytes()) {
            return;
        }
    }
}

/// What an owner should hear was "fine", and the burst could not be left out of a site in production.
#[test]
fn an_owner_hears_of_compression_and_caches_and_the_burst_can_be_left_out() {
    let server = BrokenServer::start(compressing);
    let record = plimsoll(["check", &server.url("/"), "--no-burst", "--json"]).run().json();
    let rows = record["rows"].as_array().expect("a list");
    let row = |what: &str| {
        let row = rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no {what}: {record:#}"));
        (text(row, "rule"), text(row, "state"), text(row, "found"))
    };
    let (rule, state, found) = row("compression");
    assert_eq!((rule, state), ("ER-10", "note"));
    assert!(found.starts_with("29.0 kB uncompressed are measured") && found.contains("10.7 kB with gzip"), "{found}");
    let (rule, state, found) = row("caches");
    assert!((rule, state) == ("ER-11", "note") && found.contains("no page cache was seen"), "{found}");
    let (_, state, found) = row("many at once");
    assert_eq!((state, found), ("unavailable", "no burst was sent (--no-burst)"));
    // The probe, once more with gzip, ten on one connection, and once more as a browser asks.
    assert_eq!((count(&record, "target.requests_sent"), &record["target"]["burst"]), (15, &Value::Null));
    let told = plimsoll(["check", &server.url("/"), "--no-burst"]).run();
    assert!(told.stdout.contains("sent         15 requests, one at a time\n"), "{}", told.stdout);
    let whole = plimsoll(["check", &server.url("/")]).run();
    assert!(
        whole.stdout.contains("sent         215 requests: 15 one at a time, and a burst of 200\n"),
        "{}",
        whole.stdout
    );
}
