//! The overhead table for a paper: a `tabular` with the rules of booktabs.

use crate::visible;
use crate::words::changes::signed;
use crate::words::compare::{baseline, value};
use crate::words::overhead::{Overhead, overheads};
use model::{Bound, CompareRecord, KnownFigure};

/// The table of one comparison, with what it needs in a comment.
pub(crate) fn latex(name: &str, record: &CompareRecord) -> String {
    let rows = overheads(record);
    let several = record.arms.len() > 2;
    let mut out = format!("% {}: needs \\usepackage{{booktabs}}\n", visible::line(name));
    out.push_str(&format!("\\begin{{tabular}}{{ll{}rrrr}}\n\\toprule\n", if several { "l" } else { "" }));
    let base = format!("{} (baseline)", baseline(record));
    let variant = record.arms.get(1).filter(|_| !several).map_or("variant's value", |arm| arm.name.as_str());
    let arm = if several { vec!["variant"] } else { Vec::new() };
    let head =
        ["load", "quantity"].into_iter().chain(arm).chain([base.as_str(), variant, "change [95\\,\\%]", "blocks"]);
    out.push_str(&line(head.map(|cell| if cell.contains("\\,") { cell.to_owned() } else { text(cell) })));
    let mut load = None;
    for row in &rows {
        let is_same = load == Some(row.load);
        load = Some(row.load);
        if !is_same {
            out.push_str("\\midrule\n");
        }
        let first = if is_same { String::new() } else { text(row.load.words()) };
        out.push_str(&line(cells(row, several, first).into_iter()));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n");
    out
}

fn cells(row: &Overhead<'_>, several: bool, load: String) -> Vec<String> {
    let none = || "--".to_owned();
    let mut cells = vec![load, text(row.metric.words())];
    if several {
        cells.push(text(row.arm));
    }
    let interval = row.ratio.and_then(|ratio| ratio.low.zip(ratio.high));
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!(" [{}, {}]", number(&signed(low - 1.0)), number(&signed(high - 1.0)))
    });
    cells.extend([
        figure(row, &row.baseline),
        figure(row, &row.value),
        row.change().map_or_else(none, |change| format!("{}{interval}", text(&change))),
        row.blocks().map_or_else(none, |blocks| blocks.to_string()),
    ]);
    cells
}

/// A value in its unit, as a bound where it is one.
fn figure(row: &Overhead<'_>, figure: &KnownFigure) -> String {
    let sign = match figure.bound {
        Some(Bound::AtLeast) => "$\\geq$\\,",
        Some(Bound::AtMost) => "$\\leq$\\,",
        None => "",
    };
    format!("{sign}{}", text(&value(row.metric, figure.value)))
}

/// A change without its unit, which stands with the value.
fn number(change: &str) -> String {
    text(change.trim_end_matches(" %").trim_end_matches(" times"))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("{} \\\\\n", cells.collect::<Vec<_>>().join(" & "))
}

/// Text that LaTeX shows as it is. Signs of figures are those of mathematics, and no line breaks before a unit.
fn text(text: &str) -> String {
    let mut out = String::new();
    let mut chars = visible::line(text).chars().collect::<Vec<_>>().into_iter().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let is_number_next = chars.peek().is_some_and(char::is_ascii_digit);
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            'µ' => out.push_str("\\textmu{}"),
            '-' if before == ' ' && is_number_next => out.push_str("$-$"),
            ' ' if before.is_ascii_digit() && !is_number_next => out.push_str("\\,"),
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::comparison;

    #[test]
    fn a_table_has_rules_between_loads_and_its_intervals_in_brackets() {
        let table = latex("results/a_b", &comparison());
        let head = "\\begin{tabular}{llrrrr}\n\\toprule\nload & quantity & plain (baseline) & gzip & change [95\\,\\%] & \
                    blocks \\\\\n\\midrule\nsaturation & goodput & 2,000/s & 1,780/s & $-$11\\,\\% [$-$13, $-$9.0] & 18 \
                    \\\\\n & server CPU per request";
        assert!(table.contains(head), "{table}");
        assert_eq!(table.matches("\\midrule").count(), 2, "{table}");
        assert!(table.ends_with("\\bottomrule\n\\end{tabular}\n"));
    }

    #[test]
    fn text_from_outside_is_no_command() {
        assert_eq!(
            text("a_b {50%} \\input{x} ~#$&^"),
            "a\\_b \\{50\\%\\} \\textbackslash{}input\\{x\\} \
                   \\textasciitilde{}\\#\\$\\&\\textasciicircum{}"
        );
        assert_eq!(text("x\n\\y"), "x\\textbackslash{}n\\textbackslash{}y");
        assert_eq!([text("-3.1 %"), text("12.3 µs")], ["$-$3.1\\,\\%", "12.3\\,\\textmu{}s"]);
    }
}
