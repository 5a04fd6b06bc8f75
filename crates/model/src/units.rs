//! Quantities as people write them: `500ms`, `10k`, `64KiB`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A quantity that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not {what}; write for example {example}")]
pub struct ParseUnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// A length of time, ns. Written `200us`, `500ms`, `30s`, `5m`, `1h`; a bare number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration {
    /// Nanoseconds.
    pub ns: u64,
}

/// A number of things. Written `64`, `10k`, `1.5M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Count(pub u64);

/// A number of bytes. Written `100`, `10kB` (1000), `64KiB` (1024), `1MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

/// Events per second, above 0. Written `1000`, `10k`, `2.5/s`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate {
    /// Per second.
    pub per_s: f64,
}

const TIME_UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];
const COUNT_UNITS: [(&str, f64); 5] = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)];
const SIZE_UNITS: [(&str, f64); 12] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("k", 1024.0),
    ("K", 1024.0),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
    ("M", 1024.0 * 1024.0),
    ("", 1.0),
];

impl Duration {
    /// Reads a time that is written with its unit. Of a limit, a bare number of milliseconds that is taken for seconds would be
    /// kept by every load.
    ///
    /// # Errors
    /// One line that says what to write.
    pub fn with_unit(text: &str) -> Result<Self, String> {
        match split(text) {
            Some((_, "")) => Err(format!("a time is written with its unit, such as {text}ms or {text}s")),
            _ => text.parse().map_err(|error: ParseUnitError| error.to_string()),
        }
    }
}

impl FromStr for Duration {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseUnitError { text: text.into(), what: "a duration", example: "500ms, 30s or 5m" };
        let (number, unit) = split(text).ok_or_else(error)?;
        let scale = if unit.is_empty() { 1e9 } else { scale_of(&TIME_UNITS, unit).ok_or_else(error)? };
        whole(number * scale).map(|ns| Self { ns }).ok_or_else(error)
    }
}

impl FromStr for Count {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseUnitError { text: text.into(), what: "a count", example: "64, 10k or 1M" };
        let (number, unit) = split(text).ok_or_else(error)?;
        let scale = scale_of(&COUNT_UNITS, unit).ok_or_else(error)?;
        whole_product(number, scale).map(Self).ok_or_else(error)
    }
}

impl FromStr for ByteSize {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseUnitError { text: text.into(), what: "a size", example: "100, 64KiB or 10MB" };
        let (number, unit) = split(text).ok_or_else(error)?;
        let scale = scale_of(&SIZE_UNITS, unit).ok_or_else(error)?;
        whole_product(number, scale).map(Self).ok_or_else(error)
    }
}

/// The product; none where it is no whole number. A decimal fraction is not exact in binary: 16.1k is 16,100.
fn whole_product(number: f64, scale: f64) -> Option<u64> {
    let value = number * scale;
    ((value - value.round()).abs() <= 1e-12 * value).then(|| whole(value.round())).flatten()
}

impl FromStr for Rate {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseUnitError { text: text.into(), what: "a rate above 0", example: "1000, 10k or 2.5/s" };
        let (number, unit) = split(text.strip_suffix("/s").unwrap_or(text)).ok_or_else(error)?;
        let per_s = number * scale_of(&COUNT_UNITS, unit).ok_or_else(error)?;
        if per_s > 0.0 && per_s.is_finite() { Ok(Self { per_s }) } else { Err(error()) }
    }
}

impl fmt::Display for Duration {
    /// The shortest form in one unit: `2s`, `500ms`, `1.5ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.ns as f64;
        match self.ns {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{}ns", self.ns),
            1_000..1_000_000 => write!(f, "{}us", trim(ns / 1e3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", trim(ns / 1e6)),
            _ => write!(f, "{}s", trim(ns / 1e9)),
        }
    }
}

fn trim(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Splits `1.5ms` into 1.5 and `ms`; none when there is no plain non-negative number in front.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim_start()))
}

fn scale_of(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

/// Nearest whole number, none when it does not fit exactly into an f64's integer range.
fn whole(value: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.is_finite() && (0.0..EXACT * 1024.0).contains(&value)).then(|| value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_a_unit_or_are_seconds() {
        for (text, ns) in [
            ("500ms", 500_000_000),
            ("30s", 30_000_000_000),
            ("30", 30_000_000_000),
            ("5m", 300_000_000_000),
            ("1.5s", 1_500_000_000),
            ("200us", 200_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse(), Ok(Duration { ns }), "{text}");
        }
        for text in ["", "s", "-1s", "1x", "1e400s", "1 2s", "..s", "inf"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    /// `--slo 5` was five seconds.
    #[test]
    fn a_limit_of_time_needs_its_unit() {
        assert_eq!(Duration::with_unit("5ms"), Ok(Duration { ns: 5_000_000 }));
        for text in ["5", "1.5", "0"] {
            let error = Duration::with_unit(text).expect_err(text);
            assert_eq!(error, format!("a time is written with its unit, such as {text}ms or {text}s"));
        }
        assert!(Duration::with_unit("soon").is_err());
    }

    #[test]
    fn counts_and_sizes_are_whole() {
        assert_eq!("10k".parse(), Ok(Count(10_000)));
        assert_eq!("1.5M".parse(), Ok(Count(1_500_000)));
        assert_eq!(
            ["16.1k", "64.1k", "1.001k"].map(|text| text.parse().ok()),
            [16_100, 64_100, 1_001].map(|n| Some(Count(n)))
        );
        assert!("1.0005k".parse::<Count>().is_err() && "1.5".parse::<Count>().is_err());
        assert_eq!("64.1kB".parse(), Ok(ByteSize(64_100)));
        assert_eq!("64KiB".parse(), Ok(ByteSize(65_536)));
        assert_eq!("10kB".parse(), Ok(ByteSize(10_000)));
        assert!("1.5".parse::<Count>().is_err());
        assert!("-3".parse::<Count>().is_err());
        assert!("64QiB".parse::<ByteSize>().is_err());
    }

    #[test]
    fn a_rate_is_above_zero() {
        assert_eq!("10k".parse(), Ok(Rate { per_s: 10_000.0 }));
        assert_eq!("2.5/s".parse(), Ok(Rate { per_s: 2.5 }));
        assert!("0".parse::<Rate>().is_err());
        assert_eq!(
            "0".parse::<Rate>().unwrap_err().to_string(),
            "\"0\" is not a rate above 0; write for example 1000, 10k or 2.5/s"
        );
    }

    #[test]
    fn durations_print_in_one_unit() {
        for text in ["2s", "500ms", "1.5ms", "200us", "0s", "90s"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
    }
}
