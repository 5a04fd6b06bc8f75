//! A fixed record of an experiment.

use crate::fixtures::{bound_run, valid_run, valid_sweep};
use model::{
    ExperimentPlan, ExperimentRecord, FORMAT_PLAN, NS_PER_S, PlannedStep, RunRecord, StepCapacity, StepRecord,
    StepResult,
};
use report::record::{AnyRecord, experiment_record, step_result};

/// Variants and loads, each measured in two blocks.
const COMBINATIONS: [(&str, &str, &str); 4] = [
    ("workers=2", "steady", "run"),
    ("workers=2", "capacity", "capacity"),
    ("workers=4", "steady", "run"),
    ("workers=4", "capacity", "capacity"),
];
/// Orders of the two blocks.
const ORDER: [usize; 8] = [2, 0, 3, 1, 0, 1, 2, 3];

/// Two variants under two loads; one step failed, one was not tried.
pub(crate) fn experiment() -> ExperimentRecord {
    let plan = plan();
    let steps = plan.steps.iter().filter(|planned| planned.number != 7).map(made).collect();
    experiment_record(plan, steps, valid_sweep().environment, "2026-01-02T03:04:05Z".to_owned())
}

/// Its plan.
pub(crate) fn plan() -> ExperimentPlan {
    let step = |(i, combination): (usize, &usize)| {
        let (variant, load, verb) = COMBINATIONS[*combination];
        let workers = variant.trim_start_matches("workers=").to_owned();
        let command = ["plimsoll", verb, &format!("http://127.0.0.1:8080/{workers} {load}"), "--seed", "1"];
        PlannedStep {
            number: i as u64 + 1,
            repetition: i as u64 / 4 + 1,
            combination: *combination as u64 + 1,
            variant: variant.to_owned(),
            values: [("workers".to_owned(), workers)].into(),
            load: load.to_owned(),
            verb: verb.to_owned(),
            command: command.map(str::to_owned).into(),
            directory: format!("steps/{:03}-{variant}-{load}", i + 1),
            estimated_ns: (verb == "run").then_some(12 * NS_PER_S),
            after: (variant == "workers=4").then(|| "workers=2".to_owned()),
            limits: [("worker_processes".to_owned(), if variant == "workers=2" { 2 } else { 4 })].into(),
        }
    };
    ExperimentPlan {
        format: FORMAT_PLAN.to_owned(),
        name: "nginx: workers".to_owned(),
        plimsoll: "0.1.0".to_owned(),
        seed: 1,
        repetitions: 2,
        budget_ns: Some(600 * NS_PER_S),
        steps: ORDER.iter().enumerate().map(step).collect(),
    }
}

fn made(planned: &PlannedStep) -> StepRecord {
    let scale = 1.0 + planned.number as f64 / 100.0;
    let mut run: RunRecord = if planned.number == 5 { bound_run() } else { valid_run() };
    run.goodput_per_s.value *= scale;
    run.latency_ns.response.p99 = (run.latency_ns.response.p99 as f64 * scale) as u64;
    let result = step_result(AnyRecord::Run(&run)).expect("a run stands for itself");
    let capacity = StepCapacity {
        low: Some(1_000.0 * scale),
        high: Some(1_100.0 * scale),
        reason: "both rates were tested again and confirmed".to_owned(),
    };
    let result = StepResult { capacity: (planned.verb == "capacity").then_some(capacity), ..result };
    let failed = planned.number == 8;
    StepRecord {
        number: planned.number,
        directory: planned.directory.clone(),
        took_ns: Some(13 * NS_PER_S),
        exit: if failed { 3 } else { 0 },
        error: failed.then(|| "nginx did not answer within 30 s".to_owned()),
        result: (!failed).then_some(result),
    }
}
