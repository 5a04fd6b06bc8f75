//! A coordinator and the agent on the server's machine, over a path with delays.

use super::sim::{BEGIN_NS, DAY_NS, MS};
use agent::message::OfAgent;
use agent::testing::{identity, whom};
use agent::{Agent, FleetError, ObserverEvent, Order, RemoteObserver, Report, frame};
use model::{NS_PER_S, Phase, Sample, SourceId};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When it arrives, its number, whether the agent gets it, and the bytes.
type UnderWay = (u64, u64, bool, Vec<u8>);

/// Both ends, and when things really happened, by the coordinator's clock.
struct Pair {
    observer: RemoteObserver,
    agent: Agent,
    there_ns: u64,
    back_ns: u64,
    /// Ahead of the coordinator's clock.
    offset_ns: i64,
    /// Nothing gets through from then on.
    cut_ns: u64,
    now_ns: u64,
    number: u64,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    events: Vec<(u64, ObserverEvent)>,
    begun_ns: u64,
    sampled_ns: Vec<u64>,
}

impl Pair {
    fn new(there_ns: u64, back_ns: u64, offset_ns: i64) -> Self {
        let mut observer = RemoteObserver::new("ssh://s".into(), identity());
        observer.attach(BEGIN_NS);
        let agent = Agent::new(identity(), BEGIN_NS.checked_add_signed(offset_ns).expect("a clock"));
        Self {
            observer,
            agent,
            there_ns,
            back_ns,
            offset_ns,
            cut_ns: u64::MAX,
            now_ns: BEGIN_NS,
            number: 0,
            under_way: BinaryHeap::new(),
            events: Vec::new(),
            begun_ns: 0,
            sampled_ns: Vec::new(),
        }
    }

    fn own_ns(&self) -> u64 {
        self.now_ns.checked_add_signed(self.offset_ns).expect("a clock")
    }

    /// Puts what both say on its way, unless the path is cut.
    fn send(&mut self) {
        let ways =
            [(true, self.observer.take_output(), self.there_ns), (false, self.agent.take_output(), self.back_ns)];
        for (is_there, bytes, delay_ns) in ways {
            if !bytes.is_empty() && self.now_ns < self.cut_ns {
                self.number += 1;
                self.under_way.push(Reverse((self.now_ns + delay_ns, self.number, is_there, bytes)));
            }
        }
        while let Some(event) = self.observer.take_event() {
            self.events.push((self.now_ns, event));
        }
    }

