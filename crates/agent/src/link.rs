//! The coordinator's end of one stream: what one agent has said.

use crate::bandwidth::{ProbeServed, Probed};
use crate::checked;
use crate::error::FleetError;
use crate::frame::{self, Decoder, FrameError, OF_AGENT_MAX, OF_COORDINATOR_MAX, PREAMBLE};
use crate::limits::{HEARTBEAT_NS, HELLO_NS, LATE_NS, LOST_NS};
use crate::merge::source;
use crate::message::{Hello, ObservedHost, OfAgent, OfCoordinator, ServerRuns, TickMessage};
use crate::segment::Part;
use crate::sync::{Offset, Recent, RoundTrip, Sync};
use crate::totals::Totals;
use model::{AgentEnd, AgentLoss, AgentStart, Fruitless, MergedHistogram, NS_PER_S, Sample, Tick, TlsSession};
use std::collections::VecDeque;

/// Pings whose answers are still awaited; older ones came too late to say anything.
const PINGS_MAX: usize = 16;
/// Ticks beyond one a second: ends of phases, and the begin.
const TICKS_SPARE: u64 = 16;

/// Largest offset that is told: two years; ns.
const TOLD_MAX_NS: i64 = 1 << 56;

/// How far an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its stream is not there yet.
    Away,
    /// It has not said hello.
    Greeting,
    /// It has nothing to do.
    Idle,
    /// It opens its connections.
    Opening,
    /// They are open.
    Ready,
    /// It will start, or has started.
    Armed,
    /// Its totals have come.
    Ended,
    /// It puts no load on: it observes.
    Observing,
    /// It puts no load on: it starts a server and keeps it.
    Serving,
    /// Nothing more comes.
    Lost,
}

/// What an agent has told once of its load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) requested: u32,
    pub(crate) established: u32,
    pub(crate) took_ns: u64,
    pub(crate) fruitless: Fruitless,
    pub(crate) tls: Option<TlsSession>,
    /// The order to start that it has confirmed.
    pub(crate) armed: Option<u32>,
    pub(crate) late_ns: Option<u64>,
    pub(crate) warmed_ns: Option<u64>,
    pub(crate) ended_ns: Option<u64>,
    pub(crate) interrupted: bool,
}

/// Something that the whole has to know of.
#[derive(Debug)]
pub(crate) enum Said {
    /// It is further than before.
    Progress,
    /// It answered a ping.
    Pong,
    Tick(Box<Tick>),
    /// It has found whom it observes.
    Observing(Box<ObservedHost>),
    /// By its own clock; ns.
    SamplesBegun(u64),
    Sample(Box<Sample>),
    Probe(ProbeSaid),
    /// A server that it has started answers.
    ServerRuns(Box<ServerRuns>),
    /// The load cannot be put on, or nobody be observed.
    Failed {
        is_target: bool,
        why: String,
    },
}

/// What an agent says of a probe; its figures are possible, and its texts may be shown.
#[derive(Debug)]
pub(crate) enum ProbeSaid {
    Serving { port: u16 },
    Served(ProbeServed),
    Probed(Probed),
    Failed { why: String },
}

/// One agent, as the coordinator sees it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) stage: Stage,
    pub(crate) hello: Hello,
    pub(crate) part: Option<Part>,
    pub(crate) told: Told,
    pub(crate) sync: Sync,
    /// The last round trips since the start.
    later: Recent,
    /// The same with the time, of one that was lost under a load.
    pub(crate) loss: Option<AgentLoss>,
    /// Why nothing more comes, of one that is lost.
    pub(crate) why: String,
    pub(crate) is_late: bool,
    /// True while an answer to a probe is awaited.
    pub(crate) is_probing: bool,
    /// True once it has said where it listens for that probe.
    is_serving: bool,
    decoder: Decoder,
    out: Vec<u8>,
    heard_ns: u64,
    pinged_ns: u64,
    pings: VecDeque<(u64, u64)>,
    next_ping: u64,
    totals: Totals,
    ticked_ns: u64,
    /// Samples of its machine in this load, and the end of the last; ns.
    samples: u64,
    sampled_ns: u64,
    response: MergedHistogram,
}

