//! A capacity as a page: the bracket over the trials, what they took, and how the search came to it.

use super::Shown;
use super::chart::{
    COLOURS, Chart, Curve, GREY, RED, SharedAxis, band, beside, chart, from_zero, layout, load_axis, nth_colour,
    nth_mark, picture, plain, reasons_once, thin, time_axis, upright,
};
use super::next;
use super::run::plan;
use super::view::{
    self, Beside, Measured, Part, ResultView, Table, VerdictView, answers, command, files, fingerprint, limits, load,
    results, thresholds,
};
use crate::words::capacity::{facts, is_latency, load_header, load_rows, outcome, trial_header, trial_rows};
use model::human::{rate, time};
use model::{CapacityRecord, TrialRecord};
use plotly::common::{Anchor, DashType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::Axis;
use plotly::{Layout, Scatter};

/// Points of the line on which all that is offered comes back.
const LINE_POINTS: usize = 60;
/// Quantile of each trial that is drawn where the goal names no response time.
const P99: &str = "p99";

pub(super) fn view(shown: &Shown<'_>, record: &CapacityRecord) -> ResultView {
    let first = record.trials.first();
    let title = first.map_or_else(|| "capacity".to_owned(), |run| run.plan.target.url.clone());
    let charts = [latency(record), course(record)];
    let tables = [
        Table { title: "Loads", header: load_header(record), rows: load_rows(record) },
        Table { title: "Trials", header: trial_header(record), rows: trial_rows(record) },
    ];
    let facts = facts(record);
    let environment = &record.environment;
    ResultView {
        kind: "capacity",
        name: shown.name.to_owned(),
        title,
        started: record.started.clone(),
        verdict: Some(VerdictView::of(&record.verdict)),
        answers: answers(&facts, Beside::NextFigure, next::of_capacity(record)),
        picture: picture(goodput(record)),
        parts: vec![
            Part {
                facts: results(&facts),
                charts: reasons_once(charts.into_iter().flatten()),
                tables: thresholds(&record.thresholds).into_iter().chain(tables).collect(),
                ..Part::how_much()
            },
            Part { facts: limits(&facts), ..Part::limits() },
            Part::belief(&record.verdict),
            Part {
                facts: load(&facts),
                tables: fingerprint(environment),
                groups: first
                    .map(|run| plan(&run.plan, false))
                    .into_iter()
                    .chain([view::environment(environment)])
                    .collect(),
                command: command(environment),
                files: files(shown, Measured::ManyTimes, [false; 4]),
                ..Part::measured()
            },
        ],
    }
}

/// Trials that can be drawn, with their numbers.
fn drawn(record: &CapacityRecord) -> impl Iterator<Item = (usize, &TrialRecord)> {
    record.outcomes.iter().enumerate().filter(|(_, trial)| trial.load_per_s > 0.0).map(|(i, trial)| (i + 1, trial))
}

/// Goodput of each trial by what was offered, with the bracket.
fn goodput(record: &CapacityRecord) -> Option<Chart> {
    let (low, high) = ends(record)?;
    let x: Vec<f64> = (0..=LINE_POINTS).map(|i| low * (high / low).powf(i as f64 / LINE_POINTS as f64)).collect();
    let line = Scatter::new(x.clone(), x).name("all that is offered").mode(Mode::Lines);
    let line = line.line(Line::new().color(GREY).width(1.0).dash(DashType::Dash)).hover_info(HoverInfo::Skip);
    let mut traces = vec![line];
    traces.extend(by_outcome(record, |(_, trial)| (trial.load_per_s, trial.goodput_per_s)));
    let axes = layout(load_axis([low, high].into_iter(), "offered rate"), from_zero());
    let note = "good responses per second of each trial; the grey band is the bracket; each doubling of the rate has \
                the same width";
    Some(chart("Goodput by offered rate", note, traces, marked(axes, record)).on(SharedAxis::Load))
}

/// Lowest and highest load of the trials.
fn ends(record: &CapacityRecord) -> Option<(f64, f64)> {
    let loads = || drawn(record).map(|(_, trial)| trial.load_per_s);
    Some((loads().reduce(f64::min)?, loads().reduce(f64::max)?))
}

/// The trials in a colour and a mark for each outcome; those that did not count have neither held nor failed.
fn by_outcome(record: &CapacityRecord, point: impl Fn((usize, &TrialRecord)) -> (f64, f64)) -> Vec<Curve> {
    let outcomes = [
        ("goal met", COLOURS[2], MarkerSymbol::Circle, Some(true)),
        ("failed", RED, MarkerSymbol::X, Some(false)),
        ("not counted", GREY, MarkerSymbol::CircleOpen, None),
    ];
    let mut curves = Vec::new();
    for (name, colour, symbol, held) in outcomes {
        let is_of = |trial: &TrialRecord| trial.counted.then_some(trial.held) == held;
        let trials: Vec<(usize, &TrialRecord)> = drawn(record).filter(|(_, trial)| is_of(trial)).collect();
        if trials.is_empty() {
            continue;
        }
        let (x, y): (Vec<f64>, Vec<f64>) = trials.iter().map(|trial| point(*trial)).unzip();
        let hover: Vec<String> = trials.iter().map(|(number, trial)| words(*number, trial)).collect();
        let marks = Scatter::new(x, y).name(name).mode(Mode::Markers).marker(mark(colour, symbol));
        curves.push(marks.text_array(hover).hover_template("%{text}<extra></extra>"));
    }
    curves
}

/// What a trial says of itself.
fn words(number: usize, trial: &TrialRecord) -> String {
    let (load, goodput) = (rate(trial.load_per_s), rate(trial.goodput_per_s));
    plain(&format!("trial {number} at {load}: {}, {goodput} good", outcome(trial)))
}

fn mark(colour: &'static str, symbol: MarkerSymbol) -> Marker {
    Marker::new().color(colour).size(8).symbol(symbol)
}

/// The bracket as a band, or the only end that there is as a line.
fn marked(mut axes: Layout, record: &CapacityRecord) -> Layout {
    let capacity = &record.capacity;
    let ends = [(capacity.low, "held at", Anchor::Right), (capacity.high, "failed at", Anchor::Left)];
    if let (Some(low), Some(high)) = (capacity.low, capacity.high) {
        axes.add_shape(band(low, high));
    }
    for (load, name, anchor) in ends {
        let Some(load) = load.filter(|load| *load > 0.0) else { continue };
        axes.add_shape(upright(load, GREY, DashType::Dot));
        let text = plain(&format!("{name} {}", rate(load)));
        axes.add_annotation(beside(load, &text).y(0.02).y_ref("paper").x_anchor(anchor));
    }
    axes
}

/// Response times that the goal names, or the 99th percentile, of each trial, with their limits.
fn latency(record: &CapacityRecord) -> Option<Chart> {
    let (low, high) = ends(record)?;
    let (mut traces, mut all_ns) = (Vec::new(), Vec::new());
    let mut limits = "";
    let named = record.outcomes.first()?.conditions.iter().enumerate().filter(|(_, one)| is_latency(one));
    for (i, (at, one)) in named.enumerate() {
        let value = |trial: &TrialRecord| trial.conditions.get(at).and_then(|one| one.value);
        let colour = nth_colour(i);
        traces.extend(times(record, &one.condition, mark(colour, nth_mark(i)), value, &mut all_ns));
        if one.limit > 0.0 {
            let limit = thin(&format!("limit of {}", one.condition), colour, vec![low, high], vec![one.limit; 2]);
            traces.push(
                limit.line(Line::new().color(colour).width(1.5).dash(DashType::Dash)).hover_info(HoverInfo::Skip),
            );
            all_ns.push(one.limit);
            limits = "; broken lines are limits of the goal";
        }
    }
    if traces.is_empty() {
        let runs: Vec<f64> = record.trials.iter().map(|run| run.latency_ns.response.p99 as f64).collect();
        let numbered = drawn(record).filter_map(|(number, trial)| Some((trial.load_per_s, *runs.get(number - 1)?)));
        let (x, y): (Vec<f64>, Vec<f64>) = numbered.filter(|(_, ns)| *ns > 0.0).unzip();
        all_ns.extend(&y);
        let hover: Vec<String> = y.iter().map(|ns| plain(&format!("{P99} {}", time(*ns)))).collect();
        if !y.is_empty() {
            let marks = Scatter::new(x, y).name(P99).mode(Mode::Markers).marker(mark(COLOURS[1], MarkerSymbol::Circle));
            traces.push(marks.text_array(hover).hover_template("%{text}<extra></extra>"));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let axes = layout(load_axis([low, high].into_iter(), "offered rate"), time_axis(all_ns.into_iter()));
    let note = format!("from the scheduled send time, logarithmic{limits}");
    Some(chart("Response time by offered rate", &note, traces, marked(axes, record)).on(SharedAxis::Load))
}

/// What a condition on a response time was in each trial.
fn times(
    record: &CapacityRecord,
    name: &str,
    marker: Marker,
    value: impl Fn(&TrialRecord) -> Option<f64>,
    all_ns: &mut Vec<f64>,
) -> Option<Curve> {
    let known = drawn(record).filter_map(|(_, trial)| Some((trial.load_per_s, value(trial)?)));
    let (x, y): (Vec<f64>, Vec<f64>) = known.filter(|(_, ns)| *ns > 0.0).unzip();
    all_ns.extend(&y);
    let hover: Vec<String> = y.iter().map(|ns| plain(&format!("{name}: {}", time(*ns)))).collect();
    let marks = Scatter::new(x, y).name(plain(name)).mode(Mode::Markers).marker(marker);
    (!hover.is_empty()).then(|| marks.text_array(hover).hover_template("%{text}<extra></extra>"))
}

/// The load of one trial after the other, with the bracket as it shrinks.
fn course(record: &CapacityRecord) -> Option<Chart> {
    let (low, high) = ends(record)?;
    let mut traces = Vec::new();
    for (name, is_low) in [("lower end", true), ("upper end", false)] {
        let end = |trial: &TrialRecord| if is_low { trial.low_after } else { trial.high_after };
        let known = drawn(record).filter_map(|(number, trial)| Some((number as f64, end(trial)?)));
        let (x, y): (Vec<f64>, Vec<f64>) = known.filter(|(_, load)| *load > 0.0).unzip();
        if !x.is_empty() {
            let drawn = thin(name, COLOURS[0], x, y).hover_info(HoverInfo::Skip);
            let dash = if is_low { DashType::Solid } else { DashType::Dash };
            traces.push(drawn.line(Line::new().color(COLOURS[0]).width(1.5).dash(dash)));
        }
    }
    traces.extend(by_outcome(record, |(number, trial)| (number as f64, trial.load_per_s)));
    let trials = Axis::new().title("trial").zero_line(false);
    let axes = layout(trials, load_axis([low, high].into_iter(), "offered rate"));
    let note = "what was offered in each trial, and the bracket after it";
    Some(chart("Course of the search", note, traces, axes))
}
