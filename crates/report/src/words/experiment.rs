//! An experiment in words and rows.

use crate::Named;
use crate::bounds::sign;
use crate::record::AnyRecord;
use crate::sums::sum;
use crate::words::changes::{interval as interval_of_change, signed};
use crate::words::fact::{About, Fact, Tone};
use crate::words::verdict::{self, state_word};
use model::human::{count, plural, rate, time};
use model::{
    Bound, Estimate, ExperimentPlan, ExperimentRecord, ExperimentRow, MetricRecord, PlannedStep, PredictedRow,
    RowQuantiles, StepCapacity, StepRecord, StepResult, VerdictState,
};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of [`row`].
pub(crate) const HEADER: [&str; 14] = [
    "variant",
    "load",
    "verb",
    "verdict",
    "limiter",
    "goodput",
    "interval",
    "predicted",
    "mean response",
    "p50",
    "p90",
    "p99",
    "CPU per request",
    "n",
];
/// First columns of [`layers`]; the programs follow, and then [`LEFT`].
const HEADER_OF_LAYERS: [&str; TEXTS_OF_LAYERS + 1] = ["variant", "load", "mean response"];
/// Those of them that are text.
pub(crate) const TEXTS_OF_LAYERS: usize = 2;
/// What no program used CPU time for: queues, slow answers from elsewhere, network, client.
const LEFT: &str = "waiting, network, client";
const NO_RESULT: &str = "no result";
/// Columns of [`step_row`].
pub(crate) const STEP_HEADER: [&str; 8] = ["step", "block", "variant", "load", "verb", "verdict", "goodput", "took"];
/// Columns of [`plan_row`].
pub(crate) const PLAN_HEADER: [&str; 6] = ["step", "block", "variant", "load", "verb", "duration"];

/// A table of rows: its columns that say something, those of text first.
pub(crate) struct Columns {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Columns of text.
    pub(crate) texts: usize,
}

impl Columns {
    /// All that say something of `rows`.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a ExperimentRow>) -> Self {
        let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
        let differ = |column: usize| rows.windows(2).any(|pair| pair[0][column] != pair[1][column]);
        let says = |column: usize| match HEADER[column] {
            "variant" | "load" | "verdict" | "goodput" => true,
            "verb" => differ(column),
            "n" => rows.iter().any(|row| row[column] != "1"),
            _ => rows.iter().any(|row| row[column] != "-"),
        };
        let saying: Vec<&str> = (0..HEADER.len()).filter(|column| says(*column)).map(|column| HEADER[column]).collect();
        let texts = HEADER.iter().take_while(|name| **name != "goodput").count();
        let all = Self { header: HEADER.map(str::to_owned).to_vec(), rows, texts };
        all.only(|name| saying.contains(&name))
    }

    /// The same with some of the columns.
    pub(crate) fn only(&self, is_shown: impl Fn(&str) -> bool) -> Self {
        let shown: Vec<usize> = (0..self.header.len()).filter(|i| is_shown(&self.header[*i])).collect();
        let cells = |row: &Vec<String>| shown.iter().map(|i| row[*i].clone()).collect();
        let texts = shown.iter().filter(|i| **i < self.texts).count();
        Self { header: cells(&self.header), rows: self.rows.iter().map(cells).collect(), texts }
    }
}

/// The rows of an experiment; none of another result.
pub(crate) fn rows_of(named: Named<'_>) -> &[ExperimentRow] {
    match named.record {
        AnyRecord::Experiment(record) => &record.rows,
        _ => &[],
    }
}

/// One variant under one load.
fn row(row: &ExperimentRow) -> Vec<String> {
    let none = || "-".to_owned();
    let interval = match &row.capacity {
        Some(capacity) => bracket(capacity),
        None => row.goodput_per_s.and_then(|goodput| interval(&goodput)).unwrap_or_else(none),
    };
    vec![
        row.variant.clone(),
        row.load.clone(),
        row.verb.clone(),
        row.verdict.map_or_else(|| NO_RESULT.to_owned(), |state| verdict(state, &row.rules)),
        limiter(row),
        row.goodput_per_s
            .map_or_else(none, |goodput| format!("{}{}", sign_of(&row.bounds, "goodput"), rate(goodput.value))),
        interval,
        row.predicted.as_ref().map_or_else(none, predicted),
        row.response_mean_ns.map_or_else(none, |mean| time(mean.value)),
        quantile(row, "p50", |all| all.p50),
        quantile(row, "p90", |all| all.p90),
        quantile(row, "p99", |all| all.p99),
        row.server_cpu_ns_per_request.map_or_else(none, |cpu| time(cpu.value)),
        match row.missing {
            0 => row.steps.len().to_string(),
            missing => format!("{} of {}", row.steps.len(), row.steps.len() as u64 + missing),
        },
    ]
}

