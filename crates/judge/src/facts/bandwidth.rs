//! Use of the path between the machines of the load and that of the server, whose bandwidth was probed before the load.

use super::kernel::{counter, interface_bytes, is_one_machine, is_server_seen};
use super::{client_machine, seconds};
use model::{Bandwidth, Evidence, Fingerprint, Throughput};
use std::collections::BTreeMap;

/// A path in use to this share is full: a probe of a second is right to some percent.
pub(crate) const FULL: f64 = 0.9;
/// A load that carried so much more than the probe shows that the probe was no bound: something else held it up.
pub(crate) const NO_BOUND: f64 = 1.25;

/// Bytes of a full Ethernet frame beyond the bytes of TCP in it: its own head, less the heads of IPv4 and TCP with time stamps,
/// which are part of the packet.
const FRAME_BYTES: f64 = 14.0;
const HEADS_BYTES: f64 = 52.0;
/// No path: both ends are on one machine.
const LOOPBACK: &str = "lo";

/// One direction of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathUse {
    /// Which, in words.
    pub(crate) name: &'static str,
    /// What was probed; bits per second.
    pub(crate) bit_per_s: f64,
    /// Share of it that the load used.
    pub(crate) share: f64,
}

/// The fuller direction of the path; none where it was not probed, or there is none.
pub(crate) fn path(evidence: &Evidence) -> Option<PathUse> {
    let bandwidth = evidence.bandwidth.as_ref()?;
    if is_one_machine(evidence) || bandwidth.interface.as_deref() == Some(LOOPBACK) {
        return None;
    }
    let flow = &evidence.flow;
    let ways = [
        ("path to the server", bandwidth.to_server, flow.bytes_sent, "received_bytes"),
        ("path from the server", bandwidth.from_server, flow.bytes_received, "sent_bytes"),
    ];
    let used = ways.into_iter().filter_map(|(name, probed, bytes, counter)| {
        let Throughput { bit_per_s, .. } = probed?;
        let bit_per_s = bit_per_s as f64;
        let used = |bytes: f64| bytes * 8.0 / seconds(evidence).max(f64::MIN_POSITIVE) / bit_per_s;
        let of_frames = frame_bytes(evidence, bandwidth, counter).map_or(0.0, used);
        Some(PathUse { name, bit_per_s, share: used(bytes as f64).max(of_frames) })
    });
    used.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Bytes of frames at the server's interface, as the bytes of TCP that full frames have in as much: small packets fill a link
/// with heads.
fn frame_bytes(evidence: &Evidence, bandwidth: &Bandwidth, name: &str) -> Option<f64> {
    let (interface, mtu) = (bandwidth.interface.as_ref()?, f64::from(bandwidth.mtu_bytes?));
    let bytes = is_server_seen(evidence).then(|| counter(evidence, &format!("nic/{interface}"), name))??;
    Some(bytes as f64 * (mtu - HEADS_BYTES).max(0.0) / (mtu + FRAME_BYTES))
}

/// Share of the time in which the CPUs of the server's machine were busy, in words that follow what a link carried; empty where
/// nobody observes the server.
pub(crate) fn at_server_cpu(evidence: &Evidence) -> String {
    let machine =
        evidence.observed.as_ref().filter(|_| is_server_seen(evidence)).and_then(|seen| seen.machine.as_ref());
    machine.map_or_else(String::new, |machine| format!(" at {} server CPU", model::human::percent(machine.busy_mean)))
}

/// Each interface of known speed: name, share of it that the busier direction used, bits per second.
pub(crate) fn links(evidence: &Evidence) -> Vec<(String, f64, f64)> {
    let (Some(seen), Some(fingerprint)) = (client_machine(evidence), &evidence.fingerprint) else { return Vec::new() };
    let link = |(name, bit_per_s): (String, f64)| {
        let bytes = interface_bytes(seen.counters.get(&format!("nic/{name}"))?)?;
        let share = bytes as f64 * 8.0 / seconds(evidence).max(f64::MIN_POSITIVE) / bit_per_s;
        Some((name, share, bit_per_s))
    };
    speeds(fingerprint).into_iter().filter_map(link).collect()
}

/// The speeds of the links out of a fingerprint, in bits per second; those of virtual ones are unknown.
#[must_use]
pub fn speeds(fingerprint: &Fingerprint) -> BTreeMap<String, f64> {
    let speed = |(section, facts): (&String, &BTreeMap<String, String>)| {
        let name = section.strip_prefix("nic/")?;
        let mbit_per_s: f64 = facts.get("speed_mbit_per_s")?.trim().parse().ok()?;
        (mbit_per_s > 0.0).then(|| (name.to_owned(), mbit_per_s * 1e6))
    };
    fingerprint.facts.iter().filter_map(speed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, probed_path, seen_there, set_counter};

    /// A path that was probed at 80 Mbit/s each way, and responses of so many bytes in 30 s.
    fn load(bytes: u64) -> Evidence {
        let mut evidence = clean_run();
        seen_there(&mut evidence);
        evidence.bandwidth = Some(probed_path(80_000_000));
        (evidence.flow.bytes_received, evidence.flow.bytes_sent) = (bytes, 0);
        evidence
    }

    #[test]
    fn the_fuller_direction_counts_by_bytes_or_frames() {
        let mut evidence = load(270_000_000);
        let used = path(&evidence).expect("it was probed");
        assert_eq!((used.name, used.bit_per_s), ("path from the server", 80e6));
        assert!((used.share - 0.9).abs() < 1e-9, "{used:?}");
        // 100 bytes of TCP in each frame of 166: the link is full of heads.
        set_counter(&mut evidence, "nic/eth0", "sent_bytes", 313_000_000);
        let used = path(&evidence).expect("it was probed");
        assert!((used.share - 0.998).abs() < 0.005, "{used:?}");
        evidence.flow.bytes_sent = 600_000_000;
        assert_eq!(path(&evidence).map(|used| used.name), Some("path to the server"));
        assert_eq!(at_server_cpu(&evidence), " at 50 % server CPU");
    }

    #[test]
    fn there_is_no_path_on_one_machine_or_without_a_probe() {
        assert!(path(&Evidence { bandwidth: None, ..load(1) }).is_none());
        assert!(path(&Evidence { bandwidth: Some(probed_path(1)), ..clean_run() }).is_none());
        let mut beside = load(1);
        beside.bandwidth.as_mut().expect("it is there").interface = Some("lo".into());
        assert!(path(&beside).is_none());
        beside.bandwidth = Some(Bandwidth { unavailable: Some("a firewall".into()), ..Bandwidth::default() });
        assert!(path(&beside).is_none());
    }
}
