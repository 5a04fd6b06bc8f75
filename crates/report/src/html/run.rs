//! One measured load as a page: how it went second by second, and how long responses took.

use super::chart::{
    COLOURS, Chart, RED, SharedAxis, band, chart, from_zero, layout, line, nth_colour, nth_line, picture, reasons_once,
    time_axis,
};
use super::flames::flames;
use super::profile;
use super::status;
use super::timeline::{Timeline, clock};
use super::view::{
    self, Beside, Fact, Group, Measured, Part, ResultView, Table, VerdictView, answers, command, fact, files,
    fingerprint, limits, load, results, thresholds,
};
use super::{Item, Shown, next};
use super::{cpu, pools, resources, threads};
use crate::off_cpu;
use crate::sums::sum;
use crate::words::compared::compared;
use crate::words::latency::{self, latency_rows};
use crate::words::{agents, run as words};
use evidence::factors::conditions;
use model::human::{count, percent, plural, rate, time};
use model::{Contract, Histograms, MergedHistogram, NS_PER_S, Plan, QUANTILE_TAIL_MIN, Request, RunRecord, Second};
use plotly::Layout;
use plotly::common::Mode;
use plotly::layout::{Axis, AxisType, HoverMode};

/// Points of a percentile curve in each tenfold of its axis.
const POINTS_A_DECADE: f64 = 60.0;
/// Digits behind the point of a percentile at most.
const DIGITS_MAX: usize = 12;

pub(super) fn view(shown: &Shown<'_>, record: &RunRecord) -> ResultView {
    let distribution = shown.distributions.and_then(|distributions| {
        let mut curves = vec![("response time", &distributions.response)];
        // In a closed loop a request is intended when it is sent, so that both are the same.
        if !record.plan.load.is_closed() {
            curves.push(("service time", &distributions.service));
        }
        if latency::has_first_byte(record) {
            curves.push(("first byte", &distributions.first_byte));
        }
        percentiles(&curves)
    });
    let waiting = off_cpu::of_run(record);
    let kept = [
        record.profile.is_some(),
        waiting.is_some(),
        shown.has(|graphs| &graphs.waiting),
        shown.has(|graphs| &graphs.php),
    ];
    let facts = words::facts(record);
    let environment = &record.environment;
    ResultView {
        kind: "run",
        name: shown.name.to_owned(),
        title: record.plan.target.url.clone(),
        started: record.started.clone(),
        verdict: Some(VerdictView::of(&record.verdict)),
        answers: answers(&facts, Beside::Cells, next::of_run(record)),
        picture: picture(timeline(record)),
        parts: vec![
            Part {
                facts: results(&facts),
                charts: distribution.into_iter().collect(),
                tables: tables(record),
                ..Part::how_much()
            },
            Part {
                facts: limits(&facts),
                charts: beside(record),
                flames: flames(shown, waiting.as_ref()),
                tables: limit_tables(record),
                ..Part::limits()
            },
            Part::belief(&record.verdict),
            Part {
                facts: load(&facts),
                tables: fingerprint(environment),
                groups: vec![plan(&record.plan, true), view::environment(environment)],
                command: command(environment),
                files: files(shown, Measured::Once, kept),
                ..Part::measured()
            },
        ],
    }
}

