//! Servers of `cargo xtask zoo` whose limit leaves the CPUs idle, by sweeps of some seconds.

use crate::support::{Decider, text};
use lab::injections::real::Maker;
use lab::zoo;

/// They change nothing of each other.
const SET_UPS: &[&str] =
    &["haproxy-maxconn", "python-semaphore", "nagle", "gunicorn-sync", "varnish-backend-connections", "slow-lookup"];

#[test]
fn limits_of_servers_that_nobody_prepared_are_named() {
    let (decider, maker) = (Decider::new(), Maker::new(env!("CARGO_BIN_EXE_plimsoll")));
    let is_named = |name: &str| {
        let truth = zoo::truth(name);
        decider.decide(
            name,
            || zoo::in_seconds(&maker, name),
            |limiter| {
                let limiter = limiter.value.as_ref().unwrap_or_else(|problem| panic!("{name}: {problem}"));
                assert!(truth.contains(&text(limiter, "name")), "{name} is {truth:?}, not {limiter:#}");
            },
        );
    };
    let is_named = &is_named;
    std::thread::scope(|scope| {
        let tests: Vec<_> = SET_UPS.iter().map(|name| scope.spawn(move || is_named(name))).collect();
        tests.into_iter().for_each(|test| test.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}
