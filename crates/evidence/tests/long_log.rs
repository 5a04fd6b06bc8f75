//! Memory: a log of histograms is read line by line, however long it is.
//!
//! A binary of its own with a single test, because it counts what the whole process allocates.

use evidence::interval_log::{Intervals, write_interval};
use model::MergedHistogram;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Most memory that a merged histogram, one that was just read and a line take.
const TAKEN_MAX_BYTES: usize = 800_000;

#[test]
fn a_log_of_any_length_takes_the_memory_of_a_few_histograms() {
    let mut histogram = MergedHistogram::default();
    (1..100).for_each(|n| histogram.record(n * 40_000));
    let mut line = Vec::new();
    write_interval(&mut line, "response", 0, 1_000_000_000, &histogram).expect("memory");
    let log = line.repeat(4 * TAKEN_MAX_BYTES / line.len());

    let region = Region::new(ALLOCATOR);
    let (mut merged, mut most_bytes) = (MergedHistogram::default(), 0);
    for interval in Intervals::new(log.as_slice()) {
        merged.add(&interval.expect("it is whole").histogram);
        let change = region.change();
        most_bytes = most_bytes.max(change.bytes_allocated.saturating_sub(change.bytes_deallocated));
    }
    assert_eq!(merged.count(), 99 * (log.len() / line.len()) as u64);
    assert!(most_bytes < TAKEN_MAX_BYTES, "{most_bytes} bytes for a log of {}", log.len());
}
