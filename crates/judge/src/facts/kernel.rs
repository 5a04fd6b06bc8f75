//! Kernel counters and status pages, as the rules use them.

use crate::facts::{client_machine, failures_named, observed, seconds};
use model::human::{count, plural};
use model::{Around, Evidence, Figure, FindingState, GaugeObserved, LISTENER_DROPS, Observed, StatusRecord};
use std::collections::BTreeMap;

/// Reason why a rule about the server's side lacks data.
pub(crate) const ELSEWHERE: &str = "server on another machine, not monitored";

/// Parts of the kernel that are about the load generator, and of interest on its machine.
const OF_CLIENT: [&str; 2] = ["cgroup/generator", "ports"];

/// The machine whose kernel tells of a part.
fn told_by<'a>(evidence: &'a Evidence, part: &str) -> Option<&'a Observed> {
    if OF_CLIENT.contains(&part) { client_machine(evidence) } else { observed(evidence) }
}

/// Growth of a counter of the monitored kernel in the window, the server's where that is known; none when it is not offered.
pub(crate) fn counter(evidence: &Evidence, part: &str, name: &str) -> Option<u64> {
    told_by(evidence, part)?.counters.get(part)?.get(name).copied()
}

/// Growth of a TCP counter of this machine's kernel.
pub(crate) fn tcp(evidence: &Evidence, name: &str) -> Option<u64> {
    counter(evidence, "tcp", name)
}

/// The same of the machine of the load generator.
pub(crate) fn client_tcp(evidence: &Evidence, name: &str) -> Option<u64> {
    client_machine(evidence)?.counters.get("tcp")?.get(name).copied()
}

/// Tail loss probes that have made good a loss. Many more are sent by a kernel whose CPUs are too busy to acknowledge in
/// time, and lose nothing.
pub(crate) fn recovered_by_probes(evidence: &Evidence) -> u64 {
    tcp(evidence, "TCPLossProbeRecovery").unwrap_or(0)
}

/// Connection attempts that the target's own listening sockets dropped; none where the kernel does not tell it by socket.
///
/// Of a socket with `TCP_DEFER_ACCEPT`, as Apache's are, the kernel counts each handshake whose request is still to come as
/// well: these are taken off, one for each connection, and so are those beyond what all sockets dropped.
pub(crate) fn own_drops(evidence: &Evidence) -> Option<u64> {
    let [part, name] = LISTENER_DROPS;
    let counted = counter(evidence, part, name)?;
    let deferred = tcp(evidence, "TCPDeferAcceptDrop").unwrap_or(0).min(evidence.flow.opened);
    Some(counted.saturating_sub(deferred).min(all_drops(evidence).unwrap_or(u64::MAX)))
}

/// Connection attempts that all listening sockets of this machine's kernel dropped.
pub(crate) fn all_drops(evidence: &Evidence) -> Option<u64> {
    [tcp(evidence, "ListenOverflows"), tcp(evidence, "ListenDrops")].into_iter().flatten().max()
}

/// Share of the attempts to connect that the target's own queues dropped; none where that is not told by socket.
pub(crate) fn own_drops_share(evidence: &Evidence) -> Option<f64> {
    let dropped = own_drops(evidence)?;
    Some(share(dropped, dropped + evidence.flow.opened))
}

/// Segments sent again because they were lost.
pub(crate) fn retransmitted(evidence: &Evidence) -> Option<u64> {
    retransmitted_by(observed(evidence)?)
}

/// The same of one machine.
fn retransmitted_by(machine: &Observed) -> Option<u64> {
    let tcp = machine.counters.get("tcp")?;
    let [again, probes] = [*tcp.get("RetransSegs")?, *tcp.get("TCPLossProbes")?];
    Some(again.saturating_sub(probes) + tcp.get("TCPLossProbeRecovery").copied().unwrap_or(0))
}

/// Retransmissions that every machine with a network has.
pub(crate) const RETRANSMITTED_MIN: u64 = 20;
/// Share of the dropped packets that TCP has to send again before the drops count as harm.
const MISSED_SHARE: f64 = 0.1;

/// Effect of dropped packets, by what TCP had to send again. A drop that nobody misses is a packet of another protocol, or an
/// acknowledgement that the next one made good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// Segments were retransmitted, so many in all.
    Retransmitted(u64),
    /// Hardly any segment was retransmitted: so many.
    None(u64),
    /// No kernel counts retransmissions.
    Unknown,
}

