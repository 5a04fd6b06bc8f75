//! Cells of tables in files, in which no text acts: Markdown and CSV.

use crate::visible;

/// Characters at the begin of a cell that make it a formula to spreadsheets, which may start programs and fetch pages.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Text that stays text in a spreadsheet: what would be a formula there begins with an apostrophe, which spreadsheets hide.
pub(crate) fn csv_text(text: &str) -> String {
    // A tab or a carriage return, which would be skipped before a formula, is shown.
    let text = visible::line(text);
    if text.trim_start().starts_with(FORMULA) { format!("'{text}") } else { text.into_owned() }
}

/// A table, the first `left` columns to the left.
pub(crate) fn markdown_table(header: &[String], rows: &[Vec<String>], left: usize) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
    let mut out = line(header);
    // Names to the left, figures to the right.
    let rule: Vec<_> = (0..header.len()).map(|i| if i < left { "---" } else { "---:" }.to_owned()).collect();
    out.push_str(&line(&rule));
    rows.iter().for_each(|row| out.push_str(&line(row)));
    out
}

/// Text that stays in its cell and is no markup.
pub(crate) fn cell(text: &str) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    let mut out = String::with_capacity(line.len());
    for c in visible::line(&line).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '~' | '[' | ']' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_cell_is_no_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u{a0}=1", "\u{ff1d}1"] {
            assert_eq!(csv_text(text), format!("'{text}"));
        }
        assert_eq!([csv_text("\t=1"), csv_text("\r=1"), csv_text("\n=1")], [r"\t=1", r"\r=1", r"\n=1"]);
        assert_eq!([csv_text("http://h/?a=-1"), csv_text("")], ["http://h/?a=-1", ""]);
    }

    #[test]
    fn text_of_a_cell_is_one_line_and_no_markup() {
        assert_eq!(cell("a|b\nc\\|d"), r"a\|b c\\\|d");
        assert_eq!(cell("~~[x](y)~~ <b>&amp;"), r"\~\~\[x\](y)\~\~ &lt;b>&amp;amp;");
        assert_eq!(cell("\u{1b}[2J\u{202e}"), r"\\u001b\[2J\\u202e");
    }
}
