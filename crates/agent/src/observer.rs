//! The coordinator's end of the stream to the agent that observes the server's machine.

use crate::bandwidth::{ProbeServed, ServeProbe};
use crate::checked;
use crate::error::FleetError;
use crate::limits::{LOST_NS, OBSERVE_NS, SYNC_NS, SYNC_PINGS, SYNC_PINGS_MIN, drift_max_ns};
use crate::link::{Link, ProbeSaid, Said, Stage};
use crate::message::{Hello, ObserveMessage, ObservedHost, OfCoordinator};
use crate::sync::Offset;
use model::{Phase, Sample, SourceId};
use std::collections::VecDeque;

/// What comes out.
#[derive(Clone, Debug, PartialEq)]
pub enum ObserverEvent {
    /// The agent is there and of this build.
    Greeted(Hello),
    /// It has found whom it observes, and the clocks are compared.
    Ready {
        /// Its machine.
        host: Box<ObservedHost>,
        /// Largest error of its clock; ns.
        clock_error_ns: u64,
        /// Shortest round trip to it; ns.
        round_trip_ns: u64,
    },
    /// It listens for the connections of a probe.
    ServingProbe {
        /// Where.
        port: u16,
    },
    /// These are over, or why there were none; its figures are possible.
    ProbeServed(Result<ProbeServed, String>),
    /// Samples count from this instant of the coordinator's clock; ns.
    Begun {
        /// The instant.
        at_ns: u64,
    },
    /// A sample that was asked for; its instants count from [`ObserverEvent::Begun`].
    Sample(Box<Sample>),
    /// Something to be said, in a line.
    Note(String),
    /// Nothing more comes.
    Failed(FleetError),
}

/// How far the observation is.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Greeting,
    Idle,
    /// Clocks are compared, and processes looked for.
    Preparing {
        since_ns: u64,
        host: Option<Box<ObservedHost>>,
    },
    Ready,
    /// Samples count from then on by the coordinator's clock, once the agent has said so; ns.
    Sampling {
        begun_ns: Option<u64>,
        /// End of the last sample since then; ns.
        until_ns: u64,
    },
    Failed,
}

/// The agent on the server's machine.
#[derive(Clone, Debug)]
pub struct RemoteObserver {
    link: Link,
    identity: Hello,
    state: State,
    /// Phases of the samples that are awaited.
    asked: VecDeque<Phase>,
    events: VecDeque<ObserverEvent>,
    /// When clocks were compared last; ns.
    compared_ns: u64,
}

impl RemoteObserver {
    /// An agent that has to be of the build that `identity` is; its stream is not there yet.
    #[must_use]
    pub fn new(name: String, identity: Hello) -> Self {
        let (asked, events) = (VecDeque::new(), VecDeque::new());
        Self { link: Link::new(name), identity, state: State::Greeting, asked, events, compared_ns: 0 }
    }

    /// Its stream is there.
    pub fn attach(&mut self, now_ns: u64) {
        self.link.attach(now_ns);
    }

    /// Takes in its bytes, which came at `received_ns`.
    pub fn on_bytes(&mut self, bytes: &[u8], received_ns: u64, now_ns: u64) {
        if !self.link.is_alive() {
            return;
        }
        self.link.push(bytes, received_ns);
        while self.link.is_alive() {
            match self.link.next(received_ns, 0) {
                Ok(None) => break,
                Ok(Some(said)) => self.on_said(said, received_ns, now_ns),
                Err(why) => self.lose(&why),
            }
        }
    }

    /// Its stream has ended; `why` is what is known of it.
    pub fn on_end(&mut self, why: &str) {
        self.lose(&checked::text(why));
    }

    /// Does what is due.
    pub fn on_time(&mut self, now_ns: u64) {
        if let Some(why) = self.link.on_time(now_ns) {
            self.lose(&why);
        }
        self.events.extend(self.link.late(now_ns).map(ObserverEvent::Note));
        self.prepare(now_ns);
    }

