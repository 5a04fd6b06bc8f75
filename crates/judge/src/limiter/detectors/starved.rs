//! A server that keeps the connections it serves, while others are never served.

use super::{Change, Detection, Signal, figures};
use crate::facts::{per_iteration, starved};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use crate::limiter::pools::pools;
use model::Load;
use model::human::{percent, time};

/// With busier CPUs more workers would share what the served ones have.
const CPUS_BUSY: f64 = 0.9;

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
    let cpus = input.server_cpus();
    let busy = match cpus {
        Some(cpus) => format!(", with the CPUs {} busy", percent(cpus.busy)),
        None => String::new(),
    };
    let says = format!(
        "{served:.0} of {:.0} connections were served, {:.0} never (each waited at least {}){busy}: each of its workers \
         keeps one connection; give it more workers than connections, limit keep-alive, or use --no-keepalive",
        mean(fairness.connections),
        mean(fairness.starved),
        time(fairness.starved_ns.unwrap_or(0) as f64)
    );
    let pool = pools(input).into_iter().find(|pool| (pool.workers - served).abs() < 1.0);
    let name = pool.as_ref().map_or_else(|| "workers".to_owned(), |pool| pool.resource());
    let setting = pool.as_ref().and_then(|pool| pool.setting(&input.context.settings));
    let has_room = cpus.is_none_or(|cpus| cpus.busy < CPUS_BUSY);
    let is_closed = matches!(input.evidence.plan.load, Load::Closed { .. });
    Detection::hit(Signal {
        name: "starved",
        resource: name.clone(),
        says,
        queue: true,
        ceiling_per_s: laws::ceiling_per_s(input.clean_per_s, 1.0).filter(|_| is_closed),
        evidence: figures([
            ("connections", fairness.connections as f64),
            ("served", fairness.answered as f64),
            ("starved", fairness.starved as f64),
            ("starved_ns", fairness.starved_ns.unwrap_or(0) as f64),
            ("fairness_index", fairness.index().unwrap_or(0.0)),
        ]),
        change: has_room.then(|| Change::twice(&name, served, setting)),
        ..Signal::default()
    })
}
