//! Utilisation of all resources of the server.

use super::input::{CPUS, DISK, LimiterInput, QUOTA, SHARED_CPUS};
use super::laws;
use super::links::links;
use super::pools::pools;
use super::signal::Relief;
use crate::facts::bandwidth::{NO_BOUND, path};
use model::Utilisation;

/// Everything with a share in use, the most used first.
pub(super) fn utilisations(input: &LimiterInput<'_>) -> Vec<Utilisation> {
    utilisations_after(input, &Relief::Nothing)
}

/// The same were a limit out of the way, with as many responses: without the time in which a thread or a worker waits for it.
/// What is used then by a resource that may wait for it unseen is left out.
pub(super) fn utilisations_after(input: &LimiterInput<'_>, relief: &Relief) -> Vec<Utilisation> {
    let mut all = Vec::new();
    // The responses that the share was used for, where it bounds them: of the whole window, or of its undisturbed time.
    let (whole_per_s, clean_per_s) = (Some(input.per_s), Some(input.clean_per_s));
    let mut put = |resource: String, share: f64, per_s: Option<f64>| {
        let ceiling_per_s = per_s.and_then(|per_s| laws::ceiling_per_s(per_s, share));
        all.push(Utilisation { resource, share, ceiling_per_s });
    };
    if let Some(cpus) = input.server_cpus() {
        put(CPUS.to_owned(), cpus.used, clean_per_s);
    }
    // More CPUs for the server are more of these.
    if let Some(used) = input.shared_cpus_used().filter(|_| *relief != Relief::Cpu) {
        put(SHARED_CPUS.to_owned(), used, whole_per_s);
    }
    for thread in input.lone_threads() {
        let share = if *relief == Relief::Cpu { input.ran(thread) } else { input.wanted(thread) };
        put(format!("thread {}", thread.name), share, clean_per_s);
    }
    for pool in pools(input) {
        let Some(occupancy) = pool.occupancy_after(relief, input) else { continue };
        let has_ceiling = !pool.is_per_connection() && pool.are_alike(input);
        put(pool.resource(), occupancy, Some(input.clean_per_s).filter(|_| has_ceiling));
    }
    for (name, share) in links(input) {
        put(format!("link {name}"), share, whole_per_s);
    }
    if let Some(path) = path(input.evidence).filter(|path| path.share < NO_BOUND) {
        put(path.name.to_owned(), path.share, whole_per_s);
    }
    for (name, counters) in input.parts("disk") {
        let busy_ns = counters.get("busy_ns").copied().unwrap_or(0) as f64;
        // Who keeps a disk busy is not known: more responses may need none of it.
        put(format!("{DISK}{name}"), busy_ns / input.evidence.measured_ns.max(1) as f64, None);
    }
    if let Some(share) = input.quota_used() {
        put(QUOTA.to_owned(), share, whole_per_s);
    }
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}
