//! HAProxy and Varnish, each with another server behind it.

use crate::support::{Served, readable};
use crate::wait_for;
use std::fs::write;
use std::time::Duration;

/// A proxy before that server hands out its file, and says `said`.
#[track_caller]
fn stands_before(proxy: &str, behind: &str, said: fn(&Served) -> bool) {
    let served = Served::start(&[proxy, "--file-size", "5000", "--set", &format!("backend={behind}")]);
    let names: Vec<String> = served.services().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [behind, proxy]);
    let answer = served.get("/", "");
    assert_eq!((answer.status, answer.body.len()), (200, 5000), "{proxy} {behind}: {}", answer.head);
    let program = answer.header("server").expect("it says what it is").to_lowercase();
    assert!(program.starts_with(behind), "{program} is not {behind}");
    assert!(said(&served), "{proxy} does not stand before {behind}");
    served.stop();
}

#[test]
fn every_server_can_stand_behind_a_proxy() {
    for behind in ["nginx", "apache", "lighttpd", "caddy"] {
        stands_before("haproxy", behind, |served| {
            String::from_utf8_lossy(&served.get("/haproxy-stats;csv", "").body).contains("back,BACKEND")
        });
    }
    // Each start of Varnish compiles a program.
    stands_before("varnish", "apache", |served| {
        served.get("/", "").header("via").is_some_and(|via| via.contains("varnish"))
    });
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
    let log = served.state().join("out/haproxy.out");
    let logged = || {
        std::fs::read_to_string(&log)
            .is_ok_and(|text| text.lines().filter(|line| line.contains("GET /?mine")).count() == 1)
    };
    assert!(wait_for(Duration::from_secs(10), || logged().then_some(())).is_some(), "no line of it");
    served.stop();
}

#[test]
fn connections_to_a_proxy_stay_open_or_do_not() {
    for (switch, expected) in [("on", 3), ("off", 1)] {
        let served = Served::start(&["haproxy", "--keepalive", switch]);
        assert_eq!(served.answered_on_one_connection(3), expected, "--keepalive {switch}");
        served.stop();
    }
}

#[test]
fn varnish_keeps_answers_and_connections_as_it_is_told() {
    let root = readable(&[]);
    let index = root.path().join("index.html");
    let path = root.path().display().to_string();
    for (ttl, switch, keeps) in [("1m", "on", true), ("0s", "off", false)] {
        write(&index, [b'1'; 1024]).expect("a file");
        let args =
            ["varnish", "--root", &path, "--set", &format!("ttl={ttl}"), "--keepalive", switch, "--gzip", switch];
        let served = Served::start(&args);
        // It keeps answers by host: this one is ours.
        assert_eq!(served.get("/", "").body, [b'1'; 1024]);
        write(&index, [b'2'; 1024]).expect("a file");
        assert_eq!(served.get("/", "").body[0], if keeps { b'1' } else { b'2' }, "ttl={ttl}");
        assert_eq!(served.answered_on_one_connection(3), if keeps { 3 } else { 1 }, "--keepalive {switch}");
        let packed = served.get("/", "Accept-Encoding: gzip\r\n");
        assert_eq!(packed.header("content-encoding"), keeps.then_some("gzip"), "--gzip {switch}: {}", packed.head);
        served.stop();
    }
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
