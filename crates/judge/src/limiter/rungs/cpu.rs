//! CPUs that are all busy.

use super::{Change, Look, Signal, figures};
use crate::limiter::laws;
use crate::limiter::scene::{CPUS, Cpus, Scene};
use crate::text::list;
use model::ServerThreadObserved;
use model::human::{percent, plural};

/// The mean of the CPUs that the server may use; of many, one is always a little less busy.
const BUSY: f64 = 0.9;
/// Less of it is not what the load costs: strangers keep them busy (rule EN-03).
const OWN: f64 = 0.5;
/// Some process waited for a CPU for this share of the time (PSI), or threads did together.
const PRESSURE: f64 = 0.2;
/// Requests in flight for each CPU: what is beyond one waits for it.
const IN_FLIGHT: f64 = 1.5;
/// Where a hypervisor leaves less than this of the time, that is told.
const STOLEN: f64 = 0.98;
/// Processes named.
const NAMED_MAX: usize = 3;
/// Fewer CPUs than this are not worth naming.
const CORES_MIN: f64 = 0.02;

pub(super) fn look(scene: &Scene<'_>) -> Look {
    let Some(Cpus { busy, used, shares, granted, count: cpus }) = scene.server_cpus() else {
        return Look::Unchecked("the server's CPUs are not seen: it runs elsewhere, or shows no processes");
    };
    let queue = queue(scene, cpus);
    if busy < BUSY || used < OWN || !queue {
        return Look::Clear;
    }
    let parts = [("user", shares.user), ("system", shares.system), ("interrupts", shares.softirq)];
    let split: Vec<_> = parts.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    let verb = if cpus > 1.0 { "are" } else { "is" };
    let left = if granted < STOLEN { " of the time that the hypervisor leaves it" } else { "" };
    let says = format!(
        "the {} it may use {verb} {} busy ({}){left}; {}",
        plural(cpus as u64, "CPU"),
        percent(busy),
        split.join(", "),
        list(&users(scene))
    );
    let change = Change::twice("CPUs", cpus, None);
    Look::hit(Signal {
        name: "cpu-limited",
        resource: CPUS.to_owned(),
        says,
        share: Some(busy),
        queue,
        ceiling_per_s: laws::ceiling_per_s(scene.per_s, used),
        evidence: figures([
            ("cpus", cpus),
            ("busy_share", busy),
            ("used_share", used),
            ("user_share", shares.user),
            ("system_share", shares.system),
            ("softirq_share", shares.softirq),
            ("steal_share", shares.steal),
            ("pressure_share", scene.share_of_time("pressure/cpu", "some_ns").unwrap_or(0.0)),
            ("in_flight", scene.evidence.outstanding.mean),
        ]),
        change: Some(change),
        ..Signal::default()
    })
}

/// Whether something waits for the CPUs: what the kernel says of it, what its scheduler counts, or requests that no CPU
/// can be working on.
fn queue(scene: &Scene<'_>, cpus: f64) -> bool {
    let threads = scene.groups().flat_map(|(_, group)| &group.threads);
    let waiting: f64 = threads.filter_map(|thread: &ServerThreadObserved| thread.wait_mean).sum();
    scene.share_of_time("pressure/cpu", "some_ns").is_some_and(|share| share >= PRESSURE)
        || waiting >= PRESSURE
        || scene.evidence.outstanding.mean >= IN_FLIGHT * cpus
}

/// Who uses CPU time most: processes of the server and its companions, and the load generator where it has no CPUs of
/// its own.
fn users(scene: &Scene<'_>) -> Vec<String> {
    let processes = scene.groups().flat_map(|(_, group)| &group.processes);
    let mut all: Vec<(&str, f64)> = processes.map(|process| (process.name.as_str(), process.cpu_cores)).collect();
    all.extend(scene.generator_beside().map(|generator| ("the load generator itself", generator.cpu_cores)));
    all.retain(|(_, cores)| *cores >= CORES_MIN);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.iter().take(NAMED_MAX).map(|(name, cores)| format!("{name} uses {cores:.2}")).collect()
}
