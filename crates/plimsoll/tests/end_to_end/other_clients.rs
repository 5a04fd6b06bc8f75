//! curl, wrk, ab and httperf against `plimsoll target`: it is a web server for everybody.

use crate::support::{Program, Target, installed};

#[test]
fn curl_gets_exactly_the_bytes_it_asks_for() {
    let curl = installed("curl", "curl");
    let target = Target::start(&[]);
    for (path, size) in [
        ("/bytes/0", 0),
        ("/bytes/1", 1),
        ("/bytes/64KiB", 65_536),
        ("/bytes/10MB", 10_000_000),
        ("/bytes/64KiB?chunked", 65_536),
        ("/bytes/3MB?chunked=1", 3_000_000),
    ] {
        for version in ["--http1.1", "--http1.0"] {
            let url = target.url(path);
            let args = ["-sS", version, "-o", "body", "-w", "%{http_code} %{size_download}", &url];
            let ended = Program::new(curl.clone(), args).run();
            assert_eq!(ended.exits(0).stdout, format!("200 {size}"), "{path} {version}");
            let body = ended.file("body");
            assert_eq!(body.len(), size);
            assert!(body.bytes().zip(b"0123456789abcdef".iter().cycle()).all(|(got, expected)| got == *expected));
        }
    }
}

#[test]
fn curl_reuses_its_connection_and_posts() {
    let curl = installed("curl", "curl");
    let target = Target::start(&[]);
    let urls = ["/bytes/1", "/bytes/2", "/status/404"].map(|path| target.url(path));
    let write = ["-sS", "-w", " %{http_code} %{num_connects}\n"].map(String::from);
    let ended = Program::new(curl.clone(), write.iter().chain(&urls)).run();
    assert_eq!(ended.exits(0).stdout, "0 200 1\n01 200 0\nstatus 404\n 404 0\n");
    let upload = Program::new(curl, ["-sS", "--data-binary", "@form", &target.url("/upload?expect=100000")]);
    let ended = upload.with_file("form", &[b'x'; 100_000]).run();
    assert_eq!(ended.exits(0).stdout, "{\"received_bytes\":100000,\"crc32\":\"fe071171\"}\n");
}

#[test]
fn curl_speaks_tls_and_finds_unix_sockets() {
    let curl = installed("curl", "curl");
    let target = Target::start(&["--tls"]);
    let localhost = target.url("/bytes/64KiB").replace("127.0.0.1", "localhost");
    for version in [&["--tls-max", "1.2"][..], &["--tlsv1.3"], &["--http2"]] {
        let args = ["-sS", "--cacert", "ca.pem", "-o", "body", "-w", "%{http_code} %{http_version} %{size_download}"];
        let ended = Program::new(curl.clone(), args.iter().chain(version).chain(&[localhost.as_str()]))
            .with_file("ca.pem", target.certificate().as_bytes())
            .run();
        assert_eq!(ended.exits(0).stdout, "200 1.1 65536", "{version:?}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("target.sock").display().to_string();
    let target = Target::start(&["--listen", &format!("unix:{path}")]);
    let url = target.url("/bytes/5");
    let ended = Program::new(curl, ["-sS", "--unix-socket", &path, &url]).run();
    assert_eq!((ended.exits(0).stdout.as_str(), url.as_str()), ("01234", "http://localhost/bytes/5"));
    target.stop();
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn wrk_finishes_without_errors() {
    let wrk = installed("wrk", "wrk");
    let target = Target::start(&[]);
    let ended = Program::new(wrk, ["-t1", "-c8", "-d1s", &target.url("/bytes/1KiB")]).run();
    let said = &ended.exits(0).stdout;
    assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
    let requests = said.lines().find_map(|line| line.trim().split_once(" requests in ")).expect("a summary").0;
    let requests: u64 = requests.parse().expect("a number");
    // wrk stops in the middle: what was under way is seen by the target only.
    assert!((requests..=requests + 8).contains(&target.seen().1), "{requests} and {:?}", target.seen());
    assert!(requests > 500, "{said}");
}

/// The number that stands after a label in what a client printed.
#[track_caller]
fn said(text: &str, label: &str) -> u64 {
    let after = text.split_once(label).unwrap_or_else(|| panic!("no {label:?} in {text}")).1;
    let number: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    number.parse().unwrap_or_else(|_| panic!("no number after {label:?} in {text}"))
}

/// ab speaks HTTP/1.0, and with `-k` asks for the connection to be kept.
#[test]
fn ab_counts_what_the_target_counts() {
    let ab = installed("ab", "apache2-utils");
    for (keep, path) in [(false, "/bytes/1KiB"), (true, "/bytes/1KiB"), (false, "/bytes/1KiB?chunked")] {
        let target = Target::start(&[]);
        let url = target.url(path);
        let args = ["-n", "500", "-c", "4", "-q"].into_iter().chain(keep.then_some("-k")).chain([&url[..]]);
        let ended = Program::new(ab.clone(), args).run();
        let text = &ended.exits(0).stdout;
        assert_eq!((said(text, "Complete requests:"), said(text, "Failed requests:")), (500, 0), "{text}");
        assert_eq!(said(text, "HTML transferred:"), 500 * 1024, "{text}");
        assert!(!text.contains("Non-2xx"), "{text}");
        let (connections, requests) = target.seen();
        if keep {
            assert_eq!((said(text, "Keep-Alive requests:"), requests, connections), (500, 500, 4));
        } else {
            // ab opens connections that it does not need any more when it stops.
            assert!(requests == 500 && (500..=504).contains(&connections), "{requests} on {connections}");
        }
    }
}

#[test]
fn httperf_counts_what_the_target_counts() {
    let httperf = installed("httperf", "httperf");
    for (version, calls) in [("1.0", "1"), ("1.1", "1"), ("1.1", "5")] {
        let target = Target::start(&[]);
        let port = target.url("").rsplit_once(':').expect("a port").1.to_owned();
        let server = ["--server=127.0.0.1", "--uri=/bytes/1KiB", "--rate=500", "--num-conns=100"].map(String::from);
        let rest = [format!("--port={port}"), format!("--http-version={version}"), format!("--num-calls={calls}")];
        let ended = Program::new(httperf.clone(), server.into_iter().chain(rest)).run();
        let text = &ended.exits(0).stdout;
        let expected = 100 * calls.parse::<u64>().expect("a number");
        assert_eq!((said(text, "2xx="), said(text, "Errors: total")), (expected, 0), "{text}");
        assert_eq!((said(text, "content"), said(text, "requests")), (1024, expected), "{text}");
        assert_eq!(target.seen(), (100, expected), "HTTP/{version}");
    }
}
