//! Evidence of constructed event streams.

mod agents;

use super::*;
use crate::carried::carried_over;
use model::{
    AGENTS_MAX, AgentShare, AgentStart, Basis, Cause, Cohort, Counts, Flow, Fruitless, SLICE_NS, ServerStatus,
    SliceAccount, SliceFlow, StatusLook, Stop, Target, TlsSession,
};

fn plan(warmup: Warmup) -> Plan {
    let target = Target::at("127.0.0.1:80".parse().unwrap());
    let stop = Stop::Duration { duration_ns: 10 * NS_PER_S };
    Plan { warmup, ..Plan::new(target, Load::Closed { connections: 4 }, stop) }
}

fn fixed() -> Plan {
    plan(Warmup::Fixed { duration_ns: NS_PER_S })
}

/// Response and service times of a tick.
fn times(values: impl IntoIterator<Item = u64>) -> Histograms {
    let mut h = MergedHistogram::default();
    values.into_iter().for_each(|v| h.record(v));
    Histograms { response: h.clone(), service: h, ..Histograms::default() }
}

/// A tick from `from_ms` to `to_ms` with `good` responses of 10 ms each.
fn tick(phase: Phase, from_ms: u64, to_ms: u64, good: u64) -> Tick {
    let of_window = if phase == Phase::Warmup { 0 } else { good };
    Tick {
        flow: Flow { sent: good, completed: good, good, outstanding_ns: good * 10_000_000, ..Flow::default() },
        cohort: Cohort {
            counts: Counts { planned: of_window, completed: of_window, good: of_window, ..Counts::default() },
            ..Cohort::default()
        },
        threads: vec![ThreadUse {
            cpu_ns: (to_ms - from_ms) * 400_000,
            wall_ns: (to_ms - from_ms) * 1_000_000,
            busy_max: 0.4,
        }],
        response_p50_ns: 10_000_000,
        response_p99_ns: 11_000_000,
        late_ns: 3,
        sends_ns: vec![from_ms * 1_000_000],
        histograms: times((0..of_window).map(|_| 10_000_000)),
        ..Tick::empty(phase, from_ms * 1_000_000, to_ms * 1_000_000)
    }
}

fn gather(plan: Plan, events: impl IntoIterator<Item = Event>) -> EvidenceBuilder {
    let mut gather = EvidenceBuilder::new(plan);
    events.into_iter().for_each(|event| gather.apply(&event));
    gather
}

/// Two seconds of warm-up stood in no line of a result.
#[test]
fn all_that_was_sent_counts_whatever_it_was_sent_for() {
    let probe = |sent| {
        let probe = serde_json::json!({ "fetches": [], "body": "stable", "redirects": [], "sent": sent });
        Event::Probed(serde_json::from_value(probe).unwrap())
    };
    let load = |sent: Option<u64>| {
        let told =
            [tick(Phase::Warmup, 0, 1000, 5), tick(Phase::Measure, 1000, 2000, 10), tick(Phase::Drain, 2000, 2100, 2)];
        gather(fixed(), [probe(sent)].into_iter().chain(ticks(told)))
    };
    let mut first = load(Some(3));
    assert_eq!(first.sent_in_all(), Some(SentInAll { probe: 3, warmup: 5, window: 10, after: 2 }));
    first.merge(&load(Some(0)));
    assert_eq!(first.sent_in_all(), Some(SentInAll { probe: 3, warmup: 10, window: 20, after: 4 }));
    first.merge(&load(None));
    assert_eq!(first.sent_in_all(), None, "one of them had not counted its probe");
}

#[test]
fn connections_that_came_to_nothing_are_counted_in_every_phase() {
    let lost = |reset, refused| Fruitless { reset, refused, ..Fruitless::default() };
    let connected = Event::Connected { requested: 4, established: 3, took_ns: 1, fruitless: lost(5, 0), tls: None };
    let mut warmup = tick(Phase::Warmup, 0, 1000, 0);
    (warmup.flow.opened, warmup.flow.fruitless) = (2, lost(1, 4));
    let gathered = gather(fixed(), [connected, Event::Tick(Box::new(warmup))]);
    let connections = gathered.evidence().connections;
    assert_eq!(connections.fruitless, lost(6, 4));
    assert_eq!(connections.attempts, Some(8 + 6), "those that were reset in the load had been opened");
}

