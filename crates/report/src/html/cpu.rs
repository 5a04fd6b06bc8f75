//! What machine, server and generator used: a chart for a run, one for a sweep, and tables.

use super::chart::{COLOURS, Chart, GREY, chart, from_zero, layout, line, load_axis, share_axis};
use super::run::clock;
use super::view::Table;
use crate::terminal::observed::{cores_number, cpus};
use crate::terminal::sweep::Over;
use model::human::{bytes, count, percent, time};
use model::{Observed, ObservedSecond, PointSummary, RunRecord, SocketsObserved, SweepRecord};
use plotly::common::{DashType, Line, Marker};
use plotly::layout::{Axis, Margin};
use std::collections::BTreeSet;

/// Share of the machine's CPUs, stolen in the worst second, from which on it is worth a curve.
const STEAL_DRAWN: f64 = 0.02;

/// Busy CPUs of machine, server and generator against time; none when there are too few samples for a curve.
pub(super) fn timeline(record: &RunRecord) -> Option<Chart> {
    type Figure = fn(&ObservedSecond) -> Option<f64>;
    let observed = record.observed.as_ref()?;
    // On the axis of the other timelines, which begin with the window.
    let begin_ns = record.seconds.first()?.from_ns;
    let mut figures: Vec<(&str, &'static str, Figure)> = vec![
        ("machine", GREY, |second| second.machine_cores),
        ("server", COLOURS[3], |second| second.server_cores),
        ("load generator", COLOURS[5], |second| second.generator_cores),
    ];
    if observed.machine.as_ref().is_some_and(|machine| machine.steal_max >= STEAL_DRAWN) {
        figures.push(("stolen by the hypervisor", COLOURS[1], |second| second.steal_cores));
    }
    let mut traces = Vec::new();
    for (name, colour, figure) in figures {
        let end_s = |second: &ObservedSecond| (second.from_ns + second.length_ns).saturating_sub(begin_ns) as f64 / 1e9;
        let (x, y): (Vec<f64>, Vec<f64>) =
            observed.seconds.iter().filter_map(|second| Some((end_s(second), figure(second)?))).unzip();
        if x.len() > 1 {
            let hover = y.iter().map(|cores| format!("{name} {}", cpus(*cores))).collect();
            traces.push(line(name, colour, x, y, hover));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let of =
        observed.machine.as_ref().map_or_else(String::new, |machine| format!("; the machine has {}", machine.cpus));
    let note = match observed.unavailable.get("server") {
        Some(why) if observed.server.is_none() => {
            format!("busy CPUs in each second{of}; of the server not known: {why}")
        }
        _ => format!("busy CPUs in each second{of}"),
    };
    Some(chart("CPU", &note, traces, layout(clock(), cpus_axis())))
}

/// CPUs that the server kept busy against load, and how busy machine and generator were; none when nothing is known
/// of the server.
pub(super) fn by_load(record: &SweepRecord, over: Over) -> Option<Chart> {
    type Figure = fn(&PointSummary) -> Option<f64>;
    let known = |figure: Figure| -> (Vec<f64>, Vec<f64>) {
        record.curve.iter().filter_map(|point| Some((point.load, figure(point)?))).unzip()
    };
    let (x, y) = known(|point| point.server_cpu_cores);
    if x.is_empty() {
        return None;
    }
    let hover = y.iter().map(|cores| format!("server {}", cpus(*cores))).collect();
    let mut traces = vec![line("server", COLOURS[3], x, y, hover)];
    let shares: [(&str, &'static str, DashType, Figure); 2] = [
        ("machine (right)", COLOURS[1], DashType::Dash, |point| point.machine_busy_mean),
        ("busiest load thread (right)", GREY, DashType::Dot, |point| Some(point.generator_busy_max)),
    ];
    for (name, colour, dash, figure) in shares {
        let (x, y) = known(figure);
        if x.is_empty() {
            continue;
        }
        let short = name.trim_end_matches(" (right)");
        let hover = y.iter().map(|share| format!("{short} {} busy", percent(*share))).collect();
        let trace = line(name, colour, x, y, hover).line(Line::new().color(colour).width(1.5).dash(dash));
        traces.push(trace.marker(Marker::new().color(colour).size(4)).y_axis("y2"));
    }
    let loads = record.curve.iter().map(|point| point.load);
    let axes = layout(load_axis(loads, over.axis()), cpus_axis())
        .y_axis2(share_axis())
        .margin(Margin::new().left(60).right(52).top(40).bottom(50));
    let note = "CPUs that the server kept busy; on the right the busy share of all CPUs of the machine";
    Some(chart(&format!("CPU by {}", over.axis()), note, traces, axes))
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
        let header = ["", "processes", "CPUs busy", "CPU per request", "memory"].map(str::to_owned).to_vec();
        tables.push(Table { title: "CPU and memory", header, rows });
    }
    if let Some(sockets) = &observed.sockets {
        let header = ["most at a time", "server", "clients"].map(str::to_owned).to_vec();
        tables.push(Table { title: "Sockets", header, rows: states(sockets) });
    }
    tables
}

fn users(observed: &Observed) -> Vec<Vec<String>> {
    let none = || "-".to_owned();
    let mut rows = Vec::new();
    for process in observed.server.iter().flat_map(|server| &server.processes) {
        rows.push(vec![
            format!("server: {}", process.name),
            count(process.count.into()),
            cores_number(process.cpu_cores),
            process.cpu_ns_per_request.map_or_else(none, time),
            bytes(process.rss_bytes_max),
        ]);
    }
    if let Some(generator) = &observed.generator {
        let cores = cores_number(generator.cpu_cores);
        rows.push(vec!["load generator".to_owned(), "1".to_owned(), cores, none(), none()]);
        for thread in &generator.threads {
            let name = format!("thread {}, waited for a CPU {}", thread.name, percent(thread.wait_mean));
            rows.push(vec![name, none(), cores_number(thread.busy_mean), none(), none()]);
        }
    }
    if let Some(machine) = &observed.machine {
        let cores = cores_number(machine.busy_mean * f64::from(machine.cpus));
        let name = format!("machine, {} busy, {} stolen", percent(machine.busy_mean), percent(machine.steal_mean));
        rows.push(vec![name, none(), cores, none(), none()]);
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
        rows.push(vec!["waiting to be accepted".to_owned(), count(waiting), String::new()]);
    }
    rows
}
