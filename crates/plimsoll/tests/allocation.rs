//! No allocation per request: what the engine allocates does not grow with the number of requests.
//!
//! A binary of its own, because it counts what the whole process allocates.

use model::{Contract, Load, Numbering, Plan, Request, Stop, Target, Warmup};
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

/// What the bodies of the target are made of.
const TEXT: &str = "0123456789abcdef";

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

fn plan(address: SocketAddr, requests: u64, keepalive: bool, text: Option<&str>) -> Plan {
    Plan {
        target: Target { url: format!("http://{address}/bytes/64"), authority: address.to_string(), address },
        tls: None,
        requests: vec![Request {
            contract: Contract { status: Some(200), body_text: text.map(Into::into), ..Contract::default() },
            ..Request::get("/bytes/64")
        }],
        pipeline: 1,
        numbering: Numbering::default(),
        load: Load::Closed { connections: 16 },
        stop: Stop::Count { requests },
        warmup: Warmup::Fixed { duration_ns: 0 },
        timeout_ns: 5_000_000_000,
        keepalive,
        threads: 1,
        cpus: Vec::new(),
        seed: 1,
    }
}

/// Allocations of a whole run of `requests`.
fn allocations(address: SocketAddr, requests: u64, keepalive: bool, text: Option<&str>) -> f64 {
    let plan = plan(address, requests, keepalive, text);
    let region = Region::new(ALLOCATOR);
    let mut good = 0;
    let mut count = |event| {
        if let model::Event::Tick(tick) = event {
            good += tick.cohort.good;
        }
    };
    engine::run::run(&plan, &AtomicBool::new(false), &mut count).expect("it runs");
    assert_eq!(good, requests);
    let change = region.change();
    (change.allocations + change.reallocations) as f64
}

#[test]
fn nothing_is_allocated_per_request() {
    let (_served, address) = target();
    // The text is one that every body holds: `good` counts all of them.
    for (keepalive, text, few, many) in
        [(true, None, 1000, 101_000), (true, Some(TEXT), 1000, 51_000), (false, None, 1000, 21_000)]
    {
        allocations(address, few, keepalive, text);
        let grown = allocations(address, many, keepalive, text) - allocations(address, few, keepalive, text);
        let each = grown / (many - few) as f64;
        assert!(
            each < ALLOCATIONS_PER_REQUEST_MAX,
            "keepalive {keepalive}, text {text:?}: {each} allocations for each request"
        );
    }
}
