//! A limit of requests at a time that nothing observed explains, inferred from the curve.

use super::{Change, Detection, Relief, Signal, figures};
use crate::limiter::hints;
use crate::limiter::input::LimiterInput;
use crate::limiter::pools::{Pool, pools};
use model::human::{percent, plural, time};

pub(super) const NAME: &str = "concurrency-limited (inferred)";
/// With busier CPUs the curve may bend for want of them.
const CPUS_ROOM: f64 = 0.7;
/// Workers that wait for one thing for this share of their time have the limit behind them.
const WAITS: f64 = 0.3;
pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(fit) = input.shape.pool else {
        return Detection::Unchecked(
            "a sweep over connections that fits a pool is needed for a limit of requests at a time",
        );
    };
    let cpus = input.server_cpus();
    let is_full = input.shape.flat == Some(true) && fit.knee >= 0.5;
    if !is_full || cpus.is_some_and(|cpus| cpus.used >= CPUS_ROOM) {
        return Detection::Clear;
    }
    let slots = fit.knee.round().max(1.0);
    let slot_ns = slots * 1e9 / fit.plateau_per_s;
    let busy = cpus.map_or_else(
        || "no more is visible of it".to_owned(),
        |cpus| format!("its CPUs are {} busy", percent(cpus.busy)),
    );
    let in_front = in_front(input);
    let place = in_front
        .as_ref()
        .map_or_else(String::new, |(pool, on)| format!(", behind {}, whose workers wait for {on}", pool.program));
    let most = if slots > 1.5 { "at most " } else { "" };
    let hints = hints::of_slots(input, slots, in_front.as_ref().map(|(_, on)| on.as_str()));
    // With enough slots its workers wait for no more than the time that a slot takes.
    let relief = in_front.map_or(Relief::Nothing, |(_, on)| Relief::of_server(&[&on], Some(slot_ns)));
    Detection::hit(Signal {
        name: NAME,
        resource: "requests at a time".to_owned(),
        says: format!(
            "the curve is that of {} of {} each, and {busy}: something admits {most}{slots:.0} at a time{place}; {hints}",
            plural(slots as u64, "slot"),
            time(slot_ns),
        ),
        queue: true,
        ceiling_per_s: Some(fit.plateau_per_s),
        evidence: figures([
            ("slots", fit.knee),
            ("slot_ns", slot_ns),
            ("plateau_per_s", fit.plateau_per_s),
            ("fit_error", fit.error_max),
        ]),
        change: Some(change(slots)),
        is_inferred: true,
        relief,
        ..Signal::default()
    })
}

/// Twice as many slots: what their number is set by is not known, as only the curve tells of them.
fn change(slots: f64) -> Change {
    let change = Change::twice("requests at a time", slots, None);
    Change { words: format!("{}, by a setting that is not known", change.words), ..change }
}

/// The pool in front of it and what its workers wait for, which has the limit behind it or is it. Those who answer a connection each
/// are behind the ones that connect to them.
fn in_front(input: &LimiterInput<'_>) -> Option<(Pool, String)> {
    let (behind, front): (Vec<_>, Vec<_>) = pools(input).into_iter().partition(Pool::is_per_connection);
    front.into_iter().chain(behind).find_map(|pool| {
        let (on, share) = pool.blocked.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        let on = (*share >= WAITS).then(|| on.clone())?;
        Some((pool, on))
    })
}
