//! The loop of one worker thread: its own epoll, its own connections, nothing shared but counters.

use std::hash::RandomState;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use wire::http1::{Length, RequestSink, ResponseHead, write_response_head};
use wire::tls::{RECORD_BYTES, ServerConfig};

use super::answer::{Answers, Asked, refuse, refuse_late, refuse_plain};
use super::connection::{Complete, Connection, HOST_MAX_BYTES, Incoming, Read, Sent};
use super::deadlines::{Due, Waits};
use super::guard::Guard;
use super::slab::Slab;
use super::stats::{WorkerStats, bump};
use super::timers::Timers;
use super::{Shared, timespec};
use clock::thread_cpu_ns;
use net::TlsStream;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Bytes read at once; one buffer a worker.
const INPUT_BYTES: usize = 16 * 1024;
/// Answers to pipelined requests are sent when there are this many bytes of them.
const OUT_BYTES: usize = 64 * 1024;
/// Reads and sends for one connection before the others have their turn.
const STEPS_PER_TURN: usize = 16;
/// How long a client that was refused may take to read why; ns.
const LINGER_NS: u64 = 500_000_000;
/// Steps of nothing between two looks at the CPU time used, which cost a system call: some hundred ns.
const BURN_STEPS: u32 = 500;
/// Token of the mailbox.
const MAIL: u64 = u64::MAX;
/// Token of the timer that says when to look for connections that have waited for too long. Not a timeout of the wait:
/// that would have to be set, and the clock read, for each.
const SWEEP: u64 = u64::MAX - 1;

pub(super) struct Worker {
    index: usize,
    shared: Arc<Shared>,
    epoll: OwnedFd,
    connections: Slab<Connection>,
    timers: Timers,
    answers: Answers,
    /// Connections that used up their turn.
    again: Vec<u64>,
    /// Goes off when it is time for a sweep.
    sweeps: OwnedFd,
    /// Connections that a sweep has found; empty in between.
    overdue: Vec<u64>,
    /// Newcomers that had been turned away at the last sweep.
    turned_away: u64,
    input: Box<[u8]>,
    /// For what is read before it is decrypted into `input`; empty without TLS.
    encrypted: Box<[u8]>,
    out: Vec<u8>,
}

/// What is to be done with a connection after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It waits for an edge or its timer.
    Wait,
    /// It waits for its client to take what is owed.
    Blocked,
    /// It could go on.
    Again,
    Close,
}

/// Counts, sums up and discards bodies; tells clients that ask for it to send theirs.
struct Bodies<'a> {
    stats: &'a WorkerStats,
    incoming: &'a mut Incoming,
    out: &'a mut Vec<u8>,
    guard: &'a Guard,
    keys: &'a RandomState,
}

impl RequestSink for Bodies<'_> {
    const HEADERS: bool = true;

    fn header(&mut self, name: &[u8], value: &[u8]) {
        match name.len() {
            4 if value.len() <= HOST_MAX_BYTES && name.eq_ignore_ascii_case(b"host") => {
                self.incoming.host.clear();
                self.incoming.host.push_str(str::from_utf8(value).unwrap_or_default());
            }
            6 if name.eq_ignore_ascii_case(b"origin") => self.incoming.site.origin(value),
            13 if name.eq_ignore_ascii_case(b"authorization") => {
                self.incoming.authorized = self.guard.is_shown(value, self.keys);
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                self.incoming.lengths += value.split(|byte| *byte == b',').count();
            }
            14 if name.eq_ignore_ascii_case(b"sec-fetch-site") => self.incoming.site.fetched(value),
            _ => {}
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        bump(&self.stats.body_bytes, bytes.len() as u64);
        self.incoming.crc32.update(bytes);
        self.incoming.in_body = true;
    }

    fn expect_continue(&mut self) {
        self.incoming.in_body = true;
        let head = ResponseHead { status: 100, content_type: "", length: Length::None, keepalive: true, headers: &[] };
        write_response_head(self.out, &head);
    }
}