/// The percentile curves of all runs whose histograms are there, when there are several.
pub(super) fn overlaid(items: &[Item<'_>]) -> Option<Chart> {
    let found: Vec<(&Item<'_>, &Histograms)> =
        items.iter().filter_map(|item| Some((item, item.distributions?))).collect();
    let curves: Vec<_> = found.iter().map(|(item, found)| (item.named.name, &found.response)).collect();
    if curves.len() > 1 { percentiles(&curves) } else { None }
}

fn tables(record: &RunRecord) -> Vec<Table> {
    let mut tables: Vec<Table> = thresholds(&record.thresholds).into_iter().collect();
    let rows = latency_rows(record);
    if !rows.is_empty() {
        let quantiles = latency::quantiles(record).into_iter().map(|quantile| quantile.to_string());
        let header = [String::new()].into_iter().chain(quantiles).collect();
        tables.push(Table { title: "Latency", header, rows });
    }
    if !record.agents.is_empty() {
        let header = agents::HEADER.map(str::to_owned).to_vec();
        tables.push(Table { title: "Agents, in the measured window", header, rows: agents::rows(record) });
    }
    let requests = &record.requests;
    let mut rows: Vec<Vec<String>> = [
        ("planned", requests.counts.planned),
        ("sent", requests.counts.sent),
        ("answered", requests.counts.completed),
        ("good", requests.counts.good),
        ("without an answer in time", requests.counts.censored),
    ]
    .map(|(name, n)| share_row(name.to_owned(), n, requests.counts.planned))
    .to_vec();
    rows.extend(
        requests.status.iter().map(|(status, n)| share_row(format!("status {status}"), *n, requests.counts.planned)),
    );
    let failures = requests.failures.iter();
    rows.extend(failures.map(|(name, n)| share_row(format!("failure {name}"), *n, requests.counts.planned)));
    let header = ["", "requests", "share of planned"].map(str::to_owned).to_vec();
    tables.push(Table { title: "Requests", header, rows });
    let rows = words::mix_rows(record);
    if !rows.is_empty() {
        let header = words::MIX_HEADER.map(str::to_owned).to_vec();
        tables.push(Table { title: "Each request of the mix", header, rows });
    }
    tables
}

fn limit_tables(record: &RunRecord) -> Vec<Table> {
    let workers = record.observed.as_ref().and_then(|observed| pools::table("What the workers did", observed));
    let mut tables: Vec<Table> = workers.into_iter().collect();
    tables.extend(cpu::tables(record));
    tables.extend(status::table(&record.status));
    tables.extend(record.profile.iter().flat_map(profile::tables));
    tables
}

fn share_row(name: String, n: u64, of: u64) -> Vec<String> {
    let share = if of == 0 { "-".to_owned() } else { percent(n as f64 / of as f64) };
    vec![name, count(n), share]
}

/// What was to be done; the seed differs between the points of a sweep.
pub(super) fn plan(plan: &Plan, with_seed: bool) -> Group {
    let mut facts = vec![fact("target", plan.target.to_string())];
    if let Some(named) = &plan.target.connect_to {
        facts.push(fact("connected to", format!("{named} (--connect-to)")));
    }
    match plan.requests.as_slice() {
        [only] => facts.extend(request(only)),
        several => facts.push(fact("request", format!("a mix of {}", several.len()))),
    }
    let cpus: Vec<_> = plan.cpus.iter().map(ToString::to_string).collect();
    let pinned = if cpus.is_empty() { "not pinned".to_owned() } else { format!("pinned to CPU {}", cpus.join(", ")) };
    facts.extend(conditions(plan).map(|(name, value)| fact(name, value)));
    facts.push(fact("compared", compared(plan)));
    facts.push(fact("load threads", format!("{}, {pinned}", plan.threads)));
    if with_seed {
        facts.push(fact("seed", plan.seed.to_string()));
    }
    Group { title: "Plan", facts }
}

fn request(request: &Request) -> Vec<Fact> {
    let template = if request.template { ", fields filled in anew for each" } else { "" };
    let size = plural(request.body_bytes, "byte");
    let what = format!("{} {}, {size} of body{template}", request.method, request.path);
    let headers = request.headers.iter().map(|(name, value)| fact("header", format!("{name}: {value}")));
    let mut facts = vec![fact("request", what)];
    facts.extend(headers);
    facts.push(fact("good response", contract(&request.contract)));
    facts
}

fn contract(contract: &Contract) -> String {
    let status = contract.status.map_or_else(|| "any 2xx".to_owned(), |status| format!("status {status}"));
    let size = match contract.size_bytes {
        None => String::new(),
        Some(band) if band.min == band.max => format!(", {}", plural(band.min, "byte")),
        Some(band) => format!(", {} to {}", count(band.min), plural(band.max, "byte")),
    };
    format!("{status}{size} ({})", if contract.declared { "declared" } else { "as probed" })
}

/// What was seen beside the load, below goodput and response times and on their axis.
fn beside(record: &RunRecord) -> Vec<Chart> {
    let Some(timeline) = Timeline::of(record) else { return Vec::new() };
    let charts =
        [cpu::timeline, threads::timeline, pools::timeline, resources::sockets, resources::memory, resources::network];
    reasons_once(charts.map(|chart| chart(&timeline, clock(record))))
}

/// Goodput and response times against time; none when there are too few seconds for a curve.
fn timeline(record: &RunRecord) -> Vec<Chart> {
    let seconds: Vec<_> = record.seconds.iter().filter(|second| second.length_ns > 0).collect();
    let Some(first) = seconds.first().filter(|_| seconds.len() > 1) else { return Vec::new() };
    let at_s: Vec<f64> = seconds
        .iter()
        .map(|s| s.from_ns.saturating_sub(first.from_ns).saturating_add(s.length_ns) as f64 / 1e9)
        .collect();
    let per_s = |n: u64, s: &Second| n as f64 * NS_PER_S as f64 / s.length_ns as f64;
    let rates = |name: &str, colour, of: &dyn Fn(&Second) -> u64| {
        let y: Vec<f64> = seconds.iter().map(|s| per_s(of(s), s)).collect();
        let hover = y.iter().map(|y| format!("{name} {}", rate(*y))).collect();
        line(name, colour, at_s.clone(), y, hover)
    };
    let mut traces = vec![rates("good", COLOURS[0], &|s| s.good)];
    let failed = sum(seconds.iter().map(|s| s.failed));
    if failed > 0 {
        traces.push(nth_line(1, RED, rates("failed", RED, &|s| s.failed)));
    }
    let mut note = "each second of the measured window".to_owned();
    note.push_str(if failed > 0 { "" } else { "; none failed" });
    let axes = shaded(layout(clock(record), from_zero()), record, &mut note);
    let mut charts = vec![chart("Responses per second", &note, traces, axes).on(SharedAxis::Time)];

    let answered: Vec<_> = seconds.iter().zip(&at_s).filter(|(s, _)| s.response_p50_ns > 0).collect();
    if answered.len() > 1 {
        let times = |name: &str, colour, of: &dyn Fn(&Second) -> u64| {
            let y: Vec<f64> = answered.iter().map(|(s, _)| of(s) as f64).collect();
            let hover = y.iter().map(|y| format!("{name} {}", time(*y))).collect();
            line(name, colour, answered.iter().map(|(_, at)| **at).collect(), y, hover)
        };
        let p99 = nth_line(1, COLOURS[1], times("p99", COLOURS[1], &|s| s.response_p99_ns));
        let traces = vec![times("p50", COLOURS[2], &|s| s.response_p50_ns), p99];
        let all = answered.iter().flat_map(|(s, _)| [s.response_p50_ns as f64, s.response_p99_ns as f64]);
        let mut note = "median and 99th percentile of each second, logarithmic".to_owned();
        let axes = shaded(layout(clock(record), time_axis(all)), record, &mut note);
        charts.push(chart("Response time", &note, traces, axes).on(SharedAxis::Time));
    }
    charts
}

/// Disturbed time in grey behind the curves, which `note` then explains. Of several iterations each has a time axis of its own:
/// those are not drawn.
fn shaded(mut axes: Layout, record: &RunRecord, note: &mut String) -> Layout {
    let seen = record.disturbance.as_ref().filter(|seen| record.iterations == 1 && !seen.stretches.is_empty());
    let (Some(seen), Some(first)) = (seen, record.seconds.first()) else { return axes };
    let at_s = |ns: u64| ns.saturating_sub(first.from_ns) as f64 / 1e9;
    for stretch in &seen.stretches {
        axes.add_shape(band(at_s(stretch.from_ns), at_s(stretch.to_ns)));
    }
    note.push_str("; disturbed time in grey");
    axes
}

/// Latency against percentile, stretched so that each further nine has the same width.
fn percentiles(curves: &[(&str, &MergedHistogram)]) -> Option<Chart> {
    let drawn: Vec<_> =
        curves.iter().map(|(name, h)| (*name, curve(h))).filter(|(_, points)| points.len() > 1).collect();
    if drawn.is_empty() {
        return None;
    }
    let traces = drawn.iter().enumerate().map(|(i, (name, points))| {
        let hover = points.iter().map(|(beyond, ns)| {
            let within = 100.0 * (1.0 - 1.0 / beyond);
            let digits = (beyond.log10().floor() as usize).clamp(1, DIGITS_MAX);
            format!("{name}: {within:.digits$} % within {}", time(*ns))
        });
        let (x, y) = points.iter().copied().unzip();
        nth_line(i, nth_colour(i), line(name, nth_colour(i), x, y, hover.collect())).mode(Mode::Lines)
    });
    let furthest = drawn.iter().flat_map(|(_, points)| points.last()).map(|(x, _)| *x).fold(10.0, f64::max);
    let axes: Layout =
        layout(nines(furthest), time_axis(drawn.iter().flat_map(|(_, points)| points).map(|(_, ns)| *ns)));
    let note = format!(
        "share of the requests answered within a time; drawn as far as {QUANTILE_TAIL_MIN} requests lie beyond"
    );
    Some(chart("Latency by percentile", &note, traces.collect(), axes.hover_mode(HoverMode::Closest)))
}

/// Points (1 / share beyond, latency in ns) of a percentile curve, about evenly spaced on its axis.
fn curve(histogram: &MergedHistogram) -> Vec<(f64, f64)> {
    let total = histogram.count() as f64;
    let mut points = Vec::new();
    let (mut up_to, mut next) = (0, 0.0);
    for (ns, n) in histogram.buckets() {
        let share = (total - up_to as f64) / total;
        up_to += n;
        let beyond = 1.0 / share;
        if beyond.log10() >= next && total - (up_to as f64) + n as f64 >= QUANTILE_TAIL_MIN {
            points.push((beyond, ns as f64));
            next = beyond.log10() + 1.0 / POINTS_A_DECADE;
        }
    }
    points
}

fn nines(furthest: f64) -> Axis {
    let names = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"];
    let mut ticks = vec![(1.0, names[0]), (2.0, "50 %")];
    ticks.extend((1..names.len()).map(|i| (10f64.powi(i as i32), names[i])).filter(|(x, _)| *x <= furthest * 1.2));
    let (values, text): (Vec<f64>, Vec<String>) = ticks.into_iter().map(|(x, name)| (x, name.to_owned())).unzip();
    Axis::new()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(text)
        .range(vec![-0.02, furthest.log10() * 1.03 + 0.02])
        .title("share of the requests")
        .zero_line(false)
}
