//! A sweep in a terminal: the curve in words, figures and a picture.

use super::Style;
use super::curve::curve;
use super::layout::{columns, fact_lines, table, top_lines};
use super::verdict::findings;
use crate::words::fact::About;
use crate::words::observed::{SERVER_COLUMN, server_column};
use crate::words::over::Over;
use crate::words::sweep::{before_last, facts, row};
use model::SweepRecord;

/// The whole result of a sweep: verdict, peak, knee, table, curve, findings with remedies. Ends with a newline.
#[must_use]
pub fn sweep(record: &SweepRecord, style: &Style) -> String {
    let style = *style;
    let (facts, over) = (facts(record), Over::of(record));
    let mut out = top_lines(&facts, style);
    out.push('\n');
    out.push_str(&points(record, over, style));
    if let Some(picture) = curve(record, over.axis(), style.width) {
        out.push('\n');
        out.push_str(&picture);
    }
    out.push_str(&fact_lines(&facts, &[About::Use], style));
    out.push_str(&fact_lines(&facts, &[About::Threshold], style));
    out.push_str(&findings(&record.verdict, style));
    out
}

/// The table of points; on a narrow terminal only its most telling columns.
fn points(record: &SweepRecord, over: Over, style: Style) -> String {
    let rows: Vec<_> = record.curve.iter().enumerate().map(|(i, point)| row(record, i, point, over)).collect();
    let header = ["load", "goodput", "spread", "p50", "p99", "failed", "client busy", ""];
    if let Some(server) = server_column(&record.curve) {
        let with_server: Vec<_> = rows.iter().zip(server).map(|(row, cell)| before_last(row.clone(), cell)).collect();
        let header = before_last(header.to_vec(), SERVER_COLUMN);
        let widest = table(&header, &with_server, 0, 2);
        if columns(&widest) <= style.width {
            return widest;
        }
    }
    let wide = table(&header, &rows, 0, 2);
    if columns(&wide) <= style.width {
        return wide;
    }
    let narrow: Vec<_> = rows.iter().map(|row| [0, 1, 4, 5, 7].map(|i| row[i].clone()).to_vec()).collect();
    table(&["load", "goodput", "p99", "failed", ""], &narrow, 0, 1)
}
