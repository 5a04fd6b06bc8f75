//! Thresholds: when a result fails, such as `goodput<1000` or, beside a baseline, `p99>+10%`.
//!
//! Pure: a text becomes a [`Threshold`], which is put to figures as far as they are known. Where the interval of a figure has
//! both sides of the limit in it, or a figure is a bound that the limit lies beyond, the answer is that it is not known.

use crate::goal::Side;
use crate::goal::parse::{FIRST_BYTE, change, limit, number, part, question, side, time_ns};
use model::{Bound, Estimate, KnownFigure, ParseUnitError, Quantile, Rate, ThresholdRecord, ThresholdState};
use std::fmt;

/// What a threshold may be about beside quantiles, each with an example.
const NAMES: [(&str, &str); 13] = [
    ("goodput", "goodput<1000"),
    ("throughput", "throughput<1000"),
    ("capacity", "capacity<1000"),
    ("cpu-per-request", "cpu-per-request>1ms"),
    ("p99", "p99>100ms"),
    ("ttfb-p95", "ttfb-p95>200ms"),
    ("mean", "mean>20ms"),
    ("max", "max>1s"),
    ("errors", "errors>0.1%"),
    ("send-rate", "send-rate<99%"),
    ("slo", "slo<99%"),
    ("cpu", "cpu>80%"),
    ("rss", "rss>512MiB"),
];
/// What other tools call the rate of responses.
const OTHER_NAMES: [&str; 4] = ["rps", "qps", "rate", "reqs"];
/// Figures of which more is better.
const BETTER_HIGH: [&str; 5] = ["goodput", "throughput", "capacity", "send-rate", SLO];
/// Name of the share of the requests that met the objective of the response time.
pub const SLO: &str = "slo";
/// Name of the CPU use as a share; in CPUs it is `cpu`.
pub const CPU_SHARE: &str = "cpu%";

/// When a result fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Name of the figure that it is about.
    name: String,
    side: Side,
    limit: Limit,
    /// As it is written.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// In the unit of the figure.
    Absolute(f64),
    /// The figure over that of the baseline, less 1.
    Change(f64),
}

impl Threshold {
    /// Reads one or several, separated by commas.
    ///
    /// # Errors
    /// One line that names the condition, the reason, and what to write.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        text.split(',').map(Self::parse).collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text: String = text.split_whitespace().collect();
        let wrong = |why: String| format!("{text:?}: {why}");
        let at = text.find(['<', '>']).ok_or_else(|| format!("{text:?} has no < or >; write for example p99>100ms"))?;
        let (name, rest) = text.split_at(at);
        let (side, limit_text) = side(rest);
        let (name, limit) = match change(limit_text) {
            Some(change) => (known_name(name).map_err(wrong)?, Limit::Change(change)),
            None => absolute(name, limit_text).map_err(wrong)?,
        };
        let fails_low = matches!(side, Side::Below | Side::AtMost);
        if fails_low != BETTER_HIGH.contains(&name.as_str()) {
            let sign = if fails_low { '>' } else { '<' };
            let figure = name.trim_end_matches('%');
            return Err(wrong(format!(
                "it says when a result fails, and this would fail a better one; write {figure}{sign}{limit_text}"
            )));
        }
        Ok(Self { name, side, limit, text: text.clone() })
    }

    /// Name of the figure that it is about: a quantile, or one of the names in `--help`; [`CPU_SHARE`] of a share of CPUs.
    #[must_use]
    pub fn figure(&self) -> &str {
        &self.name
    }

    /// The quantile that it is about, of the response time or of the time to the first byte; none of another figure.
    #[must_use]
    pub fn quantile(&self) -> Option<Quantile> {
        self.name.strip_prefix(FIRST_BYTE).unwrap_or(&self.name).parse().ok()
    }

    /// True if it is about the change since a baseline.
    #[must_use]
    pub const fn is_relative(&self) -> bool {
        matches!(self.limit, Limit::Change(_))
    }

    /// What comes of it for a result whose figure is `value`, as far as it is known, beside a baseline whose figure is
    /// `baseline`.
    #[must_use]
    pub fn judge(&self, value: Option<KnownFigure>, baseline: Option<KnownFigure>) -> ThresholdRecord {
        let mut record = ThresholdRecord {
            condition: self.text.clone(),
            state: ThresholdState::Inconclusive,
            value,
            limit: match self.limit {
                Limit::Absolute(limit) | Limit::Change(limit) => limit,
            },
            baseline: baseline.filter(|_| self.is_relative()),
            ratio: None,
            why: None,
        };
        let Some(value) = value else {
            return Self::unknown(record, format!("{} of this result is not known", self.name));
        };
        let (range, limit) = match (self.limit, record.baseline) {
            (Limit::Absolute(limit), _) => (range(value), limit),
            (Limit::Change(_), None) => {
                return Self::unknown(record, format!("{} of the baseline is not known", self.name));
            }
            (Limit::Change(_), Some(baseline)) if baseline.value <= 0.0 => {
                return Self::unknown(record, format!("{} of the baseline is 0", self.name));
            }
            (Limit::Change(limit), Some(baseline)) => {
                record.ratio = Some(ratio(value, baseline));
                (ratio_range(value, baseline), 1.0 + limit)
            }
        };
        match (self.fails(range.0, limit), self.fails(range.1, limit)) {
            (true, true) => ThresholdRecord { state: ThresholdState::Failed, ..record },
            (false, false) => ThresholdRecord { state: ThresholdState::Passed, ..record },
            _ => {
                let is_bound = value.bound.is_some() || record.baseline.is_some_and(|one| one.bound.is_some());
                let what = if is_bound { "it is only known as a bound" } else { "its interval has the limit in it" };
                Self::unknown(record, what.to_owned())
            }
        }
    }

    fn unknown(record: ThresholdRecord, why: String) -> ThresholdRecord {
        ThresholdRecord { why: Some(why), ..record }
    }

    fn fails(&self, value: f64, limit: f64) -> bool {
        match self.side {
            Side::Below => value < limit,
            Side::AtMost => value <= limit,
            Side::Above => value > limit,
            Side::AtLeast => value >= limit,
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Between which values the true one is. A bound is as uncertain as its value on the side that it leaves.
fn range(known: KnownFigure) -> (f64, f64) {
    let (low, high) = (known.low.unwrap_or(known.value), known.high.unwrap_or(known.value));
    match known.bound {
        None => (low, high),
        Some(Bound::AtLeast) => (low, f64::INFINITY),
        Some(Bound::AtMost) => (0.0, high),
    }
}

/// A figure over that of a baseline, which is above 0. Where both have intervals their half-widths on logarithms add up as
/// those of independent ones; where one has, that is what is known.
fn ratio(value: KnownFigure, baseline: KnownFigure) -> Estimate {
    let ratio = value.value / baseline.value;
    let half = |known: KnownFigure| {
        let ends = known.low.zip(known.high).filter(|(low, _)| *low > 0.0 && known.bound.is_none());
        ends.map(|(low, high)| (high / low).ln() / 2.0)
    };
    let both = match (half(value), half(baseline)) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0.0).hypot(other.unwrap_or(0.0))),
    };
    Estimate {
        value: ratio,
        low: both.map(|half| ratio * (-half).exp()),
        high: both.map(|half| ratio * half.exp()),
        n: 2,
    }
}

