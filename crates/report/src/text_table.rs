//! Tables as plain text, without borders.

use crate::visible;
use comfy_table::{Cell, CellAlignment, Table, presets};

/// A table without borders, numbers to the right, the first `left` columns to the left; ends with a newline.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], left: usize, gap: u16) -> String {
    let align = |i| if i < left { CellAlignment::Left } else { CellAlignment::Right };
    let cell = |(i, text): (usize, &str)| Cell::new(visible::line(text)).set_alignment(align(i));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().copied().enumerate().map(cell));
    for row in rows {
        table.add_row(row.iter().map(String::as_str).enumerate().map(cell));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { gap }, 0));
    }
    table.trim_fmt() + "\n"
}

/// Columns the widest line takes.
pub(crate) fn columns(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}
