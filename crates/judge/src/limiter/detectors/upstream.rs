//! Dependency that workers wait for, at a limit of its own.

use super::{Detection, Relief, Signal, WAITS, connections, figures};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use crate::limiter::pools::{Pool, pools};
use model::FULL_PIPE;
use model::human::percent;

/// A thread that does next to nothing else: that workers wait for it says the rest.
const THREAD_BUSY: f64 = 0.85;
/// A pool without a worker to spare.
const OCCUPIED: f64 = 0.95;
/// A database whose workers wait for locks for this share of their time.
const LOCKED: f64 = 0.5;

/// Dependency at its limit behind a pool.
pub(super) struct Culprit {
    pub(super) on: String,
    /// Share of the workers' occupied time that goes to it.
    pub(super) waiting: f64,
    /// What they wait for, as the end of a sentence.
    how: String,
    share: f64,
    /// Time in which it works on a request; ns, none where that is not known.
    service_ns: Option<f64>,
    /// Share of it that the responses use; none where that is not known.
    used: Option<f64>,
}

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let pools = pools(input);
    if pools.iter().all(|pool| pool.blocked.is_empty()) {
        return Detection::Unchecked("wait states of the workers not monitored");
    }
    let found = pools.iter().find_map(|pool| Some((pool, culprit(pool, input)?)));
    let Some((pool, culprit)) = found else { return Detection::Clear };
    Detection::hit(Signal {
        name: "upstream-limited",
        says: format!("{} wait {} of their time {}", pool.resource(), percent(culprit.waiting.min(1.0)), culprit.how),
        relief: Relief::of_server(&[&culprit.on], culprit.service_ns),
        resource: culprit.on,
        share: Some(culprit.share),
        queue: true,
        ceiling_per_s: culprit.used.and_then(|used| laws::ceiling_per_s(input.clean_per_s, used.min(1.0))),
        // Workers that wait at a pipe would do without that wait what nobody has seen.
        hides_next: culprit.used.is_none(),
        evidence: figures([
            ("waiting_share", culprit.waiting),
            ("upstream_share", culprit.share),
            ("occupancy", pool.occupancy),
        ]),
        ..Signal::default()
    })
}

/// The main wait of the workers of `pool`, if that dependency is at a limit itself.
pub(super) fn culprit(pool: &Pool, input: &LimiterInput<'_>) -> Option<Culprit> {
    let (on, waiting) = pool.waits_for().filter(|(_, share)| *share >= WAITS)?;
    if let Some(reader) = on.strip_prefix(FULL_PIPE) {
        return Some(of_pipe(reader, waiting));
    }
    let limit = |how: String, share: f64| {
        let how = format!("on {on}, {how}");
        Culprit { on: on.to_owned(), waiting, how, share, used: Some(share), service_ns: None }
    };
    let is_it = |name: &str| name == on || name.starts_with(on) || on.starts_with(name);
    let own_pool = pools(input).into_iter().find(|other| is_it(&other.program) && other.program != pool.program);
    if let Some(other) = own_pool {
        if let Some(("lock", share)) = other.waits_for().filter(|(_, share)| *share >= LOCKED) {
            return Some(limit(format!("whose workers wait {} of their time for locks", percent(share)), share));
        }
        // How many a database has is up to those who connect, unless it refuses more.
        let is_bounded = other.is_per_connection() && connections::database_full(input).is_some();
        if other.occupancy >= OCCUPIED && other.workers < pool.workers && !is_bounded {
            let how = format!("whose {:.0} workers are all occupied", other.workers);
            return Some(Culprit { service_ns: other.occupied_ns(input.clean_per_s), ..limit(how, other.occupancy) });
        }
    }
    let group =
        input.groups().find(|(name, group)| is_it(name) || group.processes.iter().any(|process| is_it(&process.name)));
    let threads = group.into_iter().flat_map(|(_, group)| &group.threads);
    let busiest = threads.max_by(|a, b| input.wanted(a).total_cmp(&input.wanted(b)))?;
    let share = input.wanted(busiest);
    let how = format!("whose thread {} is {} busy", busiest.name, percent(share.min(1.0)));
    let service_ns = laws::ceiling_per_s(input.clean_per_s, share.min(1.0)).map(|per_s| 1e9 / per_s);
    (share >= THREAD_BUSY).then(|| Culprit { service_ns, ..limit(how, share) })
}

/// A pipe that its reader does not empty in time: who writes into it waits only while it is full.
fn of_pipe(reader: &str, waiting: f64) -> Culprit {
    let (on, reads) = match reader.strip_prefix(" to ") {
        Some(name) => (name.to_owned(), format!("that {name} empties too slowly")),
        None => ("reader of a pipe".to_owned(), "that its reader empties too slowly".to_owned()),
    };
    let how =
        format!("to write into a pipe {reads}: make that program faster, or write to a file (a log that is piped?)");
    Culprit { on, waiting, how, share: waiting, used: None, service_ns: None }
}
