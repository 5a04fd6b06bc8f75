//! Quantiles of a latency, and the figures by which a finding says that one of them is a bound or is not known.

use crate::record::Quantiles;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Steps of a quantile in one.
const STEPS: u32 = 100_000;
/// The largest value, as results name it.
const MAX: &str = "max";

/// A quantile of a latency, to a thousandth of a percent; `p99.9` and `max` as text and in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantile {
    /// 99,900 is p99.9.
    per_100_000: u32,
}

impl Quantile {
    /// The median.
    pub const P50: Self = Self { per_100_000: 50_000 };
    /// The 90th percentile.
    pub const P90: Self = Self { per_100_000: 90_000 };
    /// The 95th percentile.
    pub const P95: Self = Self { per_100_000: 95_000 };
    /// The 99th percentile.
    pub const P99: Self = Self { per_100_000: 99_000 };
    /// The 99.9th percentile.
    pub const P99_9: Self = Self { per_100_000: 99_900 };
    /// The largest value.
    pub const MAX: Self = Self { per_100_000: STEPS };
    /// Those that every result has and prints, the lowest first.
    pub const USUAL: [Self; 6] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P99_9, Self::MAX];

    /// The share of the values that this quantile is not exceeded by, 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.per_100_000) / f64::from(STEPS)
    }

    /// The name in JSON and in the figures of findings: `p99_9`.
    #[must_use]
    pub fn key(self) -> String {
        self.to_string().replace('.', "_")
    }

    /// The usual quantiles and those that were `asked` for, the lowest first.
    #[must_use]
    pub fn usual_and(asked: &[Self]) -> Vec<Self> {
        let mut all: Vec<_> = Self::USUAL.into_iter().chain(asked.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The value of this quantile; ns. None where it was not asked for, or the result is from before it was stored.
    #[must_use]
    pub fn of(self, quantiles: &Quantiles) -> Option<u64> {
        match self {
            Self::P50 => Some(quantiles.p50),
            Self::P90 => Some(quantiles.p90),
            Self::P95 => quantiles.p95,
            Self::P99 => Some(quantiles.p99),
            Self::P99_9 => Some(quantiles.p99_9),
            Self::MAX => Some(quantiles.max),
            other => quantiles.others.get(&other).copied(),
        }
    }

    /// Name of the figure that withholds this quantile, as too few requests lie beyond it: `p99_tail_n`.
    #[must_use]
    pub fn tail_figure(self) -> String {
        format!("{}_tail_n", self.key())
    }

    /// Name of the figure that makes this quantile a lower bound: `p99_at_least_ns`.
    #[must_use]
    pub fn at_least_figure(self) -> String {
        format!("{}_at_least_ns", self.key())
    }

    /// Name of the figure that makes this quantile an upper bound: `p99_at_most_ns`.
    #[must_use]
    pub fn at_most_figure(self) -> String {
        format!("{}_at_most_ns", self.key())
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per_100_000 {
            STEPS => f.pad(MAX),
            steps => write!(f, "p{}", f64::from(steps) / 1_000.0),
        }
    }
}

impl From<Quantile> for String {
    fn from(quantile: Quantile) -> Self {
        quantile.to_string()
    }
}

/// What is no quantile; as text, what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoQuantile(String);

impl fmt::Display for NoQuantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a quantile between p0.001 and p99.999; write for example p95", self.0)
    }
}

impl std::error::Error for NoQuantile {}

impl FromStr for Quantile {
    type Err = NoQuantile;

    /// `p99.9` and its like: between 0 and 100, to a thousandth; or `max`.
    fn from_str(text: &str) -> Result<Self, NoQuantile> {
        let none = || NoQuantile(text.to_owned());
        if text == MAX {
            return Ok(Self::MAX);
        }
        let digits = text.strip_prefix('p').filter(|digits| digits.chars().all(|c| c.is_ascii_digit() || c == '.'));
        let steps = digits.and_then(|digits| digits.parse::<f64>().ok()).ok_or_else(none)? * 1_000.0;
        let is_inside = (1.0..f64::from(STEPS)).contains(&steps) && (steps - steps.round()).abs() < 1e-6;
        if is_inside { Ok(Self { per_100_000: steps.round() as u32 }) } else { Err(none()) }
    }
}

impl TryFrom<String> for Quantile {
    type Error = NoQuantile;

    fn try_from(text: String) -> Result<Self, NoQuantile> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_reads_back_as_it_is_written() {
        for text in ["p50", "p95", "p97.5", "p99.9", "p99.999", "p0.001", "max"] {
            assert_eq!(text.parse::<Quantile>().unwrap().to_string(), text);
        }
        for text in ["p0", "p100", "p", "95", "p95%", "p99.9999", "pNaN", "p-5", "p1e1", ""] {
            assert!(text.parse::<Quantile>().is_err(), "{text}");
        }
        assert_eq!((Quantile::P99_9.key(), Quantile::P95.share()), ("p99_9".to_owned(), 0.95));
    }

    #[test]
    fn those_asked_for_stand_among_the_usual_ones() {
        let asked = ["p97.5", "p95", "p10"].map(|text| text.parse().unwrap());
        let all: Vec<_> = Quantile::usual_and(&asked).iter().map(ToString::to_string).collect();
        assert_eq!(all, ["p10", "p50", "p90", "p95", "p97.5", "p99", "p99.9", "max"]);
    }
}
