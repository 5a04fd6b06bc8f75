//! Time that passes for a timer, with CPUs that rest: delayed acknowledgements, retransmissions, connects that are retried.

use super::{Detection, Signal, figures};
use crate::facts::slots;
use crate::limiter::input::LimiterInput;
use model::human::percent;
use model::{NS_PER_S, SERVICE_BIN_NS};

/// Share of the requests, or of their time together, that a timer must have.
const MOST: f64 = 0.5;
/// From this share on it is every request, as far as a reader cares.
const EVERY: f64 = 0.99;
/// Stalls of the whole server that may last as long as a timer by accident: each delays as many requests as there are slots.
const STALLS: f64 = 2.0;
/// With busier CPUs it is not the timer that limits.
const CPUS_BUSY: f64 = 0.7;
/// Workers asleep for this share of the time are a timer of the server's own.
const SLEEPS: f64 = 0.3;

/// A timer of the kernel, or of a library that everyone uses.
struct Timer {
    /// Service times that fit: from and to, in ms.
    span_ms: (u64, u64),
    what: &'static str,
    /// What ends the wait.
    remedy: &'static str,
    /// Counter of the kernel that grows with it; none where there is none.
    counter: Option<&'static str>,
}

/// Each with its doublings, where it has any. Linux: `TCP_DELACK_MIN`, `TCP_RTO_MIN` (which is also how long a corked segment
/// waits), `TCP_TIMEOUT_INIT`.
const TIMERS: [Timer; 6] = [
    Timer {
        span_ms: (40, 52),
        what: "the delayed ACK of TCP (40 ms)",
        remedy: "set TCP_NODELAY on the server, or send head and body in one write",
        counter: Some("DelayedACKs"),
    },
    Timer {
        span_ms: (200, 224),
        what: "a segment that TCP_CORK holds back, or a retransmission (200 ms)",
        remedy: "let the server uncork after the last segment, and check for lost packets (NE-03)",
        counter: None,
    },
    Timer {
        span_ms: (400, 432),
        what: "a second retransmission (400 ms)",
        remedy: "check for lost packets (NE-03)",
        counter: Some("TCPTimeouts"),
    },
    Timer {
        span_ms: (1_000, 1_048),
        what: "a SYN that is sent again (1 s)",
        remedy: "lengthen the accept queue of what the server connects to",
        counter: Some("TCPTimeouts"),
    },
    Timer {
        span_ms: (2_000, 2_064),
        what: "a timeout of 2 s",
        remedy: "look for a timeout of 2 s in the server's configuration",
        counter: None,
    },
    Timer {
        span_ms: (3_000, 3_096),
        what: "a SYN that is sent again twice (3 s)",
        remedy: "lengthen the accept queue of what the server connects to",
        counter: Some("TCPTimeouts"),
    },
];

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let bins = &input.evidence.service_bins;
    let (true, Some(cpus)) = (bins.iter().any(|n| *n > 0), input.server_cpus()) else {
        return Detection::Unchecked("no histogram of service times, or CPUs of the server not visible");
    };
    let sleeps = input.observed_pools().any(|pool| pool.blocked.get("sleep").is_some_and(|share| *share >= SLEEPS));
    if cpus.used >= CPUS_BUSY || sleeps {
        return Detection::Clear;
    }
    let found = TIMERS.iter().find_map(|timer| Some((timer, share(input, timer)?)));
    let Some((timer, share)) = found else { return Detection::Clear };
    let mean_ns = input.evidence.latency.service.mean_ns;
    Detection::hit(Signal {
        name: "timer-limited",
        resource: "timer".to_owned(),
        says: format!(
            "{} {} to {} ms while the CPUs are only {} busy: that is {}, unless the server waits that long by itself; {}",
            whose(share),
            timer.span_ms.0,
            timer.span_ms.1,
            percent(cpus.busy),
            timer.what,
            timer.remedy
        ),
        evidence: figures([
            ("timer_share", share),
            ("service_mean_ns", mean_ns),
            ("cpus_busy_share", cpus.busy),
            ("timer_ns", timer.span_ms.0 as f64 * NS_PER_S as f64 / 1e3),
        ]),
        is_inferred: true,
        ..Signal::default()
    })
}

/// The requests that wait for a timer, which have this share of the time of all, as the subject of a sentence.
fn whose(share: f64) -> String {
    match share {
        share if share >= EVERY => "every request takes".to_owned(),
        share => format!("requests that together take {} of the time of all take", percent(share)),
    }
}

/// Share of the time of all requests that passes in those that take as long as the timer, if that is most of it, they are many, and
/// the times on either side are few.
fn share(input: &LimiterInput<'_>, timer: &Timer) -> Option<f64> {
    let bins = &input.evidence.service_bins;
    let bin = |ms: u64| (ms * (NS_PER_S / 1000) / SERVICE_BIN_NS) as usize;
    let span = bin(timer.span_ms.0)..bin(timer.span_ms.1);
    let width = span.len();
    let sum = |span: std::ops::Range<usize>| bins.get(span).map_or(0, |bins| bins.iter().sum::<u64>());
    let within = sum(span.clone());
    let around = sum(span.start.saturating_sub(width)..span.start).max(sum(span.end..span.end + width));
    let times = |(at, n): (usize, &u64)| (at as f64 + 0.5) * *n as f64;
    let all: f64 = bins.iter().enumerate().map(times).sum();
    let its: f64 = bins.iter().enumerate().filter(|(at, _)| span.contains(at)).map(times).sum();
    let counted = timer.counter.is_none_or(|name| input.counter("tcp", name).is_none_or(|n| 2.0 * n >= within as f64));
    let share = its / all.max(f64::MIN_POSITIVE);
    let are_many = within as f64 > STALLS * slots(input.evidence);
    (counted && are_many && share >= MOST && within > 5 * around).then_some(share)
}