impl Worker {
    pub(super) fn new(index: usize, shared: Arc<Shared>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, shared.mailboxes[index].handle(), EventData::new_u64(MAIL), EventFlags::IN)?;
        let sweeps = alarm(shared.config.deadlines.sweep_ns())?;
        epoll::add(&epoll, &sweeps, EventData::new_u64(SWEEP), EventFlags::IN)?;
        // A record may be held back until it is complete.
        let (input_bytes, encrypted_bytes) =
            if shared.tls.is_some() { (INPUT_BYTES + RECORD_BYTES, INPUT_BYTES) } else { (INPUT_BYTES, 0) };
        Ok(Self {
            index,
            epoll,
            connections: Slab::new(),
            timers: Timers::default(),
            answers: Answers::new(Arc::clone(&shared)),
            again: Vec::new(),
            sweeps,
            overdue: Vec::new(),
            turned_away: 0,
            input: vec![0; input_bytes].into_boxed_slice(),
            encrypted: vec![0; encrypted_bytes].into_boxed_slice(),
            out: Vec::with_capacity(2 * OUT_BYTES),
            shared,
        })
    }

    /// Serves until the server stops.
    pub(super) fn run(mut self) -> io::Result<()> {
        self.settle()?;
        let mut events = Vec::with_capacity(EVENTS);
        let mut again = Vec::new();
        while !self.shared.stopping() {
            events.clear();
            let timeout = self.wait_ns().map(timespec);
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.shared.pass_stall();
            self.fire_timers();
            std::mem::swap(&mut again, &mut self.again);
            let mut sweep = false;
            for event in &events {
                match event.data.u64() {
                    MAIL => self.adopt(),
                    SWEEP => sweep = true,
                    token => self.turn(token, event.flags),
                }
            }
            for token in again.drain(..) {
                self.resume(token);
            }
            if sweep {
                self.sweep();
            }
        }
        Ok(())
    }

    /// Pins the thread and makes its waits exact.
    fn settle(&self) -> io::Result<()> {
        let cpus = &self.shared.config.cpus;
        if !cpus.is_empty() {
            let mut set = CpuSet::new();
            set.set(cpus[self.index % cpus.len()] as usize);
            sched_setaffinity(None, &set)?;
        }
        Ok(set_current_timer_slack(NonZeroU64::new(1))?)
    }

    /// How long nothing will be due; none when nothing ever is.
    fn wait_ns(&self) -> Option<u64> {
        if !self.again.is_empty() {
            return Some(0);
        }
        self.timers.next_ns().map(|due_ns| due_ns.saturating_sub(self.shared.clock.now_ns()))
    }

    fn stats(&self) -> &WorkerStats {
        &self.shared.stats[self.index]
    }

    fn adopt(&mut self) {
        let mut sockets = Vec::new();
        self.shared.mailboxes[self.index].collect(&mut sockets);
        let now_ns = self.shared.clock.now_ns();
        for (socket, client) in sockets {
            let token = self.connections.reserve();
            let edges = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let tls = self.shared.tls.as_ref().map(accept).transpose();
            if let (Ok(tls), Ok(())) = (tls, epoll::add(&self.epoll, &socket, EventData::new_u64(token), edges)) {
                let mut connection = Box::new(Connection::new(socket, tls, client, now_ns));
                if let Some(tls) = &self.shared.config.tls {
                    let due_ns = now_ns + tls.handshake_ns;
                    self.set_timer(token, &mut connection, due_ns);
                }
                // The first edge comes at once, as a fresh socket can be written to.
                self.settle_fate(token, connection, Fate::Wait);
            } else {
                self.connections.forget(token);
                self.shared.clients.leave(client);
                self.stats().open.fetch_sub(1, Relaxed);
            }
        }
    }

    fn fire_timers(&mut self) {
        let Some(next_ns) = self.timers.next_ns() else { return };
        let now_ns = self.shared.clock.now_ns();
        if next_ns > now_ns {
            return;
        }
        while let Some(token) = self.timers.pop(now_ns) {
            let Some(mut connection) = self.connections.take(token) else { continue };
            (connection.due_ns, connection.active_ns) = (None, now_ns);
            connection.release();
            let unfinished = connection.is_handshaking();
            if unfinished {
                bump(&self.stats().timed_out, 1);
            }
            let over = connection.draining || unfinished;
            let fate = if over { Fate::Close } else { self.drive(token, &mut connection) };
            self.settle_fate(token, connection, fate);
        }
    }

    fn turn(&mut self, token: u64, flags: EventFlags) {
        let Some(mut connection) = self.connections.take(token) else { return };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            return self.settle_fate(token, connection, Fate::Close);
        }
        connection.half_closed |= flags.contains(EventFlags::RDHUP);
        connection.readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        let fate = self.drive(token, &mut connection);
        self.settle_fate(token, connection, fate);
    }

    fn resume(&mut self, token: u64) {
        let Some(mut connection) = self.connections.take(token) else { return };
        connection.queued = false;
        let fate = self.drive(token, &mut connection);
        self.settle_fate(token, connection, fate);
    }

    fn settle_fate(&mut self, token: u64, mut connection: Box<Connection>, fate: Fate) {
        match fate {
            Fate::Wait | Fate::Blocked => {
                let due = self.due(&mut connection, fate);
                self.connections.put(token, connection, due);
            }
            Fate::Again => {
                if !std::mem::replace(&mut connection.queued, true) {
                    self.again.push(token);
                }
                self.connections.put(token, connection, Due::NEVER);
            }
            Fate::Close => {
                if let Some(due_ns) = connection.due_ns {
                    self.timers.cancel(due_ns, token);
                }
                self.connections.forget(token);
                if connection.reset {
                    connection.reset_on_close();
                }
                self.shared.clients.leave(connection.client);
                // Closing the socket takes it out of the epoll set.
                drop(connection);
                self.stats().open.fetch_sub(1, Relaxed);
            }
        }
    }

    /// When a connection that waits has waited for long enough.
    #[inline]
    fn due(&self, connection: &mut Connection, fate: Fate) -> Due {
        let deadlines = &self.shared.config.deadlines;
        if fate != Fate::Blocked {
            return deadlines.due(connection.waits());
        }
        if connection.has_taken() {
            connection.active_ns = self.shared.clock.now_ns();
        }
        deadlines.due(Waits::Write { since_ns: connection.active_ns })
    }

    /// Ends the connections whose clients have kept the server waiting for too long. Coarse, so that a request costs no
    /// more for it than to note the time.
    fn sweep(&mut self) {
        // Read, the timer goes on; it is not when it was read already.
        let _ = rustix::io::read(&self.sweeps, &mut [0u8; 8]);
        let now_ns = self.shared.clock.now_ns();
        let turned_away = self.shared.turned_away.load(Relaxed);
        let crowded = std::mem::replace(&mut self.turned_away, turned_away) != turned_away;
        let mut overdue = std::mem::take(&mut self.overdue);
        overdue.extend(self.connections.overdue(now_ns, crowded));
        for token in overdue.drain(..) {
            let Some(mut connection) = self.connections.take(token) else { continue };
            // The worker may have burned CPU time or stalled since: what the client has done meanwhile counts.
            connection.readable = true;
            let mut fate = self.drive(token, &mut connection);
            let waits = matches!(fate, Fate::Wait | Fate::Blocked);
            if waits && self.due(&mut connection, fate).is_over(now_ns, crowded) {
                fate = self.give_up(token, &mut connection, fate);
            }
            self.settle_fate(token, connection, fate);
        }
        self.overdue = overdue;
    }

    /// Ends a connection that waits for its client. Who is in the middle of a request is told.
    fn give_up(&mut self, token: u64, connection: &mut Connection, fate: Fate) -> Fate {
        bump(&self.stats().timed_out, 1);
        if fate == Fate::Blocked {
            // The kernel would go on with what it holds for a client that takes nothing.
            connection.reset = true;
            return Fate::Close;
        }
        if !connection.is_in_request() {
            // Closed in good order where that can be said at once.
            let _ = connection.say_goodbye();
            return Fate::Close;
        }
        self.out.clear();
        refuse_late(&mut self.out);
        (connection.last, connection.linger) = (true, true);
        match connection.send(&self.out) {
            Sent::Gone => Fate::Close,
            Sent::All | Sent::Some | Sent::Blocked => self.drive(token, connection),
        }
    }

    /// Goes on with a connection as far as it gets in one turn: first what is owed, then what has come.
    fn drive(&mut self, token: u64, connection: &mut Connection) -> Fate {
        for _ in 0..STEPS_PER_TURN {
            self.shared.pass_stall();
            if let Some(due_ns) = connection.paused_until_ns()
                && due_ns > self.shared.clock.now_ns()
            {
                if connection.due_ns.is_none() {
                    self.set_timer(token, connection, due_ns);
                }
                return Fate::Wait;
            }
            match connection.send_owed(&mut self.answers.source) {
                Sent::All => {}
                Sent::Some => continue,
                Sent::Blocked => return Fate::Blocked,
                Sent::Gone => return Fate::Close,
            }
            if connection.held.is_some() {
                return if connection.dropped && connection.half_closed { Fate::Close } else { Fate::Wait };
            }
            if connection.last && !connection.draining {
                match connection.say_goodbye() {
                    Sent::Blocked => return Fate::Blocked,
                    Sent::Gone => return Fate::Close,
                    Sent::All | Sent::Some => {}
                }
                if !connection.linger || connection.reset {
                    return Fate::Close;
                }
                connection.drain();
                self.set_timer(token, connection, self.shared.clock.now_ns() + LINGER_NS);
            }
            if !connection.leftover.is_empty() {
                let input = std::mem::take(&mut connection.leftover);
                if self.serve(token, connection, &input) == Sent::Gone {
                    return Fate::Close;
                }
                continue;
            }
            if !connection.readable {
                return Fate::Wait;
            }
            let mut input = std::mem::take(&mut self.input);
            let fate = self.read_and_serve(token, connection, &mut input);
            self.input = input;
            if let Some(fate) = fate {
                return fate;
            }
        }
        Fate::Again
    }

    fn read_and_serve(&mut self, token: u64, connection: &mut Connection, input: &mut [u8]) -> Option<Fate> {
        let handshaking = connection.is_handshaking();
        let read = connection.read(input, &mut self.encrypted);
        if handshaking
            && !connection.is_handshaking()
            && let Some(due_ns) = connection.due_ns.take()
        {
            self.timers.cancel(due_ns, token);
        }
        match read {
            Read::Bytes(_) if connection.draining => None,
            Read::Bytes(got) => match self.serve(token, connection, &input[..got]) {
                Sent::Gone => Some(Fate::Close),
                // The usual end of a turn, without asking the kernel again.
                Sent::All if !connection.readable && connection.is_free() && connection.leftover.is_empty() => {
                    Some(Fate::Wait)
                }
                _ => None,
            },
            Read::Nothing => (!connection.readable).then_some(Fate::Wait),
            Read::NotTls | Read::BrokenTls if !connection.draining => {
                bump(&self.stats().malformed, 1);
                (connection.last, connection.linger) = (true, true);
                self.out.clear();
                if read == Read::NotTls {
                    refuse_plain(&mut self.out);
                }
                (connection.send(&self.out) == Sent::Gone).then_some(Fate::Close)
            }
            Read::End | Read::Gone | Read::NotTls | Read::BrokenTls => Some(Fate::Close),
        }
    }

    /// Answers the requests in `input`, which were read just now or left over, and sends the answers.
    fn serve(&mut self, token: u64, connection: &mut Connection, input: &[u8]) -> Sent {
        let now_ns = self.shared.clock.now_ns();
        connection.active_ns = now_ns;
        let mut burn_ns = 0;
        let mut at = 0;
        self.out.clear();
        while at < input.len() && connection.is_free() && self.out.len() < OUT_BYTES {
            let stats = &self.shared.stats[self.index];
            let (guard, keys) = (&self.shared.config.guard, &self.shared.keys);
            let sink = &mut Bodies { stats, incoming: &mut connection.incoming, out: &mut self.out, guard, keys };
            let received = connection.machine.receive(&input[at..], sink);
            let request = match received.and_then(|received| connection.incoming.unambiguous(received)) {
                Ok(received) => {
                    let taken = &input[at..at + received.consumed];
                    at += received.consumed;
                    let Some(request) = received.request else {
                        connection.incoming.begin(taken, now_ns);
                        break;
                    };
                    request
                }
                Err(error) => {
                    bump(&stats.malformed, 1);
                    refuse(error, &mut self.out);
                    (connection.last, connection.linger) = (true, true);
                    break;
                }
            };
            stats.arrival(now_ns);
            let begin = self.out.len();
            let Complete { crc32, authorized, is_foreign } = connection.incoming.complete();
            let (target, host) = (connection.machine.target(), connection.incoming.host.as_str());
            let asked = Asked { request, target, host, crc32, authorized, is_foreign, now_ns };
            let answer = self.answers.answer(&asked, &mut self.out);
            (connection.last, connection.reset, connection.dropped) = (!answer.keepalive, answer.reset, answer.dropped);
            if answer.burn_ns == 0 && answer.due_ns.is_none() {
                connection.body = answer.body;
                continue;
            }
            connection.held = Some((self.out.split_off(begin), answer.body));
            burn_ns = answer.burn_ns;
            if let Some(due_ns) = answer.due_ns {
                self.set_timer(token, connection, due_ns);
            }
        }
        if connection.last {
            connection.linger |= at < input.len();
        } else {
            connection.leftover.extend_from_slice(&input[at..]);
        }
        self.shared.pass_stall();
        let sent = if self.out.is_empty() { Sent::All } else { connection.send(&self.out) };
        if burn_ns == 0 {
            return sent;
        }
        self.burn(burn_ns);
        connection.active_ns = self.shared.clock.now_ns();
        if connection.due_ns.is_none() {
            connection.release();
        }
        if sent == Sent::All { Sent::Some } else { sent }
    }

    /// Keeps the thread busy until it has used this much CPU time, or the server stops.
    fn burn(&self, burn_ns: u64) {
        let until_ns = thread_cpu_ns() + burn_ns;
        while thread_cpu_ns() < until_ns && !self.shared.stopping() {
            for step in 0..BURN_STEPS {
                std::hint::black_box(step);
            }
        }
    }

    fn set_timer(&mut self, token: u64, connection: &mut Connection, due_ns: u64) {
        connection.due_ns = Some(due_ns);
        self.timers.add(due_ns, token);
    }
}

/// A timer that goes off again and again.
fn alarm(every_ns: u64) -> io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let every = timespec(every_ns);
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: every, it_value: every })?;
    Ok(timer)
}

fn accept(config: &ServerConfig) -> Result<TlsStream, wire::tls::TlsError> {
    wire::tls::Connection::accept(config).map(TlsStream::new)
}