impl Harm {
    /// The harm of `dropped` packets. Either end of a connection may be the one that sends again.
    pub(crate) fn of(evidence: &Evidence, dropped: u64) -> Self {
        let machines = [observed(evidence), evidence.client_machine.as_ref()];
        let counts: Vec<u64> = machines.into_iter().flatten().filter_map(retransmitted_by).collect();
        let again: u64 = counts.iter().sum();
        match again {
            _ if counts.is_empty() => Self::Unknown,
            n if n >= RETRANSMITTED_MIN && n as f64 >= MISSED_SHARE * dropped as f64 => Self::Retransmitted(n),
            n => Self::None(n),
        }
    }

    /// The state of a finding that would have the state `harmful` if its drops did harm.
    pub(crate) fn state(self, harmful: FindingState) -> FindingState {
        match self {
            Self::Retransmitted(_) => harmful,
            Self::None(_) => FindingState::Note,
            Self::Unknown => harmful.min(FindingState::Warning),
        }
    }

    /// What follows from the drops, as the second half of a sentence.
    pub(crate) fn says(self) -> String {
        match self {
            Self::Retransmitted(again) => {
                format!("TCP sent {} segments again, which lengthens the tail latency", count(again))
            }
            Self::None(again) => {
                let again = match again {
                    0 => "no segment".to_owned(),
                    again => format!("only {}", plural(again, "segment")),
                };
                format!("TCP sent {again} again, so the drops have hardly delayed this load")
            }
            Self::Unknown => "whether TCP had to send segments again is not known".to_owned(),
        }
    }
}

/// The interface that leaves no machine.
pub(crate) const LOOPBACK: &str = "lo";

/// Bytes that an interface carried in the direction with more.
pub(crate) fn interface_bytes(counters: &BTreeMap<String, u64>) -> Option<u64> {
    ["received_bytes", "sent_bytes"].iter().filter_map(|name| counters.get(*name)).max().copied()
}

/// The interface with the most traffic, if it is as much as the load's.
pub(crate) fn carrier(evidence: &Evidence) -> Option<(&str, &BTreeMap<String, u64>)> {
    let parts = &evidence.observed.as_ref()?.counters;
    let interfaces = parts.iter().filter_map(|(part, counters)| Some((part.strip_prefix("nic/")?, counters)));
    // In the direction with more: what the client receives is sent by an interface of the server's machine.
    let bytes = |counters: &BTreeMap<String, u64>| interface_bytes(counters).unwrap_or(0);
    let busiest = interfaces.max_by_key(|(_, counters)| bytes(counters))?;
    carries_load(evidence, busiest.1).then_some(busiest)
}

/// Drops of an interface that are more than those of packets that are not for it, of which `least` are as many in 30 s.
pub(crate) fn least_drops(evidence: &Evidence, least: u64) -> u64 {
    (least as f64 * (seconds(evidence) / 30.0).max(1.0)) as u64
}

/// True if an interface carried as much as the load.
pub(crate) fn carries_load(evidence: &Evidence, counters: &BTreeMap<String, u64>) -> bool {
    let of_load = evidence.flow.bytes_received.max(evidence.flow.bytes_sent);
    // Samples and window do not begin and end at the same instants.
    interface_bytes(counters).is_some_and(|bytes| bytes > 0 && bytes >= of_load / 2)
}

/// Reason why a counter of the whole kernel says nothing of this load.
pub(crate) const FOREIGN: &str = "other programs used this machine's network more than the load did (EN-03)";

/// True if most of the segments that the kernel has sent are not explained by the load, while other programs ran: what was lost
/// or held back may then be theirs. What the load explains is reckoned high: each response in segments of 500 bytes, sent on
/// by several programs.
pub(crate) fn has_foreign_traffic(evidence: &Evidence) -> bool {
    const SEGMENT_BYTES: f64 = 500.0;
    const HOPS: f64 = 4.0;
    /// CPUs that a program uses which sends as much as a load does.
    const CORES_MIN: f64 = 0.02;
    let ran = observed(evidence).and_then(|seen| seen.others.as_ref()).is_some_and(|them| them.cpu_cores >= CORES_MIN);
    let flow = &evidence.flow;
    let exchanged = 2.0 * flow.sent.max(flow.completed) as f64;
    let explained = HOPS * (exchanged + (flow.bytes_received + flow.bytes_sent) as f64 / SEGMENT_BYTES);
    let sent = tcp(evidence, "TCPOrigDataSent").unwrap_or(0) as f64;
    ran && sent > 2.0 * explained
}

/// Connections of other programs of this machine, opened during the window.
pub(crate) fn foreign_connections(evidence: &Evidence) -> u64 {
    let opened = [tcp(evidence, "ActiveOpens"), tcp(evidence, "PassiveOpens")].into_iter().flatten().max();
    opened.unwrap_or(0).saturating_sub(evidence.flow.opened)
}

