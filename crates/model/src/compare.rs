//! Comparison of variants: how it is planned, what was measured in which block, and what came of it.

use crate::{
    ArmProfile, Call, CapacityBracket, Change, Direction, Duet, EffectMethod, Environment, Estimate, Floor, LostAgent,
    NS_PER_S, PositionRecord, Precision, RunRecord, SentInAll, Served, SizeBand, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most variants of a comparison, the baseline included.
pub const COMPARE_ARMS_MAX: u64 = 16;
/// Most blocks of a comparison that count.
pub const COMPARE_BLOCKS_MAX: u64 = 1_000;
/// Windows of a variant at a load in a block at most.
pub const COMPARE_WINDOWS_MAX: u64 = 4;
/// Variants that can have a load at the same time, in turns.
pub const COMPARE_AT_ONCE: u64 = 2;

/// Load that the variants are held against each other at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareLoad {
    /// Small fixed load on the built-in server: the machine itself.
    Canary,
    /// Open loop at a rate below saturation.
    Fixed,
    /// Closed loop that saturates the server.
    Saturated,
    /// Open loops at one rate after the other: a search for the capacity.
    Capacity,
    /// Load of runs that were measured before, one after the other.
    Stored,
}

impl CompareLoad {
    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Fixed => "fixed load",
            Self::Saturated => "saturation",
            Self::Capacity => "search",
            Self::Stored => "stored runs",
        }
    }

    /// What is compared at it, the most telling first.
    #[must_use]
    pub const fn metrics(self) -> &'static [CompareMetric] {
        use CompareMetric::{
            CapacityPerS, GoodputPerS, ResponseP50Ns, ResponseP90Ns, ResponseP95Ns, ResponseP99Ns,
            ServerCpuNsPerRequest, ServerRssBytes,
        };
        match self {
            Self::Canary => &[ServerCpuNsPerRequest],
            Self::Fixed => &[ServerCpuNsPerRequest, ResponseP50Ns, ResponseP90Ns, ResponseP95Ns, ResponseP99Ns],
            Self::Saturated | Self::Stored => &[
                GoodputPerS,
                ServerCpuNsPerRequest,
                ResponseP50Ns,
                ResponseP90Ns,
                ResponseP95Ns,
                ResponseP99Ns,
                ServerRssBytes,
            ],
            Self::Capacity => &[CapacityPerS],
        }
    }
}

/// Quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareMetric {
    /// CPU time of the server, and of what is monitored with it, per complete response; ns.
    ServerCpuNsPerRequest,
    /// Good responses per second.
    GoodputPerS,
    /// Median response time; ns.
    ResponseP50Ns,
    /// 90th percentile of the response time; ns.
    ResponseP90Ns,
    /// 95th percentile of the response time; ns.
    ResponseP95Ns,
    /// 99th percentile of the response time; ns.
    ResponseP99Ns,
    /// Resident memory of the server, and of what is monitored with it, at its largest; bytes.
    ServerRssBytes,
    /// Highest rate at which the goal is met; per second.
    CapacityPerS,
}

impl CompareMetric {
    /// Every quantity.
    pub const ALL: [Self; 8] = [
        Self::ServerCpuNsPerRequest,
        Self::GoodputPerS,
        Self::ResponseP50Ns,
        Self::ResponseP90Ns,
        Self::ResponseP95Ns,
        Self::ResponseP99Ns,
        Self::ServerRssBytes,
        Self::CapacityPerS,
    ];

