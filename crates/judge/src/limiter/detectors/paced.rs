//! A server that gives each connection so many bytes a second: bodies that take long, all about as long, with CPUs that rest.

use super::{Detection, Signal, figures};
use crate::limiter::input::LimiterInput;
use model::human::{bytes, percent, time};
use model::{NS_PER_S, Observed};

/// Bodies that are smaller are sent at once.
const BODY_MIN: f64 = 32.0 * 1024.0;
/// Responses that take less are not held back.
const TIME_MIN_NS: f64 = 100e6;
/// The slowest in 100 take at most this multiple of the median.
const SPREAD: f64 = 1.15;
/// With busier CPUs it is not a rate that limits.
const CPUS_BUSY: f64 = 0.7;
/// A response that is computed for so much of its time is not held back.
const COMPUTED: f64 = 0.5;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(cpus) = input.server_cpus() else {
        return Detection::Unchecked("CPUs of the server not visible");
    };
    let service = &input.evidence.latency.service;
    let body = input.evidence.flow.bytes_received as f64 / input.evidence.flow.completed.max(1) as f64;
    let is_even = service.p50_ns > 0 && service.p99_ns as f64 <= SPREAD * service.p50_ns as f64;
    let cpu_ns = input.evidence.observed.as_ref().and_then(Observed::server_cpu_ns_per_request).unwrap_or(0.0);
    let is_computed = cpu_ns >= COMPUTED * service.mean_ns || cpus.busy >= CPUS_BUSY;
    if body < BODY_MIN || service.mean_ns < TIME_MIN_NS || !is_even || is_computed {
        return Detection::Clear;
    }
    let bytes_per_s = body * NS_PER_S as f64 / service.mean_ns;
    Detection::hit(Signal {
        name: "paced",
        resource: "rate of each connection".to_owned(),
        says: format!(
            "every response of {} takes {} (p99 {}), {} per second and connection, with the CPUs {} busy: the server limits \
             the rate of each connection (nginx: limit_rate; a traffic shaper)",
            bytes(body as u64),
            time(service.mean_ns),
            time(service.p99_ns as f64),
            bytes(bytes_per_s as u64),
            percent(cpus.busy)
        ),
        evidence: figures([
            ("bytes_per_s_and_connection", bytes_per_s),
            ("body_bytes", body),
            ("service_mean_ns", service.mean_ns),
            ("cpus_busy_share", cpus.busy),
        ]),
        is_inferred: true,
        ..Signal::default()
    })
}
