//! Facts of the evidence that several rules and the limiter use.
//!
//! Which CPUs client and server have goes by what the threads that ran may use: a pinned worker below an unpinned
//! master is on its own CPUs.

pub(crate) mod bandwidth;
pub(crate) mod closes;
pub(crate) mod counted;
pub(crate) mod curve;
pub(crate) mod database;
pub(crate) mod descriptors;
pub(crate) mod disturbed;
pub(crate) mod kernel;
pub(crate) mod kinds;
pub(crate) mod ports;
pub(crate) mod redirects;
pub(crate) mod saturation;
pub(crate) mod stopped;
pub(crate) mod surplus;
pub(crate) mod whole_load;

use kernel::is_one_machine;
use model::{Evidence, Fairness, Load, NS_PER_S, Observed, Quantile, Second};

/// A worker pool that is occupied to this share has no worker to spare.
pub(crate) const OCCUPIED: f64 = 0.95;

/// Where client and server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// On machines of their own.
    Remote,
    /// On one machine, on CPUs of their own.
    Apart,
    /// On one machine, with CPUs that both may use.
    Shared,
    /// On one machine; CPU affinity unknown.
    Unknown,
}

/// Quantiles of the load that its result has, the lowest first; without the maximum.
pub(crate) fn quantiles(evidence: &Evidence) -> Vec<Quantile> {
    let all = Quantile::usual_and(&evidence.plan.quantiles);
    all.into_iter().filter(|quantile| *quantile != Quantile::MAX).collect()
}

/// Failures of the measured window whose name contains `part`.
pub(crate) fn failures_named<'a>(evidence: &'a Evidence, part: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
    evidence.cohort.failures.iter().filter(move |(name, _)| name.contains(part)).map(|(name, n)| (name.as_str(), *n))
}

/// Mean of a count that is added up over the iterations of a load.
pub(crate) fn per_iteration(evidence: &Evidence, n: u64) -> f64 {
    n as f64 / f64::from(evidence.iterations.max(1))
}

/// Connections without any answer in the window while others had theirs in a fraction of the wait: not slow, but never served.
/// Where nobody has an answer any more, the server has stopped, and keeps no connection from the others.
pub(crate) fn starved(evidence: &Evidence) -> Option<Fairness> {
    /// Multiple of the 99th percentile that a wait is longer than.
    const LONGER: u64 = 10;
    /// A shorter wait is none.
    const WAIT_MIN_NS: u64 = NS_PER_S / 2;
    let fairness = evidence.connections.fairness.filter(|it| it.answered > 0 && it.starved > 0)?;
    let wait_ns = fairness.starved_ns?.saturating_sub(fairness.quiet_ns.unwrap_or(0));
    (wait_ns >= WAIT_MIN_NS && wait_ns >= LONGER.saturating_mul(evidence.latency.response.p99_ns)).then_some(fairness)
}

pub(crate) fn placement(evidence: &Evidence) -> Placement {
    if !is_one_machine(evidence) {
        return Placement::Remote;
    }
    let (client, server) = (client_cpus(evidence), server_cpus(evidence));
    match (client, server) {
        ([], _) | (_, []) => Placement::Unknown,
        (client, server) if client.iter().any(|cpu| server.contains(cpu)) => Placement::Shared,
        _ => Placement::Apart,
    }
}

/// CPUs that the load threads may use; empty when that is not known.
pub(crate) fn client_cpus(evidence: &Evidence) -> &[u32] {
    match evidence.plan.cpus.as_slice() {
        [] => observed(evidence).and_then(|seen| seen.generator.as_ref()).map_or(&[], |generator| &generator.cpus),
        pinned => pinned,
    }
}

/// True unless this machine has too few CPUs for client and server to have some to themselves beside the kernel and all else.
pub(crate) fn may_part_cpus(evidence: &Evidence) -> bool {
    /// One for each of them, and one for the rest.
    const CPUS_MIN: u32 = 3;
    let machine = client_machine(evidence).and_then(|observed| observed.machine.as_ref());
    placement(evidence) == Placement::Remote || machine.is_none_or(|machine| machine.cpus >= CPUS_MIN)
}

/// What is to be done where client and server take CPU time from each other.
pub(crate) fn part_client_and_server(evidence: &Evidence) -> String {
    if !may_part_cpus(evidence) {
        return "measure from another machine".to_owned();
    }
    "pin server (taskset, --serve) and client (--cpus) to separate CPUs, or use another machine".to_owned()
}

/// CPUs that the server may use; empty when that is not known.
pub(crate) fn server_cpus(evidence: &Evidence) -> &[u32] {
    observed(evidence).and_then(|seen| seen.server.as_ref()).map_or(&[], |server| &server.cpus)
}

/// The machine of the server as far as that is observed, else that of the load generator.
pub(crate) fn observed(evidence: &Evidence) -> Option<&Observed> {
    evidence.observed.as_ref()
}

