//! What to do next, in a sentence: the last line of the first screen.

use crate::words::arms::Arm;
use crate::words::fact::Fact;
use crate::words::next;
use model::human::{rate, time};
use model::{
    Call, CapacityRecord, CompareRecord, ExperimentRecord, Finding, FindingState, HistorySeries, Limiter, Prediction,
    RenderRecord, RunRecord, SweepRecord, Verdict,
};

pub(super) fn of_run(record: &RunRecord) -> String {
    repaired_first(&record.verdict, record.limiter.as_ref(), || command(next::after_run(record)))
}

pub(super) fn of_sweep(record: &SweepRecord) -> String {
    repaired_first(&record.verdict, record.limiter.as_ref(), || command(next::after_sweep(record)))
}

pub(super) fn of_capacity(record: &CapacityRecord) -> String {
    repaired_first(&record.verdict, record.limiter.as_ref(), || match record.capacity.more {
        Some(more) => {
            format!("Search for about {} more (--budget): the bracket would become narrower.", time(more.ns as f64))
        }
        None => command(next::after_capacity(record)),
    })
}

/// The command that the terminal advises.
fn command(fact: Option<Fact>) -> String {
    fact.map_or_else(|| "Measure again after the next change, and compare both results.".to_owned(), |fact| fact.text)
}

pub(super) fn of_comparison(record: &CompareRecord) -> String {
    let is_open = record.metrics.iter().any(|metric| metric.primary && metric.call == Call::CannotTell);
    repaired_first(&record.verdict, None, || match (is_open, record.profiles.is_empty()) {
        (true, _) => "Measure longer with a larger --budget: the ranges are still too wide to tell.".to_owned(),
        (false, true) => "See which functions cost the difference: the same command with --profile.".to_owned(),
        (false, false) => "See below, under \"What limits it\", which functions cost the difference.".to_owned(),
    })
}

pub(super) fn of_experiment(record: &ExperimentRecord) -> String {
    match record.rows.iter().any(|row| row.missing > 0) {
        true => "Measure the steps that have no result: the same command with -o DIR goes on with them.".to_owned(),
        false => "Open the page of a step: all are linked below, under \"How it was measured\".".to_owned(),
    }
}

pub(super) fn of_render(record: &RenderRecord) -> String {
    repaired_first(&record.verdict, None, || match record.arms.as_slice() {
        [only] => format!("Compare the page with another version of it: plimsoll render {} OTHER_URL", only.url),
        _ => "See below, under \"How much\", which of the quantities changed.".to_owned(),
    })
}

pub(super) fn of_history(series: &HistorySeries) -> String {
    match series.figures.iter().any(|figure| !figure.changes.is_empty()) {
        true => "Look at the first result after each change, and at what else differs in it.".to_owned(),
        false => "Measure again after the next change of the server: no level has moved so far.".to_owned(),
    }
}

pub(super) fn of_several(sweeps: &[Arm<'_>]) -> String {
    let which = if sweeps.len() > 1 { "servers" } else { "results" };
    format!("Measure the {which} in turn before you decide between them: plimsoll compare A B")
}

/// What makes an invalid result a valid one; else what the limiter promises, else what makes bounds numbers, else the rest.
fn repaired_first(verdict: &Verdict, limiter: Option<&Limiter>, otherwise: impl FnOnce() -> String) -> String {
    let first = |state| verdict.findings.iter().find(|finding| finding.state == state);
    match (first(FindingState::Invalid), limiter.and_then(|limiter| limiter.prediction.as_ref())) {
        (Some(finding), _) => format!("Measure again: {}", repair(finding)),
        (None, Some(prediction)) => tried(prediction),
        (None, None) => first(FindingState::Bound).map_or_else(otherwise, repair),
    }
}

/// The remedy of a finding, and which that is.
fn repair(finding: &Finding) -> String {
    format!("{} ({})", finding.remedy.trim_end_matches('.'), finding.rule)
}

fn tried(prediction: &Prediction) -> String {
    let setting = prediction.setting.as_ref().map_or_else(String::new, |setting| format!(" ({setting})"));
    format!("Try {}{setting}: {} can be expected.", prediction.change, rate(prediction.expected_per_s))
}
