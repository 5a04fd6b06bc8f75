//! HAProxy and Varnish, each with another server behind it.

use crate::support::{Served, readable};
use crate::wait_for;
use std::fs::write;
use std::time::Duration;

fn names(served: &Served) -> Vec<String> {
    served.services().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn every_server_can_stand_behind_every_proxy() {
    for (proxy, said) in [("haproxy", "/haproxy-stats;csv"), ("varnish", "varnish")] {
        for behind in ["nginx", "apache", "lighttpd", "caddy"] {
            let served = Served::start(&[proxy, "--file-size", "5000", "--set", &format!("backend={behind}")]);
            assert_eq!(names(&served), [behind, proxy]);
            let answer = served.get("/", "");
            assert_eq!((answer.status, answer.body.len()), (200, 5000), "{proxy} {behind}: {}", answer.head);
            let program = answer.header("server").expect("it says what it is").to_lowercase();
            assert!(program.starts_with(behind), "{program} is not {behind}");
            // What only the proxy says.
            match proxy {
                "haproxy" => assert!(String::from_utf8_lossy(&served.get(said, "").body).contains("back,BACKEND")),
                _ => assert!(answer.header("via").is_some_and(|via| via.contains(said)), "{}", answer.head),
            }
            served.stop();
        }
    }
    let served = Served::start(&["haproxy", "--set", "backend=target", "--path", "/zero?size=77"]);
    assert_eq!(served.get("/zero?size=77", "").body, [0; 77]);
    served.stop();
}

#[test]
fn haproxy_ends_tls_and_compresses_and_logs() {
    let args = ["haproxy", "--tls", "on", "--gzip", "on", "--access-log", "on", "--workers", "2"];
    let served = Served::start(&args);
    let answer = served.get("/?mine", "Accept-Encoding: gzip\r\n");
    assert_eq!((answer.status, answer.header("content-encoding")), (200, Some("gzip")), "{}", answer.head);
    let log = served.state().join("log/haproxy.out");
    let logged = || {
        std::fs::read_to_string(&log)
            .is_ok_and(|text| text.lines().filter(|line| line.contains("GET /?mine")).count() == 1)
    };
    assert!(wait_for(Duration::from_secs(10), || logged().then_some(())).is_some(), "no line of it");
    served.stop();
}

#[test]
fn connections_to_a_proxy_stay_open_or_do_not() {
    for proxy in ["haproxy", "varnish"] {
        for (switch, expected) in [("on", 3), ("off", 1)] {
            let served = Served::start(&[proxy, "--keepalive", switch]);
            assert_eq!(served.answered_on_one_connection(3), expected, "{proxy} --keepalive {switch}");
            served.stop();
        }
    }
}

#[test]
fn varnish_keeps_what_it_may() {
    let root = readable(&[("index.html", "first")]);
    let path = root.path().display().to_string();
    for (ttl, expected) in [("1m", "first"), ("0s", "second")] {
        write(root.path().join("index.html"), "first").expect("a file");
        let served = Served::start(&["varnish", "--root", &path, "--set", &format!("ttl={ttl}")]);
        // It keeps answers by host: this one is ours.
        assert_eq!(served.get("/", "").body, b"first");
        write(root.path().join("index.html"), "second").expect("a file");
        assert_eq!(String::from_utf8_lossy(&served.get("/", "").body), expected, "ttl={ttl}");
        served.stop();
    }
    let served = Served::start(&["varnish", "--gzip", "on"]);
    let answer = served.get("/", "Accept-Encoding: gzip\r\n");
    assert_eq!(answer.header("content-encoding"), Some("gzip"), "{}", answer.head);
    served.stop();
}

#[test]
fn own_configurations_of_proxies_know_the_port_behind_them() {
    let folder = readable(&[]);
    let file = folder.path().join("own.conf");
    let own = file.display().to_string();
    for (proxy, text) in [
        (
            "haproxy",
            "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\nlisten all\n bind 127.0.0.1:{port}\n http-response set-header X-Own yes\n server one 127.0.0.1:{backend_port}\n",
        ),
        // Its port is on its command line.
        (
            "varnish",
            "vcl 4.1;\n# {port}\nbackend b { .host = \"127.0.0.1\"; .port = \"{backend_port}\"; }\nsub vcl_deliver { set resp.http.X-Own = \"yes\"; }\n",
        ),
    ] {
        write(&file, text).expect("a file");
        let served = Served::start(&[proxy, "--config", &own]);
        let answer = served.get("/", "");
        assert_eq!((answer.header("x-own"), answer.body.len()), (Some("yes"), 1024), "{proxy}");
        served.stop();
    }
}
