//! A profile in words and tables.

use super::Style;
use super::layout::{labelled, table};
use crate::words::profile::{
    CHANGED, PHP_CHANGED, PHP_UNCHANGED, ROWS_MAX, UNCHANGED, changed, cost, functions, known, processes, samples,
};
use model::human::time;
use model::{FunctionChange, ProcessRole, ProfileRecord, Profiled};

/// The whole result of `plimsoll profile`. Ends with a newline.
#[must_use]
pub fn profile(record: &ProfileRecord, style: &Style) -> String {
    let mut out = labelled("profile of", &record.scope, *style);
    if record.interrupted {
        out.push_str(&labelled("interrupted", "stopped before its time; this is what was sampled", *style));
    }
    out.push_str(&body(&record.profile, *style));
    out
}

/// CPU time for each good response of each process, before and after. Ends with a newline.
#[must_use]
pub fn profile_change(before: &Profiled, after: &Profiled) -> String {
    let per_good = |profile: &Profiled, name: &str| {
        let process = profile.processes.iter().find(|process| process.name == name)?;
        process.cpu_us_per_good_request
    };
    let text = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| time(us * 1e3));
    let gone = before.processes.iter().filter(|process| per_good(after, &process.name).is_none());
    let rows: Vec<Vec<String>> = after
        .processes
        .iter()
        .chain(gone)
        .filter(|process| process.role != ProcessRole::Other)
        .take(ROWS_MAX)
        .map(|process| {
            let (first, second) = (per_good(before, &process.name), per_good(after, &process.name));
            let change = first.zip(second).filter(|(first, _)| *first > 0.0);
            let change = change.map(|(first, second)| format!("{:+.1} %", (second / first - 1.0) * 100.0));
            vec![process.name.clone(), text(first), text(second), change.unwrap_or_else(|| "-".to_owned())]
        })
        .collect();
    table(&["CPU per good response", "before", "after", "change"], &rows, 1, 3)
}

/// Functions of the server whose share changed, as a table that ends with a newline; a line where chance explains all.
#[must_use]
pub fn functions_changed(changes: &[FunctionChange]) -> String {
    changes_or(UNCHANGED, &CHANGED, changes)
}

/// The same of PHP functions.
#[must_use]
pub fn php_functions_changed(changes: &[FunctionChange]) -> String {
    changes_or(PHP_UNCHANGED, &PHP_CHANGED, changes)
}

fn changes_or(none: &str, header: &[&str], changes: &[FunctionChange]) -> String {
    if changes.is_empty() { format!("{none}\n") } else { table(header, &changed(changes), 1, 2) }
}

/// Figures, processes, functions and what would make more readable.
pub(super) fn body(profile: &Profiled, style: Style) -> String {
    let mut out = labelled("samples", &samples(profile), style);
    if profile.samples > 0 {
        out.push_str(&labelled("known", &known(profile), style));
    }
    out.push_str(&labelled("cost", &cost(profile), style));
    if profile.samples > 0 {
        let (header, rows) = processes(profile);
        out.push('\n');
        out.push_str(&table(&header, &rows, 1, 3));
        let (header, rows) = functions(profile);
        out.push('\n');
        out.push_str(&table(&header, &rows, 2, 3));
    }
    for hint in &profile.hints {
        out.push_str(&labelled("hint", hint, style));
    }
    out
}
