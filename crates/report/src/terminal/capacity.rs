//! A capacity in a terminal: the bracket, what it rests on, and the loads that were tried.

use super::Style;
use super::layout::{columns, fact_lines, table, top_lines};
use super::verdict::findings;
use crate::words::capacity::{facts, load_header, load_rows};
use crate::words::fact::About;
use model::CapacityRecord;

/// The whole result of a search for a capacity: verdict, bracket, goal, reason, loads, findings with remedies. Ends
/// with a newline.
#[must_use]
pub fn capacity(record: &CapacityRecord, style: &Style) -> String {
    let style = *style;
    let facts = facts(record);
    let mut out = top_lines(&facts, style);
    if !record.outcomes.is_empty() {
        out.push('\n');
        out.push_str(&loads(record, style));
    }
    out.push_str(&fact_lines(&facts, &[About::Threshold], style));
    out.push_str(&findings(&record.verdict, style));
    out
}

/// The table of loads; on a narrow terminal without what was measured of them.
fn loads(record: &CapacityRecord, style: Style) -> String {
    let (header, rows) = (load_header(record), load_rows(record));
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    let wide = table(&names, &rows, 0, 2);
    if columns(&wide) <= style.width {
        return wide;
    }
    let last = header.len() - 1;
    let narrow: Vec<Vec<String>> =
        rows.iter().map(|row| [0, 1, 2, last].map(|i| row.get(i).cloned().unwrap_or_default()).to_vec()).collect();
    let narrow = table(&["rate", "goal met", "goodput", ""], &narrow, 0, 1);
    if columns(&narrow) <= style.width {
        return narrow;
    }
    let least: Vec<Vec<String>> = rows.iter().map(|row| row[..2].to_vec()).collect();
    table(&["rate", "goal met"], &least, 0, 1)
}
