//! TCP, UDP, IP, their sockets and memory, the receive queues of the CPUs, and connection tracking.

use super::{Context, Figured};
use crate::files::Missing;

const SNMP: &str = "/proc/net/snmp";
const NETSTAT: &str = "/proc/net/netstat";

/// Counters by the kernel's own names: what is dropped, sent again or given up, and how much there was of all.
const TCP: [&str; 10] = [
    "ActiveOpens",
    "PassiveOpens",
    "AttemptFails",
    "EstabResets",
    "InSegs",
    "OutSegs",
    "RetransSegs",
    "InErrs",
    "OutRsts",
    "InCsumErrors",
];
const TCP_EXT: [&str; 24] = [
    "SyncookiesSent",
    "PruneCalled",
    "DelayedACKs",
    "ListenOverflows",
    "ListenDrops",
    "TCPDeferAcceptDrop",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPBacklogDrop",
    "TCPTimeWaitOverflow",
    "TCPReqQFullDoCookies",
    "TCPReqQFullDrop",
    "TCPRcvQDrop",
    "TCPFromZeroWindowAdv",
    "TCPToZeroWindowAdv",
    "TCPSynRetrans",
    "TCPOrigDataSent",
    "TCPMemoryPressures",
    "TCPAbortOnData",
    "TCPAbortOnClose",
    "TCPAbortOnMemory",
    "TCPAbortOnTimeout",
    "TCPAbortFailed",
];
const UDP: [&str; 6] = ["InDatagrams", "OutDatagrams", "NoPorts", "InErrors", "RcvbufErrors", "SndbufErrors"];
const IP: [&str; 6] = ["InReceives", "OutRequests", "InDiscards", "OutDiscards", "OutNoRoutes", "ReasmFails"];

pub(super) fn tcp(context: &Context<'_>) -> Result<Figured, Missing> {
    let mut figured = Figured::counters(counters(&snmp(context)?, "Tcp", &TCP));
    figured.counters.extend(super::named(counters(&context.files.text(NETSTAT)?, "TcpExt", &TCP_EXT)));
    if figured.counters.is_empty() { Err(Missing::Malformed(SNMP.into())) } else { Ok(figured) }
}

pub(super) fn udp(context: &Context<'_>) -> Result<Figured, Missing> {
    Ok(Figured::counters(counters(&snmp(context)?, "Udp", &UDP)))
}

pub(super) fn ip(context: &Context<'_>) -> Result<Figured, Missing> {
    Ok(Figured::counters(counters(&snmp(context)?, "Ip", &IP)))
}

/// The file that several parts are in, read once a sample.
fn snmp(context: &Context<'_>) -> Result<String, Missing> {
    context.snmp.get_or_init(|| context.files.text(SNMP)).clone()
}

/// The counters of a protocol: a line of names, and below it one of their values, both beginning with `protocol`.
fn counters(text: &str, protocol: &str, wanted: &[&'static str]) -> Vec<(&'static str, u64)> {
    let of_protocol = |line: &&str| line.split_once(':').is_some_and(|(front, _)| front == protocol);
    let mut lines = text.lines().filter(of_protocol).map(|line| line.split_whitespace().skip(1));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return Vec::new() };
    let known = names.zip(values).filter_map(|(name, value)| {
        let name = wanted.iter().find(|wanted| **wanted == name)?;
        Some((*name, value.parse().ok()?))
    });
    known.collect()
}

/// Sockets in use and their memory.
pub(super) fn sockstat(context: &Context<'_>) -> Result<Figured, Missing> {
    let file = "/proc/net/sockstat";
    sockstat_of(&context.files.text(file)?).ok_or_else(|| Missing::Malformed(file.into()))
}

