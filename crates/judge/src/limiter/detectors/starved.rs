//! A server that keeps the connections it serves, while others are never served, and whose plateau nothing else explains.

use super::{Detection, Signal, figures};
use crate::facts::{per_iteration, starved};
use crate::limiter::input::LimiterInput;
use crate::limiter::pools::pools;
use model::human::{percent, time};

/// A curve that bends below this share of the connections that were served bends for something else.
const BENDS_BEFORE: f64 = 0.75;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    if input.evidence.connections.fairness.is_none() {
        return Detection::Unchecked("responses by connection not counted");
    }
    // Where each request has a connection of its own no worker keeps one: who waits that long has bad luck in a queue.
    let Some(fairness) = starved(input.evidence).filter(|_| input.evidence.plan.keepalive) else {
        return Detection::Clear;
    };
    let mean = |n: u64| per_iteration(input.evidence, n);
    let served = mean(fairness.answered);
    // Tomcat with 4 threads and 10 connections: the threads were full with 4 connections already.
    if input.shape.pool.is_some_and(|fit| fit.knee < BENDS_BEFORE * served) {
        return Detection::Clear;
    }
    let busy = match input.server_cpus() {
        Some(cpus) => format!(", with the CPUs {} busy", percent(cpus.busy)),
        None => String::new(),
    };
    // As many workers as connections that were served; else it is a limit of connections, whoever serves them.
    let pool = pools(input).into_iter().find(|pool| (pool.workers - served).abs() < 1.0);
    let (resource, keeps) = match &pool {
        Some(pool) => (
            pool.resource(),
            format!("each of the {} keeps one connection; give it more workers than connections", pool.resource()),
        ),
        None => (
            "connections served".to_owned(),
            "something lets no more connections in than these, or each of as many workers keeps one; look for a limit of \
             connections or workers"
                .to_owned(),
        ),
    };
    let says = format!(
        "{served:.0} of {:.0} connections were served, {:.0} never (each waited at least {}){busy}: {keeps}, limit \
         keep-alive, or use --no-keepalive",
        mean(fairness.connections),
        mean(fairness.starved),
        time(fairness.starved_ns.unwrap_or(0) as f64)
    );
    Detection::hit(Signal {
        name: "starved",
        resource,
        says,
        queue: true,
        evidence: figures([
            ("connections", fairness.connections as f64),
            ("served", fairness.answered as f64),
            ("starved", fairness.starved as f64),
            ("starved_ns", fairness.starved_ns.unwrap_or(0) as f64),
            ("fairness_index", fairness.index().unwrap_or(0.0)),
        ]),
        // Who is never served says nothing of how much could be.
        hides_next: true,
        ..Signal::default()
    })
}
