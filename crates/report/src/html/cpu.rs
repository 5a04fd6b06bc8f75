//! Who used the CPUs: in layers against time and against load, and tables.

use super::chart::{Chart, Curve, RED, SharedAxis, chart, from_zero, layout, load_axis, thin};
use super::kernel;
use super::layers::{Layers, processes};
use super::timeline::{Named, Timeline, to_digits};
use super::view::Table;
use crate::words::observed::cores_number;
use crate::words::over::Over;
use model::human::{bytes, count, percent, time};
use model::{Observed, RunRecord, SeriesFigure, SeriesObserved, SocketsObserved, SweepRecord};
use plotly::common::{DashType, Line};
use plotly::layout::Axis;
use std::collections::{BTreeMap, BTreeSet};

/// Other processes that are named.
const OTHERS_SHOWN: usize = 3;
/// Share of the machine's CPUs, stolen in the worst second, from which on it is worth a curve.
const STEAL_DRAWN: f64 = 0.02;

/// Colour of what there is of CPUs.
const CEILING: &str = "#66707e";

/// Who kept the CPUs busy, against time.
pub(super) fn timeline(timeline: &Timeline<'_>, clock: Axis) -> Chart {
    const TITLE: &str = "CPU by process";
    let observed = timeline.observed;
    let machine = timeline.means(observed.seconds.iter().map(|second| second.machine_cores));
    let named = timeline.series(SeriesFigure::CpuCores);
    let mut traces = Layers { x: timeline.ends_s.clone(), machine, named }.curves();
    if traces.is_empty() || !timeline.has_curves() {
        return Chart::missing(TITLE, timeline.why_not(Observed::MACHINE));
    }
    if observed.machine.as_ref().is_some_and(|machine| machine.steal_max >= STEAL_DRAWN) {
        let (x, y) = timeline.known(&timeline.means(observed.seconds.iter().map(|second| second.steal_cores)));
        traces.push(thin("stolen", RED, x, y));
    }
    traces.extend(ceiling(&timeline.ends_s, observed.usable_cpus()));
    let of = observed
        .machine
        .as_ref()
        .map_or_else(String::new, |machine| format!(" of the {} the machine has", machine.cpus));
    let unknown = match observed.unavailable.get(Observed::SERVER) {
        Some(why) if observed.server.is_none() => format!("; of the server not known: {why}"),
        _ => String::new(),
    };
    let note = format!("CPUs kept busy{of}, {}, in layers{unknown}", timeline.each());
    chart(TITLE, &note, traces, layout(clock, cpus_axis())).on(SharedAxis::Time)
}

/// The same against load; none of a record from before anything was observed.
pub(super) fn by_load(record: &SweepRecord, over: Over) -> Option<Chart> {
    let title = format!("CPU by process, by {}", over.axis());
    let seen = seen(record);
    if seen.iter().all(|(_, observed)| observed.server.is_none()) {
        let (_, observed) = seen.first()?;
        return observed.unavailable.get(Observed::SERVER).map(|why| Chart::missing(title, why));
    }
    let machine = |observed: &Observed| observed.machine.as_ref().map(|m| m.busy_mean * f64::from(m.cpus));
    let named = columns(&seen, cores);
    let layers = Layers {
        x: seen.iter().map(|(load, _)| *load).collect(),
        machine: seen.iter().map(|(_, observed)| machine(observed).map(to_digits)).collect(),
        named: by_size(&named),
    };
    let mut traces = layers.curves();
    let usable = seen.iter().filter_map(|(_, observed)| observed.usable_cpus()).max();
    traces.extend(ceiling(&layers.x, usable));
    let loads = record.curve.iter().map(|point| point.load);
    let axes = layout(load_axis(loads, over.axis()), cpus_axis());
    Some(chart(&title, "CPUs kept busy, in layers", traces, axes).on(SharedAxis::Load))
}

