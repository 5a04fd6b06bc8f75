//! Records as JSON: the contract other programs read.

use crate::record::AnyRecord;
use crate::visible;
use model::{
    AuditRecord, AuditsRecord, CapacityRecord, CatalogueRecord, CheckRecord, CompareRecord, ExperimentPlan,
    ExperimentRecord, HistoryRecord, Observation, ProfileRecord, RenderRecord, RunRecord, SweepRecord, SweepsRecord,
};
use serde::Serialize;
use std::borrow::Cow;

/// A result of any kind as one JSON object.
#[must_use]
pub fn record(record: AnyRecord<'_>) -> String {
    match record {
        AnyRecord::Run(record) => run(record),
        AnyRecord::Sweep(record) => sweep(record),
        AnyRecord::Sweeps(record) => sweeps(record),
        AnyRecord::Capacity(record) => capacity(record),
        AnyRecord::Compare(record) => compare(record),
        AnyRecord::Experiment(record) => experiment(record),
        AnyRecord::Render(record) => render(record),
    }
}

/// A run as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn run(record: &RunRecord) -> String {
    pretty(record)
}

/// A sweep as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn sweep(record: &SweepRecord) -> String {
    pretty(record)
}

/// Several sweeps as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn sweeps(record: &SweepsRecord) -> String {
    pretty(record)
}

/// A capacity as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn capacity(record: &CapacityRecord) -> String {
    pretty(record)
}

/// A comparison as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn compare(record: &CompareRecord) -> String {
    pretty(record)
}

/// An experiment as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn experiment(record: &ExperimentRecord) -> String {
    pretty(record)
}

/// The plan of an experiment as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn plan(plan: &ExperimentPlan) -> String {
    pretty(plan)
}

/// A history as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn history(record: &HistoryRecord) -> String {
    pretty(record)
}

/// A profile by itself as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn profile(record: &ProfileRecord) -> String {
    pretty(record)
}

/// An audit of one output as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn audit(record: &AuditRecord) -> String {
    pretty(record)
}

/// An audit of several outputs as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn audits(record: &AuditsRecord) -> String {
    pretty(record)
}

/// The validity rules as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn rules(record: &CatalogueRecord) -> String {
    pretty(record)
}

/// A check as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn check(record: &CheckRecord) -> String {
    pretty(record)
}

/// A page render as one JSON object, indented, with a newline at the end.
#[must_use]
pub fn render(record: &RenderRecord) -> String {
    pretty(record)
}

/// One look as one JSON object in one line, with a newline at the end.
#[must_use]
pub fn observation(seen: &Observation) -> String {
    escaped(serde_json::to_string(seen).expect("records have string keys only") + "\n")
}

fn pretty(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("records have string keys only");
    text.push('\n');
    escaped(text)
}

/// The same JSON with all control characters escaped, where the format asks for some only: it is read in terminals too.
fn escaped(json: String) -> String {
    let escaped = match visible::block(&json) {
        Cow::Borrowed(_) => None,
        Cow::Owned(escaped) => Some(escaped),
    };
    escaped.unwrap_or(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_read_back() {
        let target = "\u{1b}[2J\u{7f}\u{9b}\u{202e}ä".to_owned();
        let group = model::GroupObservation { target, ..model::GroupObservation::default() };
        let seen = Observation { groups: vec![group], ..Observation::default() };
        let json = observation(&seen);
        assert!(json.contains(r"\u001b[2J\u007f\u009b\u202eä"), "{json}");
        assert_eq!(serde_json::from_str::<Observation>(&json).ok(), Some(seen));
    }
}
