//! A history as a page: each figure from result to result, with the levels between its changes.

use super::chart::{
    COLOURS, Chart, Curve, GREY, RED, SharedAxis, chart, layout, line, picture, plain, reasons_once, time_axis, upright,
};
use super::next;
use super::view::{Answer, Group, Part, ResultView, Table, fact, results};
use crate::words::fact::Tone;
use crate::words::history::{CHANGES, change_rows, facts, method, related, run_header, run_rows, signed, title, value};
use model::human::plural;
use model::{HistoryFigure, HistoryQuantity, HistoryRecord, HistorySeries};
use plotly::common::{Anchor, DashType, ErrorData, ErrorType, Line, Marker, Mode};
use plotly::layout::{Annotation, Axis, RangeMode};
use plotly::{Layout, Scatter};

/// Views of all series, and of what is in none.
pub(super) fn views(record: &HistoryRecord) -> Vec<ResultView> {
    let mut views: Vec<ResultView> = record.series.iter().map(|series| view(record, series)).collect();
    if views.is_empty() || !record.left_out.is_empty() {
        let rows = record.left_out.iter().map(|one| vec![one.name.clone(), one.why.clone()]).collect();
        let header = ["result", "why"].map(str::to_owned).to_vec();
        views.push(ResultView {
            kind: "history",
            title: format!("{} left out", plural(record.left_out.len() as u64, "result")),
            parts: vec![Part {
                tables: vec![Table { title: "Results in no series", header, rows }],
                ..Part::how_much()
            }],
            ..ResultView::default()
        });
    }
    views
}

fn view(record: &HistoryRecord, series: &HistorySeries) -> ResultView {
    let mut charts = reasons_once(series.figures.iter().map(|figure| drawn(series, figure)));
    let first = charts.iter().position(|chart| chart.json.is_some()).map(|at| charts.remove(at));
    let facts = facts(series);
    let of_tone = |tone| facts.iter().find(|fact| fact.tone == tone);
    let told = of_tone(Tone::Bad).or_else(|| of_tone(Tone::Good)).or_else(|| facts.first());
    let told = told.map(|fact| Answer::new("number", fact.label, fact.text.clone()));
    let tables = [
        ("Changes", CHANGES.map(str::to_owned).to_vec(), change_rows(series)),
        ("Results", run_header(series), run_rows(series)),
    ];
    let tables = tables.into_iter().filter(|(_, _, rows)| !rows.is_empty());
    let alike = series.factors.iter().map(|factor| format!("{}: {}", factor.name, factor.value));
    ResultView {
        kind: "history",
        title: title(series),
        answers: told.into_iter().chain([Answer::new("next", "next", next::of_history(series))]).collect(),
        picture: picture(first),
        parts: vec![
            Part {
                facts: results(&facts),
                charts,
                tables: tables.map(|(title, header, rows)| Table { title, header, rows }).collect(),
                ..Part::how_much()
            },
            Part {
                groups: vec![Group {
                    title: "Same in all results",
                    facts: vec![fact("factors", alike.collect::<Vec<_>>().join("; ")), fact("changes", method(record))],
                }],
                ..Part::measured()
            },
        ],
        ..ResultView::default()
    }
}

