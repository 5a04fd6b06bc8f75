//! Figures in words: strict, so that what is no figure of the expected kind is left out and not guessed.

/// A plain number: digits, at most one point, no separators.
pub(crate) fn number(word: &str) -> Option<f64> {
    let plain = !word.is_empty()
        && word.chars().all(|c| c.is_ascii_digit() || c == '.')
        && word.starts_with(|c: char| c.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}

/// `1.5` and `ms` of `1.5ms`.
fn split(word: &str) -> Option<(f64, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    Some((number(&word[..end])?, word[end..].trim()))
}

/// One figure with its unit, `1.96s` or `8.30 ms`, in ns.
pub(crate) fn time_ns(word: &str) -> Option<f64> {
    let (value, unit) = split(word.trim())?;
    Some(value * unit_ns(unit)?)
}

fn unit_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "m" | "min" => 60e9,
        "h" | "hr" => 3600e9,
        _ => return None,
    })
}

/// Go's `1m2.5s`, in ns.
pub(crate) fn go_time_ns(word: &str) -> Option<f64> {
    let mut rest = word.trim();
    let mut sum = 0.0;
    if rest.is_empty() {
        return None;
    }
    if rest == "0" {
        return Some(0.0);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        sum += number(&rest[..digits])? * unit_ns(&rest[digits..unit])?;
        rest = &rest[unit..];
    }
    Some(sum)
}

/// `163092`, `251k` or `1.2M`, powers of 1000.
pub(crate) fn count(word: &str) -> Option<f64> {
    let (value, unit) = split(word)?;
    let scale = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(value * scale)
}

/// `677.46MB` or `2.79 MB`, in powers of `base` (1000 or 1024); `KiB` and its like are always powers of 1024.
pub(crate) fn bytes(word: &str, base: f64) -> Option<f64> {
    let (value, unit) = split(word.trim())?;
    let base = if unit.contains('i') { 1024.0 } else { base };
    let power = match unit.chars().next()? {
        'B' | 'b' => 0,
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        _ => return None,
    };
    Some(value * base.powi(power))
}

/// The text behind `label` at the start of `line`.
pub(crate) fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.strip_prefix(label).map(str::trim)
}

/// The first word behind `label`, anywhere in `line`, without a comma or bracket at its end.
pub(crate) fn word_after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(label)?;
    Some(rest.split_whitespace().next()?.trim_end_matches([',', ')', ';']))
}

/// The value of a flag in a command line: `-c 10`, `-c10`, `--rate 5` or `--rate=5`.
pub(crate) fn flag<'a>(command: &'a str, names: &[&str]) -> Option<&'a str> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        for name in names {
            let Some(rest) = word.strip_prefix(name) else { continue };
            if rest.is_empty() {
                return words.next();
            }
            if let Some(value) = rest.strip_prefix('=') {
                return Some(value);
            }
            if !name.starts_with("--") {
                return Some(rest);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_units() {
        let cases = [("851.00us", 851e3), ("0.88m", 52.8e9), ("1.20h", 4320e9), ("1.96s", 1.96e9), ("8.30 ms", 8.3e6)];
        for (word, ns) in cases {
            assert!((time_ns(word).unwrap() / ns - 1.0).abs() < 1e-9, "{word}");
        }
        for word in ["", "-nan", "1,5s", "12", "1.2.3s", "5 parsecs"] {
            assert_eq!(time_ns(word), None, "{word}");
        }
        assert_eq!(go_time_ns("1m2.5s"), Some(62.5e9));
        assert_eq!([go_time_ns("90.5µs"), go_time_ns("2m0s"), go_time_ns("1x")], [Some(90_500.0), Some(120e9), None]);
    }

    #[test]
    fn counts_sizes_and_flags() {
        assert_eq!([count("251k"), count("1.5M"), count("7x"), count("-3")], [Some(251e3), Some(1.5e6), None, None]);
        assert_eq!(bytes("1.00KB", 1024.0), Some(1024.0));
        assert_eq!(bytes("2.79 MB", 1000.0), Some(2.79e6));
        assert_eq!(bytes("1.5 KiB", 1000.0), Some(1536.0));
        let command = "wrk --latency -t 15 -c10000 --rate=5 http://h/";
        assert_eq!(
            [flag(command, &["-t"]), flag(command, &["-c"]), flag(command, &["--rate", "-R"]), flag(command, &["-x"])],
            [Some("15"), Some("10000"), Some("5"), None]
        );
    }
}