fn ticks(ticks: impl IntoIterator<Item = Tick>) -> Vec<Event> {
    let mut events =
        vec![Event::Connected { requested: 4, established: 4, took_ns: 1, fruitless: Default::default(), tls: None }];
    events.extend(ticks.into_iter().map(|t| Event::Tick(Box::new(t))));
    events.push(Event::Ended { at_ns: 0, interrupted: false });
    events
}

/// 49 % of the bodies that were looked at were wrong, and 11,450/s was printed: one in 17 is looked at.
#[test]
fn goodput_leaves_out_what_is_wrong_among_the_bodies_that_nobody_checked() {
    let mut plan = fixed();
    plan.requests[0].contract.body_hash = Some(1);
    let second = |n: u64| {
        let mut one = tick(Phase::Measure, n * 1000, (n + 1) * 1000, 1_700 + n % 3);
        let (checked, wrong) = (100, 49);
        one.flow.good -= wrong;
        one.cohort.counts.good -= wrong;
        one.cohort.counts.body_checked = checked;
        one.cohort.failures.insert("contract.hash".into(), wrong);
        one
    };
    let builder = gather(plan, ticks((1..31).map(second)));
    let evidence = builder.evidence();
    let goodput = goodput(&evidence);
    assert!((goodput.value - 1_701.0 * 0.51).abs() < 0.5, "{goodput:?}");
    // 1.96 standard errors of a share of 0.49 among 3,000 are 0.018.
    let half = 1_651.0 * 0.018;
    for bound in [goodput.low.map(|low| goodput.value - low), goodput.high.map(|high| high - goodput.value)] {
        assert!(bound.is_some_and(|apart| (apart / half - 1.0).abs() < 0.1), "{goodput:?}");
    }
    assert_eq!(builder.goodput(), goodput);
    assert!((builder.goodput_per_s() - goodput.value).abs() < 1e-6 && evidence.cohort.failed() == 30 * 49);
    let mut twice = builder.clone();
    twice.merge(&builder);
    assert!((twice.goodput().value - goodput.value).abs() < 0.5, "{:?}", twice.goodput());
}

/// 210/s of 192/s that were scheduled: what had piled up in the warm-up was answered in the window.
#[test]
fn answers_to_requests_of_the_warm_up_are_no_goodput_of_the_window() {
    let load = Load::Open { rate_per_s: 192.0, arrivals: model::Arrivals::Constant, connections: 100 };
    let with = |carried: u64, load: Load| {
        let second = |n: u64| {
            let mut one = tick(Phase::Measure, n * 1000, (n + 1) * 1000, 192);
            let carried = if n < 5 { carried } else { 0 };
            (one.flow.completed, one.flow.good) = (192 + carried, 192 + carried);
            one
        };
        gather(Plan { load, ..fixed() }, ticks((1..31).map(second)))
    };
    let builder = with(130, load);
    let evidence = builder.evidence();
    assert_eq!((evidence.flow.good, carried_over(&evidence)), (30 * 192 + 4 * 130, 4 * 130));
    for per_s in [goodput(&evidence).value, builder.goodput().value, builder.goodput_per_s()] {
        assert!((per_s - 192.0).abs() < 1e-6, "{per_s}");
    }
    assert_eq!(carried_over(&with(3, load).evidence()), 0, "a few are always in flight");
    let closed = with(130, Load::Closed { connections: 4 }).evidence();
    assert!(carried_over(&closed) == 0 && goodput(&closed).value > 192.0);
}

#[test]
fn only_the_window_counts_for_rates_and_all_of_the_cohort_for_latency() {
    let mut drain = tick(Phase::Drain, 3000, 3400, 7);
    drain.cohort.failures.insert("first_byte.timeout".into(), 1);
    drain.cohort.counts.censored = 1;
    let e = gather(
        fixed(),
        ticks([
            tick(Phase::Warmup, 0, 1000, 50),
            tick(Phase::Measure, 1000, 2000, 100),
            tick(Phase::Measure, 2000, 3000, 102),
            drain,
        ]),
    )
    .evidence();
    assert_eq!(e.measured_ns, 2 * NS_PER_S);
    assert_eq!((e.flow.good, e.flow.completed), (202, 202));
    assert_eq!((e.cohort.counts.planned, e.cohort.counts.censored, e.cohort.failed()), (209, 1, 1));
    assert_eq!((e.latency.response.n, e.latency.service.n, e.latency.slip_client.n), (209, 209, 0));
    assert_eq!(e.seconds.iter().map(|s| s.good).collect::<Vec<_>>(), [100, 102]);
    assert_eq!((e.seconds[0].from_ns, e.seconds[0].length_ns), (NS_PER_S, NS_PER_S));
    assert_eq!((e.threads.len(), e.threads[0].cpu_ns, e.threads[0].wall_ns), (1, 800_000_000, 2 * NS_PER_S));
    assert_eq!(throughput_per_s(&e), 101.0);
    assert_eq!(goodput(&e), Estimate { value: 101.0, low: None, high: None, n: 1 });
    assert!(!e.interrupted && e.settled);
}

