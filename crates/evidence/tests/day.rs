//! A day's load takes next to no more memory than one of an hour, and neither does its end.
//!
//! A binary of its own with a single test, because it counts what the whole process allocates.

use evidence::EvidenceBuilder;
use model::{
    Cause, Cohort, Counts, Event, Flow, Histograms, Load, MergedHistogram, NS_PER_S, Phase, Plan, SliceAccount,
    SliceFlow, Stop, Target, ThreadUse, Tick,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::ops::Range;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const HOUR_S: u64 = 3600;
/// What a second may add: its row in the record, and room for as much again in the list that it is in.
const BYTES_PER_S_MAX: usize = 320;

fn plan() -> Plan {
    let target = Target::at("127.0.0.1:80".parse().expect("an address"));
    let stop = Stop::Duration { duration_ns: 24 * HOUR_S * NS_PER_S };
    Plan::new(target, Load::Closed { connections: 4 }, stop)
}

/// A tick of 1,000 good responses.
fn tick() -> Tick {
    let mut response = MergedHistogram::default();
    (0..10).for_each(|n| response.record(10_000_000 + n * 100_000));
    Tick {
        flow: Flow { sent: 1000, completed: 1000, good: 1000, ..Flow::default() },
        cohort: Cohort {
            counts: Counts { planned: 1000, completed: 1000, good: 1000, ..Counts::default() },
            ..Cohort::default()
        },
        threads: vec![ThreadUse { cpu_ns: 400_000_000, wall_ns: NS_PER_S, busy_max: 0.4 }],
        response_p50_ns: 10_000_000,
        response_p99_ns: 11_000_000,
        histograms: Histograms { service: response.clone(), response, ..Histograms::default() },
        ..Tick::empty(Phase::Measure, 0, 0)
    }
}

/// Has `builder` follow these seconds of a day, in each of which CPU time was taken of some slices.
fn follow(builder: &mut EvidenceBuilder, seconds: Range<u64>) {
    let mut event = Event::Tick(Box::new(tick()));
    for n in seconds {
        let slices = 10 * n..10 * (n + 1);
        if let Event::Tick(tick) = &mut event {
            (tick.from_ns, tick.to_ns) = (n * NS_PER_S, (n + 1) * NS_PER_S);
            let flow = |slice| SliceFlow { slice, good: 100, completed: 100, oldest_ns: slice * 100_000_000 };
            tick.slices = slices.clone().map(flow).collect();
        }
        builder.apply(&event);
        let taken = |slice: u64| SliceAccount {
            slice,
            taken_ns: [(Cause::ClientSteal, slice % 60 * 1_000_000)].into(),
            others_ns: None,
        };
        builder.apply(&Event::Disturbed { until_slice: slices.end, slices: slices.map(taken).collect() });
    }
}

/// Seconds, and what making the evidence of them allocates: how often, and how much.
fn end(builder: &EvidenceBuilder) -> (u64, usize, usize) {
    let region = Region::new(ALLOCATOR);
    let evidence = builder.evidence();
    let change = region.change();
    (evidence.seconds.len() as u64, change.allocations, change.bytes_allocated)
}

#[test]
fn a_day_takes_next_to_no_more_memory_than_an_hour() {
    let mut builder = EvidenceBuilder::new(plan());
    follow(&mut builder, 0..HOUR_S);
    let (_, hour_allocations, hour_bytes) = end(&builder);
    let region = Region::new(ALLOCATOR);
    follow(&mut builder, HOUR_S..24 * HOUR_S);
    let grown = region.change();
    let grown_bytes = grown.bytes_allocated.saturating_sub(grown.bytes_deallocated);
    let may_grow_bytes = 23 * HOUR_S as usize * BYTES_PER_S_MAX;
    assert!(grown_bytes < may_grow_bytes, "{grown_bytes} bytes more");
    let (seconds, day_allocations, day_bytes) = end(&builder);
    assert_eq!(seconds, 24 * HOUR_S);
    assert!(day_allocations <= hour_allocations + 10, "{day_allocations}, {hour_allocations} after an hour");
    assert!(day_bytes < hour_bytes + may_grow_bytes, "{day_bytes}, {hour_bytes} after an hour");
}
