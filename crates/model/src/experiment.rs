//! Experiment: its plan, what came of each step, and the result of all.

use crate::record::is_quantile_known;
use crate::{Bound, Environment, Estimate, Limiter, MergedHistogram, MetricRecord, Quantiles, Verdict, VerdictState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Steps of an experiment in their order: `plan.json`. The same file gives the same plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentPlan {
    /// [`crate::FORMAT_PLAN`].
    pub format: String,
    /// What the experiment is about; else the name of its file.
    pub name: String,
    /// Version of the program that made it.
    pub plimsoll: String,
    /// Seed of the order of the steps, and of their random numbers.
    pub seed: u64,
    /// Measurements of each variant with each load; each is a block, shuffled.
    pub repetitions: u64,
    /// Time that all steps may take; null without a limit; ns.
    pub budget_ns: Option<u64>,
    /// In the order measured.
    pub steps: Vec<PlannedStep>,
}

/// One measurement of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Place in the order, from 1.
    pub number: u64,
    /// Repetition (block) it is part of, from 1.
    pub repetition: u64,
    /// Place of its variant and load in the file, from 1; each repetition measures it once.
    pub combination: u64,
    /// Label of the variant, or of all of them.
    pub variant: String,
    /// Values of the variant by name; empty where the file declares no variants, and of all of them.
    pub values: BTreeMap<String, String>,
    /// Label of the load.
    pub load: String,
    /// Verb that measures it: `run`, `sweep`, `capacity`, or `compare`, which has all variants in one step.
    pub verb: String,
    /// Command that makes the same measurement by itself.
    pub command: Vec<String>,
    /// Directory below that of the experiment; a step that is measured again has a number behind it.
    pub directory: String,
    /// About how long it takes; null where a number of requests is measured; ns.
    pub estimated_ns: Option<u64>,
    /// Label of the variant whose limiter predicts this one; omitted where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Settings that bound how much the server does at a time, by their names in the server, such as `pm.max_children`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
}

/// What came of a step: a line of `steps.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Number in the plan.
    pub number: u64,
    /// Directory below that of the experiment.
    pub directory: String,
    /// Time it took in all, with start and end of its server; null when the program ended before that was written; ns.
    pub took_ns: Option<u64>,
    /// Exit code that the verb would have had by itself, with the verdict of the step.
    pub exit: u8,
    /// Why it ended early or gave no result, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its result in short; null when there is none, and the step is still to be made.
    pub result: Option<StepResult>,
}

/// Result of a step in short: that of a run, of the load at a sweep's peak, of a trial at the lower end of a capacity's
/// bracket, or of the baseline of a comparison at saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Verdict of the whole step; quantiles that a run was too short for count for nothing, as they are not shown.
    pub verdict: VerdictState,
    /// Rules that made it invalid or a bound.
    pub rules: Vec<String>,
    /// Rules that could not be checked.
    pub unchecked: Vec<String>,
    /// True if it was stopped from outside before its plan was done: it is then still to be made.
    pub interrupted: bool,
    /// Target.
    pub url: String,
    /// Connections, or requests per second.
    pub load: f64,
    /// `connections` or `per_s`.
    pub load_unit: String,
    /// Responses per second that met the contract.
    pub goodput_per_s: Estimate,
    /// Complete responses per second, good or not.
    pub throughput_per_s: f64,
    /// Response times; ns.
    pub response_ns: Quantiles,
    /// 99th percentile of the response time; null where too few requests are behind it; ns.
    pub response_p99_ns: Option<u64>,
    /// Failed share of the requests, 0 to 1.
    pub failed_share: f64,
    /// Largest busy share of any load thread, 0 to 1; null where no second was long enough to tell.
    #[serde(with = "crate::unmeasured")]
    pub generator_busy_max: f64,
    /// Length of the measured windows; ns.
    pub measured_ns: u64,
    /// CPUs that the server and its companions kept busy; null where it was not observed.
    pub server_cpu_cores: Option<f64>,
    /// CPU time of the server and its companions per complete response; null where it was not observed; ns.
    pub server_cpu_ns_per_request: Option<Estimate>,
    /// Resident memory of the server and its companions, each at its largest; null where it was not observed; bytes.
    pub server_rss_bytes_max: Option<u64>,
    /// Bracket of a capacity; null of other verbs.
    pub capacity: Option<StepCapacity>,
    /// Quantities of a comparison that decide; omitted of other verbs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<MetricRecord>,
    /// What stops the server; null where it was not looked for.
    #[serde(default)]
    pub limiter: Option<Limiter>,
    /// CPU time of each program of the server and of its companions; omitted where they were not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramCpu>,
    /// Figures of which only the side is known on which the true one is, by name: `goodput`, `p50`, `p90`, `p99`; omitted without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, Bound>,
}

/// CPU time of a program of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramCpu {
    /// Its name, without a version where it is a known one.
    pub name: String,
    /// CPU time of all its processes per complete response; ns.
    pub cpu_ns_per_request: f64,
}

/// A capacity in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepCapacity {
    /// Highest load that held; null when none did; per second.
    pub low: Option<f64>,
    /// Lowest load above it that failed; null when none did; per second.
    pub high: Option<f64>,
    /// Why the search ended.
    pub reason: String,
}

