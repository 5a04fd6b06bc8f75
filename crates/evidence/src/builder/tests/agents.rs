//! What agents did, each by itself.

use super::*;

/// A second of the window with the parts of these agents.
fn tick_of(from_s: u64, parts: &[(u16, u64)]) -> Event {
    let mut tick = Tick::empty(Phase::Measure, from_s * NS_PER_S, (from_s + 1) * NS_PER_S);
    let share = |(source, sent): &(u16, u64)| AgentShare {
        source: SourceId(*source),
        sent: *sent,
        completed: *sent,
        good: *sent,
        failed: 0,
        response_p50_ns: 1_000_000 * u64::from(*source),
        response_p99_ns: 2_000_000,
    };
    tick.agents = parts.iter().map(share).collect();
    tick.flow.sent = parts.iter().map(|(_, sent)| sent).sum();
    Event::Tick(Box::new(tick))
}

/// Figures of an agent had the warm-up in them, which no other line of a result has; and nothing told how much of a load a lost
/// one had left out.
#[test]
fn what_agents_did_in_the_window_and_what_of_it_is_missing_is_counted() {
    let start = |source, threads| AgentStart { source: SourceId(source), threads, ..AgentStart::default() };
    let run = |lost_from_s: u64| {
        let mut builder = EvidenceBuilder::new(fixed());
        builder.apply(&Event::AgentsStarted { agents: vec![start(1, 3), start(2, 1)] });
        let mut warmup = Tick::empty(Phase::Warmup, 0, NS_PER_S);
        warmup.agents =
            if let Event::Tick(tick) = tick_of(0, &[(1, 900), (2, 900)]) { tick.agents } else { Vec::new() };
        builder.apply(&Event::Tick(Box::new(warmup)));
        (1..9).for_each(|s| builder.apply(&tick_of(s, if s < lost_from_s { &[(1, 30), (2, 10)] } else { &[(2, 10)] })));
        builder
    };
    let evidence = run(7).evidence();
    let windows: Vec<_> = evidence.agents.iter().map(|agent| agent.window.expect("it is counted")).collect();
    assert_eq!((windows[0].sent, windows[0].missing_ns), (6 * 30, 2 * NS_PER_S));
    assert_eq!((windows[1].sent, windows[1].good, windows[1].missing_ns), (8 * 10, 8 * 10, 0));
    let lost: Vec<_> = evidence.seconds.iter().map(|second| second.lost_share).collect();
    assert_eq!(lost, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.75, 0.75], "the first agent had three of four load threads");
    let median = |agent: usize| windows[agent].second_p50_ns.expect("more than five seconds").value;
    assert_eq!((median(0), median(1)), (1e6, 2e6));
    let mut both = run(9);
    both.merge(&run(3));
    let window = both.evidence().agents[0].window.expect("it is counted");
    assert_eq!((window.sent, window.missing_ns), (8 * 30 + 2 * 30, 6 * NS_PER_S));
    assert!(window.second_p50_ns.is_some_and(|median| median.value == 1e6));
}

/// Rules about the client had nothing to go by where agents generated the load.
#[test]
fn what_an_agent_sees_of_its_machine_is_its_own() {
    let seen_by = |address: &str| {
        let target = Target::at(address.parse().expect("an address"));
        let mut builder = EvidenceBuilder::new(Plan { target, ..fixed() });
        let agents = vec![AgentStart { source: SourceId(1), threads: 1, ..AgentStart::default() }];
        builder.apply(&Event::AgentsStarted { agents });
        builder.apply(&tick_of(0, &[(1, 10)]));
        let mut sample = model::Sample::empty(Phase::Measure, 0, NS_PER_S);
        (sample.source, sample.machine) = (SourceId(1), Some(model::MachineCpu::default()));
        builder.apply(&Event::Observed(Box::new(sample)));
        builder.evidence()
    };
    let elsewhere = seen_by("192.0.2.1:80");
    assert!(elsewhere.agents[0].machine.as_ref().is_some_and(|seen| seen.machine.is_some() && seen.seconds.is_empty()));
    assert!(elsewhere.observed.is_none_or(|seen| seen.machine.is_none()), "it is not the coordinator's");
    assert_eq!(seen_by("127.0.0.1:80").agents[0].machine, None, "that is the machine of the server too");
}
