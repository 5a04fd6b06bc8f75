//! PHP functions of a server in words and in a table.

use super::layout::{short, table};
use model::human::{count, percent, plural, time};
use model::{PhpFunction, PhpProfiled};

/// Functions in the table of a result.
const ROWS_MAX: usize = 10;

/// Functions as they are asked for: how much was sampled, and all that are told. Ends with a newline.
#[must_use]
pub fn php(profile: &PhpProfiled) -> String {
    let mut text = format!("{}\n", samples(profile));
    if !profile.functions.is_empty() {
        text.push_str(&format!("\n{}", table(&HEADER, &rows(&profile.functions), 1, 2)));
    }
    text
}

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

pub(crate) const HEADER: [&str; 3] = ["PHP function", "self", "with callees"];

/// The first functions as a table.
pub(crate) fn functions(profile: &PhpProfiled) -> Vec<Vec<String>> {
    rows(&profile.functions[..profile.functions.len().min(ROWS_MAX)])
}

fn rows(functions: &[PhpFunction]) -> Vec<Vec<String>> {
    let row = |one: &PhpFunction| vec![short(&one.name), percent(one.self_share), percent(one.total_share)];
    functions.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PhpClock;

    #[test]
    fn what_is_missing_is_told_beside_what_there_is() {
        let function =
            PhpFunction { name: "query".into(), self_share: 0.75, total_share: 1.0, ..PhpFunction::default() };
        let profile =
            PhpProfiled { sample_ns: 10_000_000, samples: 1234, functions: vec![function], ..PhpProfiled::default() };
        let text = php(&profile);
        assert!(text.starts_with("1,234 samples (12.3 s in all), one every 10.0 ms of CPU time\n\n"), "{text}");
        assert!(text.contains("query") && text.contains("75 %") && text.contains("100 %"), "{text}");
        let short = PhpProfiled { clock: PhpClock::Real, is_full: true, left_out: 2, ..PhpProfiled::default() };
        let text = php(&short);
        assert!(text.starts_with("none (one every ") && text.contains("is full") && text.contains("2 lines"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}
