//! Results as rows: for the page, for Markdown, and raw as CSV.

use crate::Named;
use crate::agents;
use crate::arms::{arms, header, remarks};
use crate::capacity;
use crate::compare;
use crate::experiment;
use crate::paper::overhead;
use crate::record::AnyRecord;
use crate::terminal::observed::{cores_number, server_column};
use crate::terminal::run as run_words;
use crate::terminal::sweep::{Over, SERVER_COLUMN, before_last, is_peak_bound, load, row as point_row};
use crate::terminal::verdict::state_word;
use crate::{sent, shape, visible};
use model::human::percent;
use model::{
    ExperimentRecord, Limiter, Observed, PlannedStep, Quantiles, RunRecord, SentInAll, StepResult, SweepRecord,
};

/// Columns of [`row`].
pub(crate) const RUN_HEADER: [&str; 8] =
    ["result", "verdict", "goodput", "p50", "p99", "failed", SERVER_COLUMN, "target"];
const CSV_HEADER: [&str; 24] = [
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
/// Characters at the begin of a cell that make it a formula to spreadsheets, which may start programs and fetch pages.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

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
        tables.extend(record.limiter.as_ref().map(|limiter| limiter_list(Some(named.name), limiter)));
        tables.extend(agent_list(named.name, record));
        tables.extend(sent_list(&format!("{}: ", cell(named.name)), record.sent_in_all));
    }
    if !sweeps.is_empty() {
        tables.push(markdown_table(&header(&sweeps), &sweeps.iter().map(|arm| arm.row()).collect::<Vec<_>>(), 1));
    }
    if sweeps.len() > 1 {
        tables.extend(remarks(&sweeps).iter().map(|remark| format!("{}\n", cell(remark))));
    }
    for arm in &sweeps {
        let target = arm.record.points.first().map(|point| format!("{}: ", point.plan.target));
        let load = load(arm.record, arm.over());
        tables.push(format!("### {}\n", cell(&arm.label)));
        tables.push(format!("{}\n", cell(&(target.unwrap_or_default() + &load))));
        let shape = shape::lines(arm.record, arm.over(), is_peak_bound(arm.record)).into_iter();
        let shape: String = shape.map(|(label, text)| format!("- {label}: {}\n", cell(&text))).collect();
        let limiter = arm.record.limiter.as_ref().map(|limiter| limiter_list(None, limiter));
        let sent = sent_list("", arm.record.sent_in_all);
        tables.push(shape + &limiter.unwrap_or_default() + &sent.unwrap_or_default());
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
    let rows: Vec<_> = results.iter().flat_map(|named| crate::renders::rows_beside(*named)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![markdown_table(&crate::renders::header_beside(), &rows, crate::renders::BESIDE.len())];
    for named in results {
        let AnyRecord::Render(record) = named.record else { continue };
        tables.push(format!("### {}\n", cell(named.name)));
        let about = format!("{}; {}", crate::renders::browser(record), crate::renders::loads(record));
        tables.push(format!("{}\n", cell(&about)));
        let (header, rows) = crate::renders::table(record);
        let header: Vec<String> = header.into_iter().map(str::to_owned).collect();
        let texts = if record.arms.len() == 1 { 1 } else { 2 };
        tables.push(markdown_table(&header, &rows, texts));
        tables.extend(crate::renders::remark(record).map(|remark| format!("{}\n", cell(remark))));
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
        let about = format!("{}: {}; {}", capacity::target(record), record.goal, record.capacity.reason);
        tables.push(format!("{}\n", cell(&about)));
        tables.extend(record.limiter.as_ref().map(|limiter| limiter_list(None, limiter)));
        tables.extend(sent_list("", record.sent_in_all));
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
        let profiles = compare::profiles(record).into_iter().map(|text| ("profile", text));
        let facts = compare::machines(record).into_iter().chain(profiles);
        let facts: String = facts.map(|(label, text)| format!("- {label}: {}\n", cell(&text))).collect();
        tables.extend((!facts.is_empty()).then_some(facts));
    }
    tables
}

/// The rows of an experiment under its name; none of another result.
fn experiment_table(named: Named<'_>) -> Option<String> {
    let AnyRecord::Experiment(record) = named.record else { return None };
    let about = format!("{}; {}", experiment::size(&record.plan), experiment::meaning(record));
    let table = experiment_rows(record);
    let layers = experiment::layers(record);
    let layers =
        layers.map(|(header, rows)| format!("\n{}", markdown_table(&header, &rows, experiment::TEXTS_OF_LAYERS)));
    let table = table + &layers.unwrap_or_default();
    Some(format!("### {}\n\n{}\n\n{table}", cell(&record.plan.name), cell(&about)))
}

/// The rows of an experiment as a table, with the columns that say something of any.
#[must_use]
pub fn experiment_rows(record: &ExperimentRecord) -> String {
    let shown = experiment::Columns::of(&record.rows);
    markdown_table(&shown.header, &shown.rows, shown.texts)
}

/// Where a load came from, and whose part of it is missing, as a list; none of a load of one process.
fn agent_list(of: &str, record: &RunRecord) -> Option<String> {
    let origin = agents::origin(std::iter::once(record)).map(|text| ("agents", text))?;
    let lost = agents::shortfall(record).filter(|_| record.agent_lost.is_some());
    let lines = std::iter::once(origin).chain(lost);
    Some(lines.map(|(label, text)| format!("- {}: {label}: {}\n", cell(of), cell(&text))).collect())
}

/// All that was sent, as a list; `of` stands before it.
fn sent_list(of: &str, sent: Option<SentInAll>) -> Option<String> {
    sent::line(sent).map(|text| format!("- {of}{}: {}\n", sent::LABEL, cell(&text)))
}

/// What stops the server, as a list; `of` tells several results apart.
fn limiter_list(of: Option<&str>, limiter: &Limiter) -> String {
    let of = of.map_or_else(String::new, |name| format!("{}: ", cell(name)));
    let lines = crate::limiter::lines(limiter).into_iter();
    lines.map(|(label, text)| format!("- {of}{label}: {}\n", cell(&text))).collect()
}

/// One line for each run, point of a sweep, trial of a capacity, load of a variant and step of an experiment, unrounded,
/// names with units. Text is no formula.
#[must_use]
pub fn csv(results: &[Named<'_>]) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut put = |row: &[String]| out.write_record(row).expect("writing to memory cannot fail");
    put(&CSV_HEADER.map(str::to_owned));
    for named in results {
        if let AnyRecord::Run(record) = named.record {
            put(&csv_row(named.name, None, record, record.goodput_per_s.value));
        }
        if let AnyRecord::Capacity(record) = named.record {
            record.trials.iter().for_each(|run| put(&csv_row(named.name, None, run, run.goodput_per_s.value)));
        }
        if let AnyRecord::Compare(record) = named.record {
            let runs = record.runs.iter().map(|of| (of.arm.as_str(), &of.run));
            runs.for_each(|(arm, run)| put(&csv_row(named.name, Some(arm), run, run.goodput_per_s.value)));
        }
        if let AnyRecord::Experiment(record) = named.record {
            let finished = experiment::made(record).filter(|(_, step)| step.is_finished());
            let made = finished.filter_map(|(planned, step)| Some((planned, step.result.as_ref()?)));
            made.for_each(|(planned, result)| put(&csv_step(named.name, &record.started, planned, result)));
        }
        for sweep in named.record.sweeps() {
            for (point, run) in sweep.curve.iter().zip(&sweep.points) {
                put(&csv_row(named.name, sweep.arm.as_deref(), run, point.goodput_per_s));
            }
        }
    }
    let bytes = out.into_inner().expect("writing to memory cannot fail");
    String::from_utf8(bytes).expect("text makes text")
}

/// A run in one line.
pub(crate) fn row(named: Named<'_>) -> Option<Vec<String>> {
    let AnyRecord::Run(record) = named.record else { return None };
    let response = &record.latency_ns.response;
    let shown = |key, ns| run_words::quantile(&record.verdict, key, ns);
    Some(vec![
        named.name.to_owned(),
        state_word(record.verdict.state).to_owned(),
        run_words::goodput(record),
        shown("p50", response.p50),
        shown("p99", response.p99),
        percent(run_words::failed_share(record)),
        server(record),
        record.plan.target.url.clone(),
    ])
}

/// The CPUs that the server and its companions kept busy.
fn server(run: &RunRecord) -> String {
    let cores = run.observed.as_ref().and_then(Observed::server_cpu_cores);
    cores.map_or_else(|| "-".to_owned(), cores_number)
}

/// Columns of [`point_rows`].
pub(crate) fn point_header(record: &SweepRecord) -> Vec<String> {
    let axis = Over::of(record).axis();
    let header = [axis, "goodput", "spread", "p50", "p99", "failed", "client busy", "verdict", ""].to_vec();
    let server = server_column(&record.curve).is_some();
    let header = if server { before_last(header, SERVER_COLUMN) } else { header };
    header.into_iter().map(str::to_owned).collect()
}

/// The points of a sweep, in the words of the terminal.
pub(crate) fn point_rows(record: &SweepRecord) -> Vec<Vec<String>> {
    let over = Over::of(record);
    let server = server_column(&record.curve);
    let rows = record.curve.iter().enumerate().map(|(i, point)| {
        let verdict = record.points.get(i).map_or("-", |run| state_word(run.verdict.state));
        let cells = before_last(point_row(record, i, point, over), verdict.to_owned());
        match &server {
            Some(column) => before_last(cells, column[i].clone()),
            None => cells,
        }
    });
    rows.collect()
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
    cells.push(run_words::failed_share(run).to_string());
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

/// Quantiles of the response time; empty cells without a response.
fn quantiles(response: &Quantiles) -> [String; 5] {
    let all = [response.p50, response.p90, response.p99, response.p99_9, response.max];
    all.map(|ns| if response.n > 0 { ns.to_string() } else { String::new() })
}

/// A number that is 0 where it was not measured.
fn measured(value: f64) -> String {
    if value > 0.0 { value.to_string() } else { String::new() }
}

/// Text that stays text in a spreadsheet: what would be a formula there begins with an apostrophe, which spreadsheets hide.
pub(crate) fn csv_text(text: &str) -> String {
    // A tab or a carriage return, which would be skipped before a formula, is shown.
    let text = visible::line(text);
    if text.trim_start().starts_with(FORMULA) { format!("'{text}") } else { text.into_owned() }
}

/// A table, the first `left` columns to the left.
pub(crate) fn markdown_table(header: &[String], rows: &[Vec<String>], left: usize) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
    let mut out = line(header);
    // Names to the left, figures to the right.
    let rule: Vec<_> = (0..header.len()).map(|i| if i < left { "---" } else { "---:" }.to_owned()).collect();
    out.push_str(&line(&rule));
    rows.iter().for_each(|row| out.push_str(&line(row)));
    out
}

/// Text that stays in its cell and is no markup.
pub(crate) fn cell(text: &str) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    let mut out = String::with_capacity(line.len());
    for c in visible::line(&line).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '~' | '[' | ']' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_cell_is_no_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u{a0}=1", "\u{ff1d}1"] {
            assert_eq!(csv_text(text), format!("'{text}"));
        }
        assert_eq!([csv_text("\t=1"), csv_text("\r=1"), csv_text("\n=1")], [r"\t=1", r"\r=1", r"\n=1"]);
        assert_eq!([csv_text("http://h/?a=-1"), csv_text("")], ["http://h/?a=-1", ""]);
    }

    #[test]
    fn text_of_a_cell_is_one_line_and_no_markup() {
        assert_eq!(cell("a|b\nc\\|d"), r"a\|b c\\\|d");
        assert_eq!(cell("~~[x](y)~~ <b>&amp;"), r"\~\~\[x\](y)\~\~ &lt;b>&amp;amp;");
        assert_eq!(cell("\u{1b}[2J\u{202e}"), r"\\u001b\[2J\\u202e");
    }
}
