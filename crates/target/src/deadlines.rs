//! Deadlines of connections, as arithmetic: how long a client may keep the server waiting, by what it is waited for.
//!
//! What the server itself takes, the time of `/sleep`, the pace of a slow body, a response that is dropped on purpose,
//! has no deadline here: each ends at a time that the server knows. A handshake has one in [`Tls`](super::Tls).

use model::NS_PER_S;

/// A head has some hundred bytes, which even a bad network delivers in seconds; nginx waits for 60 s, Apache for 20 s.
const HEAD_NS: u64 = 30 * NS_PER_S;
/// A client that uploads sends something well within this time, also when the network loses a part of it.
const BODY_NS: u64 = 30 * NS_PER_S;
/// As long as the slowest body that the server itself sends; else a byte every half a minute would hold a connection
/// for a thousand years.
const REQUEST_NS: u64 = 600 * NS_PER_S;
/// The kernel reports room only when a third of its send buffer is free: a slow reader shows nothing for a while.
const WRITE_NS: u64 = 60 * NS_PER_S;
/// Longer than a load generator leaves a connection alone: one that sends 1 request/s over 1,000 connections in turn
/// comes back to each after 17 minutes. Nothing waits for the place: see [`CROWDED_NS`].
const IDLE_NS: u64 = 3_600 * NS_PER_S;
/// Where newcomers are turned away, a connection on which nothing happens for this time is one too many.
const CROWDED_NS: u64 = 10 * NS_PER_S;

/// Sweeps within the shortest deadline: it is met to an eighth.
const SWEEPS_PER_DEADLINE: u64 = 8;
/// Bounds of the time between two sweeps: an idle server wakes up once a second, a busy one is not kept from its work.
const SWEEP_MIN_NS: u64 = 5_000_000;
const SWEEP_MAX_NS: u64 = NS_PER_S;

/// How long a client may keep a connection, by what the server waits for; ns, above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From the first byte of a request's head to its last.
    pub head_ns: u64,
    /// Between two reads of a request's body.
    pub body_ns: u64,
    /// From the first byte of a request to the last of its body.
    pub request_ns: u64,
    /// Until the client takes more of what it is owed.
    pub write_ns: u64,
    /// Without a request.
    pub idle_ns: u64,
    /// Without a byte in either direction, while newcomers are turned away because there are too many connections.
    pub crowded_ns: u64,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            head_ns: HEAD_NS,
            body_ns: BODY_NS,
            request_ns: REQUEST_NS,
            write_ns: WRITE_NS,
            idle_ns: IDLE_NS,
            crowded_ns: CROWDED_NS,
        }
    }
}

/// What a connection waits for; ns since the server's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// The server's own timer.
    Timer,
    /// A request, since that time.
    Idle { since_ns: u64 },
    /// The rest of a head whose first byte was read then.
    Head { begun_ns: u64 },
    /// The rest of a body: when the request began, and when the last bytes of it were read.
    Body { begun_ns: u64, since_ns: u64 },
    /// The client, which took bytes then for the last time.
    Write { since_ns: u64 },
}

/// When a connection has waited for long enough; ns since the server's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    ns: u64,
    /// While newcomers are turned away.
    crowded_ns: u64,
}

impl Due {
    /// A connection that waits for the server, or for nothing.
    pub(super) const NEVER: Self = Self { ns: u64::MAX, crowded_ns: u64::MAX };

    pub(super) const fn is_over(self, now_ns: u64, crowded: bool) -> bool {
        now_ns >= if crowded { self.crowded_ns } else { self.ns }
    }
}

impl Deadlines {
    #[inline]
    pub(super) fn due(&self, waits: Waits) -> Due {
        let (ns, since_ns) = match waits {
            Waits::Timer => return Due::NEVER,
            Waits::Idle { since_ns } => (since_ns.saturating_add(self.idle_ns), since_ns),
            Waits::Head { begun_ns } => (begun_ns.saturating_add(self.head_ns), begun_ns),
            Waits::Body { begun_ns, since_ns } => {
                let whole_ns = begun_ns.saturating_add(self.request_ns);
                (since_ns.saturating_add(self.body_ns).min(whole_ns), since_ns)
            }
            Waits::Write { since_ns } => (since_ns.saturating_add(self.write_ns), since_ns),
        };
        Due { ns, crowded_ns: since_ns.saturating_add(self.crowded_ns).min(ns) }
    }

    /// Time between two sweeps; ns.
    pub(super) fn sweep_ns(&self) -> u64 {
        (self.shortest_ns() / SWEEPS_PER_DEADLINE).clamp(SWEEP_MIN_NS, SWEEP_MAX_NS)
    }

    /// The shortest of them; ns.
    pub(super) fn shortest_ns(&self) -> u64 {
        let Self { head_ns, body_ns, request_ns, write_ns, idle_ns, crowded_ns } = *self;
        head_ns.min(body_ns).min(request_ns).min(write_ns).min(idle_ns).min(crowded_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINES: Deadlines =
        Deadlines { head_ns: 30, body_ns: 20, request_ns: 600, write_ns: 60, idle_ns: 3_600, crowded_ns: 10 };

    /// First moments that are too late, at ease and when it is crowded.
    fn over(waits: Waits) -> (u64, u64) {
        let due = DEADLINES.due(waits);
        for (crowded, at) in [(false, due.ns), (true, due.crowded_ns)] {
            assert!(!due.is_over(at - 1, crowded) && due.is_over(at, crowded), "{waits:?}");
        }
        (due.ns, due.crowded_ns)
    }

    #[test]
    fn each_wait_has_its_deadline_and_a_shorter_one_when_others_are_turned_away() {
        assert_eq!(over(Waits::Idle { since_ns: 1_000 }), (4_600, 1_010));
        assert_eq!(over(Waits::Head { begun_ns: 1_000 }), (1_030, 1_010));
        assert_eq!(over(Waits::Write { since_ns: 1_000 }), (1_060, 1_010));
        assert_eq!(over(Waits::Body { begun_ns: 1_000, since_ns: 1_100 }), (1_120, 1_110));
    }

    #[test]
    fn a_body_that_trickles_ends_with_its_request() {
        assert_eq!(over(Waits::Body { begun_ns: 1_000, since_ns: 1_595 }), (1_600, 1_600));
    }

    #[test]
    fn who_waits_for_the_server_is_never_too_late() {
        assert_eq!(DEADLINES.due(Waits::Timer), Due::NEVER);
        assert!(!Due::NEVER.is_over(u64::MAX - 1, true));
        assert!(!DEADLINES.due(Waits::Idle { since_ns: u64::MAX - 1 }).is_over(u64::MAX - 1, false));
    }

    #[test]
    fn sweeps_are_coarse_and_a_load_generator_at_rest_is_left_alone() {
        assert_eq!(Deadlines::default().sweep_ns(), NS_PER_S);
        assert_eq!(DEADLINES.sweep_ns(), SWEEP_MIN_NS);
        let half_a_second = Deadlines { write_ns: 4 * NS_PER_S, ..Deadlines::default() };
        assert_eq!(half_a_second.sweep_ns(), NS_PER_S / 2);
        // 1 request/s over 3,000 connections in turn.
        assert!(!Deadlines::default().due(Waits::Idle { since_ns: 0 }).is_over(3_000 * NS_PER_S, false));
    }
}
