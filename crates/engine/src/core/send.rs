//! How requests get onto connections.
//!
//! The time to open a connection belongs to the request it is opened for, and to nobody when an idle connection of an
//! open loop is replaced.

use super::aside::Value;
use super::conn::{Flight, State};
use super::{Core, Opening};
use crate::transport::Transport;
use model::{Failure, FailureKind, FailurePhase};

/// Pipelined requests are put together up to this size for one write; a larger one goes out alone.
const JOINED_BYTES: usize = 64 * 1024;

impl Core {
    /// Assigns the next request to a slot that can take one.
    #[inline]
    pub(super) fn assign(&mut self, conn: usize, intended: u64, now: u64) {
        let blocked = self.blocked_since_ns.map_or(0, |since| now - since.max(intended).min(now));
        let number = self.next_number;
        self.next_number += u64::from(self.job.share.of);
        let item = self.job.source.pick(number) as u32;
        let planned = self.in_window(intended);
        let c = &mut self.conns[conn];
        let stream = c.machine.open();
        if c.place(stream).is_none() {
            self.bodies.begin(c.looks.of(stream), Some(item));
        }
        let flight = Flight {
            number,
            item,
            stream,
            sent: false,
            planned,
            intended_ns: intended,
            started_ns: now,
            first_byte_ns: None,
        };
        c.flights.push_back(flight);
        self.ticks.outstanding(now, 1);
        self.in_flight += 1;
        self.assigned_ns = now;
        self.warmup_used += u64::from(intended < self.start_ns);
        if planned {
            self.quota_used += 1;
            let tick = self.ticks.current();
            tick.tally.counts.planned += 1;
            // A closed loop intends a request when it sends it.
            if self.job.pace.is_open_loop() {
                tick.latency.slip_client.record(now - intended - blocked);
                tick.latency.slip_blocked.record(blocked);
                self.aside.put(intended, now, Value::Sent { blocked_ns: blocked }, tick);
                if self.kept_sends.contains(&now) {
                    tick.sent_at(now);
                }
            }
        }
    }

    /// Brings what is assigned to a slot under way.
    #[inline]
    pub(super) fn go(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        let c = &self.conns[conn];
        if !c.has_unsent() {
            return;
        }
        match c.state {
            State::Open => self.write(conn, now, net),
            State::Opening => {}
            State::Closed => self.open_for_request(conn, now, net),
        }
    }

    fn open_for_request(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        self.conns[conn].state = State::Opening;
        match net.connect(conn) {
            Ok(Opening::Done) => self.on_opened(conn, now, net),
            Ok(Opening::Pending) => {}
            Err(kind) => self.fail(conn, Failure::new(FailurePhase::Connect, kind), now, net),
        }
    }

    /// Hands what is unsent to the transport, as much as it takes.
    #[inline]
    pub(super) fn write(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        while self.write_own(conn, now, net) && self.conns[conn].whole < self.conns[conn].flights.len() {
            let before = self.conns[conn].whole;
            self.write_requests(conn, now, net);
            // Behind a request that was taken whole there is room for more, and no event tells of it.
            if self.conns[conn].whole <= before {
                return;
            }
        }
    }

    /// Hands what the protocol has to send on its own account to the transport, but not within a request. False if
    /// requests have to wait.
    #[inline]
    fn write_own(&mut self, conn: usize, now: u64, net: &mut impl Transport) -> bool {
        let c = &mut self.conns[conn];
        let own = c.machine.poll_transmit();
        if own.is_empty() || c.written > 0 {
            return true;
        }
        match net.send(conn, own) {
            Ok(n) => {
                let is_all = n == own.len();
                c.machine.transmitted(n);
                self.ticks.current().flow.bytes_sent += n as u64;
                is_all
            }
            Err(kind) => {
                self.on_error(conn, kind, now, net);
                false
            }
        }
    }

    #[inline]
    fn write_requests(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        let Self { job, conns, scratch, lengths, joined, .. } = self;
        let c = &conns[conn];
        lengths.clear();
        let first = c.flights[c.whole];
        let mut bytes = job.source.bytes(first.item as usize, first.number, scratch);
        lengths.push(bytes.len());
        let has_more = c.flights.len() - c.whole > 1 && bytes.len() < JOINED_BYTES;
        if has_more || first.stream > 0 {
            joined.clear();
            joined.extend_from_slice(bytes);
            c.machine.set_stream(joined, first.stream);
            for flight in c.flights.range(c.whole + 1..) {
                let more = job.source.bytes(flight.item as usize, flight.number, scratch);
                let at = joined.len();
                if at + more.len() > JOINED_BYTES {
                    break;
                }
                lengths.push(more.len());
                joined.extend_from_slice(more);
                c.machine.set_stream(&mut joined[at..], flight.stream);
            }
            bytes = joined;
        }
        match net.send(conn, &bytes[c.written..]) {
            Ok(n) => self.taken(conn, n),
            // A server that wants no more of an upload has perhaps said why: the event that tells of the end is still to
            // come, and behind what there is to be read is the error.
            Err(FailureKind::Closed | FailureKind::Reset) if c.written > 0 => {}
            Err(kind) => self.fail(conn, Failure::new(FailurePhase::Send, kind), now, net),
        }
    }

    /// The transport has taken `n` more bytes of the requests whose lengths are in `lengths`.
    #[inline]
    fn taken(&mut self, conn: usize, mut n: usize) {
        self.ticks.current().flow.bytes_sent += n as u64;
        for &length in &self.lengths {
            if n == 0 {
                return;
            }
            let c = &mut self.conns[conn];
            let flight = &mut c.flights[c.whole];
            if c.written == 0 {
                c.machine.submit(flight.stream, self.job.source.expect(flight.item as usize));
                if !std::mem::replace(&mut flight.sent, true) {
                    let tick = self.ticks.current();
                    tick.flow.sent += 1;
                    tick.tally.counts.sent += u64::from(flight.planned);
                }
            }
            let left = length - c.written;
            if n < left {
                c.written += n;
                return;
            }
            n -= left;
            c.whole += 1;
            c.written = 0;
        }
    }
}