/// CPU time for each response by process, in layers, against load; none when nothing is known of the server.
pub(super) fn per_request_by_load(record: &SweepRecord, over: Over) -> Option<Chart> {
    let seen = seen(record);
    let named = columns(&seen, |observed| {
        let processes =
            observed.named_groups().flat_map(|(label, group)| group.processes.iter().map(move |p| (label, p)));
        let told = processes.filter_map(|(label, p)| Some((format!("{label}: {}", p.name), p.cpu_ns_per_request?)));
        told.collect()
    });
    let longest_ns = named.values().flatten().flatten().copied().fold(0.0, f64::max);
    let (unit_ns, unit) = [(1e9, " s"), (1e6, " ms"), (1e3, " µs")]
        .into_iter()
        .find(|(unit_ns, _)| longest_ns >= *unit_ns)
        .unwrap_or((1.0, " ns"));
    let scaled: Vec<Named<'_>> = by_size(&named)
        .into_iter()
        .map(|(name, values)| (name, values.into_iter().map(|ns| ns.map(|ns| to_digits(ns / unit_ns))).collect()))
        .collect();
    let x: Vec<f64> = seen.iter().map(|(load, _)| *load).collect();
    let traces = processes(&x, &scaled, &mut vec![0.0; x.len()]);
    if traces.is_empty() {
        return None;
    }
    let loads = record.curve.iter().map(|point| point.load);
    let axes = layout(load_axis(loads, over.axis()), from_zero().tick_format("~r").tick_suffix(unit));
    let note = "CPU time of the server and of what was watched beside it for each complete response, in layers";
    Some(chart(&format!("CPU per request by {}", over.axis()), note, traces, axes).on(SharedAxis::Load))
}

/// Load and what was observed of each point of which something was.
fn seen(record: &SweepRecord) -> Vec<(f64, &Observed)> {
    let points = record.curve.iter().zip(&record.points);
    points.filter_map(|(point, run)| Some((point.load, run.observed.as_ref()?))).collect()
}

/// CPUs that each process and everyone else kept busy.
fn cores(observed: &Observed) -> Vec<(String, f64)> {
    let processes = observed.named_groups().flat_map(|(label, group)| group.processes.iter().map(move |p| (label, p)));
    let mut told: Vec<_> = processes.map(|(label, p)| (format!("{label}: {}", p.name), p.cpu_cores)).collect();
    let mut add = |name: &str, cores: Option<f64>| told.extend(cores.map(|cores| (name.to_owned(), cores)));
    add(SeriesObserved::GENERATOR, observed.generator.as_ref().map(|generator| generator.cpu_cores));
    add(SeriesObserved::OTHERS, observed.others.as_ref().map(|others| others.cpu_cores));
    let interrupts = observed.machine.as_ref().map(|machine| machine.softirq_mean * f64::from(machine.cpus));
    add(SeriesObserved::INTERRUPTS, interrupts);
    told
}

/// What `of` tells of each point, by name.
fn columns(
    seen: &[(f64, &Observed)],
    of: impl Fn(&Observed) -> Vec<(String, f64)>,
) -> BTreeMap<String, Vec<Option<f64>>> {
    let mut columns: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for (i, (_, observed)) in seen.iter().enumerate() {
        for (name, value) in of(observed) {
            let column = columns.entry(name).or_insert_with(|| vec![None; seen.len()]);
            column[i] = Some(to_digits(value));
        }
    }
    columns
}

/// The columns, the one with the largest value first.
fn by_size(columns: &BTreeMap<String, Vec<Option<f64>>>) -> Vec<Named<'_>> {
    let most = |values: &[Option<f64>]| values.iter().flatten().copied().fold(0.0, f64::max);
    let mut named: Vec<Named<'_>> = columns.iter().map(|(name, values)| (name.as_str(), values.clone())).collect();
    named.sort_by(|a, b| most(&b.1).total_cmp(&most(&a.1)));
    named
}

/// A line at the CPUs that the server may use, from one end of the curves to the other: how much of them is in use is seen
/// against it.
fn ceiling(x: &[f64], usable: Option<u32>) -> Option<Curve> {
    let (first, last) = (*x.first()?, *x.last()?);
    let style = Line::new().color(CEILING).width(2.0).dash(DashType::LongDash);
    Some(thin("CPUs that the server may use", CEILING, vec![first, last], vec![f64::from(usable?); 2]).line(style))
}

