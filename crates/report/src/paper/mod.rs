//! A comparison for a paper: the overhead table with intervals and numbers of blocks as rows, CSV and LaTeX, and figures as
//! plain SVG.

pub(crate) mod blocks;
mod csv;
mod figures;
mod forest;
mod latex;
pub(crate) mod overhead;
mod svg;
#[cfg(test)]
pub(crate) mod testing;

use crate::Named;
use crate::record::AnyRecord;
pub use figures::Figure;
use model::human::{plural, rate};
use model::{CompareLoad, CompareRecord};

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

/// Forest plot and blocks of a comparison as figures; none of other results.
#[must_use]
pub fn svg_figures(record: AnyRecord<'_>) -> Vec<Figure> {
    match record {
        AnyRecord::Compare(record) => figures::figures(record),
        _ => Vec::new(),
    }
}

/// The comparisons among several results, with their names.
pub(crate) fn comparisons<'a>(results: &[Named<'a>]) -> impl Iterator<Item = (&'a str, &'a CompareRecord)> {
    results.iter().filter_map(|named| match named.record {
        AnyRecord::Compare(record) => Some((named.name, record)),
        _ => None,
    })
}

/// Where it was measured, with the rate or the connections.
pub(crate) fn place(record: &CompareRecord, load: CompareLoad) -> String {
    match (load, &record.plan) {
        (CompareLoad::Fixed, Some(plan)) => format!("at {}", rate(plan.rate_per_s)),
        (CompareLoad::Saturated, Some(plan)) => {
            format!("at saturation, {}", plural(u64::from(plan.connections), "connection"))
        }
        (CompareLoad::Fixed, None) => "at the fixed load".to_owned(),
        (CompareLoad::Saturated, None) => "at saturation".to_owned(),
        (CompareLoad::Capacity, _) => "by search".to_owned(),
        (CompareLoad::Canary, _) => "of the canary".to_owned(),
        (CompareLoad::Stored, _) => "in the stored runs".to_owned(),
    }
}
