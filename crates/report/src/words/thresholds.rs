//! Thresholds in words: for the terminal, the page, JUnit XML and the summary.

use crate::record::AnyRecord;
use crate::words::fact::{About, Fact, Tone};
use crate::words::history::signed;
use crate::words::unit::Unit;
use model::human::time;
use model::{Aborted, KnownFigure, ThresholdRecord, ThresholdState};

/// Columns of [`row`].
pub(crate) const HEADER: [&str; 4] = ["fails if", "state", "measured", "why"];

/// The thresholds of a result, by arm where it has several.
pub(crate) fn of(record: AnyRecord<'_>) -> Vec<(Option<&str>, &[ThresholdRecord])> {
    match record {
        AnyRecord::Run(record) => vec![(None, &record.thresholds)],
        AnyRecord::Capacity(record) => vec![(None, &record.thresholds)],
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            let sweeps = record.sweeps().iter();
            sweeps.map(|sweep| (sweep.arm.as_deref(), sweep.thresholds.as_slice())).collect()
        }
        AnyRecord::Compare(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => vec![(None, &[])],
    }
}

/// The worst that came of any threshold of a result; none without any.
#[must_use]
pub fn worst(record: AnyRecord<'_>) -> Option<ThresholdState> {
    of(record).into_iter().flat_map(|(_, all)| all).map(|record| record.state).max()
}

/// A threshold in cells.
pub(crate) fn row(record: &ThresholdRecord) -> Vec<String> {
    vec![
        record.condition.clone(),
        record.state.word().to_owned(),
        measured(record),
        record.why.clone().unwrap_or_default(),
    ]
}

/// Each threshold, its state as the label.
pub(crate) fn facts(records: &[ThresholdRecord]) -> Vec<Fact> {
    let fact = |record: &ThresholdRecord| {
        let tone = match record.state {
            ThresholdState::Passed => Tone::Good,
            ThresholdState::Inconclusive => Tone::Unsure,
            ThresholdState::Failed => Tone::Bad,
        };
        Fact::new(About::Threshold, record.state.word(), line(record)).with_tone(tone)
    };
    records.iter().map(fact).collect()
}

/// A threshold in a line, without its state.
fn line(record: &ThresholdRecord) -> String {
    let why = record.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    format!("{}: {}{why}", record.condition, measured(record))
}

/// What was measured, and of a relative threshold the change and the baseline.
pub(crate) fn measured(record: &ThresholdRecord) -> String {
    let unit = Unit::of(&record.condition);
    let shown = |known: Option<KnownFigure>| known.map_or_else(|| "not known".to_owned(), |known| unit.known(known));
    let value = shown(record.value);
    let Some(ratio) = record.ratio else { return value };
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", signed(low), signed(high)),
        _ => String::new(),
    };
    format!("{value}, {}{interval} of {} in the baseline", signed(ratio.value), shown(record.baseline))
}

/// Reason why a load was ended early, in a sentence.
pub(crate) fn why_aborted(Aborted { at_ns, over_ns, condition }: &Aborted) -> String {
    format!(
        "--abort-if {} has ended the load {} after its start: {} over the last {}",
        condition.condition,
        time(*at_ns as f64),
        measured(condition),
        time(*over_ns as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bound, Estimate, ThresholdState};

    fn record(condition: &str, value: Option<KnownFigure>) -> ThresholdRecord {
        ThresholdRecord {
            condition: condition.to_owned(),
            state: ThresholdState::Failed,
            value,
            limit: 0.0,
            baseline: None,
            ratio: None,
            why: None,
        }
    }

    #[test]
    fn values_are_told_in_the_unit_of_their_figure() {
        for (condition, value, said) in [
            ("goodput<1000", 998.0, "998/s"),
            ("p99>100ms", 123e6, "123 ms"),
            ("errors>0.1%", 0.0032, "0.32 %"),
            ("send-rate<99%", 0.982, "98.2 %"),
            ("slo<99%", 0.982, "98.2 %"),
            ("ttfb-p95>1s", 2e9, "2.00 s"),
            ("cpu>80%", 0.912, "91.2 %"),
            ("cpu>1.5", 1.75, "1.75 CPUs"),
            ("cpu>+5%", 1.75, "1.75 CPUs"),
            ("rss>1GiB", 2e9, "2.00 GB"),
            ("cpu-per-request>20us", 25_000.0, "25.0 µs"),
        ] {
            assert_eq!(measured(&record(condition, Some(KnownFigure::exactly(value)))), said, "{condition}");
        }
        assert_eq!(measured(&record("p99>1s", None)), "not known");
    }

    #[test]
    fn a_load_that_was_ended_early_says_by_what() {
        let condition = record("errors>5%", Some(KnownFigure::exactly(0.34)));
        let aborted = Aborted { at_ns: 9_000_000_000, over_ns: 5_000_000_000, condition };
        let said = "--abort-if errors>5% has ended the load 9.00 s after its start: 34.0 % over the last 5.00 s";
        assert_eq!(why_aborted(&aborted), said);
    }

    #[test]
    fn intervals_bounds_and_changes_are_told() {
        let between = KnownFigure { value: 1_000.0, low: Some(990.0), high: Some(1_010.0), bound: None };
        assert_eq!(measured(&record("goodput<1000", Some(between))), "1,000/s (990/s to 1,010/s)");
        let bound = KnownFigure { bound: Some(Bound::AtLeast), ..between };
        assert_eq!(measured(&record("goodput<1000", Some(bound))), ">= 1,000/s");
        let relative = ThresholdRecord {
            baseline: Some(KnownFigure::exactly(1_050.0)),
            ratio: Some(Estimate { value: 0.952, low: Some(0.93), high: Some(0.97), n: 2 }),
            why: Some("because".into()),
            ..record("goodput<-3%", Some(KnownFigure::exactly(1_000.0)))
        };
        let text = "goodput<-3%: 1,000/s, -4.8 % (-7.0 % to -3.0 %) of 1,050/s in the baseline; because";
        assert_eq!(line(&relative), text);
    }
}
