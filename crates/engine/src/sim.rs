//! The virtual-time rig: one worker core against a modelled server, no socket, no clock, no sleep.
//!
//! Time jumps to whatever is next, the core's own deadline or a response that is due. So a stall of 200 ms
//! lasts exactly 200 ms, and the tool's figures can be held against arithmetic.

mod ends;
mod tests;

use crate::core::{Core, Job, Pace};
use crate::marks::SliceMarks;
use crate::merge::Merge;
use crate::schedule::{Schedule, Share};
use crate::source::{Scratch, Source, Style};
use crate::transport::{Opening, Transport};
use crate::window::Window;
use model::{
    Arrivals, Cohort, Contract, FailureKind, Flow, Histograms, MergedHistogram, NS_PER_S, Numbering, Phase, Protocol,
    Request, Tick,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const GOOD_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
/// Of the right size, with another text.
const WRONG: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";
/// A simulation that does not end is a bug; this many steps are far beyond every test.
const STEPS_MAX: u64 = 50_000_000;

/// What a modelled server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// A good response at this instant.
    At(u64),
    /// The same in two pieces: the head at the one instant, and the body at the other.
    InPieces(u64, u64),
    /// The same with another body of the same size.
    WrongAt(u64),
    /// The same, and the connection closes.
    AtThenClose(u64),
    /// The connection closes at this instant without a response.
    CloseAt(u64),
    /// Nothing, ever.
    Never,
}

/// When a request that arrives at an instant is answered.
type Server = Box<dyn FnMut(u64) -> Answer>;

/// What comes back on a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Good,
    Head,
    Body,
    Wrong,
    GoodThenClose,
    Eof,
    /// A good response of FastCGI to the request of this identifier.
    Record(u8),
    /// The end of that request, which was given up.
    Aborted(u8),
}

/// Instant, running number, connection, its generation, and what comes.
type Delivery = (u64, u64, usize, u32, Due);

/// The modelled network: connections open at once, requests arrive at once.
struct Net {
    now: u64,
    /// The one request of the source.
    request: Vec<u8>,
    server: Server,
    accepts: bool,
    /// The server closes a connection so long after it was opened, if it does; ns.
    closes_after_ns: Option<u64>,
    generations: Vec<u32>,
    on_its_way: BinaryHeap<Reverse<Delivery>>,
    scheduled: u64,
    arrivals: Vec<u64>,
    connects: u64,
    sends: u64,
    protocol: Protocol,
    /// Requests that were told to be given up.
    aborts: u64,
}

impl Net {
    /// What comes of the records of FastCGI.
    fn take_records(&mut self, conn: usize, mut bytes: &[u8]) {
        const BEGIN_REQUEST: u8 = 1;
        const ABORT_REQUEST: u8 = 2;
        while let Some((&[_, kind, _, id, high, low, ..], rest)) = bytes.split_first_chunk::<8>() {
            bytes = &rest[usize::from(u16::from_be_bytes([high, low]))..];
            if kind == ABORT_REQUEST {
                self.aborts += 1;
                self.schedule(self.now, conn, Due::Aborted(id));
            } else if kind == BEGIN_REQUEST {
                self.arrivals.push(self.now);
                match (self.server)(self.now) {
                    Answer::At(at) => self.schedule(at, conn, Due::Record(id)),
                    Answer::Never => {}
                    other => panic!("FastCGI is not modelled with {other:?}"),
                }
            }
        }
    }

    fn schedule(&mut self, at: u64, conn: usize, due: Due) {
        self.scheduled += 1;
        self.on_its_way.push(Reverse((at, self.scheduled, conn, self.generations[conn], due)));
    }
}

impl Due {
    fn bytes(self) -> Option<Vec<u8>> {
        let end = |id| [1, 3, 0, id, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        match self {
            Self::Good => Some(GOOD.to_vec()),
            Self::Head => Some(GOOD[..GOOD.len() - 2].to_vec()),
            Self::Body => Some(GOOD[GOOD.len() - 2..].to_vec()),
            Self::Wrong => Some(WRONG.to_vec()),
            Self::GoodThenClose => Some(GOOD_CLOSE.to_vec()),
            Self::Eof => None,
            Self::Record(id) => Some([&[1, 6, 0, id, 0, 8, 0, 0][..], b"A: b\n\nok", &end(id)].concat()),
            Self::Aborted(id) => Some(end(id).to_vec()),
        }
    }
}

impl Net {
    /// Appends the responses that come in the same read.
    fn read_on(&mut self, read: (u64, usize, u32), bytes: &mut Vec<u8>) {
        while let Some(&Reverse((at, _, conn, generation, due))) = self.on_its_way.peek() {
            let Some(response) = due.bytes().filter(|_| (at, conn, generation) == read) else { return };
            bytes.extend_from_slice(&response);
            self.on_its_way.pop();
        }
    }
}

impl Transport for Net {
    fn connect(&mut self, conn: usize) -> Result<Opening, FailureKind> {
        self.connects += 1;
        if let Some(after_ns) = self.closes_after_ns {
            self.schedule(self.now + after_ns, conn, Due::Eof);
        }
        if self.accepts { Ok(Opening::Done) } else { Err(FailureKind::Refused) }
    }

