//! A link or path that is full, and, as a check of its own, packets that are lost.

use super::{Detection, Signal, figures};
use crate::facts::bandwidth::{self, NO_BOUND, PathUse, at_server_cpu, path};
use crate::facts::kernel::{FOREIGN, RETRANSMITTED_MIN, carrier, has_foreign_traffic, is_tcp, retransmitted};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use crate::limiter::links::links;
use model::human::{bit_rate, count, percent};

const NAME: &str = "network-limited";
/// A link in use to this share is full.
const FULL: f64 = 0.9;
/// Segments sent again of all (rule NE-03): above it the network is what is measured. What an interface drops is no evidence by
/// itself: nobody may have missed it.
const RETRANSMITTED: f64 = 0.01;
/// Retransmission timeouts take this share of the time of all connections, at the least time of one in Linux (`TCP_RTO_MIN`).
const TIMED_OUT: f64 = 0.1;
const TIMEOUT_S: f64 = 0.2;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let is_unseen = input.parts("nic").next().is_none();
    if is_unseen && path(input.evidence).is_none() {
        return Detection::Unchecked("network interfaces not monitored");
    }
    let busy = busiest(input);
    let is_full_link = |(_, share): &(String, f64)| *share >= FULL && (busy < FULL || *share >= busy);
    let full = links(input).into_iter().filter(is_full_link).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, share)) = full {
        return full_link(input, &name, share);
    }
    if let Some(path) = path(input.evidence).filter(|path| is_full(input, path)) {
        return full_path(input, path);
    }
    Detection::Clear
}

/// Loss that delays the load so much that it limits: of retransmissions, as only these show that something was missed. It is
/// looked for after the CPUs and the workers, as a server whose CPUs are full drops packets because of that.
pub(super) fn look_for_loss(input: &LimiterInput<'_>) -> Detection {
    if is_tcp(input.evidence) && retransmitted(input.evidence).is_none() {
        return Detection::Unchecked("kernel does not count retransmissions");
    }
    if has_foreign_traffic(input.evidence) {
        return Detection::Unchecked(FOREIGN);
    }
    // Where the load gets what it asks for, or more of it still raises goodput, loss costs time and limits nothing.
    let Some(loss) = lost(input).filter(|_| !input.is_served()) else { return Detection::Clear };
    Detection::hit(Signal {
        name: NAME,
        resource: "network".to_owned(),
        says: loss.says(),
        queue: true,
        evidence: figures([
            ("retransmitted_share", loss.again),
            ("timed_out_share", loss.timed_out),
            ("dropped", loss.dropped as f64),
        ]),
        ..Signal::default()
    })
}

/// Share of the busiest of what is not the network: the CPUs, or a thread that is alone of its kind.
fn busiest(input: &LimiterInput<'_>) -> f64 {
    let cpus = input.server_cpus().map_or(0.0, |cpus| cpus.used);
    input.lone_threads().into_iter().map(|thread| input.wanted(thread)).fold(cpus, f64::max)
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

/// Segments that were lost in the network.
struct Loss {
    /// Share that was sent again.
    again: f64,
    /// Share of the time of all connections that retransmission timeouts took at least.
    timed_out: f64,
    /// Packets that the interface of the load dropped.
    dropped: u64,
    /// That interface, where it is known.
    interface: Option<String>,
}

impl Loss {
    fn says(&self) -> String {
        let waits = match self.timed_out >= TIMED_OUT {
            true => format!(
                ", and its timeouts took at least {} of the time of all connections",
                percent(self.timed_out.min(1.0))
            ),
            false => String::new(),
        };
        let dropped = match (&self.interface, self.dropped) {
            (Some(name), dropped) if dropped > 0 => format!("; {name} dropped {} packets", count(dropped)),
            _ => String::new(),
        };
        format!("TCP retransmitted {} of the segments{waits}{dropped}", percent(self.again))
    }
}

/// Loss that is large enough to limit.
fn lost(input: &LimiterInput<'_>) -> Option<Loss> {
    let again = retransmitted(input.evidence).filter(|again| *again >= RETRANSMITTED_MIN)? as f64;
    let again = again / input.counter("tcp", "TCPOrigDataSent").unwrap_or(0.0).max(again).max(1.0);
    let timeouts = input.counter("tcp", "TCPTimeouts").unwrap_or(0.0);
    let connections = f64::from(input.evidence.plan.load.connections()).max(1.0);
    let timed_out = timeouts * TIMEOUT_S / (connections * input.seconds());
    let carrier = carrier(input.evidence);
    let of = |name: &str| carrier.and_then(|(_, counters)| counters.get(name).copied()).unwrap_or(0);
    let is_large = is_tcp(input.evidence) && (again > RETRANSMITTED || timed_out >= TIMED_OUT);
    is_large.then(|| Loss {
        again,
        timed_out,
        dropped: of("received_dropped") + of("sent_dropped"),
        interface: carrier.map(|(name, _)| name.to_owned()),
    })
}
