//! What keeps the server busy, behind a token.

use rustls::ALL_VERSIONS;
use target::{Guard, TargetConfig, Token};

use super::client::{Client, serve, serve_tls, trusting};

const SECRET: &str = "0123456789abcdef-guard";
const GUARDED: [&str; 8] = [
    "/cpu?us=1",
    "/sleep?time=1ms",
    "/sleep?dist=exp&mean=1ms",
    "/pool",
    "/bytes/64?first_byte=1ms",
    "/bytes/64?body_rate=1MiB",
    "/bytes/64?fault=half",
    "/stats?fault=drop",
];
const OPEN: [&str; 6] = ["/", "/bytes/64", "/urandom?size=5", "/status/204", "/upload", "/stats"];

fn guarded(guard: Guard) -> TargetConfig {
    TargetConfig { guard, ..TargetConfig::default() }
}

fn token() -> Guard {
    Guard::Token(Token::new(SECRET).expect("a token"))
}

fn ask(client: &mut Client, path: &str, authorization: &str) -> (u16, String) {
    let header = if authorization.is_empty() { String::new() } else { format!("Authorization: {authorization}\r\n") };
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: t\r\n{header}\r\n"));
    let response = client.response();
    (response.status, format!("{}{}", response.head, response.text()))
}

/// Anybody who reached the server could burn its CPU time and fill its pool.
#[test]
fn without_the_token_nobody_chooses_how_long_the_server_is_busy() {
    for (server, tls) in [(serve(guarded(token())), false), (serve_tls(guarded(token())), true)] {
        let mut client = if tls { Client::secure(&server, &trusting(ALL_VERSIONS)) } else { Client::new(&server) };
        for path in GUARDED {
            for wrong in ["", SECRET, "Bearer 0123456789abcdef-guarD", "Basic 0123456789abcdef-guard", "Bearer"] {
                let (status, answer) = ask(&mut client, path, wrong);
                assert_eq!(status, 401, "{path}: {answer}");
                assert!(answer.contains("\r\nWWW-Authenticate: Bearer\r\n") && !answer.contains(SECRET), "{answer}");
            }
        }
        for path in OPEN {
            let (status, answer) = ask(&mut client, path, "");
            assert!((200..300).contains(&status) && !answer.contains(SECRET), "{path}: {answer}");
        }
    }
}

#[test]
fn the_token_is_asked_for_with_each_request() {
    let server = serve(guarded(token()));
    let mut client = Client::new(&server);
    let bearer = format!("Bearer {SECRET}");
    assert_eq!(ask(&mut client, "/cpu?us=1", &bearer).0, 200);
    assert_eq!(ask(&mut client, "/cpu?us=1", "").0, 401, "the one before does not count");
    assert_eq!(ask(&mut client, "/sleep?time=1ms", &bearer.to_lowercase().replace("bearer", "bEARER")).0, 200);
    assert_eq!(ask(&mut client, "/pool", &bearer).0, 404, "let in, and there is no pool");
    // Sent at once, each for itself.
    let request = |header: &str| format!("GET /cpu?us=1 HTTP/1.1\r\nHost: t\r\n{header}\r\n");
    client.send(&[request(&format!("Authorization: {bearer}\r\n")), request("")].concat());
    assert_eq!((client.response().status, client.response().status), (200, 401));
}

#[test]
fn a_closed_guard_opens_to_nobody() {
    let server = serve(guarded(Guard::Closed));
    let mut client = Client::new(&server);
    for path in GUARDED {
        let (status, answer) = ask(&mut client, path, &format!("Bearer {SECRET}"));
        assert_eq!(status, 403, "{path}: {answer}");
        assert!(answer.contains("--token"), "{answer}");
    }
    for path in OPEN {
        assert!((200..300).contains(&ask(&mut client, path, "").0), "{path}");
    }
}

/// A page of any site that somebody on this machine opened could keep the server busy.
#[test]
fn a_page_of_another_site_keeps_an_open_server_busy_with_nothing() {
    for (server, tls) in [(serve(TargetConfig::default()), false), (serve_tls(TargetConfig::default()), true)] {
        let mut client = if tls { Client::secure(&server, &trusting(ALL_VERSIONS)) } else { Client::new(&server) };
        let mut ask = |path: &str, header: &str| {
            client.send(&format!("GET {path} HTTP/1.1\r\nHost: own.test:80\r\n{header}\r\n\r\n"));
            let response = client.response();
            (response.status, response.text())
        };
        let foreign =
            ["Origin: http://evil.test", "origin: null", "Sec-Fetch-Site: cross-site", "SEC-FETCH-SITE: same-site"];
        for (path, header) in GUARDED.iter().flat_map(|path| foreign.iter().map(move |header| (path, header))) {
            let (status, answer) = ask(path, header);
            assert_eq!(status, 403, "{path} {header}: {answer}");
            assert!(answer.contains("other sites"), "{answer}");
        }
        let own = ["Origin: http://OWN.test:80", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none", "X-Origin: a"];
        for header in own {
            assert_eq!(ask("/cpu?us=1", header).0, 200, "{header}");
        }
        for (path, header) in OPEN.iter().flat_map(|path| foreign.iter().map(move |header| (path, header))) {
            assert!((200..300).contains(&ask(path, header).0), "{path} {header}");
        }
    }
    // With a token it is the token that counts: a page of another site has none.
    let server = serve(guarded(token()));
    let mut client = Client::new(&server);
    let bearer = format!("Bearer {SECRET}\r\nOrigin: http://dashboard.test");
    assert_eq!(ask(&mut client, "/cpu?us=1", &bearer).0, 200);
}