/// The machine of the load generator.
pub(crate) fn client_machine(evidence: &Evidence) -> Option<&Observed> {
    evidence.client_machine.as_ref().or(evidence.observed.as_ref())
}

/// Length of the measured windows; s.
pub(crate) fn seconds(evidence: &Evidence) -> f64 {
    evidence.measured_ns as f64 / NS_PER_S as f64
}

/// Good responses per second in the undisturbed part of a second, or in all of it where no account was kept; none where less
/// than half of it was undisturbed.
pub(crate) fn undisturbed_per_s(evidence: &Evidence, second: &Second) -> Option<f64> {
    let (good, ns) = match evidence.disturbance {
        Some(_) => (second.clean_good, second.clean_ns),
        None => (second.good, second.length_ns),
    };
    (2 * ns >= second.length_ns).then(|| good as f64 / (ns as f64 / NS_PER_S as f64))
}

/// Shortest time for which servers keep an idle connection by default (gunicorn; Apache and Node.js: 5 s); s.
const KEPT_IDLE_S: f64 = 2.0;

/// True if connections of an open loop are used so seldom that servers close them between two requests.
pub(crate) fn rests_idle(evidence: &Evidence) -> bool {
    let Load::Open { rate_per_s, .. } = evidence.plan.load else { return false };
    let open = f64::from(evidence.connections.established) + per_iteration(evidence, evidence.connections.grown);
    open >= KEPT_IDLE_S * rate_per_s
}

/// Mean response time of the slowest request of a mix; 0 where there is but one. ns
pub(crate) fn slowest_of_mix_ns(evidence: &Evidence) -> u64 {
    let mix = evidence.cohort.mix.iter().filter(|one| one.completed > 0);
    mix.map(|one| one.response_ns / one.completed).max().unwrap_or(0)
}

/// Requests that may be out at the same time.
pub(crate) fn slots(evidence: &Evidence) -> f64 {
    f64::from(evidence.plan.load.connections()) * f64::from(evidence.plan.pipeline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, seen_there, set_counter};

    #[test]
    fn a_server_that_an_agent_observes_is_on_a_machine_of_its_own() {
        let mut evidence = clean_run();
        // The numbers of the CPUs say nothing: they are of two machines.
        evidence.plan.cpus = vec![0];
        seen_there(&mut evidence);
        assert_eq!(placement(&evidence), Placement::Remote);
        assert!(kernel::is_server_seen(&evidence) && !is_one_machine(&evidence));
        set_counter(&mut evidence, "tcp", "RetransSegs", 5);
        set_counter(&mut evidence, "cgroup/generator", "throttled_periods", 7);
        let of_client = evidence.client_machine.as_mut().expect("it is seen");
        of_client.counters.entry("tcp".into()).or_default().insert("RetransSegs".into(), 3);
        of_client.counters.entry("cgroup/generator".into()).or_default().insert("throttled_periods".into(), 9);
        assert_eq!(
            (kernel::tcp(&evidence, "RetransSegs"), kernel::client_tcp(&evidence, "RetransSegs")),
            (Some(5), Some(3))
        );
        let throttled = kernel::counter(&evidence, "cgroup/generator", "throttled_periods");
        assert_eq!(throttled, Some(9), "that of the agent is nobody's business");
        // Nobody looks at the client where agents generate the load.
        evidence.client_machine = Some(Observed::default());
        assert_eq!(kernel::client_tcp(&evidence, "RetransSegs"), None);
        assert!(kernel::is_server_seen(&evidence));
    }

    /// Rules on the client looked at the machine of the server, and passed.
    #[test]
    fn rules_on_a_client_that_nobody_looks_at_are_unchecked() {
        let mut evidence = clean_run();
        evidence.plan.target.address = "192.0.2.1:80".parse().expect("an address");
        evidence.client_machine = Some(Observed::default());
        let verdict = crate::judge_run(&evidence);
        for rule in ["CL-08", "CL-10", "CL-11", "NE-09", "PH-03"] {
            assert!(verdict.unchecked.iter().any(|unchecked| unchecked == rule), "{rule}: {:?}", verdict.unchecked);
        }
        assert!(kernel::is_server_seen(&evidence) && !is_one_machine(&evidence));
    }

    #[test]
    fn who_shares_a_cpu_is_told_by_what_both_may_use() {
        let mut evidence = clean_run();
        assert_eq!(placement(&evidence), Placement::Apart);
        evidence.plan.cpus = vec![0];
        assert_eq!(placement(&evidence), Placement::Shared);
        evidence.observed = None;
        assert_eq!(placement(&evidence), Placement::Unknown, "a loopback address is on this machine all the same");
        evidence.plan.target.address = "192.0.2.1:80".parse().expect("an address");
        assert_eq!(placement(&evidence), Placement::Remote);
    }
}
