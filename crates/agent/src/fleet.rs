//! The coordinator's end of all streams: one load on all agents, told as the events of one.

use crate::bandwidth::{ProbeMessage, Probed};
use crate::checked;
use crate::error::FleetError;
use crate::limits::{
    ARM_TRIES, END_NS, LEAD_NS, LEAD_ROUND_TRIPS, LOST_NS, OTHERS_NS, READY_NS, STALLED_NS, SYNC_NS, SYNC_PINGS,
    SYNC_PINGS_MIN, drift_max_ns,
};
use crate::link::{Link, ProbeSaid, Said, Stage};
use crate::merge::{Merge, source};
use crate::message::{Hello, OfCoordinator, PlanMessage};
use crate::segment::Part;
use model::{AgentLoss, Event, Fruitless, NS_PER_S, Plan, Sample};
use std::collections::VecDeque;

/// Agents beside the first that are told to be missing.
const MISSING_TOLD_MAX: usize = 15;

/// What the loss of an agent does to a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// It ends.
    End,
    /// The others go on.
    Continue,
}

/// What comes out.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetEvent {
    /// All agents are there and are of this build.
    Greeted,
    /// All start at this instant of the coordinator's clock; ns.
    Agreed {
        /// The instant.
        start_ns: u64,
    },
    /// An agent has answered a probe, or why it has not.
    Probed {
        /// Its number, from 0.
        agent: usize,
        /// Its figures, which are possible.
        outcome: Result<Probed, String>,
    },
    /// Something happened to the load.
    Load(Event),
    /// Something to be said, in a line.
    Note(String),
    /// The load is over, and all have told their totals, or are lost.
    Over,
    /// There is no load, and there will be none.
    Failed(FleetError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting {
        /// One is missing, and the others are waited for until then, so that all that are missing are told at once.
        until_ns: u64,
    },
    Idle,
    Opening {
        until_ns: u64,
    },
    Syncing {
        until_ns: u64,
    },
    Arming {
        attempt: u32,
        /// All have to be armed by then.
        check_ns: u64,
        start_ns: u64,
    },
    Running {
        start_ns: u64,
        /// The load was stopped, and what has not ended by then is lost.
        until_ns: u64,
    },
    Failed,
}

/// All agents of a coordinator.
#[derive(Clone, Debug)]
pub struct Fleet {
    links: Vec<Link>,
    identity: Hello,
    on_loss: OnLoss,
    phase: Phase,
    events: VecDeque<FleetEvent>,
    merge: Merge,
    /// Timeout of a request, which an end may take.
    timeout_ns: u64,
    has_told_start: bool,
    has_told_warmed: bool,
}

