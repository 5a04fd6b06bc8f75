//! nginx, Apache, lighttpd and Caddy, as Debian packs them: what each of them does with a connection and an answer, and
//! what it has counted itself.

mod connections;
mod secure;

use crate::support::{
    Answer, Ended, Endpoint, Findings, Kind, Logged, Server, Site, count, exchange, plimsoll, text, wait_for,
};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::Duration;

const SMALL: &[u8] = &[b'.'; 64];

/// A text that compresses, longer than what servers put together before they send a length.
fn page() -> Vec<u8> {
    (0..8000).flat_map(|n| format!("line {n} of a text that compresses\n").into_bytes()).collect()
}

/// `plimsoll run` of a path.
#[track_caller]
fn load(server: &Server, path: &str, args: &[&str]) -> Ended {
    plimsoll(["run", &server.url(path), "--warmup", "0s", "--json"].iter().chain(args)).run()
}

/// The record of a short run, in which all of `requests` were good.
#[track_caller]
fn all_good(ended: &Ended, requests: u64) -> Value {
    let record = ended.measured().json();
    assert_eq!(count(&record, "requests.good"), requests, "{ended:#?}");
    assert_eq!(count(&record, "requests.planned"), requests, "{ended:#?}");
    Findings(&record).nothing_failed();
    record
}

/// Fails unless the server's own log has every request for `path`, the probe's included, all answered 200 with this
/// many bytes; of an answer in chunks most servers count the framing as well.
#[track_caller]
fn agrees(record: &Value, server: Server, path: &str, bytes: RangeInclusive<u64>) {
    let log: Vec<Logged> = server.log().into_iter().filter(|logged| logged.path == path).collect();
    let good = |logged: &Logged| logged.method == "GET" && logged.status == 200 && bytes.contains(&logged.bytes);
    assert_eq!(log.iter().find(|logged| !good(logged)), None, "not {bytes:?} bytes");
    assert_eq!(log.len() as u64, count(record, "requests.sent") + probes(record));
}

/// Requests that the probe sent.
fn probes(record: &Value) -> u64 {
    record["probe"]["fetches"].as_array().expect("a list").len() as u64
}

/// What comes back for one good request of our own.
#[track_caller]
fn answer(server: &Server, path: &str, headers: &str) -> Answer {
    let address = server.address();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    let answer = exchange(&Endpoint::plain(address), request.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.head);
    answer
}

/// What a program answers whose length the server cannot know, and how often it was asked for: a server that finds the
/// end of the answer before it has passed on the begin does know it.
#[track_caller]
fn answer_without_length(server: &Server, path: &str) -> (Answer, u64) {
    let mut asked = 0;
    let found = wait_for(Duration::from_secs(10), || {
        asked += 1;
        let answer = answer(server, path, "");
        answer.header("content-length").is_none().then_some(answer)
    });
    (found.expect("an answer without a length"), asked)
}

#[test]
fn a_static_file_is_served_without_a_failure_and_as_often_as_the_server_says() {
    for kind in Kind::ALL {
        let server = Server::start(kind, Site::of(&[("small", SMALL)]));
        let record = all_good(&load(&server, "/small", &["-c", "8", "-n", "2000"]), 2000);
        assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), 64);
        assert_eq!(
            (count(&record, "connections.opened"), count(&record, "connections.reconnects")),
            (8, 0),
            "{kind:?}"
        );
        let said = text(&record["probe"]["fetches"][0], "server").to_lowercase();
        assert!(said.starts_with(&format!("{kind:?}").to_lowercase()), "{said} is not {kind:?}");
        agrees(&record, server, "/small", 64..=64);
    }
}

#[test]
fn what_a_time_ends_is_counted_like_a_number() {
    for kind in Kind::ALL {
        let server = Server::start(kind, Site::of(&[("small", SMALL)]));
        let ended = load(&server, "/small", &["-c", "8", "-d", "300ms"]);
        let sent = count(&ended.json(), "requests.planned");
        assert!(sent >= 8, "{kind:?}: {sent}");
        agrees(&all_good(&ended, sent), server, "/small", 64..=64);
    }
}

