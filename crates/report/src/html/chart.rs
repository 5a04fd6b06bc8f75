//! Common parts of all charts: style, scales, and the way their data gets into the page.

use crate::scales::{extremes, factor_ticks, load_ticks, round_ticks, short_load, short_time};
use crate::visible;
use plotly::common::{Anchor, AxisSide, DashType, Font, Line, Marker, MarkerSymbol, Mode, Orientation};
use plotly::configuration::{DisplayModeBar, DoubleClick};
use plotly::layout::{
    Annotation, Axis, AxisType, HoverMode, Legend, Margin, RangeMode, Shape, ShapeLayer, ShapeLine, ShapeType,
    TraceOrder,
};
use plotly::{Configuration, Layout, Plot, Scatter, Trace};

/// Colours that the colour-blind tell apart (Okabe and Ito), those that stand out on white and on black first; dashes and marks
/// say the same.
pub(super) const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
/// As many as colours have no common divisor with, so that many curves still differ.
const MARKS: [MarkerSymbol; 5] = [
    MarkerSymbol::Circle,
    MarkerSymbol::Square,
    MarkerSymbol::Diamond,
    MarkerSymbol::TriangleUp,
    MarkerSymbol::TriangleDown,
];
/// [`MARKS`] with nothing inside.
const OPEN_MARKS: [MarkerSymbol; MARKS.len()] = [
    MarkerSymbol::CircleOpen,
    MarkerSymbol::SquareOpen,
    MarkerSymbol::DiamondOpen,
    MarkerSymbol::TriangleUpOpen,
    MarkerSymbol::TriangleDownOpen,
];
const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::Dot, DashType::DashDot];
/// What failed.
pub(super) const RED: &str = "#c8283c";
/// What only helps to read.
pub(super) const GREY: &str = "#8a8f98";

/// Ratio of the ends of an axis of times at least.
const TIME_SPAN_MIN: f64 = 4.0;

/// From this ratio of its ends on an axis of rates is logarithmic.
const RATE_SPAN_MIN: f64 = 20.0;

/// Heights of charts; px.
const HEIGHT_PX: u32 = 340;
/// Height of the one picture of the first screen, or of two together.
const PICTURE_PX: u32 = 460;

/// A horizontal axis that several charts have: zooming one of them zooms all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedAxis {
    Time,
    Load,
    Block,
    Result,
}

impl SharedAxis {
    /// As the page has it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Load => "load",
            Self::Block => "block",
            Self::Result => "result",
        }
    }
}

/// One chart of the page, or why it is not drawn.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) height_px: u32,
    /// Names in its legend.
    pub(super) names: usize,
    /// The axis that it shares with others of the result; none for one of its own.
    pub(super) shared: Option<SharedAxis>,
    /// Plotly's data, layout and configuration, safe inside a script element; none when the note says why not.
    pub(super) json: Option<String>,
}

impl Chart {
    /// In the place of a chart of which there is nothing to draw.
    pub(super) fn missing(title: impl Into<String>, why: impl Into<String>) -> Self {
        Self { title: title.into(), note: why.into(), height_px: 0, names: 0, shared: None, json: None }
    }

    pub(super) fn on(self, axis: SharedAxis) -> Self {
        Self { shared: Some(axis), ..self }
    }

    pub(super) fn height_px(self, height_px: u32) -> Self {
        Self { height_px, ..self }
    }
}

/// The charts with neighbours that are missing for the same reason told as one.
pub(super) fn reasons_once(charts: impl IntoIterator<Item = Chart>) -> Vec<Chart> {
    let mut told: Vec<Chart> = Vec::new();
    for chart in charts {
        match told.last_mut() {
            Some(last) if chart.json.is_none() && last.json.is_none() && last.note == chart.note => {
                last.title = format!("{}, {}", last.title, chart.title);
            }
            _ => told.push(chart),
        }
    }
    told
}

/// The charts as the picture of the first screen, as far as there is something to draw.
pub(super) fn picture(charts: impl IntoIterator<Item = Chart>) -> Vec<Chart> {
    let charts: Vec<Chart> = charts.into_iter().collect();
    let height_px = PICTURE_PX / charts.len().max(1) as u32;
    charts.into_iter().map(|chart| chart.height_px(height_px)).collect()
}

