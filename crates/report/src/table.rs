//! Results as tables in Markdown, and raw as CSV.

use crate::Named;
use crate::cells::{cell, csv_text, markdown_table};
use crate::record::AnyRecord;
use crate::sums::failed_share;
use crate::words::arms::{arms, header, remarks};
use crate::words::fact::{About, Fact};
use crate::words::run::{RUN_HEADER, row};
use crate::words::sweep::{point_header, point_rows};
use crate::words::verdict::state_word;
use crate::words::{capacity, compare, experiment, overhead, render, run, sweep};
use model::{ExperimentRecord, Observed, PlannedStep, Quantile, Quantiles, RunRecord, StepResult};
use std::collections::BTreeSet;

/// What facts of a run are about that stand below its row in a table.
const BESIDE_ROW: [About; 3] = [About::Limiter, About::Load, About::Machines];
/// What facts are about that stand in the section of a result.
const SECTION: [About; 6] = [About::Result, About::Limiter, About::Load, About::Target, About::Machines, About::Use];
const CSV_HEADER: [&str; 25] = [
    "result",
    "verdict",
    "url",
    "started",
    "load",
    "load_unit",
    "goodput_per_s",
    "goodput_low_per_s",
    "goodput_high_per_s",
    "throughput_per_s",
    "response_p50_ns",
    "response_p90_ns",
    "response_p95_ns",
    "response_p99_ns",
    "response_p99_9_ns",
    "response_max_ns",
    "failed_share",
    "generator_busy_max",
    "measured_ns",
    "server_cpu_cores",
    "server_cpu_ns_per_request",
    "server_rss_bytes_max",
    "machine_busy_mean",
    "machine_steal_mean",
    "arm",
];

