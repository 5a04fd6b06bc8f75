//! An accept queue that overflows.

use super::{Detection, Signal, figures};
use crate::facts::kernel::own_drops;
use crate::limiter::input::LimiterInput;
use model::human::plural;

/// Connections that found the queue full, of all (rule NE-01).
const OVERFLOWN: f64 = 0.0001;
/// Used share of the fullest queue; the kernel lets one more in than it says.
const FULL: f64 = 1.0;

/// What was seen of the queue: it is sampled once a second, and may overflow between two samples.
fn happened(fullest: f64, overflows: f64) -> String {
    let dropped = format!("dropped {}", plural(overflows as u64, "connection attempt"));
    match (fullest >= FULL, overflows > 0.0) {
        (true, true) => format!("was full and {dropped}"),
        (true, false) => "was full".to_owned(),
        _ => format!("{dropped} between samples"),
    }
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
    if own.is_none_or(|own| own == 0.0) && fullest < FULL {
        return Detection::Clear;
    }
    let opened = match own {
        Some(_) => input.evidence.flow.opened as f64,
        None => input.counter("tcp", "PassiveOpens").unwrap_or(0.0),
    };
    let share = overflows / (overflows + opened).max(1.0);
    if share <= OVERFLOWN && fullest < FULL {
        return Detection::Clear;
    }
    let backlog = sockets.and_then(|sockets| sockets.accept_backlog).unwrap_or(0);
    Detection::hit(Signal {
        name: "accept-backlog-limited",
        resource: "accept queue".to_owned(),
        says: format!(
            "the accept queue ({}) {}: the server accepts too slowly, or its backlog (net.core.somaxconn) is too short",
            plural(backlog, "place"),
            happened(fullest, overflows)
        ),
        queue: true,
        evidence: figures([("overflows", overflows), ("overflown_share", share), ("fullest_share", fullest)]),
        ..Signal::default()
    })
}
