//! A sweep as a page: what load buys, and what it costs in time.

use super::Shown;
use super::chart::{
    COLOURS, Chart, Curve, GREY, RED, SharedAxis, band, beside, chart, from_zero, layout, line, load_axis, nth_line,
    picture, plain, reasons_once, share_axis, time_axis, upright,
};
use super::flames::flames;
use super::profile;
use super::run::plan;
use super::view::{
    self, Beside, Measured, Part, ResultView, Table, VerdictView, answers, command, files, fingerprint, limits, load,
    results, thresholds,
};
use super::{cpu, next, pools};
use crate::off_cpu;
use crate::record::peak_point;
use crate::words::latency::quantile_text;
use crate::words::over::Over;
use crate::words::sweep::{facts, point_header, point_rows};
use model::human::{percent, rate};
use model::{PoolFit, Quantile, SweepRecord, UslLaw};
use plotly::common::{Anchor, DashType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{Margin, Shape};
use plotly::{Layout, Scatter};

/// Points of the drawn pool model.
const FIT_POINTS: usize = 80;

pub(super) fn view(shown: &Shown<'_>, record: &SweepRecord) -> ResultView {
    let over = Over::of(record);
    let first = record.points.first();
    let url = || first.map_or_else(|| "sweep".to_owned(), |point| point.plan.target.url.clone());
    let limit_charts =
        [cpu::by_load(record, over), cpu::per_request_by_load(record, over), pools::by_load(record, over)];
    let peak = peak_point(record).and_then(|peak| peak.observed.as_ref());
    let waiting = off_cpu::of_sweep(record);
    let kept = [
        record.profile.is_some(),
        waiting.is_some(),
        shown.has(|graphs| &graphs.waiting),
        shown.has(|graphs| &graphs.php),
    ];
    let points = Table { title: "Points", header: point_header(record), rows: point_rows(record) };
    let workers = peak.and_then(|peak| pools::table("What the workers did at the peak", peak));
    let facts = facts(record);
    let environment = &record.environment;
    ResultView {
        kind: "sweep",
        name: shown.name.to_owned(),
        title: record.arm.clone().unwrap_or_else(url),
        started: record.started.clone(),
        verdict: Some(VerdictView::of(&record.verdict)),
        answers: answers(&facts, Beside::NextFigure, next::of_sweep(record)),
        picture: picture(goodput(record, over)),
        parts: vec![
            Part {
                facts: results(&facts),
                charts: latency(record, over).into_iter().collect(),
                tables: thresholds(&record.thresholds).into_iter().chain([points]).collect(),
                ..Part::how_much()
            },
            Part {
                facts: limits(&facts),
                charts: reasons_once(limit_charts.into_iter().flatten()),
                flames: flames(shown, waiting.as_ref()),
                tables: workers.into_iter().chain(record.profile.iter().flat_map(profile::tables)).collect(),
                ..Part::limits()
            },
            Part::belief(&record.verdict),
            Part {
                facts: load(&facts),
                tables: fingerprint(environment),
                groups: first
                    .map(|point| plan(&point.plan, false))
                    .into_iter()
                    .chain([view::environment(environment)])
                    .collect(),
                command: command(environment),
                files: files(shown, Measured::ManyTimes, kept),
                ..Part::measured()
            },
        ],
    }
}

fn means(name: &str, colour: &'static str, record: &SweepRecord) -> Curve {
    let x = record.curve.iter().map(|point| point.load).collect();
    let y = record.curve.iter().map(|point| point.goodput_per_s).collect();
    let hover = record.curve.iter().map(|point| format!("{name} {}", rate(point.goodput_per_s))).collect();
    line(name, colour, x, y, hover)
}

/// Goodput, each iteration of it, the fitted model and how busy the generator was.
fn goodput(record: &SweepRecord, over: Over) -> Option<Chart> {
    let loads = || record.curve.iter().map(|point| point.load);
    let (low, high) = (loads().reduce(f64::min)?, loads().reduce(f64::max)?);
    let busy = record.curve.iter().map(|point| point.generator_busy_max);
    let hover = busy.clone().map(|share| format!("generator {} busy", percent(share))).collect();
    let busy = line("generator busy (right)", GREY, loads().collect(), busy.collect(), hover)
        .line(Line::new().color(GREY).width(1.5).dash(DashType::Dot))
        .marker(Marker::new().color(GREY).size(4))
        .y_axis("y2");
    let mut traces = vec![busy];
    if let Some((name, (x, y))) = model_curve(record, low, high) {
        let style = Line::new().color(COLOURS[0]).width(1.0).dash(DashType::Dash);
        let fit = Scatter::new(x, y).name(name).mode(Mode::Lines).line(style).hover_info(HoverInfo::Skip);
        traces.push(fit.opacity(0.7));
    }
    if record.curve.iter().any(|point| point.iterations_per_s.len() > 1) {
        let each = record.curve.iter().flat_map(|point| point.iterations_per_s.iter().map(|y| (point.load, *y)));
        let (x, y): (Vec<f64>, Vec<f64>) = each.unzip();
        let marks = Marker::new().color(COLOURS[0]).size(4).opacity(0.5);
        let each = Scatter::new(x, y).name("each iteration").mode(Mode::Markers).marker(marks);
        traces.push(each.hover_info(HoverInfo::Skip));
    }
    traces.push(means("goodput", COLOURS[0], record));
    let rings: (Vec<f64>, Vec<f64>) =
        record.curve.iter().filter(|point| point.disturbed).map(|point| (point.load, point.goodput_per_s)).unzip();
    if !rings.0.is_empty() {
        let ring = Marker::new().color(RED).size(13).symbol(MarkerSymbol::CircleOpen);
        let rings = Scatter::new(rings.0, rings.1).name("disturbed").mode(Mode::Markers).marker(ring);
        traces.push(rings.hover_info(HoverInfo::Skip));
    }
    let axes = layout(load_axis(loads(), over.axis()), from_zero())
        .y_axis2(share_axis())
        .margin(Margin::new().left(68).right(52).top(40).bottom(50));
    let title = format!("Goodput by {}", over.axis());
    let mut note = "good responses per second; each doubling of the load has the same width".to_owned();
    let bands = bands(record, high);
    if !bands.is_empty() {
        note.push_str("; grey bands are 95 % intervals of knee and plateau");
    }
    let axes = bands.into_iter().fold(marked(axes, record), |mut axes, band| {
        axes.add_shape(band);
        axes
    });
    Some(chart(&title, &note, traces, axes).on(SharedAxis::Load))
}

/// Intervals of the knee over connections, from bottom to top, and of the plateau, from the knee to the highest load.
fn bands(record: &SweepRecord, high: f64) -> Vec<Shape> {
    let knee = record.knee.filter(|_| matches!(Over::of(record), Over::Connections));
    let upright = knee.and_then(|knee| knee.low.zip(knee.high)).map(|(low, high)| band(low, high));
    let plateau = record.plateau.and_then(|plateau| plateau.low.zip(plateau.high)).zip(record.knee);
    let level = plateau.map(|((bottom, top), knee)| band(knee.load, high).y_ref("y").y0(bottom).y1(top));
    upright.into_iter().chain(level).collect()
}

/// Vertical lines at knee, peak and where goodput begins to fall.
fn marked(mut axes: Layout, record: &SweepRecord) -> Layout {
    let knee = record.knee.map(|knee| (knee.load, "knee", 0.3, DashType::Dash));
    let peak = record.peak.map(|peak| (peak.load, "peak", 0.2, DashType::Dot));
    let fall = record.retrograde.map(|fall| (fall.from_load, "falls beyond", 0.1, DashType::DashDot));
    let ends = record.curve.first().zip(record.curve.last());
    let middle = ends.map_or(f64::INFINITY, |(first, last)| (first.load * last.load).sqrt());
    for (load, name, y, dash) in knee.into_iter().chain(peak).chain(fall).filter(|(load, ..)| *load > 0.0) {
        axes.add_shape(upright(load, GREY, dash));
        let text = plain(&format!("{name} {}", Over::of(record).number(load)));
        // On the side where there is room, and not the numbers of the right axis.
        let anchor = if load > middle { Anchor::Right } else { Anchor::Left };
        axes.add_annotation(beside(load, &text).y(y).y_ref("paper").x_anchor(anchor));
    }
    axes
}

/// Horizontal and vertical values.
type Points = (Vec<f64>, Vec<f64>);

/// The model of the curve from `low` to `high` connections, and its name.
fn model_curve(record: &SweepRecord, low: f64, high: f64) -> Option<(&'static str, Points)> {
    let loads = (0..=FIT_POINTS).map(|i| low * (high / low).powf(i as f64 / FIT_POINTS as f64));
    match (record.usl, record.fit) {
        (Some(law), _) => Some(("scalability law (USL)", drawn(loads, |load| law_at(&law, load)))),
        (None, Some(fit)) => Some(("pool model", drawn(loads, |load| pool_at(&fit, load)))),
        (None, None) => None,
    }
}

fn drawn(loads: impl Iterator<Item = f64>, at: impl Fn(f64) -> f64) -> Points {
    loads.map(|load| (load, at(load))).filter(|(_, y)| y.is_finite()).unzip()
}

/// `X = ((D/N)^p + (1/C)^p)^(-1/p)`; per second.
fn pool_at(fit: &PoolFit, load: f64) -> f64 {
    let (residence, service) = (fit.residence_ns / 1e9 / load, 1.0 / fit.plateau_per_s);
    // The larger taken out, so that a sharp bend does not underflow.
    let largest = residence.max(service);
    let sum = (residence / largest).powf(fit.sharpness) + (service / largest).powf(fit.sharpness);
    1.0 / (largest * sum.powf(1.0 / fit.sharpness))
}

/// `X = l N / (1 + s (N-1) + k N (N-1))`; per second.
fn law_at(law: &UslLaw, load: f64) -> f64 {
    law.single_per_s * load / (1.0 + law.contention * (load - 1.0) + law.coherency * load * (load - 1.0))
}

/// Median and 99th percentile; a percentile that rests on too few requests is left out.
fn latency(record: &SweepRecord, over: Over) -> Option<Chart> {
    let mut traces = Vec::new();
    let (mut loads, mut all_ns) = (Vec::new(), Vec::new());
    for (i, (quantile, colour)) in [(Quantile::P50, COLOURS[2]), (Quantile::P99, COLOURS[1])].into_iter().enumerate() {
        let name = quantile.to_string();
        let (x, y, hover) = told(record, quantile, &name);
        loads.extend(&x);
        all_ns.extend(&y);
        if !x.is_empty() {
            traces.push(nth_line(i, colour, line(&name, colour, x, y, hover)));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let axes = layout(load_axis(loads.into_iter(), over.axis()), time_axis(all_ns.into_iter()));
    let title = format!("Response time by {}", over.axis());
    let note = "median and 99th percentile, logarithmic; left out where too few requests are behind it";
    Some(chart(&title, note, traces, axes).on(SharedAxis::Load))
}

/// Load, time in ns and words of each point whose quantile may be told.
pub(super) fn told(record: &SweepRecord, quantile: Quantile, label: &str) -> (Vec<f64>, Vec<f64>, Vec<String>) {
    let (mut x, mut y, mut hover) = (Vec::new(), Vec::new(), Vec::new());
    for (point, run) in record.curve.iter().zip(&record.points) {
        let ns = if quantile == Quantile::P50 { point.response_p50_ns } else { point.response_p99_ns };
        let text = quantile_text(&run.verdict, quantile, ns);
        if text != "-" {
            x.push(point.load);
            y.push(ns as f64);
            hover.push(format!("{label} {}", text.replace(">=", "at least").replace("<=", "at most")));
        }
    }
    (x, y, hover)
}
