//! Servers of the stack in the process of a test. Each ends with its value, and with the process.

use stack::{Options, Running, Spec};
use std::net::SocketAddr;
use std::sync::Arc;

/// A start that takes longer has failed; ns.
const READY_TIMEOUT_NS: u64 = 30_000_000_000;

/// Starts a server and waits until it answers what it should.
#[track_caller]
pub(crate) fn serve(spec: &Spec) -> Running {
    let plimsoll = env!("CARGO_BIN_EXE_plimsoll");
    let options = Options {
        supervisor: vec![plimsoll.into(), "keep".into()],
        own_program: plimsoll.into(),
        now_ns: clock::monotonic_ns,
        cpus: Vec::new(),
        ready_timeout_ns: READY_TIMEOUT_NS,
        stop: Arc::default(),
        keep_state: false,
        may_be_left: false,
    };
    Running::start(spec, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Where it listens.
#[track_caller]
pub(crate) fn address(server: &Running) -> SocketAddr {
    let authority = server.url().and_then(|url| url.split_once("://")?.1.split('/').next());
    authority.and_then(|text| text.parse().ok()).expect("an address")
}
