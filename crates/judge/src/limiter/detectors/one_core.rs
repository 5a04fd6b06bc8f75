//! One thread, or the interrupts of one CPU, that cannot do more while other CPUs rest.

use super::pool::{CPUS_BUSY, FOR_CPU};
use super::{Change, Detection, Signal, figures};
use crate::facts::OCCUPIED;
use crate::limiter::input::{Cpus, LimiterInput};
use crate::limiter::laws;
use crate::limiter::pools::pools;
use model::human::percent;

/// A thread that runs or waits for a CPU for this share of the time does nothing else.
const BUSY: f64 = 0.95;
/// The only worker of a program that runs for this share of its occupied time is bound by its CPU.
const RUNS: f64 = 0.9;
/// The CPUs that the server may use must have room. Where other processes leave them none, it is less sure.
const ROOM: f64 = 0.7;
/// One CPU that spends this share on interrupts, while no other spends more than the second (rule NE-11).
const INTERRUPTS: f64 = 0.9;
const INTERRUPTS_ELSEWHERE: f64 = 0.3;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(Cpus { busy, used, count, .. }) = input.server_cpus() else {
        return Detection::Unchecked("threads of the server not visible");
    };
    let has_room = busy < ROOM;
    if let Some((cpu, share)) = interrupts(input).filter(|_| has_room) {
        return Detection::hit(Signal {
            name: "single-thread-limited",
            resource: format!("interrupts of CPU {cpu}"),
            says: format!("CPU {cpu} spends {} of its time on interrupts, no other CPU does", percent(share)),
            share: Some(share),
            queue: true,
            ceiling_per_s: laws::ceiling_per_s(input.per_s, share),
            evidence: figures([("softirq_share", share), ("machine_busy_share", busy)]),
            ..Signal::default()
        });
    }
    // On one CPU there is no room beside a busy thread: that is the CPU's limit.
    if count < 2.0 {
        return Detection::Clear;
    }
    let Some(lone) = busiest(input) else {
        return Detection::Unchecked("threads of the server not visible");
    };
    let is_stopped = lone.waits >= FOR_CPU * lone.share;
    if lone.share < BUSY || !has_room && (used >= CPUS_BUSY || is_stopped) {
        return Detection::Clear;
    }
    signal(input, &lone, busy, used)
}

/// A thread or process that runs alone.
struct Lone {
    name: String,
    /// Share of the time in which it runs or waits for a CPU.
    share: f64,
    /// Of it, the share in which it waits for one.
    waits: f64,
}

/// The busiest of the threads that are alone of their kind, or the only worker of a program that does nothing but run.
fn busiest(input: &LimiterInput<'_>) -> Option<Lone> {
    let thread = input.lone_threads().into_iter().max_by(|a, b| input.wanted(a).total_cmp(&input.wanted(b)));
    let thread = thread.map(|thread| Lone {
        name: thread.name.clone(),
        share: input.wanted(thread),
        waits: thread.wait_mean.unwrap_or(0.0),
    });
    let only = pools(input).into_iter().find_map(|pool| {
        let runs = pool.running.is_some_and(|runs| runs >= RUNS * pool.occupancy);
        // Looks are a sample: they say no more of it than that it is occupied.
        (runs && pool.is_alone() && pool.occupancy >= OCCUPIED).then(|| Lone {
            name: pool.program.clone(),
            share: pool.occupancy,
            waits: pool.runnable.unwrap_or(0.0),
        })
    });
    match thread.filter(|thread| thread.share >= BUSY || only.is_none()) {
        Some(thread) => Some(thread),
        None => only,
    }
}

fn signal(input: &LimiterInput<'_>, lone: &Lone, busy: f64, used: f64) -> Detection {
    let Lone { name, share, .. } = lone;
    let settings = input.context.settings.iter().filter(|setting| name.starts_with(&setting.limits));
    let setting = settings.max_by_key(|setting| setting.limits.len()).filter(|setting| setting.value == 1);
    let room = match busy < ROOM {
        true => format!("the server's CPUs are {} busy", percent(busy)),
        false => format!("the load uses {} of the server's CPUs", percent(used)),
    };
    Detection::hit(Signal {
        name: "single-thread-limited",
        resource: format!("thread {name}"),
        says: format!("one thread ({name}) is {} busy, while {room}", percent(share.min(1.0))),
        share: Some(*share),
        queue: busy < ROOM && input.evidence.outstanding.mean > 1.5,
        ceiling_per_s: laws::ceiling_per_s(input.per_s, share.min(1.0)),
        evidence: figures([
            ("thread_busy_share", *share),
            ("machine_busy_share", busy),
            ("in_flight", input.evidence.outstanding.mean),
        ]),
        change: Some(Change::twice(&format!("{name} processes or threads"), 1.0, setting)),
        ..Signal::default()
    })
}

/// The CPU whose time goes to interrupts, when it is the only one.
fn interrupts(input: &LimiterInput<'_>) -> Option<(u32, f64)> {
    let shares: Vec<_> = input.observed()?.machine.as_ref()?.shares_by_number().collect();
    let (cpu, most) = shares.iter().copied().max_by(|a, b| a.1.softirq.total_cmp(&b.1.softirq))?;
    let elsewhere = shares.iter().filter(|(other, _)| *other != cpu);
    let is_alone = shares.len() > 1 && elsewhere.map(|(_, other)| other.softirq).all(|s| s < INTERRUPTS_ELSEWHERE);
    (most.softirq > INTERRUPTS && is_alone).then_some((cpu, most.softirq))
}
