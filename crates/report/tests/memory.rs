//! Memory: a stored result takes at most as much as its text once more.
//!
//! A binary of its own with a single test, because it counts what the whole process allocates.

use report::stored::Record;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn the_result_of_a_long_run_takes_at_most_as_much_memory_as_its_text_once_more() {
    let Ok(Record::Run(mut run)) = Record::parse(include_str!("stored/run")) else { panic!("no run") };
    let second = run.seconds[0];
    run.seconds.extend((1..20_000).map(|n| model::Second { from_ns: n * 1_000_000_000, ..second }));
    let text = report::json::run(&run);
    drop(run);
    let region = Region::new(ALLOCATOR);
    let read = Record::parse(&text).expect("it is one of ours");
    let taken = region.change().bytes_allocated;
    assert!(matches!(&read, Record::Run(run) if run.seconds.len() > 20_000));
    assert!(taken <= text.len(), "{taken} bytes for a text of {}", text.len());
}
