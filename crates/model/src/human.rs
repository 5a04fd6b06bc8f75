//! Figures as people read them: three digits, the natural unit, separators. The way back is in [`crate::Duration`] and
//! its like.

/// From this ratio on a factor is told in the place of a percentage.
const FACTOR_MIN: f64 = 3.0;

/// A length of time in its natural unit: `999 ns`, `1.23 ms`, `30.0 s`, `5 min 3 s`, `5 h 57 min`. `ns` is in nanoseconds.
#[must_use]
pub fn time(ns: f64) -> String {
    match ns {
        v if v < 999.5 => format!("{v:.0} ns"),
        v if v < 999_500.0 => format!("{} µs", digits(v / 1e3)),
        v if v < 999_500_000.0 => format!("{} ms", digits(v / 1e6)),
        v if v < 119.5e9 => format!("{} s", digits(v / 1e9)),
        v if v < 7199.5e9 => {
            let seconds = (v / 1e9).round() as u64;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
        v => {
            let minutes = (v / 60e9).round() as u64;
            format!("{} h {} min", count(minutes / 60), minutes % 60)
        }
    }
}

/// Events per second with separators: `12,346/s`, `83.2/s`, `0.25/s`.
#[must_use]
pub fn rate(per_s: f64) -> String {
    if per_s >= 99.95 { format!("{}/s", count(per_s.round() as u64)) } else { format!("{}/s", digits(per_s)) }
}

/// A number in little room: `250`, `12.3k`, `1.20M`.
#[must_use]
pub fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 999.5 && v.fract() == 0.0 => format!("{v:.0}"),
        v if v < 999.5 => digits(v),
        v if v < 999_500.0 => format!("{}k", digits(v / 1e3)),
        v => format!("{}M", digits(v / 1e6)),
    }
}

/// A number of bytes: exact below 10,000, then in decimal units: `1,234 B`, `11.7 kB`, `677 MB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    let value = n as f64;
    match value {
        _ if n < 10_000 => format!("{} B", count(n)),
        v if v < 999_500.0 => format!("{} kB", digits(v / 1e3)),
        v if v < 999_500_000.0 => format!("{} MB", digits(v / 1e6)),
        v if v < 999_500_000_000.0 => format!("{} GB", digits(v / 1e9)),
        v => format!("{} TB", digits(v / 1e12)),
    }
}

/// Bits per second in decimal units: `800 kbit/s`, `94.1 Mbit/s`, `1.00 Gbit/s`.
#[must_use]
pub fn bit_rate(per_s: f64) -> String {
    match per_s {
        v if v < 999_500.0 => format!("{} kbit/s", digits(v / 1e3)),
        v if v < 999_500_000.0 => format!("{} Mbit/s", digits(v / 1e6)),
        v => format!("{} Gbit/s", digits(v / 1e9)),
    }
}

/// A count with separators: `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
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

/// A count of things by name: `1 connection`, `1,024 connections`. `what` takes an `s` in the plural.
#[must_use]
pub fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A share of 0 to 1 as percent: `0 %`, `0.05 %`, `3.2 %`, `67 %`, `99.8 %`; only nothing is 0 %, and only all is 100 %.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        0.0 => "0 %".to_owned(),
        v if v < 0.005 => "<0.01 %".to_owned(),
        v if v < 0.995 => format!("{v:.2} %"),
        v if v < 9.95 => format!("{v:.1} %"),
        v if !(99.5..100.0).contains(&v) => format!("{v:.0} %"),
        v if v < 99.95 => format!("{v:.1} %"),
        v if v < 99.995 => format!("{v:.2} %"),
        _ => ">99.99 %".to_owned(),
    }
}

/// A share of 0 to 1 as percent, above a tenth with one digit after the point: `82.7 %`.
#[must_use]
pub fn percent_exact(share: f64) -> String {
    if !(0.0995..0.995).contains(&share) { percent(share) } else { format!("{:.1} %", share * 100.0) }
}

/// A ratio that no percentage tells well, three or more: `184 times`.
#[must_use]
pub fn factor(ratio: f64) -> Option<String> {
    let shown = if ratio < 999.5 { digits(ratio) } else { count(ratio.round() as u64) };
    (ratio >= FACTOR_MIN).then(|| format!("{shown} times"))
}

/// Three significant digits for values below 1000.
fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_per_second_have_decimal_units() {
        let cases =
            [(64_000.0, "64.0 kbit/s"), (94.12e6, "94.1 Mbit/s"), (999.6e6, "1.00 Gbit/s"), (25e9, "25.0 Gbit/s")];
        for (per_s, text) in cases {
            assert_eq!(bit_rate(per_s), text, "{per_s}");
        }
    }

    #[test]
    fn times_change_their_unit_at_the_edges() {
        let cases = [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (999.6, "1.00 µs"),
            (9_994.0, "9.99 µs"),
            (9_996.0, "10.0 µs"),
            (999_600.0, "1.00 ms"),
            (1_234_000.0, "1.23 ms"),
            (99_960_000.0, "100 ms"),
            (999_600_000.0, "1.00 s"),
            (30e9, "30.0 s"),
            (303e9, "5 min 3 s"),
            (7199.4e9, "119 min 59 s"),
            (7199.6e9, "2 h 0 min"),
            (21_420e9, "5 h 57 min"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn rates_keep_three_digits_and_separators() {
        assert_eq!([0.0, 0.254, 9.996, 83.17, 99.96].map(rate), ["0.00/s", "0.25/s", "10.0/s", "83.2/s", "100/s"]);
        assert_eq!([12_345.6, 1_234_567.0].map(rate), ["12,346/s", "1,234,567/s"]);
        assert_eq!(
            [0.0, 2.0, 0.25, 250.0, 999.6, 12_345.0, 1.2e6].map(short),
            ["0", "2", "0.25", "250", "1.00k", "12.3k", "1.20M"]
        );
    }

    #[test]
    fn bytes_are_exact_while_that_is_short() {
        let cases = [0, 9_999, 10_000, 999_600, 677_460_000, 1_200_000_000, 5_000_000_000_000];
        assert_eq!(cases.map(bytes), ["0 B", "9,999 B", "10.0 kB", "1.00 MB", "677 MB", "1.20 GB", "5.00 TB"]);
    }

    #[test]
    fn shares_never_round_to_nothing_nor_to_all() {
        let cases = [0.0, 1e-6, 0.0005, 0.00996, 0.032, 0.0996, 0.674, 1.0];
        assert_eq!(cases.map(percent), ["0 %", "<0.01 %", "0.05 %", "1.0 %", "3.2 %", "10 %", "67 %", "100 %"]);
        assert_eq!([0.032, 0.8267, 1.0].map(percent_exact), ["3.2 %", "82.7 %", "100 %"]);
        let nearly_all = [145_975.0 / 146_220.0, 0.9996, 0.999_999, 0.994, 1.23];
        assert_eq!(nearly_all.map(percent), ["99.8 %", "99.96 %", ">99.99 %", "99 %", "123 %"]);
        assert_eq!(percent_exact(145_975.0 / 146_220.0), "99.8 %");
    }

    #[test]
    fn counts_have_separators() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 1, 1_024].map(|n| plural(n, "connection")),
            ["0 connections", "1 connection", "1,024 connections"]
        );
    }
}
