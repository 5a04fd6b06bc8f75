//! Bottleneck of a server: the `limiter` object of a record.

use crate::Estimate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What stops a server, on what evidence, and what changing it would buy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limiter {
    /// Which it is, such as `worker-pool-limited`. `not-a-server-limit`, `not-saturated` and `unknown` name none.
    pub name: String,
    /// What it limits, such as `php-fpm` or `server CPUs`; empty where there is nothing to name.
    #[serde(default)]
    pub resource: String,
    /// The same in a sentence, with its figures.
    pub says: String,
    /// How sure that is.
    pub confidence: Confidence,
    /// The figures behind it, by name with unit.
    pub evidence: BTreeMap<String, f64>,
    /// Responses per second that it allows at most; null when there is no such figure.
    pub ceiling_per_s: Option<f64>,
    /// What would stop the server once this is out of the way.
    pub next: Option<NextLimiter>,
    /// What a change of it should buy.
    pub prediction: Option<Prediction>,
    /// The three resources that are used most.
    pub utilisations: Vec<Utilisation>,
    /// Limits that could not be looked for, and why.
    pub unchecked: Vec<String>,
    /// Where none is named: the limits that are possible, the nearest first and two at most, each as if it were the one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible: Vec<Self>,
    /// Load of the point that was looked at: connections, or requests per second; null for a run by itself.
    #[serde(default)]
    pub load: Option<f64>,
    /// What the change bought when it was tried; omitted unless `--confirm` has tried it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Why `--confirm` has tried nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_unavailable: Option<String>,
}

/// How sure a limiter is, by how many signs agree: a resource near its ceiling, a queue in front of it, a goodput that
/// more load does not raise, and a time that grows with the load instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One sign.
    #[default]
    Low,
    /// Two or three.
    Medium,
    /// All four.
    High,
    /// The limit was changed, and the server did what was predicted.
    Confirmed,
}

impl Confidence {
    /// The same in a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Confirmed => "confirmed",
        }
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextLimiter {
    /// The resource, such as `server CPUs`.
    pub name: String,
    /// Responses per second that it allows at most.
    pub ceiling_per_s: f64,
}

/// What a change should buy: the least of all ceilings with this one changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// In words, such as `10 php-fpm workers instead of 5`.
    pub change: String,
    /// Which setting that is, such as `pm.max_children`; null when it is not known.
    pub setting: Option<String>,
    /// Its value now, where it is a number.
    #[serde(default)]
    pub from: Option<f64>,
    /// Its value then.
    #[serde(default)]
    pub to: Option<f64>,
    /// Responses per second then.
    pub expected_per_s: f64,
    /// Range of it: the interval of what was measured, and what else may grow with the load; omitted where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_per_s: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_per_s: Option<f64>,
}

/// How much of a resource is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// The resource, such as `server CPUs` or `php-fpm workers`.
    pub resource: String,
    /// Share in use, 0 to 1.
    pub share: f64,
    /// Responses per second at which all of it is in use (utilisation law); null when nothing was answered.
    pub ceiling_per_s: Option<f64>,
}

/// A change that was tried, in blocks of one measurement with it and one without, in shuffled order, the server started
/// again for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The resource that was taken for the limit.
    #[serde(default)]
    pub resource: String,
    /// The setting as `--serve` has it, such as `children`.
    pub setting: String,
    /// Its value before.
    pub from: u64,
    /// Its value after.
    pub to: u64,
    /// Connections of the closed loop that all of it was measured with.
    pub connections: u32,
    /// What was predicted for it; per second.
    pub predicted_per_s: f64,
    /// Prediction over what was measured without the change; the ratio that is looked for.
    pub predicted_ratio: f64,
    /// Goodput without the change, geometric mean of the blocks; per second.
    pub before_per_s: f64,
    /// Goodput with it, the same.
    pub after_per_s: f64,
    /// With over without: geometric mean of the blocks, with its 95 % interval.
    pub ratio: Estimate,
    /// What came out.
    pub outcome: ConfirmationOutcome,
    /// A change of something that should make no difference.
    pub control: Option<Control>,
    /// Each block.
    pub blocks: Vec<Block>,
    /// The same in a sentence.
    pub says: String,
}

/// What came out of a change that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationOutcome {
    /// The interval comes within 20 % of the predicted ratio, and has no 1 in it.
    Confirmed,
    /// The whole interval is more than 20 % off the predicted ratio.
    Refuted,
    /// Neither.
    Undecided,
}

/// A setting of something that is not short, changed to see that it changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// The setting.
    pub setting: String,
    /// Its value before.
    pub from: u64,
    /// Its value after.
    pub to: u64,
    /// With over without, as [`Confirmation::ratio`].
    pub ratio: Estimate,
    /// True if it made no difference.
    pub holds: bool,
}

/// One block: every arm once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The arms in the order measured: `before`, `after`, `control`.
    pub order: Vec<String>,
    /// Goodput of each; per second.
    pub goodput_per_s: BTreeMap<String, f64>,
}

/// Bounds of a server that are not in the evidence of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimiterContext {
    /// CPUs that the server may use; empty: all of the machine.
    pub server_cpus: Vec<u32>,
    /// Settings of the server that can be changed.
    pub settings: Vec<Setting>,
    /// Speed of each network interface by name; bits per second.
    pub links_bit_per_s: BTreeMap<String, f64>,
}

/// A setting of a server that bounds how much it does at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// As `--serve` has it, such as `children`.
    pub key: String,
    /// As the server itself has it, such as `pm.max_children`.
    pub native: String,
    /// What it bounds: the beginning of a program's name, such as `php-fpm`; empty: whatever the server runs.
    pub limits: String,
    /// Its value.
    pub value: u64,
    /// The largest it can be.
    pub max: u64,
}