/// Result of an experiment: `experiment --json`, and its `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// [`crate::FORMAT_EXPERIMENT`].
    pub format: String,
    /// The worst state of the steps, and all that any of them left unchecked. The findings stand in the steps.
    pub verdict: Verdict,
    /// Each variant with each load, in the order of the file, over its repetitions.
    pub rows: Vec<ExperimentRow>,
    /// What came of the steps that were made, in the order of the plan.
    pub steps: Vec<StepRecord>,
    /// What was to be done.
    pub plan: ExperimentPlan,
    /// Where it ran.
    pub environment: Environment,
    /// Wall-clock start of the first step, RFC 3339, UTC.
    pub started: String,
    /// True if steps are missing that were not tried: it can be resumed.
    pub interrupted: bool,
}

/// One variant under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRow {
    /// Label of the variant.
    pub variant: String,
    /// Label of the load.
    pub load: String,
    /// Verb that measured it.
    pub verb: String,
    /// Worst state of its steps; null when none has a result.
    pub verdict: Option<VerdictState>,
    /// Rules that made any of its steps less than valid, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Numbers of its steps that have a result.
    pub steps: Vec<u64>,
    /// Steps without a result.
    pub missing: u64,
    /// Goodput. Of several repetitions their mean, with a 95 % t interval from 6 on; of one its own interval. Of a sweep
    /// at its peak, of a capacity at the lower end of its bracket, of a comparison that of the baseline.
    pub goodput_per_s: Option<Estimate>,
    /// Response times of all repetitions together; null where the histograms of one are missing, and of other verbs than a
    /// run.
    #[serde(default)]
    pub response_ns: Option<RowQuantiles>,
    /// 99th percentile of the response time in each repetition that knows it, in rising order; ns.
    pub response_p99_ns: Vec<u64>,
    /// CPU time of the server and its companions per complete response, over repetitions as the goodput; ns.
    pub server_cpu_ns_per_request: Option<Estimate>,
    /// Mean response time, over repetitions as the goodput; null where more than 0.1 % of the requests of any have failed,
    /// as the time of a failure is not that of a response; ns.
    #[serde(default)]
    pub response_mean_ns: Option<Estimate>,
    /// Where that time went: CPU time of each program per response, and what is left; empty where the programs were not
    /// observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Bracket of a capacity: the lowest of the lower ends and the highest of the upper ends; null of other verbs.
    pub capacity: Option<StepCapacity>,
    /// Name of the limiter that most of its steps found, and at least half of them; null when there is none.
    #[serde(default)]
    pub limiter: Option<String>,
    /// Steps that found it.
    #[serde(default)]
    pub limiter_steps: u64,
    /// What the variant before it (`after`) let expect of it; null where its limiters claim nothing.
    #[serde(default)]
    pub predicted: Option<PredictedRow>,
    /// Figures that are only bounds in one of its steps, by name: `goodput`, `p50`, `p90`, `p99`; omitted without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, Bound>,
}

/// Quantiles of merged histograms; null where fewer than 100 values lie beyond; ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowQuantiles {
    /// Values.
    pub n: u64,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
}

impl RowQuantiles {
    /// Those of all values in `histogram`.
    #[must_use]
    pub fn of(histogram: &MergedHistogram) -> Self {
        let n = histogram.count();
        let known = |q: f64| is_quantile_known(n as f64, q).then(|| histogram.quantile(q));
        Self { n, p50: known(0.5), p90: known(0.9), p99: known(0.99) }
    }
}

/// Part of the mean response time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Program that used CPU time; null for what is left: time waited for a worker, a CPU, a disk or another machine, and
    /// time of the network and the client.
    pub program: Option<String>,
    /// Mean over the repetitions, with a 95 % t interval from 6 on; ns.
    pub ns_per_response: Estimate,
}

/// A prediction of a row, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedRow {
    /// The variant whose limiter it rests on.
    pub after: String,
    /// Responses per second; mean over the steps of that variant whose limiters claim something.
    pub expected_per_s: f64,
    /// Measured goodput over the prediction; null while nothing was measured.
    pub measured_ratio: Option<f64>,
}

/// A line of `steps.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "experiment", rename_all = "snake_case")]
pub enum ExperimentEvent {
    /// It begins, or goes on.
    Begun(Box<ExperimentBegun>),
    /// A step has been made.
    Step(Box<StepRecord>),
}

/// Where and when an experiment began or went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentBegun {
    /// Wall-clock time, RFC 3339, UTC.
    pub started: String,
    /// Where.
    pub environment: Environment,
}

impl StepRecord {
    /// True if it need not be made any more: it has a result, and was not cut short.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.result.as_ref().is_some_and(|result| !result.interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_as_many_values_beyond_it() {
        let of = |n: u64| {
            let mut histogram = MergedHistogram::new();
            (1..=n).for_each(|value_ns| histogram.record(value_ns));
            let all = RowQuantiles::of(&histogram);
            (all.n, all.p50.is_some(), all.p90.is_some(), all.p99.is_some())
        };
        assert_eq!(of(0), (0, false, false, false));
        assert_eq!(of(198), (198, false, false, false));
        assert_eq!(of(200), (200, true, false, false));
        assert_eq!(of(1_000), (1_000, true, true, false));
        assert_eq!(of(10_000), (10_000, true, true, true));
    }
}
