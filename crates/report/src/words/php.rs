//! PHP functions of a server in words and rows: for the terminal and the page.

use crate::words::functions::short;
use model::human::{count, percent, plural, time};
use model::{PhpFunction, PhpProfiled};

/// Functions in the table of a result.
const ROWS_MAX: usize = 10;

pub(crate) const HEADER: [&str; 3] = ["PHP function", "self", "with callees"];

/// How much was sampled, and what is missing of it.
pub(crate) fn samples(profile: &PhpProfiled) -> String {
    let every = format!("one every {} of {}", time(profile.sample_ns as f64), profile.clock.words());
    let all = match profile.samples {
        0 => format!("none ({every})"),
        n => format!("{} ({} in all), {every}", plural(n, "sample"), time(n as f64 * profile.sample_ns as f64)),
    };
    let full = if profile.is_full { "; a file of samples is full: later requests are missing" } else { "" };
    let left_out = match profile.left_out {
        0 => String::new(),
        n => format!("; {} of the files left out: no whole stacks, or too many", lines(n)),
    };
    format!("{all}{full}{left_out}")
}

fn lines(n: u64) -> String {
    if n == 1 { "1 line".to_owned() } else { format!("{} lines", count(n)) }
}

/// The first functions as a table.
pub(crate) fn functions(profile: &PhpProfiled) -> Vec<Vec<String>> {
    rows(&profile.functions[..profile.functions.len().min(ROWS_MAX)])
}

pub(crate) fn rows(functions: &[PhpFunction]) -> Vec<Vec<String>> {
    let row = |one: &PhpFunction| vec![short(&one.name), percent(one.self_share), percent(one.total_share)];
    functions.iter().map(row).collect()
}
