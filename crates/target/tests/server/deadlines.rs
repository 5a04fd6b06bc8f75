//! Clients that keep the server waiting: each wait has its end, and what the server itself takes has none.
//!
//! No test measures a time: an end that does not come is a test that hangs.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ALL_VERSIONS, ClientConfig};
use target::{Deadlines, Running, TargetConfig};

use super::MS;
use super::client::{Client, get, serve, serve_tls, trusting};

/// Far longer than any test.
const NEVER_NS: u64 = 1_000_000 * MS;
const NONE: Deadlines = Deadlines {
    head_ns: NEVER_NS,
    body_ns: NEVER_NS,
    request_ns: NEVER_NS,
    write_ns: NEVER_NS,
    idle_ns: NEVER_NS,
    crowded_ns: NEVER_NS,
};

/// Without TLS and with it.
fn both(deadlines: Deadlines) -> [(Running, Option<Arc<ClientConfig>>); 2] {
    let config = || TargetConfig { deadlines, ..TargetConfig::default() };
    [(serve(config()), None), (serve_tls(config()), Some(trusting(ALL_VERSIONS)))]
}

fn client(server: &Running, tls: Option<&Arc<ClientConfig>>) -> Client {
    tls.map_or_else(|| Client::new(server), |tls| Client::secure(server, tls))
}

fn stats(server: &Running, tls: Option<&Arc<ClientConfig>>) -> String {
    client(server, tls).get("/stats").text()
}

/// The answer to who did not finish, and the end of the connection.
#[track_caller]
fn told_and_closed(client: &mut Client) {
    let answer = client.response();
    assert_eq!(answer.status, 408, "{}", answer.head);
    assert!(answer.head.contains("Connection: close"), "{}", answer.head);
    assert!(client.rest().is_empty());
}

/// They were waited for as long as they kept the connection open.
#[test]
fn a_head_that_stops_or_trickles_is_answered_408() {
    for (server, tls) in both(Deadlines { head_ns: 50 * MS, ..NONE }) {
        for begin in ["G", "GET /bytes/1 HTTP/1.1\r\nHost: t\r\n", "GET /bytes/1 HTTP/1.1\r\nHost: t\r\nX"] {
            let mut slow = client(&server, tls.as_ref());
            slow.send(begin);
            told_and_closed(&mut slow);
        }
        let text = stats(&server, tls.as_ref());
        assert!(text.contains("\"timed_out\":3"), "{text}");
    }
    let server = serve(TargetConfig { deadlines: Deadlines { head_ns: 50 * MS, ..NONE }, ..TargetConfig::default() });
    trickle(&server, "GET / HTTP/1.1\r\nX-Never-Ending: ");
}

#[test]
fn a_body_that_stops_or_trickles_is_answered_408() {
    let post = "POST /upload HTTP/1.1\r\nHost: t\r\n";
    for (server, tls) in both(Deadlines { body_ns: 50 * MS, ..NONE }) {
        for rest in ["Content-Length: 9\r\n\r\n1234", "Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n5\r\n5"] {
            let mut slow = client(&server, tls.as_ref());
            slow.send(&format!("{post}{rest}"));
            told_and_closed(&mut slow);
        }
        let mut asked = client(&server, tls.as_ref());
        asked.send(&format!("{post}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"));
        assert!(asked.read_head().starts_with("HTTP/1.1 100 "));
        told_and_closed(&mut asked);
    }
    let deadlines = Deadlines { request_ns: 50 * MS, ..NONE };
    let server = serve(TargetConfig { deadlines, ..TargetConfig::default() });
    trickle(&server, &format!("{post}Content-Length: 1000000\r\n\r\n"));
}