    /// When [`RemoteObserver::on_time`] has something to do next; ns.
    #[must_use]
    pub fn deadline_ns(&self) -> u64 {
        let phase_ns = match &self.state {
            State::Preparing { since_ns, host: Some(_) } => since_ns.saturating_add(SYNC_NS),
            State::Preparing { since_ns, host: None } => since_ns.saturating_add(OBSERVE_NS),
            State::Greeting | State::Idle | State::Ready | State::Sampling { .. } | State::Failed => u64::MAX,
        };
        self.link.deadline_ns().min(phase_ns)
    }

    /// Bytes for it; once taken they are to be written.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.link.take_output()
    }

    /// What has happened.
    pub fn take_event(&mut self) -> Option<ObserverEvent> {
        self.events.pop_front()
    }

    /// True if nothing more comes from it, nor is said to it.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.link.stage == Stage::Lost
    }

    /// Has it look for processes before a load. It has said hello, and observes nobody.
    pub fn observe(&mut self, whom: ObserveMessage, now_ns: u64) {
        if self.state == State::Failed {
            return;
        }
        self.state = State::Preparing { since_ns: now_ns, host: None };
        self.link.observe(now_ns);
        if !self.link.say(&OfCoordinator::Observe(Box::new(whom))) {
            self.fail("the names of processes are too long to be sent to it".into(), false);
        }
    }

    /// Has it listen for the connections of a probe. It has said hello, and observes nobody.
    pub fn serve_probe(&mut self, probe: ServeProbe) {
        if self.state == State::Idle {
            self.link.probe(&OfCoordinator::ServeProbe(Box::new(probe)));
        }
    }

    /// Its answer to a probe is wanted no more.
    pub fn end_probe(&mut self) {
        if self.link.is_probing && self.state == State::Idle {
            self.link.end_probe();
        }
    }

    /// The load begins now.
    pub fn begin(&mut self) {
        if self.state == State::Ready {
            self.state = State::Sampling { begun_ns: None, until_ns: 0 };
            self.asked.clear();
            // Short.
            let _ = self.link.say(&OfCoordinator::BeginSamples);
        }
    }

    /// A tick of the load has ended.
    pub fn sample(&mut self, phase: Phase) {
        if matches!(self.state, State::Sampling { .. }) {
            self.asked.push_back(phase);
            // Short.
            let _ = self.link.say(&OfCoordinator::Sample { phase });
        }
    }

    /// The load is over; samples that are on their way are forgotten.
    pub fn done(&mut self) {
        if !matches!(self.state, State::Greeting | State::Idle | State::Failed) {
            (self.state, self.link.stage) = (State::Idle, Stage::Idle);
            // Short.
            let _ = self.link.say(&OfCoordinator::Done);
        }
    }

    fn on_said(&mut self, said: Said, received_ns: u64, now_ns: u64) {
        match said {
            Said::Progress if self.state == State::Greeting && self.link.stage == Stage::Idle => self.greet(),
            Said::Pong if matches!(self.state, State::Preparing { .. }) => {
                if self.link.sync.count() < SYNC_PINGS {
                    self.link.ping(now_ns);
                }
            }
            Said::Progress | Said::Pong => {}
            Said::Observing(told) => match &mut self.state {
                State::Preparing { host: host @ None, .. } => *host = Some(told),
                _ => self.misplaced(),
            },
            // Of a load that was given up, on their way since.
            Said::SamplesBegun(_) | Said::Sample(_) if matches!(self.state, State::Preparing { host: None, .. }) => {}
            Said::SamplesBegun(there_ns) => self.on_begun(there_ns, received_ns),
            Said::Sample(sample) => self.on_sample(*sample, received_ns),
            Said::Failed { is_target, why } => self.fail(why, is_target),
            Said::Probe(ProbeSaid::Serving { port }) => self.events.push_back(ObserverEvent::ServingProbe { port }),
            Said::Probe(ProbeSaid::Served(served)) => {
                self.events.push_back(ObserverEvent::ProbeServed(Ok(served)));
            }
            Said::Probe(ProbeSaid::Failed { why }) => self.events.push_back(ObserverEvent::ProbeServed(Err(why))),
            Said::Probe(ProbeSaid::Probed(_)) => self.misplaced(),
            Said::Tick(_) | Said::ServerRuns(_) => self.misplaced(),
        }
        self.prepare(now_ns);
    }

    fn greet(&mut self) {
        match self.link.other_build(&self.identity) {
            Some(why) => self.fail(why, false),
            None => {
                self.state = State::Idle;
                self.events.push_back(ObserverEvent::Greeted(self.link.hello.clone()));
            }
        }
    }

    /// Goes on once processes are found and clocks compared, or fails when that takes too long.
    fn prepare(&mut self, now_ns: u64) {
        let State::Preparing { since_ns, host } = &mut self.state else { return };
        let (count, took_ns) = (self.link.sync.count(), now_ns.saturating_sub(*since_ns));
        let is_compared = count >= SYNC_PINGS || took_ns >= SYNC_NS && count >= SYNC_PINGS_MIN;
        match host.take() {
            Some(host) if is_compared => {
                self.state = State::Ready;
                self.compared_ns = now_ns;
                let Offset { error_ns: clock_error_ns, trip_ns: round_trip_ns, .. } = self.link.offset();
                self.events.push_back(ObserverEvent::Ready { host, clock_error_ns, round_trip_ns });
            }
            Some(_) if took_ns >= SYNC_NS => {
                self.fail("its clock could not be compared: answers take too long".into(), false);
            }
            None if took_ns >= OBSERVE_NS => self.fail("it did not find the server's processes in time".into(), false),
            found => *host = found,
        }
    }

    fn on_begun(&mut self, there_ns: u64, received_ns: u64) {
        let Offset { offset_ns, error_ns, .. } = self.link.offset();
        let at_ns = there_ns.checked_add_signed(offset_ns.saturating_neg()).unwrap_or(0);
        let State::Sampling { begun_ns: begun_ns @ None, .. } = &mut self.state else { return self.misplaced() };
        // It has happened before it was told, as far as clocks can tell that were compared some time ago.
        let drift_ns = drift_max_ns(received_ns.saturating_sub(self.compared_ns));
        if at_ns > received_ns.saturating_add(error_ns).saturating_add(drift_ns) {
            return self.lose("its clock tells what no clock can");
        }
        let at_ns = at_ns.min(received_ns);
        *begun_ns = Some(at_ns);
        self.events.push_back(ObserverEvent::Begun { at_ns });
    }

    fn on_sample(&mut self, sample: Sample, received_ns: u64) {
        let State::Sampling { begun_ns: Some(begun_ns), until_ns } = &mut self.state else { return self.misplaced() };
        let Some(phase) = self.asked.pop_front() else { return self.misplaced() };
        let elapsed_ns = received_ns.saturating_sub(*begun_ns);
        let elapsed_ns = elapsed_ns.saturating_add(LOST_NS).saturating_add(drift_max_ns(elapsed_ns));
        if let Err(why) = checked::sample(&sample, *until_ns, elapsed_ns) {
            return self.lose(&format!("it sent {why}"));
        }
        *until_ns = sample.to_ns;
        let sample = Sample { source: SourceId::SERVER_HOST, phase, ..sample };
        self.events.push_back(ObserverEvent::Sample(Box::new(sample)));
    }

    fn misplaced(&mut self) {
        self.lose("it sent a message that has no place now");
    }

    /// Nothing more comes of it.
    fn lose(&mut self, why: &str) {
        if let Some(error) = self.link.lost(why) {
            self.end(error);
        }
    }

    fn fail(&mut self, why: String, is_target: bool) {
        let error = self.link.failed(why, is_target);
        self.end(error);
    }

    fn end(&mut self, error: FleetError) {
        if self.state != State::Failed {
            self.state = State::Failed;
            self.events.push_back(ObserverEvent::Failed(error));
        }
    }
}
