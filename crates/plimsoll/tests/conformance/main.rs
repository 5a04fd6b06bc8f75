//! One contract, two servers: the built-in target and a site of our own on nginx with Lua answer the same requests in
//! the same way, or differ where the table says so and why.

mod servers;
#[allow(dead_code, unused_imports, reason = "these tests need less of it than those of loads")]
#[path = "../shared/mod.rs"]
mod shared;
mod table;

use servers::{Builtin, Nginx, Server};
use shared::{Answer, exchange};
use std::io::Write;
use table::{Expected, Row, rows};

#[test]
fn the_built_in_target_keeps_the_contract() {
    for server in [Builtin::start(), Builtin::start_with(&["--tls"])] {
        for row in rows() {
            check(&server, &row, &row.expected);
        }
    }
}

#[test]
fn nginx_keeps_the_contract_but_for_the_named_differences() {
    let server = Nginx::start();
    for row in rows() {
        check(&server, &row, row.on_nginx.as_ref().map_or(&row.expected, |(_, expected)| expected));
    }
}

/// What differs is explained, and does differ: a difference that is gone has to leave the table.
#[test]
fn every_difference_is_one_and_has_a_reason() {
    let rows = rows();
    assert!(rows.len() > 80, "{} rows", rows.len());
    for row in &rows {
        if let Some((why, expected)) = &row.on_nginx {
            assert!(why.len() > 20 && *expected != row.expected, "{}", row.name());
        }
    }
}

#[test]
fn bodies_nobody_reads_keep_nobody_waiting() {
    let servers: [&dyn Server; 3] = [&Builtin::start(), &Builtin::start_with(&["--tls"]), &Nginx::start()];
    for server in servers {
        let workers = server.workers();
        let unread = ["/zero?size=1GiB", "/urandom?size=1GiB", "/download?size=1GiB&chunk_size=64KiB"].map(|target| {
            let mut stream = server.endpoint().open();
            write!(stream, "GET {target} HTTP/1.1\r\nHost: t\r\n\r\n").expect("it reads");
            stream
        });
        for _ in 0..20 {
            serves_well(server, "others read nothing");
        }
        drop(unread);
        serves_well(server, "they left");
        assert_eq!(server.workers(), workers);
    }
}

/// Whoever copies a command from the page gets an answer.
#[test]
fn every_command_of_the_landing_page_works_as_it_stands() {
    for server in [Builtin::start(), Builtin::start_with(&["--tls"])] {
        commands_work(&server);
    }
}

fn commands_work(server: &Builtin) {
    let here = format!("{}://{}", server.endpoint().scheme(), server.endpoint().address);
    let trust = if server.endpoint().scheme() == "https" { "-k " } else { "" };
    let page = get(server, "/");
    let page = String::from_utf8(page.body).expect("HTML in UTF-8").replace("&amp;", "&");
    let commands = page.split("<code>curl -i ").skip(1).filter_map(|rest| rest.split_once("</code>"));
    let mut tried = 0;
    for (command, _) in commands.filter(|(command, _)| !command.contains("fault=drop")) {
        let command = command.strip_prefix(trust).expect("what a client has to be told");
        let (options, url) = command.trim_end_matches('\'').split_once('\'').expect("a quoted address");
        let target = url.strip_prefix(&here).expect("the host that was asked");
        let upload = options == "--data-binary hello ";
        assert!(upload || options.is_empty(), "{command}");
        assert_eq!(upload, target.starts_with("/upload"), "{command}");
        let (method, body) = if upload { ("POST", "Content-Length: 5\r\n\r\nhello") } else { ("GET", "\r\n") };
        let request = format!("{method} {target} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n{body}");
        let expected = match target {
            "/status/404" | "/pool" => 404,
            _ => 200,
        };
        assert_eq!(exchange(server.endpoint(), request.as_bytes()).status, expected, "{command}");
        tried += 1;
    }
    assert!(tried >= 18, "{tried} commands in {page}");
}

#[test]
fn flags_put_faults_on_every_answer_but_the_counters() {
    let broken = Builtin::start_with(&["--fault", "wrong-size=0.5", "--growth", "1us", "--ramp", "1ms/1s"]);
    let sizes: Vec<usize> = (0..4).map(|_| get(&broken, "/zero?size=100").body.len()).collect();
    assert_eq!(sizes, [100, 50, 100, 50]);
    let limited = Builtin::start_with(&["--limit", "1/2", "--first-byte", "1ms", "--body-rate", "1MB"]);
    let refused = (0..10).map(|_| get(&limited, "/zero")).find(|answer| answer.status == 429).expect("after two");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(get(&limited, "/stats").status, 200);
}

fn get(server: &dyn Server, target: &str) -> Answer {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.endpoint().address);
    exchange(server.endpoint(), request.as_bytes())
}

#[track_caller]
fn check(server: &dyn Server, row: &Row, expected: &Expected) {
    let workers = server.workers();
    let answer = exchange(server.endpoint(), &row.bytes());
    let name = format!("{} on {}", row.name(), server.name());
    expected.check(&answer, &name);
    if expected.status >= 400 {
        serves_well(server, &name);
        assert_eq!(server.workers(), workers, "{name}: a worker died");
    }
}

/// A good request is answered well.
#[track_caller]
fn serves_well(server: &dyn Server, after: &str) {
    let answer = exchange(server.endpoint(), b"GET /zero?size=64 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    let Answer { status, body, .. } = &answer;
    assert!(*status == 200 && body[..] == [0; 64], "after {after}: {answer:?}");
}