fn sockstat_of(text: &str) -> Option<Figured> {
    let of = |protocol: &str, name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        words.chunks_exact(2).find(|pair| pair[0] == name)?[1].parse().ok()
    };
    Some(Figured::gauges([
        ("sockets_used", of("sockets", "used")?),
        ("tcp_inuse", of("TCP", "inuse")?),
        ("tcp_orphan", of("TCP", "orphan")?),
        ("tcp_time_wait", of("TCP", "tw")?),
        ("tcp_memory_bytes", of("TCP", "mem")?.saturating_mul(procfs::page_size())),
        ("udp_memory_bytes", of("UDP", "mem")?.saturating_mul(procfs::page_size())),
    ]))
}

/// Packets through the receive queues of all CPUs together.
pub(super) fn softnet(context: &Context<'_>) -> Result<Figured, Missing> {
    let file = "/proc/net/softnet_stat";
    softnet_of(&context.files.text(file)?).ok_or_else(|| Missing::Malformed(file.into()))
}

/// A line for each CPU; hexadecimal columns: processed, dropped, times it ran out of time or budget.
fn softnet_of(text: &str) -> Option<Figured> {
    let mut sums = [0_u64; 3];
    for line in text.lines() {
        let mut columns = line.split_whitespace();
        for sum in &mut sums {
            *sum = sum.saturating_add(u64::from_str_radix(columns.next()?, 16).ok()?);
        }
    }
    Some(Figured::counters(["processed", "dropped", "squeezed"].into_iter().zip(sums)).of_cpus(text.lines().count()))
}

/// Ports that a client may be given.
pub(super) fn ports(context: &Context<'_>) -> Result<Figured, Missing> {
    let file = "/proc/sys/net/ipv4/ip_local_port_range";
    ports_of(&context.files.text(file)?).ok_or_else(|| Missing::Malformed(file.into()))
}

/// The first and the last of them.
fn ports_of(text: &str) -> Option<Figured> {
    let mut ends = text.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    let (first, last) = (ends.next()?, ends.next()?);
    Some(Figured::gauges([("local_ports", last.checked_sub(first)?.saturating_add(1))]))
}

pub(super) fn conntrack(context: &Context<'_>) -> Result<Figured, Missing> {
    let number = |name| context.files.number(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}"));
    match (number("count"), number("max")) {
        (Ok(count), Ok(max)) => Ok(Figured::gauges([("connections", count), ("connections_limit", max)])),
        (Err(Missing::NoFile(_)), _) => Err(Missing::Because("connections are not tracked on this machine")),
        (Err(why), _) | (_, Err(why)) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_paired_by_place() {
        let text = "Ip: A InDiscards\nIp: 1 7\nTcpExt: ListenDrops New TCPTimeouts\nTcpExt: 3 4 -1\n";
        assert_eq!(counters(text, "TcpExt", &TCP_EXT), [("ListenDrops", 3)], "what is no count is left out");
        assert_eq!(counters(text, "Ip", &IP), [("InDiscards", 7)]);
        assert_eq!(counters(text, "Tcp", &TCP), []);
    }

    #[test]
    fn sockets_and_their_pages_are_read() {
        let text =
            "sockets: used 14\nTCP: inuse 2 orphan 1 tw 12699 alloc 2 mem 33\nUDP: inuse 0 mem 2\nRAW: inuse 0\n";
        let gauges = sockstat_of(text).unwrap().gauges;
        assert_eq!((gauges["tcp_time_wait"], gauges["tcp_memory_bytes"]), (12_699, 33 * procfs::page_size()));
        assert_eq!(sockstat_of("TCP: inuse 2\n"), None);
    }

    #[test]
    fn ports_are_counted_with_both_ends() {
        assert_eq!(ports_of("32768\t60999\n").unwrap().gauges["local_ports"], 28_232);
        assert_eq!((ports_of("9 1\n"), ports_of("7\n")), (None, None));
    }

    #[test]
    fn receive_queues_of_all_processors_are_summed() {
        let sums = softnet_of("0000000a 00000001 00000061 0\n0000000b 00000002 00000000 0\n").unwrap().counters;
        assert_eq!((sums["processed"], sums["dropped"], sums["squeezed"]), (21, 3, 0x61));
        assert_eq!(softnet_of("1 2\n"), None);
    }
}
