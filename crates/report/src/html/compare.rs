//! A comparison as a page: what it says in plain words, the effects with their intervals, and the blocks.

use super::Shown;
use super::chart::{
    COLOURS, Chart, GREY, SharedAxis, band, chart, factor_axis, layout, line, nth_colour, nth_line, plain, thin,
};
use super::graph::Graph;
use super::next;
use super::run::plan;
use super::view::{
    self, Answer, FileView, Flame, Measured, Part, ResultView, Table, VerdictView, command, files, fingerprint, limits,
    load, results,
};
use crate::record::PROFILES_FOLDER;
use crate::scales::extremes;
use crate::words::changes::{interval, signed};
use crate::words::compare::{baseline, block_header, block_rows, decisive, facts, summary};
use crate::words::forest::{Scale, lines};
use crate::words::overhead;
use crate::words::profile::{CHANGED, PHP_CHANGED, changed};
use model::human::plural;
use model::{ArmProfile, BlockRecord, CompareEnd, CompareRecord, MetricRecord};
use plotly::Scatter;
use plotly::common::{DashType, HoverInfo, Line, Marker, Mode};
use plotly::layout::Axis;

pub(super) fn view(shown: &Shown<'_>, record: &CompareRecord) -> ResultView {
    let names: Vec<&str> = record.arms.iter().map(|arm| arm.name.as_str()).collect();
    let tables = [
        Table { title: "Overhead", header: overhead::header(record), rows: overhead::rows(record) },
        Table { title: "Blocks", header: block_header(record), rows: block_rows(record) },
    ];
    let first = record.runs.first();
    let measured = if record.ended == CompareEnd::Stored { Measured::Before } else { Measured::ManyTimes };
    let functions = record.profiles.iter().flat_map(functions);
    let facts = facts(record);
    let environment = &record.environment;
    ResultView {
        kind: "compare",
        name: shown.name.to_owned(),
        title: names.join(" / "),
        started: record.started.clone(),
        verdict: Some(VerdictView::of(&record.verdict)),
        answers: vec![
            Answer::new("number", "result", summary(record)),
            Answer::new("next", "next", next::of_comparison(record)),
        ],
        picture: forest(record).into_iter().collect(),
        parts: vec![
            Part {
                facts: results(&facts),
                charts: course(record).into_iter().chain(super::strips::charts(record)).collect(),
                tables: tables.into_iter().filter(|table| !table.rows.is_empty()).collect(),
                ..Part::how_much()
            },
            Part {
                facts: limits(&facts),
                flames: differences(shown, record),
                tables: functions.filter(|table| !table.rows.is_empty()).collect(),
                ..Part::limits()
            },
            Part::belief(&record.verdict),
            Part {
                facts: load(&facts),
                tables: fingerprint(environment),
                groups: first
                    .map(|of| plan(&of.run.plan, false))
                    .into_iter()
                    .chain([view::environment(environment)])
                    .collect(),
                command: command(environment),
                files: files(shown, measured, [false; 4]).into_iter().chain(profile_files(shown, record)).collect(),
                ..Part::measured()
            },
        ],
    }
}

/// The differential flame graphs of each variant, as far as there are any: of the CPU time, and of PHP functions.
fn differences(shown: &Shown<'_>, record: &CompareRecord) -> Vec<Flame> {
    let none: &[Option<String>] = &[];
    let (native, php) =
        shown.graphs.map_or((none, none), |graphs| (&graphs.differences[..], &graphs.php_differences[..]));
    let of = |title, graphs: &[Option<String>], time| {
        let drawn = record.arms.iter().skip(1).zip(graphs);
        let drawn = drawn.filter_map(|(arm, svg)| Some((arm, Graph::new(svg.as_deref()?)?)));
        drawn.map(|(arm, graph)| Flame { title, about: about(&arm.name, record, time), graph }).collect()
    };
    let native: Vec<Flame> = of("What changed in the CPU time", native, "CPU time");
    [native, of("What changed in PHP functions", php, "time")].into_iter().flatten().collect()
}

/// What a differential graph of a variant shows.
fn about(variant: &str, record: &CompareRecord, time: &str) -> String {
    format!(
        "'{variant}' against '{}', for each good response: each box is a function, as wide as the {time} in it and in what it \
         called with '{variant}'; red grew, blue shrank. What '{variant}' does not do any more has no box here, but in the file \
         ending in -reverse.svg. One trial of each, apart from the blocks: where a change comes from, not how large it is.",
        baseline(record)
    )
}

/// Functions of one variant that changed.
fn functions(profile: &ArmProfile) -> [Table; 2] {
    let both = [
        ("Functions that changed", CHANGED, &profile.functions),
        ("PHP functions that changed", PHP_CHANGED, &profile.php_functions),
    ];
    both.map(|(title, header, functions)| {
        let mut header = header.map(str::to_owned).to_vec();
        header[0] = format!("{} of {}", header[0], profile.arm);
        Table { title, header, rows: changed(functions) }
    })
}

/// Files of the profiles.
fn profile_files(shown: &Shown<'_>, record: &CompareRecord) -> Option<FileView> {
    let what =
        "stacks and flame graph of each variant, in a folder by its number, and what changed from 1, the baseline";
    let file = || FileView::new(format!("{}{PROFILES_FOLDER}/", shown.folder), shown.is_beside, what.to_owned());
    (!record.profiles.is_empty()).then(file)
}

