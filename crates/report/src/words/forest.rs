//! The forest plot: the change of each quantity of each variant with its interval, beside the margin.

use crate::scales::extremes;
use crate::words::changes::{interval, signed};
use crate::words::overhead::{Overhead, overheads};
use model::human::factor;
use model::{Call, CompareRecord, Estimate};

/// Share of a logarithmic axis that is left at each end.
const AIR: f64 = 0.03;

/// One line of the plot. Figures are ratios to the baseline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForestLine {
    /// Quantity, load, and the variant where there are several.
    pub(crate) label: String,
    pub(crate) ratio: f64,
    /// Ends of the interval; none of what has no interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Value and interval in words.
    pub(crate) text: String,
    pub(crate) call: Call,
}

/// The lines from top to bottom. What was not compared block by block has none.
pub(crate) fn lines(record: &CompareRecord) -> Vec<ForestLine> {
    let several = record.arms.len() > 2;
    let compared = overheads(record).into_iter().filter_map(|it| Some((it.call?, it.ratio?, it)));
    let line = |(call, ratio, it): (Call, Estimate, Overhead<'_>)| {
        let variant = if several { format!("{}: ", it.arm) } else { String::new() };
        let text = interval(&ratio).map_or_else(String::new, |range| format!(" ({range})"));
        ForestLine {
            label: format!("{variant}{}, {}", it.metric.words(), it.load.words()),
            ratio: ratio.value,
            interval: ratio.low.zip(ratio.high),
            text: format!("{}{text}", signed(ratio.value - 1.0)),
            call,
        }
    };
    compared.map(line).collect()
}

/// The axis of the changes, which shows all lines, no change and the margin, with a little air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// In percent.
    Percent { low: f64, high: f64 },
    /// Ratios on a logarithmic axis, where one is so large that the others would not be seen.
    Factor { low: f64, high: f64 },
}

impl Scale {
    pub(crate) fn of(lines: &[ForestLine], margin: f64) -> Self {
        let ends = || {
            lines.iter().flat_map(|line| {
                let (low, high) = line.interval.unwrap_or((line.ratio, line.ratio));
                [low, high, line.ratio]
            })
        };
        let (low, high) = extremes(ends().filter(|end| end.is_finite()).chain([1.0 - margin, 1.0 + margin]));
        if factor(high).is_some() {
            return Self::Factor { low, high };
        }
        let margin = 150.0 * margin;
        let changes = ends().map(percent).filter(|end| end.is_finite());
        let (low, high) = changes.fold((-margin, margin), |(low, high), end| (low.min(end), high.max(end)));
        let air = 0.05 * (high - low).max(f64::MIN_POSITIVE);
        Self::Percent { low: low - air, high: high + air }
    }

    /// Where a ratio stands: in percent, or as it is.
    pub(crate) fn place(&self, ratio: f64) -> f64 {
        match self {
            Self::Percent { .. } => percent(ratio),
            // A logarithmic axis has no place for zero.
            Self::Factor { low, .. } => ratio.max(*low),
        }
    }

    /// The same as a share of the axis.
    pub(crate) fn share(&self, ratio: f64) -> f64 {
        let place = self.place(ratio);
        match self {
            Self::Percent { low, high } => (place - low) / (high - low),
            Self::Factor { low, high } => AIR + (1.0 - 2.0 * AIR) * (place / low).ln() / (high / low).ln(),
        }
    }
}

fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::comparison;

    #[test]
    fn each_compared_quantity_is_a_line() {
        let mut record = comparison();
        let all = lines(&record);
        assert_eq!(all.len(), record.metrics.len());
        assert_eq!((all[0].label.as_str(), all[0].text.as_str()), ("goodput, saturation", "-11 % (-13.0 to -9.0 %)"));
        assert!((all[0].ratio - 0.89).abs() < 1e-9);
        record.arms.push(model::ArmRecord { name: "brotli".to_owned(), ..model::ArmRecord::default() });
        assert_eq!(lines(&record)[0].label, "gzip: goodput, saturation");
    }

    #[test]
    fn the_axis_has_the_margin_and_all_ends() {
        let Scale::Percent { low, high } = Scale::of(&lines(&comparison()), 0.02) else { panic!("small changes") };
        assert!(low < -13.0 && high > 14.0, "{low} {high}");
        let Scale::Percent { high, .. } = Scale::of(&[], 0.02) else { panic!("no change") };
        assert_eq!(high.round(), 3.0);
    }

    #[test]
    fn beside_a_change_of_hundreds_of_times_the_others_have_room() {
        let mut record = comparison();
        record.metrics[0].ratio = Estimate { value: 184.0, low: Some(176.0), high: Some(193.0), n: 6 };
        let lines = lines(&record);
        let scale = Scale::of(&lines, 0.02);
        assert!(matches!(scale, Scale::Factor { .. }), "{scale:?}");
        let share = |ratio| scale.share(ratio);
        assert!(share(0.0) >= 0.0 && share(193.0) <= 1.0, "{scale:?}");
        assert!((share(100.0) - share(10.0) - (share(10.0) - share(1.0))).abs() < 1e-9, "each ten times as wide");
    }
}