#[test]
fn busy_share_needs_half_a_second() {
    let mut short = tick(Phase::Measure, 1000, 1499, 1);
    short.threads = vec![ThreadUse { cpu_ns: 499_000_000, wall_ns: 499_000_000, busy_max: 1.0 }];
    let e = gather(fixed(), ticks([tick(Phase::Measure, 0, 1000, 1), short])).evidence();
    assert!((e.threads[0].busy_max - 0.4).abs() < 1e-9);
    assert_eq!(e.threads[0].cpu_ns, 899_000_000);
    assert_eq!(e.seconds[1].busy_max, 1.0);
}

/// A connection that an open loop opens for its first request is not one that was lost.
#[test]
fn connections_opened_as_they_are_needed_are_no_reconnects() {
    let mut builder = EvidenceBuilder::new(fixed());
    builder.apply(&Event::Connected {
        requested: 1,
        established: 1,
        took_ns: 1,
        fruitless: Default::default(),
        tls: None,
    });
    let mut first = tick(Phase::Warmup, 0, 1_000, 1);
    first.flow.grown = 2;
    first.flow.opened = 1;
    let mut second = tick(Phase::Measure, 1_000, 2_000, 1);
    second.flow.opened = 2;
    builder.apply(&Event::Tick(Box::new(first)));
    builder.apply(&Event::Tick(Box::new(second)));
    let connections = builder.evidence().connections;
    assert_eq!((connections.opened, connections.grown, connections.reconnects), (4, 2, 1));
}

#[test]
fn reconnects_of_every_phase_count() {
    let phases = [(Phase::Warmup, 1), (Phase::Measure, 2), (Phase::Drain, 4)];
    let e = gather(
        fixed(),
        ticks(phases.map(|(phase, opened)| {
            let mut t = tick(phase, 0, 1000, 1);
            t.flow.opened = opened;
            t
        })),
    )
    .evidence();
    assert_eq!(
        e.connections,
        Connections {
            requested: 4,
            established: 4,
            opened: 11,
            reconnects: 7,
            attempts: Some(11),
            ..Connections::default()
        }
    );
}

/// One answer in 100 that comes after 300 ms is not "response times in steps of 3 ms".
#[test]
fn a_few_slow_answers_far_from_all_others_are_no_steps() {
    let fast = (0..990).map(|i| 1_000_000 + i % 90 * 1_000);
    let slow = (0..14).map(|i| 300_000_000 + i * 1_000_000);
    let (distinct, step_ns) = steps(&times(fast.chain(slow)).response);
    assert!((90..=100).contains(&distinct) && step_ns < 2_000, "{distinct} values, {step_ns} ns apart");
    let whole_ms = times((0..1_000).map(|i| (1 + i % 4) * 1_000_000));
    let (distinct, step_ns) = steps(&whole_ms.response);
    assert_eq!(distinct, 4);
    assert!(step_ns.abs_diff(1_000_000) < 5_000, "{step_ns} ns");
}

#[test]
fn handshakes_and_resumed_sessions_of_the_whole_run_count() {
    let session = TlsSession { version: "TLSv1.3".into(), cipher: "TLS_X".into(), resumed: 0 };
    let connected = Event::Connected {
        requested: 4,
        established: 4,
        took_ns: 1,
        fruitless: Default::default(),
        tls: Some(session.clone()),
    };
    let run = || {
        let phases = [Phase::Warmup, Phase::Measure, Phase::Drain];
        let ticks = phases.map(|phase| {
            let mut t = tick(phase, 0, 1000, 1);
            t.flow.resumed = 2;
            t.histograms.handshake.record(300_000);
            Event::Tick(Box::new(t))
        });
        gather(fixed(), [connected.clone()].into_iter().chain(ticks))
    };
    let mut all = run();
    all.merge(&run());
    let e = all.evidence();
    assert_eq!(e.tls, Some(TlsSession { resumed: 12, ..session }));
    assert_eq!(e.latency.handshake.n, 6);
}

