//! What is counted once, when the window or the load is over: how the responses were spread over the connections, and which
//! requests an early end has left without an outcome.

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
        fairness.quiet_ns = self.answered_ns.map(|answered_ns| now - answered_ns.min(now));
        self.ticks.current().tally.fairness = Some(fairness);
    }

    /// Counts the requests of the window that have no outcome at `now`, when the load ends: none after one that has come to its
    /// end. What is due and has found no connection was not sent because of the server, not of chance, and counts as planned.
    pub(super) fn count_unfinished(&mut self, now: u64) {
        let of_window = self.conns.iter().flat_map(|conn| &conn.flights).filter(|flight| flight.planned);
        let (mut unfinished, mut unfinished_ns) =
            of_window.fold((0, 0), |(n, sum_ns), flight| (n + 1, sum_ns + (now - flight.intended_ns.min(now))));
        let mut unsent = 0;
        while let Some(intended_ns) = self.unsent_before(now) {
            if self.in_window(intended_ns) {
                self.quota_used += 1;
                unsent += 1;
                unfinished_ns += now - intended_ns;
                self.ticks.current().latency.slip_blocked.record(now - intended_ns);
            }
            self.job.pace.advance();
        }
        unfinished += unsent;
        let counts = &mut self.ticks.current().tally.counts;
        counts.planned += unsent;
        counts.unfinished += unfinished;
        counts.unfinished_ns += unfinished_ns;
    }

    /// When the next request was due that has found no connection; none where there is none before `now`, or there are
    /// connections. ns
    fn unsent_before(&self, now: u64) -> Option<u64> {
        self.job.pace.due_ns().filter(|due_ns| *due_ns < now && self.may_start(*due_ns) && !self.has_slot())
    }
}
