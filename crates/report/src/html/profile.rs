//! A profile in the page: the flame graph in a frame of its own, and its figures.

use super::view::Table;
use crate::words::{php, profile as words};
use model::Profiled;

/// Processes, functions, and what would make more readable.
pub(super) fn tables(profile: &Profiled) -> Vec<Table> {
    let owned = |header: Vec<&str>| header.into_iter().map(str::to_owned).collect();
    let (processes, by_process) = words::processes(profile);
    let (functions, by_function) = words::functions(profile);
    let hints = profile.hints.iter().map(|hint| vec![hint.clone()]).collect();
    let by_php = profile.php.as_ref().map(|profile| php::functions(profile)).unwrap_or_default();
    let all = [
        ("CPU time by process", processes, by_process),
        ("CPU time by function", functions, by_function),
        ("PHP functions", php::HEADER.to_vec(), by_php),
        ("What the profile does not show", vec![""], hints),
    ];
    all.map(|(title, header, rows)| Table { title, header: owned(header), rows })
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}
