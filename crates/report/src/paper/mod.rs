//! Results for a paper: the overhead table of a comparison with intervals and numbers of blocks as rows, CSV and LaTeX, and
//! figures of comparisons and sweeps as plain SVG.

mod csv;
mod curves;
mod figures;
mod latex;
mod svg;

use crate::Named;
use crate::record::AnyRecord;
pub use figures::Figure;
use model::CompareRecord;

/// The overhead table of each comparison as a `tabular` for LaTeX; empty where there is no comparison.
#[must_use]
pub fn latex(results: &[Named<'_>]) -> String {
    let tables = comparisons(results).map(|(name, record)| latex::latex(name, record));
    tables.collect::<Vec<_>>().join("\n")
}

/// The overhead table of each comparison as CSV, unrounded; its head alone where there is no comparison.
#[must_use]
pub fn overhead(results: &[Named<'_>]) -> String {
    csv::csv(results)
}

/// The figures of results: forest plot and blocks of the only comparison among them, and the curves of the sweeps, with the
/// fixed loads of all comparisons. None of other results, and of several comparisons without a sweep.
#[must_use]
pub fn svg_figures(results: &[Named<'_>]) -> Vec<Figure> {
    let compared: Vec<&CompareRecord> = comparisons(results).map(|(_, record)| record).collect();
    let of_comparison = match compared[..] {
        [only] => figures::figures(only),
        _ => Vec::new(),
    };
    let curves = curves::curves(results).map(|svg| Figure { file: "curves.svg", svg });
    of_comparison.into_iter().chain(curves).collect()
}

/// The comparisons among several results, with their names.
pub(crate) fn comparisons<'a>(results: &[Named<'a>]) -> impl Iterator<Item = (&'a str, &'a CompareRecord)> {
    results.iter().filter_map(|named| match named.record {
        AnyRecord::Compare(record) => Some((named.name, record)),
        _ => None,
    })
}
