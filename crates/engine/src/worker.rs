//! One load thread: opens its connections, waits for the start, then drives its core from epoll.

use crate::core::{Core, Job};
use crate::marks::SliceMarks;
use crate::opening::OpeningBoard;
use crate::recorder::WorkerTick;
use crate::sockets::{PLAIN_BYTES, Ready, Sockets};
use crate::spin::{Next, Spin};
use crate::transport::{Opening, Transport};
use crate::window::Window;
use clock::{Clock, thread_cpu_ns};
use model::{Address, Failure, FailureKind, FailurePhase, Fruitless, TlsSession};
use rustix::event::epoll::EventFlags;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use wire::tls::Config;

/// Connections a thread opens at the same time, so that a server's accept queue is not flooded at the start.
const OPENING_AT_ONCE: usize = 64;
/// Attempts to open a connection before the clock starts: of a server that resets half of them, one in 256 stays closed.
const OPEN_TRIES: u32 = 8;
/// Pause before the next of these attempts.
const OPEN_PAUSE_NS: u64 = 50_000_000;
/// Longest wait in the opening phase before looking at deadlines again.
const OPEN_WAIT_NS: u64 = 10_000_000;
/// One read takes at most this; one buffer per thread.
const READ_BYTES: usize = 64 * 1024;
/// Reads of one connection before the others, and whatever is due by time, have their turn: its peer may send faster than
/// this thread reads.
const READS_PER_TURN: usize = 16;
/// What tells that a connection has something to read, or an end.
const READABLE: EventFlags = CLOSING.union(EventFlags::IN);
/// What tells that its peer sends no more.
const CLOSING: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
const _: () = assert!(READ_BYTES >= PLAIN_BYTES, "what a read of TLS holds must fit");

/// What a load thread is given.
pub(crate) struct Setup {
    pub(crate) job: Job,
    pub(crate) address: Address,
    /// How to encrypt, if at all.
    pub(crate) tls: Option<Config>,
    pub(crate) cpu: Option<u32>,
    pub(crate) open_timeout_ns: u64,
    /// See [`model::Plan::spin_ns`].
    pub(crate) spin_ns: u64,
    pub(crate) window: Arc<Window>,
    pub(crate) opening: Arc<OpeningBoard>,
    pub(crate) marks: Arc<SliceMarks>,
    /// Good responses so far, for the automatic warm-up.
    pub(crate) progress: Arc<AtomicU64>,
    pub(crate) out: Sender<FromWorker>,
    pub(crate) start: Receiver<Clock>,
    pub(crate) used_ticks: Receiver<Box<WorkerTick>>,
}

/// What a load thread says.
pub(crate) enum FromWorker {
    /// Its connections are open, or have failed to open.
    Opened { established: u32, failure: Option<Failure>, fruitless: Fruitless, tls: Option<TlsSession> },
    /// A tick is complete.
    Tick(Box<WorkerTick>),
    /// The operating system does not let it work; it has ended.
    Broken(std::io::Error),
}

/// Runs one load thread from its connections to its last tick.
pub(crate) fn work(setup: Setup) {
    let out = setup.out.clone();
    if let Err(error) = Worker::new(setup).and_then(Worker::run) {
        // The coordinator may be gone already; then nobody is left to tell.
        let _ = out.send(FromWorker::Broken(error));
    }
}

struct Worker {
    core: Core,
    sockets: Sockets,
    buffer: Box<[u8]>,
    /// Connections that have more to read than was read in their turn, and of which no other event tells.
    unread: VecDeque<Ready>,
    beforehand: usize,
    open_timeout_ns: u64,
    spin: Spin,
    window: Arc<Window>,
    opening: Arc<OpeningBoard>,
    progress: Arc<AtomicU64>,
    out: Sender<FromWorker>,
    start: Receiver<Clock>,
    used_ticks: Receiver<Box<WorkerTick>>,
    cpu_seen_ns: u64,
}

impl Worker {
    fn new(setup: Setup) -> std::io::Result<Self> {
        prepare_thread(setup.cpu);
        let (connections, beforehand) = (setup.job.connections, setup.job.beforehand);
        Ok(Self {
            core: Core::new(setup.job, Arc::clone(&setup.window), setup.marks),
            sockets: Sockets::new(&setup.address, connections, setup.tls)?,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            unread: VecDeque::with_capacity(connections),
            beforehand,
            open_timeout_ns: setup.open_timeout_ns,
            spin: Spin::new(setup.spin_ns),
            window: setup.window,
            opening: setup.opening,
            progress: setup.progress,
            out: setup.out,
            start: setup.start,
            used_ticks: setup.used_ticks,
            cpu_seen_ns: 0,
        })
    }

