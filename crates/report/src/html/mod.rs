//! Results as one HTML file that needs nothing else: text, tables, and charts that can be pointed at.
//!
//! The page holds the script that draws its charts, and a policy that forbids it every access to a network.

mod chart;
mod cpu;
mod run;
mod sweep;
mod view;

use crate::Named;
use crate::record::AnyRecord;
use askama::Template;
use stats::MergedHistogram;
use view::{Page, ResultView};

const STYLE: &str = include_str!("../../templates/style.css");
const SCRIPT: &str = include_str!("../../templates/page.js");

/// The distributions of a run that its record has only quantiles of; both empty when they were not kept.
#[derive(Clone, Debug, Default)]
pub struct Distributions {
    /// Completion minus intended send.
    pub response: MergedHistogram,
    /// Completion minus actual send.
    pub service: MergedHistogram,
}

/// A result and what the page adds to its record.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The result.
    pub named: Named<'a>,
    /// Of a run; a sweep has none.
    pub distributions: Option<&'a Distributions>,
    /// Way from the page to the raw files, ending in a slash; empty when it lies beside them.
    pub base: &'a str,
}

/// One page about one result, or about several: first side by side, then each by itself.
#[must_use]
pub fn page(items: &[Item<'_>]) -> String {
    let mut results: Vec<ResultView> = Vec::new();
    if items.len() > 1 {
        results.push(side_by_side(items));
    }
    results.extend(items.iter().map(|item| match item.named.record {
        AnyRecord::Run(record) => run::view(item, record),
        AnyRecord::Sweep(record) => sweep::view(item, record),
    }));
    let title = results.first().map_or_else(String::new, |result| result.title.clone());
    let page = Page {
        title: &title,
        style: STYLE,
        script: SCRIPT,
        plotly: &plotly_script(),
        has_charts: results.iter().any(|result| !result.charts.is_empty()),
        results,
    };
    page.render().expect("writing to memory cannot fail")
}

/// All results in one table, and the curves of those of a kind in one chart.
fn side_by_side(items: &[Item<'_>]) -> ResultView {
    let named: Vec<Named<'_>> = items.iter().map(|item| item.named).collect();
    let mut charts = sweep::overlaid(&named);
    charts.extend(run::overlaid(items));
    ResultView {
        kind: "report",
        title: format!("{} results side by side", items.len()),
        charts,
        tables: vec![view::Table {
            title: "Results",
            header: crate::table::HEADER.map(str::to_owned).to_vec(),
            rows: named.iter().map(|named| crate::table::row(*named)).collect(),
        }],
        ..ResultView::default()
    }
}

/// Plotly itself, without the typesetting of formulas that comes with it: half a page's weight that no chart needs.
fn plotly_script() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let script = sources.split("</script>").find(|part| part.contains("plotly.js v"));
    let (_, code) = script.and_then(|script| script.split_once('>')).expect("the crate brings its script");
    code.to_owned()
}