    fn send(&mut self, conn: usize, bytes: &[u8]) -> Result<usize, FailureKind> {
        self.sends += 1;
        if self.protocol == Protocol::FastCgi {
            self.take_records(conn, bytes);
            return Ok(bytes.len());
        }
        for request in bytes.chunks(self.request.len()) {
            assert_eq!(request, self.request, "requests go out whole and unchanged");
            self.arrivals.push(self.now);
            match (self.server)(self.now) {
                Answer::At(at) => self.schedule(at, conn, Due::Good),
                Answer::InPieces(head, body) => {
                    self.schedule(head, conn, Due::Head);
                    self.schedule(body, conn, Due::Body);
                }
                Answer::WrongAt(at) => self.schedule(at, conn, Due::Wrong),
                Answer::AtThenClose(at) => self.schedule(at, conn, Due::GoodThenClose),
                Answer::CloseAt(at) => self.schedule(at, conn, Due::Eof),
                Answer::Never => {}
            }
        }
        Ok(bytes.len())
    }

    fn close(&mut self, conn: usize) {
        self.generations[conn] += 1;
    }
}

/// A load on a modelled server.
struct Sim {
    protocol: Protocol,
    connections: usize,
    /// Connections opened before the load begins; all without it.
    beforehand: Option<usize>,
    pipeline: usize,
    pace: Pace,
    window_ns: (u64, u64),
    quota: Option<u64>,
    warmup_quota: Option<u64>,
    keepalive: bool,
    timeout_ns: u64,
    slo_ns: Option<u64>,
    /// When the connections are opened, on a clock of its own.
    opened_ns: u64,
    accepts: bool,
    closes_after_ns: Option<u64>,
    contract: Contract,
    marks: Arc<SliceMarks>,
    /// By how much the window is prolonged, shortly before its end.
    prolonged_ns: Option<u64>,
    /// A window that is decided at its begin, while the core handles what comes at that instant.
    decided_ns: Option<(u64, u64)>,
    /// When the load is ended before its time, if it is.
    stopped_ns: Option<u64>,
}

/// Everything a simulated run has said.
#[derive(Default)]
struct Seen {
    /// Without their histograms, which are summed: those of a simulated day would take gigabytes.
    ticks: Vec<Tick>,
    flow: Flow,
    cohort: Cohort,
    latency: Histograms,
    /// Of these, what was in flight in disturbed time.
    set_aside: Histograms,
    arrivals: Vec<u64>,
    connects: u64,
    sends: u64,
    aborts: u64,
}

impl Sim {
    /// As fast as `connections` go, measured from the start for `seconds`.
    fn closed(connections: usize, seconds: u64) -> Self {
        Self {
            protocol: Protocol::Http1,
            connections,
            beforehand: None,
            pipeline: 1,
            pace: Pace::Closed,
            window_ns: (0, seconds * NS_PER_S),
            quota: None,
            warmup_quota: None,
            keepalive: true,
            timeout_ns: 5 * NS_PER_S,
            slo_ns: None,
            opened_ns: 0,
            accepts: true,
            closes_after_ns: None,
            contract: Contract { status: Some(200), ..Contract::default() },
            marks: Arc::default(),
            prolonged_ns: None,
            decided_ns: None,
            stopped_ns: None,
        }
    }

    /// At a rate, with at most `connections` in flight.
    fn open(arrivals: Arrivals, rate_per_s: f64, connections: usize, seconds: u64) -> Self {
        let cursor = Schedule::new(arrivals, rate_per_s, 11).cursor(Share { index: 0, of: 1 });
        Self { pace: Pace::Open(cursor), ..Self::closed(connections, seconds) }
    }