impl Link {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            stage: Stage::Away,
            hello: Hello::default(),
            part: None,
            told: Told::default(),
            sync: Sync::default(),
            later: Recent::default(),
            loss: None,
            why: String::new(),
            is_late: false,
            is_probing: false,
            is_serving: false,
            decoder: Decoder::new(OF_AGENT_MAX),
            out: Vec::new(),
            heard_ns: 0,
            pinged_ns: 0,
            pings: VecDeque::new(),
            next_ping: 0,
            totals: Totals::default(),
            ticked_ns: 0,
            samples: 0,
            sampled_ns: 0,
            response: MergedHistogram::default(),
        }
    }

    /// Its stream is there.
    pub(crate) fn attach(&mut self, now_ns: u64) {
        self.stage = Stage::Greeting;
        self.heard_ns = now_ns;
        self.out.extend_from_slice(PREAMBLE);
        self.ping(now_ns);
    }

    /// Nothing more comes of it; returns how far it was. The first reason stands.
    pub(crate) fn lose(&mut self, why: &str) -> Stage {
        if self.stage != Stage::Lost {
            why.clone_into(&mut self.why);
        }
        std::mem::replace(&mut self.stage, Stage::Lost)
    }

    /// The same as an error; none if it was lost before. One that has not said hello has never been there.
    pub(crate) fn lost(&mut self, why: &str) -> Option<FleetError> {
        let (name, why_told) = (self.name.clone(), why.to_owned());
        match self.lose(why) {
            Stage::Lost => None,
            Stage::Away | Stage::Greeting => Some(FleetError::Agent { name, why: why_told, is_target: false }),
            _ => Some(FleetError::Lost { name, why: why_told }),
        }
    }

    /// Nothing more is wanted of it, which does not do what it should.
    pub(crate) fn failed(&mut self, why: String, is_target: bool) -> FleetError {
        self.lose(&why);
        FleetError::Agent { name: self.name.clone(), why, is_target }
    }

    /// True if anything may come of it.
    pub(crate) const fn is_alive(&self) -> bool {
        !matches!(self.stage, Stage::Away | Stage::Lost)
    }

    pub(crate) fn push(&mut self, bytes: &[u8], received_ns: u64) {
        self.heard_ns = received_ns;
        self.is_late = false;
        self.decoder.push(bytes);
    }

    /// The next message; none until more has come. `elapsed_ns` is the time since the start of the load.
    pub(crate) fn next(&mut self, received_ns: u64, elapsed_ns: u64) -> Result<Option<Said>, String> {
        let message = match self.decoder.message() {
            Ok(None) => return Ok(None),
            Ok(Some(message)) => message,
            Err(FrameError::Preamble(line)) => return Err(FrameError::Preamble(checked::text(&line)).to_string()),
            Err(error) => return Err(format!("it sent {error}")),
        };
        let wrong = || "it sent a message that this version has not".to_owned();
        let parsed: OfAgent = serde_json::from_slice(message).map_err(|_| wrong())?;
        // Instants of its clock, which may run for longer than any measurement, are checked against those of here.
        let has_instants = matches!(parsed, OfAgent::Pong { .. } | OfAgent::SamplesBegun { .. });
        if !has_instants && !checked::is_plausible(message) {
            return Err("it sent numbers that no load has".into());
        }
        if matches!(parsed, OfAgent::Observing(_) | OfAgent::Sample(_) | OfAgent::ServerRuns(_))
            && !checked::is_bounded(message)
        {
            return Err("it sent more names than a machine has".into());
        }
        self.take(parsed, received_ns, elapsed_ns).map(Some)
    }

    fn take(&mut self, message: OfAgent, received_ns: u64, elapsed_ns: u64) -> Result<Said, String> {
        match (message, self.stage) {
            (OfAgent::Hello(hello), Stage::Greeting) => {
                self.hello = Hello { host: checked::text(&hello.host), ..hello };
                self.stage = Stage::Idle;
            }
            (OfAgent::Alive, _) => {}
            (OfAgent::Pong { number, received_ns: there_ns, sent_ns }, _) => {
                return self.on_pong(number, there_ns, sent_ns, received_ns);
            }
            (OfAgent::Ready { requested, established, took_ns, fruitless, mut tls }, Stage::Opening) => {
                // Names of versions and ciphers.
                if let Some(TlsSession { version, cipher, .. }) = &mut tls {
                    (*version, *cipher) = (checked::text(version), checked::text(cipher));
                }
                self.told = Told { requested, established, took_ns, fruitless, tls, ..Told::default() };
                self.stage = Stage::Ready;
            }
            (OfAgent::Armed { attempt, margin_ns }, Stage::Ready | Stage::Armed) => {
                self.told.armed = margin_ns.map(|_| attempt);
                self.stage = Stage::Armed;
            }
            (OfAgent::Started { attempt, late_ns }, Stage::Armed) if self.told.armed == Some(attempt) => {
                self.told.late_ns = Some(late_ns);
            }
            (OfAgent::Warmed { at_ns }, Stage::Armed) => self.told.warmed_ns = Some(at_ns),
            (OfAgent::Tick(tick), Stage::Armed) => return self.on_tick(*tick, elapsed_ns),
            (OfAgent::Ended { at_ns, interrupted, totals }, Stage::Armed) => {
                if *totals != self.totals {
                    return Err("its totals are not the sum of its ticks".into());
                }
                (self.told.ended_ns, self.told.interrupted) = (Some(at_ns), interrupted);
                self.stage = Stage::Ended;
            }
            (OfAgent::Observing(host), Stage::Observing) => return Ok(Said::Observing(host)),
            (OfAgent::SamplesBegun { at_ns }, Stage::Observing) => return Ok(Said::SamplesBegun(at_ns)),
            (OfAgent::Sample(sample), Stage::Observing) => return Ok(Said::Sample(sample)),
            (OfAgent::Sample(sample), Stage::Armed) => return self.on_sample(sample, elapsed_ns),
            (OfAgent::ServerRuns(runs), Stage::Serving) => {
                let warnings = runs.warnings.iter().map(|text| checked::text(text)).collect();
                return Ok(Said::ServerRuns(Box::new(ServerRuns { warnings, ..*runs })));
            }
            (
                message @ (OfAgent::ServingProbe { .. }
                | OfAgent::ProbeServed(_)
                | OfAgent::Probed(_)
                | OfAgent::NotProbed { .. }),
                stage,
            ) if stage != Stage::Greeting => return self.on_probe(message),
            // Of a load that was given up, on its way since.
            (message, Stage::Idle) if !matches!(message, OfAgent::Hello(_)) => {}
            (
                OfAgent::Failed { is_target, why },
                Stage::Opening | Stage::Ready | Stage::Armed | Stage::Observing | Stage::Serving,
            ) => {
                return Ok(Said::Failed { is_target, why: checked::text(&why) });
            }
            _ => return Err("it sent a message that has no place now".into()),
        }
        Ok(Said::Progress)
    }

    /// Of a probe that was given up nothing is wanted, on its way since.
    fn on_probe(&mut self, message: OfAgent) -> Result<Said, String> {
        if !self.is_probing {
            return Ok(Said::Progress);
        }
        let goes_on = matches!(message, OfAgent::ServingProbe { .. });
        if goes_on && std::mem::replace(&mut self.is_serving, true) {
            return Err("it sent a message that has no place now".into());
        }
        let said = match message {
            OfAgent::ServingProbe { port } => Some(ProbeSaid::Serving { port }),
            OfAgent::ProbeServed(served) => served.checked().map(ProbeSaid::Served),
            OfAgent::Probed(probed) => probed.checked().map(ProbeSaid::Probed),
            OfAgent::NotProbed { why } => Some(ProbeSaid::Failed { why: checked::text(&why) }),
            _ => None,
        };
        // One that is lost for this has no answer either, which is told then.
        let said = said.ok_or_else(|| "it sent figures of a probe that nobody can have measured".to_owned())?;
        self.is_probing = goes_on;
        Ok(Said::Probe(said))
    }

    fn on_pong(&mut self, number: u64, received_ns: u64, answered_ns: u64, back_ns: u64) -> Result<Said, String> {
        // An answer to an older ping says nothing that a newer one does not.
        let Some(at) = self.pings.iter().position(|(own, _)| *own == number) else { return Ok(Said::Progress) };
        let (_, sent_ns) = self.pings[at];
        self.pings.drain(..=at);
        let trip = RoundTrip { sent_ns, received_ns, answered_ns, back_ns };
        let is_possible = if self.told.late_ns.is_some() { self.later.add(trip) } else { self.sync.add(trip) };
        if is_possible { Ok(Said::Pong) } else { Err("its clock tells what no clock can".into()) }
    }

    fn on_tick(&mut self, message: TickMessage, elapsed_ns: u64) -> Result<Said, String> {
        let sequence = message.sequence;
        let tick = message.into_tick().ok_or("it sent histograms that cannot be read")?;
        let threads = self.part.map_or(0, |part| part.threads);
        checked::tick(&tick, threads, self.ticked_ns, elapsed_ns).map_err(|why| format!("it sent {why}"))?;
        if sequence != self.totals.ticks || sequence > elapsed_ns / NS_PER_S + TICKS_SPARE {
            return Err("it sent ticks that do not follow each other".into());
        }
        self.ticked_ns = tick.from_ns;
        if !self.totals.add(&tick) {
            return Err("it sent numbers that no load has".into());
        }
        self.response.add(&tick.histograms.response);
        Ok(Said::Tick(Box::new(tick)))
    }

    /// What it saw of its machine in a second of its load.
    fn on_sample(&mut self, sample: Box<Sample>, elapsed_ns: u64) -> Result<Said, String> {
        checked::sample(&sample, self.sampled_ns, elapsed_ns).map_err(|why| format!("it sent {why}"))?;
        self.samples += 1;
        if self.samples > self.totals.ticks {
            return Err("it sent more samples than ticks".into());
        }
        self.sampled_ns = sample.to_ns;
        Ok(Said::Sample(sample))
    }

    /// An answer to a probe is awaited from now on.
    pub(crate) fn probe(&mut self, order: &OfCoordinator) {
        self.is_serving = false;
        // Short.
        self.is_probing = self.say(order);
    }

    /// A probe is over: its answer is wanted no more.
    pub(crate) fn end_probe(&mut self) {
        self.is_probing = false;
        // Short.
        let _ = self.say(&OfCoordinator::Done);
    }

    /// A new load.
    pub(crate) fn begin(&mut self, part: Part) {
        self.is_probing = false;
        self.part = Some(part);
        self.stage = Stage::Opening;
        (self.told, self.totals, self.ticked_ns) = (Told::default(), Totals::default(), 0);
        (self.samples, self.sampled_ns) = (0, 0);
        (self.sync, self.later, self.response) = (Sync::default(), Recent::default(), MergedHistogram::default());
        self.pings.clear();
    }

    /// The server is to be observed, with clocks compared anew.
    pub(crate) fn observe(&mut self, now_ns: u64) {
        (self.stage, self.sync, self.is_probing) = (Stage::Observing, Sync::default(), false);
        self.pings.clear();
        self.ping(now_ns);
    }

    /// Why it is of no use, if it is of another build than `own`: its numbers may mean something else.
    pub(crate) fn other_build(&self, own: &Hello) -> Option<String> {
        let of = |hello: &Hello| {
            let build: String = hello.build.chars().take(12).collect();
            checked::text(&format!("plimsoll {} (protocol {}, build {build})", hello.version, hello.protocol))
        };
        let other = &self.hello;
        let is_same = (own.protocol, &own.version, &own.build) == (other.protocol, &other.version, &other.build);
        (!is_same).then(|| format!("it is {}, and this is {}; both have to be the same program", of(other), of(own)))
    }

    pub(crate) fn ping(&mut self, now_ns: u64) {
        let number = self.next_ping;
        self.next_ping += 1;
        if self.pings.len() == PINGS_MAX {
            self.pings.pop_front();
        }
        self.pings.push_back((number, now_ns));
        self.pinged_ns = now_ns;
        // A ping is short.
        let _ = self.say(&OfCoordinator::Ping { number });
    }

    /// False if the message is longer than any.
    #[must_use]
    pub(crate) fn say(&mut self, message: &OfCoordinator) -> bool {
        let Ok(bytes) = serde_json::to_vec(message) else { return false };
        frame::write(&mut self.out, &bytes, OF_COORDINATOR_MAX)
    }

    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Sends a heartbeat if it is time, and says why the agent counts as lost, if it does.
    pub(crate) fn on_time(&mut self, now_ns: u64) -> Option<String> {
        if !self.is_alive() {
            return None;
        }
        if now_ns >= self.lost_ns() {
            let s = self.patience_ns() / NS_PER_S;
            return Some(format!("nothing came from it for {s} s: machine, network or connection may be gone"));
        }
        if now_ns >= self.pinged_ns.saturating_add(HEARTBEAT_NS) {
            self.ping(now_ns);
        }
        None
    }

    /// What is said, once, if nothing came for a while.
    pub(crate) fn late(&mut self, now_ns: u64) -> Option<String> {
        let is_greeted = self.is_alive() && self.stage != Stage::Greeting;
        let is_late = is_greeted && now_ns >= self.heard_ns.saturating_add(LATE_NS);
        let is_new = is_late && !std::mem::replace(&mut self.is_late, true);
        is_new.then(|| format!("agent {} is late: nothing came for {} s", self.name, LATE_NS / NS_PER_S))
    }

    const fn patience_ns(&self) -> u64 {
        if matches!(self.stage, Stage::Greeting) { HELLO_NS } else { LOST_NS }
    }

    const fn lost_ns(&self) -> u64 {
        self.heard_ns.saturating_add(self.patience_ns())
    }

    /// When [`Link::on_time`] or [`Link::late`] has something to say next; ns.
    pub(crate) fn deadline_ns(&self) -> u64 {
        if !self.is_alive() {
            return u64::MAX;
        }
        // Before its hello it is not said to be late: nothing is to be done then.
        let may_be_late = !self.is_late && self.stage != Stage::Greeting;
        let late_ns = if may_be_late { self.heard_ns.saturating_add(LATE_NS) } else { u64::MAX };
        self.lost_ns().min(self.pinged_ns.saturating_add(HEARTBEAT_NS)).min(late_ns)
    }

    /// Offset of its clock as the start was agreed with it.
    pub(crate) fn offset(&self) -> Offset {
        self.sync.offset().unwrap_or(Offset { offset_ns: 0, error_ns: 0, trip_ns: 0 })
    }

    pub(crate) fn start(&self, agent: usize) -> AgentStart {
        let Offset { offset_ns, error_ns, trip_ns } = self.offset();
        AgentStart {
            source: source(agent),
            name: self.name.clone(),
            host: self.hello.host.clone(),
            cpus: self.hello.cpus,
            threads: self.part.map_or(0, |part| part.threads),
            established: self.told.established,
            // More cannot be told in a record, and is for the reader alone.
            offset_ns: offset_ns.clamp(-TOLD_MAX_NS, TOLD_MAX_NS),
            offset_error_ns: error_ns,
            round_trip_ns: Some(trip_ns),
            late_ns: self.told.late_ns.unwrap_or(0),
        }
    }

    pub(crate) fn end(&self, agent: usize) -> AgentEnd {
        let drift_ns = self.later.offset().map_or(0, |later| later.offset_ns.saturating_sub(self.offset().offset_ns));
        AgentEnd {
            source: source(agent),
            lost: self.loss.clone(),
            flow: self.totals.flow,
            response_ns: self.response.summary().into(),
            drift_ns: drift_ns.clamp(-TOLD_MAX_NS, TOLD_MAX_NS),
        }
    }
}
