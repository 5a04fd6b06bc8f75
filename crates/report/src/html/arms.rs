//! Several sweeps in one chart: a line for each arm, told apart by colour, dash and mark.

use super::chart::{
    Chart, Curve, GREY, SharedAxis, beside, chart, from_zero, layout, level, line, load_axis, plain, time_axis, upright,
};
use super::cpu::cpus_axis;
use super::operating::{colour, dash, fixed_words, knee, legend, mark, p99_by_goodput};
use super::sweep::told;
use crate::operating::{FixedLoad, Marked};
use crate::words::arms::{Arm, groups};
use crate::words::observed::cpus;
use crate::words::over::Over;
use model::Quantile;
use model::human::rate;
use plotly::Layout;
use plotly::common::{Anchor, DashType, Line, Marker};
use plotly::layout::{Annotation, Axis};

/// Sizes of the mark of a point, and of that of the peak.
const MARK: usize = 7;
const PEAK_MARK: usize = 14;
/// Room between the words at two knees, as a share of the chart's height.
const KNEE_STEP: f64 = 0.09;
/// Heights at which they stand, before they begin at the bottom again.
const KNEE_STEPS: usize = 10;

/// Load, figure and words of each point.
type Points = (Vec<f64>, Vec<f64>, Vec<String>);

/// Goodput, p99 and the server's CPU against load, and p99 against goodput, of all arms that were measured alike; with the
/// fixed loads of comparisons of one alone, too.
pub(super) fn overlaid(arms: &[Arm<'_>], fixed: &[FixedLoad]) -> Vec<Chart> {
    let alike = groups(arms).into_iter().filter(|group| group.len() > 1 || !fixed.is_empty());
    let charts =
        |group: Vec<&Arm<'_>>| [goodput(&group, fixed), p99(&group), server_cpu(&group), p99_by_goodput(&group, fixed)];
    alike.flat_map(charts).flatten().collect()
}

fn goodput(arms: &[&Arm<'_>], fixed: &[FixedLoad]) -> Option<Chart> {
    let points = |arm: &Arm<'_>| {
        let curve = &arm.record.curve;
        let words = |per_s| format!("{} {}", arm.label, rate(per_s));
        curve.iter().map(|p| (p.load, p.goodput_per_s, words(p.goodput_per_s))).collect()
    };
    let mut found = Overlay::of(arms, points, |_| from_zero())?;
    for (i, arm) in arms.iter().enumerate() {
        if let Some(knee) = arm.record.knee.filter(|knee| knee.load > 0.0) {
            let text = plain(&format!("knee {}", arm.over().number(knee.load)));
            found
                .axes
                .add_annotation(beside(knee.load, &text).y(0.02 + KNEE_STEP * (i % KNEE_STEPS) as f64).y_ref("paper"));
        }
        if let Some(peak) = arm.record.peak.filter(|peak| peak.load > 0.0) {
            let text = plain(&format!("peak {}", arm.over().number(peak.load)));
            let above = beside(peak.load, &text).x_anchor(Anchor::Center).y(peak.goodput_per_s).y_shift(7.0);
            found.axes.add_annotation(above);
        }
    }
    for arm in arms {
        found.traces.extend(knee(arm, &Marked::of(arm), |place| Some((place.load, place.goodput_per_s))));
    }
    let is_rate = arms.first().is_some_and(|arm| matches!(arm.over(), Over::Rate));
    for load in fixed {
        let line = if is_rate {
            upright(load.rate_per_s, GREY, DashType::LongDash)
        } else {
            level(load.rate_per_s, GREY, DashType::LongDash)
        };
        found.axes.add_shape(line);
        let words = Annotation::new().text(plain(&fixed_words(load))).show_arrow(false).y_anchor(Anchor::Bottom);
        found.axes.add_annotation(match is_rate {
            true => words.x(load.rate_per_s.log10()).x_anchor(Anchor::Left).y(0.9).y_ref("paper"),
            false => words.x(0.0).x_ref("paper").x_anchor(Anchor::Left).y(load.rate_per_s),
        });
    }
    let note = format!("good responses per second; {}", legend(&[]));
    Some(found.chart("Goodput", &note))
}

fn p99(arms: &[&Arm<'_>]) -> Option<Chart> {
    let points = |arm: &Arm<'_>| told(arm.record, Quantile::P99, &arm.label);
    let found = Overlay::of(arms, points, |ns| time_axis(ns.iter().copied()))?;
    Some(found.chart("p99 of the response time", "logarithmic; left out where too few requests are behind it"))
}

fn server_cpu(arms: &[&Arm<'_>]) -> Option<Chart> {
    let points = |arm: &Arm<'_>| {
        let known = arm.record.curve.iter().filter_map(|point| Some((point.load, point.server_cpu_cores?)));
        known.map(|(load, cores)| (load, cores, format!("{} {}", arm.label, cpus(cores)))).collect()
    };
    let found = Overlay::of(arms, points, |_| cpus_axis())?;
    Some(found.chart("Server CPU", "CPUs that the server and its companions kept busy"))
}

/// The curves of several arms before they have a title.
struct Overlay<'a> {
    by: &'static str,
    traces: Vec<Curve>,
    axes: Layout,
    has_knee: bool,
    /// Arms of which there is nothing to draw.
    missing: Vec<&'a str>,
}

impl<'a> Overlay<'a> {
    /// The curves of `points` of each arm; none when there are no points at all.
    fn of(arms: &[&'a Arm<'_>], points: impl Fn(&Arm<'_>) -> Points, axis: impl Fn(&[f64]) -> Axis) -> Option<Self> {
        let by = arms.first()?.over().axis();
        let (mut loads, mut values) = (Vec::new(), Vec::new());
        let (mut traces, mut missing) = (Vec::new(), Vec::new());
        for arm in arms {
            let (x, y, words) = points(arm);
            if x.is_empty() {
                missing.push(arm.label.as_str());
                continue;
            }
            loads.extend(&x);
            values.extend(&y);
            traces.push(curve(arm, x, y, words));
        }
        if traces.is_empty() {
            return None;
        }
        let mut axes = layout(load_axis(loads.into_iter(), by), axis(&values));
        let mut has_knee = false;
        for arm in arms {
            if let Some(knee) = arm.record.knee.filter(|knee| knee.load > 0.0) {
                axes.add_shape(upright(knee.load, colour(arm), dash(arm)));
                has_knee = true;
            }
        }
        Some(Self { by, traces, axes, has_knee, missing })
    }

    fn chart(self, title: &str, note: &str) -> Chart {
        let knee = if self.has_knee { ", upright lines are knees" } else { "" };
        let mut note = format!("{note}; large marks are peaks{knee}");
        if !self.missing.is_empty() {
            note.push_str(&format!("; nothing to draw of {}", self.missing.join(", ")));
        }
        chart(&format!("{title} by {}", self.by), &note, self.traces, self.axes).on(SharedAxis::Load)
    }
}

fn curve(arm: &Arm<'_>, x: Vec<f64>, y: Vec<f64>, words: Vec<String>) -> Curve {
    let peak = arm.record.peak.map(|peak| peak.load);
    let sizes = x.iter().map(|load| if peak == Some(*load) { PEAK_MARK } else { MARK }).collect();
    let mark = mark(arm);
    line(&arm.label, colour(arm), x, y, words)
        .line(Line::new().color(colour(arm)).width(2.0).dash(dash(arm)))
        // Marks of different sizes would else be taken for bubbles: half transparent, with a rim.
        .marker(
            Marker::new().color(colour(arm)).symbol(mark).size_array(sizes).opacity(1.0).line(Line::new().width(0.0)),
        )
}
