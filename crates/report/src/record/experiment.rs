//! Steps of an experiment in short, and their rows over repetitions.

use super::{AnyRecord, peak_point};
use crate::terminal::run::{failed_share, quantile};
use model::{
    CapacityRecord, CompareLoad, CompareRecord, Environment, Estimate, ExperimentPlan, ExperimentRecord, ExperimentRow,
    FORMAT_EXPERIMENT, FindingState, Load, PlannedStep, RunRecord, StepCapacity, StepRecord, StepResult, SweepRecord,
    TrialRecord, Verdict, VerdictState,
};
use std::collections::{BTreeMap, BTreeSet};

/// Directory of the steps of an experiment, inside its own.
pub const STEPS_FOLDER: &str = "steps";

/// The result of a step in short; none where no load of it can stand for it, and of what is no step.
#[must_use]
pub fn step_result(record: AnyRecord<'_>) -> Option<StepResult> {
    match record {
        AnyRecord::Run(record) => Some(of_run(record, &record.verdict)),
        AnyRecord::Sweep(record) => of_sweep(record),
        AnyRecord::Capacity(record) => of_capacity(record),
        AnyRecord::Compare(record) => of_compare(record),
        AnyRecord::Sweeps(_) | AnyRecord::Experiment(_) => None,
    }
}

fn of_run(run: &RunRecord, verdict: &Verdict) -> StepResult {
    let decisive = match verdict.state {
        VerdictState::Valid => None,
        VerdictState::Bound => Some(FindingState::Bound),
        VerdictState::Invalid => Some(FindingState::Invalid),
    };
    let rules = verdict.findings.iter().filter(|finding| Some(finding.state) == decisive);
    let (load, load_unit) = match run.plan.load {
        Load::Closed { connections } => (f64::from(connections), "connections"),
        Load::Open { rate_per_s, .. } => (rate_per_s, "per_s"),
    };
    let response = run.latency_ns.response;
    let is_known = response.n > 0 && quantile(&run.verdict, "p99", response.p99) != "-";
    let server = run.observed.as_ref().and_then(|observed| observed.server.as_ref());
    StepResult {
        verdict: verdict.state,
        rules: rules.map(|finding| finding.rule.clone()).collect(),
        unchecked: verdict.unchecked.clone(),
        interrupted: run.interrupted,
        url: run.plan.target.url.clone(),
        load,
        load_unit: load_unit.to_owned(),
        goodput_per_s: run.goodput_per_s,
        throughput_per_s: run.throughput_per_s,
        response_ns: response,
        response_p99_ns: is_known.then_some(response.p99),
        failed_share: failed_share(run),
        generator_busy_max: run.generator.busy_max,
        measured_ns: run.measured_ns,
        server_cpu_cores: server.map(|server| server.cpu_cores),
        server_cpu_ns_per_request: run.server_cpu_ns_per_request,
        server_rss_bytes_max: server.map(|server| server.rss_bytes_max),
        capacity: None,
        effects: Vec::new(),
    }
}

/// The load of the peak, with its goodput over the iterations.
fn of_sweep(record: &SweepRecord) -> Option<StepResult> {
    let (run, peak) = (peak_point(record)?, record.peak?);
    let iterations = record.curve.iter().find(|point| point.load == peak.load).map(|point| &point.iterations_per_s);
    let goodput = iterations.filter(|values| !values.is_empty()).map(|values| stats::mean_of_runs(values));
    let goodput_per_s = Estimate { value: peak.goodput_per_s, ..goodput.unwrap_or(run.goodput_per_s) };
    Some(StepResult { goodput_per_s, interrupted: record.interrupted, ..of_run(run, &record.verdict) })
}

/// The last trial that counts at the lower end of the bracket; without one, the last at all.
fn of_capacity(record: &CapacityRecord) -> Option<StepResult> {
    let found = &record.capacity;
    let is_low = |trial: &TrialRecord| trial.counted && trial.held && Some(trial.load_per_s) == found.low;
    let run = record.outcomes.iter().rposition(is_low).map_or_else(|| record.trials.last(), |at| record.trials.get(at));
    let of_trial = of_run(run?, &record.verdict);
    let goodput = found.value.map(|value| Estimate { value, low: None, high: None, n: 1 });
    Some(StepResult {
        goodput_per_s: goodput.unwrap_or(of_trial.goodput_per_s),
        interrupted: record.interrupted,
        capacity: Some(StepCapacity { low: found.low, high: found.high, reason: found.reason.clone() }),
        load: found.low.unwrap_or(of_trial.load),
        ..of_trial
    })
}

