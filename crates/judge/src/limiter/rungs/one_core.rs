//! One thread, or the interrupts of one CPU, that cannot do more while other CPUs rest.

use super::{Change, Look, Signal, figures};
use crate::limiter::laws;
use crate::limiter::scene::{Cpus, Scene, wanted};
use model::human::percent;

/// A thread that runs or waits for a CPU for this share of the time does nothing else.
const BUSY: f64 = 0.95;
/// The CPUs that the server may use must have room.
const ROOM: f64 = 0.7;
/// One CPU that spends this share on interrupts, while no other spends more than the second (rule NE-11).
const INTERRUPTS: f64 = 0.9;
const INTERRUPTS_ELSEWHERE: f64 = 0.3;

pub(super) fn look(scene: &Scene<'_>) -> Look {
    let Some(Cpus { busy, .. }) = scene.server_cpus() else {
        return Look::Unchecked("the server's threads are not seen");
    };
    if busy >= ROOM {
        return Look::Clear;
    }
    if let Some((cpu, share)) = interrupts(scene) {
        return Look::hit(Signal {
            name: "single-thread-limited",
            resource: format!("interrupts of CPU {cpu}"),
            says: format!("CPU {cpu} spends {} of its time on interrupts, no other one does", percent(share)),
            share: Some(share),
            queue: true,
            ceiling_per_s: laws::ceiling_per_s(scene.per_s, share),
            evidence: figures([("softirq_share", share), ("machine_busy_share", busy)]),
            change: None,
        });
    }
    let threads = scene.lone_threads();
    let Some(thread) = threads.into_iter().max_by(|a, b| wanted(a).total_cmp(&wanted(b))) else {
        return Look::Unchecked("the server's threads are not seen");
    };
    let share = wanted(thread);
    if share < BUSY {
        return Look::Clear;
    }
    let settings = scene.context.settings.iter().filter(|setting| thread.name.starts_with(&setting.limits));
    let setting = settings.max_by_key(|setting| setting.limits.len()).filter(|setting| setting.value == 1);
    Look::hit(Signal {
        name: "single-thread-limited",
        resource: format!("thread {}", thread.name),
        says: format!(
            "one thread ({}) is {} busy, while the CPUs it may use are {} busy",
            thread.name,
            percent(share.min(1.0)),
            percent(busy)
        ),
        share: Some(share),
        queue: scene.evidence.outstanding.mean > 1.5,
        ceiling_per_s: laws::ceiling_per_s(scene.per_s, share.min(1.0)),
        evidence: figures([
            ("thread_busy_share", share),
            ("machine_busy_share", busy),
            ("in_flight", scene.evidence.outstanding.mean),
        ]),
        change: Some(Change::twice(&format!("{} processes or threads", thread.name), 1.0, setting)),
    })
}

/// The CPU whose time goes to interrupts, when it is the only one.
fn interrupts(scene: &Scene<'_>) -> Option<(usize, f64)> {
    let shares = &scene.observed()?.machine.as_ref()?.cpu_shares;
    let (cpu, most) = shares.iter().enumerate().max_by(|a, b| a.1.softirq.total_cmp(&b.1.softirq))?;
    let elsewhere = shares.iter().enumerate().filter(|(other, _)| *other != cpu);
    let is_alone = shares.len() > 1 && elsewhere.map(|(_, other)| other.softirq).all(|s| s < INTERRUPTS_ELSEWHERE);
    (most.softirq > INTERRUPTS && is_alone).then_some((cpu, most.softirq))
}