/// Where the mean response times went: a header, and a row for each variant and load of which it is known, with the CPU time
/// of each program and what is left. None where nothing is known of any.
pub(crate) fn layers(record: &ExperimentRecord) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let known: Vec<&ExperimentRow> = record.rows.iter().filter(|row| !row.layers.is_empty()).collect();
    let mut programs: Vec<&str> = Vec::new();
    for program in known.iter().flat_map(|row| &row.layers).filter_map(|layer| layer.program.as_deref()) {
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    let columns: Vec<Option<&str>> = programs.iter().map(|program| Some(*program)).chain([None]).collect();
    let row = |row: &&ExperimentRow| {
        let part = |column: &Option<&str>| {
            let layer = row.layers.iter().find(|layer| layer.program.as_deref() == *column);
            layer.map_or_else(|| "-".to_owned(), |layer| between(&layer.ns_per_response, time))
        };
        let mean = row.response_mean_ns.map_or_else(|| "-".to_owned(), |mean| between(&mean, time));
        [row.variant.clone(), row.load.clone(), mean].into_iter().chain(columns.iter().map(part)).collect()
    };
    let begin = HEADER_OF_LAYERS.into_iter().chain(programs).chain([LEFT]);
    (!known.is_empty()).then(|| (begin.map(str::to_owned).collect(), known.iter().map(row).collect()))
}

/// A value in `words`, with its interval where there is one: `20.5 ms (19.9 ms to 21.1 ms)`.
pub(crate) fn between(estimate: &Estimate, words: fn(f64) -> String) -> String {
    let ends = estimate.low.zip(estimate.high);
    let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", words(low.max(0.0)), words(high)));
    format!("{}{ends}", words(estimate.value))
}

/// A state with the rules that made it so: `bound (LD-08)`.
fn verdict(state: VerdictState, rules: &[String]) -> String {
    let rules = if rules.is_empty() { String::new() } else { format!(" ({})", rules.join(", ")) };
    format!("{}{rules}", state_word(state))
}

/// The limiter of most steps, and of how many if others found another.
fn limiter(row: &ExperimentRow) -> String {
    match &row.limiter {
        None => "-".to_owned(),
        Some(name) if row.limiter_steps == row.steps.len() as u64 => name.clone(),
        Some(name) => format!("{name} ({} of {})", row.limiter_steps, row.steps.len()),
    }
}

/// What was expected, and by how much the measured goodput is off: `40.0/s, +3 %`.
fn predicted(predicted: &PredictedRow) -> String {
    let off = predicted.measured_ratio.map_or_else(String::new, |ratio| format!(", {}", signed(ratio - 1.0)));
    format!("{}{off}", rate(predicted.expected_per_s))
}

/// The 95 % interval; none where there is none.
fn interval(estimate: &Estimate) -> Option<String> {
    estimate.low.zip(estimate.high).map(|(low, high)| range(low, high))
}

fn range(low: f64, high: f64) -> String {
    format!("{} to {}", rate(low).trim_end_matches("/s"), rate(high))
}

/// Both ends of a capacity, or the one that is known.
fn bracket(capacity: &StepCapacity) -> String {
    match (capacity.low, capacity.high) {
        (Some(low), Some(high)) => range(low, high),
        (Some(low), None) => format!(">= {}", rate(low)),
        (None, Some(high)) => format!("< {}", rate(high)),
        (None, None) => "not known".to_owned(),
    }
}

