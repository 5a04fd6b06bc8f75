//! Results as one HTML file that needs nothing else: text, tables, and charts that can be pointed at.
//!
//! The page holds the script that draws its charts, and a policy that forbids it every access to a network.
//!
//! It carries the part of plotly.js that draws lines and strips (0.45 MB: compressed, as base64), so that charts can be pointed
//! at offline. Drawn by plotters or charming they would be pictures that neither zoom nor answer; ECharts, which comes with
//! charming, is as large as that part (333 kB compressed, and 341 kB of plotly.js), and no crate brings uPlot or Chart.js. What
//! a browser can unpack by itself is gzip, and base64 costs a third: bases with more digits would save 7 % of the page, and need
//! a decoder of our own. Colours come from the style sheet, so that charts follow light and dark. Flame graphs live in frames
//! without an origin: the scripts of two would meet.
//!
//! What is drawn inside a part that is folded waits until that is unfolded, or the page printed.

mod arms;
mod capacity;
mod chart;
mod compare;
mod cpu;
mod dots;
mod experiment;
mod flames;
mod graph;
mod history;
mod kernel;
mod layers;
mod next;
mod operating;
mod pools;
mod profile;
mod render;
mod resources;
mod run;
mod status;
mod strips;
mod sweep;
mod threads;
mod timeline;
mod view;

use crate::Named;
use crate::operating::fixed_loads;
use crate::record::{AnyRecord, arm_folder};
use crate::words::arms::Arm;
use crate::words::experiment::{Columns, rows_of};
use crate::words::run::{RUN_HEADER, row};
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use graph::Graph;
use model::{Histograms, HistoryRecord, SweepRecord};
use std::fmt::Display;
use view::{Answer, Page, Part, ResultView, Table, fact};

const STYLE: &str = include_str!("../../templates/style.css");
const SCRIPT: &str = include_str!("../../templates/page.js");
/// Of the crate plotly, compressed by the build script.
const PLOTLY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.gz"));

/// Flame graphs as SVG, as far as they were made.
#[derive(Clone, Debug, Default)]
pub struct Graphs {
    /// Where the CPU time went.
    pub running: Option<String>,
    /// Where threads waited, with functions.
    pub waiting: Option<String>,
    /// Where the time of PHP went.
    pub php: Option<String>,
    /// What has changed of it from the baseline of a comparison to each of its variants, in their order.
    pub differences: Vec<Option<String>>,
    /// The same of PHP functions.
    pub php_differences: Vec<Option<String>>,
}

/// A result and what the page adds to its record.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The result.
    pub named: Named<'a>,
    /// Of a run; others have none.
    pub distributions: Option<&'a Histograms>,
    /// Of several sweeps one for each, of others one; missing where there is no profile.
    pub graphs: &'a [Graphs],
    /// Way from the page to the raw files, ending in a slash; empty when it lies beside them.
    pub base: &'a str,
}

/// One result of the page by itself: a run, a sweep, one arm of several, a capacity, or a comparison.
struct Shown<'a> {
    /// Name of the directory.
    name: &'a str,
    distributions: Option<&'a Histograms>,
    graphs: Option<&'a Graphs>,
    /// Way from the page to the raw files, ending in a slash; empty when they lie beside it.
    folder: String,
    /// True if the page lies in the directory of the result, so that its files can be linked.
    is_beside: bool,
}

impl Shown<'_> {
    /// True if it has such a graph.
    fn has(&self, graph: fn(&Graphs) -> &Option<String>) -> bool {
        self.graphs.and_then(|graphs| graph(graphs).as_deref()).is_some_and(|svg| Graph::new(svg).is_some())
    }
}

