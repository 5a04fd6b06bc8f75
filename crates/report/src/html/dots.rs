//! A figure of each row of an experiment: a dot with its interval, below one another, so that names have room.

use super::chart::{Chart, chart, layout, nth_colour, nth_mark, nth_open_mark, plain};
use crate::words::experiment::between;
use model::{Estimate, ExperimentRecord, ExperimentRow, VerdictState};
use plotly::Scatter;
use plotly::common::{ErrorData, ErrorType, Marker, Mode};
use plotly::layout::{Axis, HoverMode};
use std::collections::{BTreeMap, BTreeSet};

/// So many colours are told apart.
const SERIES_MAX: usize = 6;
/// Height of a line of dots, and of what is around them; px.
const LINE_PX: u32 = 24;
const AROUND_PX: u32 = 110;

/// What is shown of each row.
pub(super) struct Figure {
    pub(super) title: &'static str,
    pub(super) note: &'static str,
    pub(super) of: fn(&ExperimentRow) -> Option<Estimate>,
    pub(super) words: fn(f64) -> String,
    /// The axis on which the given values have room.
    pub(super) axis: fn(&mut dyn Iterator<Item = f64>) -> Axis,
}

/// A line for each variant and a colour for each load, or the other way round; none where there is nothing to show.
pub(super) fn dots(record: &ExperimentRecord, figure: &Figure) -> Option<Chart> {
    let known: Vec<(&ExperimentRow, Estimate)> =
        record.rows.iter().filter_map(|row| Some((row, (figure.of)(row)?))).collect();
    let keys = Keys::of(known.iter().map(|(row, _)| *row))?;
    let traces: Vec<_> = keys
        .series
        .iter()
        .enumerate()
        .flat_map(|(i, name)| {
            let of = |is_valid: bool| {
                known.iter().filter(move |(row, _)| (row.verdict == Some(VerdictState::Valid)) == is_valid)
            };
            let of = |is_valid: bool| of(is_valid).filter(|(row, _)| keys.series(row) == *name).collect::<Vec<_>>();
            let (valid, other) = (of(true), of(false));
            let is_named = valid.is_empty();
            let filled = points(&valid, &keys, figure, Marker::new().symbol(nth_mark(i)).color(nth_colour(i)));
            let open = points(&other, &keys, figure, Marker::new().symbol(nth_open_mark(i)).color(nth_colour(i)));
            let name = plain(name);
            [filled.map(|trace| trace.name(&name)), open.map(|trace| trace.name(&name).show_legend(is_named))]
        })
        .flatten()
        .collect();
    let places = keys.lines.iter().enumerate().map(|(i, _)| place(i)).collect();
    let names = keys.lines.iter().map(|line| plain(line)).collect();
    let lines = Axis::new().tick_values(places).tick_text(names).auto_margin(true).zero_line(false);
    let lines = lines.range(vec![0.6 - keys.lines.len() as f64, 0.6]);
    let mut ends = known.iter().flat_map(|(_, estimate)| [Some(estimate.value), estimate.low, estimate.high]).flatten();
    let axes = layout((figure.axis)(&mut ends), lines).hover_mode(HoverMode::Closest);
    let axes = axes.show_legend(keys.series.len() > 1);
    let is_open = known.iter().any(|(row, _)| row.verdict != Some(VerdictState::Valid));
    let note = format!("{}{}", figure.note, if is_open { "; hollow where the verdict is not valid" } else { "" });
    let height_px = AROUND_PX + LINE_PX * keys.lines.len() as u32;
    Some(chart(figure.title, &note, traces, axes).height_px(height_px))
}

/// Where a line stands: the first on top.
fn place(line: usize) -> f64 {
    -(line as f64)
}

/// What has a line of its own, and what a colour.
struct Keys {
    lines: Vec<String>,
    /// Places of the lines.
    places: BTreeMap<String, f64>,
    series: Vec<String>,
    by: By,
}

enum By {
    /// Lines of variants, colours of loads.
    Variant,
    /// Lines of loads, colours of variants.
    Load,
    /// A line for each row.
    Row,
}

impl Keys {
    fn of<'a>(rows: impl Iterator<Item = &'a ExperimentRow> + Clone) -> Option<Self> {
        let distinct = |by: &By| {
            let mut seen = BTreeSet::new();
            rows.clone().map(|row| line(by, row)).filter(|name| seen.insert(name.clone())).collect::<Vec<_>>()
        };
        let (variants, loads) = (distinct(&By::Variant), distinct(&By::Load));
        let (lines, series, by) = match () {
            () if variants.is_empty() => return None,
            () if loads.len() <= SERIES_MAX => (variants, loads, By::Variant),
            () if variants.len() <= SERIES_MAX => (loads, variants, By::Load),
            () => (distinct(&By::Row), vec![String::new()], By::Row),
        };
        let places = lines.iter().enumerate().map(|(i, line)| (line.clone(), place(i))).collect();
        Some(Self { lines, places, series, by })
    }

    fn series(&self, row: &ExperimentRow) -> String {
        match self.by {
            By::Variant => line(&By::Load, row),
            By::Load => line(&By::Variant, row),
            By::Row => String::new(),
        }
    }

    fn place(&self, row: &ExperimentRow) -> f64 {
        self.places.get(&line(&self.by, row)).copied().unwrap_or_default()
    }
}

