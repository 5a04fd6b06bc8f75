//! Workers that wait for each other.

use super::{Detection, Relief, Signal, Wait, figures};
use crate::limiter::hints;
use crate::limiter::input::LimiterInput;
use crate::limiter::pools::{Pool, pools};
use model::human::percent;

/// The name of a lock among waits.
const LOCK: &str = "lock";
/// Workers that wait for locks for this share of their occupied time.
const WAITS: f64 = 0.5;
/// With busier CPUs it is these that are short.
const CPUS_ROOM: f64 = 0.7;
/// Pools that are hardly in use wait for locks as they wait for anything.
const OCCUPIED: f64 = 0.5;
/// Unless more load gains nothing: then so many occupied workers are enough, however many others have nothing to do.
const OCCUPIED_WORKERS: f64 = 1.5;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let pools = pools(input);
    if pools.iter().all(|pool| pool.blocked.is_empty()) {
        return Detection::Unchecked("wait states of the workers not monitored");
    }
    let cpus_busy = input.server_cpus().map_or(0.0, |cpus| cpus.used);
    let held = pools.iter().filter(|pool| is_used(pool, input) && cpus_busy < CPUS_ROOM).find_map(|pool| {
        let share = pool.blocked.get(LOCK)? / pool.occupancy;
        (share >= WAITS).then_some((pool, share))
    });
    let Some((pool, share)) = held else { return Detection::Clear };
    Detection::hit(Signal {
        name: "contention-limited",
        resource: format!("locks of {}", pool.program),
        says: format!(
            "{} wait {} of their time for locks, while the CPUs are {} busy{}",
            pool.resource(),
            percent(share.min(1.0)),
            percent(cpus_busy),
            hints::of_locks(input, &pool.program)
        ),
        share: Some(pool.occupancy),
        queue: true,
        evidence: figures([("lock_share", share), ("occupancy", pool.occupancy), ("cpus_busy_share", cpus_busy)]),
        relief: relief(pool),
        ..Signal::default()
    })
}

/// True if a pool has requests that could wait for each other.
fn is_used(pool: &Pool, input: &LimiterInput<'_>) -> bool {
    let is_saturated = input.shape.flat == Some(true);
    pool.occupancy >= OCCUPIED || is_saturated && pool.workers * pool.occupancy >= OCCUPIED_WORKERS
}

/// Whoever has the lock works: all of the waiting for it would end. How long those who wait for this pool would still do so is
/// not known.
fn relief(pool: &Pool) -> Relief {
    let own = Wait { on: LOCK.to_owned(), of: Some(pool.program.clone()), service_ns: Some(0.0) };
    let in_front = Wait { on: pool.program.clone(), of: None, service_ns: None };
    Relief::Waits(vec![own, in_front])
}
