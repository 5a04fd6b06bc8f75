//! Threads of the server, what the kernel has counted, and what could not be seen, as tables.

use super::view::Table;
use crate::words::observed::cores_number;
use model::human::{count, percent};
use model::{Observed, ServerThreadObserved};

/// Threads that are shown of the server and of each companion.
const THREADS_SHOWN: usize = 8;

pub(super) fn tables(observed: &Observed) -> Vec<Table> {
    let missing: Vec<Vec<String>> =
        observed.unavailable.iter().map(|(part, why)| vec![part.clone(), why.clone()]).collect();
    let all: [(_, &[&str], _); 4] = [
        ("Busiest threads", &["", "CPUs busy", "waited for a CPU", "stops a second", "was stopped"], threads(observed)),
        ("Counted by the kernel", &["", "in the window"], counters(observed)),
        ("Levels in the kernel", &["", "mean", "smallest", "largest"], gauges(observed)),
        ("Not available", &["", "why"], missing),
    ];
    let tables = all.into_iter().filter(|(_, _, rows)| !rows.is_empty()).map(|(title, header, rows)| Table {
        title,
        header: header.iter().map(|name| (*name).to_owned()).collect(),
        rows,
    });
    tables.collect()
}

fn threads(observed: &Observed) -> Vec<Vec<String>> {
    let shown = observed.groups().flat_map(|group| group.threads.iter().take(THREADS_SHOWN));
    let row = |thread: &ServerThreadObserved| {
        vec![
            format!("{} ({})", thread.name, thread.tid),
            cores_number(thread.user_mean + thread.system_mean),
            thread.wait_mean.map_or_else(|| "-".to_owned(), percent),
            count(thread.voluntary_switches_per_s.round() as u64),
            count(thread.involuntary_switches_per_s.round() as u64),
        ]
    };
    shown.map(row).collect()
}

/// Counters that have grown; all that did not are in the record.
fn counters(observed: &Observed) -> Vec<Vec<String>> {
    let all = observed.counters.iter().flat_map(|(part, names)| names.iter().map(move |(name, n)| (part, name, *n)));
    all.filter(|(_, _, n)| *n > 0).map(|(part, name, n)| vec![format!("{part} {name}"), count(n)]).collect()
}

fn gauges(observed: &Observed) -> Vec<Vec<String>> {
    let all =
        observed.gauges.iter().flat_map(|(part, names)| names.iter().map(move |(name, level)| (part, name, level)));
    all.filter(|(_, _, level)| level.max > 0)
        .map(|(part, name, level)| {
            vec![format!("{part} {name}"), count(level.mean.round() as u64), count(level.min), count(level.max)]
        })
        .collect()
}