    fn run(mut self) -> std::io::Result<()> {
        let OpenPhase { established, failure, fruitless, .. } = self.open_all(Clock::start())?;
        let told = self.out.send(FromWorker::Opened { established, failure, fruitless, tls: self.sockets.session() });
        // No clock means the coordinator has given the run up.
        let (Ok(()), Ok(clock)) = (told, self.start.recv()) else { return Ok(()) };
        self.cpu_seen_ns = thread_cpu_ns();
        self.forget_lost()?;
        self.core.start(clock.now_ns(), &mut self.sockets);
        self.drive(clock)
    }

    /// The loop: one wait, then each ready connection, each with its own reading of the clock.
    fn drive(&mut self, clock: Clock) -> std::io::Result<()> {
        loop {
            let now = clock.now_ns();
            self.spin.look(now, false, thread_cpu_ns);
            self.core.turn(now, &mut self.sockets);
            self.progress.store(self.core.good_so_far(), Ordering::Relaxed);
            self.deliver_ticks();
            if self.core.has_ended() {
                return Ok(());
            }
            let next = Next {
                deadline_ns: self.core.deadline_ns(),
                due_ns: self.core.next_send_ns(),
                awaiting_since_ns: self.core.awaiting_since_ns(),
            };
            let sleep_ns = if self.unread.is_empty() { self.spin.sleep_ns(now, next, thread_cpu_ns) } else { 0 };
            let ready = self.sockets.wait(sleep_ns)?;
            self.spin.look(now, ready > 0, thread_cpu_ns);
            self.handle_all(ready, clock);
        }
    }

    /// Handles the events of the last wait, then what the turns before have left unread.
    #[inline]
    fn handle_all(&mut self, ready: usize, clock: Clock) {
        let left = self.unread.len();
        for i in 0..ready {
            if let Some(event) = self.sockets.event(i) {
                self.handle(event, clock);
            }
        }
        for _ in 0..left {
            if let Some(unread) = self.next_unread() {
                self.handle(unread, clock);
            }
        }
    }

    #[inline]
    fn handle(&mut self, ready: Ready, clock: Clock) {
        let Ready { conn, flags, .. } = ready;
        if self.core.is_opening(conn) {
            match self.advance(conn, clock) {
                Ok((Opening::Pending, _)) => return self.read_later_if_more(ready),
                Ok((Opening::Done, now)) => self.core.on_opened(conn, now, &mut self.sockets),
                Err((failure, now)) => return self.core.on_open_failed(conn, failure, now, &mut self.sockets),
            }
        } else if flags.contains(EventFlags::OUT) {
            match self.sockets.flush(conn) {
                Ok(()) => self.core.on_writable(conn, clock.now_ns(), &mut self.sockets),
                // What the server has said before it went is still to be read, and behind that its end.
                Err(FailureKind::Closed | FailureKind::Reset) if flags.intersects(READABLE) => {}
                Err(kind) => return self.core.on_error(conn, kind, clock.now_ns(), &mut self.sockets),
            }
        }
        if flags.intersects(READABLE) {
            self.read(ready, clock);
        }
    }

    /// Goes on opening `conn`; tells how far it is, or why it has failed, and when that was known.
    fn advance(&mut self, conn: usize, clock: Clock) -> Result<(Opening, u64), (Failure, u64)> {
        let outcome = self.sockets.advance(conn, clock.now_ns(), &mut self.buffer);
        // Read again: a handshake takes its time in this thread too.
        let now = clock.now_ns();
        if let (Ok(Opening::Done), Some(handshake)) = (outcome, self.sockets.handshake(conn)) {
            self.core.on_handshake(now - handshake.since_ns, handshake.resumed);
        }
        outcome.map(|opening| (opening, now)).map_err(|failure| (failure, now))
    }

