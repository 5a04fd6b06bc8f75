//! Thresholds: when a result fails, by itself or beside an earlier one.

use crate::{Estimate, Factor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A figure as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownFigure {
    /// Best single value.
    pub value: f64,
    /// Lower end of its interval; null without one.
    pub low: Option<f64>,
    /// Upper end of its interval; null without one.
    pub high: Option<f64>,
    /// The side on which the true one is, where that is all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
}

/// A side of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It, or more.
    AtLeast,
    /// It, or less.
    AtMost,
}

impl Bound {
    /// What stands before the value.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">= ",
            Self::AtMost => "<= ",
        }
    }
}

/// What came of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdState {
    /// The result is on the right side of it.
    Passed,
    /// That is not known: interval or bound are on both sides.
    Inconclusive,
    /// The result is on the wrong side of it.
    Failed,
}

/// A threshold and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRecord {
    /// When the result fails, as it is written: `goodput<1000`, `p99>+10%`.
    pub condition: String,
    /// What came of it.
    pub state: ThresholdState,
    /// What was measured, in ns, per second, share, CPUs or bytes; null when it is not known.
    pub value: Option<KnownFigure>,
    /// The limit: in the same unit, or of a relative threshold the change, such as -0.03.
    pub limit: f64,
    /// The same figure of the baseline; omitted of a threshold that is not relative, null when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<KnownFigure>,
    /// The result over the baseline; omitted as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
    /// Why it is inconclusive; omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Reason why a load was ended early: a condition of `--abort-if` held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aborted {
    /// When, since the clock of the load started; ns.
    pub at_ns: u64,
    /// Length of the time before that, over which it held; ns.
    pub over_ns: u64,
    /// The condition, and what was measured in that time.
    pub condition: ThresholdRecord,
}

/// The earlier result that relative thresholds are about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Name of its directory.
    pub name: String,
    /// What another result has to share to be compared with it.
    pub factors: Vec<Factor>,
    /// Its figures by their names in thresholds.
    pub figures: BTreeMap<String, KnownFigure>,
    /// Objective of the response time that its share is about; none without one. ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo_ns: Option<u64>,
}

impl ThresholdState {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Inconclusive => "inconclusive",
            Self::Failed => "failed",
        }
    }
}

impl KnownFigure {
    /// A value without an interval.
    #[must_use]
    pub const fn exactly(value: f64) -> Self {
        Self { value, low: None, high: None, bound: None }
    }
}

impl From<Estimate> for KnownFigure {
    fn from(estimate: Estimate) -> Self {
        Self { value: estimate.value, low: estimate.low, high: estimate.high, bound: None }
    }
}