    /// Which way it is wanted to go.
    #[must_use]
    pub const fn wanted(self) -> Direction {
        match self {
            Self::GoodputPerS | Self::CapacityPerS => Direction::HigherIsBetter,
            Self::ServerCpuNsPerRequest
            | Self::ResponseP50Ns
            | Self::ResponseP90Ns
            | Self::ResponseP95Ns
            | Self::ResponseP99Ns
            | Self::ServerRssBytes => Direction::LowerIsBetter,
        }
    }

    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::ServerCpuNsPerRequest => "server CPU per request",
            Self::GoodputPerS => "goodput",
            Self::ResponseP50Ns => "response p50",
            Self::ResponseP90Ns => "response p90",
            Self::ResponseP95Ns => "response p95",
            Self::ResponseP99Ns => "response p99",
            Self::ServerRssBytes => "server memory",
            Self::CapacityPerS => "capacity",
        }
    }

    /// Name in a condition, such as `cpu>2%`.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::ServerCpuNsPerRequest => "cpu",
            Self::GoodputPerS => "goodput",
            Self::ResponseP50Ns => "p50",
            Self::ResponseP90Ns => "p90",
            Self::ResponseP95Ns => "p95",
            Self::ResponseP99Ns => "p99",
            Self::ServerRssBytes => "rss",
            Self::CapacityPerS => "capacity",
        }
    }
}

/// Plan of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareSettings {
    /// Variants, the baseline included.
    pub arms: u64,
    /// Loads of each block, in their order.
    pub loads: Vec<CompareLoad>,
    /// Rate of the fixed load; per second.
    pub rate_per_s: f64,
    /// Connections of the saturated load.
    pub connections: u32,
    /// Seed of the order in the blocks.
    pub seed: u64,
    /// Blocks at most.
    pub blocks_max: u64,
    /// Wanted half-width of the intervals, relative; null where the number of blocks is fixed.
    pub precision: Option<f64>,
    /// Change that matters, relative: smaller ones are the same.
    pub margin: f64,
    /// Conditions that make the comparison fail, as they are written, in place of the calls.
    pub fail_if: Vec<String>,
    /// True if one server is compared with itself.
    pub is_aa: bool,
    /// Search for the capacity of each variant in each block; omitted without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CompareCapacity>,
    /// Where the two variants run that are measured at the same time; null where one is measured after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<Duet>,
    /// Windows of each variant at each load within a block, in which the variants take turns while all servers run; omitted
    /// where one variant is measured after the other, its server alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<u64>,
    /// How two variants have the fixed load at the same time; omitted where they have it one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<AtOnce>,
    /// True if the blocks have no canary, as the machine it would run on has no part in what is measured; omitted where they
    /// have one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_canary: bool,
    /// Times.
    pub times: CompareTimes,
}

impl CompareSettings {
    /// Measured time of each variant in a block at the fixed load, if two have it at the same time, or else at any; ns.
    #[must_use]
    pub fn measured_ns(&self) -> u64 {
        match self.at_once {
            Some(AtOnce { window_ns, .. }) => window_ns / self.arms.max(1),
            None => self.times.window_ns.saturating_mul(self.windows.unwrap_or(1)),
        }
    }
}

/// Search for the capacity of each variant in each block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareCapacity {
    /// All conditions that a load has to meet, those by default too.
    pub goal: String,
    /// Time of each search; ns.
    pub budget_ns: u64,
}

/// A load that two variants have at the same time, on the same CPUs, of whom one sends at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtOnce {
    /// Length of a turn; ns.
    pub turn_ns: u64,
    /// Window of both, half of which is that of either; ns.
    pub window_ns: u64,
}

/// Times of a comparison; ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareTimes {
    /// Window of a trial.
    pub window_ns: u64,
    /// About how long a block takes, as long as none has been measured.
    pub block_ns: u64,
    /// Time for all blocks.
    pub budget_ns: u64,
}

impl Default for CompareTimes {
    fn default() -> Self {
        Self { window_ns: 4 * NS_PER_S, block_ns: 30 * NS_PER_S, budget_ns: 600 * NS_PER_S }
    }
}

/// Variant of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// Name that no other has.
    pub name: String,
    /// URL, specification of the server, or directory of the stored run.
    pub target: String,
    /// The server, when this program has started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// Status that a response has.
    pub status: Option<u16>,
    /// Size of its body; null where it was not seen.
    pub size_bytes: Option<SizeBand>,
    /// Good responses per second of a closed loop before the blocks; null where there was none.
    pub pilot_per_s: Option<f64>,
    /// In what its server differs from that of the baseline, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Change>,
}

