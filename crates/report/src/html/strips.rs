//! A comparison block by block, in the order of time: what drifts in all lines is the machine.

use super::chart::{Chart, Curve, GREY, SharedAxis, chart, layout, line, nth_colour, nth_dash, nth_mark};
use crate::words::blocks::place;
use crate::words::blocks::{Strip, StripLine, strips};
use crate::words::compare::{baseline, value};
use model::CompareRecord;
use model::human::time;
use plotly::common::{DashType, Line, Marker, MarkerSymbol};
use plotly::layout::Axis;

/// Least difference of what is drawn highest and lowest that the axis allows for, as a share.
const SPAN_MIN: f64 = 0.05;

/// A chart for each quantity that decides.
pub(super) fn charts(record: &CompareRecord) -> Vec<Chart> {
    strips(record).iter().map(|strip| drawn(record, strip)).collect()
}

/// One quantity of all variants, and the canary.
fn drawn(record: &CompareRecord, strip: &Strip) -> Chart {
    let mut traces: Vec<Curve> = Vec::new();
    for (i, arm) in strip.arms.iter().enumerate() {
        traces.extend(curve(arm, nth_colour(i), (nth_dash(i), nth_mark(i)), |at| value(strip.metric, at)));
    }
    traces.extend(curve(&strip.canary, GREY, (DashType::Dot, MarkerSymbol::Cross), time));
    let x = Axis::new().title("block, in the order of time").zero_line(false);
    let y = Axis::new().tick_format(".1%").range(range(strip)).zero_line(false);
    let title = format!("By block: {} {}", strip.metric.words(), place(record, strip.load));
    chart(&title, &note(strip, baseline(record)), traces, layout(x, y)).on(SharedAxis::Block)
}

/// How to read it. Without a canary two variants may rise and fall together for another reason than the machine.
fn note(strip: &Strip, baseline: &str) -> String {
    let canary = match strip.canary.points.is_empty() {
        true => "",
        false => ", the canary to its own median: what rises and falls in all lines is the machine",
    };
    format!("relative to the mean of {baseline}{canary}; small marks are blocks that do not count")
}

/// Ends of the axis: what hardly changes is not to look wild.
fn range(strip: &Strip) -> Vec<f64> {
    let points = strip.arms.iter().chain([&strip.canary]).flat_map(|line| &line.points);
    let (low, high) =
        points.fold((1.0_f64, 1.0_f64), |(low, high), point| (low.min(point.relative), high.max(point.relative)));
    let air = 0.1 * (high - low).max(SPAN_MIN);
    vec![low - air, high + air]
}

fn curve(
    of: &StripLine,
    colour: &'static str,
    (dash, mark): (DashType, MarkerSymbol),
    words: impl Fn(f64) -> String,
) -> Option<Curve> {
    if of.points.is_empty() {
        return None;
    }
    let x = of.points.iter().map(|point| point.block as f64).collect();
    let y = of.points.iter().map(|point| point.relative).collect();
    let hover = of.points.iter().map(|point| {
        let counted = if point.counted { "" } else { ", does not count" };
        format!("{} {}{counted}", of.name, words(point.value))
    });
    let sizes = of.points.iter().map(|point| if point.counted { 7 } else { 3 }).collect();
    let drawn = line(&of.name, colour, x, y, hover.collect()).line(Line::new().color(colour).width(1.5).dash(dash));
    // Marks of different sizes would else be taken for bubbles: half transparent, with a rim.
    let marker = Marker::new().color(colour).symbol(mark).size_array(sizes).opacity(1.0);
    Some(drawn.marker(marker.line(Line::new().width(0.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::comparison;

    #[test]
    fn nothing_is_said_of_a_canary_that_was_not_measured() {
        let mut record = comparison();
        assert!(strips(&record).iter().all(|strip| note(strip, "base").contains("the canary to its own median")));
        record.blocks.iter_mut().for_each(|block| block.canary_cpu_ns_per_request = None);
        let notes: Vec<String> = strips(&record).iter().map(|strip| note(strip, "base")).collect();
        assert_eq!(notes, vec!["relative to the mean of base; small marks are blocks that do not count"; 2]);
    }
}
