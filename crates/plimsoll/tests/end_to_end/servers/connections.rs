//! Connections that end: at the server's limit, because we ask for it, and because it speaks HTTP/1.0.

use super::{SMALL, agrees, all_good, answer, answer_without_length, load};
use crate::support::{BrokenServer, Kind, Server, Site, count, plimsoll};

#[test]
fn a_limit_of_requests_per_connection_costs_reconnects_and_nothing_else() {
    // Caddy has no such limit.
    for kind in [Kind::Nginx, Kind::Apache, Kind::Lighttpd] {
        let site = Site { requests_per_connection: 50, ..Site::of(&[("small", SMALL)]) };
        let server = Server::start(kind, site);
        let record = all_good(&load(&server, "/small", &["-c", "4", "-n", "2000"]), 2000);
        // Some count the request that opens a connection, some what comes after it.
        let opened = count(&record, "connections.opened");
        assert!((2000 / 51..=2000 / 50 + 4).contains(&opened), "{kind:?}: {opened}");
        assert_eq!(count(&record, "connections.reconnects"), opened - 4, "{kind:?}");
        agrees(&record, server, "/small", 64..=64);
    }
}

#[test]
fn an_open_loop_goes_on_over_connections_that_the_server_closes() {
    for kind in [Kind::Nginx, Kind::Apache, Kind::Lighttpd] {
        let site = Site { requests_per_connection: 5, ..Site::of(&[("small", SMALL)]) };
        let server = Server::start(kind, site);
        let args = ["-c", "4", "-R", "500", "-d", "300ms", "--arrivals", "constant"];
        let record = all_good(&load(&server, "/small", &args), 150);
        let opened = count(&record, "connections.opened");
        assert!((150 / 6..=150 / 5 + 4).contains(&opened), "{kind:?}: {opened}");
        agrees(&record, server, "/small", 64..=64);
    }
}

#[test]
fn a_connection_for_each_request_whoever_closes_it() {
    for kind in Kind::ALL {
        for args in [&["--no-keepalive"][..], &["-H", "Connection: close"]] {
            let server = Server::start(kind, Site::of(&[("small", SMALL)]));
            let record = all_good(&load(&server, "/small", &[&["-c", "4", "-n", "300"], args].concat()), 300);
            let opened = count(&record, "connections.opened");
            // With --no-keepalive none is opened that no request needs.
            assert!((300..=304).contains(&opened), "{kind:?} {args:?}: {opened}");
            agrees(&record, server, "/small", 64..=64);
        }
    }
}

#[test]
fn an_answer_in_http_1_0_ends_with_its_length_or_with_the_connection() {
    let script = b"#!/bin/sh\nprintf 'Content-Type: text/x\\r\\n\\r\\n'; seq 1000; sleep 0.01; seq 1000\n";
    let server = Server::start(Kind::Apache, Site::of(&[("old/small", SMALL), ("old/page.cgi", script)]));
    let small = answer(&server, "/old/small", "");
    assert_eq!(small.header("content-length"), Some("64"), "{}", small.head);
    let (written, _) = answer_without_length(&server, "/old/page.cgi");
    for (path, expected) in [("/old/small", small), ("/old/page.cgi", written)] {
        assert!(expected.head.starts_with("HTTP/1.0 200 ") && !expected.is_chunked(), "{}", expected.head);
        // Apache closes after an answer in HTTP/1.0, whatever it is asked for.
        let args = ["-c", "4", "-n", "50", "-H", "Connection: keep-alive"];
        let record = all_good(&load(&server, path, &args), 50);
        assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), expected.body.len() as u64);
        let opened = count(&record, "connections.opened");
        assert!((50..=54).contains(&opened), "{path}: {opened}");
    }
}

#[test]
fn an_http_1_0_server_that_keeps_its_connections_open_is_not_asked_for_new_ones() {
    let server = BrokenServer::start(|peer| {
        let answer = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello";
        while peer.request().is_some() && peer.send(answer) {}
    });
    let url = server.url("/");
    let ended = plimsoll(["run", &url, "--warmup", "0s", "--json", "-c", "2", "-n", "100"]).run();
    assert_eq!(count(&all_good(&ended, 100), "connections.opened"), 2);
}
