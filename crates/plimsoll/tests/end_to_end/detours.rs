//! `--unix-socket` and `--connect-to`: another way to the server, the same request.

use crate::support::{BrokenServer, Certificate, Target, count, plimsoll, text};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A target on a Unix socket in a directory of its own.
pub(crate) fn on_unix_socket(flags: &[&str]) -> (Target, String, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("target.sock").display().to_string();
    let listen = format!("unix:{path}");
    (Target::start(&[&["--listen", &listen], flags].concat()), path, directory)
}

#[track_caller]
fn run(args: &[&str]) -> Value {
    let all = ["run", "-c", "4", "-n", "300", "--warmup", "0s", "--json"];
    plimsoll(all.iter().chain(args)).run().measured().json()
}

#[test]
fn a_unix_socket_is_measured_like_a_port() {
    let (target, path, _directory) = on_unix_socket(&[]);
    assert_eq!(target.address(), format!("unix:{path}"));
    for more in [&[][..], &["--no-keepalive"], &["-R", "2000"]] {
        let record = run(&[&["http://shop.example/bytes/64KiB", "--unix-socket", &path], more].concat());
        assert_eq!(count(&record, "requests.good"), 300, "{more:?} {:#}", record["requests"]);
        assert_eq!(text(&record, "plan.target.address"), format!("unix:{path}"));
        assert_eq!(text(&record, "plan.target.authority"), "shop.example");
    }
}

#[test]
fn the_record_of_a_unix_socket_reads_back_and_names_it() {
    let (_target, path, _directory) = on_unix_socket(&[]);
    let args = ["run", "http://localhost/bytes/1", "--unix-socket", &path, "-n", "50", "-c", "2", "--warmup", "0s"];
    let ended = plimsoll(args).run();
    ended.measured();
    let directory = ended.run_directory();
    let shown = plimsoll(["report", &directory.display().to_string(), "--format", "text"]).run();
    assert!(shown.exits(0).stdout.contains(&format!("http://localhost/bytes/1 (unix:{path})")), "{shown:#?}");
}

#[test]
fn tls_over_a_unix_socket_works_too() {
    let (target, path, _directory) = on_unix_socket(&["--tls"]);
    let args = ["run", "https://localhost/bytes/64", "--unix-socket", &path, "--ca-cert", "ca.pem", "-n", "100"];
    let ended = plimsoll(args.iter().chain(&["-c", "2", "--warmup", "0s", "--json"]))
        .with_file("ca.pem", target.certificate().as_bytes())
        .run();
    assert_eq!(count(&ended.measured().json(), "requests.good"), 100);
}

#[test]
fn another_address_gets_the_request_of_the_url() {
    let hosts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&hosts);
    let server = BrokenServer::start(move |peer| {
        while let Some(request) = peer.request() {
            let host = request.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or_default().to_owned();
            seen.lock().expect("no test panics with it").push(host);
            if !peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") {
                return;
            }
        }
    });
    let url = server.url("");
    let address = url.strip_prefix("http://").expect("a URL");
    let ended = plimsoll(["run", "http://shop.invalid:81/", "--connect-to", address, "-c", "4", "-n", "300"]).run();
    let record: Value = serde_json::from_str(&ended.measured().recorded("run.json")).expect("JSON");
    assert_eq!(count(&record, "requests.good"), 300, "{:#}", record["requests"]);
    assert_eq!(text(&record, "plan.target.address"), address);
    assert_eq!(text(&record, "plan.target.connect_to"), address);
    let page = ended.recorded("report.html");
    assert!(page.contains("connected to") && page.contains(&format!("{address} (--connect-to)")), "not on the page");
    let hosts = hosts.lock().expect("no test panics with it");
    assert!(hosts.len() >= 300 && hosts.iter().all(|host| host == "shop.invalid:81"), "{hosts:?}");
}

#[test]
fn the_name_in_the_certificate_stays_that_of_the_url() {
    let certificate = Certificate::new("shop.invalid", 2040);
    let directory = tempfile::tempdir().expect("a directory");
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| directory.path().join(name).display().to_string());
    std::fs::write(&cert, &certificate.pem).expect("a file");
    std::fs::write(&key, &certificate.key_pem).expect("a file");
    let target = Target::start(&["--tls", "--cert", &cert, "--key", &key]);
    let to = format!("shop.invalid:443:{}", target.address());
    let record = run(&["https://shop.invalid/bytes/64", "--connect-to", &to, "--ca-cert", &cert]);
    assert_eq!(count(&record, "requests.good"), 300, "{:#}", record["requests"]);
    let url = target.url("/bytes/64");
    plimsoll(["run", &url, "--ca-cert", &cert]).run().fails(3, &["for another name", "shop.invalid"]);
}

#[test]
fn ways_that_lead_nowhere_are_named() {
    let url = "http://localhost/";
    let refused = |flag: &str, value: &str, code: i32, named: &[&str]| {
        plimsoll(["run", url, flag, value]).run().fails(code, named);
        plimsoll(["sweep", url, flag, value]).run().fails(code, named);
    };
    refused("--unix-socket", "/nowhere/at-all", 3, &["unix:/nowhere/at-all", "no such socket"]);
    refused("--unix-socket", "/dev/null", 2, &["--unix-socket", "/dev/null", "no socket"]);
    refused("--unix-socket", "", 2, &["--unix-socket"]);
    refused("--unix-socket", &"x".repeat(109), 2, &["--unix-socket", "at most 108 bytes"]);
    refused("--connect-to", "nowhere", 2, &["--connect-to", "nowhere", "HOST:PORT"]);
    refused("--connect-to", "other:80:localhost:1", 2, &["--connect-to", "another host", url]);
    refused("--connect-to", "nowhere.invalid:80", 3, &["cannot find the host", "nowhere.invalid"]);
    refused("--connect-to", "127.0.0.1:1", 3, &["127.0.0.1:1", "connection refused"]);
    let both = ["run", url, "--unix-socket", "/dev/null", "--connect-to", "127.0.0.1:1"];
    plimsoll(both).run().fails(2, &["--unix-socket", "--connect-to"]);
    let named = "fastcgi+unix:/nowhere/app.sock:/srv/index.php";
    for way in [["--unix-socket", "/nowhere/b.sock"], ["--connect-to", "127.0.0.1:1"], ["--server-ip", "127.0.0.1"]] {
        plimsoll(["run", named].iter().chain(&way)).run().fails(2, &[way[0], named, "say two different things"]);
    }
    plimsoll(["run", "--unix-socket", "/dev/null"]).run().fails(2, &["--unix-socket", "needs a URL"]);
    plimsoll(["sweep", "--connect-to", "127.0.0.1:1"]).run().fails(2, &["--connect-to", "needs a URL"]);
    // A file that nobody listens behind any more.
    let directory = tempfile::tempdir().expect("a directory");
    let stale = directory.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).expect("a socket"));
    let stale = stale.display().to_string();
    refused("--unix-socket", &stale, 3, &[&stale, "nothing listens there"]);
}
