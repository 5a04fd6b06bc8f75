//! TLS as each of the servers speaks it, of libraries that are not ours: OpenSSL and Go.

use super::{SMALL, agrees, all_good, load, page};
use crate::support::{Certificate, Ended, Kind, Server, Site, count, plimsoll, text};

/// A certificate that fits and has not expired.
fn usual() -> Certificate {
    Certificate::new("127.0.0.1", 2040)
}

#[track_caller]
fn trusting(server: &Server, certificate: &Certificate, path: &str, args: &[&str]) -> Ended {
    let url = server.url(path);
    let all = ["run", &url, "--warmup", "0s", "--json", "--ca-cert", "ca.pem"];
    plimsoll(all.iter().chain(args)).with_file("ca.pem", certificate.pem.as_bytes()).run()
}

#[test]
fn a_certificate_is_trusted_when_it_is_named_and_only_then() {
    let certificate = usual();
    for kind in Kind::ALL {
        let site = Site { tls: Some(("TLSv1.3", &certificate)), ..Site::of(&[("small", SMALL)]) };
        let server = Server::start(kind, site);
        plimsoll(["run", &server.url("/small")]).run().fails(3, &["certificate", "-k"]);
        let insecure = all_good(&load(&server, "/small", &["-k", "-c", "2", "-n", "50"]), 50);
        assert_eq!(insecure["plan"]["tls"]["verify"], false);
        let record = all_good(&trusting(&server, &certificate, "/small", &["-c", "4", "-n", "500"]), 500);
        assert_eq!(text(&record, "tls.version"), "TLSv1.3", "{kind:?}");
        assert_eq!((count(&record, "connections.opened"), count(&record, "latency_ns.handshake.n")), (4, 4));
    }
}

#[test]
fn a_server_that_knows_tls_1_2_only_is_measured_too() {
    let certificate = usual();
    for kind in Kind::ALL {
        let site = Site { tls: Some(("TLSv1.2", &certificate)), ..Site::of(&[("small", SMALL)]) };
        let server = Server::start(kind, site);
        let record = all_good(&load(&server, "/small", &["-k", "-c", "2", "-n", "100"]), 100);
        assert_eq!(text(&record, "tls.version"), "TLSv1.2", "{kind:?}");
    }
}

#[test]
fn new_connections_resume_unless_told_not_to() {
    let certificate = usual();
    for kind in Kind::ALL {
        let site = Site { tls: Some(("TLSv1.3", &certificate)), ..Site::of(&[("small", SMALL)]) };
        let server = Server::start(kind, site);
        let args = ["-c", "2", "-n", "100", "--no-keepalive"];
        let record = all_good(&trusting(&server, &certificate, "/small", &args), 100);
        assert_eq!(count(&record, "latency_ns.handshake.n"), count(&record, "connections.opened"), "{kind:?}");
        assert!(count(&record, "tls.resumed") > 50, "{kind:?}: {:#}", record["tls"]);
        let args = [&args[..], &["--no-resumption"]].concat();
        let record = all_good(&trusting(&server, &certificate, "/small", &args), 100);
        assert_eq!(count(&record, "tls.resumed"), 0, "{kind:?}");
    }
}

#[test]
fn chunks_and_limits_of_connections_are_the_same_under_tls() {
    let certificate = usual();
    let page = page();
    let files: &[(&str, &[u8])] = &[("page.txt", &page)];
    for kind in [Kind::Nginx, Kind::Apache, Kind::Lighttpd] {
        let tls = Some(("TLSv1.3", &certificate));
        let site = Site { tls, requests_per_connection: 10, ..Site::of(files) };
        let server = Server::start(kind, site);
        let args = ["-c", "2", "-n", "100", "-H", "Accept-Encoding: gzip"];
        let record = all_good(&trusting(&server, &certificate, "/page.txt", &args), 100);
        let opened = count(&record, "connections.opened");
        assert!((100 / 11..=100 / 10 + 2).contains(&opened), "{kind:?}: {opened}");
        let size = count(&record, "plan.requests.0.contract.size_bytes.min");
        agrees(&record, server, "/page.txt", size..=size + 1000);
    }
}
