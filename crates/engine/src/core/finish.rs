//! How requests end: with a response, or without one.

use super::aside::Value;
use super::{Core, conn};
use crate::recorder::STATUS_CODES;
use crate::transport::Transport;
use model::{Failure, FailureKind, FailurePhase};
use wire::http1::Response;

impl Core {
    /// The response to the oldest request of a connection is complete. Tells whether the connection serves another;
    /// if not, the slot has been seen to.
    #[inline]
    pub(super) fn complete(&mut self, conn: usize, response: Response, now: u64, net: &mut impl Transport) -> bool {
        let c = &self.conns[conn];
        let flight = c.flights[0];
        let item = flight.item as usize;
        let framed = conn::breach(self.job.source.contract(item), response);
        let check = self.bodies.of(&c.look, c.item()).filter(|_| framed.is_none());
        let looked_at = check.is_some();
        let content = check.and_then(|check| check.breach(&c.look));
        let broken = framed.or_else(|| content.map(|kind| Failure::new(FailurePhase::Contract, kind)));
        // A request that was answered before it was sent leaves the connection in an unknown state.
        let goes_on = self.job.keepalive && response.keepalive && c.whole > 0;
        let in_window = self.in_window(flight.intended_ns);
        self.request_over(conn, now);
        self.ticks.in_slice(now, flight.intended_ns, broken.is_none());
        let tick = self.ticks.current();
        tick.flow.completed += 1;
        match broken {
            None => tick.flow.good += 1,
            Some(_) => tick.flow.failed += 1,
        }
        if in_window {
            let response_ns = now - flight.intended_ns;
            tick.tally.completed += 1;
            tick.tally.body_checked += u64::from(looked_at);
            tick.tally.status[usize::from(response.status).min(STATUS_CODES - 1)] += 1;
            match broken {
                None => tick.tally.good += 1,
                Some(failure) => {
                    tick.tally.failures[failure.index()] += 1;
                    tick.tally.broken_response_ns += response_ns;
                }
            }
            if let Some(mix) = tick.tally.mix.get_mut(item) {
                mix.completed += 1;
                mix.good += u64::from(broken.is_none());
                mix.response_ns += response_ns;
            }
            tick.latency.response.record(response_ns);
            let service_ns = now - flight.started_ns;
            tick.latency.service.record(service_ns);
            self.aside.put(flight.intended_ns, now, Value::Ended { service_ns }, tick);
        }
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

    /// The requests of a connection have ended without a complete response: the oldest of them with `failure`, those
    /// pipelined behind it without a byte.
    #[cold]
    pub(super) fn fail(&mut self, conn: usize, failure: Failure, now: u64, net: &mut impl Transport) {
        let unopened = matches!(failure.phase, FailurePhase::Connect | FailurePhase::Tls);
        let mut each = failure;
        while let Some(&flight) = self.conns[conn].flights.front() {
            let in_window = self.in_window(flight.intended_ns);
            self.request_over(conn, now);
            let tick = self.ticks.current();
            tick.flow.failed += 1;
            if in_window {
                tick.tally.failures[each.index()] += 1;
                if each.kind == FailureKind::Timeout {
                    tick.tally.censored += 1;
                    tick.latency.response.record(now - flight.intended_ns);
                    let service_ns = now - flight.started_ns;
                    tick.latency.service.record(service_ns);
                    self.aside.put(flight.intended_ns, now, Value::Ended { service_ns }, tick);
                }
            }
            if !unopened {
                each.phase = FailurePhase::FirstByte;
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

    /// A scheduled request found no connection until its deadline.
    #[cold]
    pub(super) fn give_up(&mut self, intended: u64, now: u64) {
        let in_window = self.in_window(intended);
        let tick = self.ticks.current();
        tick.flow.failed += 1;
        if in_window {
            self.quota_used += 1;
            tick.tally.planned += 1;
            tick.tally.censored += 1;
            tick.tally.failures[Failure::new(FailurePhase::Send, FailureKind::Timeout).index()] += 1;
            tick.latency.response.record(now - intended);
            tick.latency.slip_blocked.record(now - intended);
            self.aside.put(intended, now, Value::GivenUp, tick);
        }
    }

    /// The oldest request of a connection has ended.
    #[inline]
    fn request_over(&mut self, conn: usize, now: u64) {
        let c = &mut self.conns[conn];
        c.flights.pop_front();
        c.whole = c.whole.saturating_sub(1);
        if c.is_busy() {
            let item = c.item();
            self.bodies.begin(&mut c.look, item);
        }
        self.in_flight -= 1;
        self.ticks.outstanding(now, -1);
    }
}