/// One page about one result, or about several: first side by side, then each by itself.
///
/// It is written piece by piece, the script that draws as one of its own: nobody needs to hold the whole.
#[must_use]
pub fn page(items: &[Item<'_>]) -> impl Display + use<> {
    let mut results: Vec<ResultView> = items.iter().flat_map(each).collect();
    if results.len() > 1 {
        results.insert(0, side_by_side(items, results.len()));
    }
    page_of(results)
}

/// A page about a history: each series by itself, then what is in none.
#[must_use]
pub fn history_page(record: &HistoryRecord) -> impl Display + use<> {
    page_of(history::views(record))
}

fn page_of(mut results: Vec<ResultView>) -> Page {
    results.iter_mut().for_each(ResultView::make_visible);
    let title = results.first().map_or_else(String::new, |result| result.title.clone());
    let has_charts = results.iter().flat_map(ResultView::charts).any(|chart| chart.json.is_some());
    Page { title, style: STYLE, script: SCRIPT, plotly: Base64Display::new(PLOTLY, &STANDARD), has_charts, results }
}

/// The document that the page shows of a stored flame graph; none of what is none.
pub(crate) fn document(svg: &str) -> Option<String> {
    Graph::new(svg).map(|graph| graph.document)
}

/// The results of an item, each by itself.
fn each(item: &Item<'_>) -> Vec<ResultView> {
    let shown = |index: usize, folder: String| Shown {
        name: item.named.name,
        distributions: item.distributions,
        graphs: item.graphs.get(index),
        folder: format!("{}{folder}", item.base),
        is_beside: item.base.is_empty(),
    };
    match item.named.record {
        AnyRecord::Run(record) => vec![run::view(&shown(0, String::new()), record)],
        AnyRecord::Sweep(record) => vec![sweep::view(&shown(0, String::new()), record)],
        AnyRecord::Sweeps(record) => {
            let folder = |i, arm: &SweepRecord| format!("{}/", arm_folder(i, arm.arm.as_deref().unwrap_or_default()));
            let arms = record.sweeps.iter().enumerate();
            arms.map(|(i, arm)| sweep::view(&shown(i, folder(i, arm)), arm)).collect()
        }
        AnyRecord::Capacity(record) => vec![capacity::view(&shown(0, String::new()), record)],
        AnyRecord::Compare(record) => vec![compare::view(&shown(0, String::new()), record)],
        AnyRecord::Experiment(record) => vec![experiment::view(&shown(0, String::new()), record)],
        AnyRecord::Render(record) => vec![render::view(&shown(0, String::new()), record)],
    }
}

/// The curves of those of a kind in one chart, and all results in tables.
fn side_by_side(items: &[Item<'_>], count: usize) -> ResultView {
    let named: Vec<Named<'_>> = items.iter().map(|item| item.named).collect();
    let sweeps = crate::words::arms::arms(&named);
    let mut charts = arms::overlaid(&sweeps, &fixed_loads(&named)).into_iter();
    let picture = chart::picture(charts.next());
    // A line for each; what a change would buy stands with the arm itself.
    let limiter = sweeps.iter().filter_map(|arm| {
        let found = crate::words::limiter::facts(arm.record.limiter.as_ref()).into_iter().next()?;
        Some(fact(found.label, format!("{}: {}", arm.label, found.text)))
    });
    let peaks = sweeps.iter().map(|arm| format!("{}: {}", arm.label, crate::words::sweep::summary(arm.record)));
    let runs = named.iter().filter_map(|named| match named.record {
        AnyRecord::Run(record) => Some(format!("{}: {}", named.name, crate::words::run::summary(record))),
        _ => None,
    });
    let numbers = peaks.chain(runs).collect::<Vec<_>>().join("; ");
    let number = (!numbers.is_empty()).then(|| Answer::new("number", "numbers", numbers));
    let remarks = if sweeps.len() > 1 { crate::words::arms::remarks(&sweeps) } else { Vec::new() };
    ResultView {
        kind: "report",
        title: format!("{count} results side by side"),
        answers: number.into_iter().chain([Answer::new("next", "next", next::of_several(&sweeps))]).collect(),
        picture,
        parts: vec![
            Part {
                charts: charts.chain(run::overlaid(items)).collect(),
                tables: tables_beside(&named, &sweeps),
                ..Part::how_much()
            },
            Part { facts: limiter.collect(), ..Part::limits() },
            Part::remarks(remarks),
        ],
        ..ResultView::default()
    }
}

/// A table for each kind of result, with a row for each.
fn tables_beside(named: &[Named<'_>], sweeps: &[Arm<'_>]) -> Vec<Table> {
    let experiments = Columns::of(named.iter().flat_map(|named| rows_of(*named)));
    let tables = [
        ("Sweeps", crate::words::arms::header(sweeps), sweeps.iter().map(|arm| arm.row()).collect()),
        ("Runs", RUN_HEADER.map(str::to_owned).to_vec(), named.iter().filter_map(|named| row(*named)).collect()),
        (
            "Capacities",
            crate::words::capacity::HEADER.map(str::to_owned).to_vec(),
            named.iter().filter_map(|named| crate::words::capacity::row(*named)).collect(),
        ),
        (
            "Comparisons",
            crate::words::compare::HEADER.map(str::to_owned).to_vec(),
            named.iter().filter_map(|named| crate::words::compare::row(*named)).collect(),
        ),
        ("Experiments", experiments.header, experiments.rows),
        (
            "Page renders",
            crate::words::render::header_beside(),
            named.iter().flat_map(|named| crate::words::render::rows_beside(*named)).collect(),
        ),
    ];
    let tables = tables.map(|(title, header, rows): (_, _, Vec<_>)| Table { title, header, rows });
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}
