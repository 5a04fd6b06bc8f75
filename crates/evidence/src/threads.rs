//! Load threads, added up.

use model::ThreadUse;

/// Adds times thread by thread and keeps the larger busy share.
pub(crate) fn add_threads(sum: &mut Vec<ThreadUse>, more: &[ThreadUse]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), ThreadUse::default());
    }
    for (thread, other) in sum.iter_mut().zip(more) {
        let ThreadUse { cpu_ns, wall_ns, busy_max } = other;
        thread.cpu_ns += cpu_ns;
        thread.wall_ns += wall_ns;
        thread.busy_max = thread.busy_max.max(*busy_max);
    }
}

/// Share of the time in which a load thread was busy.
pub(crate) fn busy(thread: &ThreadUse) -> f64 {
    if thread.wall_ns == 0 { 0.0 } else { (thread.cpu_ns as f64 / thread.wall_ns as f64).min(1.0) }
}
