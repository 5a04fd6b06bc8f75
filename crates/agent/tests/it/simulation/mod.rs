//! A coordinator and its agents in virtual time, over paths with delays.

mod observer;
mod probe;
mod server;
mod several;
mod sim;

use agent::message::{OfAgent, TickMessage};
use agent::segment::divide;
use agent::testing::{identity, plan};
use agent::totals::Totals;
use agent::{Agent, Fleet, FleetError, FleetEvent, Gone, Hello, OnLoss, Order, Report, frame};
use model::{Event, NS_PER_S, Phase, Sample, SourceId, ThreadUse, Tick};
use proptest::prelude::*;
use sim::{BEGIN_NS, DAY_NS, Due, MS, Path, Sim};

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
    assert_eq!(why, "ssh://h1: nothing came from it for 5 s: machine, network or connection may be gone");
    assert!(sim.events.iter().any(|(_, e)| matches!(e, FleetEvent::Note(text) if text.contains("ssh://h1 is late"))));
    let ends = sim.ends();
    assert!(ends[0].lost.is_none() && ends[1].lost.is_some());
    assert!(ends[0].flow.sent > ends[1].flow.sent && ends[1].flow.sent > 0);
    let sent: u64 = sim.ticks().iter().map(|tick| tick.flow.sent).sum();
    assert_eq!(sent, ends[0].flow.sent + ends[1].flow.sent, "ticks of both stay");
    assert!(matches!(sim.loads().last(), Some((_, Event::Ended { interrupted: true, .. }))));
}

