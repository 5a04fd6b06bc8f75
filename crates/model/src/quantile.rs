//! Quantiles that results print, and the figures by which a finding says that one of them is a bound or is not known.

use crate::record::Quantiles;

/// A quantile of a latency that results print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P99_9,
    /// The largest value.
    Max,
}

impl Quantile {
    /// All of them, the lowest first.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::P99_9, Self::Max];

    /// The name that is printed: `p99.9`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::Max => "max",
        }
    }

    /// The name in JSON and in the figures of findings: `p99_9`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::P99_9 => "p99_9",
            Self::P50 | Self::P90 | Self::P99 | Self::Max => self.name(),
        }
    }

    /// The value of this quantile; ns.
    #[must_use]
    pub const fn of(self, quantiles: &Quantiles) -> u64 {
        match self {
            Self::P50 => quantiles.p50,
            Self::P90 => quantiles.p90,
            Self::P99 => quantiles.p99,
            Self::P99_9 => quantiles.p99_9,
            Self::Max => quantiles.max,
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
