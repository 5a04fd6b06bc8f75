//! Self-test of each rule: the fault in its mutated evidence, in words. The evidence is `judge`'s, which judges it as it does
//! measured evidence.

use faults::{Fault, Measured, clean_of};
use model::{FindingState, Verdict};

use super::Row;

/// Rules and the faults made up for them in words, in the order of the catalogue.
pub(super) fn all() -> impl Iterator<Item = (&'static &'static str, &'static str)> {
    judge::rules().iter().filter_map(|rule| Some((&rule.id, faults::in_words(rule.id)?)))
}

/// Judges the fault made up for a rule, and the same without it.
pub(super) fn row(rule: &'static &'static str, fault: &'static str) -> Row {
    let mut row = Row { times: 1, clean_times: 1, ..Row::new(std::slice::from_ref(rule), fault) };
    let Some((fault, clean)) = faults::fault(rule).zip(clean_of(rule)) else {
        row.remark = Some("no fault is made up for it".to_owned());
        return row;
    };
    let (fault, clean) = (verdict_of(fault), verdict_of(&clean));
    row.fired = u32::from(fault.findings.iter().any(|finding| finding.rule == *rule));
    let is_silent = clean.findings.iter().all(|finding| finding.rule != *rule);
    row.silent = u32::from(is_silent && clean.unchecked.iter().all(|id| id != rule));
    let grave = fault.findings.iter().filter(|finding| finding.state > FindingState::Note && finding.rule != *rule);
    row.others = grave.map(|finding| finding.rule.clone()).collect();
    row
}

/// What all rules say of a made-up load.
pub(super) fn verdict_of(fault: &Fault) -> Verdict {
    match fault.measured() {
        Measured::Run(evidence) => judge::judge_run(&evidence),
        Measured::Sweep(sweep) => judge::judge_sweep(&sweep),
    }
}
