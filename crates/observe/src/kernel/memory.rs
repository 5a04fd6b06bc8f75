//! Memory that is left, and pages that were moved for want of it.

use super::{Context, Figured};
use crate::files::Missing;

/// What is looked for in `/proc/meminfo`, which counts in KiB.
const MEMORY: [(&str, &str); 4] = [
    ("MemTotal", "total_bytes"),
    ("MemAvailable", "available_bytes"),
    ("SwapFree", "swap_free_bytes"),
    ("Dirty", "dirty_bytes"),
];
/// What is looked for in `/proc/vmstat`.
const PAGING: [(&str, &str); 4] = [
    ("pswpin", "swapped_in_pages"),
    ("pswpout", "swapped_out_pages"),
    ("pgmajfault", "major_faults"),
    ("oom_kill", "oom_kills"),
];

pub(super) fn memory(context: &Context<'_>) -> Result<Figured, Missing> {
    let text = context.files.text("/proc/meminfo")?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let known = pairs.filter_map(|(name, rest)| {
        Some((translated(&MEMORY, name)?, rest.split_whitespace().next()?.parse::<u64>().ok()?.saturating_mul(1024)))
    });
    Ok(Figured::gauges(known))
}

pub(super) fn paging(context: &Context<'_>) -> Result<Figured, Missing> {
    let text = context.files.text("/proc/vmstat")?;
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(Figured::counters(pairs.filter_map(|(name, n)| Some((translated(&PAGING, name)?, n.parse().ok()?)))))
}

fn translated(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}
