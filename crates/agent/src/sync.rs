//! Offset between two clocks, from messages there and back, with a bound on its error.
//!
//! Four instants: a ping is sent and its answer received by the own clock, received and answered by the other one (NTP, RFC
//! 5905 section 8). Whatever the path, the offset is off by at most half of the round trip, as neither way takes less than
//! no time: the shortest round trip bounds best.

use std::collections::VecDeque;

/// Instants beyond this are no clock's: 36 years; ns.
const CLOCK_MAX_NS: u64 = 1 << 60;

/// One ping and its answer; ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Sent, by the own clock.
    pub sent_ns: u64,
    /// Received, by the other clock.
    pub received_ns: u64,
    /// Answered, by the other clock.
    pub answered_ns: u64,
    /// Answer received, by the own clock.
    pub back_ns: u64,
}

/// What another clock is ahead of the own one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Best guess; ns.
    pub offset_ns: i64,
    /// The truth is at most this far away; ns.
    pub error_ns: u64,
    /// Time that the messages were under way, both ways together; ns.
    pub trip_ns: u64,
}

impl RoundTrip {
    /// What it says of the other clock; none if no clock and no path can have made it.
    #[must_use]
    pub fn offset(self) -> Option<Offset> {
        let Self { sent_ns, received_ns, answered_ns, back_ns } = self;
        let instants = [sent_ns, received_ns, answered_ns, back_ns];
        if instants.into_iter().any(|at_ns| at_ns > CLOCK_MAX_NS) {
            return None;
        }
        let (whole_ns, inside_ns) = (back_ns.checked_sub(sent_ns)?, answered_ns.checked_sub(received_ns)?);
        let trip_ns = whole_ns.checked_sub(inside_ns)?;
        let [sent, received, answered, back] = instants.map(u64::cast_signed);
        let offset_ns = ((received - sent) + (answered - back)) / 2;
        // Half of an odd number is rounded in both.
        Some(Offset { offset_ns, error_ns: trip_ns / 2 + 1, trip_ns })
    }
}

/// The best of several round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sync {
    best: Option<Offset>,
    count: u32,
}

impl Sync {
    /// Takes one in; false if no clock and no path can have made it.
    pub fn add(&mut self, trip: RoundTrip) -> bool {
        let Some(offset) = trip.offset() else { return false };
        self.count = self.count.saturating_add(1);
        if self.best.is_none_or(|best| offset.error_ns < best.error_ns) {
            self.best = Some(offset);
        }
        true
    }

    /// What is known; none before the first.
    #[must_use]
    pub const fn offset(&self) -> Option<Offset> {
        self.best
    }

    /// Round trips taken in.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }
}

/// Round trips that are recent.
const RECENT: usize = 8;

/// The best of the last few round trips: where another clock is now, however long ago the shortest was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    offsets: VecDeque<Offset>,
}

impl Recent {
    /// Takes one in; false if no clock and no path can have made it.
    pub fn add(&mut self, trip: RoundTrip) -> bool {
        let Some(offset) = trip.offset() else { return false };
        if self.offsets.len() == RECENT {
            self.offsets.pop_front();
        }
        self.offsets.push_back(offset);
        true
    }

    /// What is known; none before the first.
    #[must_use]
    pub fn offset(&self) -> Option<Offset> {
        self.offsets.iter().min_by_key(|offset| offset.error_ns).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_truth_is_within_the_error_on_any_path(
            truth_ns in -90_000_000_000_000_i64..90_000_000_000_000,
            trips in prop::collection::vec((0_u64..80_000_000, 0_u64..1_000_000, 0_u64..80_000_000), 1..50),
        ) {
            let (mut sync, mut now_ns) = (Sync::default(), 100_000_000_000_000_u64);
            for (there_ns, inside_ns, back_ns) in trips {
                let sent_ns = now_ns;
                let received_ns = (sent_ns + there_ns).checked_add_signed(truth_ns).unwrap();
                let answered_ns = received_ns + inside_ns;
                now_ns += there_ns + inside_ns + back_ns;
                let is_possible = sync.add(RoundTrip { sent_ns, received_ns, answered_ns, back_ns: now_ns });
                prop_assert!(is_possible);
            }
            let offset = sync.offset().unwrap();
            prop_assert!(offset.offset_ns.abs_diff(truth_ns) <= offset.error_ns, "{offset:?} of {truth_ns}");
        }

        #[test]
        fn no_instants_panic(sent_ns: u64, received_ns: u64, answered_ns: u64, back_ns: u64) {
            let _ = RoundTrip { sent_ns, received_ns, answered_ns, back_ns }.offset();
        }
    }

    #[test]
    fn what_no_path_makes_is_refused() {
        let trip = RoundTrip { sent_ns: 10, received_ns: 500, answered_ns: 520, back_ns: 40 };
        assert_eq!(trip.offset(), Some(Offset { offset_ns: 485, error_ns: 6, trip_ns: 10 }));
        assert_eq!(RoundTrip { answered_ns: 499, ..trip }.offset(), None, "answered before it came");
        assert_eq!(RoundTrip { answered_ns: 531, ..trip }.offset(), None, "longer there than away");
        assert_eq!(RoundTrip { received_ns: u64::MAX, answered_ns: u64::MAX, ..trip }.offset(), None);
    }
}
