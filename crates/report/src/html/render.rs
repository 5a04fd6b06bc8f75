//! A page render as a page: the quantities in tables, and the times of each load block by block.

use super::Shown;
use super::chart::{Chart, Curve, SharedAxis, chart, layout, line, nth_colour, nth_line, picture, time_axis};
use super::next;
use super::view::{
    Beside, Group, Measured, Part, ResultView, Table, VerdictView, answers, command, environment, fact, files,
    fingerprint, load, results,
};
use crate::words::render::{facts, remark, roles, table, value};
use model::human::{percent, time};
use model::{CacheState, PageLoad, RenderMetric, RenderRecord};
use plotly::layout::Axis;

/// Times that are drawn load by load.
const DRAWN: [RenderMetric; 3] = [RenderMetric::TtfbNs, RenderMetric::FcpNs, RenderMetric::LcpNs];
/// Columns of the loads, before those of the quantities.
const LOADS: [&str; 4] = ["block", "page", "cache", "state"];

pub(super) fn view(shown: &Shown<'_>, record: &RenderRecord) -> ResultView {
    let (header, rows) = table(record);
    let quantities = Table { title: "Quantities", header: header.into_iter().map(str::to_owned).collect(), rows };
    let settings = &record.settings;
    let plan = vec![
        fact("blocks", settings.blocks.to_string()),
        fact("timeout", time(settings.timeout_ns as f64)),
        fact("margin", percent(settings.margin)),
        fact("seed", settings.seed.to_string()),
        fact("took", time(record.spent_ns as f64)),
    ];
    // The last of them is the one that a visitor waits for: the largest element of the page.
    let mut charts: Vec<Chart> = DRAWN.iter().filter_map(|metric| by_block(record, *metric)).collect();
    let facts = facts(record);
    ResultView {
        kind: "render",
        name: shown.name.to_owned(),
        title: record.arms.first().map_or_else(|| "page render".to_owned(), |arm| arm.url.clone()),
        started: record.started.clone(),
        verdict: Some(VerdictView::of(&record.verdict)),
        answers: answers(&facts, Beside::Nothing, next::of_render(record)),
        picture: picture(charts.pop()),
        parts: vec![
            Part {
                facts: results(&facts),
                remarks: remark(record).into_iter().map(str::to_owned).collect(),
                charts,
                tables: [quantities, each_load(record)].into_iter().filter(|table| !table.rows.is_empty()).collect(),
                ..Part::how_much()
            },
            Part::belief(&record.verdict),
            Part {
                facts: load(&facts),
                tables: fingerprint(&record.environment),
                groups: vec![Group { title: "Plan", facts: plan }, environment(&record.environment)],
                command: command(&record.environment),
                files: files(shown, Measured::Before, [false; 4]),
                ..Part::measured()
            },
        ],
    }
}

/// One time of each load in the order of the blocks: what drifts, and loads of two kinds, are seen here; none without a value.
fn by_block(record: &RenderRecord, metric: RenderMetric) -> Option<Chart> {
    let curves = record.arms.iter().enumerate().flat_map(|(arm, _)| {
        let named = move |cache: CacheState| match record.arms.len() {
            1 => cache.words().to_owned(),
            _ => format!("{} {}", roles(record)[arm.min(1)], cache.words()),
        };
        CacheState::ALL.map(|cache| (arm as u64, cache, named(cache)))
    });
    let mut traces: Vec<Curve> = Vec::new();
    let mut all = Vec::new();
    for (i, (arm, cache, name)) in curves.enumerate() {
        let of = record.loads.iter().filter(|load| (load.arm, load.cache) == (arm, cache));
        let known: Vec<(f64, f64)> = of
            .filter_map(|load| Some((load.block as f64 + 1.0, load.value(metric)?)))
            .filter(|(_, ns)| *ns > 0.0)
            .collect();
        if known.is_empty() {
            continue;
        }
        let (x, y): (Vec<f64>, Vec<f64>) = known.iter().copied().unzip();
        all.extend(y.iter().copied());
        let hover = known.iter().map(|(block, ns)| format!("block {block:.0}, {name}: {}", time(*ns))).collect();
        traces.push(nth_line(i, nth_colour(i), line(&name, nth_colour(i), x, y, hover)));
    }
    if traces.is_empty() {
        return None;
    }
    let x = Axis::new().title("block, in the order of time").zero_line(false);
    let axes = layout(x, time_axis(all.into_iter()));
    let words = metric.words();
    let title = words[..1].to_uppercase() + &words[1..];
    Some(
        chart(
            &title,
            "of each load that counts; a cold load has a new profile, a warm one is the second visit",
            traces,
            axes,
        )
        .on(SharedAxis::Block),
    )
}

/// Every load, those that do not count with their reason.
fn each_load(record: &RenderRecord) -> Table {
    let row = |load: &PageLoad| {
        let state = load.failure.as_ref().map_or_else(|| "counts".to_owned(), |failure| failure.message.clone());
        let names = [(load.block + 1).to_string(), (load.arm + 1).to_string(), load.cache.words().to_owned(), state];
        let cell =
            |metric: RenderMetric| load.value(metric).map_or_else(|| "-".to_owned(), |known| value(metric, known));
        names.into_iter().chain(RenderMetric::ALL.map(cell)).collect()
    };
    let header = LOADS.into_iter().chain(RenderMetric::ALL.map(RenderMetric::words)).map(str::to_owned).collect();
    Table { title: "Loads", header, rows: record.loads.iter().map(row).collect() }
}
