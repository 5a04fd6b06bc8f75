//! Findings and verdicts.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of a whole result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictState {
    /// The numbers mean what they say.
    Valid,
    /// At least one number is only a bound; the finding says which way.
    Bound,
    /// The numbers do not mean what they say.
    Invalid,
}

/// What a rule that fired does to the result, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// Worth knowing.
    Note,
    /// Worth mending; the number stands.
    Warning,
    /// A number becomes a bound.
    Bound,
    /// A number must not be used.
    Invalid,
}

/// One rule that fired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Rule id, such as `ER-02`.
    pub rule: String,
    /// What it does to the result.
    pub state: FindingState,
    /// What it means for the number.
    pub message: String,
    /// What to do next.
    pub remedy: String,
    /// The figures the rule looked at, by name with unit.
    pub evidence: BTreeMap<String, f64>,
}

/// The judgement of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The state that follows from the findings.
    pub state: VerdictState,
    /// Rules that fired, worst first.
    pub findings: Vec<Finding>,
    /// Rules whose data was missing: not passed, not checked.
    pub unchecked: Vec<String>,
    /// Why each of them was not checked, by its id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unchecked_why: BTreeMap<String, String>,
}