/// A quantile over all repetitions together. Where that is not known, a p99 is the lowest and highest of the repetitions.
fn quantile(row: &ExperimentRow, key: &str, of: impl Fn(RowQuantiles) -> Option<u64>) -> String {
    let known = match row.response_ns {
        Some(all) => of(all).map(|ns| time(ns as f64)),
        None => (key == "p99").then(|| lowest_to_highest(&row.response_p99_ns)),
    };
    match known.filter(|text| text != "-") {
        Some(text) => format!("{}{text}", sign_of(&row.bounds, key)),
        None => "-".to_owned(),
    }
}

fn lowest_to_highest(values_ns: &[u64]) -> String {
    match values_ns {
        [] => "-".to_owned(),
        [first, .., last] if time(*first as f64) != time(*last as f64) => {
            format!("{} to {}", time(*first as f64), time(*last as f64))
        }
        [first, ..] => time(*first as f64),
    }
}

/// What stands before a figure that is only a bound.
fn sign_of(bounds: &BTreeMap<String, Bound>, figure: &str) -> &'static str {
    sign(bounds.get(figure).copied())
}

/// The goodput of a step, as a bound where it is one.
pub(crate) fn goodput(result: &StepResult) -> String {
    format!("{}{}", sign_of(&result.bounds, "goodput"), rate(result.goodput_per_s.value))
}

/// One step that was made.
pub(crate) fn step_row(planned: &PlannedStep, made: &StepRecord) -> Vec<String> {
    let result = made.result.as_ref();
    let verdict = match result {
        Some(result) if result.interrupted => "interrupted".to_owned(),
        Some(result) => verdict(result.verdict, &result.rules),
        None => NO_RESULT.to_owned(),
    };
    let mut row = of_step(planned);
    row.extend([
        verdict,
        result.map_or_else(|| "-".to_owned(), goodput),
        made.took_ns.map_or_else(|| "-".to_owned(), |ns| time(ns as f64)),
    ]);
    row
}

/// One step that is to be made.
pub(crate) fn plan_row(planned: &PlannedStep) -> Vec<String> {
    let mut row = of_step(planned);
    row.push(planned.estimated_ns.map_or_else(|| "not known".to_owned(), |ns| format!("about {}", time(ns as f64))));
    row
}

/// What a step is, however far it has come.
fn of_step(planned: &PlannedStep) -> Vec<String> {
    vec![
        planned.number.to_string(),
        planned.repetition.to_string(),
        planned.variant.clone(),
        planned.load.clone(),
        planned.verb.clone(),
    ]
}

/// What the comparisons among the steps have found, a line for each change: `new: goodput, saturation +12 % (+10.0 to
/// +14.0 %), better (step 3, new against old)`.
pub fn effects(record: &ExperimentRecord) -> Vec<String> {
    let of_step = |(planned, step): (&PlannedStep, &StepRecord)| {
        let of = format!("step {}, {}", planned.number, planned.variant);
        let effects = step.result.iter().flat_map(|result| &result.effects);
        effects.map(|effect| format!("{} ({of})", change(effect))).collect::<Vec<_>>()
    };
    made(record).flat_map(of_step).collect()
}

fn change(effect: &MetricRecord) -> String {
    let MetricRecord { arm, metric, load, ratio, call, .. } = effect;
    let range = interval_of_change(ratio).map_or_else(String::new, |range| format!(" ({range})"));
    let (metric, load, call) = (metric.words(), load.words(), call.words());
    format!("{arm}: {metric}, {load} {}{range}, {call}", signed(ratio.value - 1.0))
}

/// Steps that were made, with their plan.
pub(crate) fn made(record: &ExperimentRecord) -> impl Iterator<Item = (&PlannedStep, &StepRecord)> {
    let mut by_number: BTreeMap<u64, &PlannedStep> = BTreeMap::new();
    for planned in &record.plan.steps {
        by_number.entry(planned.number).or_insert(planned);
    }
    record.steps.iter().filter_map(move |step| Some((*by_number.get(&step.number)?, step)))
}

