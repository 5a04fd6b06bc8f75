//! A comparison in a terminal: what it says in plain words, then each quantity with its interval.

use super::Style;
use super::layout::{columns, fact_lines, labelled_rows, table, top_lines, wrap};
use super::verdict::findings;
use crate::words::compare::{METRIC_HEADER, facts, metric_rows, summary};
use crate::words::fact::About;
use model::CompareRecord;

/// Columns of the table that are left out, one after the other, where there is no room for them.
const DROPPED: [&[usize]; 4] = [&[], &[4], &[1, 4], &[1, 2, 3, 4]];

/// The whole result of a comparison: summary, verdict, quantities, how it was measured, findings with remedies. Ends
/// with a newline.
#[must_use]
pub fn compare(record: &CompareRecord, style: &Style) -> String {
    let style = *style;
    let mut out = wrap("", &summary(record), style.width, 0) + "\n\n";
    let facts = facts(record);
    out.push_str(&top_lines(&facts, style));
    out.push_str(&fact_lines(&facts, &[About::Use], style));
    if !record.metrics.is_empty() {
        out.push('\n');
        out.push_str(&metrics(record, style));
    }
    out.push_str(&findings(&record.verdict, style));
    out
}

/// The table of quantities; on a narrow terminal without some of its columns.
fn metrics(record: &CompareRecord, style: Style) -> String {
    let rows = metric_rows(record);
    let several = record.arms.len() > 2;
    let least = usize::from(!several);
    let mut tables = DROPPED[least..].iter().map(|dropped| {
        // The name of a variant goes last where there are several.
        let dropped = |i: usize| dropped.contains(&i) && !(several && i == 4);
        let kept: Vec<usize> = (0..METRIC_HEADER.len()).filter(|i| !dropped(*i)).collect();
        let header: Vec<&str> = kept.iter().map(|i| METRIC_HEADER[*i]).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(|row| kept.iter().map(|i| row[*i].clone()).collect()).collect();
        let left = kept.iter().take_while(|i| **i < 2).count();
        table(&header, &rows, left, if kept.len() > 6 { 2 } else { 1 })
    });
    let fitting = tables.find(|table| columns(table) <= style.width);
    fitting.unwrap_or_else(|| labelled_rows(&METRIC_HEADER, &rows, 2, style))
}