#[test]
fn littles_law_holds_whatever_way_requests_end() {
    // 4 always in flight for 10 ms each: 400 end per second; 100 good, 200 break the contract, 100 time out
    let mut t = tick(Phase::Measure, 0, 1000, 0);
    t.flow = Flow { sent: 400, completed: 300, good: 100, failed: 300, ..Flow::default() };
    t.flow.outstanding_ns = 4 * NS_PER_S;
    t.histograms.service = times((0..400).map(|_| 10_000_000)).service;
    let e = gather(fixed(), ticks([t.clone()])).evidence();
    assert!((e.outstanding.mean - 4.0).abs() < 1e-9);
    assert!((e.outstanding.little / 4.0 - 1.0).abs() < 1e-3, "{:?}", e.outstanding);

    // who finds no connection never is in flight, and of those that are cut off nobody knows how long
    t.flow.failed += 1700;
    let failures = [("connect.refused", 1000), ("send.timeout", 600), ("first_byte.reset", 100)];
    t.cohort.failures = failures.map(|(name, n)| (name.to_owned(), n)).into();
    let broken = gather(fixed(), ticks([t])).evidence();
    assert_eq!(broken.outstanding, e.outstanding);
    assert_eq!(crate::cut_off(&broken), 100);
}

#[test]
fn goodput_has_an_interval_when_the_seconds_are_independent() {
    let seconds: Vec<Tick> = (0..20)
        .map(|i| {
            tick(
                Phase::Measure,
                i * 1000,
                (i + 1) * 1000,
                [990, 1004, 1010, 996, 1000, 985, 1012, 1003][i as usize % 8],
            )
        })
        .chain([tick(Phase::Measure, 20_000, 20_100, 0)])
        .collect();
    let estimate = gather(fixed(), ticks(seconds)).goodput();
    // the idle rest of a second pulls the value down by half a percent but is no sample of the rate
    assert!((estimate.value - 995.0).abs() < 5.0, "{estimate:?}");
    let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
    assert!(low < estimate.value && estimate.value < high && high - low < 20.0, "{estimate:?}");
    assert!((10..=20).contains(&estimate.n), "{estimate:?}");
}

#[test]
fn iterations_add_up_and_stay_apart() {
    let run = |good| gather(fixed(), ticks([tick(Phase::Measure, 0, 1000, good)]));
    let mut all = run(100);
    for good in [110, 90, 105, 95, 100] {
        all.merge(&run(good));
    }
    let e = all.evidence();
    assert_eq!((e.iterations, e.measured_ns, e.flow.good, e.latency.response.n), (6, 6 * NS_PER_S, 600, 600));
    assert_eq!(
        e.connections,
        Connections {
            requested: 4,
            established: 4,
            opened: 24,
            reconnects: 0,
            attempts: Some(24),
            ..Connections::default()
        }
    );
    assert_eq!(e.seconds.len(), 6);
    assert_eq!(e.threads[0].wall_ns, 6 * NS_PER_S);
    assert_eq!(all.iterations_per_s(), [100.0, 110.0, 90.0, 105.0, 95.0, 100.0]);
    let estimate = all.goodput();
    assert_eq!((estimate.value, estimate.n), (100.0, 6));
    assert!(estimate.low.unwrap() < 95.0 && estimate.high.unwrap() > 105.0);
    assert_eq!(goodput(&e), Estimate { value: 100.0, low: None, high: None, n: 6 });
    assert_eq!(all.histograms().response.count(), 600);
}

#[test]
fn merging_keeps_the_worst() {
    let mut all = gather(fixed(), ticks([]));
    let mut bad = gather(
        fixed(),
        [Event::Connected { requested: 4, established: 2, took_ns: 1, fruitless: Default::default(), tls: None }],
    );
    bad.apply(&Event::Warmed { at_ns: 0, settled: false });
    all.merge(&bad);
    let e = all.evidence();
    assert!(!e.settled && e.interrupted);
    assert_eq!((e.connections.established, e.connections.opened), (2, 6));
}

