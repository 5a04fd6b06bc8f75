//! Carries out a plan: opens the connections, starts the load threads together, tells what happens.

use crate::core::{Job, Pace};
use crate::marks::SliceMarks;
use crate::merge::Merge;
use crate::opening::{OpeningBoard, Stall, StallWatch};
use crate::prolong::Prolonging;
use crate::recorder::WorkerTick;
use crate::schedule::{Schedule, Share};
use crate::source::{Source, TemplateError};
use crate::tls::{self, SetupError};
use crate::warmup::{self, Settled, Settling};
use crate::window::{UNDECIDED_NS, Window};
use crate::worker::{FromWorker, Setup, work};
use clock::{Clock, wall_clock};
use model::{Event, Failure, Fruitless, Load, Plan, Segment, Stop, Warmup, load_threads};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

/// How often the coordinator looks up when no thread has anything to say.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Between deciding on the window and its begin, so that every thread knows before it begins.
const DECISION_LEAD_NS: u64 = 60_000_000;

/// Why a plan could not be carried out.
#[derive(Debug, Error)]
pub enum RunError {
    /// The system gave no thread.
    #[error("cannot start load thread {thread}: {source}")]
    Spawn {
        /// Its number.
        thread: u32,
        /// Why.
        source: std::io::Error,
    },
    /// Not one connection could be opened.
    #[error("none of {requested} connections could be opened ({})", .failure.map_or_else(|| "stopped".into(), |f| f.to_string()))]
    NoConnection {
        /// Connections asked for.
        requested: u32,
        /// Why the last one failed.
        failure: Option<Failure>,
    },
    /// No encrypted connection can be made from this machine.
    #[error(transparent)]
    Tls(#[from] SetupError),
    /// A field of a template cannot be filled in.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A load thread ended with an error of the system.
    #[error("a load thread failed: {0}")]
    Worker(std::io::Error),
}

/// What acts on a load from outside while it runs.
#[derive(Debug, Default)]
pub struct Control {
    /// Ends the load early once it is set, as whoever runs it wants no more.
    pub stop: Arc<AtomicBool>,
    /// Ends the load early once it is set, as what it was to show is known; other loads may follow.
    pub enough: Arc<AtomicBool>,
    /// Which time is disturbed.
    pub marks: Arc<SliceMarks>,
    /// By how much the measured window may be prolonged at most when too much of it was disturbed; ns.
    pub prolong_max_ns: u64,
    /// The clock of the load, once it has started: for who looks on. Loads that share one start with the first of them.
    pub clock: Arc<OnceLock<Clock>>,
    /// Which part of a load it is that several processes share; none: the whole.
    pub segment: Option<Segment>,
    /// Which of several loads of this process it is, from 1, as the names of its threads say; 0: the only one.
    pub part: u32,
}

impl Control {
    fn is_ended_early(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.enough.load(Ordering::Relaxed)
    }
}

/// Carries out `plan` and handles every event to `sink`, in order. Returns when the load has ended; a set stop sign
/// ends it early, and what was measured until then has been told.
///
/// # Errors
/// If the load cannot be put on, or a thread breaks. Events told before stand.
pub fn run(plan: &Plan, control: &Control, sink: &mut dyn FnMut(Event)) -> Result<(), RunError> {
    sink(Event::Started { started: wall_clock(), plan: Box::new(plan.clone()) });
    let mut workers = Workers::spawn(plan, control)?;
    let outcome = workers.open(plan, control, sink).and_then(|()| workers.control_load(plan, control, sink));
    workers.shut_down();
    outcome
}

/// The load threads and the lines to them.
struct Workers {
    handles: Vec<WorkerHandle>,
    inbox: Receiver<FromWorker>,
    window: Arc<Window>,
    opening: Arc<OpeningBoard>,
    threads: Vec<JoinHandle<()>>,
}

/// The lines to one load thread.
struct WorkerHandle {
    start: Sender<Clock>,
    used_ticks: Sender<Box<WorkerTick>>,
    good: Arc<AtomicU64>,
}

impl Workers {
    fn spawn(plan: &Plan, control: &Control) -> Result<Self, RunError> {
        let window = Arc::new(first_window(plan));
        let source = Arc::new(Source::new(plan)?);
        let tls = plan.tls.as_ref().map(tls::config).transpose()?;
        let (out, inbox) = channel();
        let mut workers = Self { handles: Vec::new(), inbox, window, opening: Arc::default(), threads: Vec::new() };
        for thread in 0..plan.threads {
            let (start, start_inbox) = channel();
            let (used_ticks, used_inbox) = channel();
            let good = Arc::new(AtomicU64::new(0));
            let setup = Setup {
                job: job(plan, control.segment, thread, Arc::clone(&source)),
                address: plan.target.address.clone(),
                tls: tls.clone(),
                cpu: plan.cpus.get(thread as usize % plan.cpus.len().max(1)).copied(),
                open_timeout_ns: plan.timeout_ns,
                spin_ns: plan.spin_ns,
                window: Arc::clone(&workers.window),
                opening: Arc::clone(&workers.opening),
                marks: Arc::clone(&control.marks),
                progress: Arc::clone(&good),
                out: out.clone(),
                start: start_inbox,
                used_ticks: used_inbox,
            };
            let name = format!("{}{thread}", load_threads(control.part));
            let spawned = std::thread::Builder::new().name(name).spawn(move || work(setup));
            match spawned {
                Ok(handle) => workers.threads.push(handle),
                Err(source) => {
                    workers.shut_down();
                    return Err(RunError::Spawn { thread, source });
                }
            }
            workers.handles.push(WorkerHandle { start, used_ticks, good });
        }
        Ok(workers)
    }

