//! The worker core: decides which connection sends when, follows every request to its end and records it.
//!
//! It knows neither sockets nor a clock: bytes and `now` come in, a [`Transport`] carries bytes out, and
//! [`Core::deadline_ns`] says when it wants to be called again. The epoll loop and the virtual-time rig drive
//! the same code.

mod aside;
mod body;
mod conn;
mod fairness;
mod finish;
mod pace;
mod send;
mod ticks;

use crate::marks::SliceMarks;
use crate::recorder::WorkerTick;
use crate::schedule::Share;
use crate::source::{Scratch, Source};
use crate::transport::{Opening, Transport};
use crate::window::{UNDECIDED_NS, Window};
use aside::Aside;
use body::BodyChecks;
pub(crate) use body::{BodyCheck, Look};
use conn::{Conn, State};
pub(crate) use conn::{breach, failure_of};
use model::{Failure, FailureKind, FailurePhase, SENDS_MAX};
pub(crate) use pace::Pace;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use ticks::Ticks;
use wire::http1::{ClientError, Ignore, Response};

/// First pause after a connection could not be opened, or was of no use; doubles up to [`BACKOFF_MAX_NS`].
const BACKOFF_MIN_NS: u64 = 1_000_000;
/// Longest pause between attempts to open a connection.
const BACKOFF_MAX_NS: u64 = 128_000_000;
/// Timeouts are noticed this share of the timeout late, within the bounds below.
const SWEEPS_PER_TIMEOUT: u64 = 50;
const SWEEP_MIN_NS: u64 = 5_000_000;
const SWEEP_MAX_NS: u64 = 100_000_000;
/// How often a load that is over asks whether the disturbance account has come past it.
const END_LOOK_NS: u64 = 10_000_000;

/// What a core has to do; fixed for its life.
pub(crate) struct Job {
    /// Its number among the load threads of this process.
    pub(crate) worker: usize,
    /// Which of all load threads it is.
    pub(crate) share: Share,
    /// Connections of this thread, at most.
    pub(crate) connections: usize,
    /// Of these, opened before the clock starts; the others of an open loop when a request finds none free.
    pub(crate) beforehand: usize,
    /// What is sent.
    pub(crate) source: Arc<Source>,
    /// Requests that a connection may have out at the same time; above 1 in closed loops only.
    pub(crate) pipeline: usize,
    pub(crate) pace: Pace,
    /// Requests this thread may start inside the window; none: as many as fit.
    pub(crate) quota: Option<u64>,
    /// Requests this thread may start before the window; none: as many as fit.
    pub(crate) warmup_quota: Option<u64>,
    pub(crate) keepalive: bool,
    pub(crate) timeout_ns: u64,
    /// Response time within which a good response is counted once more; none: no such count. ns
    pub(crate) slo_ns: Option<u64>,
}

/// One load thread's state.
pub(crate) struct Core {
    job: Job,
    window: Arc<Window>,
    conns: Box<[Conn]>,
    /// Open-loop slots that may take a request, longest idle first.
    free: VecDeque<usize>,
    /// Open-loop slots that have not been needed yet, the next one last.
    reserve: Vec<usize>,
    /// Slots that want to open again or to start again, each at its `retry_ns`.
    down: Vec<usize>,
    /// When the last free slot was taken; none while one is free.
    blocked_since_ns: Option<u64>,
    /// Requests assigned to slots.
    in_flight: usize,
    /// When a request was assigned to a connection last.
    assigned_ns: u64,
    /// Number of the next request.
    next_number: u64,
    bodies: BodyChecks,
    scratch: Scratch,
    /// Pipelined requests, put together for one write.
    joined: Vec<u8>,
    /// Length of each request of one write.
    lengths: Vec<usize>,
    quota_used: u64,
    /// Requests assigned that were intended before the window.
    warmup_used: u64,
    next_sweep_ns: u64,
    ticks: Ticks,
    aside: Aside,
    /// The window as of this turn.
    start_ns: u64,
    end_ns: u64,
    /// The stretch of it whose sends are kept instant by instant; empty in a closed loop.
    kept_sends: Range<u64>,
    /// When the last request of the load had ended; none before. ns
    over_ns: Option<u64>,
    /// When to ask again whether the account of that time is there; ns.
    next_end_look_ns: u64,
    /// When the last response of the window came; none before. ns
    answered_ns: Option<u64>,
    /// True once the connections have been counted.
    has_counted: bool,
    ended: bool,
}

