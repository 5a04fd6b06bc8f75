//! A result in a few lines of Markdown, for a pull request or the summary of a CI step.

use crate::Named;
use crate::cells::{cell, markdown_table};
use crate::record::AnyRecord;
use crate::words::thresholds::{HEADER, of, row};
use crate::words::verdict::{meaning, state_word};
use crate::words::{capacity, compare, experiment, render, run, sweep, why_interrupted};
use model::{CompareRecord, FailIfState, FindingState, Verdict};

/// Columns of a comparison before its figures.
const FIRST_FIGURE: usize = 2;

/// The verdict with its rules, the headline, and each threshold. Ends with a newline.
#[must_use]
pub fn summary(named: Named<'_>) -> String {
    let mut out = format!("### plimsoll: {}\n", cell(named.name));
    let thresholds = of(named.record);
    let parts: Vec<(String, &Verdict)> = match named.record {
        AnyRecord::Run(record) => vec![(run::summary(record), &record.verdict)],
        AnyRecord::Capacity(record) => vec![(capacity::summary(record), &record.verdict)],
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            named.record.sweeps().iter().map(|sweep| (sweep::summary(sweep), &sweep.verdict)).collect()
        }
        AnyRecord::Compare(record) => vec![(compare::summary(record), &record.verdict)],
        AnyRecord::Experiment(record) => vec![(experiment::meaning(record), &record.verdict)],
        AnyRecord::Render(record) => vec![(render::summary(record), &record.verdict)],
    };
    for ((headline, verdict), (arm, list)) in parts.iter().zip(thresholds) {
        let arm = arm.map_or_else(String::new, |arm| format!("{}: ", cell(arm)));
        let word = state_word(verdict.state).to_uppercase();
        out.push_str(&format!("\n{arm}**{word}** {}; {}\n", cell(&meaning(verdict)), cell(headline)));
        if let Some(text) = why_interrupted(named.record) {
            out.push_str(&format!("- {}\n", cell(&text)));
        }
        out.push_str(&findings(verdict));
        if !list.is_empty() {
            let rows: Vec<Vec<String>> = list.iter().map(row).collect();
            out.push_str(&format!("\n{}", markdown_table(&HEADER.map(str::to_owned), &rows, HEADER.len())));
        }
    }
    if let AnyRecord::Compare(record) = named.record {
        out.push_str(&comparison(record));
    }
    out
}

/// Every change of a comparison with its interval, what was asked of them, and how they were measured.
fn comparison(record: &CompareRecord) -> String {
    let rows = compare::metric_rows(record);
    let mut out = format!("\n{}", markdown_table(&compare::METRIC_HEADER.map(str::to_owned), &rows, FIRST_FIGURE));
    let conditions = record.conditions.iter().map(|one| {
        let word = compare::condition_word(one.state);
        let state = if one.state == FailIfState::Failed { format!("**{word}**") } else { word.to_owned() };
        format!("`{}` of {}: {state}", cell(&one.condition), cell(&one.arm))
    });
    let not_counted = compare::uncounted(record).map(|text| format!("not counted: {text}"));
    let rest = not_counted.into_iter().chain(compare::design(record)).chain([record.reason.clone()]);
    let lines: Vec<String> = conditions.chain(rest.map(|text| cell(&text))).collect();
    lines.iter().for_each(|line| out.push_str(&format!("\n- {line}")));
    out.push('\n');
    out
}

/// What makes the result a bound or invalid.
fn findings(verdict: &Verdict) -> String {
    let matter = verdict.findings.iter().filter(|finding| finding.state >= FindingState::Bound);
    let lines: String = matter.map(|one| format!("- {} {}\n", cell(&one.rule), cell(&one.message))).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