#[test]
fn ticks_are_told_after_those_who_carry_the_load_also_when_one_is_lost_before_it_starts() {
    // It stays alive, and never tells that its load has started.
    let mute = Path { mute_s: 0, ..Path::of(1, 1, 0) };
    for on_loss in [OnLoss::End, OnLoss::Continue] {
        let mut sim = Sim::new(vec![Path::of(1, 1, 0), mute.clone()], on_loss, 30);
        sim.run(100);
        let place = |is_it: fn(&Event) -> bool| sim.loads().position(|(_, event)| is_it(event)).expect("it is told");
        let started = place(|event| matches!(event, Event::AgentsStarted { .. }));
        assert!(started < place(|event| matches!(event, Event::Tick(_))), "{on_loss:?}");
    }
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
fn an_agent_that_stays_alive_and_stops_delivering_its_part_is_lost_and_the_load_has_an_end() {
    for (on_loss, mute_s) in [(OnLoss::End, 3), (OnLoss::Continue, 3), (OnLoss::End, 0)] {
        let mute = Path { mute_s, ..Path::of(1, 1, DAY_NS) };
        let mut sim = Sim::new(vec![Path::of(1, 1, 0), mute], on_loss, 30);
        sim.run(100);
        let (at_ns, why) = sim.loss().expect("it was noticed");
        assert!(at_ns <= BEGIN_NS + (mute_s + 12) * NS_PER_S, "after {} ns", at_ns - BEGIN_NS);
        assert!(why.starts_with("ssh://h1: it is there, but nothing of its load came for 10 s"), "{why}");
        let ends = sim.ends();
        assert_eq!((ends[0].lost.is_none(), ends[1].flow.sent), (true, 10 * mute_s));
        let sent: u64 = sim.ticks().iter().map(|tick| tick.flow.sent).sum();
        assert_eq!(sent, ends[0].flow.sent + ends[1].flow.sent, "ticks of both stay");
        assert!(matches!(sim.loads().last(), Some((_, Event::Ended { interrupted: true, .. }))));
    }
}

#[test]
fn an_agent_whose_clock_runs_ahead_is_not_lost_in_a_long_load() {
    // In the end it is 5.8 s ahead.
    let fast = Path { fast_ppm: 900, ..Path::of(1, 1, 0) };
    let mut sim = Sim::new(vec![Path::of(1, 1, 0), fast], OnLoss::End, 6_500);
    sim.run(7_000);
    assert_eq!((sim.loss(), sim.ticks().len()), (None, 6_500));
}

#[test]
fn the_drift_of_a_clock_is_that_of_the_end_of_the_load() {
    let mut sim = Sim::new(vec![Path::of(1, 1, 0)], OnLoss::End, 30);
    let ahead_ns = 700 * MS as i64;
    sim.at(BEGIN_NS + 15 * NS_PER_S, Due::Ahead(0, ahead_ns));
    sim.run(100);
    let drift_ns = sim.ends()[0].drift_ns;
    assert!((drift_ns - ahead_ns).abs() < 3 * MS as i64, "{drift_ns} ns");
}

#[test]
fn agents_that_are_not_there_in_time_are_named() {
    let mut fleet = Fleet::new(["a", "b", "c"].map(str::to_owned), identity(), OnLoss::End);
    fleet.attach(1, 0);
    fleet.attach(2, 0);
    fleet.on_bytes(1, &Agent::new(identity(), 0).take_output(), 0, 0);
    fleet.give_up("it was not there in time");
    let Some(FleetEvent::Failed(error)) = fleet.take_event() else { panic!("two are missing") };
    assert_eq!(error.to_string(), "agent a, c: it was not there in time");
}

/// Of three hosts that could not be reached one was named: with twenty that takes twenty attempts.
#[test]
fn all_that_are_missing_are_named_and_who_is_slow_is_not_waited_for_for_long() {
    let missing = |are_slow: bool| {
        let mut fleet = Fleet::new(["a", "b", "c", "d"].map(str::to_owned), identity(), OnLoss::End);
        fleet.on_end(0, "no route", 5);
        fleet.attach(1, 6);
        fleet.on_bytes(1, &Agent::new(identity(), 6).take_output(), 7, 7);
        fleet.on_end(2, "closed", 8);
        assert_eq!(fleet.take_event(), None);
        if are_slow {
            assert_eq!(fleet.deadline_ns(), (NS_PER_S + 6).min(11 * NS_PER_S + 5));
            fleet.on_time(11 * NS_PER_S + 5);
        } else {
            fleet.on_end(3, "refused", 9);
        }
        let Some(FleetEvent::Failed(error)) = fleet.take_event() else { panic!("it fails") };
        error.to_string()
    };
    assert_eq!(missing(false), "agent a: no route; agent c: closed; agent d: refused");
    assert!(missing(true).starts_with("agent a: no route; agent "), "{}", missing(true));
}

#[test]
fn nothing_is_due_while_the_hello_of_an_agent_is_awaited() {
    let mut fleet = Fleet::new(["a".to_owned()], identity(), OnLoss::End);
    fleet.attach(0, 0);
    for now_ns in (1..50).map(|s| s * NS_PER_S) {
        fleet.on_time(now_ns);
        assert!(fleet.deadline_ns() > now_ns, "after {} s", now_ns / NS_PER_S);
    }
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
    assert!(error.starts_with("agent ssh://h1: it is plimsoll 9.9.9 (protocol 3, build cdcdcdcdcdcd)"), "{error}");
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
                    agent.on_report(
                        Report::Ready {
                            requested: 1,
                            established: 1,
                            took_ns: 1,
                            fruitless: Default::default(),
                            tls: None,
                        },
                        now_ns,
                    );
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
    for message in [
        OfAgent::Warmed { at_ns: u64::MAX },
        OfAgent::Started { attempt: 1, late_ns: 1 << 57 },
        OfAgent::Ready { requested: 1, established: 1, took_ns: u64::MAX, fruitless: Default::default(), tls: None },
    ] {
        assert_eq!(loss(&[message]), "it sent numbers that no load has", "what was recorded of it could not be read");
    }
    let early = Tick { to_ns: 3600 * NS_PER_S, from_ns: 3599 * NS_PER_S, ..tick() };
    assert_eq!(loss(&[told(0, &early)]), "it sent a tick of time that has not come");
    let twice = after_the_start(&[OfAgent::Ready {
        requested: 1,
        established: 1,
        took_ns: 1,
        fruitless: Default::default(),
        tls: None,
    }]);
    assert!(twice.iter().any(|(_, e)| matches!(e, FleetEvent::Load(Event::AgentLost { .. }))));
}

/// Nothing was known of the machines of the agents.
#[test]
fn an_agent_tells_of_its_machine_once_a_second_and_by_its_own_number() {
    let told = OfAgent::Tick(Box::new(TickMessage::new(0, &tick())));
    let seen = |from_ns, to_ns| OfAgent::Sample(Box::new(Sample::empty(Phase::Measure, from_ns, to_ns)));
    let events = after_the_start(&[told.clone(), seen(0, NS_PER_S)]);
    let observed: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            FleetEvent::Load(Event::Observed(sample)) => Some((sample.source, sample.to_ns)),
            _ => None,
        })
        .collect();
    assert_eq!(observed, [(SourceId(1), NS_PER_S)]);
    assert_eq!(loss(&[seen(0, NS_PER_S)]), "it sent more samples than ticks");
    assert_eq!(loss(&[told.clone(), seen(0, 3600 * NS_PER_S)]), "it sent a sample of time that has not come");
    assert_eq!(loss(&[told, seen(NS_PER_S, 0)]), "it sent a sample that ends before it begins");
}

#[test]
fn a_load_that_fails_on_one_agent_names_it_and_its_reason() {
    let events =
        after_the_start(&[OfAgent::Failed { is_target: true, why: "none of 4 connections\ncould be opened".into() }]);
    let error = FleetError::Agent { name: "a".into(), why: "none of 4 connections".into(), is_target: true };
    assert_eq!(events.last().map(|(_, event)| event.clone()), Some(FleetEvent::Failed(error)));
}
