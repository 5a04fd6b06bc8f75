//! p99 against goodput of several sweeps in one chart, and operating points on the curves of both.

use super::chart::{
    Chart, Curve, GREY, chart, from_zero, layout, line, nth_colour, nth_dash, nth_mark, plain, thin, time_axis, upright,
};
use crate::operating::{FixedLoad, Marked, Place};
use crate::words::arms::Arm;
use model::human::{rate, time};
use plotly::Scatter;
use plotly::common::{Anchor, DashType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{Annotation, HoverMode};

/// Sizes of marks: of a knee, and of a variant at the fixed load of its comparison.
const KNEE: usize = 13;
const FIXED: usize = 11;
/// Width of a curve where the knee may be.
const RANGE: f64 = 11.0;

/// Values of a place in a chart; none where one is not known.
pub(super) type In = fn(&Place) -> Option<(f64, f64)>;

/// p99 against goodput: what response time a throughput costs.
pub(super) fn p99_by_goodput(arms: &[&Arm<'_>], fixed: &[FixedLoad]) -> Option<Chart> {
    let within: In = |place| Some((place.goodput_per_s, place.p99_ns?));
    let marked: Vec<(&Arm<'_>, Marked)> = arms.iter().map(|arm| (*arm, Marked::of(arm))).collect();
    let mut traces = Vec::new();
    let mut times = Vec::new();
    for (arm, marked) in &marked {
        let known: Vec<&Place> = marked.places.iter().filter(|place| within(place).is_some()).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = known.iter().filter_map(|place| within(place)).unzip();
        if x.is_empty() {
            continue;
        }
        times.extend(&y);
        let words = known.iter().map(|place| words(&arm.label, &arm.over().place(place.load), place));
        let drawn = line(&arm.label, colour(arm), x, y, words.collect());
        let style = Line::new().color(colour(arm)).width(2.0).dash(dash(arm));
        traces.push(drawn.line(style).marker(Marker::new().color(colour(arm)).symbol(mark(arm)).size(7)));
        traces.extend(knee(arm, marked, within));
    }
    if traces.is_empty() {
        return None;
    }
    let variants = variants(fixed, within);
    times.extend(fixed.iter().flat_map(|load| load.arms.iter().filter_map(|(_, place)| place.p99_ns)));
    traces.extend(variants);
    let x = from_zero().title("good responses per second");
    let mut axes = layout(x, time_axis(times.into_iter())).hover_mode(HoverMode::Closest);
    for load in fixed {
        axes.add_shape(upright(load.rate_per_s, GREY, DashType::LongDash));
        let words = Annotation::new().text(plain(&fixed_words(load))).show_arrow(false).x(load.rate_per_s);
        axes.add_annotation(words.y(0.98).y_ref("paper").x_anchor(Anchor::Left).y_anchor(Anchor::Top));
    }
    let note = format!(
        "logarithmic; a curve that bends upwards pays in time for more throughput, and one that bends back gets less of it; {}",
        legend(fixed)
    );
    Some(chart("p99 of the response time by goodput", &note, traces, axes))
}

/// How the marks are read.
pub(super) fn legend(fixed: &[FixedLoad]) -> String {
    let variants = if fixed.is_empty() { "" } else { "; stars are variants at the fixed load of their comparison" };
    format!("crosses are knees, broad lines their 95 % intervals{variants}")
}

/// The knee of a curve, and the part that its interval covers.
pub(super) fn knee(arm: &Arm<'_>, marked: &Marked, within: In) -> Vec<Curve> {
    let mut traces = Vec::new();
    let (x, y): (Vec<f64>, Vec<f64>) = marked.knee_range.iter().filter_map(within).unzip();
    if x.len() > 1 {
        let range = thin(&arm.label, colour(arm), x, y).line(Line::new().color(colour(arm)).width(RANGE));
        traces.push(range.opacity(0.3).show_legend(false).hover_info(HoverInfo::Skip));
    }
    if let Some((place, (x, y))) = marked.knee.and_then(|place| Some((place, within(&place)?))) {
        let name = format!("knee of {}", arm.label);
        let text = plain(&words(&name, &arm.over().place(place.load), &place));
        let cross = Marker::new().color(colour(arm)).symbol(MarkerSymbol::X).size(KNEE);
        let point =
            Scatter::new(vec![x], vec![y]).name(plain(&name)).mode(Mode::Markers).marker(cross).show_legend(false);
        traces.push(point.text_array(vec![text]).hover_template("%{text}<extra></extra>"));
    }
    traces
}

/// The variants of comparisons at their fixed load.
fn variants(fixed: &[FixedLoad], within: In) -> Vec<Curve> {
    let mut traces = Vec::new();
    for load in fixed {
        for (arm, place) in &load.arms {
            let Some((x, y)) = within(place) else { continue };
            let text = plain(&words(arm, &format!("{} offered", rate(load.rate_per_s)), place));
            let star = Marker::new().color(GREY).symbol(MarkerSymbol::Star).size(FIXED);
            let point = Scatter::new(vec![x], vec![y]).mode(Mode::Markers).marker(star);
            let point = point.name(plain(&format!("{arm} at {}", rate(load.rate_per_s))));
            traces.push(point.text_array(vec![text]).hover_template("%{text}<extra></extra>"));
        }
    }
    traces
}

/// The fixed load, beside its line.
pub(super) fn fixed_words(load: &FixedLoad) -> String {
    format!("fixed load {}", rate(load.rate_per_s))
}

fn words(name: &str, load: &str, place: &Place) -> String {
    let p99 = place.p99_ns.map_or_else(String::new, |ns| format!(", p99 {}", time(ns)));
    format!("{name}: {load}, {} good{p99}", rate(place.goodput_per_s))
}

/// Symbol of its points.
pub(super) fn mark(arm: &Arm<'_>) -> MarkerSymbol {
    nth_mark(arm.index)
}

pub(super) fn colour(arm: &Arm<'_>) -> &'static str {
    nth_colour(arm.index)
}

pub(super) fn dash(arm: &Arm<'_>) -> DashType {
    nth_dash(arm.index)
}
