//! Figures inside sentences.

/// A share of 0 to 1 as percent: `0.05 %`, `3.2 %`, `67 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        0.0 => "0 %".to_owned(),
        v if v < 0.005 => "< 0.01 %".to_owned(),
        v if v < 1.0 => format!("{value:.2} %"),
        v if v < 10.0 => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// A count with separators: `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Events per second: `12,346/s`, `83.2/s`, `0.25/s`.
pub(crate) fn rate(per_s: f64) -> String {
    match per_s {
        v if v >= 99.95 => format!("{}/s", count(v.round() as u64)),
        v if v >= 9.995 => format!("{v:.1}/s"),
        v => format!("{v:.2}/s"),
    }
}

/// A length of time in its natural unit, three digits: `1.23 ms`.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        v if v < 999.5 => return format!("{v:.0} ns"),
        v if v < 999_500.0 => (v / 1e3, "µs"),
        v if v < 999_500_000.0 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    match value {
        v if v < 9.995 => format!("{v:.2} {unit}"),
        v if v < 99.95 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
}

/// `value` rounded up to two leading digits, for advice: 12,345 becomes 13,000.
pub(crate) fn round_up(value: f64) -> u64 {
    let step = 10f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
    ((value / step).ceil() * step) as u64
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits_over_the_edges() {
        assert_eq!([0.0, 0.00001, 0.0012, 0.032, 0.674].map(percent), ["0 %", "< 0.01 %", "0.12 %", "3.2 %", "67 %"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.25, 83.17, 99.96, 12_345.6].map(rate), ["0.25/s", "83.2/s", "100/s", "12,346/s"]);
        assert_eq!(
            [0.0, 999.4, 999.6, 1.5e6, 9.999e8, 3e10].map(time),
            ["0 ns", "999 ns", "1.00 µs", "1.50 ms", "1.00 s", "30.0 s"]
        );
    }

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
