//! Capacity: how it is searched for, the trials of the search, and what was found.

use crate::{Environment, Estimate, Limiter, LostAgent, NS_PER_S, RunRecord, SentInAll, ThresholdRecord, Verdict};
use serde::{Deserialize, Serialize};

/// Search for a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacitySettings {
    /// Lowest load allowed, above 0; per second.
    pub from_per_s: f64,
    /// Highest load allowed; per second.
    pub to_per_s: f64,
    /// First load, a guess: half of what a closed loop got out is a good one, and has warmed the server up; per
    /// second.
    pub start_per_s: f64,
    /// Wanted width of the bracket, `high / low - 1`, above 0. Not below the failure ratio of the goal (RFC 9971, 4.6.5).
    pub width: f64,
    /// Times of the trials, and of all.
    pub times: CapacityTimes,
    /// Seed of the order of the confirming trials.
    pub seed: u64,
}

/// Times of a search for a capacity; ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityTimes {
    /// Window of a trial that only brackets.
    pub short_ns: u64,
    /// Window of all other trials (Goal Final Trial Duration of RFC 9971).
    pub full_ns: u64,
    /// About how long a trial takes beyond its window: warm-up, connecting, rest.
    pub overhead_ns: u64,
    /// Time for all trials.
    pub budget_ns: u64,
}

impl Default for CapacityTimes {
    /// A tenth of a sweep of 26 loads, 3 times 30 s each.
    fn default() -> Self {
        Self { short_ns: 3 * NS_PER_S, full_ns: 6 * NS_PER_S, overhead_ns: 3 * NS_PER_S / 2, budget_ns: 230 * NS_PER_S }
    }
}

/// Step of the search that a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialPurpose {
    /// Finding a load that holds and one that fails.
    Bracket,
    /// Voting on the lowest or highest load that can be asked for.
    Settle,
    /// Bisection between the two.
    Narrow,
    /// Voting on the lower end of the bracket.
    ConfirmLow,
    /// Voting on the upper end of the bracket.
    ConfirmHigh,
}

impl TrialPurpose {
    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Bracket => "bracket",
            Self::Settle => "end of the range",
            Self::Narrow => "narrow",
            Self::ConfirmLow => "confirm the lower end",
            Self::ConfirmHigh => "confirm the upper end",
        }
    }
}

/// Why a search for a capacity ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityReason {
    /// Both ends are confirmed.
    Bracketed,
    /// Votes at an end went the wrong way where noise does not explain it: a higher load held better than a lower one,
    /// or the server has changed. The bracket was widened over it.
    NonMonotone,
    /// The highest load that the client could offer held.
    ClientCeiling,
    /// The highest load allowed held.
    RangeEnded,
    /// The goal was not met even at the lowest load allowed.
    NeverMet,
    /// The target went away.
    TargetGone,
    /// The time was over.
    BudgetEnded,
    /// The search is not over: more would have been asked for.
    Interrupted,
}

impl CapacityReason {
    /// In half a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Bracketed => "both rates were tested again, and most of their trials agree",
            Self::NonMonotone => {
                "a higher load held where a lower one had failed: non-monotone, or the server has changed"
            }
            Self::ClientCeiling => "the client can offer no more",
            Self::RangeEnded => "the highest load allowed held",
            Self::NeverMet => "the goal was not met even at the lowest load",
            Self::TargetGone => "the target went away",
            Self::BudgetEnded => "the time (--budget) was used up",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Estimate of what more time would buy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoreTime {
    /// Beyond the budget; ns.
    pub ns: u64,
    /// Width of the bracket then, `high / low - 1`.
    pub width: f64,
}

/// One trial as it was made; its events are in a directory of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialMade {
    /// Requests per second that were to be offered.
    pub load_per_s: f64,
    /// Measured window that was planned; ns.
    pub window_ns: u64,
    /// Time that it took in all, with restart, warm-up, waiting for responses, and rest; ns.
    pub took_ns: u64,
    /// True if it was ended early because its backlog ran away.
    pub ran_away: bool,
}