impl Core {
    /// A core whose connections are all closed.
    pub(crate) fn new(job: Job, window: Arc<Window>, marks: Arc<SliceMarks>) -> Self {
        let conns = (0..job.connections).map(|_| Conn::new(job.pipeline, job.source.machine())).collect();
        let ticks = Ticks::new(job.worker, job.source.len(), job.pace.is_open_loop(), &window);
        Self {
            free: VecDeque::with_capacity(job.connections),
            reserve: (job.beforehand..job.connections).rev().collect(),
            down: Vec::with_capacity(job.connections),
            start_ns: window.start_ns(),
            end_ns: window.end_ns(),
            blocked_since_ns: None,
            in_flight: 0,
            assigned_ns: 0,
            next_number: u64::from(job.share.index),
            bodies: BodyChecks::new(&job.source),
            scratch: Scratch::default(),
            joined: Vec::new(),
            lengths: Vec::with_capacity(job.pipeline),
            quota_used: 0,
            warmup_used: 0,
            next_sweep_ns: 0,
            kept_sends: kept_sends(&job.pace, window.start_ns()),
            over_ns: None,
            next_end_look_ns: u64::MAX,
            answered_ns: None,
            has_counted: false,
            ended: false,
            conns,
            ticks,
            aside: Aside::new(marks),
            window,
            job,
        }
    }

    /// Begins to open connection `conn` without a request for it.
    pub(crate) fn open(&mut self, conn: usize, now: u64, net: &mut impl Transport) -> Result<Opening, FailureKind> {
        let opening = net.connect(conn)?;
        let c = &mut self.conns[conn];
        c.state = if opening == Opening::Done { State::Open } else { State::Opening };
        c.opening_since_ns = now;
        Ok(opening)
    }

    /// True if connection `conn` is being opened.
    #[inline]
    pub(crate) fn is_opening(&self, conn: usize) -> bool {
        self.conns[conn].state == State::Opening
    }

    /// Connection `conn` has opened before the clock starts.
    pub(crate) fn opened_early(&mut self, conn: usize) {
        self.conns[conn].state = State::Open;
    }

    /// Connection `conn` has failed to open, or was lost, before the clock starts.
    pub(crate) fn lost_early(&mut self, conn: usize, net: &mut impl Transport) {
        self.abandon(conn, net);
    }

    /// Connection `conn` was lost before the clock starts, and counts as open at the start.
    pub(crate) fn lost_at_start(&mut self, conn: usize, kind: FailureKind, net: &mut impl Transport) {
        self.count_fruitless(conn, Failure::new(FailurePhase::FirstByte, kind));
        self.abandon(conn, net);
    }

    /// Starts the load: closed loops send at once, open loops offer their connections.
    pub(crate) fn start(&mut self, now: u64, net: &mut impl Transport) {
        for conn in 0..self.job.beforehand {
            // Opening was timed on a clock that began earlier: its instants may lie ahead of this one's.
            self.conns[conn].opening_since_ns = now;
            if self.conns[conn].state == State::Open {
                self.slot_is_free(conn, now, net);
            } else {
                self.abandon(conn, net);
                self.retry(conn, now);
            }
        }
        self.turn(now, net);
    }

    /// Does everything that is due at `now`. To be called at [`Core::deadline_ns`] and after each batch of events.
    pub(crate) fn turn(&mut self, now: u64, net: &mut impl Transport) {
        self.look_at_window(now);
        self.ticks.advance(now);
        if self.ended {
            return;
        }
        self.aside.look(now, self.ticks.current());
        self.wake_down(now, net);
        self.send_due(now, net);
        if now >= self.next_sweep_ns {
            self.sweep_timeouts(now, net);
        }
        self.end_if_done(now);
    }

    /// When the core wants its next [`Core::turn`] if nothing else happens; ns.
    pub(crate) fn deadline_ns(&self) -> u64 {
        let mut deadline = self.ticks.boundary_ns().min(self.next_end_look_ns);
        if self.in_flight > 0 || !self.down.is_empty() {
            deadline = deadline.min(self.next_sweep_ns);
        }
        for &conn in &self.down {
            deadline = deadline.min(self.conns[conn].retry_ns);
        }
        deadline.min(self.next_send_ns().unwrap_or(u64::MAX))
    }

    /// When the next request goes out by schedule; none when none does. ns
    #[inline]
    pub(crate) fn next_send_ns(&self) -> Option<u64> {
        // What is due without a free slot waits for one; what lies beyond the window is never sent.
        self.job.pace.due_ns().filter(|due| self.has_slot() && self.may_start(*due))
    }

