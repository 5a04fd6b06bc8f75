//! Threads of one process that together never use more than some whole number of CPUs, while others are free.

use super::{Detection, Signal, figures};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use model::ServerThreadObserved;
use model::human::plural;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// CPUs that such a process uses, as a multiple of the whole number.
const WHOLE: RangeInclusive<f64> = 0.95..=1.02;
/// A thread that ran less than this takes no part.
const TAKES_PART: f64 = 0.02;
/// With busier CPUs it is these that are short.
const CPUS_BUSY: f64 = 0.9;

/// A process whose threads share so many CPUs.
struct Sharing<'a> {
    name: &'a str,
    threads: usize,
    cores: f64,
    whole: f64,
}

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(cpus) = input.server_cpus() else {
        return Detection::Unchecked("threads of the server not visible");
    };
    if input.shape.flat != Some(true) || cpus.used >= CPUS_BUSY {
        return Detection::Clear;
    }
    let Some(Sharing { name, threads, cores, whole }) = sharing(input, cpus.count) else { return Detection::Clear };
    Detection::hit(Signal {
        name: "single-thread-limited",
        resource: format!("threads of {name}"),
        says: format!(
            "the {} of {name} use {cores:.2} CPUs together, of {:.0}, and no more with more load: something lets {whole:.0} of \
             them run at a time (Go: GOMAXPROCS; Java: ActiveProcessorCount; a lock around all of the work)",
            plural(threads as u64, "thread"),
            cpus.count
        ),
        share: Some((cores / whole).min(1.0)),
        queue: input.evidence.outstanding.mean > 1.5 * whole,
        ceiling_per_s: laws::ceiling_per_s(input.per_s, (cores / whole).min(1.0)),
        evidence: figures([("cpus_used", cores), ("threads", threads as f64), ("cpus", cpus.count)]),
        // What lets so many run is not seen, only that it does.
        is_inferred: true,
        hides_next: true,
        ..Signal::default()
    })
}

/// The process whose threads use a whole number of CPUs, fewer than there are, with more threads than that.
fn sharing<'a>(input: &LimiterInput<'a>, cpus: f64) -> Option<Sharing<'a>> {
    let ran = |thread: &ServerThreadObserved| thread.user_mean + thread.system_mean;
    let mut by_process: BTreeMap<i32, Vec<&ServerThreadObserved>> = BTreeMap::new();
    for thread in input.groups().flat_map(|(_, group)| &group.threads).filter(|thread| ran(thread) >= TAKES_PART) {
        by_process.entry(thread.pid).or_default().push(thread);
    }
    by_process.into_values().find_map(|threads| {
        let cores: f64 = threads.iter().map(|thread| ran(thread)).sum();
        let whole = cores.round();
        let is_whole = whole >= 1.0 && whole < cpus && WHOLE.contains(&(cores / whole));
        let busiest = threads.iter().max_by(|a, b| ran(a).total_cmp(&ran(b)))?;
        let first = threads.iter().find(|thread| thread.tid == thread.pid).unwrap_or(busiest);
        (is_whole && threads.len() as f64 > whole).then(|| Sharing {
            name: &first.name,
            threads: threads.len(),
            cores,
            whole,
        })
    })
}
