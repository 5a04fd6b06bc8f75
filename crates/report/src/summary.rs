//! A result in a few lines of Markdown, for a pull request or the summary of a CI step.

use crate::Named;
use crate::capacity::bracket;
use crate::record::AnyRecord;
use crate::table::{cell, markdown_table};
use crate::terminal::run::{self, quantile};
use crate::terminal::sweep::peak_rate;
use crate::terminal::verdict::{meaning, state_word};
use crate::thresholds::{HEADER, of, row};
use model::human::{percent, time};
use model::{FindingState, RunRecord, SweepRecord, Verdict};

/// The verdict with its rules, the headline, and each threshold. Ends with a newline.
#[must_use]
pub fn summary(named: Named<'_>) -> String {
    let mut out = format!("### plimsoll: {}\n", cell(named.name));
    let thresholds = of(named.record);
    let parts: Vec<(String, &Verdict)> = match named.record {
        AnyRecord::Run(record) => vec![(of_run(record), &record.verdict)],
        AnyRecord::Capacity(record) => {
            let text = format!("capacity {} for {}", bracket(record), record.goal.replace(',', ", "));
            vec![(text, &record.verdict)]
        }
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            named.record.sweeps().iter().map(|sweep| (of_sweep(sweep), &sweep.verdict)).collect()
        }
        AnyRecord::Compare(record) => vec![(crate::compare::summary(record), &record.verdict)],
        AnyRecord::Experiment(record) => vec![(crate::experiment::meaning(record), &record.verdict)],
        AnyRecord::Render(record) => vec![(crate::renders::summary(record), &record.verdict)],
    };
    for ((headline, verdict), (arm, list)) in parts.iter().zip(thresholds) {
        let arm = arm.map_or_else(String::new, |arm| format!("{}: ", cell(arm)));
        let word = state_word(verdict.state).to_uppercase();
        out.push_str(&format!("\n{arm}**{word}** {}; {}\n", cell(&meaning(verdict)), cell(headline)));
        if let Some(text) = named.record.why_interrupted() {
            out.push_str(&format!("- {}\n", cell(&text)));
        }
        out.push_str(&findings(verdict));
        if !list.is_empty() {
            let rows: Vec<Vec<String>> = list.iter().map(row).collect();
            out.push_str(&format!("\n{}", markdown_table(&HEADER.map(str::to_owned), &rows, HEADER.len())));
        }
    }
    out
}

fn of_run(record: &RunRecord) -> String {
    let response = &record.latency_ns.response;
    let p99 = match quantile(&record.verdict, "p99", response.p99) {
        text if text == "-" => String::new(),
        text => format!(", p99 {text}"),
    };
    let cpu = record
        .known_server_cpu_ns()
        .map_or_else(String::new, |cpu| format!(", server CPU {} per request", time(cpu.value)));
    format!("goodput {}{p99}, failed {}{cpu}", run::goodput(record), percent(run::failed_share(record)))
}

fn of_sweep(record: &SweepRecord) -> String {
    record.peak.map_or_else(|| "nothing was measured".to_owned(), |peak| format!("peak {}", peak_rate(record, peak)))
}

/// What makes the result a bound or invalid.
fn findings(verdict: &Verdict) -> String {
    let matter = verdict.findings.iter().filter(|finding| finding.state >= FindingState::Bound);
    let lines: String = matter.map(|one| format!("- {} {}\n", cell(&one.rule), cell(&one.message))).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