    /// Reads once; again only when the buffer was full or the peer has closed its side, and not for ever.
    #[inline]
    fn read(&mut self, ready: Ready, clock: Clock) {
        let conn = ready.conn;
        let closing = ready.flags.intersects(CLOSING);
        for _ in 0..READS_PER_TURN {
            if !self.sockets.is_current(conn, ready.generation) {
                return;
            }
            let outcome = self.sockets.read(conn, &mut self.buffer);
            let now = clock.now_ns();
            match outcome {
                Ok(None) if self.sockets.has_more(0, self.buffer.len()) => {}
                Ok(None) => return,
                Ok(Some(0)) => return self.core.on_eof(conn, now, &mut self.sockets),
                Ok(Some(n)) => {
                    self.core.on_bytes(conn, &self.buffer[..n], now, &mut self.sockets);
                    if !closing && !self.sockets.has_more(n, self.buffer.len()) {
                        return;
                    }
                }
                Err(kind) => return self.core.on_error(conn, kind, now, &mut self.sockets),
            }
        }
        self.read_later(ready);
    }

    /// A connection is being opened: of its handshake more may have come than was read.
    fn read_later_if_more(&mut self, ready: Ready) {
        if self.sockets.has_more(0, self.buffer.len()) {
            self.read_later(ready);
        }
    }

    /// Goes on with a connection in the next turn, as no event will tell of what it has.
    #[cold]
    fn read_later(&mut self, ready: Ready) {
        let is_same = |other: &&mut Ready| (other.conn, other.generation) == (ready.conn, ready.generation);
        match self.unread.iter_mut().find(is_same) {
            Some(known) => known.flags |= ready.flags,
            None => self.unread.push_back(ready),
        }
    }

    /// The next of these connections; none when its socket has been closed since.
    fn next_unread(&mut self) -> Option<Ready> {
        let next = self.unread.pop_front()?;
        self.sockets.is_current(next.conn, next.generation).then_some(next)
    }

    fn deliver_ticks(&mut self) {
        while let Some(mut tick) = self.core.take_tick() {
            let cpu_ns = thread_cpu_ns();
            tick.cpu_ns = (cpu_ns - self.cpu_seen_ns).saturating_sub(self.spin.take_spent_ns());
            self.cpu_seen_ns = cpu_ns;
            // Without a coordinator the run is over; the window's stop sign ends the loop.
            let _ = self.out.send(FromWorker::Tick(tick));
        }
        // Before the next one is cut, or a third would be allocated for good.
        while self.core.lacks_spare() {
            let Ok(used) = self.used_ticks.try_recv() else { return };
            self.core.recycle(used);
        }
    }

    /// Opens all connections, as long as they come; returns how many are open and what came of the others.
    fn open_all(&mut self, clock: Clock) -> std::io::Result<OpenPhase> {
        let mut opening = OpenPhase::new(self.beforehand);
        while !opening.is_over() && !self.window.is_stopped() {
            let now = clock.now_ns();
            while let Some(conn) = opening.next(now) {
                match self.core.open(conn, now, &mut self.sockets) {
                    Ok(Opening::Done) => opening.succeeded(conn),
                    Ok(Opening::Pending) => opening.pending[conn] = Some(now + self.open_timeout_ns),
                    Err(kind) => opening.failed(conn, Failure::new(FailurePhase::Connect, kind), now),
                }
            }
            let left = self.unread.len();
            for i in 0..self.sockets.wait(if opening.is_over() || left > 0 { 0 } else { OPEN_WAIT_NS })? {
                if let Some(event) = self.sockets.event(i) {
                    self.handle_opening(event, &mut opening, clock);
                }
            }
            for _ in 0..left {
                if let Some(unread) = self.next_unread() {
                    self.handle_opening(unread, &mut opening, clock);
                }
            }
            self.opening.add(opening.take_change());
            let is_given_up = self.opening.is_given_up();
            let overdue_ns = if is_given_up { u64::MAX } else { clock.now_ns() };
            for conn in opening.overdue(overdue_ns) {
                let failure = Failure::new(self.sockets.opening_phase(conn), FailureKind::Timeout);
                self.core.lost_early(conn, &mut self.sockets);
                opening.failed(conn, failure, now);
            }
            if is_given_up {
                break;
            }
        }
        Ok(opening)
    }