#[test]
fn what_has_not_been_seen_is_not_assumed() {
    let nothing = EvidenceBuilder::new(plan(Warmup::Auto)).evidence();
    assert!(nothing.interrupted && !nothing.settled);
    assert_eq!((goodput(&nothing).value, throughput_per_s(&nothing)), (0.0, 0.0));
    assert_eq!(nothing.outstanding, Outstanding::default());
    let warmed = gather(plan(Warmup::Auto), [Event::Warmed { at_ns: 1, settled: true }]);
    assert!(warmed.evidence().settled);
}

/// A second of ten slices with 100 good responses of 10 ms each; of slice `slow` all took 300 ms, and are set aside.
fn second_of_slices(second: u64, slow: Option<u64>) -> Tick {
    let first = 10 * second;
    let slices = (first..first + 10).map(|slice| SliceFlow {
        slice,
        good: if slow == Some(slice) { 10 } else { 100 },
        completed: 100,
        oldest_ns: slice * SLICE_NS,
    });
    let slices: Vec<_> = slices.collect();
    let good = slices.iter().map(|slice| slice.good).sum();
    let slow_ns = slow.map(|_| 300_000_000);
    Tick {
        slices,
        histograms: times((0..good).map(|n| slow_ns.filter(|_| n < 10).unwrap_or(10_000_000))),
        set_aside: times(slow_ns.into_iter().cycle().take(10)),
        ..tick(Phase::Measure, 1000 * second, 1000 * (second + 1), good)
    }
}

fn disturbed(slice: u64) -> Event {
    let taken_ns = [(Cause::ServerSteal, SLICE_NS)].into();
    Event::Disturbed { until_slice: slice + 1, slices: vec![SliceAccount { slice, taken_ns, others_ns: None }] }
}

#[test]
fn disturbed_time_is_in_neither_rate_nor_latencies_and_both_numbers_are_told() {
    let mut events = ticks([second_of_slices(1, None), second_of_slices(2, Some(25)), second_of_slices(3, None)]);
    events.push(disturbed(25));
    let gather = gather(fixed(), events);
    let evidence = gather.evidence();
    assert_eq!((goodput(&evidence).value, throughput_per_s(&evidence)), (1000.0, 1000.0));
    assert_eq!((evidence.latency.response.n, evidence.latency.response.max_ns / 1_000_000), (2900, 10));
    assert_eq!(gather.goodput().value, 1000.0);
    let seen = evidence.disturbance.unwrap();
    assert_eq!((seen.basis, seen.set_aside_ns, seen.set_aside_requests), (Basis::Clean, SLICE_NS, 10));
    assert_eq!((seen.whole.goodput_per_s, seen.whole.response_ns.max / 1_000_000), (970.0, 300));
    assert_eq!(evidence.cohort.counts.planned, 2910, "every request is in one count all the same");
    assert_eq!(evidence.seconds[1].clean_ns, 900_000_000);
}

/// 32 connections at 256 KiB/s each, whose responses take half a second: "each response takes 0 ns".
#[test]
fn responses_that_were_all_in_flight_in_disturbed_time_are_what_numbers_rest_on() {
    let all_aside = |second| {
        let tick = second_of_slices(second, None);
        Tick { set_aside: tick.histograms.clone(), ..tick }
    };
    let mut events = ticks([all_aside(1), all_aside(2)]);
    events.extend([12, 17, 22].map(disturbed));
    let gather = gather(fixed(), events);
    let evidence = gather.evidence();
    let seen = evidence.disturbance.as_ref().unwrap();
    assert_eq!((seen.basis, seen.set_aside_requests), (Basis::Whole, 2000));
    assert!(seen.clean_ns >= 1_000_000_000, "{seen:?}");
    assert_eq!((evidence.latency.response.n, evidence.latency.response.max_ns / 1_000_000), (2000, 10));
    assert!(evidence.service_bins.iter().any(|n| *n > 0));
    assert_eq!((goodput(&evidence).value, gather.goodput_per_s()), (1000.0, 1000.0));
}

