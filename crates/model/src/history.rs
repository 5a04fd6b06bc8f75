//! History: figures of stored results in the order measured, and where their level moved.

use crate::{CacheState, Change, CompareMetric, Estimate, RenderMetric, VerdictState};
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
    /// True if CPU time is told as on one machine, by the canaries of comparisons.
    pub by_canary: bool,
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
    /// Server CPU time per request of a variant over that of its baseline, from one comparison: a ratio, as the next six.
    ServerCpuRatio,
    /// Goodput at saturation.
    GoodputRatio,
    /// Capacity of the variant over that of its baseline.
    CapacityRatio,
    /// Median of the response time at the fixed load.
    ResponseP50Ratio,
    /// 90th percentile of it.
    ResponseP90Ratio,
    /// 95th percentile of it.
    ResponseP95Ratio,
    /// 99th percentile of it.
    ResponseP99Ratio,
    /// Resident memory of the server.
    ServerRssRatio,
    /// CPU time of the built-in server per request at a small fixed load, in the blocks of a comparison: the machine itself. ns
    CanaryCpuNsPerRequest,
    /// Of a page render, from here on: time to the first byte of the document in cold loads, the median over its blocks. ns
    TtfbColdNs,
    /// First contentful paint of cold loads. ns
    FcpColdNs,
    /// Largest contentful paint of cold loads. ns
    LcpColdNs,
    /// Largest contentful paint of warm loads. ns
    LcpWarmNs,
    /// Bytes on the wire of a cold load.
    TransferredColdBytes,
    /// Requests of a cold load.
    RequestsCold,
}

/// A figure from result to result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryFigure {
    /// What it is.
    pub quantity: HistoryQuantity,
    /// Its value in each result of the series, in the unit of its name; null where it is not known or only a bound.
    pub values: Vec<Option<f64>>,
    /// Ends of the 95 % interval of each value, as far as the result has one; empty where none has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<[f64; 2]>>,
    /// CPU time of the canary that the values are related to: they are as on a machine on which it takes so long. Omitted where
    /// they are as they were measured. ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_ns: Option<f64>,
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
    /// True if lower goodput or capacity, or more latency, CPU time or memory; never of the machine itself.
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
    pub const ALL: [Self; 19] = [
        Self::CapacityPerS,
        Self::GoodputPerS,
        Self::ResponseP99Ns,
        Self::ServerCpuRatio,
        Self::GoodputRatio,
        Self::CapacityRatio,
        Self::ResponseP50Ratio,
        Self::ResponseP90Ratio,
        Self::ResponseP95Ratio,
        Self::ResponseP99Ratio,
        Self::ServerRssRatio,
        Self::ServerCpuNsPerRequest,
        Self::CanaryCpuNsPerRequest,
        Self::LcpColdNs,
        Self::FcpColdNs,
        Self::TtfbColdNs,
        Self::LcpWarmNs,
        Self::TransferredColdBytes,
        Self::RequestsCold,
    ];

    /// True if more of it is better.
    #[must_use]
    pub const fn is_better_high(self) -> bool {
        matches!(self, Self::GoodputPerS | Self::CapacityPerS | Self::GoodputRatio | Self::CapacityRatio)
    }

    /// True of what says something of the machine, and nothing of the server.
    #[must_use]
    pub const fn is_of_machine(self) -> bool {
        matches!(self, Self::CanaryCpuNsPerRequest)
    }

    /// True of the effect of a variant: 1 where it is as its baseline.
    #[must_use]
    pub const fn is_ratio(self) -> bool {
        matches!(
            self,
            Self::ServerCpuRatio
                | Self::GoodputRatio
                | Self::CapacityRatio
                | Self::ResponseP50Ratio
                | Self::ResponseP90Ratio
                | Self::ResponseP95Ratio
                | Self::ResponseP99Ratio
                | Self::ServerRssRatio
        )
    }

    /// The ratio of a quantity that is compared.
    #[must_use]
    pub const fn ratio_of(metric: CompareMetric) -> Self {
        match metric {
            CompareMetric::ServerCpuNsPerRequest => Self::ServerCpuRatio,
            CompareMetric::GoodputPerS => Self::GoodputRatio,
            CompareMetric::CapacityPerS => Self::CapacityRatio,
            CompareMetric::ResponseP50Ns => Self::ResponseP50Ratio,
            CompareMetric::ResponseP90Ns => Self::ResponseP90Ratio,
            CompareMetric::ResponseP95Ns => Self::ResponseP95Ratio,
            CompareMetric::ResponseP99Ns => Self::ResponseP99Ratio,
            CompareMetric::ServerRssBytes => Self::ServerRssRatio,
        }
    }

    /// Its name among the figures of a result; none of what only comparisons have.
    #[must_use]
    pub const fn figure(self) -> Option<&'static str> {
        match self {
            Self::GoodputPerS => Some("goodput"),
            Self::ResponseP99Ns => Some("p99"),
            Self::ServerCpuNsPerRequest => Some("cpu-per-request"),
            Self::CapacityPerS => Some("capacity"),
            Self::ServerCpuRatio
            | Self::GoodputRatio
            | Self::CapacityRatio
            | Self::ResponseP50Ratio
            | Self::ResponseP90Ratio
            | Self::ResponseP95Ratio
            | Self::ResponseP99Ratio
            | Self::ServerRssRatio
            | Self::CanaryCpuNsPerRequest
            | Self::TtfbColdNs
            | Self::FcpColdNs
            | Self::LcpColdNs
            | Self::LcpWarmNs
            | Self::TransferredColdBytes
            | Self::RequestsCold => None,
        }
    }

    /// What it is of a page render; none of another result.
    #[must_use]
    pub const fn of_render(self) -> Option<(RenderMetric, CacheState)> {
        match self {
            Self::TtfbColdNs => Some((RenderMetric::TtfbNs, CacheState::Cold)),
            Self::FcpColdNs => Some((RenderMetric::FcpNs, CacheState::Cold)),
            Self::LcpColdNs => Some((RenderMetric::LcpNs, CacheState::Cold)),
            Self::LcpWarmNs => Some((RenderMetric::LcpNs, CacheState::Warm)),
            Self::TransferredColdBytes => Some((RenderMetric::TransferredBytes, CacheState::Cold)),
            Self::RequestsCold => Some((RenderMetric::Requests, CacheState::Cold)),
            _ => None,
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
            Self::ServerCpuRatio => "effect on CPU per request",
            Self::GoodputRatio => "effect on goodput",
            Self::CapacityRatio => "effect on capacity",
            Self::ResponseP50Ratio => "effect on p50",
            Self::ResponseP90Ratio => "effect on p90",
            Self::ResponseP95Ratio => "effect on p95",
            Self::ResponseP99Ratio => "effect on p99",
            Self::ServerRssRatio => "effect on memory",
            Self::CanaryCpuNsPerRequest => "canary",
            Self::TtfbColdNs => "time to first byte, cold",
            Self::FcpColdNs => "first contentful paint, cold",
            Self::LcpColdNs => "largest contentful paint, cold",
            Self::LcpWarmNs => "largest contentful paint, warm",
            Self::TransferredColdBytes => "bytes on the wire, cold",
            Self::RequestsCold => "requests of the page, cold",
        }
    }
}