    /// When the latest request went out, while any response is awaited; ns.
    #[inline]
    pub(crate) fn awaiting_since_ns(&self) -> Option<u64> {
        (self.in_flight > 0).then_some(self.assigned_ns)
    }

    /// True if the load has ended and everything is recorded.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Ticks that are complete, oldest first.
    pub(crate) fn take_tick(&mut self) -> Option<Box<WorkerTick>> {
        self.ticks.take()
    }

    /// True if a tick that was taken is wanted back.
    pub(crate) const fn lacks_spare(&self) -> bool {
        self.ticks.lacks_spare()
    }

    /// Gives a used tick back.
    pub(crate) fn recycle(&mut self, tick: Box<WorkerTick>) {
        self.ticks.recycle(tick);
    }

    /// Good responses so far in this tick, for live progress.
    pub(crate) fn good_so_far(&self) -> u64 {
        self.ticks.good_total()
    }

    /// Connection `conn` is open now.
    pub(crate) fn on_opened(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        let c = &mut self.conns[conn];
        c.state = State::Open;
        // Until there is a response on it.
        c.fruitless = c.fruitless.max(1);
        self.ticks.current().flow.opened += 1;
        if c.is_busy() {
            self.write(conn, now, net);
        } else {
            self.slot_is_free(conn, now, net);
        }
    }

    /// A TLS handshake took so long, before the clock started or after it.
    pub(crate) fn on_handshake(&mut self, took_ns: u64, resumed: bool) {
        let tick = self.ticks.current();
        tick.latency.handshake.record(took_ns);
        tick.flow.resumed += u64::from(resumed);
    }

    /// Connection `conn` could not be opened.
    pub(crate) fn on_open_failed(&mut self, conn: usize, failure: Failure, now: u64, net: &mut impl Transport) {
        if self.conns[conn].is_busy() {
            self.fail(conn, failure, now, net);
        } else {
            self.count_fruitless(conn, failure);
            self.abandon(conn, net);
            self.back_off(conn, now);
        }
    }

    /// Connection `conn` can take more bytes.
    pub(crate) fn on_writable(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        if self.conns[conn].state == State::Open && self.conns[conn].has_unsent() {
            self.write(conn, now, net);
        }
    }

    /// Bytes have come on connection `conn`.
    #[inline]
    pub(crate) fn on_bytes(&mut self, conn: usize, mut bytes: &[u8], now: u64, net: &mut impl Transport) {
        self.advance(now);
        self.ticks.current().flow.bytes_received += bytes.len() as u64;
        let mut is_freed = false;
        while !bytes.is_empty() {
            let c = &mut self.conns[conn];
            let (stream, place, item) = c.receiving(now);
            let look = c.looks.of(stream.unwrap_or(0));
            let received = match self.bodies.of(look, item) {
                Some(check) => c.machine.receive(bytes, &mut check.sink(look)),
                None => c.machine.receive(bytes, &mut Ignore),
            };
            match received {
                Ok(received) => {
                    bytes = &bytes[received.consumed..];
                    let (Some(event), Some(place)) = (received.event, place) else { continue };
                    if !bytes.is_empty() && c.machine.outstanding() == 0 && !c.machine.passes_over(bytes) {
                        // A server that sends more than it announced lies about the length of its body.
                        return self.fail(conn, Failure::new(FailurePhase::Body, FailureKind::Malformed), now, net);
                    }
                    if !self.on_event(conn, place, event, now, net) {
                        return;
                    }
                    is_freed = true;
                }
                Err(_) if !c.is_busy() => return self.idle_lost(conn, FailureKind::Malformed, now, net),
                Err(error) => return self.fail(conn, failure_of(error), now, net),
            }
        }
        // After the last response that came with this read, so that what follows goes out with one write.
        if is_freed {
            self.slot_is_free(conn, now, net);
        }
    }

    /// The peer has closed its side of connection `conn`.
    pub(crate) fn on_eof(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        self.advance(now);
        let c = &mut self.conns[conn];
        if !c.is_busy() {
            return self.idle_lost(conn, FailureKind::Closed, now, net);
        }
        match c.machine.receive_eof() {
            // A connection that has ended serves no other request, whatever the response says.
            Ok(Some(response)) => {
                self.complete(conn, 0, Response { keepalive: false, ..response }, now, net);
            }
            Ok(None) => self.fail(conn, Failure::new(FailurePhase::FirstByte, FailureKind::Closed), now, net),
            Err(ClientError::ClosedBeforeResponse) if self.conns[conn].whole == 0 => {
                self.fail(conn, Failure::new(FailurePhase::Send, FailureKind::Closed), now, net);
            }
            Err(error) => self.fail(conn, failure_of(error), now, net),
        }
    }

