//! A capacity in a terminal: the bracket, what it rests on, and the loads that were tried.

use super::Style;
use super::layout::{columns, labelled, labelled_bold, limiter, table};
use super::thresholds::thresholds;
use super::verdict::{findings, headline};
use crate::agents;
use crate::capacity::{bracket_text, estimate, goal, load_header, load_rows, more, search, target};
use crate::sent;
use model::CapacityRecord;

/// The whole result of a search for a capacity: verdict, bracket, goal, reason, loads, findings with remedies. Ends
/// with a newline.
#[must_use]
pub fn capacity(record: &CapacityRecord, style: &Style) -> String {
    let style = *style;
    let mut out = headline(&record.verdict, style);
    out.push_str(&labelled_bold("capacity", &bracket_text(record), style));
    out.push_str(&labelled("goal", &goal(record), style));
    out.push_str(&labelled("reason", &record.capacity.reason, style));
    let optional = [("estimate", estimate(record)), ("more time", more(record))];
    for (label, text) in optional {
        out.extend(text.map(|text| labelled(label, &text, style)));
    }
    out.push_str(&limiter(record.limiter.as_ref(), style));
    out.push_str(&labelled("search", &search(record), style));
    out.extend(sent::line(record.sent_in_all).map(|text| labelled(sent::LABEL, &text, style)));
    if !record.trials.is_empty() {
        out.push_str(&labelled("target", &target(record), style));
    }
    if let Some(served) = &record.environment.served {
        out.push_str(&labelled("server", &crate::served::line(served), style));
    }
    if let Some(text) = agents::server_host(&record.environment) {
        out.push_str(&labelled("server", &text, style));
    }
    if let Some(text) = agents::bandwidth(&record.environment) {
        out.push_str(&labelled("bandwidth", &text, style));
    }
    if let Some(text) = agents::origin(record.trials.iter()) {
        out.push_str(&labelled("agents", &text, style));
    }
    if record.interrupted {
        out.push_str(&labelled("interrupted", "stopped before the search was done; this is what was found", style));
    }
    if let Some(lost) = &record.agent_lost {
        out.push_str(&labelled("agent lost", &agents::lost(lost), style));
    }
    if !record.outcomes.is_empty() {
        out.push('\n');
        out.push_str(&loads(record, style));
    }
    out.push_str(&thresholds(&record.thresholds, style));
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
    let narrow = table(&["rate", "held", "goodput", ""], &narrow, 0, 1);
    if columns(&narrow) <= style.width {
        return narrow;
    }
    let least: Vec<Vec<String>> = rows.iter().map(|row| row[..2].to_vec()).collect();
    table(&["rate", "held"], &least, 0, 1)
}
