//! The workers of the server: how occupied they were, and with what.

use super::chart::{
    COLOURS, Chart, Curve, SharedAxis, chart, layout, left_out, line, load_axis, nth_dash, nth_line, thin,
};
use super::timeline::Timeline;
use super::view::Table;
use crate::words::observed::{is_worth_telling, waits};
use crate::words::over::Over;
use model::human::{count, percent};
use model::{Observed, PoolObserved, SweepRecord};
use plotly::common::Line;
use plotly::layout::Axis;
use std::collections::{BTreeMap, BTreeSet};

/// Pools that are drawn: as many as there are colours.
const DRAWN_MAX: usize = COLOURS.len();
/// Pools in the table.
const ROWS_MAX: usize = 12;
const TITLE: &str = "Worker pools";
const MEANING: &str = "share of each pool's workers that were not free to take work";

/// Occupancy of each pool against time.
pub(super) fn timeline(timeline: &Timeline<'_>, clock: Axis) -> Chart {
    let observed = timeline.observed;
    let drawn = drawn(observed);
    let curve = |(i, (name, colour)): (usize, (&&str, &&'static str))| {
        let occupancy = observed.seconds.iter().map(|second| second.pools.get(*name).copied());
        let (x, y) = timeline.known(&timeline.means(occupancy));
        let style = Line::new().color(*colour).width(1.5).dash(nth_dash(i));
        (x.len() > 1).then(|| thin(name, colour, x, y).line(style))
    };
    let traces: Vec<Curve> = drawn.iter().zip(&COLOURS).enumerate().filter_map(curve).collect();
    let left_out = left_out(drawn.len().saturating_sub(DRAWN_MAX), "more");
    if traces.is_empty() {
        let why = match observed.pools.is_empty() || !timeline.has_curves() {
            true => timeline.why_not("pools"),
            false => "no worker was ever seen at work".to_owned(),
        };
        return Chart::missing(TITLE, why);
    }
    chart(TITLE, &format!("{MEANING}, {}{left_out}", timeline.each()), traces, layout(clock, shares()))
        .on(SharedAxis::Time)
}

/// The same against load.
pub(super) fn by_load(record: &SweepRecord, over: Over) -> Option<Chart> {
    let loads: Vec<(f64, &BTreeMap<String, f64>)> =
        record.curve.iter().map(|point| (point.load, &point.pools)).collect();
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, occupancy) in record.curve.iter().flat_map(|point| &point.pools) {
        let highest = most.entry(name).or_default();
        *highest = highest.max(*occupancy);
    }
    let mut names: Vec<_> = most.into_iter().filter(|(_, occupancy)| is_worth_telling(*occupancy)).collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
    let note = format!("{MEANING}{}", left_out(names.len().saturating_sub(DRAWN_MAX), "more"));
    let traces = curves(&names, &loads);
    if traces.is_empty() {
        return None;
    }
    let axes = layout(load_axis(record.curve.iter().map(|point| point.load), over.axis()), shares());
    Some(chart(&format!("{TITLE} by {}", over.axis()), &note, traces, axes).on(SharedAxis::Load))
}

/// What the workers did; none when nothing is known of them.
pub(super) fn table(title: &'static str, observed: &Observed) -> Option<Table> {
    let header = ["", "workers", "occupied", "busiest second", "running", "waited for a CPU", "waited for"];
    let rows: Vec<_> = observed.pools.iter().take(ROWS_MAX).map(row).collect();
    let header = header.map(str::to_owned).to_vec();
    (!rows.is_empty()).then_some(Table { title, header, rows })
}

fn row(pool: &PoolObserved) -> Vec<String> {
    let waits = waits(pool);
    vec![
        pool.name.clone(),
        count(pool.workers_max.into()),
        percent(pool.occupancy),
        percent(pool.occupancy_max),
        percent(pool.running),
        pool.runnable.map_or_else(|| "-".to_owned(), percent),
        if waits.is_empty() { "-".to_owned() } else { waits },
    ]
}

/// The pools that are worth drawing: those that were occupied most first, as they are told in this order, behind those that
/// servers tell of themselves.
fn drawn(observed: &Observed) -> Vec<&str> {
    let is_seen = |name: &str| observed.pools.iter().any(|pool| pool.name == name);
    let told: BTreeSet<&str> =
        observed.seconds.iter().flat_map(|second| second.pools.keys()).map(String::as_str).collect();
    let told = told.into_iter().filter(|name| !is_seen(name));
    let seen = observed.pools.iter().filter(|pool| is_worth_telling(pool.occupancy_max)).map(|pool| pool.name.as_str());
    told.chain(seen).collect()
}

/// A line for each pool that has two points or more.
fn curves(names: &[&str], points: &[(f64, &BTreeMap<String, f64>)]) -> Vec<Curve> {
    let curve = |(i, (name, colour)): (usize, (&&str, &&'static str))| {
        let (x, y): (Vec<f64>, Vec<f64>) =
            points.iter().filter_map(|(x, pools)| Some((*x, *pools.get(*name)?))).unzip();
        let hover = y.iter().map(|occupancy| format!("{name} {}", percent(*occupancy))).collect();
        (x.len() > 1).then(|| nth_line(i, colour, line(name, colour, x, y, hover)))
    };
    names.iter().zip(&COLOURS).enumerate().filter_map(curve).collect()
}

fn shares() -> Axis {
    Axis::new().range(vec![0.0, 1.05]).tick_format(".0%").zero_line(false)
}
