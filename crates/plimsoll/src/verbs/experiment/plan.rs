//! From a file to a plan: every step, in the order measured.

use super::step::{Prospect, Step, vocabulary};
use crate::exit::CommandError;
use input::experiment::{Combination, Experiment};
use model::{ExperimentPlan, FORMAT_PLAN, PlannedStep, human};
use report::record::STEPS_FOLDER;
use stats::shuffled_blocks;
use std::collections::BTreeSet;

/// Characters of the name of a step in the name of its directory.
const NAME_MAX: usize = 60;

/// A plan, with the command of each of its steps read.
pub(super) struct Planned {
    pub(super) plan: ExperimentPlan,
    /// Optional variants that this machine cannot measure, and why.
    pub(super) left_out: Vec<String>,
    /// Why results of steps can only be invalid; each once.
    pub(super) warnings: BTreeSet<String>,
    /// In the same order.
    pub(super) steps: Vec<Step>,
}

impl Planned {
    /// Reads the `text` of `file` and checks every step as far as that is possible before anything is started.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, CommandError> {
        let experiment = Experiment::parse(file, text, &vocabulary())?;
        let (mut combinations, mut left_out, mut warnings) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (index, combination) in experiment.combinations.iter().enumerate() {
            match check(&experiment, combination) {
                Ok(Prospect { expected_ns, warning }) => {
                    combinations.push((index, expected_ns));
                    warnings.extend(warning);
                }
                Err(error) if combination.is_optional => {
                    left_out.push(format!("{} is left out: {}", combination.variant, error.message));
                }
                Err(error) => return Err(error),
            }
        }
        let blocks = shuffled_blocks(&combinations, experiment.repetitions as usize, experiment.seed);
        let (mut planned, mut steps) = (Vec::new(), Vec::new());
        for (block, order) in blocks.into_iter().enumerate() {
            for (index, estimated_ns) in order {
                let combination = &experiment.combinations[index];
                if block as u64 >= combination.repetitions {
                    continue;
                }
                let command = command(combination, experiment.seed.wrapping_add(block as u64));
                let step = Step::parse(&command).map_err(|why| experiment.refusal(combination, &why))?;
                let limits = step.limits();
                steps.push(step);
                let number = planned.len() as u64 + 1;
                planned.push(PlannedStep {
                    number,
                    repetition: block as u64 + 1,
                    combination: index as u64 + 1,
                    variant: combination.variant.clone(),
                    values: combination.values.clone(),
                    load: combination.load.clone(),
                    verb: combination.verb.clone(),
                    command,
                    directory: directory(number, combination),
                    estimated_ns,
                    after: combination.after.clone(),
                    limits,
                });
            }
        }
        let plan = ExperimentPlan {
            format: FORMAT_PLAN.to_owned(),
            name: experiment.name.clone(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            seed: experiment.seed,
            repetitions: experiment.repetitions,
            budget_ns: experiment.budget.map(|budget| budget.ns),
            steps: planned,
        };
        fits(&experiment, &plan)?;
        Ok(Self { plan, left_out, warnings, steps })
    }
}

/// What is known of a combination once it has been checked.
fn check(experiment: &Experiment, combination: &Combination) -> Result<Prospect, CommandError> {
    let refusal = |why: &str| CommandError::from(experiment.refusal(combination, why));
    let step = Step::parse(&command(combination, experiment.seed)).map_err(|why| refusal(&why))?;
    step.check().map_err(|error| CommandError { exit: error.exit, ..refusal(&error.message) })
}

/// The command that measures a combination. Each block has random numbers of its own, unless the file gives a seed.
fn command(combination: &Combination, seed: u64) -> Vec<String> {
    let mut command = vec!["plimsoll".to_owned(), combination.verb.clone()];
    command.extend(combination.arguments.iter().flat_map(|argument| argument.words.clone()));
    if combination.argument("seed").is_none() {
        command.extend(["--seed".to_owned(), seed.to_string()]);
    }
    command
}

/// Where a step is kept: `steps/003-workers=2-rate=1000`.
fn directory(number: u64, combination: &Combination) -> String {
    let text = format!("{} {}", combination.variant, combination.load);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"._=".contains(c)).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(NAME_MAX).collect();
    format!("{STEPS_FOLDER}/{number:03}-{name}").trim_end_matches('-').to_owned()
}

