//! What answers is not a web server, or a broken one: exit code 3 and a line that says what is wrong.

use crate::support::{BrokenServer, Ended, Findings, count, plimsoll};
use std::time::Duration;

/// A head that announces `length` bytes.
fn head(length: u64) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")
}

/// What `run` makes of a server that says `answer` to each request and closes.
#[track_caller]
fn probed(answer: impl AsRef<[u8]> + Send + Sync + 'static) -> Ended {
    let server = BrokenServer::saying(answer);
    plimsoll(["run", &server.url("/"), "-d", "1s", "--timeout", "2s"]).run()
}

#[test]
fn unknown_host_is_named() {
    for verb in ["run", "sweep"] {
        plimsoll([verb, "http://no-such-host.invalid/"]).run().fails(3, &["no-such-host.invalid", "host"]);
    }
}

#[test]
fn refused_port_is_named() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for verb in ["run", "sweep"] {
        plimsoll([verb, &format!("http://{port}/")]).run().fails(3, &[&port, "refused"]);
    }
}

#[test]
fn tls_behind_an_http_url_is_recognised() {
    let ended = probed(b"\x15\x03\x01\x00\x02\x02\x46");
    ended.fails(3, &["TLS", "https"]);
}

#[test]
fn ssh_server_is_recognised() {
    let server = BrokenServer::start(|peer| {
        peer.send(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
        peer.hold();
    });
    plimsoll(["run", &server.url("/")]).run().fails(3, &["SSH server", "127.0.0.1:"]);
}

#[test]
fn other_protocol_is_shown() {
    probed("220 mail.example ESMTP ready\r\n").fails(3, &["not answer in HTTP/1", "220 mail.example"]);
    probed(b"\x00\xff\x1b[31m\x07").fails(3, &["not answer in HTTP/1", "\\x00\\xff\\x1b[31m"]);
}

#[test]
fn endless_headers_are_cut_off() {
    let server = BrokenServer::start(|peer| {
        if peer.request().is_some() && peer.send(b"HTTP/1.1 200 OK\r\n") {
            while peer.send(b"X-More: and more and more and more and more and more\r\n") {}
        }
    });
    plimsoll(["run", &server.url("/")]).run().fails(3, &["broken response", "head"]);
}

#[test]
fn endless_header_line_is_cut_off() {
    let server = BrokenServer::start(|peer| {
        if peer.request().is_some() && peer.send(b"HTTP/1.1 200 OK\r\nX-More: ") {
            while peer.send(&[b'a'; 4096]) {}
        }
    });
    plimsoll(["run", &server.url("/")]).run().fails(3, &["broken response", "head too large"]);
}

#[test]
fn announced_bytes_that_never_come_are_counted() {
    probed(head(100) + "only this").fails(3, &["closed inside the response body", "91 announced bytes"]);
}

#[test]
fn announced_length_that_is_none_is_refused() {
    for length in ["-1", "1e3", "99999999999999999999999", "3, 4"] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabc");
        probed(answer).fails(3, &["broken response", "content length"]);
    }
}

#[test]
fn announced_exabyte_is_refused_at_once() {
    let ended = probed(head(1 << 60));
    ended.fails(3, &["broken response", "body too large"]);
}

#[test]
fn broken_chunks_are_refused() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    probed(format!("{chunked}xyz\r\nabc\r\n0\r\n\r\n")).fails(3, &["broken response", "chunk"]);
    probed(format!("{chunked}3\r\nabcdef\r\n0\r\n\r\n")).fails(3, &["broken response", "chunk"]);
    probed(format!("{chunked}3\r\nabc\r\n")).fails(3, &["closed inside the response body"]);
}

#[test]
fn connection_closed_inside_the_head_is_said() {
    probed("HTTP/1.1 200 OK\r\nContent-Le").fails(3, &["closed inside the response head"]);
}

#[test]
fn connection_closed_without_an_answer_is_said() {
    probed("").fails(3, &["127.0.0.1:", "closed it without an answer"]);
}

#[test]
fn server_that_never_answers_is_given_up_after_the_timeout() {
    let server = BrokenServer::start(|peer| peer.hold());
    let ended = plimsoll(["run", &server.url("/"), "--timeout", "300ms"]).run();
    ended.fails(3, &["127.0.0.1:", "no complete answer within 300ms"]);
}

#[test]
fn server_that_drips_its_answer_is_given_up_after_the_timeout() {
    let server = BrokenServer::start(|peer| {
        if peer.request().is_some() && peer.send(b"HTTP/1.1 200 OK\r\nX: ") {
            while peer.send(b"a") {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
    let ended = plimsoll(["run", &server.url("/"), "--timeout", "500ms"]).run();
    ended.fails(3, &["127.0.0.1:", "no complete answer within 500ms"]);
}

#[test]
fn protocol_switch_nobody_asked_for_is_refused() {
    let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    probed(answer).fails(3, &["switched protocols"]);
}

#[test]
fn body_longer_than_announced_is_never_good() {
    let server = BrokenServer::start(|peer| {
        while peer.request().is_some() && peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdefgh") {}
    });
    // Each response costs a connection, of which the server keeps a descriptor: a fast machine had no more in a second.
    let ended = plimsoll(["run", &server.url("/"), "-c", "2", "-n", "200", "--warmup", "0s", "--json"]).run();
    let record = ended.exits(4).json();
    assert_eq!(count(&record, "requests.good"), 0);
    assert_eq!(count(&record, "requests.failures.body.malformed"), count(&record, "requests.planned"));
    assert!(count(&record, "requests.planned") > 0);
    assert_eq!(Findings(&record).of("ER-01").0, "invalid");
}
