//! Changes in words: with a sign, as a factor, between ends.

use model::Estimate;
use model::human::{factor, percent, percent_exact};

/// `+10.1 to +14.2 %`, of a bound `>= +10.1 %`; none without an interval.
pub(crate) fn interval(ratio: &Estimate) -> Option<String> {
    let end = |ratio: f64| signed_exact(ratio - 1.0);
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) if factor(low).is_none() && factor(high).is_some() => {
            // In one unit, also where one end alone would be told in percent.
            Some(format!("{low:.2} to {}", end(high)))
        }
        (Some(low), Some(high)) => Some(ends(&end(low), &end(high))),
        (Some(low), None) => Some(format!(">= {}", end(low))),
        (None, Some(high)) => Some(format!("<= {}", end(high))),
        (None, None) => None,
    }
}

/// The interval between two ratios: `+10.1 to +14.2 %`.
pub(crate) fn between(low: f64, high: f64) -> String {
    let ratio = Estimate { low: Some(low), high: Some(high), ..Estimate::default() };
    interval(&ratio).unwrap_or_default()
}

/// Two changes with the unit that both have said once: `-2.0 to +5.0 %`.
fn ends(low: &str, high: &str) -> String {
    let common = [" %", " times"].into_iter().find(|unit| low.ends_with(unit) && high.ends_with(unit));
    format!("{} to {high}", common.map_or(low, |unit| low.trim_end_matches(unit)))
}

/// A change: `+1.2 %`, `-0.50 %`, `184 times`.
pub(crate) fn signed(change: f64) -> String {
    with_sign(change, percent)
}

/// The same, above a tenth with one digit after the point.
fn signed_exact(change: f64) -> String {
    with_sign(change, percent_exact)
}

fn with_sign(change: f64, size: fn(f64) -> String) -> String {
    if let Some(times) = factor(1.0 + change) {
        return times;
    }
    match size(change.abs()) {
        none if none == "0 %" => none,
        size if change < 0.0 => format!("-{size}"),
        size => format!("+{size}"),
    }
}

/// Between which changes: `between 10.1 and 14.2 %`, `between 2.0 % less and 5.0 % more`, of a bound `at least 10.1 %
/// more`.
pub(crate) fn range_words(ratio: &Estimate) -> Option<String> {
    let sized = |change: f64| percent_exact(change.abs());
    let side = |end: f64| match factor(end) {
        Some(times) => format!("{times} as much"),
        None => format!("{} {}", sized(end - 1.0), if end >= 1.0 { "more" } else { "less" }),
    };
    let (low, high) = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => (low, high),
        (None, None) => return None,
        (Some(end), None) | (None, Some(end)) => {
            let limit = match (ratio.low.is_some(), end >= 1.0) {
                (true, true) | (false, false) => "at least",
                (true, false) | (false, true) => "at most",
            };
            return Some(format!("{limit} {}", side(end)));
        }
    };
    let is_one_sided = factor(high).is_none() && (low >= 1.0 || high <= 1.0);
    let (least, most) = if low >= 1.0 { (low, high) } else { (high, low) };
    Some(match factor(low).zip(factor(high)) {
        Some((least, most)) => format!("between {} and {most}", least.trim_end_matches(" times")),
        None if is_one_sided => {
            format!("between {} and {}", sized(least - 1.0).trim_end_matches(" %"), sized(most - 1.0))
        }
        None => format!("between {} and {}", side(low), side(high)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_and_ranges_are_words() {
        assert_eq!([signed(0.123), signed(-0.005), signed(0.0)], ["+12 %", "-0.50 %", "0 %"]);
        let ratio = |low, high| Estimate { value: 1.0, low: Some(low), high: Some(high), n: 6 };
        assert_eq!(range_words(&ratio(1.10, 1.14)).as_deref(), Some("between 10.0 and 14.0 %"));
        assert_eq!(range_words(&ratio(0.86, 0.90)).as_deref(), Some("between 10.0 and 14.0 %"));
        assert_eq!(range_words(&ratio(0.98, 1.05)).as_deref(), Some("between 2.0 % less and 5.0 % more"));
        assert_eq!(interval(&ratio(0.98, 1.05)).as_deref(), Some("-2.0 to +5.0 %"));
    }

    #[test]
    fn what_is_three_times_as_much_or_more_is_told_as_a_factor() {
        assert_eq!([signed(183.0), signed(2.0), signed(1.99)], ["184 times", "3.00 times", "+199 %"]);
        let ratio = |low, high| Estimate { value: 1.0, low: Some(low), high: Some(high), n: 6 };
        assert_eq!(interval(&ratio(176.0, 1193.0)).as_deref(), Some("176 to 1,193 times"));
        assert_eq!(interval(&ratio(2.5, 3.5)).as_deref(), Some("2.50 to 3.50 times"));
        assert_eq!(range_words(&ratio(176.0, 193.0)).as_deref(), Some("between 176 and 193 times"));
        assert_eq!(range_words(&ratio(1.5, 3.5)).as_deref(), Some("between 50.0 % more and 3.50 times as much"));
        let at_least = Estimate { value: 1.0, low: Some(4.0), high: None, n: 6 };
        assert_eq!(range_words(&at_least).as_deref(), Some("at least 4.00 times as much"));
    }

    #[test]
    fn a_bound_is_told_by_the_end_that_is_known() {
        let ratio = |low, high| Estimate { value: 1.0, low, high, n: 6 };
        for (low, high, words, short) in [
            (Some(1.1), None, "at least 10.0 % more", ">= +10.0 %"),
            (Some(0.9), None, "at most 10.0 % less", ">= -10.0 %"),
            (None, Some(1.1), "at most 10.0 % more", "<= +10.0 %"),
            (None, Some(0.9), "at least 10.0 % less", "<= -10.0 %"),
        ] {
            let ratio = ratio(low, high);
            assert_eq!(range_words(&ratio).as_deref(), Some(words));
            assert_eq!(interval(&ratio).as_deref(), Some(short));
        }
        assert_eq!((range_words(&ratio(None, None)), interval(&ratio(None, None))), (None, None));
    }
}