/// Gauge of this machine's kernel over the window; none when it is not offered.
pub(crate) fn gauge(evidence: &Evidence, part: &str, name: &str) -> Option<GaugeObserved> {
    told_by(evidence, part)?.gauges.get(part)?.get(name).copied()
}

/// True if client and server are connected by TCP, not by a Unix socket.
pub(crate) fn is_tcp(evidence: &Evidence) -> bool {
    evidence.plan.target.address.tcp().is_some()
}

/// True if the machine of the server is monitored, so that the kernel is its own.
pub(crate) fn is_server_seen(evidence: &Evidence) -> bool {
    evidence.client_machine.is_some() || is_one_machine(evidence)
}

/// True if client and server are on one machine.
pub(crate) fn is_one_machine(evidence: &Evidence) -> bool {
    // What an agent sees of the server is seen on its machine.
    let seen = observed(evidence).filter(|_| evidence.client_machine.is_none());
    evidence.plan.target.address.is_each_machines_own()
        || seen.is_some_and(|seen| seen.server.is_some())
        || seen.and_then(|seen| seen.sockets.as_ref()).is_some_and(|sockets| sockets.server.is_some())
}

/// Scope of the counters, in brackets.
pub(crate) fn whose(evidence: &Evidence) -> &'static str {
    match (is_one_machine(evidence), evidence.client_machine.is_some()) {
        (true, _) => "(client and server counted together)",
        (false, true) => "(counted on the server's machine)",
        (false, false) => "(counted on the client machine)",
    }
}

/// True if the load tried to connect during the window, so that a full queue can have affected it.
pub(crate) fn has_connected(evidence: &Evidence) -> bool {
    evidence.flow.opened > 0 || failures_named(evidence, "connect.").any(|(_, n)| n > 0)
}

/// `part` of `whole`, 0 to 1; 0 of nothing. Counters that are read one after the other may put a part above its whole.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

/// Part of the attempts to connect from which the tail of the latencies is that of the waiting.
const LOST_INVALID_SHARE: f64 = 0.0001;
/// Fewer are an accident, whatever part they are of few attempts.
const LOST_INVALID_MIN: u64 = 10;

/// Attempts to connect that found a queue full.
pub(crate) struct Lost {
    pub(crate) attempts: u64,
    /// Of the attempts, 0 to 1.
    pub(crate) share: f64,
    /// Effect on the result.
    pub(crate) state: FindingState,
}

impl Lost {
    /// `dropped` of those that came to servers on this machine, or to the target alone where its drops are known.
    pub(crate) fn of(evidence: &Evidence, dropped: u64) -> Self {
        let accepted = tcp(evidence, "PassiveOpens").unwrap_or(0);
        let accepted = if own_drops(evidence).is_some() { accepted.min(evidence.flow.opened) } else { accepted };
        let attempts = accepted + dropped;
        let share = share(dropped, attempts);
        let is_many = share > LOST_INVALID_SHARE && dropped >= LOST_INVALID_MIN;
        Self { attempts, share, state: if is_many { FindingState::Invalid } else { FindingState::Warning } }
    }
}

/// Part of the measured time, of a counter in ns.
pub(crate) fn share_of_time(evidence: &Evidence, ns: u64) -> f64 {
    share(ns, evidence.measured_ns)
}

/// Part of the time in which the quota of the server's control group stopped it, 0 to 1; none where that is not monitored.
///
/// The kernel adds the stopped time up over all CPUs, so that it may be longer than the window; no longer than in the
/// periods with a stop was the server stopped.
pub(crate) fn throttled_share(evidence: &Evidence) -> Option<f64> {
    let of = |name| counter(evidence, "cgroup/server", name);
    let of_time = share_of_time(evidence, of("throttled_ns")?);
    let of_periods = of("throttled_periods").zip(of("periods")).map(|(stopped, all)| share(stopped, all.max(stopped)));
    Some(of_time.min(of_periods.unwrap_or(1.0)))
}

/// Status pages that are of one of these servers and were read.
pub(crate) fn pages<'a>(
    evidence: &'a Evidence,
    servers: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a StatusRecord)> {
    let read = evidence.status.iter().filter(|page| page.looks > 0 || !page.around.is_empty());
    read.filter_map(|page| Some((page.server.as_deref()?, page))).filter(move |(server, _)| servers.contains(server))
}

/// By how much a counter of a status page has grown; none when the page does not have it.
pub(crate) fn growth(page: &StatusRecord, name: &str) -> Option<f64> {
    if page.looks < 2 {
        return page.around.get(name).map(|Around { before, after }| (after - before).max(0.0));
    }
    page.figures.get(name).map(|Figure { first, last, .. }| (last - first).max(0.0))
}
