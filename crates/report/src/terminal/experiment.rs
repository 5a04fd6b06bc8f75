//! An experiment in a terminal: its rows, and what went wrong; and its plan.

use super::Style;
use super::layout::{columns, labelled, labelled_painted, table};
use crate::experiment::{
    HEADER, PLAN_HEADER, STEP_HEADER, TEXTS_OF_LAYERS, duration, effects, layers, made, meaning, plan_row, row, size,
    step_row, unfinished,
};
use anstyle::{AnsiColor, Color};
use model::{ExperimentPlan, ExperimentRecord, VerdictState};

/// Columns of a row that are left out where there is no room, the first ones first: verb, p90, mean, CPU, p50, p99, interval,
/// limiter, prediction.
const LEFT_OUT: [usize; 9] = [2, 8, 6, 10, 7, 9, 5, 12, 13];
/// Columns of text, before the figures.
const TEXTS: usize = 4;
/// The same of a step: number, block, variant, load, verb.
const STEP_TEXTS: usize = 5;

/// The result of an experiment. Ends with a newline.
#[must_use]
pub fn experiment(record: &ExperimentRecord, style: &Style) -> String {
    let style = *style;
    let (word, colour) = match record.verdict.state {
        VerdictState::Valid => ("VALID", AnsiColor::Green),
        VerdictState::Bound => ("BOUND", AnsiColor::Yellow),
        VerdictState::Invalid => ("INVALID", AnsiColor::Red),
    };
    let paint = anstyle::Style::new().bold().fg_color(Some(Color::Ansi(colour)));
    let mut out = labelled_painted(word, &meaning(record), paint, style);
    out.push_str(&labelled("experiment", &record.plan.name, style));
    out.push_str(&labelled("plan", &size(&record.plan), style));
    out.extend(unfinished(record).map(|text| labelled("unfinished", &text, style)));
    for effect in effects(record) {
        out.push_str(&labelled("compared", &effect, style));
    }
    for (planned, step) in made(record) {
        if let Some(error) = &step.error {
            let text = format!("step {}, {}, {}: {error}", planned.number, planned.variant, planned.load);
            out.push_str(&labelled("error", &text, style));
        }
    }
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

/// One line for each variant and load; columns that say nothing are left out.
fn figures(record: &ExperimentRecord, style: Style) -> String {
    let rows: Vec<Vec<String>> = record.rows.iter().map(row).collect();
    let verbs_differ = rows.windows(2).any(|pair| pair[0][2] != pair[1][2]);
    let says = |column: usize| match column {
        2 => verbs_differ,
        5..=8 | 10 | 12 | 13 => rows.iter().any(|row| row[column] != "-"),
        11 => rows.iter().any(|row| row[column] != "1"),
        _ => true,
    };
    let of = |shown: &[usize], gap| {
        let header: Vec<&str> = shown.iter().map(|column| HEADER[*column]).collect();
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| shown.iter().map(|column| row[*column].clone()).collect()).collect();
        let texts = shown.iter().filter(|column| **column < TEXTS).count();
        table(&header, &rows, texts, gap)
    };
    let whole: Vec<usize> = (0..HEADER.len()).filter(|column| says(*column)).collect();
    let without =
        |n: usize| -> Vec<usize> { whole.iter().copied().filter(|column| !LEFT_OUT[..n].contains(column)).collect() };
    let candidates: Vec<String> = (0..=LEFT_OUT.len()).flat_map(|n| [of(&without(n), 2), of(&without(n), 1)]).collect();
    let fitting = candidates.iter().position(|text| columns(text) <= style.width);
    candidates[fitting.unwrap_or(candidates.len() - 1)].clone()
}

/// The plan of an experiment: each step with its duration, and that of all. Ends with a newline.
#[must_use]
pub fn plan(plan: &ExperimentPlan, style: &Style) -> String {
    let style = *style;
    let mut out = labelled("experiment", &plan.name, style);
    out.push_str(&labelled("plan", &size(plan), style));
    out.push_str(&labelled("duration", &duration(plan), style));
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
