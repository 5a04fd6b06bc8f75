//! Records as JSON: the contract other programs read.

use model::{RunRecord, SweepRecord};
use serde::Serialize;

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

fn pretty(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("records have string keys only");
    text.push('\n');
    text
}
