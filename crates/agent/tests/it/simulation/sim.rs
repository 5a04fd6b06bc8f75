//! A coordinator and its agents, and the paths between them.

use agent::segment::divide;
use agent::testing::{identity, plan};
use agent::{Agent, Fleet, FleetEvent, Gone, Hello, OnLoss, Order, Report};
use model::{AgentEnd, AgentStart, Event, NS_PER_S, Phase, ThreadUse, Tick};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub(crate) const MS: u64 = 1_000_000;
/// The coordinator's clock at the begin; that of an agent may be ahead of it or behind.
pub(crate) const BEGIN_NS: u64 = 200_000 * NS_PER_S;
pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

/// Path to one agent, its clock and its manners.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) there_ns: u64,
    pub(crate) back_ns: u64,
    /// Ahead of the coordinator's clock.
    pub(crate) offset_ns: i64,
    /// Late with its start.
    pub(crate) late_ns: u64,
    pub(crate) hello: Hello,
    /// Nothing gets through from then on, since the begin.
    pub(crate) cut_ns: u64,
    /// The stream ends then.
    pub(crate) closed_ns: u64,
    /// Its load tells nothing from this second on; the agent itself goes on.
    pub(crate) mute_s: u64,
    /// Its seconds are shorter by so many millionths.
    pub(crate) fast_ppm: u64,
}

impl Path {
    pub(crate) fn of(there_ms: u64, back_ms: u64, offset_ns: i64) -> Self {
        Self {
            there_ns: there_ms * MS,
            back_ns: back_ms * MS,
            offset_ns,
            late_ns: 0,
            hello: identity(),
            cut_ns: u64::MAX,
            closed_ns: u64::MAX,
            mute_s: u64::MAX,
            fast_ppm: 0,
        }
    }

    /// One of its seconds, by the coordinator's clock.
    const fn second_ns(&self) -> u64 {
        NS_PER_S - self.fast_ppm * 1000
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    ToAgent(usize, Vec<u8>),
    ToCoordinator(usize, Vec<u8>),
    Closed(usize),
    Start(usize, u32, u64),
    Second(usize, u64),
    Begin,
    Stop,
    /// An agent's clock is set ahead.
    Ahead(usize, i64),
    Look,
}

/// A load of so many seconds, begun so long after the one before it was over, and stopped so long after its agreed start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) seconds: u64,
    pub(crate) pause_ns: u64,
    pub(crate) stop_ns: Option<u64>,
}

impl Load {
    pub(crate) const fn of(seconds: u64) -> Self {
        Self { seconds, pause_ns: 0, stop_ns: None }
    }
}

pub(crate) struct Sim {
    paths: Vec<Path>,
    agents: Vec<Option<Agent>>,
    armed: Vec<bool>,
    /// Those that were told to stop the load of now.
    stopped: Vec<bool>,
    pub(crate) gone: Vec<Option<(u64, Gone)>>,
    /// When each really started, by the coordinator's clock.
    pub(crate) started_ns: Vec<u64>,
    fleet: Fleet,
    pub(crate) coordinator_until_ns: u64,
    now_ns: u64,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    number: u64,
    /// When somebody with a deadline is looked after next; an earlier one is not forgotten.
    look_ns: u64,
    /// The load of now, whether it is over, and those after it.
    load: Load,
    is_idle: bool,
    pub(crate) later: VecDeque<Load>,
    pub(crate) events: Vec<(u64, FleetEvent)>,
    /// Bytes of one write that arrive together.
    pub(crate) piece: usize,
}

impl Sim {
    pub(crate) fn new(paths: Vec<Path>, on_loss: OnLoss, seconds: u64) -> Self {
        let names = (0..paths.len()).map(|n| format!("ssh://h{n}"));
        let mut sim = Self {
            agents: Vec::new(),
            armed: vec![false; paths.len()],
            stopped: vec![false; paths.len()],
            gone: vec![None; paths.len()],
            started_ns: vec![0; paths.len()],
            fleet: Fleet::new(names, identity(), on_loss),
            coordinator_until_ns: u64::MAX,
            now_ns: BEGIN_NS,
            due: BinaryHeap::new(),
            number: 0,
            look_ns: u64::MAX,
            load: Load::of(seconds),
            is_idle: true,
            later: [Load::of(seconds)].into(),
            events: Vec::new(),
            piece: usize::MAX,
            paths,
        };
        for n in 0..sim.paths.len() {
            sim.fleet.attach(n, BEGIN_NS);
            let agent = Agent::new(sim.paths[n].hello.clone(), sim.agent_ns(n));
            sim.agents.push(Some(agent));
            if sim.paths[n].closed_ns != u64::MAX {
                sim.at(BEGIN_NS + sim.paths[n].closed_ns, Due::Closed(n));
            }
        }
        sim
    }

    fn agent_ns(&self, n: usize) -> u64 {
        self.now_ns.checked_add_signed(self.paths[n].offset_ns).expect("a clock")
    }

    pub(crate) fn at(&mut self, at_ns: u64, due: Due) {
        self.number += 1;
        self.due.push(Reverse((at_ns, self.number, due)));
    }