/// The line of a row.
fn line(by: &By, row: &ExperimentRow) -> String {
    match by {
        By::Variant => row.variant.clone(),
        By::Load => {
            format!("{}{}", row.load, if row.verb == "run" { String::new() } else { format!(", {}", row.verb) })
        }
        By::Row => format!("{}, {}", row.variant, line(&By::Load, row)),
    }
}

/// Points in a colour and a mark; none of no rows.
fn points(
    rows: &[&(&ExperimentRow, Estimate)],
    keys: &Keys,
    figure: &Figure,
    marker: Marker,
) -> Option<Box<Scatter<f64, f64>>> {
    let end = |value: f64, end: Option<f64>| end.map_or(0.0, |end| (end - value).abs());
    let above = rows.iter().map(|(_, estimate)| end(estimate.value, estimate.high)).collect();
    // A logarithmic axis has no place for zero.
    let low = |estimate: &Estimate| estimate.low.map(|low| low.max(estimate.value / 100.0));
    let below = rows.iter().map(|(_, estimate)| end(estimate.value, low(estimate))).collect();
    let hover: Vec<String> = rows.iter().map(|(row, estimate)| hover(row, estimate, figure)).collect();
    let (x, y) = rows.iter().map(|(row, estimate)| (estimate.value, keys.place(row))).unzip();
    let trace = Scatter::new(x, y).mode(Mode::Markers).marker(marker.size(9));
    let trace = trace.error_x(ErrorData::new(ErrorType::Data).array(above).array_minus(below));
    (!rows.is_empty()).then(|| trace.text_array(hover).hover_template("%{text}<extra></extra>"))
}

/// What a point says of itself: `5 workers, 16 connections: 16.5/s (14.7/s to 18.3/s), valid`.
fn hover(row: &ExperimentRow, estimate: &Estimate, figure: &Figure) -> String {
    let verdict = row.verdict.map_or("no verdict", crate::words::verdict::state_word);
    plain(&format!("{}: {}, {verdict}", line(&By::Row, row), between(estimate, figure.words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(variant: &str, load: &str, verdict: VerdictState) -> ExperimentRow {
        let row = r#"{"variant":"a","load":"b","verb":"run","steps":[],"missing":0,"response_p99_ns":[]}"#;
        let row: ExperimentRow = serde_json::from_str(row).expect("a row");
        let goodput_per_s = Some(Estimate { value: 20.0, low: Some(19.0), high: Some(22.0), n: 6 });
        ExperimentRow { variant: variant.into(), load: load.into(), verdict: Some(verdict), goodput_per_s, ..row }
    }

    fn keys(variants: usize, loads: usize) -> (Vec<String>, Vec<String>) {
        let pairs = (0..variants).flat_map(|variant| (0..loads).map(move |load| (variant, load)));
        let rows: Vec<_> =
            pairs.map(|(v, load)| row(&format!("v{v}"), &format!("l{load}"), VerdictState::Valid)).collect();
        let keys = Keys::of(rows.iter()).expect("some rows");
        for (i, row) in rows.iter().enumerate() {
            assert!(keys.series.contains(&keys.series(row)), "row {i}");
        }
        (keys.lines, keys.series)
    }

    #[test]
    fn colours_are_of_what_there_are_few_of() {
        assert_eq!(keys(2, 2), (vec!["v0".into(), "v1".into()], vec!["l0".into(), "l1".into()]));
        let (lines, series) = keys(2, 9);
        assert_eq!((lines.len(), series.len()), (9, 2), "many loads have a line each");
        let (lines, series) = keys(7, 7);
        assert_eq!((lines.len(), series.len()), (49, 1), "where both are many each row has a line");
        assert_eq!(lines[8], "v1, l1");
        assert!(Keys::of([].iter()).is_none());
    }

    #[test]
    fn a_point_says_what_it_is_and_the_first_is_on_top() {
        let (of, words) = (|row: &ExperimentRow| row.goodput_per_s, model::human::rate);
        let figure = Figure { title: "", note: "", of, words, axis: |values| super::super::chart::rate_axis(values) };
        let rows = [row("v", "l", VerdictState::Valid), row("w", "l", VerdictState::Bound)];
        let keys = Keys::of(rows.iter()).expect("two rows");
        let goodput = of(&rows[1]).expect("known");
        assert_eq!(hover(&rows[1], &goodput, &figure), "w, l: 20.0/s (19.0/s to 22.0/s), bound");
        assert_eq!(rows.each_ref().map(|row| keys.place(row)), [0.0, -1.0]);
    }
}