impl Fleet {
    /// Agents that have to be of the build that `identity` is; their streams are not there yet.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>, identity: Hello, on_loss: OnLoss) -> Self {
        let links = names.into_iter().map(Link::new).collect();
        Self {
            links,
            identity,
            on_loss,
            phase: Phase::Greeting { until_ns: u64::MAX },
            events: VecDeque::new(),
            merge: Merge::new([]),
            timeout_ns: 0,
            has_told_start: false,
            has_told_warmed: false,
        }
    }

    /// The stream of an agent is there.
    pub fn attach(&mut self, agent: usize, now_ns: u64) {
        self.links[agent].attach(now_ns);
    }

    /// What the agents have said of themselves, in their order.
    pub fn hellos(&self) -> impl Iterator<Item = &Hello> {
        self.links.iter().map(|link| &link.hello)
    }

    /// Takes in bytes of an agent, which came at `received_ns`.
    pub fn on_bytes(&mut self, agent: usize, bytes: &[u8], received_ns: u64, now_ns: u64) {
        if !self.links[agent].is_alive() {
            return;
        }
        self.links[agent].push(bytes, received_ns);
        loop {
            let elapsed_ns = self.elapsed_ns(received_ns);
            match self.links[agent].next(received_ns, elapsed_ns) {
                Ok(None) => break,
                Ok(Some(said)) => self.on_said(agent, said, now_ns),
                Err(why) => self.lose(agent, why, now_ns),
            }
            // After each, so that it is the same however the bytes were cut.
            self.advance(now_ns);
            if !self.links[agent].is_alive() {
                break;
            }
        }
    }

    /// The stream of an agent has ended; `why` is what is known of it.
    pub fn on_end(&mut self, agent: usize, why: &str, now_ns: u64) {
        self.lose(agent, checked::text(why), now_ns);
        self.advance(now_ns);
    }

    /// Does what is due.
    pub fn on_time(&mut self, now_ns: u64) {
        for agent in 0..self.links.len() {
            if let Some(why) = self.links[agent].on_time(now_ns) {
                self.lose(agent, why, now_ns);
            }
            self.events.extend(self.links[agent].late(now_ns).map(FleetEvent::Note));
        }
        self.lose_stalled(now_ns);
        self.on_phase_end(now_ns);
        self.advance(now_ns);
    }

    /// A sign of life says nothing of the load threads: without their ticks the load would have no end.
    fn lose_stalled(&mut self, now_ns: u64) {
        for agent in 0..self.links.len() {
            if now_ns >= self.stalled_ns(agent) {
                let s = STALLED_NS / NS_PER_S;
                let why =
                    format!("it is there, but nothing of its load came for {s} s: see what holds it up on its machine");
                self.lose(agent, why, now_ns);
            }
        }
    }

    /// When an agent has delivered too little of a load to be a part of it; ns.
    fn stalled_ns(&self, agent: usize) -> u64 {
        match self.phase {
            Phase::Running { start_ns, .. } if self.links[agent].stage == Stage::Armed => {
                let delivered_ns = self.merge.delivered_ns(agent);
                // Its seconds may be longer than those of here.
                let late_ns = STALLED_NS.saturating_add(drift_max_ns(delivered_ns));
                start_ns.saturating_add(delivered_ns).saturating_add(late_ns)
            }
            _ => u64::MAX,
        }
    }

    /// When [`Fleet::on_time`] has something to do next; ns.
    #[must_use]
    pub fn deadline_ns(&self) -> u64 {
        let phase_ns = match self.phase {
            Phase::Greeting { until_ns }
            | Phase::Opening { until_ns }
            | Phase::Syncing { until_ns }
            | Phase::Running { until_ns, .. } => until_ns,
            Phase::Arming { check_ns, .. } => check_ns,
            Phase::Idle | Phase::Failed => u64::MAX,
        };
        let stalled_ns = (0..self.links.len()).map(|agent| self.stalled_ns(agent));
        self.links.iter().map(Link::deadline_ns).chain(stalled_ns).fold(phase_ns, u64::min)
    }

    /// Bytes for an agent; once taken they are to be written.
    pub fn take_output(&mut self, agent: usize) -> Vec<u8> {
        self.links[agent].take_output()
    }

    /// What has happened.
    pub fn take_event(&mut self) -> Option<FleetEvent> {
        self.events.pop_front()
    }

    /// Begins a load, of which each agent has a part; it fails if one was lost since the last. All have said hello, and no
    /// other load runs or has failed.
    pub fn begin(&mut self, plan: &Plan, parts: &[Part], now_ns: u64) {
        if let Some(error) = self.links.iter().find(|link| link.stage == Stage::Lost).map(gone) {
            return self.end_all(error);
        }
        self.merge = Merge::new(parts.iter().map(|part| part.threads));
        self.timeout_ns = plan.timeout_ns;
        (self.has_told_start, self.has_told_warmed) = (false, false);
        self.phase = Phase::Opening { until_ns: now_ns.saturating_add(plan.timeout_ns).saturating_add(READY_NS) };
        for (agent, part) in parts.iter().enumerate().take(self.links.len()) {
            let plan = Plan { threads: part.threads, ..plan.clone() };
            let link = &mut self.links[agent];
            link.begin(*part);
            if !link.say(&OfCoordinator::Plan(Box::new(PlanMessage::new(plan, part.segment)))) {
                return self.fail(
                    agent,
                    "the bodies of the requests are too long to be sent to it: some 190 MiB at most".into(),
                    false,
                );
            }
        }
    }

    /// True if nothing more comes from an agent, nor is said to it.
    #[must_use]
    pub fn is_lost(&self, agent: usize) -> bool {
        self.links[agent].stage == Stage::Lost
    }

    /// Nobody waits any more for agents that have not said hello; each is named.
    pub fn give_up(&mut self, why: &str) {
        let missing = self.links.iter().filter(|link| link.stage != Stage::Idle).map(|link| link.name.as_str());
        let name = missing.collect::<Vec<_>>().join(", ");
        if matches!(self.phase, Phase::Greeting { .. }) {
            self.end_all(FleetError::Agent { name, why: why.to_owned(), is_target: false });
        }
    }

    /// Has each agent take its part in a probe. All have said hello, and there is no load.
    pub fn probe(&mut self, parts: Vec<ProbeMessage>) {
        for (agent, part) in parts.into_iter().enumerate().take(self.links.len()) {
            let link = &mut self.links[agent];
            if self.phase != Phase::Idle || link.stage != Stage::Idle {
                let why = "there is nobody who could take part".to_owned();
                self.events.push_back(FleetEvent::Probed { agent, outcome: Err(why) });
                continue;
            }
            link.probe(&OfCoordinator::Probe(Box::new(part)));
        }
    }

    /// What has not answered a probe need not any more.
    pub fn end_probe(&mut self) {
        self.links.iter_mut().filter(|link| link.is_probing && link.is_alive()).for_each(Link::end_probe);
    }

    /// Ends the load early, with what was measured so far.
    pub fn stop(&mut self, now_ns: u64) {
        match self.phase {
            Phase::Opening { .. } | Phase::Syncing { .. } | Phase::Arming { .. } | Phase::Greeting { .. } => {
                self.end_all(FleetError::Stopped);
            }
            Phase::Running { start_ns, until_ns: u64::MAX } => {
                self.tell_running(&OfCoordinator::Stop);
                let until_ns = now_ns.saturating_add(self.timeout_ns).saturating_add(END_NS);
                self.phase = Phase::Running { start_ns, until_ns };
            }
            Phase::Running { .. } | Phase::Idle | Phase::Failed => {}
        }
    }

    /// Time since the start, with what an agent may be ahead.
    const fn elapsed_ns(&self, now_ns: u64) -> u64 {
        match self.phase {
            Phase::Running { start_ns, .. } | Phase::Arming { start_ns, .. } => {
                let elapsed_ns = now_ns.saturating_sub(start_ns);
                elapsed_ns.saturating_add(LOST_NS).saturating_add(drift_max_ns(elapsed_ns))
            }
            Phase::Greeting { .. } | Phase::Idle | Phase::Opening { .. } | Phase::Syncing { .. } | Phase::Failed => 0,
        }
    }

    fn on_said(&mut self, agent: usize, said: Said, now_ns: u64) {
        match said {
            Said::Progress => {
                if matches!(self.phase, Phase::Greeting { .. }) && self.links[agent].stage == Stage::Idle {
                    self.check_build(agent, now_ns);
                }
            }
            Said::Pong => {
                let link = &mut self.links[agent];
                if matches!(self.phase, Phase::Syncing { .. }) && link.sync.count() < SYNC_PINGS {
                    link.ping(now_ns);
                }
            }
            Said::Tick(tick) => {
                self.merge.add(agent, &tick);
                self.hand_on_ticks();
            }
            Said::Failed { is_target, why } => self.fail(agent, why, is_target),
            Said::Probe(said) => self.on_probe(agent, said, now_ns),
            Said::Sample(sample) => {
                let sample = Sample { source: source(agent), ..*sample };
                self.events.push_back(FleetEvent::Load(Event::Observed(Box::new(sample))));
            }
            // Who is told to observe a server, or to start one, is not among these.
            Said::Observing(_) | Said::SamplesBegun(_) | Said::ServerRuns(_) => {}
        }
    }

    fn on_probe(&mut self, agent: usize, said: ProbeSaid, now_ns: u64) {
        let outcome = match said {
            ProbeSaid::Probed(probed) => Ok(probed),
            ProbeSaid::Failed { why } => Err(why),
            ProbeSaid::Serving { .. } | ProbeSaid::Served(_) => {
                return self.lose(agent, "it sent a message that has no place now".into(), now_ns);
            }
        };
        self.events.push_back(FleetEvent::Probed { agent, outcome });
    }

    fn hand_on_ticks(&mut self) {
        while let Some(tick) = self.merge.take() {
            self.events.push_back(FleetEvent::Load(Event::Tick(Box::new(tick))));
        }
    }

    /// Refuses other builds.
    fn check_build(&mut self, agent: usize, now_ns: u64) {
        if let Some(why) = self.links[agent].other_build(&self.identity) {
            self.lose(agent, why, now_ns);
        }
    }

    /// One that should say hello is missing: the others may be, too.
    fn miss(&mut self, until_ns: u64, now_ns: u64) {
        self.phase = Phase::Greeting { until_ns: until_ns.min(now_ns.saturating_add(OTHERS_NS)) };
    }

    /// True if any may still say hello.
    fn are_awaited(&self) -> bool {
        self.links.iter().any(|link| matches!(link.stage, Stage::Away | Stage::Greeting))
    }

    /// All that are missing, if any is.
    fn fail_missing(&mut self) {
        let mut missing = self.links.iter().filter(|link| link.stage == Stage::Lost);
        let Some(first) = missing.next() else { return };
        let mut why = first.why.clone();
        for link in missing.by_ref().take(MISSING_TOLD_MAX) {
            why.push_str(&format!("; agent {}: {}", link.name, link.why));
        }
        match missing.count() {
            0 => {}
            n => why.push_str(&format!("; and {n} more")),
        }
        let name = first.name.clone();
        self.end_all(FleetError::Agent { name, why, is_target: false });
    }

    /// Nothing more comes from an agent.
    fn lose(&mut self, agent: usize, why: String, now_ns: u64) {
        let link = &mut self.links[agent];
        let stage = link.lose(&why);
        if std::mem::take(&mut link.is_probing) {
            self.events.push_back(FleetEvent::Probed { agent, outcome: Err(why.clone()) });
        }
        match (stage, self.phase) {
            // It was told, or its totals are known; the next load is told.
            (Stage::Lost, _) | (_, Phase::Failed | Phase::Idle) | (Stage::Ended, Phase::Running { .. }) => {}
            (_, Phase::Greeting { until_ns }) => self.miss(until_ns, now_ns),
            (_, Phase::Running { start_ns, .. }) => {
                let at_ns = now_ns.saturating_sub(start_ns);
                link.loss = Some(AgentLoss { at_ns, why: why.clone() });
                let name = link.name.clone();
                self.merge.over(agent);
                // The ticks that waited for it follow what tells of all agents, which may wait for it too.
                self.events.push_back(FleetEvent::Load(Event::AgentLost { at_ns, source: source(agent), name, why }));
                if self.on_loss == OnLoss::End {
                    self.stop(now_ns);
                }
            }
            (_, Phase::Opening { .. } | Phase::Syncing { .. } | Phase::Arming { .. }) => {
                let error = gone(link);
                self.end_all(error);
            }
        }
    }

    fn fail(&mut self, agent: usize, why: String, is_target: bool) {
        let error = self.links[agent].failed(why, is_target);
        self.end_all(error);
    }

    fn end_all(&mut self, error: FleetError) {
        if self.phase != Phase::Failed {
            self.phase = Phase::Failed;
            self.tell_running(&OfCoordinator::Stop);
            self.tell_running(&OfCoordinator::Done);
            self.events.push_back(FleetEvent::Failed(error));
        }
    }

    fn tell_running(&mut self, message: &OfCoordinator) {
        for link in &mut self.links {
            if matches!(link.stage, Stage::Opening | Stage::Ready | Stage::Armed | Stage::Ended) {
                // Short.
                let _ = link.say(message);
            }
        }
    }

    fn on_phase_end(&mut self, now_ns: u64) {
        match self.phase {
            Phase::Greeting { until_ns } if now_ns >= until_ns => self.fail_missing(),
            Phase::Opening { until_ns } if now_ns >= until_ns => {
                self.fail_first(|link| link.stage == Stage::Opening, "its connections were not open in time");
            }
            Phase::Syncing { until_ns } if now_ns >= until_ns => {
                if self.links.iter().all(|link| link.sync.count() >= SYNC_PINGS_MIN) {
                    self.arm(1, now_ns);
                } else {
                    let is_slow = |link: &Link| link.sync.count() < SYNC_PINGS_MIN;
                    self.fail_first(is_slow, "its clock could not be compared: answers take too long");
                }
            }
            Phase::Arming { attempt, check_ns, .. } if now_ns >= check_ns => self.arm_again(attempt, now_ns),
            Phase::Running { until_ns, .. } if now_ns >= until_ns => {
                for agent in 0..self.links.len() {
                    if self.links[agent].stage == Stage::Armed {
                        self.lose(agent, "it was told to stop and did not end".into(), now_ns);
                    }
                }
            }
            _ => {}
        }
    }

    fn fail_first(&mut self, is_it: impl Fn(&Link) -> bool, why: &str) {
        if let Some(agent) = self.links.iter().position(is_it) {
            self.fail(agent, why.into(), false);
        }
    }

    /// Goes on when all have done what they were asked for.
    fn advance(&mut self, now_ns: u64) {
        match self.phase {
            Phase::Greeting { until_ns } if until_ns < u64::MAX && !self.are_awaited() => self.fail_missing(),
            Phase::Greeting { .. } if self.are_all(|link| link.stage == Stage::Idle) => {
                self.phase = Phase::Idle;
                self.events.push_back(FleetEvent::Greeted);
            }
            Phase::Opening { .. } if self.are_all(|link| link.stage == Stage::Ready) => {
                self.tell_connected();
                self.phase = Phase::Syncing { until_ns: now_ns.saturating_add(SYNC_NS) };
                self.links.iter_mut().for_each(|link| link.ping(now_ns));
            }
            Phase::Syncing { .. } if self.are_all(|link| link.sync.count() >= SYNC_PINGS) => self.arm(1, now_ns),
            Phase::Arming { attempt, start_ns, .. } if self.are_all(|link| link.told.armed == Some(attempt)) => {
                self.phase = Phase::Running { start_ns, until_ns: u64::MAX };
                self.events.push_back(FleetEvent::Agreed { start_ns });
            }
            Phase::Running { start_ns, .. } => self.advance_load(now_ns.saturating_sub(start_ns)),
            _ => {}
        }
    }

    fn are_all(&self, is_it: impl Fn(&Link) -> bool) -> bool {
        self.links.iter().all(is_it)
    }

    fn tell_connected(&mut self) {
        let told = || self.links.iter().map(|link| &link.told);
        let event = Event::Connected {
            requested: told().map(|told| told.requested).fold(0, u32::saturating_add),
            established: told().map(|told| told.established).fold(0, u32::saturating_add),
            took_ns: told().map(|told| told.took_ns).max().unwrap_or(0),
            fruitless: told().fold(Fruitless::default(), |mut sum, told| {
                sum.add(&told.fruitless);
                sum
            }),
            tls: told().find_map(|told| told.tls.clone()),
        };
        self.events.push_back(FleetEvent::Load(event));
    }

    /// Has all start at the same instant.
    fn arm(&mut self, attempt: u32, now_ns: u64) {
        let trip_ns = self.links.iter().map(|link| link.offset().error_ns.saturating_mul(2)).max().unwrap_or(0);
        let lead_ns = LEAD_NS.max(trip_ns.saturating_mul(LEAD_ROUND_TRIPS));
        let start_ns = now_ns.saturating_add(lead_ns);
        for link in &mut self.links {
            link.told.armed = None;
            let at_ns = start_ns.saturating_add_signed(link.offset().offset_ns);
            // Short.
            let _ = link.say(&OfCoordinator::Start { attempt, at_ns });
        }
        self.phase = Phase::Arming { attempt, check_ns: now_ns.saturating_add(lead_ns / 2), start_ns };
    }

    fn arm_again(&mut self, attempt: u32, now_ns: u64) {
        let is_missing = |link: &Link| link.told.armed != Some(attempt);
        if attempt >= ARM_TRIES {
            return self.fail_first(is_missing, "it did not confirm the start in time");
        }
        for link in &mut self.links {
            // Short.
            let _ = link.say(&OfCoordinator::Disarm { attempt });
        }
        self.arm(attempt + 1, now_ns);
    }

    fn advance_load(&mut self, at_ns: u64) {
        let is_there = |link: &Link| link.stage != Stage::Lost;
        if !self.has_told_start && self.are_all(|link| !is_there(link) || link.told.late_ns.is_some()) {
            self.has_told_start = true;
            let agents = self.links.iter().enumerate().map(|(agent, link)| link.start(agent)).collect();
            self.events.push_back(FleetEvent::Load(Event::AgentsStarted { agents }));
        }
        if !self.has_told_warmed && self.are_all(|link| !is_there(link) || link.told.warmed_ns.is_some()) {
            self.has_told_warmed = true;
            let at_ns = self.links.iter().filter_map(|link| link.told.warmed_ns).max();
            if let Some(at_ns) = at_ns {
                self.events.push_back(FleetEvent::Load(Event::Warmed { at_ns, settled: true }));
            }
        }
        for agent in 0..self.links.len() {
            if matches!(self.links[agent].stage, Stage::Ended | Stage::Lost) {
                self.merge.over(agent);
            }
        }
        self.hand_on_ticks();
        if self.are_all(|link| matches!(link.stage, Stage::Ended | Stage::Lost)) {
            self.finish(at_ns);
        }
    }

    fn finish(&mut self, now_ns: u64) {
        self.tell_running(&OfCoordinator::Done);
        let agents = self.links.iter().enumerate().map(|(agent, link)| link.end(agent)).collect();
        self.events.push_back(FleetEvent::Load(Event::AgentsEnded { agents }));
        let at_ns = self.links.iter().filter_map(|link| link.told.ended_ns).max().unwrap_or(now_ns);
        // A load of which a part is missing is not the one that was planned.
        let interrupted = self.links.iter().any(|link| link.told.interrupted || link.loss.is_some());
        self.events.push_back(FleetEvent::Load(Event::Ended { at_ns, interrupted }));
        self.events.push_back(FleetEvent::Over);
        self.phase = Phase::Idle;
        for link in self.links.iter_mut().filter(|link| link.stage == Stage::Ended) {
            link.stage = Stage::Idle;
        }
    }
}

/// That an agent is lost.
fn gone(link: &Link) -> FleetError {
    FleetError::Lost { name: link.name.clone(), why: link.why.clone() }
}
