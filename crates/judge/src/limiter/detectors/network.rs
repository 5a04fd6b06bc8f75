//! A link that is full, or that loses packets.

use super::{Detection, Signal, figures};
use crate::facts::bandwidth::{self, NO_BOUND, PathUse, at_server_cpu, path};
use crate::facts::kernel::{carrier, carries_load, interface_bytes, is_tcp, least_drops, retransmitted};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use model::human::{bit_rate, percent};
use std::collections::BTreeMap;

const NAME: &str = "network-limited";
/// A link in use to this share is full.
const FULL: f64 = 0.9;
/// Packets dropped of all (rule NE-07), and sent again of all (NE-03): above these the network is what is measured.
const DROPPED: f64 = 0.0001;
const RETRANSMITTED: f64 = 0.01;
/// Any interface drops some that are not for it.
const DROPPED_MIN: u64 = 100;
/// Fewer are those of any machine with a network.
const COUNT_MIN: u64 = 20;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let is_unseen = input.parts("nic").next().is_none();
    if is_unseen && path(input.evidence).is_none() {
        return Detection::Unchecked("network interfaces not monitored");
    }
    let full = links(input).into_iter().filter(|(_, share)| *share >= FULL).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, share)) = full {
        return full_link(input, &name, share);
    }
    if let Some(path) = path(input.evidence).filter(|path| is_full(input, path)) {
        return full_path(input, path);
    }
    // Where the load gets what it asks for, or more of it still raises goodput, loss costs time and limits nothing.
    let Some((what, share)) = lost(input).filter(|_| !input.is_served()) else { return Detection::Clear };
    Detection::hit(Signal {
        name: NAME,
        resource: "network".to_owned(),
        says: format!("{} of the packets were {what}", percent(share)),
        queue: true,
        ceiling_per_s: None,
        evidence: figures([("lost_share", share)]),
        ..Signal::default()
    })
}

/// A link whose speed is known.
fn full_link(input: &LimiterInput<'_>, name: &str, share: f64) -> Detection {
    let bit_per_s = input.context.links_bit_per_s.get(name).copied().unwrap_or_default();
    let (used, speed) = (bit_rate(share * bit_per_s), bit_rate(bit_per_s));
    Detection::hit(Signal {
        name: NAME,
        says: format!("{name} carries {used} of {speed} ({}){}", percent(share), at_server_cpu(input.evidence)),
        resource: format!("link {name}"),
        share: Some(share),
        queue: lost(input).is_some(),
        ceiling_per_s: laws::ceiling_per_s(input.per_s, share),
        evidence: figures([("link_share", share), ("link_gbit_per_s", bit_per_s / 1e9)]),
        ..Signal::default()
    })
}

/// True if the path bounds the load as far as a probe can say: a probe of few connections may itself have been held up by CPUs,
/// and then a load that carries much more shows it, or the server's CPUs are what is full.
fn is_full(input: &LimiterInput<'_>, path: &PathUse) -> bool {
    (bandwidth::FULL..NO_BOUND).contains(&path.share) && input.server_cpus().is_none_or(|cpus| cpus.busy < FULL)
}

/// A path whose bandwidth was probed.
fn full_path(input: &LimiterInput<'_>, PathUse { name, bit_per_s, share }: PathUse) -> Detection {
    let (used, probed) = (bit_rate(share * bit_per_s), bit_rate(bit_per_s));
    let at_cpu = at_server_cpu(input.evidence);
    Detection::hit(Signal {
        name: NAME,
        says: format!("the {name} carries {used} of the {probed} that were probed ({}){at_cpu}", percent(share)),
        resource: name.to_owned(),
        share: Some(share),
        queue: lost(input).is_some(),
        ceiling_per_s: laws::ceiling_per_s(input.per_s, share),
        evidence: figures([("path_share", share), ("probed_bit_per_s", bit_per_s)]),
        // The probe was of another time.
        is_inferred: true,
        ..Signal::default()
    })
}

/// Loss in the network: its kind and share.
fn lost(input: &LimiterInput<'_>) -> Option<(&'static str, f64)> {
    if !is_tcp(input.evidence) {
        return None;
    }
    let carrier = carrier(input.evidence).map(|(_, counters)| counters);
    let sum = |names: [&str; 2]| {
        let counts = names.iter().filter_map(|name| carrier?.get(*name));
        counts.sum::<u64>()
    };
    let packets = sum(["received_packets", "sent_packets"]) as f64;
    let dropped = Some(sum(["received_dropped", "sent_dropped"]))
        .filter(|n| *n >= least_drops(input.evidence, DROPPED_MIN))
        .unwrap_or(0) as f64;
    let dropped = dropped / packets.max(1.0);
    let again = retransmitted(input.evidence).filter(|again| *again >= COUNT_MIN).unwrap_or(0) as f64;
    let again = again / input.counter("tcp", "TCPOrigDataSent").unwrap_or(0.0).max(1.0);
    match () {
        () if dropped > DROPPED => Some(("dropped by a network interface", dropped)),
        () if again > RETRANSMITTED => Some(("retransmitted", again)),
        () => None,
    }
}

/// The fuller direction of every link whose speed is known, as a share of it; of those that carried the load.
pub(in crate::limiter) fn links(input: &LimiterInput<'_>) -> Vec<(String, f64)> {
    let of = |(name, counters): (&str, &BTreeMap<String, u64>)| {
        let bit_per_s = *input.context.links_bit_per_s.get(name)?;
        Some((name.to_owned(), interface_bytes(counters)? as f64 * 8.0 / input.seconds() / bit_per_s))
    };
    input.parts("nic").filter(|(_, counters)| carries_load(input.evidence, counters)).filter_map(of).collect()
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