/// All that is known of an experiment.
pub(crate) fn facts(record: &ExperimentRecord) -> Vec<Fact> {
    let took_ns = sum(record.steps.iter().filter_map(|step| step.took_ns));
    let took = (took_ns > 0).then(|| time(took_ns as f64));
    let errors = made(record).filter_map(|(planned, step)| {
        let error = step.error.as_ref()?;
        Some(format!("step {}, {}, {}: {error}", planned.number, planned.variant, planned.load))
    });
    let known = Fact::known;
    let mut facts = vec![verdict::fact_that_means(&record.verdict, meaning(record))];
    facts.extend(plan_facts(&record.plan));
    facts.extend(known(About::Load, "took", took));
    let unfinished = known(About::Load, "unfinished", unfinished(record));
    facts.extend(unfinished.map(|fact| fact.with_tone(Tone::Unsure)));
    facts.extend(effects(record).into_iter().map(|text| Fact::new(About::Result, "compared", text)));
    facts.extend(errors.map(|text| Fact::new(About::Result, "error", text).with_tone(Tone::Bad)));
    facts
}

/// All that is known of a plan beside its steps.
pub(crate) fn plan_facts(plan: &ExperimentPlan) -> [Fact; 3] {
    [
        Fact::new(About::Target, "experiment", plan.name.clone()),
        Fact::new(About::Load, "plan", size(plan)),
        Fact::new(About::Load, "planned time", duration(plan)),
    ]
}

/// What the verdict of all rests on: `worst of 6 steps: 5 valid, 1 bound (CL-01)`.
pub(crate) fn meaning(record: &ExperimentRecord) -> String {
    let finished = record.steps.iter().filter(|step| step.is_finished());
    let results: Vec<_> = finished.filter_map(|step| step.result.as_ref()).collect();
    if results.is_empty() {
        return "no step has a result".to_owned();
    }
    let states = [VerdictState::Valid, VerdictState::Bound, VerdictState::Invalid].into_iter().filter_map(|state| {
        let of = results.iter().filter(|result| result.verdict == state);
        let rules: BTreeSet<&str> = of.clone().flat_map(|result| result.rules.iter().map(String::as_str)).collect();
        let rules: Vec<&str> = rules.into_iter().collect();
        let rules = if rules.is_empty() { String::new() } else { format!(" ({})", rules.join(", ")) };
        let n = of.count();
        (n > 0).then(|| format!("{n} {}{rules}", state_word(state)))
    });
    let states: Vec<String> = states.collect();
    format!("worst of {}: {}", plural(results.len() as u64, "step"), states.join(", "))
}

/// Size and order of a plan in a sentence.
fn size(plan: &ExperimentPlan) -> String {
    let variants: BTreeSet<&str> = plan.steps.iter().map(|step| step.variant.as_str()).collect();
    let loads: BTreeSet<(&str, &str)> =
        plan.steps.iter().map(|step| (step.verb.as_str(), step.load.as_str())).collect();
    let blocks = match plan.repetitions {
        1 => "1 shuffled block".to_owned(),
        n => format!("{} shuffled blocks", count(n)),
    };
    format!(
        "{}: {}, {}, {blocks}, seed {}",
        plural(plan.steps.len() as u64, "step"),
        plural(variants.len() as u64, "variant"),
        plural(loads.len() as u64, "load"),
        plan.seed
    )
}

/// How long a plan takes, with its limit.
fn duration(plan: &ExperimentPlan) -> String {
    let known_ns = sum(plan.steps.iter().filter_map(|step| step.estimated_ns));
    let unknown = plan.steps.iter().filter(|step| step.estimated_ns.is_none()).count();
    let budget = plan.budget_ns.map_or_else(String::new, |ns| format!("; budget {}", time(ns as f64)));
    let about = format!("about {}", time(known_ns as f64));
    match unknown {
        0 => format!("{about}{budget}"),
        n if n == plan.steps.len() => format!("not known: a number of requests has no length{budget}"),
        n => format!("{about}, and {} of unknown length{budget}", plural(n as u64, "step")),
    }
}

/// What has to be said of a result that is not whole.
fn unfinished(record: &ExperimentRecord) -> Option<String> {
    let left = sum(record.rows.iter().map(|row| row.missing));
    let steps = plural(record.plan.steps.len() as u64, "step");
    (left > 0).then(|| format!("{left} of {steps} without a result; the same command with -o DIR goes on"))
}