    /// Waits until every thread has opened its connections, or no more come.
    fn open(&self, plan: &Plan, control: &Control, sink: &mut dyn FnMut(Event)) -> Result<(), RunError> {
        let clock = Clock::start();
        let requested = opened_beforehand(plan, control.segment);
        let (mut told, mut established, mut failure, mut tls) = (0, 0, None, None);
        let mut fruitless = Fruitless::default();
        let mut watch = StallWatch::new(plan.timeout_ns);
        while told < self.handles.len() {
            if control.stop.load(Ordering::Relaxed) {
                self.window.stop();
            }
            let now = clock.now_ns();
            let open = self.opening.established();
            match watch.look(open, now) {
                Stall::None => {}
                Stall::Halted => sink(Event::Opening { at_ns: now, requested, established: open }),
                Stall::Over => self.opening.give_up(),
            }
            match self.inbox.recv_timeout(LOOK_UP) {
                Ok(FromWorker::Opened { established: n, failure: why, fruitless: lost, tls: session }) => {
                    fruitless.add(&lost);
                    told += 1;
                    established += n;
                    failure = failure.or(why);
                    tls = tls.or(session);
                }
                Ok(FromWorker::Broken(error)) => return Err(RunError::Worker(error)),
                Ok(FromWorker::Tick(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if established == 0 {
            return Err(RunError::NoConnection { requested, failure });
        }
        sink(Event::Connected { requested, established, took_ns: clock.now_ns(), fruitless, tls });
        Ok(())
    }

    /// Starts the clock and tells what happens until the last thread has ended.
    fn control_load(&self, plan: &Plan, control: &Control, sink: &mut dyn FnMut(Event)) -> Result<(), RunError> {
        let clock = *control.clock.get_or_init(Clock::start);
        for handle in &self.handles {
            // A thread that is gone has said why.
            let _ = handle.start.send(clock);
        }
        let mut merge = Merge::new(self.handles.len());
        let mut phase = WindowController::new(plan);
        let mut prolonging = Prolonging::new(plan, &control.marks, control.prolong_max_ns);
        while !merge.is_over() {
            if control.is_ended_early() {
                self.window.stop();
            }
            let now = clock.now_ns();
            phase.look(plan, now, self, sink);
            if let Some(by_ns) = prolonging.look(now, &self.window) {
                sink(Event::Prolonged { at_ns: now, by_ns });
            }
            match self.inbox.recv_timeout(LOOK_UP) {
                Ok(FromWorker::Tick(tick)) => {
                    merge.add(&tick);
                    let worker = tick.worker;
                    // A thread that has ended wants no ticks back.
                    let _ = self.handles[worker].used_ticks.send(tick);
                    while let Some(tick) = merge.take() {
                        sink(Event::Tick(Box::new(tick)));
                    }
                }
                Ok(FromWorker::Broken(error)) => return Err(RunError::Worker(error)),
                Ok(FromWorker::Opened { .. }) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        sink(Event::Ended { at_ns: clock.now_ns(), interrupted: control.is_ended_early() });
        Ok(())
    }

    fn good_so_far(&self) -> u64 {
        self.handles.iter().map(|handle| handle.good.load(Ordering::Relaxed)).sum()
    }

    /// Ends all threads and waits for them.
    fn shut_down(&mut self) {
        self.window.stop();
        self.handles.clear();
        for thread in self.threads.drain(..) {
            // A panic of a load thread is a bug; its message has been printed, and it must not pass for a result.
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Decides on the measured window and tells when it begins.
struct WindowController {
    /// The window's begin once decided, and whether the series had settled.
    begin: Option<(u64, bool)>,
    told: bool,
    settling: Settling,
    next_sample_ns: u64,
}

impl WindowController {
    fn new(plan: &Plan) -> Self {
        let begin = match plan.warmup {
            Warmup::Fixed { duration_ns } => Some((duration_ns, true)),
            Warmup::Auto => None,
        };
        Self { begin, told: false, settling: Settling::default(), next_sample_ns: warmup::SAMPLE_NS }
    }

    fn look(&mut self, plan: &Plan, now: u64, workers: &Workers, sink: &mut dyn FnMut(Event)) {
        if self.begin.is_none() && now >= self.next_sample_ns {
            self.next_sample_ns += warmup::SAMPLE_NS;
            let settled = self.settling.sample(workers.good_so_far());
            if settled != Settled::NotYet {
                let begin_ns = now + DECISION_LEAD_NS;
                workers.window.decide(begin_ns, end_of(plan.stop, begin_ns));
                self.begin = Some((begin_ns, settled == Settled::Yes));
            }
        }
        if let Some((at_ns, settled)) = self.begin.filter(|(at_ns, _)| !self.told && now >= *at_ns) {
            self.told = true;
            sink(Event::Warmed { at_ns, settled });
        }
    }
}

fn first_window(plan: &Plan) -> Window {
    match plan.warmup {
        Warmup::Fixed { duration_ns } => Window::new(duration_ns, end_of(plan.stop, duration_ns)),
        Warmup::Auto => Window::new(UNDECIDED_NS, UNDECIDED_NS),
    }
}

const fn end_of(stop: Stop, begin_ns: u64) -> u64 {
    match stop.duration_ns() {
        Some(duration_ns) => begin_ns.saturating_add(duration_ns),
        None => UNDECIDED_NS,
    }
}

/// The share of load thread `thread`, whose number counts from the first of this process.
fn share_of(plan: &Plan, segment: Option<Segment>, thread: u32) -> Share {
    let Segment { first, of } = segment.unwrap_or(Segment { first: 0, of: plan.threads });
    Share { index: first + thread, of }
}

/// What load thread `thread` of this process has to do.
fn job(plan: &Plan, segment: Option<Segment>, thread: u32, source: Arc<Source>) -> Job {
    let share = share_of(plan, segment, thread);
    let connections = part_of(u64::from(plan.load.connections()), share);
    let pace = match plan.load {
        Load::Closed { .. } => Pace::Closed,
        Load::Open { rate_per_s, arrivals, .. } => {
            Pace::Open(Schedule::new(arrivals, rate_per_s, plan.seed).in_turns(plan.turns).cursor(share))
        }
    };
    let quota = match plan.stop {
        Stop::Duration { .. } => None,
        Stop::Count { requests } => Some(part_of(requests, share)),
    };
    // One that ends by itself has no end that those beyond it could wait for.
    let warmup_quota = match plan.warmup {
        Warmup::Fixed { .. } => plan.warmup_requests.map(|requests| part_of(requests, share)),
        Warmup::Auto => None,
    };
    Job {
        worker: thread as usize,
        share,
        connections: connections as usize,
        beforehand: beforehand(plan, connections) as usize,
        source,
        pipeline: plan.pipeline as usize,
        pace,
        quota,
        warmup_quota,
        keepalive: plan.keepalive,
        timeout_ns: plan.timeout_ns,
        slo_ns: plan.slo_ns,
    }
}

/// Connections of one thread that are opened before the clock starts. A closed loop uses all at once; an open one may need few
/// of those that it may have, and a server that holds few keeps users of one that has many waiting.
fn beforehand(plan: &Plan, connections: u64) -> u64 {
    match plan.load {
        Load::Closed { .. } => connections,
        Load::Open { .. } => connections.min(1),
    }
}

/// The same of all threads of this process.
fn opened_beforehand(plan: &Plan, segment: Option<Segment>) -> u32 {
    let shares = (0..plan.threads).map(|thread| share_of(plan, segment, thread));
    let all = shares.map(|share| beforehand(plan, part_of(u64::from(plan.load.connections()), share)));
    all.sum::<u64>() as u32
}

/// This share's part of `whole`; the parts of all shares add up to it.
const fn part_of(whole: u64, share: Share) -> u64 {
    let of = share.of as u64;
    whole / of + if (share.index as u64) < whole % of { 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 connections of `-R 200` kept all but four from a server with four workers, and most requests had no answer.
    #[test]
    fn an_open_loop_begins_with_one_connection_of_each_thread() {
        let target = model::Target::at("127.0.0.1:80".parse().expect("an address"));
        let stop = Stop::Duration { duration_ns: 1 };
        let open = |connections, threads| {
            let load = Load::Open { rate_per_s: 200.0, arrivals: model::Arrivals::Poisson, connections };
            opened_beforehand(&Plan { threads, ..Plan::new(target.clone(), load, stop) }, None)
        };
        assert_eq!([open(256, 1), open(256, 2), open(1, 2)], [1, 2, 1]);
        let closed = Plan::new(target.clone(), Load::Closed { connections: 64 }, stop);
        assert_eq!(opened_beforehand(&closed, None), 64);
        let of_parts = [0, 1].map(|first| opened_beforehand(&closed, Some(Segment { first, of: 3 })));
        assert_eq!(of_parts, [22, 21], "the third has the rest");
    }

    #[test]
    fn parts_add_up_whatever_the_thread_count() {
        for whole in [0, 1, 7, 64, 10_000] {
            for of in 1..9 {
                let sum: u64 = (0..of).map(|index| part_of(whole, Share { index, of })).sum();
                assert_eq!(sum, whole);
            }
        }
    }
}