/// One trial as it was made; its events are in a directory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareTrialMade {
    /// Variant, from 0, the baseline; null of a canary.
    pub arm: Option<u64>,
    /// Load.
    pub load: CompareLoad,
    /// Time that it took in all, with the start of the server, warm-up and rest; of two at the same time each has half. ns
    pub took_ns: u64,
}

/// Why a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareEnd {
    /// All intervals are as narrow as wanted.
    Precise,
    /// What decides can be called.
    Clear,
    /// All blocks that were planned have been measured.
    BlocksDone,
    /// The time was over.
    BudgetEnded,
    /// A server went away.
    TargetGone,
    /// More blocks would have been measured.
    Interrupted,
    /// The runs were measured before.
    Stored,
}

impl CompareEnd {
    /// In half a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Precise => "the intervals are as narrow as wanted",
            Self::Clear => "the answer is clear",
            Self::BlocksDone => "all planned blocks are measured",
            Self::BudgetEnded => "the time (--budget) was used up",
            Self::TargetGone => "a server went away",
            Self::Interrupted => "interrupted",
            Self::Stored => "single runs that were measured before",
        }
    }
}

/// Values of the quantities, by load.
pub type CompareValues = BTreeMap<CompareLoad, BTreeMap<CompareMetric, f64>>;

/// One block: each variant once, in an order of its own; in a duet each once on each set of CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Names of the variants in the order measured; in a duet the first begins on the first set of CPUs.
    pub order: Vec<String>,
    /// What was measured of each variant; in a duet the geometric mean of both sets of CPUs.
    pub values: BTreeMap<String, CompareValues>,
    /// Share of the windows of each variant that was undisturbed, 0 to 1; without those of which it is not known.
    pub clean_shares: BTreeMap<String, f64>,
    /// CPU time of the built-in server per response in this block; null where it was not measured. ns
    pub canary_cpu_ns_per_request: Option<f64>,
    /// True if the canary is far from that of the other blocks: the machine was another.
    pub canary_deviates: bool,
    /// True if the result is made of it.
    pub counted: bool,
    /// Why not: it was measured again, or is not complete; null of one that counts.
    pub uncounted_why: Option<String>,
    /// Trials that were too disturbed and were repeated in it.
    pub trials_repeated: u64,
    /// Time that it took; ns.
    pub took_ns: u64,
}

/// One trial in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareTrialRecord {
    /// Its block, from 0.
    pub block: u64,
    /// Name of the variant; null of a canary.
    pub arm: Option<String>,
    /// Load.
    pub load: CompareLoad,
    /// Set of CPUs, from 0; null outside a duet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_set: Option<u64>,
    /// False if another took its place, or its block does not count.
    pub counted: bool,
    /// What was measured.
    pub values: BTreeMap<CompareMetric, f64>,
    /// Share of the window that was undisturbed, 0 to 1; null when that is not known.
    pub clean_share: Option<f64>,
    /// What a search for the capacity has found; omitted of other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityBracket>,
    /// Time that it took in all; ns.
    pub took_ns: u64,
}

/// One quantity of one variant against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRecord {
    /// Quantity; values are in the unit of its name.
    pub metric: CompareMetric,
    /// Load at which it was measured.
    pub load: CompareLoad,
    /// Name of the variant.
    pub arm: String,
    /// True if the exit code rests on it.
    pub primary: bool,
    /// Geometric mean of the baseline.
    pub baseline: f64,
    /// Geometric mean of the variant.
    pub value: f64,
    /// Variant over baseline with its interval; `n` is the number of blocks. Of a bound one end is null.
    pub ratio: Estimate,
    /// Why the ratio is a bound, or open on both sides; omitted of one that is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// What may be said of it.
    pub call: Call,
    /// How the ratio was computed; null of stored runs.
    pub method: Option<EffectMethod>,
    /// Probability of such a ratio without an effect, two-sided; null without an interval.
    pub p_value: Option<f64>,
    /// The same for all variants together (Holm); null of a single variant.
    pub p_adjusted: Option<f64>,
    /// Standard deviation of the log ratio from block to block; null below two blocks.
    pub sd_log: Option<f64>,
    /// How precise it is, and what the wanted precision needs; null of stored runs.
    pub precision: Option<Precision>,
}