#[test]
fn an_iteration_that_was_disturbed_all_the_time_does_not_count_beside_others() {
    let mut events = ticks([second_of_slices(1, None)]);
    events.extend((10..20).map(disturbed));
    let lost = gather(fixed(), events);
    assert!(lost.says_little() && lost.iterations_per_s() == [1000.0], "it is all there is");
    let mut quiet = vec![Event::Disturbed { until_slice: 9, slices: Vec::new() }];
    quiet.extend(ticks([second_of_slices(1, None), second_of_slices(2, Some(25))]));
    let mut sum = gather(fixed(), quiet);
    let alone = sum.iterations_per_s();
    sum.merge(&lost);
    assert_eq!((sum.iterations_per_s(), sum.says_little()), (alone, false));
    let seen = sum.evidence().disturbance.unwrap();
    assert_eq!((seen.iterations_left_out, seen.clean_ns), (1, 2 * NS_PER_S));
    assert_eq!(sum.clean_ns(), Some(2 * NS_PER_S));
}

#[test]
fn next_to_nothing_undisturbed_still_has_a_rate_of_its_own() {
    let mut events = ticks([second_of_slices(1, Some(12))]);
    events.extend((12..20).map(disturbed));
    let little = gather(fixed(), events);
    assert!(little.says_little());
    assert_eq!((little.goodput().value, little.undisturbed_per_s()), (910.0, Some(1000.0)));
    let mut events = ticks([second_of_slices(1, None)]);
    events.extend((10..20).map(disturbed));
    assert_eq!(gather(fixed(), events).undisturbed_per_s(), None);
}

#[test]
fn each_second_of_each_iteration_is_told_what_of_it_is_clean() {
    let mut events = ticks([second_of_slices(1, Some(12))]);
    events.push(disturbed(12));
    let mut both = gather(fixed(), ticks([second_of_slices(1, None)]));
    both.merge(&gather(fixed(), events));
    let clean_ms: Vec<u64> = both.evidence().seconds.iter().map(|second| second.clean_ns / 1_000_000).collect();
    assert_eq!(clean_ms, [1000, 900]);
}

/// The account of a second comes after its samples; a sample in a disturbed slice showed workers idle that had all to do.
#[test]
fn a_look_that_turns_out_to_be_of_a_disturbed_slice_is_in_no_mean() {
    let look = |ms: u64, busy: f64| {
        let status = Some(ServerStatus { server: "s".into(), figures: [("busy".to_owned(), busy)].into() });
        StatusLook { url: "u".into(), status, reason: None, at_ns: Some(ms * 1_000_000), took_ns: 1_000_000 }
    };
    let status = |looks| Event::Status { at_ns: 0, phase: Phase::Measure, looks };
    let undisturbed = Event::Disturbed { until_slice: 11, slices: Vec::new() };
    let events =
        [undisturbed, status(vec![look(1050, 4.0), look(1250, 0.0)]), disturbed(12), status(vec![look(1350, 2.0)])];
    let mean = gather(fixed(), events).evidence().status[0].figures["busy"].mean;
    assert_eq!(mean, 3.0);
}

/// A second of the window on one machine, whose kernel has counted `n`.
fn seen(source: SourceId, n: u64) -> Event {
    let mut sample = model::Sample::empty(Phase::Measure, 0, NS_PER_S);
    sample.source = source;
    sample.generator = Some(model::GeneratorUse { cpu_ns: n, ..Default::default() });
    sample.kernel.counters.entry("tcp".into()).or_default().insert("RetransSegs".into(), n);
    Event::Observed(Box::new(sample))
}

#[test]
fn samples_of_the_servers_machine_and_of_the_clients_are_kept_apart() {
    let mut builder = EvidenceBuilder::new(fixed());
    [seen(SourceId::LOCAL, 3), seen(SourceId::SERVER_HOST, 500), seen(SourceId::LOCAL, 4)]
        .iter()
        .for_each(|event| builder.apply(event));
    let evidence = builder.evidence();
    let counted = |seen: &Option<model::Observed>| seen.as_ref().map(|seen| seen.counters["tcp"]["RetransSegs"]);
    assert_eq!((counted(&evidence.observed), counted(&evidence.client_machine)), (Some(500), Some(7)));
    let generator = |seen: &Option<model::Observed>| seen.as_ref().and_then(|seen| seen.generator.clone());
    assert_eq!(generator(&evidence.observed), generator(&evidence.client_machine));
    assert!(
        generator(&evidence.observed).is_some_and(|generator| generator.cpu_cores < 1e-6),
        "the agent generates none"
    );
    let mut both = builder.clone();
    both.merge(&builder);
    assert_eq!(counted(&both.evidence().observed), Some(1000));
    let alone = EvidenceBuilder::new(fixed()).evidence();
    assert_eq!((alone.observed, alone.client_machine), (None, None));
}