/// The baseline at saturation, or else at another load; none while no load of it is complete.
fn of_compare(record: &CompareRecord) -> Option<StepResult> {
    let baseline = record.arms.first()?;
    let at = |load| record.runs.iter().find(|run| run.arm == baseline.name && run.load == load);
    let run = [CompareLoad::Saturated, CompareLoad::Fixed, CompareLoad::Capacity].into_iter().find_map(at)?;
    Some(StepResult {
        interrupted: record.interrupted,
        effects: record.metrics.iter().filter(|metric| metric.primary).cloned().collect(),
        ..of_run(&run.run, &record.verdict)
    })
}

/// The result of an experiment, of which `steps` were made.
#[must_use]
pub fn experiment_record(
    plan: ExperimentPlan,
    steps: Vec<StepRecord>,
    environment: Environment,
    started: String,
) -> ExperimentRecord {
    let results = || steps.iter().filter(|step| step.is_finished()).filter_map(|step| step.result.as_ref());
    let unchecked: BTreeSet<&String> = results().flat_map(|result| &result.unchecked).collect();
    let verdict = Verdict {
        state: results().map(|result| result.verdict).max().unwrap_or(VerdictState::Invalid),
        findings: Vec::new(),
        unchecked: unchecked.into_iter().cloned().collect(),
        unchecked_why: [].into(),
    };
    // A step that was cut short is in it, and still to be made.
    let is_tried = |planned: &PlannedStep| {
        let made = steps.iter().find(|step| step.number == planned.number);
        made.is_some_and(|step| step.result.as_ref().is_none_or(|result| !result.interrupted))
    };
    ExperimentRecord {
        format: FORMAT_EXPERIMENT.to_owned(),
        verdict,
        rows: rows(&plan, &steps),
        interrupted: !plan.steps.iter().all(is_tried),
        steps,
        plan,
        environment,
        started,
    }
}

/// Each variant with each load, in the order of the file.
fn rows(plan: &ExperimentPlan, steps: &[StepRecord]) -> Vec<ExperimentRow> {
    let mut by_combination: BTreeMap<u64, Vec<&PlannedStep>> = BTreeMap::new();
    for planned in &plan.steps {
        by_combination.entry(planned.combination).or_default().push(planned);
    }
    by_combination.values().map(|planned| row(planned[0], planned, steps)).collect()
}

fn row(first: &PlannedStep, planned: &[&PlannedStep], steps: &[StepRecord]) -> ExperimentRow {
    let made = planned.iter().filter_map(|planned| steps.iter().find(|step| step.number == planned.number));
    let results: Vec<(u64, &StepResult)> = made
        .filter_map(|step| Some((step.number, step.result.as_ref()?)))
        .filter(|(_, one)| !one.interrupted)
        .collect();
    let goodput: Vec<Estimate> = results.iter().map(|(_, result)| result.goodput_per_s).collect();
    let cpu: Vec<Estimate> = results.iter().filter_map(|(_, result)| result.server_cpu_ns_per_request).collect();
    let mut response_p99_ns: Vec<u64> = results.iter().filter_map(|(_, result)| result.response_p99_ns).collect();
    response_p99_ns.sort_unstable();
    let capacities: Vec<&StepCapacity> = results.iter().filter_map(|(_, result)| result.capacity.as_ref()).collect();
    ExperimentRow {
        variant: first.variant.clone(),
        load: first.load.clone(),
        verb: first.verb.clone(),
        verdict: results.iter().map(|(_, result)| result.verdict).max(),
        steps: results.iter().map(|(number, _)| *number).collect(),
        missing: (planned.len() - results.len()) as u64,
        goodput_per_s: over_repetitions(&goodput),
        response_p99_ns,
        server_cpu_ns_per_request: over_repetitions(&cpu),
        capacity: widest(&capacities),
    }
}

/// The only one as it is; of several their mean.
fn over_repetitions(estimates: &[Estimate]) -> Option<Estimate> {
    match estimates {
        [] => None,
        [only] => Some(*only),
        several => Some(stats::mean_of_runs(&several.iter().map(|estimate| estimate.value).collect::<Vec<_>>())),
    }
}

/// The bracket over all repetitions: an end that one of them does not know is not known.
fn widest(capacities: &[&StepCapacity]) -> Option<StepCapacity> {
    let first = *capacities.first()?;
    let lows: Option<Vec<f64>> = capacities.iter().map(|one| one.low).collect();
    let highs: Option<Vec<f64>> = capacities.iter().map(|one| one.high).collect();
    Some(StepCapacity {
        low: lows.and_then(|lows| lows.into_iter().reduce(f64::min)),
        high: highs.and_then(|highs| highs.into_iter().reduce(f64::max)),
        reason: if capacities.len() == 1 { first.reason.clone() } else { "widest over the repetitions".to_owned() },
    })
}
