//! A path between the machines that nobody probed: responses that wait under load while both ends rest.

use super::{Detection, Signal, figures};
use crate::facts::bandwidth::path;
use crate::facts::{OCCUPIED, Placement, placement};
use crate::limiter::input::LimiterInput;
use model::human::{percent, time};
use model::{Evidence, PoolObserved};

/// Whoever is busier than this may be what the others wait for.
const IDLE: f64 = 0.5;
/// Responses that take so many times as long as without load wait somewhere.
const WAITS: f64 = 2.0;
/// Shorter waits are those of any queue.
const WAIT_MIN_NS: f64 = 1e6;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let evidence = input.evidence;
    let Some(cpus) = input.server_cpus() else {
        return Detection::Unchecked("CPUs of the server not visible (of a remote one: --server-host)");
    };
    if placement(evidence) != Placement::Remote {
        return Detection::Clear; // there is no path
    }
    // A path that was probed is looked at as a link is.
    let (Some(alone_ns), None) = (alone_ns(evidence), path(evidence)) else { return Detection::Clear };
    let client = client_busy(evidence);
    let thread = input.groups().flat_map(|(_, group)| &group.threads).map(|it| input.wanted(it)).fold(0.0, f64::max);
    let is_pool_full = input.observed_pools().any(|pool| at_work(pool) >= OCCUPIED);
    let loaded_ns = evidence.latency.service.p50_ns as f64;
    let waits = loaded_ns >= WAITS * alone_ns && loaded_ns - alone_ns >= WAIT_MIN_NS;
    let is_busy = cpus.busy >= IDLE || thread >= IDLE || client >= IDLE || is_pool_full;
    if is_busy || !waits || input.is_served() {
        return Detection::Clear;
    }
    let ways = if evidence.bandwidth.is_none() { "; --probe-bandwidth measures it" } else { "" };
    Detection::hit(Signal {
        name: "network-limited",
        resource: "path between the machines".to_owned(),
        says: format!(
            "neither the server (CPUs {} busy) nor the client (load threads {}) is busy, and responses take {} (without load \
             {}): the path between them may be the limit{ways}, or something that the server waits for and that is not \
             observed",
            percent(cpus.busy),
            percent(client),
            time(loaded_ns),
            time(alone_ns)
        ),
        evidence: figures([
            ("server_cpus_busy_share", cpus.busy),
            ("load_threads_busy_share", client),
            ("service_p50_ns", loaded_ns),
            ("probed_response_ns", alone_ns),
        ]),
        is_inferred: true,
        ..Signal::default()
    })
}

/// Share of the time in which a worker of the pool was occupied by anything but the path: what waits for a client waits for that.
fn at_work(pool: &PoolObserved) -> f64 {
    let for_client: f64 =
        pool.blocked.iter().filter(|(what, _)| what.starts_with("client")).map(|(_, share)| share).sum();
    pool.occupancy - for_client
}

/// Shortest response before the load; none without a probe.
pub(super) fn alone_ns(evidence: &Evidence) -> Option<f64> {
    let fetches = evidence.probe.iter().flat_map(|probe| &probe.fetches);
    fetches.map(|fetch| fetch.response_ns as f64).filter(|ns| *ns > 0.0).min_by(f64::total_cmp)
}

/// Busy share of the busiest load thread over the window.
fn client_busy(evidence: &Evidence) -> f64 {
    let busy = evidence.threads.iter().filter(|it| it.wall_ns > 0).map(|it| it.cpu_ns as f64 / it.wall_ns as f64);
    busy.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, probed_path, seen_there};
    use model::LimiterContext;

    /// Two machines at rest, and a link of 10 Mbit/s between them that nobody probed.
    fn full_link() -> Evidence {
        let mut evidence = clean_run();
        seen_there(&mut evidence);
        let seen = evidence.observed.as_mut().expect("it is seen");
        seen.machine.iter_mut().for_each(|machine| machine.cpu_busy_mean = vec![0.008; 2]);
        seen.server.iter_mut().flat_map(|server| &mut server.threads).for_each(|thread| thread.user_mean = 0.01);
        evidence.threads.iter_mut().for_each(|thread| thread.cpu_ns = thread.wall_ns / 250);
        evidence.latency.service.p50_ns = 70_000_000;
        evidence.probe.iter_mut().flat_map(|probe| &mut probe.fetches).for_each(|it| it.response_ns = 16_000_000);
        evidence
    }

    fn found(change: impl FnOnce(&mut Evidence)) -> Option<Signal> {
        let mut evidence = full_link();
        change(&mut evidence);
        let context = LimiterContext::default();
        match look(&LimiterInput::new(&evidence, &context, Default::default())) {
            Detection::Found(signal) => Some(*signal),
            Detection::Clear | Detection::Unchecked(_) => None,
        }
    }

    /// Everything on both machines rested, responses took 70 ms, and nothing was said of the link between them.
    #[test]
    fn a_path_between_two_machines_at_rest_may_be_the_limit() {
        let signal = found(|_| ()).expect("both rest");
        let says = "neither the server (CPUs 0.80 % busy) nor the client (load threads 0.40 %) is busy";
        assert!(
            signal.says.starts_with(says) && signal.says.contains("--probe-bandwidth measures it"),
            "{}",
            signal.says
        );
    }

    #[test]
    fn workers_that_wait_for_a_client_wait_for_the_path_and_other_full_pools_are_looked_at_first() {
        let with_pool = |waits_for: &str| {
            found(|e| {
                let blocked = [(waits_for.to_owned(), 0.9)].into();
                let pool = PoolObserved { occupancy: 1.0, blocked, ..PoolObserved::default() };
                e.observed.iter_mut().for_each(|seen| seen.pools = vec![pool.clone()]);
            })
        };
        assert!(with_pool("client load_generator").is_some() && with_pool("mariadbd").is_none());
    }

    #[test]
    fn whoever_is_busy_or_slow_without_load_is_looked_at_first() {
        let is_found = |change: fn(&mut Evidence)| found(change).is_some();
        assert!(!is_found(|e| e.threads[0].cpu_ns = e.threads[0].wall_ns * 6 / 10), "the client is busy");
        let busy: fn(&mut Evidence) = |e| {
            let machine = e.observed.as_mut().and_then(|seen| seen.machine.as_mut());
            machine.into_iter().for_each(|machine| machine.cpu_busy_mean = vec![0.9; 2]);
        };
        assert!(!is_found(busy), "the server is busy");
        assert!(!is_found(|e| e.latency.service.p50_ns = 17_000_000), "nothing waits");
        assert!(!is_found(|e| e.bandwidth = Some(probed_path(1_000_000_000))), "it was probed and has room");
        assert!(!is_found(|e| (e.client_machine, e.plan.target.address) = (None, "127.0.0.1:80".parse().unwrap())));
    }
}