    fn is_open(&self, n: usize) -> bool {
        self.now_ns < BEGIN_NS.saturating_add(self.paths[n].cut_ns)
    }

    fn is_coordinator_there(&self) -> bool {
        self.now_ns < self.coordinator_until_ns
    }

    /// Runs until nobody has anything to do, or for `limit_s`.
    pub(crate) fn run(&mut self, limit_s: u64) {
        let until_ns = BEGIN_NS + limit_s * NS_PER_S;
        self.send_all();
        self.look_again();
        while let Some(Reverse((at_ns, _, due))) = self.due.pop() {
            if at_ns > until_ns || self.is_over() {
                break;
            }
            self.now_ns = at_ns.max(self.now_ns);
            self.handle(due);
            self.send_all();
            self.look_again();
        }
    }

    fn is_over(&self) -> bool {
        match self.is_coordinator_there() {
            true => self.is_idle && self.later.is_empty(),
            false => self.agents.iter().all(Option::is_none),
        }
    }

    /// Whoever has a deadline is looked after then.
    fn look_again(&mut self) {
        let agents = self.agents.iter().enumerate().filter_map(|(n, agent)| {
            let own_ns = agent.as_ref()?.deadline_ns();
            own_ns.checked_add_signed(-self.paths[n].offset_ns)
        });
        let mut next_ns = agents.min().unwrap_or(u64::MAX);
        if self.is_coordinator_there() {
            next_ns = next_ns.min(self.fleet.deadline_ns()).min(self.coordinator_until_ns);
        }
        let next_ns = next_ns.max(self.now_ns + 1);
        if next_ns < self.look_ns {
            self.look_ns = next_ns;
            self.at(next_ns, Due::Look);
        }
    }

    fn handle(&mut self, due: Due) {
        let now_ns = self.now_ns;
        match due {
            Due::ToAgent(n, bytes) => {
                let own_ns = self.agent_ns(n);
                let is_open = self.is_open(n);
                if let Some(agent) = self.agents[n].as_mut().filter(|_| is_open) {
                    for piece in bytes.chunks(self.piece) {
                        agent.on_bytes(piece, own_ns, own_ns).expect("the coordinator keeps to the protocol");
                    }
                    self.obey(n);
                }
            }
            Due::ToCoordinator(n, bytes) if self.is_open(n) && self.is_coordinator_there() => {
                bytes.chunks(self.piece).for_each(|piece| self.fleet.on_bytes(n, piece, now_ns, now_ns));
            }
            Due::ToCoordinator(..) => {}
            Due::Closed(n) => {
                self.agents[n] = None;
                self.fleet.on_end(n, "its stream ended", now_ns);
            }
            Due::Start(n, attempt, late_ns) => self.start(n, attempt, late_ns),
            Due::Second(n, second) => self.second(n, second),
            Due::Begin => self.begin(),
            Due::Stop => self.fleet.stop(now_ns),
            Due::Ahead(n, by_ns) => self.paths[n].offset_ns += by_ns,
            Due::Look => {
                if now_ns >= self.look_ns {
                    self.look_ns = u64::MAX;
                }
                if self.is_coordinator_there() {
                    self.fleet.on_time(now_ns);
                }
                for n in 0..self.agents.len() {
                    let own_ns = self.agent_ns(n);
                    if let Some(Err(gone)) = self.agents[n].as_mut().map(|agent| agent.on_time(own_ns)) {
                        self.gone[n] = Some((now_ns, gone));
                        self.agents[n] = None;
                    }
                }
            }
        }
    }

    fn obey(&mut self, n: usize) {
        let own_ns = self.agent_ns(n);
        let mut starts = Vec::new();
        let Some(agent) = &mut self.agents[n] else { return };
        while let Some(order) = agent.take_order() {
            match order {
                Order::Load { plan, .. } => {
                    self.stopped[n] = false;
                    let requested = plan.threads;
                    agent.on_report(
                        Report::Ready {
                            requested,
                            established: requested,
                            took_ns: 1,
                            fruitless: Default::default(),
                            tls: None,
                        },
                        own_ns,
                    );
                }
                Order::StartAt { attempt, at_ns } => {
                    self.armed[n] = true;
                    starts.push((attempt, at_ns));
                }
                Order::Disarm => self.armed[n] = false,
                Order::Stop => self.stopped[n] = true,
                Order::Done
                | Order::Observe(_)
                | Order::BeginSamples
                | Order::Sample { .. }
                | Order::ServeProbe(_)
                | Order::Probe(_)
                | Order::StartServer(_)
                | Order::RestartServer
                | Order::CheckServer => {}
            }
        }
        for (attempt, at_ns) in starts {
            let late_ns = self.paths[n].late_ns;
            let at_ns = at_ns.checked_add_signed(-self.paths[n].offset_ns).expect("an instant") + late_ns;
            self.at(at_ns, Due::Start(n, attempt, late_ns));
        }
    }

