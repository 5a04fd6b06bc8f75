//! The forest plot: the change of each quantity of each variant with its interval, beside the margin.

use super::overhead::{Overhead, overheads};
use crate::changes::{interval, signed};
use model::{Call, CompareRecord, Estimate};

/// One line of the plot. Figures are changes in percent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForestLine {
    /// Quantity, load, and the variant where there are several.
    pub(crate) label: String,
    pub(crate) change: f64,
    /// Ends of the interval; none of what has no interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Value and interval in words.
    pub(crate) text: String,
    pub(crate) call: Call,
}

/// The lines from top to bottom. What was not compared block by block has none.
pub(crate) fn lines(record: &CompareRecord) -> Vec<ForestLine> {
    let several = record.arms.len() > 2;
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let compared = overheads(record).into_iter().filter_map(|it| Some((it.call?, it.ratio?, it)));
    let line = |(call, ratio, it): (Call, Estimate, Overhead<'_>)| {
        let ends = ratio.low.zip(ratio.high);
        let variant = if several { format!("{}: ", it.arm) } else { String::new() };
        let text = interval(&ratio).map_or_else(String::new, |range| format!(" ({range})"));
        ForestLine {
            label: format!("{variant}{}, {}", it.metric.words(), it.load.words()),
            change: percent(ratio.value),
            interval: ends.map(|(low, high)| (percent(low), percent(high))),
            text: format!("{}{text}", signed(ratio.value - 1.0)),
            call,
        }
    };
    compared.map(line).collect()
}

/// Ends of an axis that shows all lines, zero and the margin, with a little air; percent.
pub(crate) fn span(lines: &[ForestLine], margin: f64) -> (f64, f64) {
    let ends = lines.iter().flat_map(|line| {
        let (low, high) = line.interval.unwrap_or((line.change, line.change));
        [low, high, line.change]
    });
    let margin = 150.0 * margin;
    let (low, high) =
        ends.filter(|end| end.is_finite()).fold((-margin, margin), |(low, high), end| (low.min(end), high.max(end)));
    let air = 0.05 * (high - low).max(f64::MIN_POSITIVE);
    (low - air, high + air)
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;

    #[test]
    fn each_compared_quantity_is_a_line() {
        let mut record = comparison();
        let all = lines(&record);
        assert_eq!(all.len(), record.metrics.len());
        assert_eq!((all[0].label.as_str(), all[0].text.as_str()), ("goodput, saturation", "-11 % (-13.0 to -9.0 %)"));
        assert!((all[0].change + 11.0).abs() < 1e-9);
        record.arms.push(model::ArmRecord { name: "brotli".to_owned(), ..model::ArmRecord::default() });
        assert_eq!(lines(&record)[0].label, "gzip: goodput, saturation");
    }

    #[test]
    fn the_axis_has_the_margin_and_all_ends() {
        let lines = lines(&comparison());
        let (low, high) = span(&lines, 0.02);
        assert!(low < -13.0 && high > 14.0, "{low} {high}");
        assert_eq!(span(&[], 0.02).1.round(), 3.0);
    }
}
