//! The same server behind TLS, and what clients do that speak none or break it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use rustls::{ALL_VERSIONS, ClientConnection, HandshakeKind, Stream, version};
use target::{Certificate, Faults, Running, TargetConfig, TargetError, Tls, start};

use super::client::{Client, certificate, connect, serve_tls, trusting};

/// A handshake and an answer; what kind of handshake it was.
fn meet(server: &Running, config: &Arc<rustls::ClientConfig>) -> HandshakeKind {
    let mut socket = connect(server);
    let mut tls =
        ClientConnection::new(Arc::clone(config), "localhost".try_into().expect("a name")).expect("it begins");
    let mut stream = Stream::new(&mut tls, &mut socket);
    stream.write_all(b"GET /bytes/64 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").expect("it is taken");
    let mut answer = Vec::new();
    // Fails when the end comes without TLS saying so.
    stream.read_to_end(&mut answer).expect("an end in good order");
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(b"0123456789abcdef"));
    assert_eq!(tls.alpn_protocol(), Some(&b"http/1.1"[..]));
    tls.handshake_kind().expect("it is done")
}

fn still_serves(server: &Running) {
    assert_eq!(Client::secure(server, &trusting(ALL_VERSIONS)).get("/bytes/64").body.len(), 64);
}

/// Everything that comes back when `sent` is all that is sent.
fn answer(server: &Running, sent: &[u8]) -> Vec<u8> {
    let mut socket = connect(server);
    socket.write_all(sent).expect("it is taken");
    let mut all = Vec::new();
    // A reset is an end too.
    let _ = socket.read_to_end(&mut all);
    all
}

#[test]
fn both_versions_are_spoken_and_sessions_resumed() {
    let server = serve_tls(TargetConfig { workers: 2, ..TargetConfig::default() });
    for version in [&version::TLS12, &version::TLS13] {
        let config = trusting(&[version]);
        assert_ne!(meet(&server, &config), HandshakeKind::Resumed);
        for _ in 0..4 {
            assert_eq!(meet(&server, &config), HandshakeKind::Resumed, "{version:?}");
        }
    }
}

#[test]
fn bodies_of_many_records_uploads_and_pipelines_are_whole() {
    let server = serve_tls(TargetConfig::default());
    let mut client = Client::secure(&server, &trusting(ALL_VERSIONS));
    for (path, size) in [("/bytes/10MB", 10_000_000), ("/bytes/1MiB?chunked", 1 << 20), ("/zero?size=16385", 16_385)] {
        assert_eq!(client.get(path).body.len(), size, "{path}");
    }
    let body = "x".repeat(300_000);
    client.send(&format!("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 300000\r\n\r\n{body}"));
    assert!(client.response().text().contains("\"received_bytes\":300000,"));
    client.send(&"GET /bytes/1000 HTTP/1.1\r\nHost: t\r\n\r\n".repeat(500));
    assert!((0..500).all(|_| client.response().body.len() == 1000));
}

#[test]
fn a_half_closed_client_still_gets_all_its_answers() {
    let server = serve_tls(TargetConfig::default());
    let mut client = Client::secure(&server, &trusting(ALL_VERSIONS));
    for path in ["/sleep?time=30ms", "/bytes/3000000", "/bytes/8"] {
        client.request(path);
    }
    client.close_sending();
    let sizes = [client.response().body.len(), client.response().body.len(), client.response().body.len()];
    assert_eq!(sizes, [6, 3_000_000, 8]);
}

#[test]
fn faults_are_the_same() {
    let server = serve_tls(TargetConfig::default());
    let half = |fault: &str| {
        let mut client = Client::secure(&server, &trusting(ALL_VERSIONS));
        client.request(&format!("/bytes/1000?fault={fault}"));
        let head = client.read_head();
        assert!(head.contains("Content-Length: 1000"), "{head}");
        client.rest_and_end()
    };
    assert_eq!((half("half").0.len(), half("half").1), (500, true));
    assert!(!half("reset").1);
    let mut client = Client::secure(&server, &trusting(ALL_VERSIONS));
    assert_eq!(client.get("/bytes/1000?fault=wrong-size").body.len(), 500);
    assert_eq!(client.get("/bytes/1000?first_byte=5ms&body_rate=1MB").body.len(), 1000);
    let slow = Faults { body_bytes_per_s: 10_000_000, first_byte_ns: 1_000_000, ..Faults::default() };
    let server = serve_tls(TargetConfig { faults: slow, ..TargetConfig::default() });
    let mut client = Client::secure(&server, &trusting(ALL_VERSIONS));
    assert_eq!(client.get("/zero?size=200000").body.len(), 200_000);
}

