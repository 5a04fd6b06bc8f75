//! Workers that are all occupied, with requests waiting for them.

use super::{Change, Detection, Relief, Signal, WAITS, connections, disk, figures, upstream};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use crate::limiter::pools::{Pool, pools};
use model::human::{percent, rate, time};

/// With busier CPUs more workers buy little: they wait for a CPU instead.
pub(super) const CPUS_BUSY: f64 = 0.9;
/// From here on the CPUs may be as short as the workers.
const CPUS_ROOM: f64 = 0.7;
/// A curve that bends at fewer connections than this share of the workers bends for something else: what requests do outside
/// of the workers only makes it bend later.
const BENDS_BEFORE: f64 = 0.7;
/// Requests that wait for each worker, on average. Less may be on the way between the client and the workers.
const WAITING: f64 = 0.25;
/// Workers that run for this share of their occupied time are CPU-heavy.
const CPU_HEAVY: f64 = 0.7;
/// Workers that wait for a CPU for this share of it are not short themselves.
pub(super) const FOR_CPU: f64 = 0.5;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let mut pools = pools(input);
    if pools.is_empty() {
        return Detection::Unchecked("no worker pool visible: neither process states nor a status page");
    }
    let cpus_busy = input.server_cpus().map_or(0.0, |cpus| cpus.used);
    pools.sort_by(|a, b| b.occupancy.total_cmp(&a.occupancy));
    let is_full = |pool: &&Pool| pool.occupancy >= input.full && cpus_busy < CPUS_BUSY && !pool.is_per_connection();
    let full = pools.iter().filter(is_full).find(|pool| is_queued(pool, input) && !waits_in_vain(pool, input));
    full.map_or(Detection::Clear, |pool| signal(pool, input, cpus_busy))
}

/// True if more workers would gain nothing because what they wait for is at its own limit: left to the checks below.
fn waits_in_vain(pool: &Pool, input: &LimiterInput<'_>) -> bool {
    let needs_cpu = pool.runnable.is_some_and(|share| share >= FOR_CPU * pool.occupancy);
    // With free workers left, it was something else that made more connections buy nothing.
    let was_free = input.shape.pool.is_some_and(|fit| fit.knee < BENDS_BEFORE * pool.workers);
    if needs_cpu || was_free || connections::database_full(input).is_some() {
        return true;
    }
    if pool.waits_for_disk() >= WAITS {
        return matches!(disk::look(input), Detection::Found(_));
    }
    match pool.waits_for().filter(|(_, share)| *share >= WAITS) {
        Some(("lock", _)) => true,
        Some(_) => upstream::culprit(pool, input).is_some(),
        None => false,
    }
}

/// True if requests wait in front of the pool: in its own queue at every sample, or by Little's law.
fn is_queued(pool: &Pool, input: &LimiterInput<'_>) -> bool {
    let waiting = laws::waiting(input.evidence.outstanding.mean, pool.workers, pool.occupancy);
    pool.queue_min.is_some_and(|least| least > 0.0) || waiting >= WAITING * pool.workers
}

fn signal(pool: &Pool, input: &LimiterInput<'_>, cpus_busy: f64) -> Detection {
    let Some(occupied_ns) = pool.occupied_ns(input.clean_per_s) else { return Detection::Clear };
    let ceiling_per_s = laws::pool_ceiling_per_s(pool.workers, occupied_ns);
    let setting = pool.setting(&input.context.settings);
    let waiting = laws::waiting(input.evidence.outstanding.mean, pool.workers, pool.occupancy);
    let (who, them) = match pool.is_alone() {
        true => (format!("the only worker ({}) is", pool.program), "it"),
        false => (format!("all {:.0} {} are", pool.workers, pool.resource()), "them"),
    };
    let says = format!(
        "{who} occupied {} of the time, {} per response{}; {waiting:.0} requests wait for {them}: at most {}",
        percent(pool.occupancy.min(1.0)),
        time(occupied_ns),
        doing(pool),
        rate(ceiling_per_s)
    );
    let mut evidence = figures([
        ("workers", pool.workers),
        ("occupancy", pool.occupancy),
        ("occupied_ns_per_request", occupied_ns),
        ("waiting", waiting),
        ("server_cpus_busy_share", cpus_busy),
    ]);
    evidence.extend(pool.running.map(|share| ("running_share".to_owned(), share)));
    evidence.extend(pool.queue_min.map(|least| ("queue_min".to_owned(), least)));
    Detection::hit(Signal {
        name: "worker-pool-limited",
        resource: pool.resource(),
        says,
        share: Some(pool.occupancy),
        // Requests do wait, but perhaps for a CPU.
        queue: cpus_busy < CPUS_ROOM,
        ceiling_per_s: Some(ceiling_per_s),
        evidence,
        change: Some(Change::twice(&pool.resource(), pool.workers, setting)),
        relief: Relief::of_server(&[&pool.program], Some(occupied_ns)),
        ..Signal::default()
    })
}

/// Activity of the workers, in half a sentence.
fn doing(pool: &Pool) -> String {
    let running = pool.running.map(|share| share / pool.occupancy);
    let disk = Some(("a disk", pool.waits_for_disk()));
    match (disk.filter(|(_, share)| *share >= WAITS).or_else(|| pool.waits_for()), running) {
        (_, Some(share)) if share >= CPU_HEAVY => format!(" (CPU-heavy: {} of it running)", percent(share.min(1.0))),
        (Some((on, share)), _) if share >= WAITS => format!(" ({} of it waiting on {on})", percent(share.min(1.0))),
        _ => String::new(),
    }
}
