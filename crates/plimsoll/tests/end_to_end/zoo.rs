//! Servers of `cargo xtask zoo` whose limit leaves the CPUs idle: all of them at a time change nothing of each other.

use crate::support::{Decider, text};
use lab::decide::side_by_side;
use lab::injections::real::Maker;
use lab::zoo;

const SET_UPS: &[&str] =
    &["haproxy-maxconn", "python-semaphore", "nagle", "gunicorn-sync", "nginx-limit-rate", "slow-lookup"];

#[test]
fn limits_of_servers_that_nobody_prepared_are_named() {
    let (decider, maker) = (Decider::new(), Maker::new(env!("CARGO_BIN_EXE_plimsoll")));
    let is_named = |name: &str| {
        let set_up = zoo::named(name);
        decider.decide(
            name,
            || set_up.limiter(&maker),
            |limiter| {
                let limiter = limiter.value.as_ref().unwrap_or_else(|problem| panic!("{name}: {problem}"));
                assert!(set_up.truth.contains(&text(limiter, "name")), "{:?}, not {limiter:#}", set_up.truth);
            },
        );
    };
    side_by_side(SET_UPS.len(), SET_UPS, |name| is_named(name));
}
