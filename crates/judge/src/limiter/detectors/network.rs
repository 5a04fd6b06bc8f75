//! A link that is full, or that loses packets.

use super::{Detection, Signal, figures};
use crate::facts::kernel::retransmitted;
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use model::human::percent;
use std::collections::BTreeMap;

/// A link in use to this share is full.
const FULL: f64 = 0.9;
/// Packets dropped of all (rule NE-07), and sent again of all (NE-03): above these the network is what is measured.
const DROPPED: f64 = 0.0001;
const RETRANSMITTED: f64 = 0.01;
/// Fewer are those of any machine with a network.
const COUNT_MIN: u64 = 20;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    if input.parts("nic").next().is_none() {
        return Detection::Unchecked("network interfaces not monitored");
    }
    let full = links(input).into_iter().filter(|(_, share)| *share >= FULL).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, share)) = full {
        let ceiling_per_s = laws::ceiling_per_s(input.per_s, share);
        let speed = input.context.links_bit_per_s.get(&name).copied().unwrap_or_default() / 1e9;
        return Detection::hit(Signal {
            name: "network-limited",
            says: format!("{name} carries {:.2} of {speed:.2} Gbit/s ({})", share * speed, percent(share)),
            resource: format!("link {name}"),
            share: Some(share),
            queue: lost(input).is_some(),
            ceiling_per_s,
            evidence: figures([("link_share", share), ("link_gbit_per_s", speed)]),
            ..Signal::default()
        });
    }
    // Where the load gets what it asks for, or more of it still raises goodput, loss costs time and limits nothing.
    let Some((what, share)) = lost(input).filter(|_| !input.is_served()) else { return Detection::Clear };
    Detection::hit(Signal {
        name: "network-limited",
        resource: "network".to_owned(),
        says: format!("{} of the packets were {what}", percent(share)),
        queue: true,
        ceiling_per_s: None,
        evidence: figures([("lost_share", share)]),
        ..Signal::default()
    })
}

/// Loss in the network: its kind and share.
fn lost(input: &LimiterInput<'_>) -> Option<(&'static str, f64)> {
    let sum = |names: [&str; 2]| {
        let counts = input.parts("nic").flat_map(|(_, counters)| names.map(|name| counters.get(name).copied()));
        counts.flatten().sum::<u64>() as f64
    };
    let packets = sum(["received_packets", "sent_packets"]);
    let dropped = sum(["received_dropped", "sent_dropped"]) / packets.max(1.0);
    let again = retransmitted(input.evidence).filter(|again| *again >= COUNT_MIN).unwrap_or(0) as f64;
    let again = again / input.counter("tcp", "TCPOrigDataSent").unwrap_or(0.0).max(1.0);
    match () {
        () if dropped > DROPPED => Some(("dropped by a network interface", dropped)),
        () if again > RETRANSMITTED => Some(("retransmitted", again)),
        () => None,
    }
}

/// The fuller direction of every link whose speed is known, as a share of it.
pub(in crate::limiter) fn links(input: &LimiterInput<'_>) -> Vec<(String, f64)> {
    let of = |(name, counters): (&str, &BTreeMap<String, u64>)| {
        let bit_per_s = *input.context.links_bit_per_s.get(name)?;
        let bytes = ["received_bytes", "sent_bytes"].into_iter().filter_map(|name| counters.get(name)).max()?;
        Some((name.to_owned(), *bytes as f64 * 8.0 / input.seconds() / bit_per_s))
    };
    input.parts("nic").filter_map(of).collect()
}

/// The speeds of the links out of a fingerprint, in bits per second; those of virtual ones are unknown.
#[must_use]
pub fn speeds(fingerprint: &model::Fingerprint) -> BTreeMap<String, f64> {
    let speed = |(section, facts): (&String, &BTreeMap<String, String>)| {
        let name = section.strip_prefix("nic/")?;
        let mbit_per_s: f64 = facts.get("speed_mbit_per_s")?.parse().ok()?;
        (mbit_per_s > 0.0).then(|| (name.to_owned(), mbit_per_s * 1e6))
    };
    fingerprint.facts.iter().filter_map(speed).collect()
}