    /// Something has happened to a connection that is opened before the clock starts.
    fn handle_opening(&mut self, ready: Ready, opening: &mut OpenPhase, clock: Clock) {
        let conn = ready.conn;
        if opening.pending[conn].is_some() {
            match self.advance(conn, clock) {
                Ok((Opening::Pending, _)) => return self.read_later_if_more(ready),
                Ok((Opening::Done, _)) => {
                    self.core.opened_early(conn);
                    opening.succeeded(conn);
                }
                Err((failure, now)) => {
                    self.core.lost_early(conn, &mut self.sockets);
                    return opening.failed(conn, failure, now);
                }
            }
        }
        if ready.flags.intersects(CLOSING) {
            self.core.lost_early(conn, &mut self.sockets);
            opening.lost(conn, end_of(ready.flags), clock.now_ns());
        }
    }

    /// Connections that were closed while the others opened, or the start was awaited, are to be opened again: a request on
    /// one of them would fail.
    fn forget_lost(&mut self) -> std::io::Result<()> {
        // An event each: peers that send on and on must not hold up the start.
        let mut left = self.beforehand;
        while left > 0 {
            let ready = self.sockets.wait(0)?;
            if ready == 0 {
                break;
            }
            left = left.saturating_sub(ready);
            for i in 0..ready {
                if let Some(event) = self.sockets.event(i).filter(|event| event.flags.intersects(CLOSING)) {
                    self.core.lost_at_start(event.conn, end_of(event.flags), &mut self.sockets);
                }
            }
        }
        Ok(())
    }
}

/// How the peer has ended a connection.
const fn end_of(flags: EventFlags) -> FailureKind {
    if flags.contains(EventFlags::ERR) { FailureKind::Reset } else { FailureKind::Closed }
}

/// Bookkeeping of the connections that are opened before the clock starts.
struct OpenPhase {
    /// Connections to open, with the earliest instant for it.
    waiting: Vec<(usize, u64)>,
    tries: Vec<u32>,
    /// Deadline of each connection that is being opened.
    pending: Vec<Option<u64>>,
    in_flight: usize,
    established: u32,
    /// By how much that has changed since it was asked for last.
    change: i32,
    /// Why the last one failed that did.
    failure: Option<Failure>,
    /// All that did.
    fruitless: Fruitless,
}

impl OpenPhase {
    fn new(connections: usize) -> Self {
        Self {
            waiting: (0..connections).rev().map(|conn| (conn, 0)).collect(),
            tries: vec![0; connections],
            pending: vec![None; connections],
            in_flight: 0,
            established: 0,
            change: 0,
            failure: None,
            fruitless: Fruitless::default(),
        }
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.in_flight == 0
    }

    /// The next connection to open now.
    fn next(&mut self, now: u64) -> Option<usize> {
        if self.in_flight >= OPENING_AT_ONCE {
            return None;
        }
        let at = self.waiting.iter().rposition(|&(_, from_ns)| from_ns <= now)?;
        let (conn, _) = self.waiting.swap_remove(at);
        self.in_flight += 1;
        Some(conn)
    }

    fn succeeded(&mut self, conn: usize) {
        self.pending[conn] = None;
        self.in_flight -= 1;
        self.established += 1;
        self.change += 1;
    }

    /// By how many connections more, or fewer, are open than when this was asked last.
    fn take_change(&mut self) -> i32 {
        std::mem::take(&mut self.change)
    }

    fn failed(&mut self, conn: usize, failure: Failure, now: u64) {
        self.pending[conn] = None;
        self.in_flight -= 1;
        self.try_again(conn, failure, now);
    }

    /// A connection that was open has ended again, as `kind` tells.
    fn lost(&mut self, conn: usize, kind: FailureKind, now: u64) {
        self.established -= 1;
        self.change -= 1;
        self.try_again(conn, Failure::new(FailurePhase::Connect, kind), now);
    }

    fn try_again(&mut self, conn: usize, failure: Failure, now: u64) {
        self.failure = Some(failure);
        self.fruitless.count(failure);
        self.tries[conn] += 1;
        if self.tries[conn] < OPEN_TRIES {
            self.waiting.push((conn, now + OPEN_PAUSE_NS));
        }
    }

    fn overdue(&self, now: u64) -> Vec<usize> {
        (0..self.pending.len()).filter(|&conn| self.pending[conn].is_some_and(|at| at <= now)).collect()
    }
}

/// Pins the thread and asks for exact timers. Both make a run better and neither is needed for a right one.
fn prepare_thread(cpu: Option<u32>) {
    if let Some(cpu) = cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu as usize);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests;
