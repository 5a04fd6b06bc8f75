//! Conditions that make a comparison fail, such as `goodput<-3%` or `cpu>2%`.
//!
//! A condition is about the change of a quantity against the baseline. It has failed when the whole interval of the change
//! is on its side of the limit, and passed when the whole interval is on the other.

use crate::goal::parse::{change, question, share};
use model::{CompareLoad, CompareMetric, Estimate, FailIfState, HistoryQuantity};
use std::fmt;

/// What is written for want of a better example.
const EXAMPLE: &str = "goodput<-3% or cpu>2%";
/// Changes that make sense as a limit, relative.
const LIMITS: std::ops::RangeInclusive<f64> = -1.0..=100.0;

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    /// What changes.
    pub metric: CompareMetric,
    /// True if it fails above the limit, false if below.
    pub is_above: bool,
    /// Change against the baseline, relative: -0.03 is 3 % less.
    pub limit: f64,
    /// As it is written.
    text: String,
}

impl FailIf {
    /// Reads conditions, comma-separated.
    ///
    /// # Errors
    /// One line that names the condition, the reason, and what to write.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        text.split(',').map(condition).collect()
    }

    /// The load at which the quantity is judged, of those that are measured; the fixed one for CPU time, unless there is
    /// none.
    ///
    /// # Errors
    /// One line, when it is measured at none of them.
    pub fn load(&self, loads: &[CompareLoad]) -> Result<CompareLoad, String> {
        let of = |load: &&CompareLoad| load.metrics().contains(&self.metric);
        loads.iter().find(of).copied().ok_or_else(|| {
            if self.metric == CompareMetric::CapacityPerS {
                return format!("{:?}: the capacity is searched for with --capacity only", self.text);
            }
            let measured: Vec<&str> = loads.iter().map(|load| load.words()).collect();
            format!("{:?}: {} is not measured at {}", self.text, self.metric.words(), measured.join(", "))
        })
    }

    /// What a ratio to the baseline says of it.
    #[must_use]
    pub fn judge(&self, ratio: &Estimate) -> FailIfState {
        // An end that is not known is open.
        let (least, most) = (ratio.low.unwrap_or(0.0) - 1.0, ratio.high.unwrap_or(f64::INFINITY) - 1.0);
        let (failed, passed) = match self.is_above {
            true => (least > self.limit, most <= self.limit),
            false => (most < self.limit, least >= self.limit),
        };
        match (failed, passed) {
            (true, _) => FailIfState::Failed,
            (false, true) => FailIfState::Passed,
            (false, false) => FailIfState::CannotTell,
        }
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn condition(text: &str) -> Result<FailIf, String> {
    let text: String = text.split_whitespace().collect();
    let at = text.find(['<', '>']).ok_or_else(|| format!("{text:?} has no < or >; write for example {EXAMPLE}"))?;
    let (name, rest) = text.split_at(at);
    let is_above = rest.starts_with('>');
    let written = rest[1..].trim_start_matches('=');
    let metric = CompareMetric::ALL.into_iter().find(|metric| metric.short() == name);
    let metric = metric.ok_or_else(|| format!("{text:?}: {}", unknown(name)))?;
    let limit = change(written).or_else(|| share(written)).filter(|limit| LIMITS.contains(limit)).ok_or_else(|| {
        format!("{text:?}: a change is written in percent of the baseline, from -100% on, such as {EXAMPLE}")
    })?;
    if is_above == HistoryQuantity::ratio_of(metric).is_better_high() {
        let size = written.trim_start_matches(['+', '-']);
        let meant = if is_above { format!("{name}<-{size}") } else { format!("{name}>{size}") };
        return Err(format!("{text:?}: it says when a variant fails, and this would fail a better one; write {meant}"));
    }
    Ok(FailIf { metric, is_above, limit, text })
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = CompareMetric::ALL.iter().map(|metric| metric.short()).collect();
    match question(name, names.iter().copied()) {
        none if none.is_empty() => format!("no such quantity; there are {}", names.join(", ")),
        meant => format!("no such quantity{meant}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> FailIf {
        FailIf::parse(text).unwrap_or_else(|why| panic!("{why}")).swap_remove(0)
    }

    #[test]
    fn conditions_are_read_with_their_sign_and_side() {
        let read = |text: &str| (one(text).metric, one(text).is_above, one(text).limit);
        assert_eq!(read("goodput<-3%"), (CompareMetric::GoodputPerS, false, -0.03));
        assert_eq!(read(" cpu > 2 % "), (CompareMetric::ServerCpuNsPerRequest, true, 0.02));
        assert_eq!(read("p99>=+10.5%"), (CompareMetric::ResponseP99Ns, true, 0.105));
        let both = FailIf::parse("rss>5%,p50>1%").unwrap();
        assert_eq!(both.iter().map(ToString::to_string).collect::<Vec<_>>(), ["rss>5%", "p50>1%"]);
    }

    #[test]
    fn what_is_no_condition_is_refused_in_a_line_that_says_what_to_write() {
        for (text, said) in [
            ("", "has no < or >; write for example goodput<-3%"),
            ("goodput", "has no < or >"),
            ("godput<-3%", "did you mean goodput?"),
            ("speed<-3%", "there are cpu, goodput, p50, p90, p95, p99, rss, capacity"),
            ("cpu>2", "in percent of the baseline"),
            ("cpu>2ms", "in percent of the baseline"),
            ("goodput<-300%", "from -100% on"),
            ("cpu>1e9%", "in percent"),
            ("cpu>2%,", "has no < or >"),
            ("goodput>3%", "would fail a better one; write goodput<-3%"),
            ("p99<-10%", "would fail a better one; write p99>10%"),
        ] {
            let why = FailIf::parse(text).expect_err(text);
            assert!(why.contains(said) && !why.contains('\n'), "{text}: {why}");
        }
    }

    #[test]
    fn the_whole_interval_decides() {
        let state = |text: &str, low: f64, high: f64| {
            one(text).judge(&Estimate { value: 1.0, low: Some(low), high: Some(high), n: 6 })
        };
        assert_eq!(state("goodput<-3%", 0.90, 0.96), FailIfState::Failed);
        assert_eq!(state("goodput<-3%", 0.96, 0.98), FailIfState::CannotTell);
        assert_eq!(state("goodput<-3%", 0.98, 1.20), FailIfState::Passed);
        assert_eq!(state("cpu>2%", 1.03, 1.05), FailIfState::Failed);
        assert_eq!(state("cpu>2%", 0.90, 1.01), FailIfState::Passed);
        let open = |low, high| one("goodput<-3%").judge(&Estimate { value: 0.5, low, high, n: 2 });
        assert_eq!(open(None, None), FailIfState::CannotTell);
        assert_eq!((open(Some(0.98), None), open(None, Some(0.9))), (FailIfState::Passed, FailIfState::Failed));
    }

    #[test]
    fn a_quantity_is_judged_where_it_is_measured() {
        let both = [CompareLoad::Fixed, CompareLoad::Saturated];
        assert_eq!(one("cpu>2%").load(&both), Ok(CompareLoad::Fixed));
        assert_eq!(one("cpu>2%").load(&both[1..]), Ok(CompareLoad::Saturated));
        assert_eq!(one("goodput<-3%").load(&both), Ok(CompareLoad::Saturated));
        assert_eq!(one("p99>5%").load(&both[1..]), Ok(CompareLoad::Saturated));
        assert!(one("rss>5%").load(&both[..1]).is_err_and(|why| why.contains("not measured at fixed load")));
        assert!(one("goodput<-3%").load(&both[..1]).is_err_and(|why| why.contains("not measured at fixed load")));
        assert!(one("capacity<-5%").load(&both).is_err_and(|why| why.contains("with --capacity")));
        assert_eq!(one("capacity<-5%").load(&[CompareLoad::Capacity]), Ok(CompareLoad::Capacity));
    }
}
