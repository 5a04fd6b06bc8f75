//! `plimsoll check`: each thing that would spoil a measurement is found, and nothing on a server without fault.

mod machine;
mod servers;

use crate::support::{BrokenServer, Certificate, Kind, Peer, Server, Site, Target, plimsoll, text};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What rules say of this machine, whatever the target is: it is another one for each who runs these tests.
const OF_TARGET: [&str; 11] = [
    "connection",
    "redirect",
    "body",
    "compression",
    "caches",
    "protocol",
    "keep-alive",
    "accept queue",
    "many at once",
    "errors",
    "bodies",
];
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// The check of these arguments, which ends with 0 or 4.
#[track_caller]
fn check(args: &[&str]) -> Value {
    let ended = plimsoll(["check", "--json"].iter().chain(args)).run();
    let record = ended.json();
    let invalid = text(&record, "state") == "invalid";
    ended.exits(if invalid { 4 } else { 0 });
    assert_eq!(text(&record, "format"), "plimsoll.check/1");
    record
}

fn rows(record: &Value) -> impl Iterator<Item = &Value> {
    record["rows"].as_array().expect("a list").iter()
}

/// The row of what was looked at: its rule, its state and the row.
#[track_caller]
fn row<'a>(record: &'a Value, what: &str) -> (&'a str, &'a str, &'a Value) {
    let row = rows(record).find(|row| row["what"] == what);
    let row = row.unwrap_or_else(|| panic!("nobody looked at {what}: {record:#}"));
    (text(row, "rule"), text(row, "state"), row)
}

/// Fails when anything about the target is worse than a note, but for `expected`.
#[track_caller]
fn nothing_but(record: &Value, expected: &[&str]) {
    for row in rows(record).filter(|row| OF_TARGET.contains(&text(row, "what"))) {
        let is_bad = ["warning", "invalid"].contains(&text(row, "state"));
        let is_expected = expected.contains(&text(row, "what"));
        assert_eq!(is_bad, is_expected, "{row:#}");
        assert!(!is_bad || !text(row, "remedy").is_empty(), "{row:#}");
    }
}

#[test]
fn nothing_is_held_against_servers_without_fault() {
    for kind in [Kind::Nginx, Kind::Apache] {
        let server = Server::start(kind, Site::of(&[("page.txt", &[b'.'; 4096])]));
        let record = check(&[&server.url("/page.txt"), "-c", "20"]);
        nothing_but(&record, &[]);
        for what in ["redirect", "body", "caches", "protocol", "keep-alive", "accept queue", "many at once"] {
            assert_eq!(row(&record, what).1, "fine", "{kind:?} {record:#}");
        }
        let (rule, state, coding) = row(&record, "compression");
        assert_eq!((rule, state), ("ER-10", "note"));
        assert!(text(coding, "found").contains("every browser is sent"), "{coding:#}");
        assert_eq!(record["target"]["burst"]["good"], 200);
        assert_eq!(record["target"]["burst"]["opened"], 20);
    }
    let served = check(&["--serve", "nginx", "-c", "20"]);
    nothing_but(&served, &[]);
    assert!(text(&served, "environment.served.label").starts_with("nginx"), "{served:#}");
}

#[test]
fn the_worst_comes_first_and_the_table_says_what_json_says() {
    let target = Target::start(&["--limit", "1/60"]);
    let record = check(&[&target.url("/bytes/10")]);
    assert_eq!(rows(&record).next().expect("a row")["what"], "many at once", "{record:#}");
    let target = Target::start(&["--limit", "1/60"]);
    let ended = plimsoll(["check", &target.url("/bytes/10")]).run();
    let lines: Vec<_> = ended.exits(4).stdout.lines().collect();
    assert!(lines[0].starts_with("INVALID      a measurement started now would be invalid (ER-08"), "{ended:#?}");
    assert!(lines[5].starts_with("INVALID  ER-08  many at once    "), "{ended:#?}");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 100), "{ended:#?}");
}

#[test]
fn a_limiter_is_found_with_the_request_at_which_it_began() {
    let target = Target::start(&["--limit", "1/60"]);
    let record = check(&[&target.url("/bytes/100")]);
    nothing_but(&record, &["many at once"]);
    let (rule, state, found) = row(&record, "many at once");
    assert_eq!((rule, state), ("ER-08", "invalid"));
    assert!(text(found, "found").contains("(status 429, Retry-After: "), "{found:#}");
    assert!(text(found, "remedy").starts_with("exempt this client from the limit"), "{found:#}");
    // 60 are let through at once; the fetches before the burst took fewer than 20 of them.
    let first = record["target"]["burst"]["first_refused"]["request"].as_u64().expect("a number");
    assert!((41..=65).contains(&first), "{first}");
}

#[test]
fn connections_that_are_reset_are_a_refusal_and_a_closed_idle_one_is_none() {
    // From the 90th request on there is no answer; before that each connection is closed after 5 without a word.
    let requests = AtomicU64::new(0);
    let server = BrokenServer::start(move |peer: &mut Peer| {
        for _ in 0..5 {
            let Some(_) = peer.request() else { return };
            if requests.fetch_add(1, Ordering::Relaxed) >= 90 || !peer.send(HELLO) {
                return;
            }
        }
    });
    let record = check(&[&server.url("/")]);
    nothing_but(&record, &["keep-alive", "many at once"]);
    let (rule, _, found) = row(&record, "many at once");
    assert_eq!(rule, "ER-08");
    assert!(text(found, "found").contains("(first_byte.closed)"), "{found:#}");
    let refused = &record["target"]["burst"]["first_refused"];
    assert!((70..=90).contains(&refused["request"].as_u64().expect("a number")), "{refused:#}");
}

