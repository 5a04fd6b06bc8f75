//! How the responses of the window were spread over the connections, counted once at its end.

use super::Core;
use super::conn::State;
use model::Fairness;

impl Core {
    /// Counts the connections at `now`, when the window is over; the first time only, as those that waited in it may be
    /// answered afterwards.
    pub(super) fn count_connections(&mut self, now: u64) {
        if self.has_counted || now < self.start_ns {
            return;
        }
        self.has_counted = true;
        let mut fairness = Fairness::default();
        for conn in &self.conns {
            let waits_ns = conn.flights.front().map(|oldest| now - oldest.started_ns.max(self.start_ns).min(now));
            if conn.answered > 0 || waits_ns.is_some() || conn.state == State::Open {
                fairness.count(conn.answered, waits_ns);
            }
        }
        self.ticks.current().tally.fairness = Some(fairness);
    }
}