/// What a note says of curves that are not drawn, `which` by word: nothing where all are.
pub(super) fn left_out(n: usize, which: &str) -> String {
    match n {
        0 => String::new(),
        1 => format!("; 1 {which} is left out"),
        n => format!("; {n} {which} are left out"),
    }
}

/// One curve of a chart.
pub(super) type Curve = Box<Scatter<f64, f64>>;

/// A chart of `traces`; the caller has seen to it that there is something in them.
pub(super) fn chart<T: Trace + 'static>(title: &str, note: &str, traces: Vec<Box<T>>, layout: Layout) -> Chart {
    let (mut plot, names) = (Plot::new(), traces.len());
    for trace in traces {
        plot.add_trace(trace);
    }
    plot.set_layout(layout);
    plot.set_configuration(
        Configuration::new()
            .responsive(true)
            .display_logo(false)
            .display_mode_bar(DisplayModeBar::False)
            .double_click(DoubleClick::Reset)
            .typeset_math(false),
    );
    // In a script element only `<` could end it or begin a comment.
    let json = plot.to_json().replace('<', "\\u003c");
    let (title, note) = (title.to_owned(), note.to_owned());
    Chart { title, note, height_px: HEIGHT_PX, names, shared: None, json: Some(json) }
}

/// A line with a mark at each point; `hover` is what a point says of itself.
pub(super) fn line(name: &str, colour: &'static str, x: Vec<f64>, y: Vec<f64>, hover: Vec<String>) -> Curve {
    Scatter::new(x, y)
        .name(plain(name))
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(colour).width(2.0))
        .marker(Marker::new().color(colour).size(6))
        .text_array(hover.iter().map(|text| plain(text)).collect::<Vec<_>>())
        .hover_template("%{text}<extra></extra>")
}

/// The `i`th of several curves in a chart, a [`line()`] in `colour`: dash and marks tell it apart where colours do not.
pub(super) fn nth_line(i: usize, colour: &'static str, curve: Curve) -> Curve {
    curve
        .line(Line::new().color(colour).width(2.0).dash(nth_dash(i)))
        .marker(Marker::new().color(colour).symbol(nth_mark(i)).size(6))
}

/// Colour of the `i`th of several curves.
pub(super) const fn nth_colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

/// Its dash.
pub(super) fn nth_dash(i: usize) -> DashType {
    DASHES[i % DASHES.len()].clone()
}

/// Symbol of its points.
pub(super) fn nth_mark(i: usize) -> MarkerSymbol {
    MARKS[i % MARKS.len()].clone()
}

/// The same with nothing inside.
pub(super) fn nth_open_mark(i: usize) -> MarkerSymbol {
    OPEN_MARKS[i % OPEN_MARKS.len()].clone()
}

/// A thin line without marks, for many points; a point says its value as the axis has it.
pub(super) fn thin(name: &str, colour: &'static str, x: Vec<f64>, y: Vec<f64>) -> Curve {
    Scatter::new(x, y).name(plain(name)).mode(Mode::Lines).line(Line::new().color(colour).width(1.5))
}

/// A layer on top of the layers before it.
pub(super) fn layer(name: &str, colour: &'static str, x: Vec<f64>, y: Vec<f64>) -> Curve {
    thin(name, colour, x, y).stack_group("layers").fill_color(colour).line(Line::new().color(colour).width(0.0))
}

/// The layout all charts begin with.
pub(super) fn layout(x: Axis, y: Axis) -> Layout {
    Layout::new()
        .auto_size(true)
        .font(Font::new().family("system-ui, sans-serif").size(13))
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .margin(Margin::new().left(68).right(20).top(40).bottom(50))
        .legend(
            Legend::new()
                .orientation(Orientation::Horizontal)
                .trace_order(TraceOrder::Normal)
                .x(0.0)
                .y(1.02)
                .y_anchor(Anchor::Bottom),
        )
        .show_legend(true)
        .hover_mode(HoverMode::XUnified)
        .x_axis(x)
        .y_axis(y)
}

/// An axis from zero with short figures.
pub(super) fn from_zero() -> Axis {
    Axis::new().range_mode(RangeMode::ToZero).tick_format("~s").zero_line(false)
}

