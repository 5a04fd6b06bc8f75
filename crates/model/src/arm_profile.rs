//! Profiles of the variants of a comparison, and the functions that changed from the baseline's to another's.

use crate::{CompareLoad, Profiled};
use serde::{Deserialize, Serialize};

/// Profile of one variant, of a load of its own: no figure of the comparison is from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmProfile {
    /// Name of the variant.
    pub arm: String,
    /// Load under which it was sampled.
    pub load: CompareLoad,
    /// Where the CPU time went; null when that could not be sampled.
    pub profile: Option<Profiled>,
    /// Why not.
    pub unavailable: Option<String>,
    /// Functions whose share of the server's CPU time is another than the baseline's by more than chance, the largest change
    /// first; empty of the baseline itself.
    pub functions: Vec<FunctionChange>,
    /// The same of PHP functions, by the clock that they were sampled by; empty where they were not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub php_functions: Vec<FunctionChange>,
}

/// Innermost function of the server in two profiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionChange {
    /// Its name; `[FILE]` when only the file is known. The kernel's end in `_[k]`.
    pub name: String,
    /// In the profile of the baseline.
    pub before: FunctionUse,
    /// In that of the variant.
    pub after: FunctionUse,
}

impl FunctionChange {
    /// Change of its share of the server's CPU time, -1 to 1.
    #[must_use]
    pub fn change(&self) -> f64 {
        self.after.share - self.before.share
    }
}

/// Function in one profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionUse {
    /// Samples of the server that had it innermost.
    pub samples: u64,
    /// Share of the samples of the server, 0 to 1.
    pub share: f64,
    /// CPU time for each good response; us.
    pub cpu_us_per_good_request: f64,
}