#[test]
fn plain_http_gets_a_plain_answer_and_other_bytes_an_end() {
    let server = serve_tls(TargetConfig::default());
    for sent in ["GET / HTTP/1.1\r\nHost: t\r\n\r\n", &format!("POST / HTTP/1.1\r\nX: {}\r\n", "a".repeat(100_000))] {
        let answer = String::from_utf8_lossy(&answer(&server, sent.as_bytes())).into_owned();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("Connection: close"), "{answer}");
        assert!(answer.ends_with("{\"error\":\"The plain HTTP request was sent to HTTPS port\"}\n"), "{answer}");
    }
    // The header of a record, and in it what is no handshake: an alert (21) comes back.
    let answer = answer(&server, b"\x16\x03\x01\x00\x04\xff\x00\x00\x00");
    assert_eq!(answer.first(), Some(&21), "{answer:?}");
    still_serves(&server);
    let stats = Client::secure(&server, &trusting(ALL_VERSIONS)).get("/stats").text();
    assert!(stats.contains("\"malformed\":3,"), "{stats}");
}

#[test]
fn who_does_not_finish_the_handshake_is_closed_and_keeps_nobody_waiting() {
    let tls = Tls { certificate: certificate(), handshake_ns: 30_000_000 };
    let server = start(TargetConfig { tls: Some(tls), ..TargetConfig::default() }).expect("it starts");
    let mut hello = Vec::new();
    let name = "localhost".try_into().expect("a name");
    let mut tls = ClientConnection::new(trusting(ALL_VERSIONS), name).expect("it begins");
    tls.write_tls(&mut hello).expect("memory takes it");
    // Nothing; a part; all, and no word when the server has answered.
    let mut slow: Vec<TcpStream> = [0, 3, 100, hello.len()]
        .into_iter()
        .map(|bytes| {
            let mut socket = connect(&server);
            socket.write_all(&hello[..bytes]).expect("it is taken");
            socket
        })
        .collect();
    // Those who are done stay, however long they say nothing.
    let mut done = Client::secure(&server, &trusting(ALL_VERSIONS));
    assert_eq!(done.get("/bytes/1").body.len(), 1);
    for socket in &mut slow {
        still_serves(&server);
        // Ends when the server closes; a hang here is the failure.
        let _ = socket.read_to_end(&mut Vec::new());
    }
    assert_eq!(done.get("/sleep?time=50ms").status, 200);
}

#[test]
fn clients_that_leave_in_the_handshake_are_forgotten() {
    let server = serve_tls(TargetConfig::default());
    for sent in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01\x00"] {
        let mut socket = connect(&server);
        socket.write_all(sent).expect("it is taken");
        socket.shutdown(Shutdown::Write).expect("a connection can be half closed");
        let _ = socket.read_to_end(&mut Vec::new());
    }
    let mut observer = Client::secure(&server, &trusting(ALL_VERSIONS));
    // Ends when all others are gone; a hang here is the failure.
    while !observer.get("/stats").text().contains("\"open\":1,") {}
}

#[test]
fn certificates_that_cannot_be_used_are_refused_at_the_start() {
    let (one, pem) = (certificate(), rcgen_key());
    for (chain, key, why) in [
        ("", pem.as_str(), "no certificate"),
        (one.chain_pem.as_str(), "", "no private key"),
        (one.chain_pem.as_str(), pem.as_str(), "cannot be used together"),
    ] {
        let tls = Tls { certificate: Certificate::new(chain.into(), key.into()), handshake_ns: 1 };
        let error = start(TargetConfig { tls: Some(tls), ..TargetConfig::default() }).expect_err("it is of no use");
        assert!(matches!(error, TargetError::Certificate { .. }) && error.to_string().contains(why), "{error}");
    }
    assert!(!format!("{one:?}").contains("PRIVATE"));
}

/// A key that belongs to no certificate.
fn rcgen_key() -> String {
    rcgen::KeyPair::generate().expect("a key").serialize_pem()
}
