//! Curves of sweeps as one figure: goodput against load, and p99 against goodput, with the operating points marked.

use super::svg::{Align, COLOURS, FONT, INK, SMALL, SOFT, Svg, WIDTH, text_width, ticks};
use crate::Named;
use crate::operating::{FixedLoad, Marked, Place, fixed_loads};
use crate::scales::{extremes, load_ticks, round_ticks, short_load, short_time};
use crate::words::arms::{Arm, arms, groups};
use model::human::{rate, short};

/// Height of a panel with the words at its axes.
const PANEL: f64 = 230.0;
/// Room above a panel for its title, below it for its axis, to its left and right.
const TOP: f64 = 22.0;
const BOTTOM: f64 = 34.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
/// Height of a name in the legend.
const NAME: f64 = 12.0;
/// Dashes of lines, so that curves differ without colours too.
const DASHES: [&str; 4] = ["", "5 2", "1.5 2", "6 2 1.5 2"];
/// Width of a curve where the knee may be.
const RANGE: f64 = 7.0;

/// The figure of all sweeps among the results that were measured alike with the first; none without any.
pub(super) fn curves(results: &[Named<'_>]) -> Option<String> {
    let all = arms(results);
    let group = groups(&all).into_iter().next()?;
    let drawn: Vec<(&Arm<'_>, Marked)> = group.into_iter().map(|arm| (arm, Marked::of(arm))).collect();
    if drawn.iter().all(|(_, marked)| marked.places.is_empty()) {
        return None;
    }
    let fixed = fixed_loads(results);
    let names = legend(&drawn, &fixed);
    let mut drawing = Svg::new(WIDTH, 2.0 * PANEL + NAME * names.len() as f64 + 4.0);
    by_load(&mut drawing, &drawn, &fixed);
    by_goodput(&mut drawing, &drawn, &fixed);
    for (i, name) in names.iter().enumerate() {
        let y = 2.0 * PANEL + NAME * (i as f64 + 0.5);
        if let Some(curve) = &name.curve {
            drawing.line((LEFT, y - 3.0), (LEFT + 22.0, y - 3.0), curve.0, 1.4, curve.1);
        }
        drawing.text((LEFT + 28.0, y), Align::Left, SMALL, INK, &name.text);
    }
    Some(drawing.finish("Goodput by load, and p99 by goodput"))
}

/// A line of the legend.
struct Name {
    /// Colour and dashes of a curve; none of what is told in words.
    curve: Option<(&'static str, &'static str)>,
    text: String,
}

fn legend(drawn: &[(&Arm<'_>, Marked)], fixed: &[FixedLoad]) -> Vec<Name> {
    let curve = |(arm, _): &(&Arm<'_>, Marked)| Name { curve: Some(look(arm)), text: arm.label.clone() };
    let of_curves = "large dot: peak; cross: knee; broad line: 95 % interval of the knee";
    let of_fixed = "ring: variant at the fixed load of its comparison, which is the line of long dashes";
    let marks = [of_curves].into_iter().chain((!fixed.is_empty()).then_some(of_fixed));
    drawn.iter().map(curve).chain(marks.map(|text| Name { curve: None, text: text.to_owned() })).collect()
}

fn look(arm: &Arm<'_>) -> (&'static str, &'static str) {
    // The first is that of a baseline, which a sweep is not.
    (COLOURS[1 + arm.index % (COLOURS.len() - 1)], DASHES[arm.index % DASHES.len()])
}

/// One axis: where values are between two ends.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    /// Place of a value, 0 to 1; none of what has none.
    fn share(self, value: f64) -> Option<f64> {
        let share = match self.is_log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        Some(share).filter(|share| share.is_finite())
    }
}

/// The part of the drawing in which curves are.
#[derive(Clone, Copy)]
struct Panel {
    top: f64,
    x: Scale,
    y: Scale,
}

impl Panel {
    const fn bottom(self) -> f64 {
        self.top + PANEL - TOP - BOTTOM
    }

    fn at(self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (x, y) = (self.x.share(x)?, self.y.share(y)?);
        Some((LEFT + x * (WIDTH - LEFT - RIGHT), self.bottom() - y * (self.bottom() - self.top)))
    }

    /// Title, axes and their labels.
    fn frame(self, drawing: &mut Svg, title: &str, below: &str, x: &[(f64, String)], y: &[(f64, String)]) {
        let (bottom, right) = (self.bottom(), WIDTH - RIGHT);
        drawing.text((LEFT, self.top - 8.0), Align::Left, FONT, INK, title);
        for (value, text) in y {
            let Some((_, at)) = self.at(self.x.low, *value) else { continue };
            drawing.line((LEFT, at), (right, at), "#e4e4e4", 0.6, "");
            drawing.text((LEFT - 4.0, at + 0.35 * SMALL), Align::Right, SMALL, INK, text);
        }
        drawing.line((LEFT, bottom), (right, bottom), INK, 0.8, "");
        drawing.line((LEFT, self.top), (LEFT, bottom), INK, 0.8, "");
        for (value, text) in x {
            let Some((at, _)) = self.at(*value, self.y.low) else { continue };
            drawing.line((at, bottom), (at, bottom + 3.0), INK, 0.8, "");
            drawing.text((at, bottom + 12.0), Align::Middle, SMALL, INK, text);
        }
        drawing.text((f64::midpoint(LEFT, right), bottom + 24.0), Align::Middle, SMALL, SOFT, below);
    }

    /// A curve with its peak, its knee and where that may be.
    fn curve(self, drawing: &mut Svg, arm: &Arm<'_>, marked: &Marked, within: impl Fn(&Place) -> Option<(f64, f64)>) {
        let (colour, dash) = look(arm);
        let at = |place: &Place| within(place).and_then(|(x, y)| self.at(x, y));
        let range: Vec<(f64, f64)> = marked.knee_range.iter().filter_map(at).collect();
        drawing.broad(&range, colour, RANGE);
        let points: Vec<(f64, f64)> = marked.places.iter().filter_map(at).collect();
        drawing.path(&points, colour, 1.2, dash);
        points.iter().for_each(|point| drawing.mark(*point, 1.8, colour, true));
        marked.peak.iter().filter_map(at).for_each(|point| drawing.mark(point, 3.6, colour, true));
        marked.knee.iter().filter_map(at).for_each(|point| drawing.cross(point, 4.0, colour));
    }
}

fn by_load(drawing: &mut Svg, drawn: &[(&Arm<'_>, Marked)], fixed: &[FixedLoad]) {
    let Some((first, _)) = drawn.first() else { return };
    let places = || drawn.iter().flat_map(|(_, marked)| &marked.places);
    let (low, high) = extremes(places().map(|place| place.load));
    let top = places().map(|place| place.goodput_per_s).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let x = Scale { low: low / 1.1, high: high * 1.1, is_log: true };
    let panel = Panel { top: TOP, x, y: Scale { low: 0.0, high: 1.08 * top, is_log: false } };
    let loads: Vec<_> = load_ticks(low, high).into_iter().map(|load| (load, short_load(load))).collect();
    let rates: Vec<_> = ticks(0.0, 1.08 * top, 5).into_iter().map(|per_s| (per_s, short_rate(per_s))).collect();
    let axis = first.over().axis();
    panel.frame(drawing, "good responses per second", &format!("{axis}, each doubling the same width"), &loads, &rates);
    for load in fixed {
        let ends = match axis {
            "connections" => [(x.low, load.rate_per_s), (x.high, load.rate_per_s)],
            _ => [(load.rate_per_s, 0.0), (load.rate_per_s, 1.08 * top)],
        };
        fixed_line(drawing, panel, ends, load);
    }
    for (arm, marked) in drawn {
        panel.curve(drawing, arm, marked, |place| Some((place.load, place.goodput_per_s)));
    }
}

fn by_goodput(drawing: &mut Svg, drawn: &[(&Arm<'_>, Marked)], fixed: &[FixedLoad]) {
    let within = |place: &Place| Some((place.goodput_per_s, place.p99_ns?));
    let of_variants = || fixed.iter().flat_map(|load| load.arms.iter().map(|(_, place)| place));
    let known = || drawn.iter().flat_map(|(_, marked)| &marked.places).chain(of_variants()).filter_map(within);
    let (low, high) = extremes(known().map(|(_, ns)| ns));
    let most = known().map(|(per_s, _)| per_s).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let y = Scale { low: low / 1.2, high: high * 1.2, is_log: true };
    let panel = Panel { top: PANEL + TOP, x: Scale { low: 0.0, high: 1.05 * most, is_log: false }, y };
    let rates: Vec<_> = ticks(0.0, 1.05 * most, 6).into_iter().map(|per_s| (per_s, short_rate(per_s))).collect();
    let times: Vec<_> = round_ticks(low, high).into_iter().map(|ns| (ns, short_time(ns))).collect();
    panel.frame(drawing, "p99 of the response time", "good responses per second", &rates, &times);
    for load in fixed {
        fixed_line(drawing, panel, [(load.rate_per_s, y.low), (load.rate_per_s, y.high)], load);
    }
    for (arm, marked) in drawn {
        panel.curve(drawing, arm, marked, within);
    }
    for load in fixed {
        for (i, (arm, place)) in load.arms.iter().enumerate() {
            let Some(point) = within(place).and_then(|(x, y)| panel.at(x, y)) else { continue };
            drawing.mark(point, 3.0, INK, false);
            let is_left = point.0 + 8.0 + text_width(arm, SMALL) < WIDTH - RIGHT;
            let (at, align) = if is_left { (point.0 + 6.0, Align::Left) } else { (point.0 - 6.0, Align::Right) };
            // Variants that do the same stand on one another; their names do not.
            drawing.text((at, point.1 + SMALL * (0.35 + i as f64)), align, SMALL, INK, arm);
        }
    }
}

/// The fixed load of a comparison, with its rate; nothing where it is outside of the panel.
fn fixed_line(drawing: &mut Svg, panel: Panel, ends: [(f64, f64); 2], load: &FixedLoad) {
    let [Some(from), Some(to)] = ends.map(|(x, y)| panel.at(x, y)) else { return };
    let is_inside = |(x, y): (f64, f64)| {
        (LEFT - 1.0..=WIDTH - RIGHT + 1.0).contains(&x) && (panel.top - 1.0..=panel.bottom() + 1.0).contains(&y)
    };
    if !is_inside(from) || !is_inside(to) {
        return;
    }
    drawing.line(from, to, SOFT, 0.9, "8 3");
    let text = format!("fixed load {}", rate(load.rate_per_s));
    let is_level = (from.1 - to.1).abs() < 1.0;
    let at = if is_level { (LEFT + 4.0, from.1 - 3.0) } else { (from.0 + 3.0, panel.top + 8.0) };
    drawing.text(at, Align::Left, SMALL, SOFT, &text);
}

fn short_rate(per_s: f64) -> String {
    if per_s < 1_000.0 { per_s.to_string() } else { short(per_s) }
}