/// The server's machine, which is this one, was taken for that of the client, and both for one.
#[test]
fn the_machine_of_a_server_that_agents_load_is_not_that_of_the_client() {
    let client_machine = |address: &str| {
        let target = Target::at(address.parse().expect("an address"));
        let mut builder = EvidenceBuilder::new(Plan { target, ..fixed() });
        let mut sample = model::Sample::empty(Phase::Measure, 0, NS_PER_S);
        sample.machine = Some(model::MachineCpu::default());
        sample.unavailable.insert("generator".into(), "it is elsewhere".into());
        let agents = vec![AgentStart {
            source: SourceId(1),
            name: "ssh://a".into(),
            host: "a".into(),
            cpus: 1,
            threads: 1,
            established: 1,
            offset_ns: 0,
            offset_error_ns: 0,
            round_trip_ns: None,
            late_ns: 0,
        }];
        [Event::AgentsStarted { agents }, Event::Observed(Box::new(sample))]
            .iter()
            .for_each(|event| builder.apply(event));
        let evidence = builder.evidence();
        assert!(evidence.observed.is_some_and(|seen| seen.machine.is_some()));
        evidence.client_machine
    };
    let elsewhere = client_machine("192.0.2.1:80").expect("it is another");
    assert_eq!((elsewhere.machine, elsewhere.unavailable["generator"].as_str()), (None, "it is elsewhere"));
    assert_eq!(client_machine("127.0.0.1:80"), None, "agents of this machine alone reach it");
}

#[test]
fn a_lost_agent_of_the_server_is_told_and_the_run_counts_as_interrupted() {
    let mut builder = EvidenceBuilder::new(fixed());
    let (name, why) = ("ssh://s".to_owned(), "it ended".to_owned());
    builder.apply(&seen(SourceId::SERVER_HOST, 1));
    builder.apply(&Event::AgentLost { at_ns: 5, source: SourceId::SERVER_HOST, name, why });
    builder.apply(&Event::Ended { at_ns: 9, interrupted: false });
    let evidence = builder.evidence();
    assert!(evidence.interrupted && evidence.agents.is_empty());
    let observed = evidence.observed.expect("it was looked at");
    assert_eq!(observed.unavailable["server"], "agent ssh://s was lost: it ended");
}

#[test]
fn one_that_is_lost_before_its_first_sample_is_told_too() {
    let mut builder = EvidenceBuilder::new(fixed());
    let (name, why) = ("ssh://s".to_owned(), "it ended".to_owned());
    builder.apply(&Event::AgentLost { at_ns: 5, source: SourceId::SERVER_HOST, name, why });
    let evidence = builder.evidence();
    let observed = evidence.observed.expect("why nothing was seen");
    assert_eq!(observed.unavailable["server"], "agent ssh://s was lost: it ended");
    assert!(observed.machine.is_none() && evidence.client_machine.is_some());
}

/// A result that had ended early named nobody: the loss was told before the agents were.
#[test]
fn an_agent_that_is_lost_as_the_load_begins_is_named() {
    let mut builder = EvidenceBuilder::new(fixed());
    let lost = |source, name: &str| {
        let (source, name, why) = (SourceId(source), name.to_owned(), "it ended".to_owned());
        Event::AgentLost { at_ns: 5, source, name, why }
    };
    builder.apply(&lost(2, "ssh://b"));
    let named = |builder: &EvidenceBuilder| -> Vec<(String, bool)> {
        let agents = builder.evidence().agents;
        agents.into_iter().map(|agent| (agent.name, agent.lost.is_some())).collect()
    };
    assert_eq!(named(&builder), [("ssh://b".to_owned(), true)], "the others never started");
    let start =
        |source, name: &str| AgentStart { source: SourceId(source), name: name.into(), ..AgentStart::default() };
    builder.apply(&Event::AgentsStarted { agents: vec![start(1, "ssh://a"), start(2, "ssh://b")] });
    assert_eq!(named(&builder), [("ssh://a".to_owned(), false), ("ssh://b".to_owned(), true)], "they did");
    (0..300).for_each(|source| builder.apply(&lost(source, "x")));
    assert!(builder.evidence().agents.len() <= AGENTS_MAX);
}
