//! An experiment as a page: its rows and steps in tables, goodput in a chart, and the way to the page of each step.

use super::Shown;
use super::chart::{Chart, rate_axis, time_axis};
use super::dots::{Figure, dots};
use super::next;
use super::view::{
    Answer, Beside, FileView, Group, Part, ResultView, Table, VerdictView, answers, command, environment, fact, load,
    results,
};
use crate::record::STEPS_FOLDER;
use crate::words::experiment::{Columns, STEP_HEADER, facts, layers, made, meaning, step_row};
use model::human::{plural, rate, time};
use model::{ExperimentRecord, PlannedStep, StepRecord};

/// Files beside the result.
const FILES: [(&str, &str); 4] = [
    ("run.json", "this result"),
    ("experiment.toml", "the experiment as it was declared"),
    ("plan.json", "its steps in their order"),
    ("steps.jsonl", "what came of each step"),
];

pub(super) fn view(shown: &Shown<'_>, record: &ExperimentRecord) -> ResultView {
    let (header, rows) = layers(record).unwrap_or_default();
    let columns = Columns::of(&record.rows);
    let tables = [
        Table { title: "Results", header: columns.header, rows: columns.rows },
        Table { title: "CPU time in the mean response, by program", header, rows },
        Table {
            title: "Steps",
            header: STEP_HEADER.map(str::to_owned).to_vec(),
            rows: made(record).map(|(planned, step)| step_row(planned, step)).collect(),
        },
    ];
    let mut charts = charts(record).into_iter();
    let facts = facts(record);
    ResultView {
        kind: "experiment",
        name: shown.name.to_owned(),
        title: record.plan.name.clone(),
        started: record.started.clone(),
        verdict: Some(VerdictView::in_words(&record.verdict, meaning(record))),
        answers: goodput_range(record)
            .into_iter()
            .chain(answers(&facts, Beside::Nothing, next::of_experiment(record)))
            .collect(),
        picture: charts.next().into_iter().collect(),
        parts: vec![
            Part {
                facts: results(&facts),
                charts: charts.collect(),
                tables: tables.into_iter().filter(|table| !table.rows.is_empty()).collect(),
                ..Part::how_much()
            },
            Part::belief(&record.verdict),
            Part {
                facts: load(&facts),
                groups: vec![environment(&record.environment), seeds(record)],
                command: command(&record.environment),
                files: files(shown, record),
                ..Part::measured()
            },
        ],
    }
}

/// An experiment has no number of its own: the goodput of its rows stands in its place, from the lowest to the highest.
fn goodput_range(record: &ExperimentRecord) -> Option<Answer> {
    let known = || record.rows.iter().filter_map(|row| Some(row.goodput_per_s?.value));
    let (low, high) = (known().reduce(f64::min)?, known().reduce(f64::max)?);
    let rows = plural(known().count() as u64, "combination");
    let large = if low < high { format!("{} to {}", rate(low).trim_end_matches("/s"), rate(high)) } else { rate(low) };
    let text = format!("over {rows} of variant and load");
    Some(Answer { large, ..Answer::new("number", "lowest to highest goodput", text) })
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
    let goodput = step
        .result
        .as_ref()
        .map_or_else(String::new, |result| format!(": {}", crate::words::experiment::goodput(result)));
    format!("step {}, {}, {}{goodput}", planned.number, planned.variant, planned.load)
}

/// Goodput and mean response time of each row.
fn charts(record: &ExperimentRecord) -> Vec<Chart> {
    let goodput = Figure {
        title: "Goodput",
        note: "good responses per second; of several repetitions the mean, with its 95 % interval from 6 on; of a sweep \
               at its peak, of a capacity at the lower end of its bracket",
        of: |row| row.goodput_per_s,
        words: rate,
        axis: |values| rate_axis(values),
    };
    let response = Figure {
        title: "Response time",
        note: "mean response time, from the intended send time; with its 95 % interval from 6 repetitions on",
        of: |row| row.response_mean_ns,
        words: time,
        axis: |values| time_axis(values),
    };
    [goodput, response].iter().filter_map(|figure| dots(record, figure)).collect()
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
