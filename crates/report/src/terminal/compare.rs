//! A comparison in a terminal: what it says in plain words, then each quantity with its interval.

use super::Style;
use super::layout::{columns, labelled, labelled_rows, table, wrap};
use super::verdict::{findings, headline};
use crate::compare::{
    METRIC_HEADER, arms, conditions, cpu_sets, design, floor, machines, metric_rows, profiles, summary,
};
use model::CompareRecord;

/// Columns of the table that are left out, one after the other, where there is no room for them.
const DROPPED: [&[usize]; 4] = [&[], &[4], &[1, 4], &[1, 2, 3, 4]];

/// The whole result of a comparison: summary, verdict, quantities, how it was measured, findings with remedies. Ends
/// with a newline.
#[must_use]
pub fn compare(record: &CompareRecord, style: &Style) -> String {
    let style = *style;
    let mut out = wrap("", &summary(record), style.width, 0) + "\n\n";
    out.push_str(&headline(&record.verdict, style));
    for (role, text) in arms(record) {
        out.push_str(&labelled(&role, &text, style));
    }
    for condition in conditions(record) {
        out.push_str(&labelled("fail-if", &condition, style));
    }
    out.push_str(&labelled("ended", &record.reason, style));
    out.extend(design(record).map(|text| labelled("design", &text, style)));
    for (label, text) in machines(record) {
        out.push_str(&labelled(label, &text, style));
    }
    out.extend(cpu_sets(record).iter().map(|text| labelled("CPU sets", text, style)));
    out.push_str(&labelled("A/A floor", &floor(record), style));
    for (metric, why) in &record.unavailable {
        out.push_str(&labelled("not compared", &format!("{}: {why}", metric.words()), style));
    }
    for text in profiles(record) {
        out.push_str(&labelled("profile", &text, style));
    }
    if record.interrupted {
        out.push_str(&labelled("interrupted", "stopped before the comparison was done; whole blocks count", style));
    }
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