/// Sends a byte again and again, until the server has had enough.
fn trickle(server: &Running, begin: &str) {
    let mut slow = Client::new(server);
    slow.send(begin);
    let mut writer = slow.clone_sending();
    let sender = std::thread::spawn(move || {
        while writer.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    assert_eq!(slow.response().status, 408);
    sender.join().expect("it ends when nobody reads it any more");
}

/// It kept its place, and the kernel's memory, for as long as it liked.
#[test]
fn who_takes_nothing_of_a_response_is_reset() {
    for (server, tls) in both(Deadlines { write_ns: 50 * MS, ..NONE }) {
        let mut greedy: Vec<Client> = (0..2).map(|_| client(&server, tls.as_ref())).collect();
        greedy[0].request("/bytes/1GiB");
        greedy[1].request("/bytes/1GiB?chunked");
        // Requests that come meanwhile are no reason to wait for longer.
        let _ = greedy[1].try_send(&b"GET /bytes/1 HTTP/1.1\r\nHost: t\r\n\r\n".repeat(10));
        while !stats(&server, tls.as_ref()).contains("\"open\":1,") {}
        let text = stats(&server, tls.as_ref());
        assert!(text.contains("\"timed_out\":2"), "{text}");
        assert!(!greedy[0].rest_and_end().1, "what the kernel held was given up too");
    }
}

/// 20,000 that said nothing kept out everybody else for ever.
#[test]
fn who_asks_for_nothing_is_closed_in_good_order() {
    // Long enough for a client to send its first request.
    for (server, tls) in both(Deadlines { idle_ns: 500 * MS, ..NONE }) {
        let mut used = client(&server, tls.as_ref());
        // Empty lines ask for nothing.
        used.send("GET /bytes/1 HTTP/1.1\r\nHost: t\r\n\r\n\r\n\r\n");
        assert_eq!(used.response().body, b"0");
        assert_eq!(used.rest_and_end(), (vec![], true));
    }
    let server = serve(TargetConfig { deadlines: Deadlines { idle_ns: 50 * MS, ..NONE }, ..TargetConfig::default() });
    assert_eq!(Client::new(&server).rest_and_end(), (vec![], true), "one that never asked");
}

/// Newcomers were turned away for as long as those inside said nothing.
#[test]
fn idle_connections_make_room_when_newcomers_are_turned_away() {
    let deadlines = Deadlines { crowded_ns: 50 * MS, ..NONE };
    let server = serve(TargetConfig { deadlines, max_connections: 5, workers: 2, ..TargetConfig::default() });
    let mut idle: Vec<Client> = (0..5).map(|_| Client::new(&server)).collect();
    for client in &mut idle {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    // With nobody at the door they stay, however long that takes.
    let mut sleeper = idle.remove(0);
    assert_eq!(sleeper.get("/sleep?time=200ms").status, 200);
    for client in &mut idle {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    // Who waits for the server is not in the way.
    sleeper.request("/sleep?time=1s");
    // A hang here is the failure.
    while !Client::new(&server).finds_a_place() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(sleeper.response().body, b"slept\n");
}

/// Sleeps, slow bodies, dropped responses and burned CPU time are the server's doing.
#[test]
fn no_deadline_runs_while_the_server_takes_its_time() {
    let short = 20 * MS;
    let deadlines = Deadlines { head_ns: short, body_ns: short, request_ns: short, write_ns: short, ..NONE };
    let server = serve(TargetConfig { deadlines, ..TargetConfig::default() });
    let mut dropped = Client::new(&server);
    dropped.request("/bytes/1?fault=drop");
    for (path, size) in [
        ("/sleep?time=200ms", 6),
        ("/bytes/64?first_byte=200ms", 64),
        ("/zero?size=1000&body_rate=5000", 1_000),
        ("/download?size=1000&chunk_size=100&body_rate=5000", 1_000),
        ("/cpu?us=100000", 7),
    ] {
        assert_eq!(get(&server, path).body.len(), size, "{path}");
    }
    let mut socket = dropped.clone_sending();
    socket.set_nonblocking(true).expect("a socket option");
    let end = socket.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::WouldBlock), "it is neither answered nor closed");
    let text = stats(&server, None);
    assert!(text.contains("\"timed_out\":0"), "{text}");
}

/// The measuring use: connections that rest between requests.
#[test]
fn a_load_generator_that_rests_is_not_disturbed() {
    let server = serve(TargetConfig::default());
    let mut clients: Vec<Client> = (0..20).map(|_| Client::new(&server)).collect();
    for _ in 0..2 {
        for client in &mut clients {
            assert_eq!(client.get("/bytes/64").status, 200);
        }
        // A sweep comes and goes.
        assert_eq!(get(&server, "/sleep?time=1100ms").status, 200);
    }
    let text = clients[19].get("/stats").text();
    assert!(text.contains("\"timed_out\":0"), "{text}");
}
