//! Thresholds in a terminal: what came of each.

use super::Style;
use super::layout::labelled_painted;
use super::verdict::bold;
use crate::thresholds::line;
use anstyle::AnsiColor;
use model::{ThresholdRecord, ThresholdState};

/// A line for each threshold; ends with a newline if there are any.
pub(crate) fn thresholds(records: &[ThresholdRecord], style: Style) -> String {
    let each = records.iter().map(|record| {
        let colour = match record.state {
            ThresholdState::Passed => AnsiColor::Green,
            ThresholdState::Inconclusive => AnsiColor::Yellow,
            ThresholdState::Failed => AnsiColor::Red,
        };
        labelled_painted(record.state.word(), &line(record), bold(colour), style)
    });
    each.collect()
}
