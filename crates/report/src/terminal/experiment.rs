//! An experiment in a terminal: its rows, and what went wrong; and its plan.

use super::Style;
use super::layout::{columns, labelled, table, top_lines};
use crate::words::experiment::{
    Columns, PLAN_HEADER, STEP_HEADER, TEXTS_OF_LAYERS, facts, layers, made, plan_facts, plan_row, step_row,
};
use model::{ExperimentPlan, ExperimentRecord, ExperimentRow};

/// Columns of a row that are left out where there is no room, the first ones first.
const LEFT_OUT: [&str; 9] =
    ["verb", "p90", "mean response", "CPU per request", "p50", "p99", "interval", "predicted", "limiter"];
/// The same of a step: number, block, variant, load, verb.
const STEP_TEXTS: usize = 5;

/// The result of an experiment. Ends with a newline.
#[must_use]
pub fn experiment(record: &ExperimentRecord, style: &Style) -> String {
    let style = *style;
    let mut out = top_lines(&facts(record), style);
    out.push('\n');
    out.push_str(&figures(record, style));
    if style.verbose {
        if let Some((header, rows)) = layers(record) {
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            out.push('\n');
            out.push_str(&table(&header, &rows, TEXTS_OF_LAYERS, 2));
        }
        let rows: Vec<_> = made(record).map(|(planned, step)| step_row(planned, step)).collect();
        out.push('\n');
        out.push_str(&table(&STEP_HEADER, &rows, STEP_TEXTS, 2));
    }
    out
}

/// One line for each variant and load, with the columns for which there is room.
fn figures(record: &ExperimentRecord, style: Style) -> String {
    let without_rules = record.rows.iter().map(|row| ExperimentRow { rules: Vec::new(), ..row.clone() });
    let (whole, short) = (Columns::of(&record.rows), Columns::of(&without_rules.collect::<Vec<_>>()));
    let without = |columns: &Columns, n: usize| columns.only(|name| !LEFT_OUT[..n].contains(&name));
    let last = without(&short, LEFT_OUT.len());
    let candidates = (0..=LEFT_OUT.len()).map(|n| without(&whole, n)).chain([last]);
    let drawn = |shown: Columns| {
        let header: Vec<&str> = shown.header.iter().map(String::as_str).collect();
        [2, 1].map(|gap| table(&header, &shown.rows, shown.texts, gap))
    };
    let candidates: Vec<String> = candidates.flat_map(drawn).collect();
    let fitting = candidates.iter().position(|text| columns(text) <= style.width);
    candidates[fitting.unwrap_or(candidates.len() - 1)].clone()
}

/// The plan of an experiment: each step with its duration, and that of all. Ends with a newline.
#[must_use]
pub fn plan(plan: &ExperimentPlan, style: &Style) -> String {
    let style = *style;
    let mut out = top_lines(&plan_facts(plan), style);
    out.push('\n');
    let rows: Vec<_> = plan.steps.iter().map(plan_row).collect();
    out.push_str(&table(&PLAN_HEADER, &rows, STEP_TEXTS, 2));
    if style.verbose {
        out.push('\n');
        for step in &plan.steps {
            out.push_str(&labelled(&step.number.to_string(), &command(&step.command), style));
        }
    }
    out
}

/// A command as it can be typed.
fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = words.iter().map(|word| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}