/// One table of all runs and one of all sweeps, then the points of each sweep; the same of capacities and their
/// loads, and of comparisons and their changes.
#[must_use]
pub fn markdown(results: &[Named<'_>]) -> String {
    let runs: Vec<_> = results.iter().filter_map(|named| row(*named)).collect();
    let sweeps = arms(results);
    let mut tables = Vec::new();
    if !runs.is_empty() {
        tables.push(markdown_table(&RUN_HEADER.map(str::to_owned), &runs, 1));
    }
    for named in results {
        let AnyRecord::Run(record) = named.record else { continue };
        tables.push(fact_list(Some(named.name), &run::facts(record), &BESIDE_ROW));
    }
    if !sweeps.is_empty() {
        tables.push(markdown_table(&header(&sweeps), &sweeps.iter().map(|arm| arm.row()).collect::<Vec<_>>(), 1));
    }
    if sweeps.len() > 1 {
        tables.extend(remarks(&sweeps).iter().map(|remark| format!("{}\n", cell(remark))));
    }
    for arm in &sweeps {
        tables.push(format!("### {}\n", cell(&arm.label)));
        tables.push(fact_list(None, &sweep::facts(arm.record), &SECTION));
        tables.push(markdown_table(&point_header(arm.record), &point_rows(arm.record), 1));
    }
    tables.extend(capacities(results));
    tables.extend(comparisons(results));
    tables.extend(results.iter().filter_map(|named| experiment_table(*named)));
    tables.extend(renders(results));
    tables.join("\n")
}

/// All page renders in a table, then the quantities of each.
fn renders(results: &[Named<'_>]) -> Vec<String> {
    let rows: Vec<_> = results.iter().flat_map(|named| render::rows_beside(*named)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![markdown_table(&render::header_beside(), &rows, render::BESIDE.len())];
    for named in results {
        let AnyRecord::Render(record) = named.record else { continue };
        tables.push(format!("### {}\n", cell(named.name)));
        tables.push(fact_list(None, &render::facts(record), &SECTION));
        let (header, rows) = render::table(record);
        let header: Vec<String> = header.into_iter().map(str::to_owned).collect();
        let texts = if record.arms.len() == 1 { 1 } else { 2 };
        tables.push(markdown_table(&header, &rows, texts));
        tables.extend(render::remark(record).map(|remark| format!("{}\n", cell(remark))));
    }
    tables
}

/// All capacities in a table, then the loads of each.
fn capacities(results: &[Named<'_>]) -> Vec<String> {
    let rows: Vec<_> = results.iter().filter_map(|named| capacity::row(*named)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![markdown_table(&capacity::HEADER.map(str::to_owned), &rows, 1)];
    for named in results {
        let AnyRecord::Capacity(record) = named.record else { continue };
        tables.push(format!("### {}\n", cell(named.name)));
        tables.push(fact_list(None, &capacity::facts(record), &SECTION));
        tables.push(markdown_table(&capacity::load_header(record), &capacity::load_rows(record), 1));
    }
    tables
}

/// All comparisons in a table, then the changes of each.
fn comparisons(results: &[Named<'_>]) -> Vec<String> {
    let rows: Vec<_> = results.iter().filter_map(|named| compare::row(*named)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![markdown_table(&compare::HEADER.map(str::to_owned), &rows, 1)];
    for named in results {
        let AnyRecord::Compare(record) = named.record else { continue };
        tables.push(format!("### {}\n", cell(named.name)));
        tables.push(format!("{}\n", cell(&compare::summary(record))));
        tables.push(markdown_table(&overhead::header(record), &overhead::rows(record), 3));
        tables.push(fact_list(None, &compare::facts(record), &SECTION));
    }
    tables
}

/// The rows of an experiment under its name; none of another result.
fn experiment_table(named: Named<'_>) -> Option<String> {
    let AnyRecord::Experiment(record) = named.record else { return None };
    let facts = fact_list(None, &experiment::facts(record), &[About::Load, About::Result]);
    let table = experiment_rows(record);
    let layers = experiment::layers(record);
    let layers =
        layers.map(|(header, rows)| format!("\n{}", markdown_table(&header, &rows, experiment::TEXTS_OF_LAYERS)));
    let table = table + &layers.unwrap_or_default();
    let meaning = cell(&experiment::meaning(record));
    Some(format!("### {}\n\n{meaning}\n\n{facts}\n{table}", cell(&record.plan.name)))
}

/// The rows of an experiment as a table, with the columns that say something of any.
#[must_use]
pub fn experiment_rows(record: &ExperimentRecord) -> String {
    let shown = experiment::Columns::of(&record.rows);
    markdown_table(&shown.header, &shown.rows, shown.texts)
}

/// Those of `facts` that are about something of `about` as a list, in their order; `of` tells several results apart.
fn fact_list(of: Option<&str>, facts: &[Fact], about: &[About]) -> String {
    let of = of.map_or_else(String::new, |name| format!("{}: ", cell(name)));
    let shown = facts.iter().filter(|fact| about.contains(&fact.about));
    shown.map(|fact| format!("- {of}{}: {}\n", fact.label, cell(&fact.text))).collect()
}

/// One line for each run, point of a sweep, trial of a capacity, load of a variant and step of an experiment, unrounded,
/// names with units. Quantiles that any of them was asked for have columns at the end. Text is no formula.
#[must_use]
pub fn csv(results: &[Named<'_>]) -> String {
    let rows: Vec<_> = results.iter().flat_map(|named| csv_rows(*named)).collect();
    let asked: BTreeSet<Quantile> = rows.iter().flat_map(|(_, response)| response.others.keys().copied()).collect();
    let names = asked.iter().map(|quantile| format!("response_{}_ns", quantile.key()));
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut put = |row: Vec<String>| out.write_record(row).expect("writing to memory cannot fail");
    put(CSV_HEADER.into_iter().map(str::to_owned).chain(names).collect());
    for (mut cells, response) in rows {
        cells.extend(asked.iter().map(|quantile| cell_of(*quantile, response)));
        put(cells);
    }
    let bytes = out.into_inner().expect("writing to memory cannot fail");
    String::from_utf8(bytes).expect("text makes text")
}

/// The lines of a result without the quantiles that were asked for, each with the response times that have them.
fn csv_rows(named: Named<'_>) -> Vec<(Vec<String>, &Quantiles)> {
    let runs: Vec<(Option<&str>, &RunRecord, f64)> = match named.record {
        AnyRecord::Run(record) => vec![(None, record, record.goodput_per_s.value)],
        AnyRecord::Capacity(record) => record.trials.iter().map(|run| (None, run, run.goodput_per_s.value)).collect(),
        AnyRecord::Compare(record) => {
            let runs = record.runs.iter();
            runs.map(|of| (Some(of.arm.as_str()), &of.run, of.run.goodput_per_s.value)).collect()
        }
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            let sweeps = named.record.sweeps().iter();
            let points = sweeps.flat_map(|sweep| sweep.curve.iter().zip(&sweep.points).map(move |of| (sweep, of)));
            points.map(|(sweep, (point, run))| (sweep.arm.as_deref(), run, point.goodput_per_s)).collect()
        }
        AnyRecord::Experiment(record) => return csv_steps(named.name, record),
        AnyRecord::Render(_) => Vec::new(),
    };
    let rows = runs
        .into_iter()
        .map(|(arm, run, goodput_per_s)| (csv_row(named.name, arm, run, goodput_per_s), &run.latency_ns.response));
    rows.collect()
}

/// The lines of the steps of an experiment that were made.
fn csv_steps<'a>(name: &str, record: &'a ExperimentRecord) -> Vec<(Vec<String>, &'a Quantiles)> {
    let finished = experiment::made(record).filter(|(_, step)| step.is_finished());
    let made = finished.filter_map(|(planned, step)| Some((planned, step.result.as_ref()?)));
    made.map(|(planned, result)| (csv_step(name, &record.started, planned, result), &result.response_ns)).collect()
}

fn csv_row(name: &str, arm: Option<&str>, run: &RunRecord, goodput_per_s: f64) -> Vec<String> {
    let (load, unit) = match run.plan.load {
        model::Load::Closed { connections } => (f64::from(connections), "connections"),
        model::Load::Open { rate_per_s, .. } => (rate_per_s, "per_s"),
    };
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let response = &run.latency_ns.response;
    let mut cells = vec![
        csv_text(name),
        state_word(run.verdict.state).to_owned(),
        csv_text(&run.plan.target.url),
        csv_text(&run.started),
        load.to_string(),
        unit.to_owned(),
        goodput_per_s.to_string(),
        optional(run.goodput_per_s.low),
        optional(run.goodput_per_s.high),
        run.throughput_per_s.to_string(),
    ];
    cells.extend(quantiles(response));
    cells.push(failed_share(run).to_string());
    cells.push(measured(run.generator.busy_max));
    cells.push(run.measured_ns.to_string());
    let observed = run.observed.as_ref();
    let machine = observed.and_then(|observed| observed.machine.as_ref());
    cells.push(optional(observed.and_then(Observed::server_cpu_cores)));
    cells.push(optional(observed.and_then(Observed::server_cpu_ns_per_request)));
    let rss_bytes = observed.and_then(Observed::server_rss_bytes_max);
    cells.push(rss_bytes.map_or_else(String::new, |bytes| bytes.to_string()));
    cells.push(optional(machine.map(|machine| machine.busy_mean)));
    cells.push(optional(machine.map(|machine| machine.steal_mean)));
    cells.push(csv_text(arm.unwrap_or_default()));
    cells
}

/// A step of an experiment in the columns of a run, with variant, verb and load as its arm. What stands in its own result only
/// is empty.
fn csv_step(name: &str, started: &str, planned: &PlannedStep, result: &StepResult) -> Vec<String> {
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let response = &result.response_ns;
    let mut cells = vec![
        csv_text(name),
        state_word(result.verdict).to_owned(),
        csv_text(&result.url),
        csv_text(started),
        result.load.to_string(),
        csv_text(&result.load_unit),
        result.goodput_per_s.value.to_string(),
        optional(result.goodput_per_s.low),
        optional(result.goodput_per_s.high),
        result.throughput_per_s.to_string(),
    ];
    cells.extend(quantiles(response));
    cells.extend([result.failed_share.to_string(), measured(result.generator_busy_max)]);
    cells.push(result.measured_ns.to_string());
    cells.push(optional(result.server_cpu_cores));
    cells.push(optional(result.server_cpu_ns_per_request.map(|cpu| cpu.value)));
    cells.push(result.server_rss_bytes_max.map_or_else(String::new, |bytes| bytes.to_string()));
    cells.extend([String::new(), String::new()]);
    cells.push(csv_text(&format!(
        "{}; {}; {}; block {}",
        planned.variant, planned.verb, planned.load, planned.repetition
    )));
    cells
}

/// The usual quantiles of the response time; empty cells where they are not known.
fn quantiles(response: &Quantiles) -> [String; 6] {
    Quantile::USUAL.map(|quantile| cell_of(quantile, response))
}

fn cell_of(quantile: Quantile, response: &Quantiles) -> String {
    let known = quantile.of(response).filter(|_| response.n > 0);
    known.map_or_else(String::new, |ns| ns.to_string())
}

/// A number that is 0 where it was not measured.
fn measured(value: f64) -> String {
    if value > 0.0 { value.to_string() } else { String::new() }
}