    fn run(mut self, server: impl FnMut(u64) -> Answer + 'static) -> Seen {
        let window = Arc::new(Window::new(self.window_ns.0, self.window_ns.1));
        let shared = Arc::clone(&window);
        let source = source(self.contract, self.protocol, self.pipeline as u32);
        let request = source.bytes(0, 0, &mut Scratch::default()).to_vec();
        let job = Job {
            worker: 0,
            share: Share { index: 0, of: 1 },
            connections: self.connections,
            beforehand: self.beforehand.unwrap_or(self.connections),
            source: Arc::new(source),
            pipeline: self.pipeline,
            pace: self.pace,
            quota: self.quota,
            warmup_quota: self.warmup_quota,
            keepalive: self.keepalive,
            timeout_ns: self.timeout_ns,
            slo_ns: self.slo_ns,
        };
        let mut net = Net {
            now: 0,
            request,
            server: Box::new(server),
            accepts: true,
            closes_after_ns: self.closes_after_ns,
            generations: vec![0; self.connections],
            on_its_way: BinaryHeap::new(),
            scheduled: 0,
            arrivals: Vec::new(),
            connects: 0,
            sends: 0,
            protocol: self.protocol,
            aborts: 0,
        };
        let mut core = Core::new(job, window, Arc::clone(&self.marks));
        for conn in 0..self.beforehand.unwrap_or(self.connections) {
            core.open(conn, self.opened_ns, &mut net).expect("the modelled network opens at once");
        }
        net.accepts = self.accepts;
        core.start(0, &mut net);
        let seen = drive(&mut core, &mut net, |now| {
            let end_ns = self.window_ns.1;
            if let Some(by_ns) = self.prolonged_ns.take_if(|_| now + SHORTLY_NS >= end_ns) {
                shared.prolong(end_ns + by_ns);
            }
            if let Some((start_ns, end_ns)) = self.decided_ns.take_if(|(start_ns, _)| now >= *start_ns) {
                shared.decide(start_ns, end_ns);
            }
            if self.stopped_ns.is_some_and(|stopped_ns| now >= stopped_ns) {
                shared.stop();
            }
        });
        Seen { arrivals: net.arrivals, connects: net.connects, sends: net.sends, aborts: net.aborts, ..seen }
    }
}

/// One request without a body.
fn source(contract: Contract, protocol: Protocol, streams: u32) -> Source {
    let request = Request { contract, ..Request::get("/") };
    let style = Style { protocol, authority: "sim", keepalive: true, streams };
    Source::of(&[request], style, Numbering::default(), 1).expect("no template, no error")
}

/// How long before the end of a window it is prolonged.
const SHORTLY_NS: u64 = 100_000_000;

/// Jumps from instant to instant until the core has ended; `look` is told each.
fn drive(core: &mut Core, net: &mut Net, mut look: impl FnMut(u64)) -> Seen {
    let mut merge = Merge::new(1);
    let mut seen = Seen::default();
    for _ in 0..STEPS_MAX {
        while let Some(tick) = core.take_tick() {
            merge.add(&tick);
            core.recycle(tick);
            if let Some(merged) = merge.take() {
                seen.add(merged);
            }
        }
        if core.has_ended() {
            return seen;
        }
        let due = net.on_its_way.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        net.now = net.now.max(due.min(core.deadline_ns()));
        look(net.now);
        while let Some(&Reverse((at, _, conn, generation, due))) = net.on_its_way.peek() {
            if at > net.now {
                break;
            }
            net.on_its_way.pop();
            if net.generations[conn] != generation {
                continue;
            }
            let Some(response) = due.bytes() else {
                core.on_eof(conn, net.now, net);
                continue;
            };
            let mut bytes = response;
            net.read_on((at, conn, generation), &mut bytes);
            core.on_bytes(conn, &bytes, net.now, net);
        }
        core.turn(net.now, net);
    }
    panic!("the simulated load does not end");
}

impl Seen {
    fn add(&mut self, mut tick: Tick) {
        if tick.phase == Phase::Measure {
            self.flow.add(&tick.flow);
        }
        self.cohort.add(&tick.cohort);
        self.latency.add(&std::mem::take(&mut tick.histograms));
        self.set_aside.add(&std::mem::take(&mut tick.set_aside));
        self.ticks.push(tick);
    }
}

/// Answers at once, except that a whole second `k >= 1` begins with a stall of `length_ns`.
fn stalling(length_ns: u64) -> impl FnMut(u64) -> Answer {
    move |now| {
        let into = now % NS_PER_S;
        Answer::At(if now >= NS_PER_S && into < length_ns { now - into + length_ns } else { now })
    }
}

/// One worker with exponential service time that freezes for `freeze_ns` at the end of every `every_ns`.
fn freezing_queue(mean_service_ns: f64, freeze_ns: u64, every_ns: u64, seed: u64) -> impl FnMut(u64) -> Answer {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut free_at = 0_u64;
    move |now| {
        let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let mut work = (-uniform.ln() * mean_service_ns) as u64;
        let mut at = free_at.max(now);
        loop {
            let into = at % every_ns;
            let awake = every_ns - freeze_ns;
            if into >= awake {
                at += every_ns - into;
            } else if work <= awake - into {
                at += work;
                break;
            } else {
                work -= awake - into;
                at += every_ns - into;
            }
        }
        free_at = at;
        Answer::At(at)
    }
}

/// `workers` workers that each take `service_ns` for a request, behind an endless queue.
fn pool(workers: usize, service_ns: u64) -> impl FnMut(u64) -> Answer {
    let mut free_at = vec![0_u64; workers];
    move |now| {
        let next = free_at.iter_mut().min().expect("a pool has workers");
        *next = (*next).max(now) + service_ns;
        Answer::At(*next)
    }
}

/// Values from `ns` on.
fn at_least(histogram: &MergedHistogram, ns: u64) -> u64 {
    histogram.buckets().filter(|(value_ns, _)| *value_ns >= ns).map(|(_, n)| n).sum()
}