/// Fails where the plan is longer than its budget.
fn fits(experiment: &Experiment, plan: &ExperimentPlan) -> Result<(), CommandError> {
    let known_ns: u64 = plan.steps.iter().filter_map(|step| step.estimated_ns).fold(0, u64::saturating_add);
    match plan.budget_ns.filter(|budget_ns| known_ns > *budget_ns) {
        None => Ok(()),
        Some(budget_ns) => {
            let (budget, known) = (human::time(budget_ns as f64), human::time(known_ns as f64));
            let steps = human::plural(plan.steps.len() as u64, "step");
            Err(experiment.over_budget(&format!("the budget is {budget}, and {steps} take about {known}")).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
        seed = 7\nrepetitions = 3\nurl = \"http://127.0.0.1:1/{path}\"\n[variants.grid]\npath = [\"a\", \"b\"]\n\
        [flags]\nduration = \"5s\"\n[[loads]]\nconnections = 4\n[[loads]]\nrate = 100\n";

    fn plan(text: &str) -> ExperimentPlan {
        Planned::read("x.toml", text).unwrap_or_else(|error| panic!("{}", error.message)).plan
    }

    #[test]
    fn a_load_may_be_part_of_the_first_blocks_only() {
        let steps = plan(&format!("{FILE}repetitions = 1\n")).steps;
        let blocks = |load: &str| -> Vec<u64> {
            steps.iter().filter(|step| step.load == load).map(|step| step.repetition).collect()
        };
        assert_eq!(blocks("rate=100"), [1, 1], "two variants");
        assert_eq!(blocks("connections=4"), [1, 1, 2, 2, 3, 3]);
        assert!(steps.iter().zip(1..).all(|(step, number)| step.number == number));
    }

    #[track_caller]
    fn refused(text: &str) -> String {
        Planned::read("x.toml", text).err().expect("it is wrong").message
    }

    #[test]
    fn the_same_file_gives_the_same_plan_and_another_seed_another_order() {
        let (first, other) = (plan(FILE), plan(&FILE.replace("seed = 7", "seed = 8")));
        assert_eq!(first, plan(FILE));
        let order = |plan: &ExperimentPlan| plan.steps.iter().map(|step| step.combination).collect::<Vec<_>>();
        assert_ne!(order(&first), order(&other));
    }

    #[test]
    fn each_block_has_every_variant_under_every_load_with_random_numbers_of_its_own() {
        let plan = plan(FILE);
        assert_eq!(plan.steps.len(), 12);
        for (i, block) in plan.steps.chunks(4).enumerate() {
            let mut combinations: Vec<_> =
                block.iter().map(|step| (step.variant.as_str(), step.load.as_str())).collect();
            combinations.sort_unstable();
            let all = [
                ("path=a", "connections=4"),
                ("path=a", "rate=100"),
                ("path=b", "connections=4"),
                ("path=b", "rate=100"),
            ];
            assert_eq!(combinations, all);
            for step in block {
                assert_eq!(
                    (step.repetition, &step.command[step.command.len() - 1]),
                    (i as u64 + 1, &(7 + i).to_string())
                );
            }
        }
        let step = &plan.steps[0];
        assert_eq!((step.number, &step.command[..2]), (1, &["plimsoll".to_owned(), "run".to_owned()][..]));
        assert!(step.directory.starts_with("steps/001-path=") && step.values.contains_key("path"), "{step:?}");
        assert_eq!(step.estimated_ns, Some(8 * model::NS_PER_S));
    }

    #[test]
    fn a_seed_of_the_file_is_that_of_all_blocks() {
        let plan = plan(&FILE.replace("[flags]\n", "[flags]\nseed = 5\n"));
        assert!(plan.steps.iter().all(|step| step.command.windows(2).any(|pair| pair == ["--seed", "5"])));
        assert!(plan.steps.iter().all(|step| step.command.iter().filter(|word| *word == "--seed").count() == 1));
    }

    #[test]
    fn what_a_verb_refuses_is_told_at_the_flag() {
        assert!(refused(&FILE.replace("\"5s\"", "\"5 parsecs\"")).starts_with("x.toml:7:12: "), "its value");
        assert!(refused(&FILE.replace("\"5s\"", "\"0s\"")).starts_with("x.toml:7:12: --duration 0s"));
        assert_eq!(
            refused(&format!("{FILE}verb = \"capacity\"\ngoal = \"p50<100ms,p99<50ms\"\n").replace("rate = 100\n", ""))
                .split(": ")
                .next(),
            Some("x.toml:12:8"),
            "goals that contradict each other"
        );
        assert!(
            refused(&FILE.replace("rate = 100", "rate = 100\npipeline = 4")).starts_with("x.toml:12:12: --pipeline 4")
        );
        assert!(refused(&FILE.replace("http:", "ftp:")).starts_with("x.toml:3:7: "));
    }

    #[test]
    fn a_plan_that_is_longer_than_its_budget_is_refused() {
        let about = "x.toml:1:10: the budget is 60.0 s, and 12 steps take about 96.0 s";
        assert_eq!(refused(&format!("budget = \"1m\"\n{FILE}")), about);
        assert_eq!(plan(&format!("budget = \"2m\"\n{FILE}")).budget_ns, Some(120 * model::NS_PER_S));
    }

    #[test]
    fn directories_are_plain_names() {
        let text = FILE.replace("[\"a\", \"b\"]", "[\"../../etc\", \"x?y/z\"]");
        for step in plan(&text).steps {
            let name = step.directory.strip_prefix("steps/").expect("below steps");
            assert!(!name.contains('/') && name.starts_with(|c: char| c.is_ascii_digit()), "{name}");
        }
    }
}
