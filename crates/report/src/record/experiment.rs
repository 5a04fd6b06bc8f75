//! Steps of an experiment in short, and their rows over repetitions.

use super::{AnyRecord, layers, peak_point};
use crate::bounds::{is_bound_by, is_goodput_bound, is_peak_bound, response_bound, response_quantile};
use crate::sums::failed_share;
use model::{
    Bound, CapacityRecord, CompareLoad, CompareRecord, Environment, Estimate, ExperimentPlan, ExperimentRecord,
    ExperimentRow, FORMAT_EXPERIMENT, FindingState, Limiter, Load, Observed, PlannedStep, PredictedRow, Quantile,
    RunRecord, StepCapacity, StepRecord, StepResult, SweepRecord, TrialRecord, Verdict, VerdictState, bounding,
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
        AnyRecord::Sweeps(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => None,
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
    let response = &run.latency_ns.response;
    let is_p99_known = response.n > 0 && response_quantile(&run.verdict, Quantile::P99, response.p99).is_some();
    let observed = run.observed.as_ref();
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
        response_ns: response.clone(),
        response_p99_ns: is_p99_known.then_some(response.p99),
        failed_share: failed_share(run),
        generator_busy_max: run.generator.busy_max,
        measured_ns: run.measured_ns,
        server_cpu_cores: observed.and_then(Observed::server_cpu_cores),
        server_cpu_ns_per_request: run.server_cpu_ns_per_request,
        server_rss_bytes_max: observed.and_then(Observed::server_rss_bytes_max),
        capacity: None,
        effects: Vec::new(),
        limiter: run.limiter.clone(),
        programs: layers::programs(observed),
        bounds: bounds(run),
    }
}

/// The figures that are only bounds.
fn bounds(run: &RunRecord) -> BTreeMap<String, Bound> {
    let is_goodput_bound = is_goodput_bound(run) || is_bound_by(&run.verdict, bounding::SHARED_CPUS);
    let goodput = ("goodput".to_owned(), is_goodput_bound.then_some(Bound::AtLeast));
    let quantiles = [Quantile::P50, Quantile::P90, Quantile::P99];
    let quantiles = quantiles.map(|quantile| (quantile.key(), response_bound(&run.verdict, quantile)));
    let known = quantiles.into_iter().chain([goodput]);
    known.filter_map(|(name, bound)| Some((name, bound?))).collect()
}

/// The load of the peak, with its goodput over the iterations.
fn of_sweep(record: &SweepRecord) -> Option<StepResult> {
    let (run, peak) = (peak_point(record)?, record.peak?);
    let iterations = record.curve.iter().find(|point| point.load == peak.load).map(|point| &point.iterations_per_s);
    let goodput = iterations.filter(|values| !values.is_empty()).map(|values| stats::mean_of_runs(values));
    let goodput_per_s = Estimate { value: peak.goodput_per_s, ..goodput.unwrap_or(run.goodput_per_s) };
    let limiter = record.limiter.clone();
    let mut step = of_run(run, &record.verdict);
    // Of a peak the verdict on all loads decides.
    if is_peak_bound(record) {
        step.bounds.insert("goodput".to_owned(), Bound::AtLeast);
    }
    Some(StepResult { goodput_per_s, interrupted: record.interrupted, limiter, ..step })
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
        limiter: record.limiter.clone(),
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
    let mut rows: Vec<ExperimentRow> = by_combination.values().map(|planned| row(planned[0], planned, steps)).collect();
    for (planned, row) in by_combination.values().zip(&mut rows) {
        row.predicted = predicted(planned[0], row, &by_combination, steps);
    }
    rows
}

fn row(first: &PlannedStep, planned: &[&PlannedStep], steps: &[StepRecord]) -> ExperimentRow {
    let made = planned.iter().filter_map(|planned| steps.iter().find(|step| step.number == planned.number));
    let results: Vec<(u64, &StepResult)> = made
        .filter_map(|step| Some((step.number, step.result.as_ref()?)))
        .filter(|(_, one)| !one.interrupted)
        .collect();
    let goodput: Vec<Estimate> = results.iter().map(|(_, result)| result.goodput_per_s).collect();
    let cpu: Vec<Estimate> = results.iter().filter_map(|(_, result)| result.server_cpu_ns_per_request).collect();
    let limiters = results.iter().filter_map(|(_, result)| result.limiter.as_ref());
    let most_common = most_common(limiters.map(|limiter| limiter.name.as_str()));
    let (limiter, limiter_steps) = most_common.filter(|(_, count)| 2 * count >= results.len() as u64).unzip();
    let mut response_p99_ns: Vec<u64> = results.iter().filter_map(|(_, result)| result.response_p99_ns).collect();
    response_p99_ns.sort_unstable();
    let all: Vec<&StepResult> = results.iter().map(|(_, result)| *result).collect();
    let capacities: Vec<&StepCapacity> = results.iter().filter_map(|(_, result)| result.capacity.as_ref()).collect();
    ExperimentRow {
        variant: first.variant.clone(),
        load: first.load.clone(),
        verb: first.verb.clone(),
        verdict: results.iter().map(|(_, result)| result.verdict).max(),
        rules: all.iter().flat_map(|result| &result.rules).cloned().collect::<BTreeSet<_>>().into_iter().collect(),
        steps: results.iter().map(|(number, _)| *number).collect(),
        missing: (planned.len() - results.len()) as u64,
        goodput_per_s: over_repetitions(&goodput),
        response_ns: None,
        response_p99_ns,
        server_cpu_ns_per_request: over_repetitions(&cpu),
        response_mean_ns: layers::response_mean_ns(&all),
        layers: layers::layers(&all),
        capacity: widest(&capacities),
        limiter,
        limiter_steps: limiter_steps.unwrap_or_default(),
        predicted: None,
        bounds: all.iter().flat_map(|result| result.bounds.clone()).collect(),
    }
}