fn ratio_range(value: KnownFigure, baseline: KnownFigure) -> (f64, f64) {
    if value.bound.is_none() && baseline.bound.is_none() {
        let ratio = ratio(value, baseline);
        return (ratio.low.unwrap_or(ratio.value), ratio.high.unwrap_or(ratio.value));
    }
    let ((low, high), (base_low, base_high)) = (range(value), range(baseline));
    (low / base_high, if base_low > 0.0 { high / base_low } else { f64::INFINITY })
}

/// Figure by its name, and its limit in its unit.
fn absolute(name: &str, text: &str) -> Result<(String, Limit), String> {
    let unit = |error: ParseUnitError| error.to_string();
    let known = known_name(name)?;
    let limit = match known.as_str() {
        "goodput" | "throughput" | "capacity" if text.ends_with('%') => {
            let sign = text.trim_end_matches('%');
            return Err(format!("a change has a sign, such as {name}<-3%; {sign} by itself would be per second"));
        }
        "goodput" | "throughput" | "capacity" => text.parse::<Rate>().map_err(unit)?.per_s,
        "cpu-per-request" => time_ns(text)?,
        "cpu" if text.ends_with('%') => {
            return Ok((CPU_SHARE.to_owned(), Limit::Absolute(part(text, "cpu>80%")?)));
        }
        "cpu" => number(text).ok_or("it is a share, such as cpu>80%, or a number of CPUs, such as cpu>1.5")?,
        other if text.ends_with('%') && !matches!(other, "errors" | "send-rate" | SLO) => {
            return Err(format!("a change has a sign, such as {name}>+10%"));
        }
        "errors" | "send-rate" | SLO => part(text, example(&known))?,
        other => limit(other, text)?.1,
    };
    Ok((known, Limit::Absolute(limit)))
}

/// The name of a figure as this program has it.
fn known_name(name: &str) -> Result<String, String> {
    if let Some((known, _)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok((*known).to_owned());
    }
    let (latency, quantile) = match name.strip_prefix(FIRST_BYTE) {
        Some(quantile) => (FIRST_BYTE, quantile),
        None => ("", name),
    };
    quantile.parse().map(|quantile: Quantile| format!("{latency}{quantile}")).map_err(|_| unknown(name))
}

