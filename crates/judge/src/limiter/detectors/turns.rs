//! Threads of a process that run so many at a time, whichever they are: it always uses as many CPUs as it works on requests.
//!
//! The curve of such a server is that of a pool of slots, but nothing waits in a slot: each is a CPU in use.

use super::pool::CPUS_BUSY;
use super::{Change, Detection, Relief, Signal, figures};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use model::ProcessObserved;
use model::human::{percent, plural};
use std::ops::RangeInclusive;

/// CPUs that a process uses for each slot of the curve.
const CPUS_PER_SLOT: RangeInclusive<f64> = 0.9..=1.05;
/// From this share on it uses all that its slots can.
const FULL: f64 = 0.95;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let (Some(fit), Some(cpus), Some(true)) = (input.shape.pool, input.server_cpus(), input.shape.flat) else {
        return Detection::Clear;
    };
    let slots = fit.knee.round().max(1.0);
    let runs_as_many = |process: &&ProcessObserved| {
        process.count == 1 && CPUS_PER_SLOT.contains(&(process.cpu_cores / cpus.granted / slots))
    };
    let found = input.groups().flat_map(|(_, group)| &group.processes).find(runs_as_many);
    let Some(process) = found.filter(|_| cpus.count > slots && cpus.used < CPUS_BUSY) else {
        return Detection::Clear;
    };
    let name = &process.name;
    let share = (process.cpu_cores / cpus.granted / slots).min(1.0);
    let ceiling_per_s = laws::ceiling_per_s(input.clean_per_s, share);
    let is_one = slots < 1.5;
    Detection::hit(Signal {
        name: if is_one { "single-thread-limited" } else { "worker-pool-limited" },
        resource: if is_one { format!("thread {name}") } else { format!("{name} workers") },
        says: format!(
            "the threads of {name} use {:.2} CPUs together, of {:.0}, and the curve is that of {}: no more than {slots:.0} of \
             them run at a time (GOMAXPROCS of a Go program, event loops, or a lock that is held while they compute), with \
             the CPUs {} busy",
            process.cpu_cores,
            cpus.count,
            plural(slots as u64, "slot"),
            percent(cpus.busy)
        ),
        share: Some(share),
        queue: input.evidence.outstanding.mean > slots + 0.5,
        ceiling_per_s,
        evidence: figures([
            ("cpus_used", process.cpu_cores),
            ("slots", fit.knee),
            ("machine_busy_share", cpus.busy),
            ("in_flight", input.evidence.outstanding.mean),
        ]),
        change: Some(Change::twice(&format!("{name} processes"), 1.0, None)),
        relief: Relief::of_server(&[name], ceiling_per_s.map(|per_s| slots * 1e9 / per_s)),
        is_inferred: share < FULL,
        ..Signal::default()
    })
}
