//! History: figures of stored results in the order measured, and where their level moved.

use crate::{Change, Estimate, VerdictState};
use serde::{Deserialize, Serialize};

/// What `history --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryRecord {
    /// [`crate::FORMAT_HISTORY`].
    pub format: String,
    /// How changes were looked for.
    pub settings: HistorySettings,
    /// Results that were measured alike, by series; the one with the latest result first.
    pub series: Vec<HistorySeries>,
    /// Results that are in no series.
    pub left_out: Vec<LeftOut>,
    /// True if the last change of any figure made it worse.
    pub is_worse: bool,
}

/// How changes are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistorySettings {
    /// Share of figures without a change in which one is found, 0 to 1.
    pub false_alarms: f64,
    /// Smallest change that is reported, as a share of the level before or after it, whichever is lower.
    pub change_min: f64,
    /// True if numbers that are only bounds count too.
    pub with_bounds: bool,
    /// Seed of the permutations.
    pub seed: u64,
}

/// Results that were measured alike, in the order measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistorySeries {
    /// What all of them have in common: kind, target, load, machine.
    pub factors: Vec<Factor>,
    /// The results.
    pub runs: Vec<HistoryRun>,
    /// Older results that were not looked at.
    pub older: u64,
    /// What was measured in them.
    pub figures: Vec<HistoryFigure>,
}

/// Something that has to be equal for two results to be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// What it is.
    pub value: String,
}

/// One result of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// Name, as a rule of its directory.
    pub name: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// Its verdict.
    pub state: VerdictState,
}

/// What is followed from result to result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryQuantity {
    /// Good responses per second; of a sweep those at its peak.
    GoodputPerS,
    /// 99th percentile of the response time; of a sweep that at its peak. ns
    ResponseP99Ns,
    /// CPU time of the server per complete response; of a sweep that at its peak. ns
    ServerCpuNsPerRequest,
    /// Highest rate that met the goal, as all trials of a search for a capacity put it; per second.
    CapacityPerS,
}

/// A figure from result to result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryFigure {
    /// What it is.
    pub quantity: HistoryQuantity,
    /// Its value in each result of the series, in the unit of its name; null where it is not known or only a bound.
    pub values: Vec<Option<f64>>,
    /// Results in which it is only a bound, and left out for that.
    pub bounds: u64,
    /// Results that are too few for a change to be found, however clear: so many are needed. Omitted where there are enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
    /// Where the level moved, in the order measured.
    pub changes: Vec<HistoryChange>,
}

/// A place at which the level of a figure moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryChange {
    /// First result of the new level: its place in the series, from 0.
    pub at: u64,
    /// Its name.
    pub run: String,
    /// When it was measured, RFC 3339, UTC.
    pub started: String,
    /// Level after over level before, with its 95 % interval.
    pub ratio: Estimate,
    /// Geometric mean since the change before.
    pub before: f64,
    /// Results behind it.
    pub before_n: u64,
    /// Geometric mean until the change after.
    pub after: f64,
    /// Results behind it.
    pub after_n: u64,
    /// Share of random orders that show as clear a change.
    pub p: f64,
    /// True if lower goodput or capacity, or more latency or CPU time.
    pub is_worse: bool,
    /// What else of machine, server and response is different from the result before; not necessarily the cause.
    pub differs: Vec<Change>,
}

/// A result that is in no series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

impl HistoryQuantity {
    /// All, in the order shown.
    pub const ALL: [Self; 4] =
        [Self::CapacityPerS, Self::GoodputPerS, Self::ResponseP99Ns, Self::ServerCpuNsPerRequest];

    /// True if more of it is better.
    #[must_use]
    pub const fn is_better_high(self) -> bool {
        matches!(self, Self::GoodputPerS | Self::CapacityPerS)
    }

    /// Its name among the figures of a result.
    #[must_use]
    pub const fn figure(self) -> &'static str {
        match self {
            Self::GoodputPerS => "goodput",
            Self::ResponseP99Ns => "p99",
            Self::ServerCpuNsPerRequest => "cpu-per-request",
            Self::CapacityPerS => "capacity",
        }
    }

    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::GoodputPerS => "goodput",
            Self::ResponseP99Ns => "p99",
            Self::ServerCpuNsPerRequest => "CPU per request",
            Self::CapacityPerS => "capacity",
        }
    }
}