    fn obey(&mut self) {
        let own_ns = self.own_ns();
        while let Some(order) = self.agent.take_order() {
            match order {
                Order::Observe(_) => self.agent.on_report(Report::Observing(Box::default()), own_ns),
                Order::BeginSamples => {
                    self.begun_ns = self.now_ns;
                    self.sampled_ns.clear();
                    self.agent.on_report(Report::SamplesBegun { at_ns: own_ns }, own_ns);
                }
                Order::Sample { phase } => {
                    let from_ns = self.sampled_ns.last().map_or(0, |at_ns| at_ns - self.begun_ns);
                    self.sampled_ns.push(self.now_ns);
                    let sample = Sample::empty(phase, from_ns, self.now_ns - self.begun_ns);
                    self.agent.on_report(Report::Sample(Box::new(sample)), own_ns);
                }
                Order::Done => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Lets so much time pass.
    fn pass(&mut self, ns: u64) {
        let until_ns = self.now_ns + ns;
        loop {
            self.send();
            let arrival_ns = self.under_way.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
            let own_ns = self.agent.deadline_ns().checked_add_signed(-self.offset_ns).expect("a clock");
            let next_ns = arrival_ns.min(own_ns).min(self.observer.deadline_ns()).max(self.now_ns);
            if next_ns > until_ns {
                self.now_ns = until_ns;
                return;
            }
            // Time passes, whatever is due.
            self.now_ns = if arrival_ns <= next_ns { next_ns } else { next_ns.max(self.now_ns + 1) };
            if arrival_ns <= self.now_ns {
                let Some(Reverse((.., is_there, bytes))) = self.under_way.pop() else { return };
                let (now_ns, own_ns) = (self.now_ns, self.own_ns());
                if is_there {
                    self.agent.on_bytes(&bytes, own_ns, own_ns).expect("the coordinator keeps to the protocol");
                    self.obey();
                } else {
                    self.observer.on_bytes(&bytes, now_ns, now_ns);
                }
            }
            self.observer.on_time(self.now_ns);
            let own_ns = self.own_ns();
            let _ = self.agent.on_time(own_ns);
        }
    }

    /// Before a load: how far off the agent's clock may be.
    fn prepare(&mut self) -> u64 {
        self.events.clear();
        self.observer.observe(whom(std::net::SocketAddr::from(([10, 0, 0, 1], 80))), self.now_ns);
        (0..20)
            .find_map(|_| {
                self.pass(NS_PER_S);
                self.events.iter().find_map(|(_, event)| match event {
                    ObserverEvent::Ready { clock_error_ns, round_trip_ns, .. } => {
                        assert!(*round_trip_ns <= self.there_ns + self.back_ns, "the shortest of them");
                        Some(*clock_error_ns)
                    }
                    _ => None,
                })
            })
            .unwrap_or_else(|| panic!("{:?}", self.events))
    }

    fn load(&mut self, seconds: usize) {
        self.observer.begin();
        self.pass(NS_PER_S / 2);
        for second in 0..seconds {
            self.pass(NS_PER_S);
            self.observer.sample(if second == 0 { Phase::Warmup } else { Phase::Measure });
        }
        self.pass(NS_PER_S);
        self.observer.done();
    }

    fn samples(&self) -> Vec<Sample> {
        let sample = |event: &(u64, ObserverEvent)| match &event.1 {
            ObserverEvent::Sample(sample) => Some((**sample).clone()),
            _ => None,
        };
        self.events.iter().filter_map(sample).collect()
    }

    fn failed(&self) -> Option<(u64, String)> {
        self.events.iter().find_map(|(at_ns, event)| match event {
            ObserverEvent::Failed(FleetError::Lost { why, .. } | FleetError::Agent { why, .. }) => {
                Some((*at_ns, why.clone()))
            }
            _ => None,
        })
    }

    /// The agent says something of its own accord.
    fn says(&mut self, message: &OfAgent) {
        let mut bytes = Vec::new();
        assert!(frame::write(&mut bytes, &serde_json::to_vec(message).expect("a message"), frame::OF_AGENT_MAX));
        self.observer.on_bytes(&bytes, self.now_ns, self.now_ns);
        self.send();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// On any path, whatever the clocks.
    #[test]
    fn samples_are_put_on_the_coordinators_clock_within_the_stated_error(
        there_ns in 0_u64..200_000_000,
        back_ns in 0_u64..200_000_000,
        offset_ns in -DAY_NS..DAY_NS,
    ) {
        let mut pair = Pair::new(there_ns, back_ns, offset_ns);
        pair.pass(NS_PER_S);
        for seconds in [3, 2] {
            let error_ns = pair.prepare();
            prop_assert!(error_ns <= (there_ns + back_ns) / 2 + 1);
            pair.load(seconds);
            let begun = pair.events.iter().find_map(|(_, event)| match event {
                ObserverEvent::Begun { at_ns } => Some(*at_ns),
                _ => None,
            });
            let begun_ns = begun.expect("samples count");
            prop_assert!(begun_ns.abs_diff(pair.begun_ns) <= error_ns);
            let samples = pair.samples();
            prop_assert_eq!(samples.len(), seconds);
            prop_assert_eq!(samples[0].phase, Phase::Warmup);
            for (sample, real_ns) in samples.iter().zip(&pair.sampled_ns) {
                prop_assert_eq!(sample.source, SourceId::SERVER_HOST);
                prop_assert!((begun_ns + sample.to_ns).abs_diff(*real_ns) <= error_ns);
            }
        }
    }
}

/// Connections took 20 s to open, and "its clock tells what no clock can" ended each load.
#[test]
fn a_clock_that_has_run_ahead_since_it_was_compared_loses_nobody() {
    let mut pair = Pair::new(MS / 10, MS / 10, DAY_NS);
    pair.pass(NS_PER_S);
    pair.prepare();
    pair.pass(20 * NS_PER_S);
    // 50 ppm.
    pair.offset_ns += 1_000_000;
    pair.load(3);
    assert_eq!((pair.failed(), pair.samples().len()), (None, 3));
}

#[test]
fn a_silent_agent_is_lost_within_five_seconds_also_when_it_observes() {
    let mut pair = Pair::new(MS, MS, DAY_NS);
    pair.pass(NS_PER_S);
    pair.prepare();
    pair.observer.begin();
    pair.pass(NS_PER_S);
    pair.cut_ns = pair.now_ns;
    // The agent ends some seconds later.
    pair.pass(6 * NS_PER_S);
    let (at_ns, why) = pair.failed().expect("it is lost");
    assert!(at_ns <= pair.cut_ns + 5 * NS_PER_S + 2 * MS, "after {} ns", at_ns - pair.cut_ns);
    assert_eq!(why, "nothing came from it for 5 s: machine, network or connection may be gone");
}

#[test]
fn samples_that_nobody_asked_for_or_that_no_machine_makes_lose_the_agent() {
    let under_load = || {
        let mut pair = Pair::new(MS, MS, -DAY_NS);
        pair.pass(NS_PER_S);
        pair.prepare();
        pair.observer.begin();
        pair.pass(NS_PER_S);
        pair
    };
    let why = |message: OfAgent, is_asked: bool| {
        let mut pair = under_load();
        if is_asked {
            pair.observer.sample(Phase::Measure);
        }
        pair.says(&message);
        pair.failed().map(|(_, why)| why)
    };
    let sample = |from_ns, to_ns| OfAgent::Sample(Box::new(Sample::empty(Phase::Measure, from_ns, to_ns)));
    assert_eq!(why(sample(0, NS_PER_S), true), None);
    assert_eq!(why(sample(0, NS_PER_S), false).as_deref(), Some("it sent a message that has no place now"));
    assert_eq!(why(sample(5, 4), true).as_deref(), Some("it sent a sample that ends before it begins"));
    assert_eq!(why(sample(0, 3600 * NS_PER_S), true).as_deref(), Some("it sent a sample of time that has not come"));
    let mut named = Sample::empty(Phase::Measure, 0, 1);
    named.unavailable.insert("x".repeat(5000), String::new());
    assert_eq!(why(OfAgent::Sample(Box::new(named)), true).as_deref(), Some("it sent more names than a machine has"));
}

#[test]
fn an_agent_of_another_build_or_one_that_finds_no_server_is_told_why() {
    let mut pair = Pair::new(MS, MS, 0);
    pair.pass(NS_PER_S);
    pair.observer.observe(whom(std::net::SocketAddr::from(([10, 0, 0, 1], 80))), pair.now_ns);
    pair.says(&OfAgent::Failed { is_target: true, why: "no process\nis named so".into() });
    assert_eq!(pair.failed().map(|(_, why)| why).as_deref(), Some("no process"));
    let mut observer = RemoteObserver::new("ssh://s".into(), identity());
    observer.attach(0);
    let mut other = identity();
    other.version = "9.9.9".into();
    observer.on_bytes(&Agent::new(other, 0).take_output(), 0, 0);
    let Some(ObserverEvent::Failed(error)) = observer.take_event() else { panic!("it is of another build") };
    assert!(error.to_string().contains("plimsoll 9.9.9"), "{error}");
}
