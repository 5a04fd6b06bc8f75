//! An experiment as a page: its rows and steps in tables, goodput in a chart, and the way to the page of each step.

use super::Shown;
use super::chart::{Chart, chart, from_zero, layout, nth_colour, nth_mark, plain};
use super::view::{FileView, Group, ResultView, Table, VerdictView, command, environment, fact};
use crate::experiment::{
    HEADER, STEP_HEADER, duration, effects, layers, made, meaning, row, size, step_row, unfinished,
};
use crate::record::STEPS_FOLDER;
use model::human::rate;
use model::{ExperimentRecord, ExperimentRow, PlannedStep, StepRecord};
use plotly::Scatter;
use plotly::common::{ErrorData, ErrorType, Marker, Mode};
use plotly::layout::Axis;

/// Files beside the result.
const FILES: [(&str, &str); 4] = [
    ("run.json", "this result"),
    ("experiment.toml", "the experiment as it was declared"),
    ("plan.json", "its steps in their order"),
    ("steps.jsonl", "what came of each step"),
];

pub(super) fn view(shown: &Shown<'_>, record: &ExperimentRecord) -> ResultView {
    let (header, rows) = layers(record).unwrap_or_default();
    let tables = [
        Table {
            title: "Results",
            header: HEADER.map(str::to_owned).to_vec(),
            rows: record.rows.iter().map(row).collect(),
        },
        Table { title: "CPU time in the mean response, by program", header, rows },
        Table {
            title: "Steps",
            header: STEP_HEADER.map(str::to_owned).to_vec(),
            rows: made(record).map(|(planned, step)| step_row(planned, step)).collect(),
        },
    ];
    let errors = made(record).filter_map(|(planned, step)| {
        let error = step.error.as_ref()?;
        Some(format!("Step {}, {}, {}: {error}", planned.number, planned.variant, planned.load))
    });
    ResultView {
        kind: "experiment",
        name: shown.name.to_owned(),
        title: record.plan.name.clone(),
        started: record.started.clone(),
        verdict: Some(VerdictView::in_words(&record.verdict, meaning(record))),
        remarks: effects(record).into_iter().map(|text| format!("Compared, {text}")).chain(errors).collect(),
        headline: [fact("plan", size(&record.plan)), fact("duration", duration(&record.plan))]
            .into_iter()
            .chain(unfinished(record).map(|text| fact("unfinished", text)))
            .collect(),
        charts: goodput(record).into_iter().collect(),
        tables: tables.into_iter().filter(|table| !table.rows.is_empty()).collect(),
        groups: vec![environment(&record.environment), seeds(record)],
        command: command(&record.environment),
        files: files(shown, record),
        ..ResultView::default()
    }
}

fn seeds(record: &ExperimentRecord) -> Group {
    let plan = &record.plan;
    let facts = vec![fact("seed", plan.seed.to_string()), fact("blocks", plan.repetitions.to_string())];
    Group { title: "Order", facts }
}

/// The pages of the steps, then the files of all.
fn files(shown: &Shown<'_>, record: &ExperimentRecord) -> Vec<FileView> {
    let (folder, linked) = (&shown.folder, shown.is_beside);
    let pages = made(record).filter(|(_, step)| step.result.is_some()).map(|(planned, step)| {
        let name = format!("{folder}{}/report.html", step.directory);
        FileView::new(name, linked && is_below(&step.directory), about(planned, step))
    });
    let own = FILES.iter().map(|(name, what)| FileView::new(format!("{folder}{name}"), linked, (*what).to_owned()));
    pages.chain(own).collect()
}

/// True for a directory of a step: a result may come from anywhere, and a link in it must lead nowhere else.
fn is_below(directory: &str) -> bool {
    let mut parts = directory.split('/');
    let is_plain = |part: &str| {
        !part.is_empty() && part != ".." && part.chars().all(|c| c.is_ascii_alphanumeric() || "-._=".contains(c))
    };
    parts.next() == Some(STEPS_FOLDER) && parts.next().is_some_and(is_plain) && parts.next().is_none()
}

fn about(planned: &PlannedStep, step: &StepRecord) -> String {
    let goodput =
        step.result.as_ref().map_or_else(String::new, |result| format!(": {}", crate::experiment::goodput(result)));
    format!("step {}, {}, {}{goodput}", planned.number, planned.variant, planned.load)
}

/// Goodput of each variant, a colour and a mark for each load; with intervals where there are any.
fn goodput(record: &ExperimentRecord) -> Option<Chart> {
    let mut loads: Vec<(&str, &str)> = Vec::new();
    for row in &record.rows {
        let load = (row.verb.as_str(), row.load.as_str());
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let traces: Vec<_> = loads
        .iter()
        .enumerate()
        .filter_map(|(i, load)| {
            let of = record.rows.iter().filter(|row| (row.verb.as_str(), row.load.as_str()) == *load);
            points(load.1, Marker::new().color(nth_colour(i)).symbol(nth_mark(i)), of)
        })
        .collect();
    if traces.is_empty() {
        return None;
    }
    let note = "good responses per second by variant; of several repetitions the mean, with its 95 % interval from 6 on; \
                of a sweep at its peak, of a capacity at the lower end of its bracket";
    let axes = layout(Axis::new().title("variant").type_(plotly::layout::AxisType::Category), from_zero());
    Some(chart("Goodput", note, traces, axes))
}

/// The points of one load.
fn points<'a>(
    load: &str,
    marker: Marker,
    rows: impl Iterator<Item = &'a ExperimentRow>,
) -> Option<Box<Scatter<String, f64>>> {
    let known: Vec<_> = rows.filter_map(|row| Some((plain(&row.variant), row.goodput_per_s?))).collect();
    if known.is_empty() {
        return None;
    }
    let above = known.iter().map(|(_, goodput)| goodput.high.map_or(0.0, |high| high - goodput.value)).collect();
    let below = known.iter().map(|(_, goodput)| goodput.low.map_or(0.0, |low| goodput.value - low)).collect();
    let hover: Vec<String> =
        known.iter().map(|(variant, goodput)| format!("{variant}, {}: {}", plain(load), rate(goodput.value))).collect();
    let (x, y) = known.into_iter().map(|(variant, goodput)| (variant, goodput.value)).unzip();
    let trace = Scatter::new(x, y).name(plain(load)).mode(Mode::Markers).marker(marker.size(9));
    let trace = trace.error_y(ErrorData::new(ErrorType::Data).array(above).array_minus(below));
    Some(trace.text_array(hover).hover_template("%{text}<extra></extra>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_steps_are_linked() {
        assert!(is_below("steps/001-workers-2"));
        for other in
            ["", "steps", "steps/", "steps/..", "steps/a/b", "/etc", "javascript:alert(1)", "steps/a b", "../x"]
        {
            assert!(!is_below(other), "{other}");
        }
    }
}
