//! An agent: orders come on a stream, what happens goes back on it, and the load is the engine's; one on the server's machine puts
//! no load on, and observes (`observing`) or starts a server (`serving`).
//!
//! It ends with its stream, and when its coordinator is silent: the process is left to end, and its load with it.

use crate::agent_side::gate::{Gate, Passed};
use crate::agent_side::observing::{self, OwnMachine, Wanted};
use crate::agent_side::serving::{self, Serving};
use crate::agents::bandwidth::{client, server};
use crate::environment::usable_cpus;
use crate::exit::CommandError;
use agent::bandwidth::{ProbeMessage, ServeProbe};
use agent::{Agent, Order, Report};
use clock::{Clock, monotonic_ns};
use engine::run::{Control, RunError};
use model::{Event, Plan, Segment};
use std::io::{ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;

/// Something for the thread that owns the protocol.
enum Input {
    /// With the instant at which they were read; ns.
    Bytes(Vec<u8>, u64),
    /// Nobody is there any more; why, if that is not how it should be.
    Closed(Option<String>),
    /// What was to be written is.
    Written,
    Report(Report),
}

/// A load that is carried out.
struct Load {
    gate: Arc<Gate>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Load {
    /// Ends it, sooner or later.
    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.gate.give_up();
    }
}

/// Loads of this agent, one after the other.
#[derive(Default)]
struct Loads {
    /// That of now.
    now: Option<Load>,
    /// The thread of the last that was forgotten, which may still close its connections.
    before: Option<JoinHandle<()>>,
    /// What observes the server, once it was asked for.
    observation: Option<Sender<Wanted>>,
    /// Ends the probe of the bandwidth that was begun last.
    end_probe: Arc<AtomicBool>,
    /// What starts a server, once it was asked for, and ends it.
    serving: Option<Serving>,
}

/// Serves the coordinator at the other end of a stream until it is gone. `begin` is that of the protocol's machine, which says
/// what it may be asked for.
pub(crate) fn serve(
    from: impl Read + Send + 'static,
    into: impl Write + Send + 'static,
    begin: impl FnOnce(u64) -> Agent,
) -> Result<(), CommandError> {
    let (to, inbox) = channel();
    let wrong = |error: std::io::Error| CommandError::usage(format!("cannot start a thread: {error}"));
    let (reader, writer) = (to.clone(), to.clone());
    let (out, output) = channel();
    Builder::new().name("agent-in".into()).spawn(move || read(from, &reader)).map_err(wrong)?;
    Builder::new().name("agent-out".into()).spawn(move || write(into, &output, &writer)).map_err(wrong)?;
    let mut agent = begin(monotonic_ns());
    obey(&mut agent, &to, &inbox, &out).map_err(|why| CommandError::usage(format!("agent: {why}")))
}

/// Until the stream ends, which is how it should be, or the coordinator breaks the protocol or is silent.
fn obey(agent: &mut Agent, to: &Sender<Input>, inbox: &Receiver<Input>, out: &Sender<Vec<u8>>) -> Result<(), String> {
    let (mut loads, mut is_writing) = (Loads::default(), false);
    loop {
        if !is_writing {
            let bytes = agent.take_output();
            is_writing = !bytes.is_empty();
            if is_writing && out.send(bytes).is_err() {
                return Ok(());
            }
        }
        let wait_ns = agent.deadline_ns().saturating_sub(monotonic_ns());
        match inbox.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(Input::Bytes(bytes, received_ns)) => {
                agent.on_bytes(&bytes, received_ns, monotonic_ns()).map_err(|gone| gone.to_string())?;
            }
            Ok(Input::Closed(Some(why))) => return Err(why),
            Ok(Input::Closed(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(Input::Written) => is_writing = false,
            Ok(Input::Report(report)) => agent.on_report(report, monotonic_ns()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        agent.on_time(monotonic_ns()).map_err(|gone| gone.to_string())?;
        while let Some(order) = agent.take_order() {
            loads.carry_out(order, to);
        }
    }
}

impl Loads {
    fn carry_out(&mut self, order: Order, to: &Sender<Input>) {
        match order {
            Order::Load { plan, segment } => match begin(*plan, segment, self.before.take(), to.clone()) {
                Ok(begun) => self.now = Some(begun),
                Err(why) => drop(to.send(Input::Report(Report::Failed { is_target: false, why }))),
            },
            Order::StartAt { attempt, at_ns } => self.now.iter().for_each(|load| load.gate.open_at(attempt, at_ns)),
            Order::Disarm => self.now.iter().for_each(|load| load.gate.shut()),
            Order::Stop => self.now.iter().for_each(Load::end),
            Order::Observe(whom) => self.observe(Wanted::Observe(whom), to),
            Order::BeginSamples => self.observe(Wanted::Begin, to),
            Order::Sample { phase } => self.observe(Wanted::Sample(phase), to),
            Order::ServeProbe(probe) => self.probe(to, move |stop, to| served(&probe, stop, to)),
            Order::Probe(part) => self.probe(to, move |stop, _| probed(&part, stop)),
            Order::StartServer(server) => self.serve(serving::Wanted::Start(server), to),
            Order::RestartServer => self.serve(serving::Wanted::Restart, to),
            Order::CheckServer => self.serve(serving::Wanted::Check, to),
            Order::Done => {
                self.end_probe.store(true, Ordering::Relaxed);
                if self.observation.is_some() {
                    self.observe(Wanted::Done, to);
                }
                if let Some(load) = self.now.take() {
                    load.end();
                    self.before = Some(load.thread);
                }
            }
        }
    }
}

impl Loads {
    /// Hands it to the thread that observes, which is started for the first.
    fn observe(&mut self, wanted: Wanted, to: &Sender<Input>) {
        if self.observation.is_none() {
            let reports = to.clone();
            // The protocol ends with the process.
            let report = move |report| drop(reports.send(Input::Report(report)));
            match observing::start(report) {
                Ok(started) => self.observation = Some(started),
                Err(error) => {
                    let why = format!("cannot start a thread: {error}");
                    return drop(to.send(Input::Report(Report::Failed { is_target: false, why })));
                }
            }
        }
        if let Some(observation) = &self.observation {
            // A thread that has panicked has said so, and nothing comes of it any more.
            let _ = observation.send(wanted);
        }
    }
}

impl Loads {
    /// Hands it to the thread of the server, which is started for the first.
    fn serve(&mut self, wanted: serving::Wanted, to: &Sender<Input>) {
        if self.serving.is_none() {
            let reports = to.clone();
            // The protocol ends with the process.
            match Serving::new(move |report| drop(reports.send(Input::Report(report)))) {
                Ok(started) => self.serving = Some(started),
                Err(error) => {
                    let why = format!("cannot start a thread: {error}");
                    return drop(to.send(Input::Report(Report::Failed { is_target: false, why })));
                }
            }
        }
        if let Some(serving) = &self.serving {
            serving.want(wanted);
        }
    }
}

impl Loads {
    /// Has `work` done on a thread of its own, so that heartbeats go on, and tells what came of it.
    fn probe(&mut self, to: &Sender<Input>, work: impl FnOnce(&AtomicBool, &Sender<Input>) -> Report + Send + 'static) {
        let (stop, reports) = (Arc::new(AtomicBool::new(false)), to.clone());
        self.end_probe = Arc::clone(&stop);
        // The protocol ends with the process.
        let work = move || drop(reports.send(Input::Report(work(&stop, &reports))));
        if let Err(error) = Builder::new().name("bandwidth".into()).spawn(work) {
            let why = format!("cannot start a thread: {error}");
            let _ = to.send(Input::Report(Report::NotProbed { why }));
        }
    }
}

fn served(probe: &ServeProbe, stop: &AtomicBool, to: &Sender<Input>) -> Report {
    let listening = |port| drop(to.send(Input::Report(Report::ServingProbe { port })));
    match server::serve(probe, stop, listening) {
        Ok(served) => Report::ProbeServed(Box::new(served)),
        Err(why) => Report::NotProbed { why },
    }
}

fn probed(part: &ProbeMessage, stop: &AtomicBool) -> Report {
    match client::probe(part, stop) {
        Ok(probed) => Report::Probed(Box::new(probed)),
        Err(why) => Report::NotProbed { why },
    }
}

/// Starts the thread of a load, which waits for that of the load before it: no connection of the one is left when the other
/// opens its own.
fn begin(plan: Plan, segment: Segment, before: Option<JoinHandle<()>>, to: Sender<Input>) -> Result<Load, String> {
    let (gate, stop) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let control = Control { stop: Arc::clone(&stop), segment: Some(segment), ..Control::default() };
    let at_gate = Arc::clone(&gate);
    let work = move || {
        // A load that panicked has ended too.
        before.into_iter().for_each(|before| drop(before.join()));
        if let Err((is_target, why)) = put_on(&plan, segment, &control, &at_gate, &to) {
            let _ = to.send(Input::Report(Report::Failed { is_target, why }));
        }
    };
    let thread =
        Builder::new().name("load".into()).spawn(work).map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(Load { gate, stop, thread })
}

/// Puts the load on, and tells whether it is the target that does not let it.
fn put_on(
    plan: &Plan,
    segment: Segment,
    control: &Control,
    gate: &Gate,
    to: &Sender<Input>,
) -> Result<(), (bool, String)> {
    let usable = usable_cpus();
    if let Some(cpu) = plan.cpus.iter().find(|cpu| !usable.contains(cpu)) {
        return Err((false, format!("CPU {cpu}: it may use the CPUs {usable:?} only")));
    }
    let connections = (plan.load.connections() / segment.of + 1).saturating_mul(plan.threads);
    engine::limits::open_files(connections, plan.threads).map_err(|error| (false, error.to_string()))?;
    if plan.target.address.tcp().is_some() {
        engine::limits::ports(connections).map_err(|error| (false, error.to_string()))?;
    }
    let mut machine = OwnMachine::new(&plan.target.address);
    let mut sink = |event: Event| {
        // Samples are of the seconds of the load, and follow them.
        let phase = if let Event::Tick(tick) = &event { Some(tick.phase) } else { None };
        let report = told(event, control, gate);
        if matches!(report, Some(Report::Started { .. })) {
            machine.begin(control);
        }
        let sample = phase.and_then(|phase| machine.sample(control, phase));
        // The protocol ends with the process.
        report.into_iter().chain(sample).for_each(|report| drop(to.send(Input::Report(report))));
    };
    let mut ready = |event| match event {
        Event::Connected { requested, established, took_ns, fruitless, tls } => {
            let report = Report::Ready { requested, established, took_ns, fruitless, tls };
            let _ = to.send(Input::Report(report));
            sink(Event::Connected { requested, established, took_ns, fruitless, tls: None });
        }
        event => sink(event),
    };
    whole(|sink| engine::run::run(plan, control, sink), &mut ready)
}

/// Tells the events of a load that `run` carries out. Its end is told once all is well: a load thread that panics is noticed
/// last, and what it has left out must not pass for a whole result.
fn whole(
    run: impl FnOnce(&mut dyn FnMut(Event)) -> Result<(), RunError>,
    tell: &mut dyn FnMut(Event),
) -> Result<(), (bool, String)> {
    let mut ended = None;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run(&mut |event: Event| match event {
            Event::Ended { .. } => ended = Some(event),
            event => tell(event),
        })
    }));
    match outcome {
        Ok(Ok(())) => {
            ended.into_iter().for_each(tell);
            Ok(())
        }
        Ok(Err(error)) => Err((matches!(error, RunError::NoConnection { .. }), error.to_string())),
        Err(_) => Err((
            false,
            "its load has panicked, which is a fault of plimsoll: see what the agent has printed".to_owned(),
        )),
    }
}

/// What is to be said of an event. Once the connections are open it waits for the start.
fn told(event: Event, control: &Control, gate: &Gate) -> Option<Report> {
    match event {
        Event::Connected { .. } => {
            let Some(Passed { attempt, at_ns, late_ns }) = gate.pass() else {
                control.stop.store(true, Ordering::Relaxed);
                return None;
            };
            // Nobody else has set it.
            let _ = control.clock.set(Clock::started_at(at_ns));
            Some(Report::Started { attempt, late_ns })
        }
        Event::Warmed { at_ns, .. } => Some(Report::Warmed { at_ns }),
        Event::Tick(tick) => Some(Report::Tick(tick)),
        Event::Ended { at_ns, interrupted } => Some(Report::Ended { at_ns, interrupted }),
        _ => None,
    }
}

fn read(mut from: impl Read, to: &Sender<Input>) {
    let mut buffer = vec![0; READ_BYTES];
    let why = loop {
        match from.read(&mut buffer) {
            Ok(0) => break None,
            Ok(n) => {
                if to.send(Input::Bytes(buffer[..n].to_vec(), monotonic_ns())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Some(error.to_string()),
        }
    };
    let _ = to.send(Input::Closed(why));
}

fn write(mut into: impl Write, output: &Receiver<Vec<u8>>, to: &Sender<Input>) {
    for bytes in output {
        if let Err(error) = into.write_all(&bytes).and_then(|()| into.flush()) {
            let _ = to.send(Input::Closed(Some(format!("cannot write to the coordinator: {error}"))));
            return;
        }
        let _ = to.send(Input::Written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many events of a load are told, and what comes of it.
    fn told(run: impl FnOnce(&mut dyn FnMut(Event)) -> Result<(), RunError>) -> (usize, Result<(), (bool, String)>) {
        let mut told = 0;
        let outcome = whole(run, &mut |_| told += 1);
        (told, outcome)
    }

    const WARMED: Event = Event::Warmed { at_ns: 1, settled: true };
    const ENDED: Event = Event::Ended { at_ns: 2, interrupted: false };

    #[test]
    fn a_load_thread_that_has_panicked_is_no_whole_result() {
        let (told_of_panic, outcome) = told(|sink| {
            [WARMED, ENDED].into_iter().for_each(sink);
            panic!("on purpose: as engine::run::run does when it joins a thread that has panicked");
        });
        assert_eq!(told_of_panic, 1, "not that it has ended");
        assert!(outcome.is_err_and(|(is_target, why)| !is_target && why.contains("panicked")));
        let (told_of_error, outcome) = told(|sink| {
            sink(WARMED);
            Err(RunError::NoConnection { requested: 1, failure: None })
        });
        assert!(told_of_error == 1 && outcome.is_err_and(|(is_target, _)| is_target));
        let all = told(|sink| {
            [WARMED, ENDED].into_iter().for_each(sink);
            Ok(())
        });
        assert_eq!(all, (2, Ok(())));
    }
}
