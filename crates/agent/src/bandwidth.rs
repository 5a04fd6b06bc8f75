//! Probe of the bandwidth between two agents: who sends what, how long, and what either end makes of what it received.
//!
//! The agent on the server's machine listens at the address of the load for some seconds, and whoever generates the load
//! connects there: first to send, then to receive. Each connection begins with the nonce of this probe, which only the
//! coordinator and its agents know, and a byte for the direction. Bytes and times are bounded at both ends.

use crate::checked;
use model::{AGENTS_MAX, NS_PER_S, PROBE_CONNECTIONS_MAX, Throughput};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Longest time of one direction; ns.
pub const PROBE_NS: u64 = NS_PER_S;
/// Most bytes of one direction, all connections together.
pub const PROBE_BYTES_MAX: u64 = 64 << 20;
/// Connections of one client, unless there are more clients than [`PROBE_CONNECTIONS_MAX`] allows with so many.
pub const PROBE_CONNECTIONS: u32 = 4;
/// A connection has to be open, or to say who it is, within this time; ns.
pub const PROBE_OPEN_NS: u64 = NS_PER_S;
/// The server's agent listens for so long at most; ns.
pub const PROBE_LISTEN_NS: u64 = 6 * NS_PER_S;
/// A coordinator that has no answer within this time gives the probe up; ns.
pub const PROBE_ANSWER_NS: u64 = 8 * NS_PER_S;
/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 16;

/// Direction byte of a connection on which the client sends.
pub const TO_SERVER: u8 = b'>';
/// Direction byte of a connection on which the client receives.
pub const FROM_SERVER: u8 = b'<';
/// Bytes at the begin of each connection.
pub const OPENING_BYTES: usize = NONCE_BYTES + 1;

/// Received beyond [`PROBE_BYTES_MAX`]: each sender may be a piece ahead.
const SPARE_BYTES: u64 = 64 << 20;
/// Longer is no round trip, and no reception within the limits; ns.
const TIME_MAX_NS: u64 = 10 * NS_PER_S;
/// Points of a meter are further apart; ns.
const STEP_NS: u64 = 500_000;
/// Of all bytes, this part comes last.
const TAIL: u64 = 20;
/// Longest name of an interface; Linux has 15.
const INTERFACE_MAX: usize = 32;
/// Packets that IP has.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 68..=1 << 20;

/// Random number of one probe; never shown.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce([u8; NONCE_BYTES]);

impl Nonce {
    /// One of random bytes.
    #[must_use]
    pub const fn new(random: [u8; NONCE_BYTES]) -> Self {
        Self(random)
    }

    /// What a connection of this probe begins with.
    #[must_use]
    pub fn opening(self, direction: u8) -> [u8; OPENING_BYTES] {
        let mut opening = [direction; OPENING_BYTES];
        opening[..NONCE_BYTES].copy_from_slice(&self.0);
        opening
    }

    /// The direction of a connection that begins so; none if it is not of this probe. It takes as long whatever is wrong.
    #[must_use]
    pub fn direction(self, opening: &[u8; OPENING_BYTES]) -> Option<u8> {
        let differs = self.0.iter().zip(opening).fold(0, |differs, (own, other)| differs | (own ^ other));
        let direction = opening[NONCE_BYTES];
        (differs == 0 && [TO_SERVER, FROM_SERVER].contains(&direction)).then_some(direction)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(..)")
    }
}

/// To the agent on the server's machine: listen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServeProbe {
    /// Address that the load goes to.
    pub address: IpAddr,
    /// Of this probe.
    pub nonce: Nonce,
    /// Connections of all clients in each direction.
    pub connections: u32,
}

/// To who generates the load: connect, send and receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeMessage {
    /// Where the server's agent listens.
    pub address: SocketAddr,
    /// Of this probe.
    pub nonce: Nonce,
    /// Own connections in each direction.
    pub connections: u32,
    /// Bytes to send at most.
    pub bytes_max: u64,
}

/// What one end has received in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// All of it.
    pub bytes: u64,
    /// From the first byte to the last; ns.
    pub duration_ns: u64,
    /// Of the second half of the time in which nearly all of it came.
    pub late_bytes: u64,
    /// Length of that half; ns.
    pub late_ns: u64,
}

/// What the server's agent says of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeServed {
    /// Of all clients together.
    pub received: Received,
    /// Interface that leads to them.
    pub interface: Option<String>,
    /// Its largest packet.
    pub mtu_bytes: Option<u32>,
}

/// What a client says of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// From the server.
    pub received: Received,
    /// Shortest time in which a connection was open; ns.
    pub round_trip_ns: u64,
}