/// What to say of a name that is none.
fn unknown(name: &str) -> String {
    let usual = Quantile::USUAL.map(|quantile| quantile.to_string());
    let known = NAMES.iter().map(|(known, _)| *known);
    let meant = match OTHER_NAMES.contains(&name) {
        true => " (did you mean goodput?)".to_owned(),
        false => question(name, known.clone().chain(usual.iter().map(String::as_str))),
    };
    let names: Vec<&str> = known.filter(|known| known.parse::<Quantile>().is_err()).collect();
    format!("no such figure{meant}; there are quantiles such as p50, p95, p99.9 and max, and {}", names.join(", "))
}

/// A threshold on this figure.
fn example(name: &str) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == name).map_or("p99>100ms", |(_, example)| example)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Threshold {
        Threshold::parse_all(text).unwrap().remove(0)
    }

    fn between(low: f64, value: f64, high: f64) -> Option<KnownFigure> {
        Some(KnownFigure { value, low: Some(low), high: Some(high), bound: None })
    }

    fn bound(value: f64, bound: Bound) -> Option<KnownFigure> {
        Some(KnownFigure { bound: Some(bound), ..KnownFigure::exactly(value) })
    }

    fn exactly(value: f64) -> Option<KnownFigure> {
        Some(KnownFigure::exactly(value))
    }

    #[test]
    fn thresholds_are_read_with_their_units() {
        let read = |text: &str| {
            let threshold = one(text);
            (threshold.name, threshold.limit)
        };
        assert_eq!(read("goodput<1k"), ("goodput".to_owned(), Limit::Absolute(1_000.0)));
        assert_eq!(read(" p99 > 100ms "), ("p99".to_owned(), Limit::Absolute(100e6)));
        assert_eq!(read("p97.50>1s"), ("p97.5".to_owned(), Limit::Absolute(1e9)));
        assert_eq!(read("p99.9>=1s"), ("p99.9".to_owned(), Limit::Absolute(1e9)));
        assert_eq!(read("ttfb-p99.90>1s"), ("ttfb-p99.9".to_owned(), Limit::Absolute(1e9)));
        assert_eq!(one("ttfb-p99.9>1s").quantile(), "p99.9".parse().ok());
        assert_eq!(read("errors>0.1%"), ("errors".to_owned(), Limit::Absolute(0.001)));
        assert_eq!(read("cpu>1.5"), ("cpu".to_owned(), Limit::Absolute(1.5)));
        assert_eq!(read("cpu>80%"), (CPU_SHARE.to_owned(), Limit::Absolute(0.8)));
        assert_eq!(read("cpu-per-request>20us"), ("cpu-per-request".to_owned(), Limit::Absolute(20e3)));
        assert_eq!(read("rss>64MiB"), ("rss".to_owned(), Limit::Absolute(67_108_864.0)));
        assert_eq!(read("goodput<-3%"), ("goodput".to_owned(), Limit::Change(-0.03)));
        assert_eq!(read("cpu-per-request>+2.5%"), ("cpu-per-request".to_owned(), Limit::Change(0.025)));
        let several = Threshold::parse_all("p50>1ms, goodput<-3%").unwrap();
        assert_eq!(several.iter().map(ToString::to_string).collect::<Vec<_>>(), ["p50>1ms", "goodput<-3%"]);
        assert_eq!(several.iter().map(Threshold::is_relative).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_in_a_line_that_says_what_to_write() {
        for (text, said) in [
            ("", "has no < or >; write for example p99>100ms"),
            ("p99<100ms", "would fail a better one; write p99>100ms"),
            ("goodput>1000", "would fail a better one; write goodput<1000"),
            ("goodput>-3%", "write goodput<-3%"),
            ("p99<+10%", "write p99>+10%"),
            ("cpu<80%", "write cpu>80%"),
            ("goodput<3%", "a change has a sign, such as goodput<-3%"),
            ("ttfb>100ms", "and max, and goodput, throughput, capacity, cpu-per-request, ttfb-p95"),
            ("ttfb-p99>10%", "a change has a sign, such as ttfb-p99>+10%"),
            ("p99>10%", "a change has a sign, such as p99>+10%"),
            ("errors>0.1", "in percent, such as errors>0.1%"),
            ("slo<150%", "a share is at most 100%"),
            ("cpu>120%", "a share is at most 100%"),
            ("p100>1ms", "there are quantiles such as p50, p95, p99.9 and max"),
            ("godput<1000", "did you mean goodput?"),
            ("rps<1000", "did you mean goodput?"),
            ("p99>fast", "write for example 500ms"),
            ("goodput<-x%", "a change has a sign, such as goodput<-3%"),
        ] {
            let error = Threshold::parse_all(text).expect_err(text);
            assert!(error.contains(said) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    #[test]
    fn a_figure_by_itself_decides_and_an_interval_or_bound_across_the_limit_does_not() {
        let state = |text: &str, value| one(text).judge(value, None).state;
        use ThresholdState::{Failed, Inconclusive, Passed};
        assert_eq!(state("goodput<1000", exactly(999.0)), Failed);
        assert_eq!(state("goodput<1000", exactly(1_000.0)), Passed);
        assert_eq!(state("goodput<=1000", exactly(1_000.0)), Failed);
        assert_eq!(state("goodput<1000", between(990.0, 995.0, 999.0)), Failed);
        assert_eq!(state("goodput<1000", between(990.0, 1_010.0, 1_030.0)), Inconclusive);
        assert_eq!(state("goodput<1000", between(1_001.0, 1_010.0, 1_030.0)), Passed);
        assert_eq!(state("goodput<1000", bound(1_200.0, Bound::AtLeast)), Passed);
        assert_eq!(state("goodput<1000", bound(900.0, Bound::AtLeast)), Inconclusive);
        assert_eq!(state("p99>100ms", bound(120e6, Bound::AtLeast)), Failed);
        assert_eq!(state("p99>100ms", bound(80e6, Bound::AtLeast)), Inconclusive);
        assert_eq!(state("p99>100ms", bound(80e6, Bound::AtMost)), Passed);
        assert_eq!(state("p99>100ms", bound(120e6, Bound::AtMost)), Inconclusive);
        let unknown = one("rss>1GiB").judge(None, None);
        assert_eq!((unknown.state, unknown.why.as_deref()), (Inconclusive, Some("rss of this result is not known")));
    }

    /// More was not known of `>= 1,005` between 950 and 1,060 than of the same without `>=`, and it passed.
    #[test]
    fn a_bound_keeps_the_uncertainty_of_its_value() {
        let least = |low, value, high| {
            between(low, value, high).map(|known| KnownFigure { bound: Some(Bound::AtLeast), ..known })
        };
        let most = |low, value, high| {
            between(low, value, high).map(|known| KnownFigure { bound: Some(Bound::AtMost), ..known })
        };
        let state = |text: &str, value, baseline| one(text).judge(value, baseline).state;
        use ThresholdState::{Inconclusive, Passed};
        assert_eq!(state("goodput<1000", least(950.0, 1_005.0, 1_060.0), None), Inconclusive);
        assert_eq!(state("goodput<1000", least(1_001.0, 1_005.0, 1_060.0), None), Passed);
        assert_eq!(state("p99>100ms", most(90e6, 99e6, 108e6), None), Inconclusive);
        assert_eq!(state("p99>100ms", most(90e6, 95e6, 99e6), None), Passed);
        let baseline = between(990.0, 1_000.0, 1_010.0);
        assert_eq!(state("goodput<-3%", least(950.0, 1_005.0, 1_060.0), baseline), Inconclusive);
        assert_eq!(state("goodput<-3%", least(985.0, 1_005.0, 1_060.0), baseline), Passed);
    }

    #[test]
    fn a_change_is_held_against_the_baseline() {
        use ThresholdState::{Failed, Inconclusive, Passed};
        let judge = |value, baseline| one("goodput<-3%").judge(value, baseline);
        let state = |value, baseline| judge(value, baseline).state;
        assert_eq!(state(exactly(960.0), exactly(1_000.0)), Failed);
        assert_eq!(state(exactly(980.0), exactly(1_000.0)), Passed);
        // Half-widths of 3 and 4 % on logarithms make 5 % of both.
        let wide = |value: f64, half: f64| between(value * (-half).exp(), value, value * half.exp());
        let record = judge(wide(960.0, 0.03), wide(1_000.0, 0.04));
        let ratio = record.ratio.unwrap();
        assert!((ratio.low.unwrap() - 0.96 * (-0.05_f64).exp()).abs() < 1e-9, "{ratio:?}");
        assert_eq!((record.state, record.why.as_deref()), (Inconclusive, Some("its interval has the limit in it")));
        assert_eq!(state(wide(900.0, 0.03), wide(1_000.0, 0.04)), Failed);
        assert_eq!(state(exactly(1_000.0), bound(1_000.0, Bound::AtLeast)), Inconclusive);
        assert_eq!(state(bound(1_000.0, Bound::AtLeast), exactly(1_000.0)), Passed);
        assert_eq!(state(exactly(1.0), None), Inconclusive);
        assert_eq!(state(exactly(1.0), exactly(0.0)), Inconclusive);
        let slower = one("p99>+10%").judge(exactly(1.2e6), exactly(1e6));
        assert_eq!((slower.state, slower.baseline.map(|one| one.value)), (Failed, Some(1e6)));
    }
}