/// State of a condition of `--fail-if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailIfState {
    /// The whole interval is on the allowed side.
    Passed,
    /// The interval allows both.
    CannotTell,
    /// The whole interval is on the side that fails.
    Failed,
}

/// A condition of `--fail-if` of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailIfRecord {
    /// As it is written, such as `goodput<-3%`.
    pub condition: String,
    /// Name of the variant.
    pub arm: String,
    /// What came of it.
    pub state: FailIfState,
}

/// All trials of one variant at one load, merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmLoadRecord {
    /// Name of the variant.
    pub arm: String,
    /// Load.
    pub load: CompareLoad,
    /// The trials of blocks that count, merged; of a search for the capacity the load at the lower end of the last one.
    pub run: RunRecord,
}

/// Result of a comparison: `compare --json`, and its `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareRecord {
    /// [`crate::FORMAT_COMPARE`].
    pub format: String,
    /// True if to believe it.
    pub verdict: Verdict,
    /// All requests that were sent to the servers of the variants, by the loads of the result and by others, such as the first
    /// closed loops; omitted where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_in_all: Option<SentInAll>,
    /// Variants, the baseline first.
    pub arms: Vec<ArmRecord>,
    /// Each quantity of each variant, the most telling first.
    pub metrics: Vec<MetricRecord>,
    /// What the set of CPUs does to each quantity; empty outside a duet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<PositionRecord>,
    /// Conditions of `--fail-if`.
    pub conditions: Vec<FailIfRecord>,
    /// What comparing the baseline with itself gives on this machine, by quantity; empty where that is not known.
    pub aa_floor: Vec<FloorRecord>,
    /// Why the floor is not known, or how it was found.
    pub aa_floor_basis: String,
    /// Why it ended.
    pub ended: CompareEnd,
    /// The same in words.
    pub reason: String,
    /// Blocks in the order measured.
    pub blocks: Vec<BlockRecord>,
    /// Trials in the order made.
    pub trials: Vec<CompareTrialRecord>,
    /// The loads of each variant.
    pub runs: Vec<ArmLoadRecord>,
    /// Profiles of the variants, each of a load apart from the blocks; empty where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ArmProfile>,
    /// Quantities that could not be compared, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<CompareMetric, String>,
    /// What was planned; null of stored runs.
    pub plan: Option<CompareSettings>,
    /// Change that matters, relative.
    pub margin: f64,
    /// Time that the blocks took in all; ns.
    pub spent_ns: u64,
    /// Where it ran.
    pub environment: Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// True if it was stopped from outside before its plan was done.
    pub interrupted: bool,
    /// The agent whose loss has ended it; omitted if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_lost: Option<LostAgent>,
}

/// What comparing something with itself gives for one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorRecord {
    /// Quantity.
    pub metric: CompareMetric,
    /// Load.
    pub load: CompareLoad,
    /// What it gives.
    pub floor: Floor,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_of_quantities_are_those_of_the_contract_and_unique() {
        let name = |metric| serde_json::to_string(&metric).unwrap();
        assert_eq!(name(CompareMetric::ServerCpuNsPerRequest), r#""server_cpu_ns_per_request""#);
        assert_eq!(name(CompareMetric::ResponseP99Ns), r#""response_p99_ns""#);
        let shorts: BTreeSet<_> = CompareMetric::ALL.iter().map(|metric| metric.short()).collect();
        let words: BTreeSet<_> = CompareMetric::ALL.iter().map(|metric| metric.words()).collect();
        assert_eq!((shorts.len(), words.len()), (CompareMetric::ALL.len(), CompareMetric::ALL.len()));
    }

    #[test]
    fn values_by_load_and_quantity_read_back() {
        let values: CompareValues = [(CompareLoad::Fixed, [(CompareMetric::ResponseP50Ns, 1.5)].into())].into();
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"{"fixed":{"response_p50_ns":1.5}}"#);
        assert_eq!(serde_json::from_str::<CompareValues>(&text).unwrap(), values);
    }
}
