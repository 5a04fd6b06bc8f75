//! A measurement as a whole: what its result is made of beside its loads.

use crate::{
    Aborted, ArmProfile, ArmRecord, Baseline, CapacitySettings, Change, CheckRow, CompareSettings, CompareTrialMade,
    Confirmation, Environment, LimiterContext, LostAgent, Profiled, RiseEnd, SentInAll, TrialMade,
};
use serde::{Deserialize, Serialize};

/// One thing that happened to a measurement, which is one load or a search over several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "session", rename_all = "snake_case")]
pub enum SessionEvent {
    /// It begins.
    Begun(Box<Begun>),
    /// Several servers are measured, one after the other, each in a directory of its own.
    Arms {
        /// So many.
        planned: u64,
    },
    /// The result is put to thresholds.
    Thresholds {
        /// When it fails, as it is written, such as `goodput<1000`.
        conditions: Vec<String>,
        /// The earlier result that some of them are relative to.
        baseline: Option<Box<Baseline>>,
    },
    /// A load is part of the result; its events are in a directory of their own.
    Point {
        /// Below that of the measurement.
        directory: String,
        /// Connections, or requests per second.
        load: f64,
    },
    /// The search for a capacity begins: its closed loop has been measured.
    Search {
        /// What is searched for.
        settings: CapacitySettings,
        /// Good responses per second of the closed loop.
        pilot_per_s: f64,
    },
    /// A trial of that search is part of the result; its events are in a directory of their own.
    Trial {
        /// Below that of the measurement.
        directory: String,
        /// How it was made.
        trial: TrialMade,
    },
    /// The blocks of a comparison begin: its variants have been looked at.
    Blocks {
        /// What is planned.
        settings: Box<CompareSettings>,
        /// Variants, the baseline first.
        arms: Vec<ArmRecord>,
        /// What stands in the way of comparing them, beside what was known of the machine at the begin.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        check: Vec<CheckRow>,
    },
    /// A trial of a comparison is part of the result; its events are in a directory of their own.
    Compared {
        /// Below that of the measurement.
        directory: String,
        /// How it was made.
        trial: CompareTrialMade,
    },
    /// Requests were sent by a load that is no part of the result.
    AlsoSent {
        /// So many.
        sent: SentInAll,
    },
    /// The target went away.
    TargetGone {
        /// In a line.
        why: String,
    },
    /// The load of a run was ended early.
    Aborted(Box<Aborted>),
    /// An agent was lost, and no load follows.
    AgentLost(LostAgent),
    /// The rise of a sweep has ended, and no larger loads follow.
    Risen {
        /// Why.
        end: RiseEnd,
    },
    /// All loads have been measured.
    Changed {
        /// What of machine and server is another than it was at the begin.
        changes: Vec<Change>,
    },
    /// The profile of a load has been made.
    Profiled {
        /// Where the CPU time went; none when that could not be sampled.
        profiled: Option<Box<Profiled>>,
        /// Why not.
        unavailable: Option<String>,
    },
    /// The profile of a variant of a comparison has been made, apart from its blocks.
    ArmProfiled {
        /// What came of it.
        profile: Box<ArmProfile>,
    },
    /// The gain that the limiter predicts has been put to the proof.
    Confirmed {
        /// What came of it; none when it could not be tried.
        confirmation: Option<Box<Confirmation>>,
        /// Why not.
        unavailable: Option<String>,
    },
    /// It ends.
    Finished {
        /// True if before its plan was done.
        interrupted: bool,
    },
}

/// What is known before the first load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// What is measured.
    pub measurement: MeasurementKind,
    /// Where.
    pub environment: Environment,
    /// What bounds the server.
    pub limits: LimiterContext,
}

/// Kind of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MeasurementKind {
    /// One load.
    Run {
        /// True if the result has a limiter even if it names no limit.
        wants_limiter: bool,
        /// True if it is profiled.
        #[serde(default)]
        wants_profile: bool,
    },
    /// Rising load.
    Sweep {
        /// The largest load of the search.
        limit: f64,
        /// True if the load is requests per second, instead of connections.
        over_rate: bool,
        /// True if its peak is profiled.
        #[serde(default)]
        wants_profile: bool,
        /// Label of the server, where it is one of several.
        arm: Option<String>,
    },
    /// Search for the highest load that meets a goal.
    Capacity {
        /// All its conditions, such as `p99<100ms,errors<0.1%,send-rate>99%`.
        goal: String,
    },
    /// Comparison of variants in blocks.
    Compare {
        /// Variants, the baseline included.
        arms: u64,
    },
}
