//! The validity rules as `rules` tells them.

use crate::{Finding, FindingState};
use serde::{Deserialize, Serialize};

/// All rules: `rules --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogueRecord {
    /// [`crate::FORMAT_RULES`].
    pub format: String,
    /// By family, and by number within it.
    pub rules: Vec<RuleCard>,
}

/// One rule: what it looks at in own measurements, in what other tools have printed, or why it is not checked yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleCard {
    /// Id, such as `ER-02`.
    pub id: String,
    /// A few words.
    pub title: String,
    /// What it can make of a result, mildest first; empty when it is not checked yet.
    pub states: Vec<FindingState>,
    /// Where it judges: `run`, `sweep`, `render`, `audit`; empty when it is not checked yet.
    pub judges: Vec<String>,
    /// What it detects in results of plimsoll itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<RuleText>,
    /// What it detects in the output of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<RuleText>,
    /// What it says of a constructed result that has this fault and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Finding>,
    /// Why it is not checked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
}

/// A rule in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleText {
    /// What it detects, in a sentence.
    pub detects: String,
    /// Each state that it can reach, the worst first, with when it does.
    pub fires: Vec<FiringText>,
    /// What has to be known to understand these, and where thresholds come from, in sentences; null if there is nothing.
    pub remarks: Option<String>,
    /// The data it needs; without them it is not checked.
    pub data: String,
}

/// A state that a rule can reach, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiringText {
    /// The state.
    pub state: FindingState,
    /// When, in a sentence.
    pub when: String,
}
