//! An accept queue that overflows.

use super::{Look, Signal, figures};
use crate::limiter::scene::Scene;
use model::human::{count, percent};

/// Connections that found the queue full, of all (rule NE-01).
const OVERFLOWN: f64 = 0.0001;
/// How full the fullest queue was; the kernel lets one more in than it says.
const FULL: f64 = 1.0;

pub(super) fn look(scene: &Scene<'_>) -> Look {
    let Some(overflows) = scene.counter("tcp", "ListenOverflows").filter(|_| scene.sees_server()) else {
        return Look::Unchecked("the accept queue of the server was not seen");
    };
    let sockets = scene.observed().and_then(|observed| observed.sockets.as_ref());
    let fullest = sockets.and_then(|sockets| sockets.accept_fullest_max).unwrap_or(0.0);
    let opened = scene.counter("tcp", "PassiveOpens").unwrap_or(0.0);
    let share = overflows / (overflows + opened).max(1.0);
    if share <= OVERFLOWN && fullest < FULL {
        return Look::Clear;
    }
    let backlog = sockets.and_then(|sockets| sockets.accept_backlog).unwrap_or(0);
    Look::hit(Signal {
        name: "accept-backlog-limited",
        resource: "accept queue".to_owned(),
        says: format!(
            "the accept queue ({} places) was {} full and {} connections found it so: the server accepts too slowly, or \
             its backlog (net.core.somaxconn) is short",
            count(backlog),
            percent(fullest.min(1.0)),
            count(overflows as u64)
        ),
        queue: true,
        evidence: figures([("overflows", overflows), ("overflown_share", share), ("fullest_share", fullest)]),
        ..Signal::default()
    })
}
