//! Plan and steps of an experiment, as a directory has them, which may come from anywhere.

use super::STEPS_MAX;
use model::{ExperimentBegun, ExperimentEvent, ExperimentPlan, FORMAT_PLAN, Plausible, Redacted, StepRecord};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a reason that are kept.
const REASON_CHARS_MAX: usize = 200;

/// What has come of an experiment so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is to be done.
    pub plan: ExperimentPlan,
    /// Where and when it was begun; none where that was not written down.
    pub begun: Option<ExperimentBegun>,
    /// The last record of each step that was tried, by its number.
    pub steps: BTreeMap<u64, StepRecord>,
}

impl Progress {
    /// Nothing of a plan, which is the `text` of a `plan.json`.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn of_plan(text: &str) -> Result<Self, String> {
        let plan: ExperimentPlan = read(text).map_err(|why| format!("no plan of an experiment: {why}"))?;
        if plan.format != FORMAT_PLAN {
            let format = Redacted::line(&plan.format, REASON_CHARS_MAX);
            return Err(format!("its format is {format:?}, and this plimsoll reads {FORMAT_PLAN}"));
        }
        if plan.steps.len() as u64 > STEPS_MAX {
            return Err(format!("it has {} steps, and an experiment has at most {STEPS_MAX}", plan.steps.len()));
        }
        let numbers: BTreeSet<u64> = plan.steps.iter().map(|step| step.number).collect();
        if numbers.len() < plan.steps.len() {
            return Err("it has a step twice".to_owned());
        }
        Ok(Self { plan, begun: None, steps: BTreeMap::new() })
    }

    /// Takes in the lines of a `steps.jsonl`.
    ///
    /// # Errors
    /// What is wrong with one of them, in one line.
    pub fn add_lines(&mut self, text: &str) -> Result<(), String> {
        let planned: BTreeSet<u64> = self.plan.steps.iter().map(|step| step.number).collect();
        for line in text.lines() {
            let event: ExperimentEvent =
                read(line).map_err(|why| format!("it has a line that is none of its own: {why}"))?;
            match &event {
                ExperimentEvent::Step(step) if !planned.contains(&step.number) => {
                    return Err(format!("there is no step {} in the plan", step.number));
                }
                ExperimentEvent::Step(_) | ExperimentEvent::Begun(_) => self.apply(event),
            }
        }
        Ok(())
    }

    /// Takes in what came of a step, in place of what came of it before.
    pub fn apply(&mut self, event: ExperimentEvent) {
        match event {
            ExperimentEvent::Begun(first) => drop(self.begun.get_or_insert(*first)),
            ExperimentEvent::Step(step) => drop(self.steps.insert(step.number, *step)),
        }
    }

    /// True if a step need not be made any more.
    #[must_use]
    pub fn is_finished(&self, number: u64) -> bool {
        self.steps.get(&number).is_some_and(StepRecord::is_finished)
    }

    /// True if no step has to be made any more.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.plan.steps.iter().all(|step| self.is_finished(step.number))
    }
}

/// Reads JSON with numbers that a measurement can have made.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let told = |error: serde_json::Error| Redacted::line(&error.to_string(), REASON_CHARS_MAX).into_inner();
    serde_json::from_str::<Plausible>(text).map_err(told)?;
    serde_json::from_str(text).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PlannedStep;

    fn step(number: u64) -> PlannedStep {
        PlannedStep {
            number,
            repetition: 1,
            combination: 1,
            variant: "a".to_owned(),
            values: [].into(),
            load: "run".to_owned(),
            verb: "run".to_owned(),
            command: Vec::new(),
            directory: format!("steps/{number}"),
            estimated_ns: None,
            after: None,
            limits: [].into(),
        }
    }

    fn plan(steps: Vec<PlannedStep>) -> String {
        let plan = ExperimentPlan {
            format: FORMAT_PLAN.to_owned(),
            name: "x".to_owned(),
            plimsoll: "0.1.0".to_owned(),
            seed: u64::MAX,
            repetitions: 1,
            budget_ns: None,
            steps,
        };
        serde_json::to_string(&plan).expect("JSON")
    }

    /// Each step was looked for in the whole plan, and each record among all records.
    #[test]
    fn a_plan_has_no_more_steps_than_an_experiment_and_none_twice() {
        let all = |n: u64| plan((1..=n).map(step).collect());
        let mut progress = Progress::of_plan(&all(STEPS_MAX)).expect("a plan");
        let why = Progress::of_plan(&all(STEPS_MAX + 1)).expect_err("too many");
        assert_eq!(why, "it has 1001 steps, and an experiment has at most 1000");
        assert_eq!(Progress::of_plan(&plan([step(1), step(1)].into())).expect_err("twice"), "it has a step twice");
        let tried = |number| {
            format!(r#"{{"experiment":"step","number":{number},"directory":"x","took_ns":1,"exit":0,"result":null}}"#)
        };
        let lines: String = (0..20_000).map(|n| tried(n % STEPS_MAX + 1) + "\n").collect();
        assert_eq!((progress.add_lines(&lines), progress.steps.len()), (Ok(()), STEPS_MAX as usize));
        assert!(!progress.is_complete() && !progress.is_finished(1), "tried, without a result");
        assert_eq!(progress.add_lines(&tried(0)), Err("there is no step 0 in the plan".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_told_in_one_short_line() {
        let told = |error: Result<Progress, String>| {
            let why = error.expect_err("no plan");
            assert!(why.len() < 400 && !why.contains(char::is_control), "{why:?}");
            why
        };
        assert!(told(Progress::of_plan("{}")).starts_with("no plan of an experiment: missing field"));
        told(Progress::of_plan(&format!(r#"{{"format":"\u001b{}"}}"#, "x".repeat(9_999))));
        let format = plan(Vec::new()).replace(FORMAT_PLAN, "plimsoll.plan/2\\n");
        assert!(told(Progress::of_plan(&format)).starts_with("its format is \"plimsoll.plan/2\", and"));
        let mut none = Progress::of_plan(&plan(Vec::new())).expect("a plan");
        assert!(none.is_complete());
        let why = none.add_lines(r#"{"experiment":"\n"}"#).expect_err("no event");
        assert!(
            why.starts_with("it has a line that is none of its own: unknown variant") && !why.contains('\n'),
            "{why}"
        );
        let sum =
            r#"{"experiment":"step","number":18446744073709551615,"directory":"x","took_ns":1,"exit":0,"result":null}"#;
        assert!(none.add_lines(sum).expect_err("a number").contains("no measurement has the number"));
    }
}
