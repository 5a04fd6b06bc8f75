//! Advice and enumerations inside sentences.

use model::human::{plural, rate};
use model::{ENDED_CHILDREN, SweepEvidence};

/// `value` rounded up to two leading digits, for advice: 12,345 becomes 13,000.
#[must_use]
pub fn round_up(value: f64) -> u64 {
    let step = 10f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
    ((value / step).ceil() * step) as u64
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// What `--observe` takes to monitor the processes of this name.
#[must_use]
pub fn observable(name: &str) -> String {
    typed(program(name))
}

/// The program that does or starts the work.
#[must_use]
pub fn program(name: &str) -> &str {
    name.trim_end_matches(ENDED_CHILDREN)
}

/// A name as a shell takes it.
fn typed(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:".contains(c));
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

/// A load in a sentence.
pub(crate) fn place(sweep: &SweepEvidence, i: usize) -> String {
    let load = sweep.points[i].load;
    if sweep.over_rate { rate(load) } else { plural(load.round() as u64, "connection") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_rounded_up() {
        assert_eq!([0.0, 7.0, 99.5, 12_345.0].map(round_up), [0, 7, 100, 13_000]);
    }

    #[test]
    fn lists_read_as_prose() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([list(&items[..1]), list(&items[..2]), list(&items)], ["a", "a and b", "a, b and c"]);
    }
}
