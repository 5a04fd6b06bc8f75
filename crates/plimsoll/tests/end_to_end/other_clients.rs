//! curl and wrk against `plimsoll target`: it is a web server for everybody.

use crate::support::{Program, Target, installed, load_alone};

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
    let _alone = load_alone();
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
