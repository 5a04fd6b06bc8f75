//! How requests end: with a response, or without one.

use super::aside::Value;
use super::conn::{Flight, State, failure_of};
use super::{Core, conn};
use crate::recorder::STATUS_CODES;
use crate::transport::Transport;
use model::{Failure, FailureKind, FailurePhase};
use wire::Event;
use wire::http1::Response;

impl Core {
    /// A request of a connection, the one at `place`, has ended with an event of the protocol. Tells whether the connection
    /// serves another; if not, the slot has been seen to.
    #[inline]
    pub(super) fn on_event(
        &mut self,
        conn: usize,
        place: usize,
        event: Event,
        now: u64,
        net: &mut impl Transport,
    ) -> bool {
        match event {
            Event::Response(response) => self.complete(conn, place, response, now, net),
            Event::Failed { error, keepalive } => {
                let goes_on = self.goes_on(conn, place, keepalive);
                self.failed(conn, place, failure_of(error), now);
                self.see_to(conn, goes_on, now, net)
            }
        }
    }

    /// The response to a request of a connection is complete; as [`Core::on_event`].
    #[inline]
    pub(super) fn complete(
        &mut self,
        conn: usize,
        place: usize,
        response: Response,
        now: u64,
        net: &mut impl Transport,
    ) -> bool {
        let goes_on = self.goes_on(conn, place, response.keepalive);
        let has_come_in_window = self.in_window(now);
        let c = &mut self.conns[conn];
        c.answered += u64::from(has_come_in_window);
        self.answered_ns = if has_come_in_window { Some(now) } else { self.answered_ns };
        c.fruitless = 0;
        c.has_served = true;
        let flight = c.flights[place];
        let item = flight.item as usize;
        let framed = conn::breach(self.job.source.contract(item), response);
        let look = c.looks.of(flight.stream);
        let check = self.bodies.of(look, Some(flight.item)).filter(|_| framed.is_none());
        let looked_at = check.is_some_and(|check| check.is_asked());
        let other = check.and_then(|check| check.is_other(look));
        let content = check.and_then(|check| check.breach(look));
        let broken = framed.or_else(|| content.map(|kind| Failure::new(FailurePhase::Contract, kind)));
        self.request_over(conn, place, now);
        self.ticks.in_slice(now, flight.intended_ns, broken.is_none());
        let tick = self.ticks.current();
        tick.flow.completed += 1;
        match broken {
            None => tick.flow.good += 1,
            Some(_) => tick.flow.failed += 1,
        }
        if flight.planned {
            let response_ns = now - flight.intended_ns;
            tick.tally.counts.completed += 1;
            tick.tally.counts.body_checked += u64::from(looked_at);
            tick.tally.counts.bodies_compared += u64::from(other.is_some());
            tick.tally.counts.bodies_other += u64::from(other == Some(true));
            tick.tally.status[usize::from(response.status).min(STATUS_CODES - 1)] += 1;
            match broken {
                None => {
                    tick.tally.counts.good += 1;
                    tick.tally.counts.within_slo +=
                        u64::from(self.job.slo_ns.is_some_and(|slo_ns| response_ns <= slo_ns));
                }
                Some(failure) => {
                    tick.tally.failures[failure.index()] += 1;
                    tick.tally.counts.broken_response_ns += response_ns;
                }
            }
            if let Some(mix) = tick.tally.mix.get_mut(item) {
                mix.completed += 1;
                mix.good += u64::from(broken.is_none());
                mix.response_ns += response_ns;
            }
            self.record_end(&flight, now);
        }
        self.see_to(conn, goes_on, now, net)
    }

    /// True if a connection serves other requests after the one at `place`. One that ended before it was sent leaves the
    /// connection in an unknown state.
    #[inline]
    fn goes_on(&self, conn: usize, place: usize, keepalive: bool) -> bool {
        self.job.keepalive && keepalive && self.conns[conn].whole > place
    }

    /// Closes a connection that does not go on.
    #[inline]
    fn see_to(&mut self, conn: usize, goes_on: bool, now: u64, net: &mut impl Transport) -> bool {
        if !goes_on {
            self.abandon(conn, net);
            self.slot_closed(conn, now, net);
        }
        goes_on
    }

    /// A slot's connection was closed in good order. What was pipelined behind the last response goes out once more
    /// on the next one.
    fn slot_closed(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        // With keep-alive an open loop opens again in the background, so that no request pays for it.
        if self.job.pace.is_open_loop() && self.job.keepalive {
            self.retry(conn, now);
        } else {
            self.slot_is_free(conn, now, net);
        }
    }