    /// Connection `conn` is broken.
    pub(crate) fn on_error(&mut self, conn: usize, kind: FailureKind, now: u64, net: &mut impl Transport) {
        let c = &self.conns[conn];
        if c.is_busy() {
            let phase = c.phase();
            self.fail(conn, Failure::new(phase, kind), now, net);
        } else {
            self.idle_lost(conn, kind, now, net);
        }
    }

    /// A slot can take a request: in closed loop it takes the next one at once.
    #[inline]
    fn slot_is_free(&mut self, conn: usize, now: u64, net: &mut impl Transport) {
        if self.job.pace.is_open_loop() {
            self.free.push_back(conn);
            self.send_due(now, net);
        } else {
            while self.conns[conn].has_room(self.job.pipeline) && self.may_start(now) {
                self.assign(conn, now, now);
            }
            if now < self.start_ns && self.is_warmed() && !self.conns[conn].is_busy() {
                self.retry(conn, self.start_ns);
            }
            self.go(conn, now, net);
        }
    }

    /// Sends what the schedule has due, as far as slots are free.
    #[inline]
    fn send_due(&mut self, now: u64, net: &mut impl Transport) {
        while let Some(intended) = self.job.pace.due_ns() {
            // Of a warm-up that has sent all it may: those are left out, whether they are due already or not.
            if intended < self.start_ns && self.is_warmed() {
                self.job.pace.advance();
                continue;
            }
            if intended > now || !self.may_start(intended) {
                break;
            }
            if now - intended > self.job.timeout_ns {
                self.job.pace.advance();
                self.give_up(intended, now);
                continue;
            }
            let Some(conn) = self.free.pop_front().or_else(|| self.next_of_reserve()) else { break };
            self.job.pace.advance();
            self.assign(conn, intended, now);
            self.go(conn, now, net);
        }
        // What is never sent is not late.
        let due_ns = self.job.pace.due_ns().filter(|due_ns| self.may_start(*due_ns));
        self.ticks.next_due(due_ns.unwrap_or(u64::MAX));
        self.blocked_since_ns = if self.has_slot() { None } else { Some(self.blocked_since_ns.unwrap_or(now)) };
    }

    /// True if an open loop has a slot for a request.
    #[inline]
    fn has_slot(&self) -> bool {
        !self.free.is_empty() || !self.reserve.is_empty()
    }

    /// A slot whose connection is opened for the request that found no other.
    #[cold]
    fn next_of_reserve(&mut self) -> Option<usize> {
        let conn = self.reserve.pop()?;
        self.ticks.current().flow.grown += 1;
        Some(conn)
    }

    /// True if a request intended at `intended_ns` belongs to the load at all.
    #[inline]
    fn may_start(&self, intended_ns: u64) -> bool {
        let has_left = match intended_ns < self.start_ns {
            true => !self.is_warmed(),
            false => self.job.quota.is_none_or(|quota| self.quota_used < quota),
        };
        !self.ended && intended_ns < self.end_ns && has_left
    }

    /// True if the warm-up has sent all the requests that it may.
    #[inline]
    fn is_warmed(&self) -> bool {
        self.job.warmup_quota.is_some_and(|quota| self.warmup_used >= quota)
    }

