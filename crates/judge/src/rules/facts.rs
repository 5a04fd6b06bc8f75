//! What several rules ask of the evidence.

use super::kernel::is_server_here;
use model::{Evidence, NS_PER_S, Observed};

/// Where client and server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// On machines of their own.
    Remote,
    /// On one machine, on CPUs of their own.
    Apart,
    /// On one machine, with CPUs that both may use.
    Shared,
    /// On one machine; nobody knows which CPUs they may use.
    Unknown,
}

pub(super) fn placement(evidence: &Evidence) -> Placement {
    if !is_server_here(evidence) {
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
pub(super) fn client_cpus(evidence: &Evidence) -> &[u32] {
    match evidence.plan.cpus.as_slice() {
        [] => observed(evidence).and_then(|seen| seen.generator.as_ref()).map_or(&[], |generator| &generator.cpus),
        pinned => pinned,
    }
}

/// CPUs that the server may use; empty when that is not known.
pub(super) fn server_cpus(evidence: &Evidence) -> &[u32] {
    observed(evidence).and_then(|seen| seen.server.as_ref()).map_or(&[], |server| &server.cpus)
}

pub(super) fn observed(evidence: &Evidence) -> Option<&Observed> {
    evidence.observed.as_ref()
}

/// Length of the measured windows; s.
pub(super) fn seconds(evidence: &Evidence) -> f64 {
    evidence.measured_ns as f64 / NS_PER_S as f64
}

/// `n` per second of the measured windows.
pub(super) fn per_s(evidence: &Evidence, n: u64) -> f64 {
    n as f64 / seconds(evidence).max(f64::MIN_POSITIVE)
}

/// Requests that may be out at the same time.
pub(super) fn slots(evidence: &Evidence) -> f64 {
    f64::from(evidence.plan.load.connections()) * f64::from(evidence.plan.pipeline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clean_run;

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