/// The change of each quantity with its interval, and the margin that matters as a band.
fn forest(record: &CompareRecord) -> Option<Chart> {
    let drawn: Vec<&MetricRecord> = record.metrics.iter().filter(|one| one.ratio.value > 0.0).collect();
    if drawn.is_empty() {
        return None;
    }
    let several = record.arms.len() > 2;
    let labels: Vec<String> = drawn.iter().map(|metric| label(metric, several)).collect();
    let places: Vec<f64> = (0..drawn.len()).map(|i| -(i as f64)).collect();
    let scale = Scale::of(&lines(record), record.margin);
    let mut traces = Vec::new();
    for (metric, place) in drawn.iter().zip(&places) {
        if let (Some(low), Some(high)) = (metric.ratio.low, metric.ratio.high) {
            let ends = vec![scale.place(low), scale.place(high)];
            let range = thin("95 % interval", COLOURS[0], ends, vec![*place; 2]).show_legend(false);
            traces.push(range.line(Line::new().color(COLOURS[0]).width(3.0)).hover_info(HoverInfo::Skip));
        }
    }
    let hover: Vec<String> = drawn.iter().zip(&labels).map(|(metric, label)| hover(metric, label)).collect();
    let x: Vec<f64> = drawn.iter().map(|metric| scale.place(metric.ratio.value)).collect();
    let points = Scatter::new(x, places.clone()).name("change").mode(Mode::Markers);
    let points = points.marker(Marker::new().color(COLOURS[0]).size(9));
    traces.push(points.text_array(hover).hover_template("%{text}<extra></extra>"));
    let zero = thin("no change", GREY, vec![scale.place(1.0); 2], vec![0.5, 0.5 - drawn.len() as f64]);
    traces.push(zero.line(Line::new().color(GREY).width(1.0).dash(DashType::Dash)).hover_info(HoverInfo::Skip));
    let names: Vec<String> = labels.iter().map(|label| plain(label)).collect();
    let rows = Axis::new().tick_values(places).tick_text(names).zero_line(false).auto_margin(true).show_grid(false);
    let mut axes = layout(axis(&scale), rows).show_legend(false);
    axes.add_shape(band(scale.place(1.0 - record.margin), scale.place(1.0 + record.margin)));
    let note = "change of each quantity with its interval; within the grey band a change does not matter (--margin)";
    let height_px = 120 + 34 * drawn.len() as u32;
    Some(chart("Changes against the baseline", note, traces, axes).height_px(height_px))
}

/// The axis of a forest plot.
fn axis(scale: &Scale) -> Axis {
    match *scale {
        Scale::Percent { low, high } => {
            Axis::new().title("change against the baseline, %").range(vec![low, high]).zero_line(false)
        }
        Scale::Factor { low, high } => factor_axis(low, high).title("times the baseline"),
    }
}

/// The change of what decides, block by block, so that a drift can be seen.
fn course(record: &CompareRecord) -> Option<Chart> {
    let baseline = baseline(record);
    let variants: Vec<&str> = record.arms.iter().skip(1).map(|arm| arm.name.as_str()).collect();
    let counted: Vec<(f64, &BlockRecord)> = record
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| block.counted)
        .map(|(i, block)| (i as f64 + 1.0, block))
        .collect();
    let scale = Scale::of(&lines(record), record.margin);
    let (mut traces, mut places) = (Vec::new(), Vec::new());
    for (load, metric) in decisive(record) {
        for variant in &variants {
            let value = |block: &BlockRecord, arm: &str| block.values.get(arm)?.get(&load)?.get(&metric).copied();
            let change = |block: &BlockRecord| {
                let (one, other) = (value(block, baseline)?, value(block, variant)?);
                (one > 0.0).then(|| other / one)
            };
            let (x, ratios): (Vec<f64>, Vec<f64>) =
                counted.iter().filter_map(|(number, block)| Some((*number, change(block)?))).unzip();
            if x.is_empty() {
                continue;
            }
            let name = format!("{variant}: {}, {}", metric.words(), load.words());
            let hover = x.iter().zip(&ratios).map(|(number, ratio)| format!("block {number}: {}", signed(ratio - 1.0)));
            let hover = hover.collect();
            let y: Vec<f64> = ratios.iter().map(|ratio| scale.place(*ratio)).collect();
            places.extend_from_slice(&y);
            let (i, colour) = (traces.len(), nth_colour(traces.len()));
            traces.push(nth_line(i, colour, line(&name, colour, x, y, hover)));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let (low, high) = extremes(places.into_iter().chain([1.0]));
    let changes = match scale {
        Scale::Percent { .. } => Axis::new().title("change, %").zero_line(true),
        Scale::Factor { .. } => factor_axis(low, high).title("times the baseline"),
    };
    let axes = layout(Axis::new().title("block").zero_line(false), changes);
    let note = "change against the baseline in each block that counts; a trend would be a drift";
    Some(chart("Changes by block", note, traces, axes).on(SharedAxis::Block))
}

fn label(metric: &MetricRecord, several: bool) -> String {
    let of = if several { format!("{}: ", metric.arm) } else { String::new() };
    format!("{of}{}, {}", metric.metric.words(), metric.load.words())
}

fn hover(metric: &MetricRecord, label: &str) -> String {
    let range = interval(&metric.ratio).map_or_else(String::new, |range| format!(" ({range})"));
    let change = signed(metric.ratio.value - 1.0);
    plain(&format!("{label}: {change}{range}, {}, {}", plural(metric.ratio.n, "block"), metric.call.words()))
}
