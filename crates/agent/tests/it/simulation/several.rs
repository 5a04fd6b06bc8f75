//! Several loads on the same agents, one after the other.

use super::sim::{BEGIN_NS, DAY_NS, Due, Load, MS, Path, Sim};
use agent::{FleetEvent, OnLoss};
use model::{Event, NS_PER_S};

/// Events of one load.
fn of_load<T>(events: &[(u64, FleetEvent)], find: impl Fn(&Event) -> Option<T>) -> Vec<T> {
    let load = |(_, event): &(u64, FleetEvent)| if let FleetEvent::Load(event) = event { find(event) } else { None };
    events.iter().filter_map(load).collect()
}

/// Requests sent as the ticks say, and as each agent's end says.
fn sent(events: &[(u64, FleetEvent)]) -> (u64, Vec<u64>) {
    let ticks = of_load(events, |event| if let Event::Tick(tick) = event { Some(tick.flow.sent) } else { None });
    let ends =
        of_load(events, |event| if let Event::AgentsEnded { agents } = event { Some(agents.clone()) } else { None });
    (ticks.iter().sum(), ends.iter().flatten().map(|end| end.flow.sent).collect())
}

fn interrupted(events: &[(u64, FleetEvent)]) -> bool {
    let ends =
        of_load(events, |event| if let Event::Ended { interrupted, .. } = event { Some(*interrupted) } else { None });
    assert_eq!(ends.len(), 1, "it ends once");
    ends[0]
}

#[test]
fn the_same_agents_carry_one_load_after_the_other_and_each_is_its_own() {
    let mut sim = Sim::new(vec![Path::of(1, 1, DAY_NS), Path::of(25, 40, 0)], OnLoss::End, 3);
    // Longer than any agent or coordinator waits for a sign of life.
    let pause_ns = 60 * NS_PER_S;
    let stopped = Load { seconds: 50, pause_ns, stop_ns: Some(1_500 * MS) };
    sim.later.extend([Load { pause_ns, ..Load::of(2) }, stopped, Load::of(4)]);
    sim.run(400);
    let loads = sim.each();
    let told: Vec<_> = loads.iter().map(|load| (sent(load), interrupted(load))).collect();
    let of = |seconds: u64, interrupted| ((20 * seconds, vec![10 * seconds; 2]), interrupted);
    assert_eq!(told, [of(3, false), of(2, false), of(2, true), of(4, false)]);
    assert!(sim.gone.iter().all(Option::is_none) && sim.loss().is_none());
    assert!(
        !sim.events.iter().any(|(_, event)| matches!(event, FleetEvent::Note(_))),
        "nobody was late: {:?}",
        sim.events
    );
    for load in loads {
        assert_eq!(of_load(load, |event| matches!(event, Event::AgentsStarted { .. }).then_some(())).len(), 1);
    }
}

#[test]
fn clocks_are_compared_anew_before_each_load() {
    let mut sim = Sim::new(vec![Path::of(1, 1, 0)], OnLoss::End, 1);
    sim.later.push_back(Load { pause_ns: 30 * NS_PER_S, ..Load::of(1) });
    // Between both the clock of the agent is set ahead.
    let ahead_ns = 700 * MS as i64;
    sim.at(BEGIN_NS + 15 * NS_PER_S, Due::Ahead(0, ahead_ns));
    sim.run(100);
    let offset = |load: &[(u64, FleetEvent)]| {
        of_load(
            load,
            |event| if let Event::AgentsStarted { agents } = event { Some(agents[0].offset_ns) } else { None },
        )
    };
    let offsets: Vec<i64> = sim.each().into_iter().flat_map(offset).collect();
    assert_eq!(offsets.len(), 2);
    assert!(offsets[0].abs() < 2 * MS as i64 && (offsets[1] - ahead_ns).abs() < 2 * MS as i64, "{offsets:?}");
}

#[test]
fn an_agent_that_is_lost_between_two_loads_fails_the_next() {
    for on_loss in [OnLoss::End, OnLoss::Continue] {
        let closed = Path { closed_ns: 10_000 * MS, ..Path::of(1, 1, 0) };
        let cut = Path { cut_ns: 10_000 * MS, ..Path::of(1, 1, 0) };
        for (path, why) in [(closed, "its stream ended"), (cut, "nothing came from it for 5 s")] {
            let mut sim = Sim::new(vec![Path::of(1, 1, 0), path], on_loss, 2);
            sim.later.extend([Load { pause_ns: 30 * NS_PER_S, ..Load::of(2) }, Load::of(2)]);
            sim.run(100);
            assert_eq!(sim.each().len(), 1, "what was measured stays");
            let error = sim.error();
            assert!(error.starts_with(&format!("agent ssh://h1 was lost: {why}")), "{error}");
        }
    }
}

#[test]
fn an_agent_that_is_lost_while_the_second_load_is_prepared_fails_it() {
    // The first is over after 4.08 s; of the second clocks are compared until 0.08 s after its begin.
    let closed = Path { closed_ns: 34_120 * MS, ..Path::of(1, 1, 0) };
    let mut sim = Sim::new(vec![Path::of(1, 1, 0), closed], OnLoss::Continue, 3);
    sim.later.push_back(Load { pause_ns: 30 * NS_PER_S, ..Load::of(3) });
    sim.run(100);
    assert_eq!(sim.each().len(), 1);
    assert_eq!(sim.error(), "agent ssh://h1 was lost: its stream ended");
    assert!(sim.loss().is_none(), "no load had begun");
}

#[test]
fn an_agent_that_is_lost_in_the_second_load_ends_it_and_no_third_begins() {
    for (on_loss, seconds) in [(OnLoss::End, 3), (OnLoss::Continue, 20)] {
        let closed = Path { closed_ns: 17_600 * MS, ..Path::of(1, 1, 0) };
        let mut sim = Sim::new(vec![Path::of(1, 1, 0), closed], on_loss, 3);
        sim.later.extend([Load { pause_ns: 10 * NS_PER_S, ..Load::of(20) }, Load::of(3)]);
        sim.run(100);
        let loads = sim.each();
        assert_eq!((loads.len(), sent(loads[0]), interrupted(loads[0])), (2, (60, vec![30, 30]), false));
        let (all, each) = sent(loads[1]);
        assert_eq!((all, each[0]), (each.iter().sum(), 10 * seconds), "ticks of both stay: {each:?}");
        assert!(interrupted(loads[1]) && each[1] > 0 && each[1] < 10 * 20, "{each:?}");
        assert_eq!(sim.error(), "agent ssh://h1 was lost: its stream ended");
    }
}
