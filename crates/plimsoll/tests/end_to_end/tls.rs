//! https:// URLs: against nginx with TLS 1.2 and 1.3, and against servers whose TLS is wrong.

use crate::support::{BrokenServer, Certificate, Ended, Findings, Nginx, Target, count, number, plimsoll, text};
use serde_json::Value;

const SMALL: &[u8] = &[b'.'; 64];

/// A certificate that fits and has not expired.
fn usual() -> Certificate {
    Certificate::new("127.0.0.1", 2040)
}

#[track_caller]
fn run(nginx: &Nginx, certificate: &Certificate, args: &[&str]) -> Value {
    let url = nginx.url("/small");
    let all = ["run", &url, "--warmup", "0s", "--json", "--ca-cert", "ca.pem"];
    plimsoll(all.iter().chain(args)).with_file("ca.pem", certificate.pem.as_bytes()).run().measured().json()
}

#[test]
fn both_versions_are_measured_without_a_failure() {
    let certificate = usual();
    for version in ["TLSv1.2", "TLSv1.3"] {
        let nginx = Nginx::secure(&[("small", SMALL)], version, &certificate);
        let record = run(&nginx, &certificate, &["-c", "8", "-n", "2000"]);
        assert_eq!(count(&record, "requests.good"), 2000, "{:#}", record["requests"]);
        assert_eq!((count(&record, "connections.opened"), count(&record, "latency_ns.handshake.n")), (8, 8));
        assert!(number(&record, "latency_ns.handshake.p50") > 10e3, "{:#}", record["latency_ns"]);
        assert_eq!(text(&record, "tls.version"), version);
        assert!(text(&record, "tls.cipher").starts_with("TLS_"), "{:#}", record["tls"]);
        assert_eq!(record["plan"]["tls"]["verify"], true);
        Findings(&record).invalid_only_by(&["LD-04"]);
    }
}

#[test]
fn each_new_connection_resumes_unless_told_not_to() {
    let certificate = usual();
    for version in ["TLSv1.2", "TLSv1.3"] {
        let nginx = Nginx::secure(&[("small", SMALL)], version, &certificate);
        let args = ["-c", "4", "-n", "200", "--no-keepalive"];
        let resumed = run(&nginx, &certificate, &args);
        assert_eq!(count(&resumed, "requests.good"), 200, "{:#}", resumed["requests"]);
        assert_eq!(count(&resumed, "latency_ns.handshake.n"), count(&resumed, "connections.opened"));
        assert!(count(&resumed, "tls.resumed") > 100, "{version}: {:#}", resumed["tls"]);
        let full = run(&nginx, &certificate, &[&args[..], &["--no-resumption"]].concat());
        assert_eq!((count(&full, "requests.good"), count(&full, "tls.resumed")), (200, 0), "{version}");
    }
}

#[test]
fn answers_and_bodies_of_many_records_are_whole() {
    let certificate = usual();
    let large = vec![b'x'; 300_000];
    let nginx = Nginx::secure(&[("small", &large)], "TLSv1.3", &certificate);
    let record = run(&nginx, &certificate, &["-c", "4", "-n", "200"]);
    assert_eq!(count(&record, "requests.good"), 200, "{:#}", record["requests"]);
    assert_eq!(count(&record, "plan.requests.0.contract.size_bytes.min"), 300_000);
    // More than the socket takes at once; nginx answers 405 to a POST of a file.
    let url = nginx.url("/small");
    let size = ["-c", "2", "-n", "20", "--warmup", "0s", "--json", "--expect", "status=405"];
    let ended = plimsoll(["run", &url, "-k", "-m", "POST", "-b", "@body"].iter().chain(&size))
        .with_file("body", &vec![b'y'; 900_000])
        .run();
    let record = ended.measured().json();
    assert_eq!(count(&record, "requests.good"), 20, "{:#}", record["requests"]);
    assert!(count(&record, "bytes.sent") >= 20 * 900_000, "{:#}", record["bytes"]);
}

#[test]
fn an_open_loop_and_a_sweep_work_too() {
    let certificate = usual();
    let nginx = Nginx::secure(&[("small", SMALL)], "TLSv1.3", &certificate);
    let record = run(&nginx, &certificate, &["-R", "200", "-c", "8", "-d", "1s"]);
    assert_eq!(count(&record, "requests.good"), count(&record, "requests.planned"), "{:#}", record["requests"]);
    let url = nginx.url("/small");
    let size = ["-d", "500ms", "--warmup", "100ms", "--iterations", "1", "--points", "2", "--to", "2", "--json"];
    let ended = plimsoll(["sweep", &url, "-k"].iter().chain(&size)).run();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:#?}");
    assert_eq!(text(&ended.json()["points"][0], "tls.version"), "TLSv1.3");
}

/// What `run` makes of a server with this certificate.
#[track_caller]
fn meets(certificate: &Certificate, ca: &str) -> Ended {
    let nginx = Nginx::secure(&[("small", SMALL)], "TLSv1.3", certificate);
    let url = nginx.url("/small");
    plimsoll(["run", &url, "-d", "1s", "--ca-cert", "ca.pem"]).with_file("ca.pem", ca.as_bytes()).run()
}