/// A second vertical axis on the right, for shares of 0 to 1.
pub(super) fn share_axis() -> Axis {
    Axis::new()
        .overlaying("y")
        .side(AxisSide::Right)
        .range(vec![0.0, 1.05])
        .tick_format(".0%")
        .show_grid(false)
        .zero_line(false)
}

/// A logarithmic axis of times in ns, labelled in their natural units.
pub(super) fn time_axis(values_ns: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = extremes(values_ns);
    // What hardly changes is not to look wild.
    let widen = (TIME_SPAN_MIN / (high / low)).max(1.0).sqrt();
    let (low, high) = (low / widen, high * widen);
    let ticks = round_ticks(low, high);
    let text = ticks.iter().map(|ns| short_time(*ns)).collect();
    log_axis(low, high).tick_values(ticks).tick_text(text)
}

/// An axis of rates: from zero, or logarithmic where the largest is many times the smallest.
pub(super) fn rate_axis(values_per_s: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = extremes(values_per_s);
    if high / low < RATE_SPAN_MIN {
        return from_zero();
    }
    let ticks = round_ticks(low, high);
    let text = ticks.iter().map(|rate| short_load(*rate)).collect();
    log_axis(low, high).tick_values(ticks).tick_text(text)
}

/// A logarithmic axis of factors: `1/10`, `1`, `10`.
pub(super) fn factor_axis(low: f64, high: f64) -> Axis {
    let (ticks, text) = factor_ticks(low, high).into_iter().unzip();
    log_axis(low, high).tick_values(ticks).tick_text(text)
}

/// With a little air, so that the outermost marks are whole.
fn log_axis(low: f64, high: f64) -> Axis {
    // The scale wants logarithms.
    let range = vec![low.log10() - 0.1, high.log10() + 0.1];
    Axis::new().type_(AxisType::Log).range(range).zero_line(false)
}

/// A logarithmic axis of loads: each doubling is the same width.
pub(super) fn load_axis(loads: impl Iterator<Item = f64>, title: &str) -> Axis {
    let (low, high) = extremes(loads);
    let ticks = load_ticks(low, high);
    let text = ticks.iter().map(|load| short_load(*load)).collect();
    let range = vec![low.log10() - 0.05, high.log10() + 0.05];
    Axis::new().type_(AxisType::Log).tick_values(ticks).tick_text(text).range(range).title(title).zero_line(false)
}

/// A line from bottom to top at `load`.
pub(super) fn upright(load: f64, colour: &'static str, dash: DashType) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .y_ref("paper")
        .x0(load)
        .x1(load)
        .y0(0.0)
        .y1(1.0)
        .line(ShapeLine::new().color(colour).width(1.5).dash(dash))
}

/// A line from left to right at `value`.
pub(super) fn level(value: f64, colour: &'static str, dash: DashType) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x_ref("paper")
        .y_ref("y")
        .x0(0.0)
        .x1(1.0)
        .y0(value)
        .y1(value)
        .line(ShapeLine::new().color(colour).width(1.5).dash(dash))
}

/// A grey band from bottom to top between two values.
pub(super) fn band(from: f64, to: f64) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .y_ref("paper")
        .x0(from)
        .x1(to)
        .y0(0.0)
        .y1(1.0)
        .fill_color(GREY)
        .opacity(0.25)
        .line(ShapeLine::new().width(0.0))
}

/// Words to the right of `load`; how high is left to the caller.
pub(super) fn beside(load: f64, text: &str) -> Annotation {
    // Annotations on a logarithmic axis are placed by exponent.
    let words = Annotation::new().text(text).show_arrow(false).x(load.log10());
    words.x_anchor(Anchor::Left).y_anchor(Anchor::Bottom)
}

/// `text` without what Plotly takes for markup, and without what acts in a line.
pub(super) fn plain(text: &str) -> String {
    visible::line(text).replace('&', "+").replace('<', "\u{2039}").replace('>', "\u{203a}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_carry_markup() {
        assert_eq!(plain("<a href='x'>&lt;"), "\u{2039}a href='x'\u{203a}+lt;");
        assert_eq!(plain("\u{9b}2J\u{202e}"), r"\u009b2J\u202e");
    }
}
