//! A history in a terminal: each series with its figures, and where their level moved.

use super::Style;
use super::layout::{columns, fact_lines, labelled, table};
use crate::words::fact::About;
use crate::words::history::{FIGURES, conditions, facts, figure_rows, method, title};
use model::human::plural;
use model::{HistoryRecord, HistorySeries};

/// Widest line of bars.
const BARS_MAX: usize = 48;
/// Results left out that are named; of more there is a count, unless all were asked for.
const LEFT_OUT_MAX: usize = 5;

/// A whole history: each series, then what is in none. Ends with a newline.
#[must_use]
pub fn history(record: &HistoryRecord, style: &Style) -> String {
    let style = *style;
    let mut parts: Vec<String> = record.series.iter().map(|one| series(one, style)).collect();
    if record.series.is_empty() {
        parts.push(labelled("history", "no result that could be looked at", style));
    }
    let mut end = labelled("method", &method(record), style);
    end.push_str(&left_out(record, style));
    parts.push(end);
    parts.join("\n")
}

fn series(series: &HistorySeries, style: Style) -> String {
    let mut out = labelled("series", &title(series), style);
    if style.verbose {
        out.push_str(&labelled("alike in", &conditions(series), style));
    }
    out.push_str(&fact_lines(&facts(series), &[About::Result], style));
    out.push_str(&figures(series, style));
    out
}

/// The table of figures, with bars as far as there is room for any.
fn figures(series: &HistorySeries, style: Style) -> String {
    if series.figures.is_empty() {
        return String::new();
    }
    let without: Vec<Vec<String>> = figure_rows(series, 0).into_iter().map(|row| row[..4].to_vec()).collect();
    let plain = table(&FIGURES[..4], &without, 1, 2);
    if columns(&plain) > style.width {
        let least: Vec<Vec<String>> = without.iter().map(|row| row[..2].to_vec()).collect();
        return format!("\n{}", table(&FIGURES[..2], &least, 1, 2));
    }
    let room = style.width.saturating_sub(columns(&plain) + 2);
    if room < FIGURES[4].len() {
        return format!("\n{plain}");
    }
    // Bars begin where the column does.
    let bars = room.min(BARS_MAX);
    let mut rows = figure_rows(series, bars);
    let longest = rows.iter().map(|row| row[4].chars().count()).max().unwrap_or(0).max(FIGURES[4].len());
    rows.iter_mut().for_each(|row| row[4] = format!("{:<longest$}", row[4]));
    let with = table(&FIGURES, &rows, 1, 2);
    let lines = with.lines().map(|line| format!("{}\n", line.trim_end()));
    format!("\n{}", lines.collect::<String>())
}

fn left_out(record: &HistoryRecord, style: Style) -> String {
    let all = record.left_out.len();
    if all == 0 {
        return String::new();
    }
    let shown = if style.verbose { all } else { all.min(LEFT_OUT_MAX) };
    let named = record.left_out.iter().take(shown).map(|one| format!("{}: {}", one.name, one.why));
    let mut text = format!("{}: {}", plural(all as u64, "result"), named.collect::<Vec<_>>().join("; "));
    if shown < all {
        text.push_str(&format!("; and {} more (-v)", all - shown));
    }
    labelled("left out", &text, style)
}