/// A figure from result to result.
fn drawn(series: &HistorySeries, figure: &HistoryFigure) -> Chart {
    let name = figure.quantity.words();
    let title = capitalised(name);
    let known: Vec<(usize, f64)> =
        figure.values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    if known.is_empty() {
        return Chart::missing(title, "it is not known of any result, or only a bound");
    }
    let (x, y): (Vec<f64>, Vec<f64>) =
        known.iter().map(|(at, value)| (place(*at), shown(figure.quantity, *value))).unzip();
    let hover = known.iter().map(|(at, known)| {
        let run = &series.runs[*at];
        format!("{}: {}, {}", run.name, value(figure.quantity, *known), run.started)
    });
    let mut each = line(name, GREY, x, y.clone(), hover.collect()).line(Line::new().color(GREY).width(1.0));
    if let Some(bars) = bars(figure, &known) {
        each = each.error_y(bars);
    }
    let mut traces = vec![each.marker(Marker::new().color(COLOURS[0]).size(6))];
    traces.extend(levels(figure));
    let results = Axis::new().title("result, from the oldest to the latest").zero_line(false);
    let axes = layout(results, axis(figure.quantity, &y));
    let mut note = "each result, and the level between changes (geometric mean)".to_owned();
    if !figure.intervals.is_empty() {
        note = format!("change against the baseline of the same comparison, with its 95 % interval; {note}");
    }
    if let Some(related) = related(figure) {
        note.push_str(&format!("; {related}"));
    }
    chart(&title, &note, traces, marked(axes, figure)).on(SharedAxis::Result)
}

/// Intervals of the values as bars; none without any.
fn bars(figure: &HistoryFigure, known: &[(usize, f64)]) -> Option<ErrorData> {
    let ends = |at: usize| figure.intervals.get(at).copied().flatten();
    let (up, down): (Vec<f64>, Vec<f64>) =
        known.iter().map(|(at, value)| ends(*at).map_or((0.0, 0.0), |[low, high]| (high - value, value - low))).unzip();
    let bars = ErrorData::new(ErrorType::Data).symmetric(false).array(up).array_minus(down);
    (!figure.intervals.is_empty()).then(|| bars.color(COLOURS[0]).thickness(1.0).width(3))
}

/// A value as it is drawn: a ratio as the change that it is.
fn shown(quantity: HistoryQuantity, value: f64) -> f64 {
    if quantity.is_ratio() { value - 1.0 } else { value }
}

/// Number of a result, from 1.
const fn place(at: usize) -> f64 {
    (at + 1) as f64
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn axis(quantity: HistoryQuantity, values: &[f64]) -> Axis {
    match quantity {
        ratio if ratio.is_ratio() => Axis::new().tick_format("+.1%").zero_line(true),
        HistoryQuantity::GoodputPerS
        | HistoryQuantity::CapacityPerS
        | HistoryQuantity::TransferredColdBytes
        | HistoryQuantity::RequestsCold => Axis::new().range_mode(RangeMode::Normal).tick_format("~s").zero_line(false),
        _ => time_axis(values.iter().copied()),
    }
}

/// A line at each level, from its first result to its last.
fn levels(figure: &HistoryFigure) -> Option<Curve> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let ends = figure.changes.iter().skip(1).map(|change| change.at as usize).chain([figure.values.len()]);
    if let Some(first) = figure.changes.first() {
        x.extend([place(0), place(first.at as usize) - 0.5]);
        y.extend([shown(figure.quantity, first.before); 2]);
    }
    for (change, end) in figure.changes.iter().zip(ends) {
        x.extend([place(change.at as usize) - 0.5, place(end) - 1.0]);
        y.extend([shown(figure.quantity, change.after); 2]);
    }
    (!x.is_empty())
        .then(|| Scatter::new(x, y).name("level").mode(Mode::Lines).line(Line::new().color(COLOURS[1]).width(2.5)))
}

/// An upright line with its size at each change.
fn marked(mut axes: Layout, figure: &HistoryFigure) -> Layout {
    for change in &figure.changes {
        let x = place(change.at as usize) - 0.5;
        let colour = match change.is_worse {
            _ if figure.quantity.is_of_machine() => GREY,
            true => RED,
            false => COLOURS[2],
        };
        axes.add_shape(upright(x, colour, DashType::Dot));
        let words = Annotation::new().text(plain(&signed(change.ratio.value))).show_arrow(false).x(x);
        axes.add_annotation(words.y(0.98).y_ref("paper").x_anchor(Anchor::Left).y_anchor(Anchor::Top));
    }
    axes
}