#[test]
fn a_large_file_is_whole() {
    let large = vec![b'x'; 3_000_000];
    for kind in Kind::ALL {
        let server = Server::start(kind, Site::of(&[("large", &large)]));
        let record = all_good(&load(&server, "/large", &["-c", "4", "-n", "40"]), 40);
        let received = count(&record, "bytes.received");
        assert!((40 * 3_000_000..40 * 3_001_000).contains(&received), "{kind:?}: {received}");
        agrees(&record, server, "/large", 3_000_000..=3_000_000);
    }
}

#[test]
fn a_compressed_answer_counts_with_its_size_on_the_wire() {
    let page = page();
    let packed = "Accept-Encoding: gzip";
    for kind in Kind::ALL {
        let server = Server::start(kind, Site::of(&[("page.txt", &page)]));
        let plain = all_good(&load(&server, "/page.txt", &["-c", "4", "-n", "100"]), 100);
        assert_eq!(count(&plain, "plan.requests.0.contract.size_bytes.min"), page.len() as u64);
        let expected = answer(&server, "/page.txt", &format!("{packed}\r\n"));
        assert_eq!(expected.header("content-encoding"), Some("gzip"), "{kind:?}");
        // Apache and lighttpd compress the whole file first; the others do not know how long it will be.
        let in_chunks = matches!(kind, Kind::Nginx | Kind::Caddy);
        assert_eq!(expected.is_chunked(), in_chunks, "{kind:?}: {}", expected.head);
        let size = expected.body.len() as u64;
        assert!(size < page.len() as u64 / 3);
        let record = all_good(&load(&server, "/page.txt", &["-c", "4", "-n", "100", "-H", packed]), 100);
        assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), size, "{kind:?}");
        assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.max"), size, "{kind:?}");
        let received = count(&record, "bytes.received");
        assert!((100 * size..100 * (size + 1000)).contains(&received), "{kind:?}: {received} of {size} each");
        assert_eq!(count(&record, "connections.opened"), 4);
    }
}

#[test]
fn what_a_program_writes_comes_in_chunks_and_is_whole() {
    let script = b"#!/bin/sh\nprintf 'Content-Type: text/x\\r\\n\\r\\n'; echo one; sleep 0.01; echo two; seq 100\n";
    for kind in [Kind::Apache, Kind::Lighttpd] {
        let server = Server::start(kind, Site::of(&[("page.cgi", script)]));
        let (expected, asked) = answer_without_length(&server, "/page.cgi");
        assert!(expected.is_chunked() && expected.body.len() == 300, "{kind:?}: {}", expected.head);
        let record = all_good(&load(&server, "/page.cgi", &["-c", "2", "-n", "20"]), 20);
        assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), 300);
        assert_eq!(count(&record, "connections.opened"), 2, "{kind:?}");
        assert_eq!(server.log().len() as u64, asked + 20 + probes(&record), "{kind:?}");
    }
}

#[test]
fn answers_without_a_body_end_where_they_should() {
    for kind in Kind::ALL {
        let server = Server::start(kind, Site::of(&[("small", SMALL)]));
        for (path, args) in [
            ("/small", &["-m", "HEAD"][..]),
            ("/empty", &["--expect", "status=204,size=0"]),
            ("/small", &["-H", "If-None-Match: *", "--expect", "status=304,size=0"]),
        ] {
            let record = all_good(&load(&server, path, &[args, &["-c", "2", "-n", "100"]].concat()), 100);
            assert_eq!(count(&record, "connections.opened"), 2, "{kind:?} {args:?}");
        }
    }
}

#[test]
fn a_missing_page_needs_to_be_declared() {
    for kind in Kind::ALL {
        let server = Server::start(kind, Site::of(&[]));
        let url = server.url("/missing");
        plimsoll(["run", &url]).run().fails(3, &["404", "--expect status=404"]);
        let declared = ["-c", "2", "-n", "100", "--expect", "status=404"];
        all_good(&load(&server, "/missing", &declared), 100);
        // What is declared otherwise is a failure of each request.
        let ended = load(&server, "/missing", &["-c", "2", "-n", "100", "--expect", "status=200"]);
        let record = ended.exits(4).json();
        assert_eq!((count(&record, "requests.good"), count(&record, "requests.status.404")), (0, 100), "{kind:?}");
        assert_eq!(count(&record, "requests.failures.contract.status"), 100, "{kind:?}");
    }
}
