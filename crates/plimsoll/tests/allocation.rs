//! No allocation per request: what the engine allocates does not grow with the number of requests.
//!
//! A binary of its own, because it counts what the whole process allocates.

use model::{Contract, Load, Plan, Request, Stop, Target, TlsPlan};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Ticks allocate when they are merged and encoded, once a second; that must stay far below one for each request.
const ALLOCATIONS_PER_REQUEST_MAX: f64 = 0.02;

/// With TLS rustls allocates once for each record, of which a request and its answer are one each.
const TLS_ALLOCATIONS_PER_REQUEST_MAX: f64 = 2.5;

/// What the bodies of the target are made of.
const TEXT: &str = "0123456789abcdef";

struct Served {
    child: Child,
    target: Target,
    /// The certificate to trust, DER.
    certificates: Option<Vec<Vec<u8>>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("our own child can be ended");
    }
}

fn target(flags: &[&str]) -> Served {
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("target")
        .args(flags)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it listens");
    let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let (address, url) = (said["listening"].as_str().expect("an address"), said["url"].as_str().expect("a URL"));
    let target = Target {
        url: format!("{url}bytes/64"),
        authority: address.into(),
        address: address.parse().expect("an address"),
        connect_to: None,
        protocol: model::Protocol::default(),
    };
    let certificate = said["certificate"].as_str();
    let certificates = certificate.map(|pem| engine::tls::certificates(pem.as_bytes()).expect("PEM"));
    Served { child, target, certificates }
}

fn plan(served: &Served, requests: u64, keepalive: bool, text: Option<&str>) -> Plan {
    let tls = served.certificates.as_ref().map(|certificates| TlsPlan {
        verify: true,
        alpn: vec!["http/1.1".into()],
        resumption: true,
        server_name: "127.0.0.1".into(),
        extra_roots: certificates.clone(),
    });
    let contract = Contract { status: Some(200), body_text: text.map(Into::into), ..Contract::default() };
    Plan {
        tls,
        requests: vec![Request { contract, ..Request::get("/bytes/64") }],
        timeout_ns: 5_000_000_000,
        keepalive,
        seed: 1,
        ..Plan::new(served.target.clone(), Load::Closed { connections: 16 }, Stop::Count { requests })
    }
}

/// Allocations of a whole run of `requests`.
fn allocations(served: &Served, requests: u64, keepalive: bool, text: Option<&str>) -> f64 {
    let plan = plan(served, requests, keepalive, text);
    let region = Region::new(ALLOCATOR);
    let mut good = 0;
    let mut count = |event| {
        if let model::Event::Tick(tick) = event {
            good += tick.cohort.counts.good;
        }
    };
    engine::run::run(&plan, &engine::run::Control::default(), &mut count).expect("it runs");
    assert_eq!(good, requests);
    let change = region.change();
    (change.allocations + change.reallocations) as f64
}

/// Allocations that each further request costs, from `few` to `many`.
fn allocations_each(served: &Served, few: u64, many: u64, keepalive: bool, text: Option<&str>) -> f64 {
    allocations(served, few, keepalive, text);
    let grown = allocations(served, many, keepalive, text) - allocations(served, few, keepalive, text);
    grown / (many - few) as f64
}

/// One test, as what another allocated would be counted too.
#[test]
fn nothing_is_allocated_per_request_and_with_tls_little() {
    let plain = target(&[]);
    // The text is one that every body holds: `good` counts all of them.
    for (keepalive, text, many) in [(true, None, 101_000), (true, Some(TEXT), 51_000), (false, None, 21_000)] {
        let each = allocations_each(&plain, 1000, many, keepalive, text);
        assert!(
            each < ALLOCATIONS_PER_REQUEST_MAX,
            "keepalive {keepalive}, text {text:?}: {each} allocations for each request"
        );
    }
    let each = allocations_each(&target(&["--tls"]), 1000, 21_000, true, None);
    assert!(each < TLS_ALLOCATIONS_PER_REQUEST_MAX, "{each} allocations for each request over TLS");
}