/// The name that comes most often, of several the first in the alphabet, and how often.
fn most_common<'a>(names: impl Iterator<Item = &'a str>) -> Option<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some((most.0.to_owned(), most.1))
}

/// What the limiters of the variant before let expect of a row under the same load.
fn predicted(
    first: &PlannedStep,
    row: &ExperimentRow,
    combinations: &BTreeMap<u64, Vec<&PlannedStep>>,
    steps: &[StepRecord],
) -> Option<PredictedRow> {
    let after = first.after.as_ref()?;
    let is_before =
        |planned: &PlannedStep| (&planned.variant, &planned.load, &planned.verb) == (after, &first.load, &first.verb);
    let before = combinations.values().find(|planned| is_before(planned[0]))?;
    let results = before.iter().filter_map(|planned| steps.iter().find(|step| step.number == planned.number));
    let limiters = results.filter_map(|step| step.result.as_ref()?.limiter.as_ref());
    let claims: Vec<f64> = limiters.filter_map(|limiter| claim(limiter, &before[0].limits, &first.limits)).collect();
    if claims.is_empty() {
        return None;
    }
    let expected_per_s = claims.iter().sum::<f64>() / claims.len() as f64;
    let measured = row.goodput_per_s.filter(|_| expected_per_s > 0.0);
    let measured_ratio = measured.map(|goodput| goodput.value / expected_per_s);
    Some(PredictedRow { after: after.clone(), expected_per_s, measured_ratio })
}

/// Responses per second that a limiter lets expect of the same server with one of its limits changed: in proportion where
/// it is that limit, up to the next one; as much as before where it is another. None of any other change.
fn claim(limiter: &Limiter, before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Option<f64> {
    let mut changed = before.iter().filter_map(|(name, from)| {
        let to = after.get(name).filter(|to| *to != from)?;
        Some((name, *from as f64, *to as f64))
    });
    let (name, from, to) = changed.next()?;
    if changed.next().is_some() || before.len() != after.len() {
        return None;
    }
    let ceiling_per_s = limiter.ceiling_per_s?;
    let is_it = limiter.prediction.as_ref().is_some_and(|prediction| prediction.setting.as_ref() == Some(name));
    if !is_it {
        return (to > from).then_some(ceiling_per_s);
    }
    let next_per_s = limiter.next.as_ref().map_or(f64::INFINITY, |next| next.ceiling_per_s);
    Some((ceiling_per_s * to / from).min(next_per_s))
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::{NextLimiter, Prediction};

    fn limits(children: u64) -> BTreeMap<String, u64> {
        [("pm.max_children".to_owned(), children), ("worker_processes".to_owned(), 1)].into()
    }

    /// A pool of php-fpm that gives 20/s, and CPUs that give 45/s.
    fn pool() -> Limiter {
        let prediction = Prediction {
            change: "2 php-fpm workers instead of 1".to_owned(),
            setting: Some("pm.max_children".to_owned()),
            from: Some(1.0),
            to: Some(2.0),
            expected_per_s: 40.0,
            low_per_s: None,
            high_per_s: None,
        };
        let next = NextLimiter { name: "server CPUs".to_owned(), ceiling_per_s: 45.0 };
        Limiter { ceiling_per_s: Some(20.0), next: Some(next), prediction: Some(prediction), ..Limiter::default() }
    }

    #[test]
    fn a_pool_lets_expect_as_much_more_as_it_has_workers_up_to_the_next_limit() {
        assert_eq!(claim(&pool(), &limits(1), &limits(2)), Some(40.0));
        assert_eq!(claim(&pool(), &limits(1), &limits(25)), Some(45.0));
        assert_eq!(claim(&pool(), &limits(2), &limits(1)), Some(10.0));
    }

    #[test]
    fn workers_buy_nothing_where_something_else_limits() {
        let cpu = Limiter { ceiling_per_s: Some(45.0), prediction: None, next: None, ..pool() };
        assert_eq!(claim(&cpu, &limits(3), &limits(5)), Some(45.0));
        assert_eq!(claim(&cpu, &limits(5), &limits(3)), None, "with fewer the pool may be the limit");
    }

    #[test]
    fn of_another_change_nothing_is_claimed() {
        assert_eq!(claim(&pool(), &limits(5), &limits(5)), None, "a cache");
        assert_eq!(claim(&pool(), &limits(5), &BTreeMap::new()), None, "another server");
        let two = [("pm.max_children".to_owned(), 9), ("worker_processes".to_owned(), 2)].into();
        assert_eq!(claim(&pool(), &limits(5), &two), None, "two changes");
        assert_eq!(claim(&Limiter { ceiling_per_s: None, ..pool() }, &limits(1), &limits(2)), None);
    }

    #[test]
    fn the_limiter_of_a_row_is_that_of_most_of_its_steps() {
        assert_eq!(most_common(["b", "a", "b"].into_iter()), Some(("b".to_owned(), 2)));
        assert_eq!(most_common(["b", "a"].into_iter()), Some(("a".to_owned(), 1)));
        assert_eq!(most_common([].into_iter()), None);
    }
}
