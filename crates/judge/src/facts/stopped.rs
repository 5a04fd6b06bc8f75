//! Processes of the server that something keeps stopping.

use model::{Evidence, PoolObserved, STOPPED};

/// A smaller share of the time is that of a debugger that looks once.
const SHARE_MIN: f64 = 0.05;
/// Workers that together use less than this share of a CPU serve nothing: they may rest on purpose.
const RUNS: f64 = 0.02;

/// The pool of the server that was stopped most, and the share of its time in which it was; none where that is hardly any. A
/// worker that is stopped neither works nor waits for anything that the server could have more of.
pub(crate) fn stopped(evidence: &Evidence) -> Option<(&PoolObserved, f64)> {
    let pools = evidence.observed.iter().flat_map(|observed| &observed.pools);
    let cores = |pool: &PoolObserved| pool.workers_mean * (pool.running + pool.runnable.unwrap_or(0.0));
    let serving = pools.filter(|pool| pool.samples > 0 && cores(pool) >= RUNS);
    let shares = serving.filter_map(|pool| Some((pool, *pool.blocked.get(STOPPED)?)));
    shares.filter(|(_, share)| *share >= SHARE_MIN).max_by(|a, b| a.1.total_cmp(&b.1))
}
