//! An accept queue that overflows.

use super::{Detection, Signal, figures};
use crate::limiter::input::LimiterInput;
use model::human::{count, percent};

/// Connections that found the queue full, of all (rule NE-01).
const OVERFLOWN: f64 = 0.0001;
/// Used share of the fullest queue; the kernel lets one more in than it says.
const FULL: f64 = 1.0;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(overflows) = input.counter("tcp", "ListenOverflows").filter(|_| input.sees_server()) else {
        return Detection::Unchecked("accept queue of the server not monitored");
    };
    let sockets = input.observed().and_then(|observed| observed.sockets.as_ref());
    let fullest = sockets.and_then(|sockets| sockets.accept_fullest_max).unwrap_or(0.0);
    let opened = input.counter("tcp", "PassiveOpens").unwrap_or(0.0);
    let share = overflows / (overflows + opened).max(1.0);
    if share <= OVERFLOWN && fullest < FULL {
        return Detection::Clear;
    }
    let backlog = sockets.and_then(|sockets| sockets.accept_backlog).unwrap_or(0);
    Detection::hit(Signal {
        name: "accept-backlog-limited",
        resource: "accept queue".to_owned(),
        says: format!(
            "the accept queue ({} places) was {} full and overflowed {} times: the server accepts too slowly, or its \
             backlog (net.core.somaxconn) is too short",
            count(backlog),
            percent(fullest.min(1.0)),
            count(overflows as u64)
        ),
        queue: true,
        evidence: figures([("overflows", overflows), ("overflown_share", share), ("fullest_share", fullest)]),
        ..Signal::default()
    })
}