    fn start(&mut self, n: usize, attempt: u32, late_ns: u64) {
        let own_ns = self.agent_ns(n);
        if let (Some(agent), true) = (&mut self.agents[n], std::mem::take(&mut self.armed[n])) {
            self.started_ns[n] = self.now_ns;
            agent.on_report(Report::Started { attempt, late_ns }, own_ns);
            agent.on_report(Report::Warmed { at_ns: 0 }, own_ns);
            self.at(self.now_ns + self.paths[n].second_ns(), Due::Second(n, 0));
        }
    }

    fn second(&mut self, n: usize, second: u64) {
        let own_ns = self.agent_ns(n);
        let Some(agent) = self.agents[n].as_mut().filter(|_| second < self.paths[n].mute_s) else { return };
        let mut tick = Tick::empty(Phase::Measure, second * NS_PER_S, (second + 1) * NS_PER_S);
        tick.threads = vec![ThreadUse::default()];
        (tick.flow.sent, tick.flow.good, tick.cohort.counts.planned) = (10, 9, 10);
        (0..10).for_each(|value| tick.histograms.response.record(value * (n as u64 + 1)));
        agent.on_report(Report::Tick(Box::new(tick)), own_ns);
        let interrupted = self.stopped[n];
        if second + 1 < self.load.seconds && !interrupted {
            self.at(self.now_ns + self.paths[n].second_ns(), Due::Second(n, second + 1));
        } else {
            agent.on_report(Report::Ended { at_ns: (second + 1) * NS_PER_S, interrupted }, own_ns);
        }
    }

    /// Begins the next load.
    fn begin(&mut self) {
        (self.load, self.is_idle) = (self.later.pop_front().expect("another load"), false);
        let connections = self.paths.len() as u32;
        let parts = divide(&vec![1; self.paths.len()], connections).expect("as many as agents");
        self.fleet.begin(&plan(connections, self.load.seconds), &parts, self.now_ns);
    }

    /// Takes all output to its path, and the coordinator's events.
    fn send_all(&mut self) {
        let now_ns = self.now_ns;
        while let Some(event) = self.fleet.take_event().filter(|_| self.is_coordinator_there()) {
            match &event {
                FleetEvent::Greeted => self.begin(),
                FleetEvent::Agreed { start_ns } => {
                    self.load.stop_ns.into_iter().for_each(|stop_ns| self.at(start_ns + stop_ns, Due::Stop));
                }
                FleetEvent::Over => {
                    self.is_idle = true;
                    let next = self.later.front().map(|next| next.pause_ns);
                    next.into_iter().for_each(|pause_ns| self.at(now_ns + pause_ns, Due::Begin));
                }
                FleetEvent::Failed(_) => {
                    self.is_idle = true;
                    self.later.clear();
                }
                FleetEvent::Load(_) | FleetEvent::Note(_) | FleetEvent::Probed { .. } => {}
            }
            self.events.push((now_ns, event));
        }
        for n in 0..self.paths.len() {
            let there = self.fleet.take_output(n);
            if !there.is_empty() && self.is_coordinator_there() {
                self.at(now_ns + self.paths[n].there_ns, Due::ToAgent(n, there));
            }
            let back = self.agents[n].as_mut().map(Agent::take_output).unwrap_or_default();
            if !back.is_empty() {
                self.at(now_ns + self.paths[n].back_ns, Due::ToCoordinator(n, back));
            }
        }
    }

    pub(crate) fn loads(&self) -> impl Iterator<Item = (u64, &Event)> {
        self.events.iter().filter_map(|(at_ns, event)| match event {
            FleetEvent::Load(event) => Some((*at_ns, event)),
            _ => None,
        })
    }

    pub(crate) fn ticks(&self) -> Vec<&Tick> {
        self.loads().filter_map(|(_, event)| if let Event::Tick(tick) = event { Some(&**tick) } else { None }).collect()
    }

    pub(crate) fn starts(&self) -> &[AgentStart] {
        let starts =
            self.loads().find_map(|(_, e)| if let Event::AgentsStarted { agents } = e { Some(agents) } else { None });
        starts.expect("the load started")
    }

    pub(crate) fn ends(&self) -> &[AgentEnd] {
        let ends =
            self.loads().find_map(|(_, e)| if let Event::AgentsEnded { agents } = e { Some(agents) } else { None });
        ends.expect("the load ended")
    }

    /// The events of each load that was over.
    pub(crate) fn each(&self) -> Vec<&[(u64, FleetEvent)]> {
        let parts = self.events.split_inclusive(|(_, event)| *event == FleetEvent::Over);
        parts.filter(|part| part.last().is_some_and(|(_, event)| *event == FleetEvent::Over)).collect()
    }

    pub(crate) fn loss(&self) -> Option<(u64, String)> {
        self.loads().find_map(|(at_ns, event)| match event {
            Event::AgentLost { name, why, .. } => Some((at_ns, format!("{name}: {why}"))),
            _ => None,
        })
    }

    pub(crate) fn error(&self) -> String {
        match self.events.last() {
            Some((_, FleetEvent::Failed(error))) => error.to_string(),
            other => panic!("no error, but {other:?}"),
        }
    }
}
