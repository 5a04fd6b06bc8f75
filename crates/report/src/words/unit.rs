//! Units of the figures that conditions of thresholds and goals are put to.

use crate::words::observed::cores_number;
use model::human::{bytes, percent, percent_exact, rate, time};
use model::{Bound, KnownFigure};

/// How values of a figure are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Rate,
    Share,
    Cpus,
    Bytes,
    Time,
}

impl Unit {
    /// That of the figure of a condition, such as `errors<0.1%`.
    pub(crate) fn of(condition: &str) -> Self {
        let (name, limit) = condition.split_once(['<', '>']).unwrap_or((condition, ""));
        let is_change = limit.trim_start_matches('=').starts_with(['+', '-']);
        match name {
            "goodput" | "throughput" | "capacity" => Self::Rate,
            "errors" | "send-rate" | "slo" => Self::Share,
            "cpu" if limit.ends_with('%') && !is_change => Self::Share,
            "cpu" => Self::Cpus,
            "rss" => Self::Bytes,
            _ => Self::Time,
        }
    }

    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Rate => rate(value),
            Self::Share if value < 0.1 => percent(value),
            Self::Share => percent_exact(value),
            Self::Cpus => format!("{} CPUs", cores_number(value)),
            Self::Bytes => bytes(value as u64),
            Self::Time => time(value),
        }
    }

    /// With its interval, or the side on which it is.
    pub(crate) fn known(self, known: KnownFigure) -> String {
        let value = self.text(known.value);
        match (known.bound, known.low, known.high) {
            (Some(Bound::AtLeast), _, _) => format!(">= {value}"),
            (Some(Bound::AtMost), _, _) => format!("<= {value}"),
            (None, Some(low), Some(high)) => format!("{value} ({} to {})", self.text(low), self.text(high)),
            _ => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a capacity told a share of 98 % within the objective as a response time of 1 ns.
    #[test]
    fn each_figure_has_its_unit() {
        for (condition, value, said) in [
            ("slo>=99%", 0.982, "98.2 %"),
            ("errors<0.1%", 0.0, "0 %"),
            ("send-rate>99%", 1.0, "100 %"),
            ("cpu<80%", 0.05, "5.0 %"),
            ("cpu<1.5", 1.25, "1.25 CPUs"),
            ("rss<1GiB", 2e9, "2.00 GB"),
            ("p99<100ms", 123e6, "123 ms"),
            ("ttfb-p95<50ms", 49e6, "49.0 ms"),
        ] {
            assert_eq!(Unit::of(condition).text(value), said, "{condition}");
        }
    }
}
