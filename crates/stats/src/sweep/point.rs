//! A load of a sweep, with all that was measured at it.

use crate::batch::mean;

/// A rate of which less than this comes back good is not held.
const HELD_SHARE: f64 = 0.95;
/// Less than this share of the rate really offered is the client's limit: going further up is no use.
const OFFERED_SHARE_MIN: f64 = 0.8;

/// What was measured at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Good responses per second.
    pub goodput_per_s: f64,
    /// Requests per second that were really offered; none in closed loop.
    pub offered_per_s: Option<f64>,
    /// Share of the requests that were good, 0 to 1.
    pub good_share: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) load: f64,
    pub(super) outcomes: Vec<Outcome>,
}

impl Point {
    pub(super) fn goodput_per_s(&self) -> f64 {
        self.mean_of(|o| o.goodput_per_s)
    }

    pub(super) fn good_share(&self) -> f64 {
        self.mean_of(|o| o.good_share)
    }

    /// True if it is a rate, and not so many connections.
    pub(super) fn is_rate(&self) -> bool {
        self.outcomes.first().is_some_and(|outcome| outcome.offered_per_s.is_some())
    }

    /// True if what was offered came back good.
    pub(super) fn held(&self) -> bool {
        let offered_per_s = self.mean_of(|outcome| outcome.offered_per_s.unwrap_or(self.load));
        self.goodput_per_s() >= HELD_SHARE * offered_per_s
    }

    /// True if what was offered came back good in none of its measurements: one that something held up is no proof.
    pub(super) fn never_held(&self) -> bool {
        let is_held = |o: &Outcome| o.goodput_per_s >= HELD_SHARE * o.offered_per_s.unwrap_or(self.load);
        !self.outcomes.iter().any(is_held)
    }

    /// True if the client could offer the rate asked for in none of its measurements, which says nothing about the server.
    pub(super) fn client_behind(&self) -> bool {
        let is_behind = |o: &Outcome| o.offered_per_s.is_some_and(|offered| offered < OFFERED_SHARE_MIN * self.load);
        self.outcomes.iter().all(is_behind)
    }

    fn mean_of(&self, field: impl Fn(&Outcome) -> f64) -> f64 {
        mean(&self.outcomes.iter().map(field).collect::<Vec<_>>())
    }
}
