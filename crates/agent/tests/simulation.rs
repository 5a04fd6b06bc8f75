//! A coordinator and its agents in virtual time, over paths with delays.

use agent::message::{OfAgent, TickMessage};
use agent::segment::divide;
use agent::testing::{identity, plan};
use agent::totals::Totals;
use agent::{Agent, Fleet, FleetError, FleetEvent, Gone, Hello, OnLoss, Order, Report, frame};
use model::{AgentEnd, AgentStart, Event, NS_PER_S, Phase, ThreadUse, Tick};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MS: u64 = 1_000_000;
/// The coordinator's clock at the begin; that of an agent may be ahead of it or behind.
const BEGIN_NS: u64 = 200_000 * NS_PER_S;
const DAY_NS: i64 = 86_400_000_000_000;

/// Path to one agent, its clock and its manners.
#[derive(Clone, Debug)]
struct Path {
    there_ns: u64,
    back_ns: u64,
    /// Ahead of the coordinator's clock.
    offset_ns: i64,
    /// Late with its start.
    late_ns: u64,
    hello: Hello,
    /// Nothing gets through from then on, since the begin.
    cut_ns: u64,
    /// The stream ends then.
    closed_ns: u64,
}

impl Path {
    fn of(there_ms: u64, back_ms: u64, offset_ns: i64) -> Self {
        Self {
            there_ns: there_ms * MS,
            back_ns: back_ms * MS,
            offset_ns,
            late_ns: 0,
            hello: identity(),
            cut_ns: u64::MAX,
            closed_ns: u64::MAX,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    ToAgent(usize, Vec<u8>),
    ToCoordinator(usize, Vec<u8>),
    Closed(usize),
    Start(usize, u32, u64),
    Second(usize, u64),
    Look,
}

struct Sim {
    paths: Vec<Path>,
    agents: Vec<Option<Agent>>,
    armed: Vec<bool>,
    gone: Vec<Option<(u64, Gone)>>,
    /// When each really started, by the coordinator's clock.
    started_ns: Vec<u64>,
    fleet: Fleet,
    coordinator_until_ns: u64,
    now_ns: u64,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    number: u64,
    seconds: u64,
    events: Vec<(u64, FleetEvent)>,
    /// Bytes of one write that arrive together.
    piece: usize,
}

impl Sim {
    fn new(paths: Vec<Path>, on_loss: OnLoss, seconds: u64) -> Self {
        let names = (0..paths.len()).map(|n| format!("ssh://h{n}"));
        let mut sim = Self {
            agents: Vec::new(),
            armed: vec![false; paths.len()],
            gone: vec![None; paths.len()],
            started_ns: vec![0; paths.len()],
            fleet: Fleet::new(names, identity(), on_loss),
            coordinator_until_ns: u64::MAX,
            now_ns: BEGIN_NS,
            due: BinaryHeap::new(),
            number: 0,
            seconds,
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

    fn at(&mut self, at_ns: u64, due: Due) {
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
    fn run(&mut self, limit_s: u64) {
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
        let is_end = |event: &FleetEvent| matches!(event, FleetEvent::Over | FleetEvent::Failed(_));
        match self.is_coordinator_there() {
            true => self.events.last().is_some_and(|(_, event)| is_end(event)),
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
        if next_ns != u64::MAX {
            self.at(next_ns.max(self.now_ns + 1), Due::Look);
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
            Due::Look => {
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
                    let requested = plan.threads;
                    agent.on_report(Report::Ready { requested, established: requested, took_ns: 1, tls: None }, own_ns);
                }
                Order::StartAt { attempt, at_ns } => {
                    self.armed[n] = true;
                    starts.push((attempt, at_ns));
                }
                Order::Disarm => self.armed[n] = false,
                Order::Stop => self.seconds = 0,
                Order::Done => {}
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
            self.at(self.now_ns + NS_PER_S, Due::Second(n, 0));
        }
    }

    fn second(&mut self, n: usize, second: u64) {
        let own_ns = self.agent_ns(n);
        let Some(agent) = &mut self.agents[n] else { return };
        let mut tick = Tick::empty(Phase::Measure, second * NS_PER_S, (second + 1) * NS_PER_S);
        tick.threads = vec![ThreadUse::default()];
        (tick.flow.sent, tick.flow.good, tick.cohort.planned) = (10, 9, 10);
        (0..10).for_each(|value| tick.histograms.response.record(value * (n as u64 + 1)));
        agent.on_report(Report::Tick(Box::new(tick)), own_ns);
        if second + 1 < self.seconds {
            self.at(self.now_ns + NS_PER_S, Due::Second(n, second + 1));
        } else {
            let interrupted = self.seconds == 0;
            agent.on_report(Report::Ended { at_ns: (second + 1) * NS_PER_S, interrupted }, own_ns);
        }
    }

    /// Takes all output to its path, and the coordinator's events.
    fn send_all(&mut self) {
        let now_ns = self.now_ns;
        while let Some(event) = self.fleet.take_event().filter(|_| self.is_coordinator_there()) {
            if event == FleetEvent::Greeted {
                let connections = self.paths.len() as u32;
                let parts = divide(&vec![1; self.paths.len()], connections).expect("as many as agents");
                self.fleet.begin(&plan(connections, self.seconds), &parts, now_ns);
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

    fn loads(&self) -> impl Iterator<Item = (u64, &Event)> {
        self.events.iter().filter_map(|(at_ns, event)| match event {
            FleetEvent::Load(event) => Some((*at_ns, event)),
            _ => None,
        })
    }

    fn ticks(&self) -> Vec<&Tick> {
        self.loads().filter_map(|(_, event)| if let Event::Tick(tick) = event { Some(&**tick) } else { None }).collect()
    }

    fn starts(&self) -> &[AgentStart] {
        let starts =
            self.loads().find_map(|(_, e)| if let Event::AgentsStarted { agents } = e { Some(agents) } else { None });
        starts.expect("the load started")
    }

    fn ends(&self) -> &[AgentEnd] {
        let ends =
            self.loads().find_map(|(_, e)| if let Event::AgentsEnded { agents } = e { Some(agents) } else { None });
        ends.expect("the load ended")
    }

    fn loss(&self) -> Option<(u64, String)> {
        self.loads().find_map(|(at_ns, event)| match event {
            Event::AgentLost { name, why, .. } => Some((at_ns, format!("{name}: {why}"))),
            _ => None,
        })
    }

    fn error(&self) -> String {
        match self.events.last() {
            Some((_, FleetEvent::Failed(error))) => error.to_string(),
            other => panic!("no error, but {other:?}"),
        }
    }
}

#[test]
fn agents_run_one_load_and_its_ticks_are_the_sum() {
    let paths = vec![Path::of(0, 0, 0), Path::of(25, 25, DAY_NS), Path::of(5, 45, -DAY_NS)];
    let mut sim = Sim::new(paths, OnLoss::End, 5);
    sim.run(60);
    let ticks = sim.ticks();
    assert_eq!(ticks.len(), 5);
    for tick in ticks {
        assert_eq!((tick.flow.sent, tick.flow.good, tick.agents.len()), (30, 27, 3));
        assert_eq!(tick.histograms.response.count(), 30);
    }
    assert!(sim.ends().iter().all(|end| end.lost.is_none() && end.flow.sent == 50 && end.response_ns.n == 50));
    let ended = sim.loads().last().map(|(_, event)| event.clone());
    assert_eq!(ended, Some(Event::Ended { at_ns: 5 * NS_PER_S, interrupted: false }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// On any path, whatever the clocks: each agent starts within the error that is stated for it.
    #[test]
    fn the_start_is_within_its_stated_error(
        paths in prop::collection::vec((0_u64..200, 0_u64..200, -DAY_NS..DAY_NS, 0_u64..3_000_000), 1..6),
        piece in prop::sample::select(vec![1_usize, 7, 1000, usize::MAX]),
    ) {
        let path = |(there, back, offset_ns, late_ns)| Path { late_ns, ..Path::of(there, back, offset_ns) };
        let mut sim = Sim::new(paths.into_iter().map(path).collect(), OnLoss::End, 2);
        sim.piece = piece;
        sim.run(60);
        let agreed = sim.events.iter().find_map(|(_, e)| if let FleetEvent::Agreed { start_ns } = e { Some(*start_ns) } else { None });
        let agreed_ns = agreed.expect("they agreed");
        for (start, real_ns) in sim.starts().iter().zip(&sim.started_ns) {
            let bound_ns = start.offset_error_ns + start.late_ns;
            prop_assert!(real_ns.abs_diff(agreed_ns) <= bound_ns, "{} of {bound_ns}", real_ns.abs_diff(agreed_ns));
        }
        prop_assert_eq!(sim.ticks().len(), 2);
    }
}

#[test]
fn a_silent_agent_is_lost_within_five_seconds_and_the_load_ends_with_what_there_is() {
    let cut = Path { cut_ns: 6_500 * MS, ..Path::of(1, 1, DAY_NS) };
    let mut sim = Sim::new(vec![Path::of(1, 1, 0), cut], OnLoss::End, 30);
    sim.run(100);
    let (at_ns, why) = sim.loss().expect("it was noticed");
    assert!(at_ns <= BEGIN_NS + 6_500 * MS + 5 * NS_PER_S, "after {} ns", at_ns - BEGIN_NS);
    assert_eq!(why, "ssh://h1: nothing came from it for 5 s: machine, network or ssh may be gone");
    assert!(sim.events.iter().any(|(_, e)| matches!(e, FleetEvent::Note(text) if text.contains("ssh://h1 is late"))));
    let ends = sim.ends();
    assert!(ends[0].lost.is_none() && ends[1].lost.is_some());
    assert!(ends[0].flow.sent > ends[1].flow.sent && ends[1].flow.sent > 0);
    let sent: u64 = sim.ticks().iter().map(|tick| tick.flow.sent).sum();
    assert_eq!(sent, ends[0].flow.sent + ends[1].flow.sent, "ticks of both stay");
    assert!(matches!(sim.loads().last(), Some((_, Event::Ended { interrupted: true, .. }))));
}

#[test]
fn the_others_go_on_if_that_is_wanted() {
    let closed = Path { closed_ns: 4_000 * MS, ..Path::of(1, 1, 0) };
    let mut sim = Sim::new(vec![Path::of(1, 1, 0), closed], OnLoss::Continue, 10);
    sim.run(100);
    let (at_ns, why) = sim.loss().expect("it was noticed");
    assert_eq!((at_ns, why.as_str()), (BEGIN_NS + 4_000 * MS, "ssh://h1: its stream ended"));
    assert_eq!(sim.ends()[0].flow.sent, 100);
    assert_eq!(sim.ticks().len(), 10);
    assert!(matches!(sim.loads().last(), Some((_, Event::Ended { interrupted: true, .. }))));
}

#[test]
fn agents_without_a_coordinator_end_within_ten_seconds() {
    for gone_ms in [50, 800, 4_000] {
        let mut sim = Sim::new(vec![Path::of(1, 1, DAY_NS), Path::of(60, 20, 0)], OnLoss::End, 600);
        sim.coordinator_until_ns = BEGIN_NS + gone_ms * MS;
        sim.run(700);
        for gone in &sim.gone {
            let (at_ns, why) = gone.as_ref().expect("it ended");
            assert_eq!(*why, Gone::Silent);
            assert!(*at_ns <= sim.coordinator_until_ns + 10_100 * MS, "{} ms", (at_ns - BEGIN_NS) / MS);
        }
    }
}

#[test]
fn another_build_is_refused_with_both_versions() {
    let hello = Hello { version: "9.9.9".into(), build: "cd".repeat(32), ..identity() };
    let mut sim = Sim::new(vec![Path::of(1, 1, 0), Path { hello, ..Path::of(1, 1, 0) }], OnLoss::End, 1);
    sim.run(10);
    let error = sim.error();
    assert!(error.starts_with("agent ssh://h1: it is plimsoll 9.9.9 (protocol 1, build cdcdcdcdcdcd)"), "{error}");
    assert!(error.contains("this is plimsoll 1.2.3"), "{error}");
}

#[test]
fn a_path_that_is_too_slow_for_the_first_try_gets_more_time_and_nobody_starts_alone() {
    // Three quarters of a second each way: the lead is four round trips.
    let mut sim = Sim::new(vec![Path::of(0, 0, 0), Path::of(750, 750, 0)], OnLoss::End, 2);
    sim.run(60);
    assert_eq!(sim.ticks().len(), 2);
}

/// Bytes of an agent that has said hello and keeps to the protocol until the load, then `messages`.
fn after_the_start(messages: &[OfAgent]) -> Vec<(u64, FleetEvent)> {
    let mut fleet = Fleet::new(["a".to_owned()], identity(), OnLoss::End);
    let mut agent = Agent::new(identity(), 1);
    let mut events = Vec::new();
    fleet.attach(0, 1);
    let mut now_ns = 1;
    for step in 0..200 {
        now_ns += 10 * MS;
        let (there, back) = (fleet.take_output(0), agent.take_output());
        agent.on_bytes(&there, now_ns, now_ns).expect("the protocol");
        fleet.on_bytes(0, &back, now_ns, now_ns);
        fleet.on_time(now_ns);
        while let Some(order) = agent.take_order() {
            match order {
                Order::Load { .. } => {
                    agent.on_report(Report::Ready { requested: 1, established: 1, took_ns: 1, tls: None }, now_ns);
                }
                Order::StartAt { attempt, .. } if step < 150 => {
                    agent.on_report(Report::Started { attempt, late_ns: 0 }, now_ns);
                }
                _ => {}
            }
        }
        while let Some(event) = fleet.take_event() {
            if event == FleetEvent::Greeted {
                fleet.begin(&plan(1, 1), &divide(&[1], 1).expect("one"), now_ns);
            }
            events.push((now_ns, event));
        }
    }
    now_ns += 2 * NS_PER_S;
    for message in messages {
        let mut bytes = Vec::new();
        assert!(frame::write(&mut bytes, &serde_json::to_vec(message).expect("JSON"), usize::MAX));
        fleet.on_bytes(0, &bytes, now_ns, now_ns);
    }
    while let Some(event) = fleet.take_event() {
        events.push((now_ns, event));
    }
    events
}

fn tick() -> Tick {
    Tick { threads: vec![ThreadUse::default()], ..Tick::empty(Phase::Measure, 0, NS_PER_S) }
}

fn loss(messages: &[OfAgent]) -> String {
    let events = after_the_start(messages);
    let lost = events.into_iter().find_map(|(_, event)| match event {
        FleetEvent::Load(Event::AgentLost { why, .. }) => Some(why),
        _ => None,
    });
    lost.expect("it is lost")
}

#[test]
fn an_agent_whose_numbers_cannot_be_is_lost_with_the_reason() {
    let told = |sequence, tick: &Tick| OfAgent::Tick(Box::new(TickMessage::new(sequence, tick)));
    let ended = |totals| OfAgent::Ended { at_ns: NS_PER_S, interrupted: false, totals: Box::new(totals) };
    assert_eq!(loss(&[told(0, &tick()), ended(Totals::default())]), "its totals are not the sum of its ticks");
    assert_eq!(loss(&[told(1, &tick())]), "it sent ticks that do not follow each other");
    let many = Tick { late_ns: 1 << 60, ..tick() };
    assert_eq!(loss(&[told(0, &many)]), "it sent numbers that no load has");
    let early = Tick { to_ns: 3600 * NS_PER_S, from_ns: 3599 * NS_PER_S, ..tick() };
    assert_eq!(loss(&[told(0, &early)]), "it sent a tick of time that has not come");
    let twice = after_the_start(&[OfAgent::Ready { requested: 1, established: 1, took_ns: 1, tls: None }]);
    assert!(twice.iter().any(|(_, e)| matches!(e, FleetEvent::Load(Event::AgentLost { .. }))));
}

#[test]
fn a_load_that_fails_on_one_agent_names_it_and_its_reason() {
    let events =
        after_the_start(&[OfAgent::Failed { is_target: true, why: "none of 4 connections\ncould be opened".into() }]);
    let error = FleetError::Agent { name: "a".into(), why: "none of 4 connections".into(), is_target: true };
    assert_eq!(events.last().map(|(_, event)| event.clone()), Some(FleetEvent::Failed(error)));
}
