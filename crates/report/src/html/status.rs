//! Table of status pages.

use super::view::Table;
use model::human::count;
use model::{Figure, StatusRecord};

/// The figures of all status pages that could be read; none when there are none.
pub(super) fn table(pages: &[StatusRecord]) -> Option<Table> {
    let rows: Vec<_> = pages.iter().flat_map(rows).collect();
    let header = ["figure", "mean", "least", "most", "change"].map(str::to_owned).into();
    (!rows.is_empty()).then_some(Table { title: "What the server says of itself", header, rows })
}

fn rows(page: &StatusRecord) -> impl Iterator<Item = Vec<String>> {
    let server = page.server.as_deref().unwrap_or_default();
    page.figures.iter().map(move |(name, figure)| row(&format!("{server}: {}", name.replace('_', " ")), figure))
}

fn row(name: &str, figure: &Figure) -> Vec<String> {
    let change = figure.last - figure.first;
    let sign = if change < 0.0 { "-" } else { "" };
    let change = format!("{sign}{}", number(change.abs()));
    vec![name.to_owned(), number(figure.mean), number(figure.min), number(figure.max), change]
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 && value >= 0.0 { count(value as u64) } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rows_and_nothing_is_no_table() {
        let figure = Figure { first: 5.0, last: 2.0, min: 2.0, max: 5000.0, mean: 3.25 };
        let figures = [("listen_queue".to_owned(), figure)].into();
        let page = StatusRecord { server: Some("php-fpm".into()), looks: 2, figures, ..StatusRecord::default() };
        let table = table(&[page]).expect("a table");
        assert_eq!(table.rows, [["php-fpm: listen queue", "3.25", "2", "5,000", "-3"]]);
        assert!(super::table(&[StatusRecord::default()]).is_none());
    }
}