impl ServeProbe {
    /// True if it is within the limits.
    #[must_use]
    pub const fn is_bounded(&self) -> bool {
        self.connections > 0 && self.connections <= PROBE_CONNECTIONS_MAX
    }
}

impl ProbeMessage {
    /// The parts of so many clients; `nonce` and `address` are for all.
    #[must_use]
    pub fn divide(clients: usize, address: SocketAddr, nonce: Nonce) -> Vec<Self> {
        let clients = clients.clamp(1, AGENTS_MAX) as u32;
        let connections = (PROBE_CONNECTIONS_MAX / clients).clamp(1, PROBE_CONNECTIONS);
        let part = Self { address, nonce, connections, bytes_max: PROBE_BYTES_MAX / u64::from(clients) };
        vec![part; clients as usize]
    }

    /// True if it is within the limits.
    #[must_use]
    pub const fn is_bounded(&self) -> bool {
        self.connections > 0 && self.connections <= PROBE_CONNECTIONS && self.bytes_max <= PROBE_BYTES_MAX
    }
}

impl Received {
    /// True if it can have been measured within the limits.
    #[must_use]
    pub const fn is_possible(&self) -> bool {
        let Self { bytes, duration_ns, late_bytes, late_ns } = *self;
        bytes <= PROBE_BYTES_MAX + SPARE_BYTES
            && duration_ns <= TIME_MAX_NS
            && late_bytes <= bytes
            && late_ns <= duration_ns
    }

    /// The rate; none of what was too short to have one.
    #[must_use]
    pub fn throughput(&self) -> Option<Throughput> {
        let bits = u128::from(self.late_bytes) * 8 * u128::from(NS_PER_S);
        let bit_per_s = u64::try_from(bits.checked_div(self.late_ns.into())?).ok()?;
        (bit_per_s > 0).then_some(Throughput { bit_per_s, bytes: self.bytes, duration_ns: self.duration_ns })
    }
}

impl ProbeServed {
    /// What of it may be used; none if nobody can have measured it.
    #[must_use]
    pub fn checked(self) -> Option<Self> {
        let interface = self.interface.filter(|name| name.len() <= INTERFACE_MAX).map(|name| checked::text(&name));
        let mtu_bytes = self.mtu_bytes.filter(|mtu| MTU_BYTES.contains(mtu));
        self.received.is_possible().then_some(Self { interface, mtu_bytes, ..self })
    }
}

impl Probed {
    /// It, if somebody can have measured it.
    #[must_use]
    pub fn checked(self) -> Option<Self> {
        (self.received.is_possible() && self.round_trip_ns <= TIME_MAX_NS).then_some(self)
    }
}

/// Account of what was received, some points of its curve.
#[derive(Debug, Default)]
pub struct Meter {
    /// Instants, and bytes up to then.
    points: Vec<(u64, u64)>,
    last: Option<(u64, u64)>,
}

impl Meter {
    /// When the first byte came; ns.
    #[must_use]
    pub fn begun_ns(&self) -> Option<u64> {
        self.points.first().map(|(at_ns, _)| *at_ns)
    }

    /// So many bytes have come.
    pub fn add(&mut self, now_ns: u64, bytes: u64) {
        let (last_ns, sum) = self.last.unwrap_or((now_ns, 0));
        // Connections are read by threads, one of which may have looked at the clock earlier.
        let point = (now_ns.max(last_ns), sum.saturating_add(bytes));
        self.last = Some(point);
        if self.points.last().is_none_or(|(at_ns, _)| point.0 >= at_ns.saturating_add(STEP_NS)) {
            self.points.push(point);
        }
    }