/// Result of a search for a capacity: `capacity --json`, and its `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// [`crate::FORMAT_CAPACITY`].
    pub format: String,
    /// True if to believe it.
    pub verdict: Verdict,
    /// What came of `--fail-if`; omitted without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdRecord>,
    /// What was found.
    pub capacity: CapacityBracket,
    /// All conditions that a load has to meet, those by default too, such as `p99<100ms,errors<0.1%,send-rate>99%`.
    pub goal: String,
    /// All requests that were sent to the server, by the loads of the result and by others, such as the first closed loop;
    /// omitted where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_in_all: Option<SentInAll>,
    /// One run for each trial, in the order made.
    pub trials: Vec<RunRecord>,
    /// What came of each of them.
    pub outcomes: Vec<TrialRecord>,
    /// What was searched for.
    pub search: CapacitySettings,
    /// Good responses per second of the closed loop that the search began with.
    pub pilot_per_s: f64,
    /// Time that the trials took in all; ns.
    pub spent_ns: u64,
    /// What stops the server at its saturated load; null when no trial counted.
    pub limiter: Option<Limiter>,
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

/// A capacity: between two loads, or beyond one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityBracket {
    /// Good responses per second at `low`; null without it.
    pub value: Option<f64>,
    /// Highest load that held; per second; null when none did.
    pub low: Option<f64>,
    /// Lowest load above it that failed; per second; null when none did.
    pub high: Option<f64>,
    /// Trials behind it.
    pub n: u64,
    /// Why the search ended, and so why an end is missing; and what failed at `high`.
    pub reason: String,
    /// The same by name.
    pub ended: CapacityReason,
    /// True if fresh trials confirmed the lower end.
    pub low_confirmed: bool,
    /// True if fresh trials confirmed the upper end.
    pub high_confirmed: bool,
    /// Where all trials together put it, with a 97 % interval; per second; null before a load has held and one failed.
    pub estimate_per_s: Option<Estimate>,
    /// Standard deviation of the capacity from trial to trial, relative; null as above.
    pub noise: Option<f64>,
    /// Trials that were too disturbed to count.
    pub disturbed: u64,
    /// Conditions of the goal that failed at `high`, and `backlog` if that grew.
    pub failed: Vec<String>,
    /// What more time would buy; null when time is not what is missing.
    pub more: Option<MoreTime>,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Requests per second that were to be offered.
    pub load_per_s: f64,
    /// What it was for.
    pub purpose: TrialPurpose,
    /// True if the goal was met.
    pub held: bool,
    /// True if it counts: not if it was too disturbed, cut short, or says nothing of the server.
    pub counted: bool,
    /// Why it says nothing of the server; omitted of one that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// Good responses per second.
    pub goodput_per_s: f64,
    /// Each condition of the goal, in its order.
    pub conditions: Vec<ConditionRecord>,
    /// True if the backlog grew more than it does at the capacity.
    pub backlog_grew: bool,
    /// True if it was ended early because its backlog ran away.
    pub ran_away: bool,
    /// Share of the window that was undisturbed, 0 to 1; null when that is not known.
    pub clean_share: Option<f64>,
    /// Time that it took in all; ns.
    pub took_ns: u64,
    /// Lower end of the bracket after it; per second.
    pub low_after: Option<f64>,
    /// Upper end of the bracket after it; per second.
    pub high_after: Option<f64>,
}

/// One condition of the goal in one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionRecord {
    /// As it is written, such as `p99<100ms`.
    pub condition: String,
    /// What was measured, in the unit of its quantity: ns, share, CPUs or bytes; null when it is not known.
    pub value: Option<f64>,
    /// The limit, in the same unit.
    pub limit: f64,
    /// True if it was met; not known is not met.
    pub held: bool,
}
