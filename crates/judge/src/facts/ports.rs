//! Local ports of the server's machine that a proxy there has used up.

use super::kernel::{is_one_machine, share};
use super::observed;
use model::Evidence;

/// As many sockets in TIME_WAIT as this share of the local ports leave none to a proxy with one upstream.
const USED_UP: f64 = 0.9;
/// Share of the responses that say that an upstream could not be reached.
const FAILED: f64 = 0.01;
/// Statuses of a proxy without an upstream.
const STATUSES: std::ops::RangeInclusive<u16> = 500..=504;

/// Ports that connections hold which have ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PortsHeld {
    /// Sockets in TIME_WAIT that are no ends of the load's connections.
    pub(crate) waiting: u64,
    /// Local ports.
    pub(crate) ports: u64,
    /// Share of the responses with a status from 500 to 504.
    pub(crate) failed: f64,
}

/// The ports of the server's machine, where nearly all are held and responses fail for want of an upstream: each by itself may
/// have other reasons. None otherwise.
pub(crate) fn server_out_of_ports(evidence: &Evidence) -> Option<PortsHeld> {
    let seen = observed(evidence).filter(|seen| seen.server.is_some())?;
    let gauge = |part: &str, name: &str| seen.gauges.get(part)?.get(name).map(|gauge| gauge.max);
    let sockets = seen.sockets.as_ref();
    let ended = |ends: &std::collections::BTreeMap<String, u64>| ends.get("time_wait").copied().unwrap_or(0);
    let of_client = sockets.filter(|_| is_one_machine(evidence)).map_or(0, |sockets| ended(&sockets.client));
    let of_server = sockets.and_then(|sockets| sockets.server.as_ref()).map_or(0, ended);
    let waiting = gauge("sockstat", "tcp_time_wait")?.saturating_sub(of_client + of_server);
    let ports = gauge("ports", "local_ports")?;
    let bad = evidence.cohort.status.iter().filter(|(status, _)| STATUSES.contains(status)).map(|(_, n)| n).sum();
    let failed = share(bad, evidence.cohort.counts.completed);
    (share(waiting, ports) >= USED_UP && failed >= FAILED).then_some(PortsHeld { waiting, ports, failed })
}