/// An axis of CPUs from zero, in plain decimals.
pub(super) fn cpus_axis() -> Axis {
    from_zero().tick_format("~r")
}

/// Who used the CPUs, and the sockets there were.
pub(super) fn tables(record: &RunRecord) -> Vec<Table> {
    let Some(observed) = &record.observed else { return Vec::new() };
    let mut tables = Vec::new();
    let rows = users(observed);
    if !rows.is_empty() {
        let header = ["", "processes", "CPUs busy", "CPU per request", "memory", "shared in parts"];
        let header = header.map(str::to_owned).to_vec();
        tables.push(Table { title: "CPU and memory", header, rows });
    }
    if let Some(sockets) = &observed.sockets {
        let header = ["most at a time", "server", "clients"].map(str::to_owned).to_vec();
        tables.push(Table { title: "Sockets", header, rows: states(sockets) });
    }
    tables.extend(kernel::tables(observed));
    tables
}

fn users(observed: &Observed) -> Vec<Vec<String>> {
    let none = || "-".to_owned();
    let mut rows = Vec::new();
    for (label, process) in
        observed.named_groups().flat_map(|(label, group)| group.processes.iter().map(move |p| (label, p)))
    {
        rows.push(vec![
            format!("{label}: {}", process.name),
            count(process.count.into()),
            cores_number(process.cpu_cores),
            process.cpu_ns_per_request.map_or_else(none, time),
            bytes(process.rss_bytes_max),
            process.pss_bytes_max.map_or_else(none, bytes),
        ]);
    }
    if let Some(generator) = &observed.generator {
        let cores = cores_number(generator.cpu_cores);
        rows.push(vec!["load generator".to_owned(), "1".to_owned(), cores, none(), none(), none()]);
        for thread in &generator.threads {
            let name = format!("thread {}, waited for a CPU {}", thread.name, percent(thread.wait_mean));
            rows.push(vec![name, none(), cores_number(thread.busy_mean), none(), none(), none()]);
        }
    }
    if let Some(others) = &observed.others {
        let names: Vec<&str> = others.processes.iter().take(OTHERS_SHOWN).map(|other| other.name.as_str()).collect();
        let name = format!("all other processes ({})", names.join(", "));
        rows.push(vec![name, none(), cores_number(others.cpu_cores), none(), none(), none()]);
    }
    if let Some(sampler) = &observed.sampler {
        let name = format!("monitoring, {} a sample", time(sampler.cpu_ns_per_look));
        rows.push(vec![name, none(), cores_number(sampler.cpu_share), none(), none(), none()]);
    }
    if let Some(machine) = &observed.machine {
        let cores = cores_number(machine.busy_mean * f64::from(machine.cpus));
        let name = format!("machine, {} busy, {} stolen", percent(machine.busy_mean), percent(machine.steal_mean));
        rows.push(vec![name, none(), cores, none(), none(), none()]);
    }
    rows
}

fn states(sockets: &SocketsObserved) -> Vec<Vec<String>> {
    let empty = Default::default();
    let server = sockets.server.as_ref();
    let names: BTreeSet<&String> = server.unwrap_or(&empty).keys().chain(sockets.client.keys()).collect();
    let mut rows: Vec<Vec<String>> = names
        .into_iter()
        .map(|state| {
            let at_server = server.map(|states| states.get(state).copied().unwrap_or(0));
            let at_clients = sockets.client.get(state).copied().unwrap_or(0);
            vec![state.replace('_', "-"), at_server.map_or_else(|| "-".to_owned(), count), count(at_clients)]
        })
        .collect();
    if let Some(waiting) = sockets.accept_queue_max {
        let of = sockets.accept_backlog.map_or_else(String::new, |backlog| format!(", of {} that may", count(backlog)));
        rows.push(vec![format!("waiting to be accepted{of}"), count(waiting), String::new()]);
    }
    rows
}
