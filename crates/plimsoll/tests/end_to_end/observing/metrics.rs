//! `--prometheus`: what is answered, and where it may be.

use super::{Burner, TIMEOUT, series};
use crate::support::{Endpoint, exchange, plimsoll, wait_for};
use rustix::process::Signal;
use std::net::{SocketAddr, TcpListener};

#[track_caller]
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

fn get(address: SocketAddr, path: &str) -> crate::support::Answer {
    get_of(&address.to_string(), address, path)
}

/// The same for a Host of one's own.
fn get_of(host: &str, address: SocketAddr, path: &str) -> crate::support::Answer {
    exchange(
        &Endpoint::plain(address),
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
    )
}

#[test]
fn prometheus_gets_counters_that_grow_and_levels_of_now() {
    let mut burner = Burner::start();
    let (target, address) = (burner.pid().to_string(), free_port());
    let program = plimsoll(["observe", &target, "-q", "-i", "100ms", "--prometheus", &address.to_string()]).start();
    wait_for(TIMEOUT, || std::net::TcpStream::connect(address).ok()).expect("it answers");
    let fetch = || String::from_utf8(get(address, "/metrics").body).expect("text");
    let cpu = format!("plimsoll_cpu_seconds_total{{target=\"{target}\",process=\"sh\"}}");
    let first = wait_for(TIMEOUT, || series(&fetch(), &cpu)).expect("a first look");
    burner.burn();
    let grown = wait_for(TIMEOUT, || series(&fetch(), &cpu).filter(|value| *value > first + 0.1));
    let text = fetch();
    assert!(grown.is_some(), "{text}");
    let rss = series(&text, &format!("plimsoll_resident_memory_bytes{{target=\"{target}\"}}")).expect("a level");
    assert!(rss > 100_000.0 && rss % 4096.0 == 0.0, "{rss}");
    for name in [
        "plimsoll_machine_cpu_seconds_total{mode=\"user\"}",
        "plimsoll_machine_cpus{}",
        "plimsoll_look_cpu_seconds_total{}",
    ] {
        assert!(series(&text, name).is_some_and(|value| value > 0.0), "{name} in {text}");
    }
    // Each line is a comment or a series with a number, each metric is described, and the end is marked.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok() && name.starts_with("plimsoll_"), "{line}");
        let family = name.split('{').next().expect("a name");
        let family = family.strip_suffix("_total").unwrap_or(family);
        assert!(text.contains(&format!("# TYPE {family} ")) && text.contains(&format!("# HELP {family} ")), "{line}");
    }
    assert!(text.ends_with("# EOF\n"));
    let answer = get(address, "/metrics");
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    assert_eq!((get(address, "/").status, get(address, "/metrics?x=1").status), (404, 200));
    // A page whose name leads here (DNS rebinding) would read the names of processes.
    let of_page = get_of("evil.example", address, "/metrics");
    assert_eq!(of_page.status, 421);
    assert_eq!(String::from_utf8_lossy(&of_page.body).lines().count(), 1);
    assert_eq!(get_of(&format!("localhost:{}", address.port()), address, "/metrics").status, 200);
    program.signal(Signal::INT);
    assert!(program.end().exits(0).stdout.contains("samples: "));
}

#[test]
fn only_free_addresses_of_loopback_are_taken() {
    for address in ["0.0.0.0:9101", "192.0.2.1:9101", "[::]:9101"] {
        plimsoll(["observe", "--prometheus", address]).run().fails(2, &[address, "not an address of loopback"]);
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    plimsoll(["observe", "--prometheus", &address]).run().fails(2, &["--prometheus", &address, "in use"]);
    plimsoll(["observe", "--prometheus", "9101"]).run().fails(2, &["--prometheus", "9101"]);
}