#[test]
fn redirects_are_followed_to_the_url_to_measure_and_credentials_stay_at_home() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let elsewhere = BrokenServer::start(move |peer: &mut Peer| {
        while let Some(request) = peer.request() {
            count.fetch_add(1 + 1000 * u64::from(request.contains("secret")), Ordering::Relaxed);
            peer.send(HELLO);
        }
    });
    let end = elsewhere.url("/shop/");
    let to = format!("{}shop", elsewhere.url("/"));
    let target = Target::start(&["--redirect", &end]);
    let record = check(&[&target.url("/"), "-H", "X-Key: secret"]);
    nothing_but(&record, &["redirect"]);
    let (rule, state, found) = row(&record, "redirect");
    assert_eq!((rule, state), ("ER-02", "invalid"));
    assert!(text(found, "remedy").starts_with(&format!("measure {to}")), "{found:#}");
    assert_eq!(text(&record, "target.canonical_url"), end);
    assert_eq!(seen.load(Ordering::Relaxed), 1, "one request, without the header");
    // With another way to the server nobody knows where the redirect would lead.
    let record = check(&["http://shop.example/", "--connect-to", target.address()]);
    assert_eq!(record["target"]["canonical_url"], Value::Null);
}

#[test]
fn http_1_0_and_closed_connections_are_told() {
    let server = BrokenServer::start(|peer: &mut Peer| {
        if peer.request().is_some() {
            peer.send(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    let record = check(&[&server.url("/")]);
    nothing_but(&record, &["protocol", "keep-alive"]);
    assert_eq!(row(&record, "protocol").0, "ER-09");
    let (rule, state, found) = row(&record, "keep-alive");
    assert_eq!((rule, state), ("ER-09", "warning"));
    assert!(text(found, "remedy").contains("--no-keepalive"), "{found:#}");
    let record = check(&[&server.url("/"), "--no-keepalive"]);
    assert_eq!(row(&record, "keep-alive").1, "fine");
}

#[test]
fn bodies_that_change_and_answers_that_fail_under_many_are_told() {
    let numbers = AtomicU64::new(0);
    let server = BrokenServer::start(move |peer: &mut Peer| {
        while peer.request().is_some() {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let body = "x".repeat(100 + number as usize % 7);
            let answer = match number {
                50..60 => "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
                60..80 => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong".to_owned(),
                _ => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
            };
            peer.send(answer.as_bytes());
        }
    });
    let record = check(&[&server.url("/")]);
    nothing_but(&record, &["errors", "bodies"]);
    assert_eq!((row(&record, "body").0, row(&record, "body").1), ("ER-03", "note"));
    let (rule, _, errors) = row(&record, "errors");
    assert!(rule == "ER-01" && text(errors, "found").starts_with("10 of 200 requests"), "{errors:#}");
    let (rule, state, bodies) = row(&record, "bodies");
    assert_eq!((rule, state), ("ER-03", "invalid"));
    assert!(text(bodies, "found").starts_with("20 of 200 requests"), "{bodies:#}");
}

#[test]
fn what_changes_something_is_not_sent_many_times() {
    let requests = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&requests);
    let server = BrokenServer::start(move |peer: &mut Peer| {
        while peer.request().is_some() && peer.send(HELLO) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let record = check(&[&server.url("/"), "-m", "POST", "-b", "order=1"]);
    assert_eq!(row(&record, "many at once").1, "unavailable");
    assert!(requests.load(Ordering::Relaxed) <= 4, "{requests:?}");
    let get = check(&[&server.url("/")]);
    assert_eq!(get["target"]["burst"]["good"], 200);
}

#[test]
fn tls_and_unix_sockets_are_reached_as_by_run() {
    let target = Target::start(&["--tls"]);
    let url = target.url("/bytes/10");
    plimsoll(["check", &url]).run().fails(3, &["cannot be measured with TLS", "-k"]);
    let record = check(&[&url, "-k"]);
    nothing_but(&record, &[]);
    assert!(text(row(&record, "connection").2, "found").contains("TLSv1.3 with TLS_"), "{record:#}");
    let (_target, path, _directory) = crate::detours::on_unix_socket(&[]);
    let record = check(&["http://shop.example/bytes/10", "--unix-socket", &path]);
    nothing_but(&record, &[]);
    assert!(rows(&record).all(|row| row["what"] != "local ports"), "{record:#}");
}

#[test]
fn what_cannot_be_reached_ends_with_3_and_a_line() {
    plimsoll(["check", "http://127.0.0.1:1/"]).run().fails(3, &["127.0.0.1:1", "refused"]);
    plimsoll(["check", "http://no-such-host.invalid/"]).run().fails(3, &["no-such-host.invalid"]);
    let certificate = Certificate::for_names(&["127.0.0.1"]);
    let files: [(&str, &[u8]); 1] = [("index.html", b"hello")];
    let server = Server::start(Kind::Nginx, Site { tls: Some(("TLSv1.3", &certificate)), ..Site::of(&files) });
    let plain = server.url("/").replace("https:", "http:");
    plimsoll(["check", &plain]).run().fails(3, &["https://"]);
    plimsoll(["check", &server.url("/nothing"), "-k"]).run().fails(3, &["404", "--expect status=404"]);
}
