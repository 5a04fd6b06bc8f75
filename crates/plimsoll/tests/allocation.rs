//! No allocation per request: what the engine allocates does not grow with the number of requests.
//!
//! A binary of its own, because it counts what the whole process allocates.

use model::{Contract, Load, Plan, Request, Stop, Target, Warmup};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Ticks allocate when they are merged and encoded, once a second; that must stay far below one for each request.
const ALLOCATIONS_PER_REQUEST_MAX: f64 = 0.02;

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("our own child can be ended");
    }
}

fn target() -> (Served, SocketAddr) {
    let mut child =
        Command::new(env!("CARGO_BIN_EXE_plimsoll")).arg("target").stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it listens");
    let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let address = said["listening"].as_str().expect("an address").parse().expect("an address");
    (Served(child), address)
}

fn plan(address: SocketAddr, requests: u64, keepalive: bool) -> Plan {
    Plan {
        target: Target { url: format!("http://{address}/bytes/64"), authority: address.to_string(), address },
        tls: None,
        request: Request {
            method: "GET".into(),
            path: "/bytes/64".into(),
            headers: Vec::new(),
            body_bytes: 0,
            body: Vec::new(),
        },
        load: Load::Closed { connections: 16 },
        stop: Stop::Count { requests },
        warmup: Warmup::Fixed { duration_ns: 0 },
        timeout_ns: 5_000_000_000,
        keepalive,
        threads: 1,
        cpus: Vec::new(),
        contract: Contract { status: Some(200), size_bytes: None, declared: false },
        seed: 1,
    }
}

/// Allocations of a whole run of `requests`.
fn allocations(address: SocketAddr, requests: u64, keepalive: bool) -> f64 {
    let region = Region::new(ALLOCATOR);
    let mut good = 0;
    let mut count = |event| {
        if let model::Event::Tick(tick) = event {
            good += tick.cohort.good;
        }
    };
    engine::run::run(&plan(address, requests, keepalive), &AtomicBool::new(false), &mut count).expect("it runs");
    assert_eq!(good, requests);
    let change = region.change();
    (change.allocations + change.reallocations) as f64
}

#[test]
fn nothing_is_allocated_per_request() {
    let (_served, address) = target();
    for (keepalive, few, many) in [(true, 1000, 101_000), (false, 1000, 21_000)] {
        allocations(address, few, keepalive);
        let grown = allocations(address, many, keepalive) - allocations(address, few, keepalive);
        let each = grown / (many - few) as f64;
        assert!(each < ALLOCATIONS_PER_REQUEST_MAX, "keepalive {keepalive}: {each} allocations for each request");
    }
}