#[test]
fn certificates_that_cannot_be_trusted_are_said_with_the_way_out() {
    let expired = Certificate::new("127.0.0.1", 2021);
    meets(&expired, &expired.pem).fails(3, &["127.0.0.1:", "certificate has expired", "-k"]);
    let other = Certificate::new("other.test", 2040);
    meets(&other, &other.pem).fails(3, &["for another name", "other.test", "-k"]);
    let ca = Certificate::new("stranger.test", 2040);
    meets(&usual(), &ca.pem).fails(3, &["self-signed", "--ca-cert FILE", "-k"]);
}

#[test]
fn insecure_takes_any_certificate_and_says_so() {
    let nginx = Nginx::secure(&[("small", SMALL)], "TLSv1.3", &Certificate::new("other.test", 2021));
    let url = nginx.url("/small");
    let ended = plimsoll(["run", &url, "-k", "-c", "2", "-n", "50", "--warmup", "0s", "-q"]).run();
    ended.measured();
    assert!(ended.stdout.contains("TLSv1.3") && ended.stdout.contains("certificate not checked"), "{ended:#?}");
}

#[test]
fn the_wrong_scheme_for_a_port_is_said() {
    let plain = Nginx::start(&[("small", SMALL)]);
    let url = format!("https://127.0.0.1:{}/small", plain.port());
    plimsoll(["run", &url, "-k"]).run().fails(3, &["does not speak TLS", "http://"]);
    let secure = Nginx::secure(&[("small", SMALL)], "TLSv1.3", &usual());
    let url = format!("http://127.0.0.1:{}/small", secure.port());
    plimsoll(["run", &url]).run().fails(3, &["this port wants https", "https://"]);
    let target = Target::start(&["--tls"]);
    let url = target.url("/").replace("https:", "http:");
    plimsoll(["run", &url]).run().fails(3, &["this port wants https", "https://"]);
}

#[test]
fn servers_that_leave_the_handshake_are_said() {
    let closes = BrokenServer::start(|peer| {
        peer.send(b"");
    });
    let url = closes.url("/").replace("http:", "https:");
    let ended = plimsoll(["run", &url, "-k", "--timeout", "2s"]).run();
    ended.fails(3, &["127.0.0.1:"]);
    // A close with unread bytes may be a reset.
    assert!(ended.stderr.contains("closed the connection in the TLS handshake") || ended.stderr.contains("reset"));
    let alert = BrokenServer::start(|peer| {
        peer.send(b"\x15\x03\x03\x00\x02\x02\x28");
        peer.hold();
    });
    let url = alert.url("/").replace("http:", "https:");
    plimsoll(["run", &url, "-k"]).run().fails(3, &["refused TLS", "handshake failure"]);
    let silent = BrokenServer::start(|peer| peer.hold());
    let url = silent.url("/").replace("http:", "https:");
    plimsoll(["run", &url, "-k", "--timeout", "300ms"])
        .run()
        .fails(3, &["did not finish the TLS handshake within 300ms"]);
}

#[test]
fn a_server_that_wants_to_know_the_client_is_said() {
    let certificate = usual();
    // As `ssl_verify_client on` answers, but not those who look whether it is up.
    let more = "ssl_verify_client optional; ssl_client_certificate cert.pem; \
                location = /small { if ($ssl_client_verify = NONE) { return 496; } }";
    let nginx = Nginx::secure_with(&[("small", SMALL)], "TLSv1.3", &certificate, more);
    plimsoll(["run", &nginx.url("/small"), "-k"]).run().fails(3, &["127.0.0.1:", "demands a client certificate"]);
}

#[test]
fn without_a_url_the_built_in_target_speaks_tls_and_is_trusted() {
    let ended = plimsoll(["run", "--tls", "-c", "4", "-n", "200", "--warmup", "0s", "--json", "--no-keepalive"]).run();
    let record = ended.measured().json();
    assert_eq!(count(&record, "requests.good"), 200, "{:#}", record["requests"]);
    assert!(text(&record, "plan.target.url").starts_with("https://127.0.0.1:"), "{:#}", record["plan"]);
    assert_eq!((text(&record, "tls.version"), &record["plan"]["tls"]["verify"]), ("TLSv1.3", &Value::Bool(true)));
    assert!(count(&record, "tls.resumed") > 100, "{:#}", record["tls"]);
    let size = ["-d", "500ms", "--warmup", "100ms", "--iterations", "1", "--points", "2", "--to", "2", "--json"];
    let ended = plimsoll(["sweep", "--tls"].iter().chain(&size)).run();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:#?}");
    assert_eq!(text(&ended.json()["points"][0], "tls.version"), "TLSv1.3");
}

/// A certificate as `openssl req -x509` makes it may sign others; named with `--ca-cert` it is trusted all the same.
#[test]
fn the_target_shows_a_certificate_of_ones_own() {
    let certificate = Certificate::that_may_sign("127.0.0.1", 2040);
    let directory = tempfile::tempdir().expect("a directory");
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| directory.path().join(name).display().to_string());
    std::fs::write(&cert, &certificate.pem).expect("a file");
    std::fs::write(&key, &certificate.key_pem).expect("a file");
    let target = Target::start(&["--tls", "--cert", &cert, "--key", &key]);
    assert_eq!(target.certificate(), certificate.pem);
    let url = target.url("/bytes/64");
    let args = ["run", &url, "--ca-cert", &cert, "-c", "2", "-n", "50", "--warmup", "0s", "--json"];
    assert_eq!(count(&plimsoll(args).run().measured().json(), "requests.good"), 50);
    plimsoll(["run", &url, "-d", "1s"]).run().fails(3, &["self-signed", "--ca-cert FILE", "-k"]);
}