    /// All of it, and the rate between begin and end.
    #[must_use]
    pub fn received(&self) -> Received {
        let (Some((begun_ns, _)), Some((end_ns, bytes))) = (self.points.first().copied(), self.last) else {
            return Received::default();
        };
        // The last bytes of connections that end one after the other say nothing of what all of them carry.
        let most = bytes - bytes / TAIL;
        let until = self.points.iter().copied().find(|(_, sum)| *sum >= most).unwrap_or((end_ns, bytes));
        let until = if until.0 > begun_ns { until } else { (end_ns, bytes) };
        let half_ns = begun_ns + (until.0 - begun_ns) / 2;
        // What came with the first read took time before it.
        let from = self.points.iter().copied().find(|(at_ns, _)| *at_ns >= half_ns && *at_ns < until.0);
        let from = from.or_else(|| self.points.first().copied()).unwrap_or(until);
        let (late_bytes, late_ns) = (until.1 - from.1, until.0 - from.0);
        Received { bytes, duration_ns: end_ns - begun_ns, late_bytes, late_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_rate_is_that_after_the_begin() {
        let mut meter = Meter::default();
        // A burst of a full bucket, then 8 Mbit/s.
        meter.add(MS, 5_000_000);
        (2..=1000).for_each(|ms| meter.add(ms * MS, 1000));
        let received = meter.received();
        assert_eq!((received.bytes, received.duration_ns), (5_999_000, 999 * MS));
        let throughput = received.throughput().expect("a rate");
        assert!(throughput.bit_per_s.abs_diff(8_000_000) < 100_000, "{throughput:?}");
        assert!(received.is_possible());
    }

    #[test]
    fn a_straggler_at_the_end_does_not_count() {
        let mut meter = Meter::default();
        (1..=100).for_each(|ms| meter.add(ms * MS, 125_000));
        (101..=300).for_each(|ms| meter.add(ms * MS, 10));
        let throughput = meter.received().throughput().expect("a rate");
        assert_eq!((throughput.bit_per_s, throughput.duration_ns), (1_000_000_000, 299 * MS));
    }

    #[test]
    fn what_is_too_short_has_no_rate() {
        let mut meter = Meter::default();
        assert_eq!(meter.received().throughput(), None);
        meter.add(MS, 100);
        assert_eq!(meter.received().throughput(), None);
        meter.add(MS + 1000, 100);
        assert_eq!(meter.received(), Received { bytes: 200, duration_ns: 1000, late_bytes: 100, late_ns: 1000 });
    }

    #[test]
    fn clients_share_connections_and_bytes() {
        let at: SocketAddr = "192.0.2.1:4000".parse().expect("an address");
        for clients in [1, 2, 33, 128, 1000] {
            let parts = ProbeMessage::divide(clients, at, Nonce::new([7; 16]));
            assert!(parts.iter().all(ProbeMessage::is_bounded));
            let connections: u32 = parts.iter().map(|part| part.connections).sum();
            assert!((1..=PROBE_CONNECTIONS_MAX).contains(&connections), "{connections} of {clients}");
            assert!(parts.iter().map(|part| part.bytes_max).sum::<u64>() <= PROBE_BYTES_MAX);
        }
    }

    #[test]
    fn only_who_knows_the_nonce_is_let_in_and_it_is_never_shown() {
        let nonce = Nonce::new([9; NONCE_BYTES]);
        assert_eq!(nonce.direction(&nonce.opening(TO_SERVER)), Some(TO_SERVER));
        assert_eq!(nonce.direction(&nonce.opening(b'x')), None);
        for at in 0..NONCE_BYTES {
            let mut opening = nonce.opening(FROM_SERVER);
            opening[at] ^= 1;
            assert_eq!(nonce.direction(&opening), None);
        }
        assert_eq!(format!("{nonce:?}"), "Nonce(..)");
    }

    #[test]
    fn what_nobody_can_have_measured_is_refused() {
        let good = Received { bytes: 100, duration_ns: 50, late_bytes: 40, late_ns: 20 };
        let served =
            |received| ProbeServed { received, interface: Some("e\x1b0".into()), mtu_bytes: Some(3) }.checked();
        let kept = served(good).expect("it is possible");
        assert_eq!((kept.interface.as_deref(), kept.mtu_bytes), (Some("e 0"), None));
        for bad in [
            Received { bytes: 1 << 40, ..good },
            Received { duration_ns: 1 << 60, ..good },
            Received { late_bytes: 101, ..good },
            Received { late_ns: 51, ..good },
        ] {
            assert_eq!(served(bad), None, "{bad:?}");
            assert_eq!(Probed { received: bad, round_trip_ns: 1 }.checked(), None);
        }
        assert_eq!(Probed { received: good, round_trip_ns: u64::MAX }.checked(), None);
    }

    proptest! {
        #[test]
        fn any_reception_within_the_limits_is_possible(
            reads in prop::collection::vec((0_u64..3_000_000, 0_u64..1_000_000), 0..60),
        ) {
            let (mut meter, mut now_ns) = (Meter::default(), 5 * MS);
            for (wait_ns, bytes) in &reads {
                now_ns += wait_ns;
                meter.add(now_ns, *bytes);
            }
            let received = meter.received();
            prop_assert!(received.is_possible());
            prop_assert_eq!(received.bytes, reads.iter().map(|(_, bytes)| bytes).sum::<u64>());
            if let Some(throughput) = received.throughput() {
                prop_assert!(throughput.bit_per_s > 0);
            }
        }

        #[test]
        fn no_figures_panic(bytes: u64, duration_ns: u64, late_bytes: u64, late_ns: u64) {
            let _ = Received { bytes, duration_ns, late_bytes, late_ns }.throughput();
        }
    }
}