    /// Ends the requests of a connection that have been out for too long: alone where the others can go on, else with them.
    #[cold]
    pub(super) fn time_out(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        while let Some(&oldest) = self.conns[conn].flights.front()
            && now - oldest.started_ns >= self.job.timeout_ns
        {
            let c = &mut self.conns[conn];
            let phase = if c.state == State::Opening { net.opening_phase(conn) } else { c.phase() };
            let failure = Failure::new(phase, FailureKind::Timeout);
            if c.whole == 0 || !c.machine.cancel(oldest.stream) {
                return self.fail(conn, failure, now, net);
            }
            self.failed(conn, 0, failure, now);
        }
        self.slot_is_free(conn, now, net);
    }

    /// The requests of a connection have ended without a complete response: the oldest of them with `failure`, those
    /// behind it without a byte. Behind one that timed out they have time left, unless they began with it.
    #[cold]
    pub(super) fn fail(&mut self, conn: usize, failure: Failure, now: u64, net: &mut impl Transport) {
        let unopened = matches!(failure.phase, FailurePhase::Connect | FailurePhase::Tls);
        self.count_fruitless(conn, failure);
        let mut each = failure;
        while self.conns[conn].is_busy() {
            self.failed(conn, 0, each, now);
            if !unopened {
                each.phase = FailurePhase::FirstByte;
            }
            let next = self.conns[conn].flights.front();
            let has_time_left = next.is_some_and(|next| now - next.started_ns < self.job.timeout_ns);
            if each.kind == FailureKind::Timeout && has_time_left {
                each.kind = FailureKind::Abandoned;
            }
        }
        self.abandon(conn, net);
        if unopened {
            self.back_off(conn, now);
        } else {
            // Not in this turn: a server that refuses everything must not keep the loop from its events.
            self.retry(conn, now + 1);
        }
    }

    /// Counts a connection that `failure` has ended before any response came on it.
    pub(super) fn count_fruitless(&mut self, conn: usize, failure: Failure) {
        if !self.conns[conn].has_served {
            self.ticks.current().flow.fruitless.count(failure);
        }
    }

    /// The request at `place` of a connection has ended without a complete response.
    #[cold]
    fn failed(&mut self, conn: usize, place: usize, failure: Failure, now: u64) {
        let flight = self.conns[conn].flights[place];
        self.request_over(conn, place, now);
        let tick = self.ticks.current();
        tick.flow.failed += 1;
        if !flight.planned {
            return;
        }
        tick.tally.failures[failure.index()] += 1;
        if failure.kind == FailureKind::Timeout {
            tick.tally.counts.censored += 1;
            self.record_end(&flight, now);
        }
    }

    /// Records the latencies of a request of the window that ended at `now`. Where no byte of a response came, the time until
    /// then is a lower bound of each.
    #[inline]
    fn record_end(&mut self, flight: &Flight, now: u64) {
        let tick = self.ticks.current();
        let service_ns = now - flight.started_ns;
        let first_byte_ns = flight.first_byte_ns.unwrap_or(now) - flight.started_ns;
        tick.latency.response.record(now - flight.intended_ns);
        tick.latency.service.record(service_ns);
        tick.latency.first_byte.record(first_byte_ns);
        self.aside.put(flight.intended_ns, now, Value::Ended { service_ns, first_byte_ns }, tick);
    }

    /// A scheduled request found no connection until its deadline.
    #[cold]
    pub(super) fn give_up(&mut self, intended: u64, now: u64) {
        let in_window = self.in_window(intended);
        let tick = self.ticks.current();
        tick.flow.failed += 1;
        if in_window {
            self.quota_used += 1;
            tick.tally.counts.planned += 1;
            tick.tally.counts.censored += 1;
            tick.tally.failures[Failure::new(FailurePhase::Send, FailureKind::Timeout).index()] += 1;
            tick.latency.response.record(now - intended);
            tick.latency.slip_blocked.record(now - intended);
            self.aside.put(intended, now, Value::GivenUp, tick);
        }
    }

    /// The request at `place` of a connection has ended.
    #[inline]
    fn request_over(&mut self, conn: usize, place: usize, now: u64) {
        let c = &mut self.conns[conn];
        let over = if place == 0 { c.flights.pop_front() } else { c.flights.remove(place) };
        c.whole -= usize::from(c.whole > place);
        if let Some(stream) = over.map(|flight| flight.stream)
            && let Some(next) = c.place(stream)
        {
            let item = c.flights[next].item;
            self.bodies.begin(c.looks.of(stream), Some(item));
        }
        self.in_flight -= 1;
        self.ticks.outstanding(now, -1);
    }
}
