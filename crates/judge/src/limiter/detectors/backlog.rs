//! An accept queue that keeps connections out.

use super::{Detection, Signal, figures};
use crate::facts::kernel::{own_drops, own_drops_share};
use crate::limiter::input::{LimiterInput, OVERFLOWN};
use model::human::{percent, plural};

/// Used share of the fullest queue; the kernel lets one more in than it says.
const FULL: f64 = 1.0;
/// Linux repeats a dropped attempt to connect after this time, and after longer ones if it is dropped again
/// (`TCP_TIMEOUT_INIT`).
const RETRY_S: f64 = 1.0;
/// Connections that are kept out for this share of their time are missed. With fewer the rate is that of the others, and the
/// drops are a finding (rule NE-01).
const KEPT_OUT: f64 = 0.3;

/// What was seen of the queue: it is sampled once a second, and may overflow between two samples.
fn happened(fullest: f64, overflows: f64) -> String {
    let dropped = format!("dropped {}", plural(overflows as u64, "connection attempt"));
    if fullest >= FULL { format!("was full and {dropped}") } else { format!("{dropped} between samples") }
}

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let own = own_drops(input.evidence).map(|n| n as f64);
    let Some(overflows) = own.or_else(|| input.counter("tcp", "ListenOverflows")).filter(|_| input.sees_server())
    else {
        return Detection::Unchecked("accept queue of the server not monitored");
    };
    let sockets = input.observed().and_then(|observed| observed.sockets.as_ref());
    let fullest = sockets.and_then(|sockets| sockets.accept_fullest_max).unwrap_or(0.0);
    // The kernel's counters are those of all servers: a queue that was never full is not the one that overflowed.
    if own.is_none() && fullest < FULL {
        return Detection::Clear;
    }
    let share = own_drops_share(input.evidence).unwrap_or_else(|| {
        let accepted = input.counter("tcp", "PassiveOpens").unwrap_or(0.0);
        overflows / (overflows + accepted).max(1.0)
    });
    let kept_out = kept_out(input, overflows);
    // A rate that was reached before the first drop is not held down by drops.
    let is_late = input.shape.dropped_early == Some(false);
    if share <= OVERFLOWN || kept_out < KEPT_OUT || is_late || input.is_served() {
        return Detection::Clear;
    }
    let backlog = sockets.and_then(|sockets| sockets.accept_backlog).unwrap_or(0);
    Detection::hit(Signal {
        name: "accept-backlog-limited",
        resource: "accept queue".to_owned(),
        says: format!(
            "the accept queue ({}) {}, each of which is repeated after 1 s or longer: at least {} of the time of the load's \
             connections; the server accepts too slowly, or its backlog (net.core.somaxconn) is too short",
            plural(backlog, "place"),
            happened(fullest, overflows),
            percent(kept_out.min(1.0))
        ),
        queue: true,
        evidence: figures([
            ("overflows", overflows),
            ("overflown_share", share),
            ("fullest_share", fullest),
            ("kept_out_share", kept_out),
        ]),
        hides_next: true,
        ..Signal::default()
    })
}

/// Share of the time of all connections of the load in which dropped attempts kept them out, at least.
fn kept_out(input: &LimiterInput<'_>, overflows: f64) -> f64 {
    let connections = f64::from(input.evidence.plan.load.connections()).max(1.0);
    overflows * RETRY_S / (connections * input.seconds())
}
