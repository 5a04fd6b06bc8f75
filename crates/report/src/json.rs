//! Records as JSON: the contract other programs read.

use crate::record::AnyRecord;
use model::{
    AuditRecord, AuditsRecord, CatalogueRecord, CheckRecord, Observation, ProfileRecord, RunRecord, SweepRecord,
    SweepsRecord,
};
use serde::Serialize;

/// A result of any kind as one JSON object.
#[must_use]
pub fn record(record: AnyRecord<'_>) -> String {
    match record {
        AnyRecord::Run(record) => run(record),
        AnyRecord::Sweep(record) => sweep(record),
        AnyRecord::Sweeps(record) => sweeps(record),
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

/// One look as one JSON object in one line, with a newline at the end.
#[must_use]
pub fn observation(seen: &Observation) -> String {
    serde_json::to_string(seen).expect("records have string keys only") + "\n"
}

fn pretty(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("records have string keys only");
    text.push('\n');
    text
}