    #[inline]
    fn in_window(&self, intended_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&intended_ns)
    }

    /// An idle connection is of no use any more, as `kind` tells; that is no request's failure.
    fn idle_lost(&mut self, conn: usize, kind: FailureKind, now: u64, net: &mut impl Transport) {
        self.count_fruitless(conn, Failure::new(FailurePhase::FirstByte, kind));
        self.abandon(conn, net);
        self.free.retain(|&other| other != conn);
        if self.conns[conn].fruitless == 0 {
            self.retry(conn, now);
        } else {
            // A server that accepts and closes would be kept busy with it, and so would this thread.
            self.back_off(conn, now);
        }
    }

    fn abandon(&mut self, conn: usize, net: &mut impl Transport) {
        net.close(conn);
        self.conns[conn].closed(self.job.source.machine());
    }

    fn back_off(&mut self, conn: usize, now: u64) {
        let c = &mut self.conns[conn];
        let pause = (BACKOFF_MIN_NS << c.fruitless.min(16)).min(BACKOFF_MAX_NS);
        c.fruitless = c.fruitless.saturating_add(1);
        self.retry(conn, now + pause);
    }

    fn retry(&mut self, conn: usize, at_ns: u64) {
        self.conns[conn].retry_ns = at_ns;
        self.down.push(conn);
    }

    /// Lets slots that were closed take part again.
    fn wake_down(&mut self, now: u64, net: &mut impl Transport) {
        let mut i = 0;
        while i < self.down.len() {
            let conn = self.down[i];
            if self.conns[conn].retry_ns > now {
                i += 1;
                continue;
            }
            self.down.swap_remove(i);
            if !(self.job.pace.is_open_loop() && self.job.keepalive) {
                self.slot_is_free(conn, now, net);
            } else if self.more_is_due() {
                match self.open(conn, now, net) {
                    Ok(Opening::Done) => self.on_opened(conn, now, net),
                    Ok(Opening::Pending) => {}
                    Err(kind) => self.on_open_failed(conn, Failure::new(FailurePhase::Connect, kind), now, net),
                }
                // What failed at once is due later than now and stands behind `i`.
            } else {
                // Should the window be prolonged, the request that needs it opens it.
                self.free.push_back(conn);
            }
        }
    }

    /// Ends requests that have been out for longer than the timeout.
    fn sweep_timeouts(&mut self, now: u64, net: &mut impl Transport) {
        let every = (self.job.timeout_ns / SWEEPS_PER_TIMEOUT).clamp(SWEEP_MIN_NS, SWEEP_MAX_NS);
        self.next_sweep_ns = now + every;
        for conn in 0..self.conns.len() {
            let c = &self.conns[conn];
            let since_ns = c.flights.front().map_or(c.opening_since_ns, |oldest| oldest.started_ns);
            if c.state == State::Closed && !c.is_busy() || now - since_ns < self.job.timeout_ns {
                continue;
            }
            if c.is_busy() {
                self.time_out(conn, now, net);
            } else if c.state == State::Opening {
                let failure = Failure::new(net.opening_phase(conn), FailureKind::Timeout);
                self.on_open_failed(conn, failure, now, net);
            }
        }
    }

    /// True if the schedule has another request for this load, now or later.
    fn more_is_due(&self) -> bool {
        self.job.pace.due_ns().is_some_and(|due| self.may_start(due))
    }

    /// Cuts the ticks that have ended by `now`. A window that was prolonged is known by then: else what comes in at its old
    /// end would be told to be after it, and a slot that is free would rest. One that was not decided may have begun since
    /// the turn did.
    #[inline]
    fn advance(&mut self, now: u64) {
        if now >= self.ticks.boundary_ns() || self.start_ns == UNDECIDED_NS {
            self.look_at_window(now);
        }
        self.ticks.advance(now);
    }

    fn look_at_window(&mut self, now: u64) {
        let (start_ns, end_ns) = (self.window.start_ns(), self.window.end_ns());
        if (start_ns, end_ns) != (self.start_ns, self.end_ns) {
            if start_ns != self.start_ns {
                self.kept_sends = kept_sends(&self.job.pace, start_ns);
            }
            (self.start_ns, self.end_ns) = (start_ns, end_ns);
            self.ticks.window_decided(start_ns, end_ns);
        }
        if self.window.is_stopped() && !self.ended {
            self.end(now);
        }
    }

    fn end(&mut self, now: u64) {
        // The window of a number of requests ended with the last of them.
        let at = self.over_ns.filter(|over_ns| self.in_window(*over_ns)).unwrap_or(now);
        self.ticks.advance(at);
        self.count_connections(at);
        self.count_unfinished(at);
        self.ended = true;
        self.aside.finish(self.ticks.current());
        self.ticks.finish(at);
    }

    fn end_if_done(&mut self, now: u64) {
        let quota_done = self.job.quota.is_some_and(|quota| self.quota_used >= quota);
        let no_more = now >= self.end_ns || quota_done;
        if !no_more {
            return;
        }
        if now >= self.end_ns {
            self.count_connections(now);
        }
        if self.more_is_due() || self.in_flight > 0 {
            return;
        }
        let over_ns = *self.over_ns.get_or_insert(now);
        if self.in_window(over_ns) {
            self.ticks.hold();
        }
        if self.aside.is_sure(over_ns, now) {
            self.end(now);
        } else {
            self.next_end_look_ns = now + END_LOOK_NS;
        }
    }
}

/// The stretch of a window that begins at `start_ns` whose sends are kept: what holds [`SENDS_MAX`] on average.
fn kept_sends(pace: &Pace, start_ns: u64) -> Range<u64> {
    let length_ns = pace.mean_gap_ns().map_or(0.0, |gap_ns| gap_ns * SENDS_MAX as f64);
    start_ns..start_ns.saturating_add(length_ns as u64)
}
