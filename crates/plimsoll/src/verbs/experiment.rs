//! `plimsoll experiment`: a declared plan of runs, sweeps and capacities, measured step by step.

mod plan;
pub(super) mod step;

use crate::cli::experiment::ExperimentArgs;
use crate::environment;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::store::experiment::{ExperimentStore, result_of};
use crate::verbs::deliver::deliver;
use crate::verbs::exit_code::exit_code;
use clock::monotonic_ns;
use input::text_at_most;
use model::{ExperimentBegun, ExperimentRecord, PlannedStep, Redacted, StepRecord, human, meant};
use plan::Planned;
use report::record::{AnyRecord, step_result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use step::Step;

/// Largest file.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// What `--print` prints without a name.
const EXAMPLE: &str = include_str!("experiment/example.toml");
/// Experiments that come with the program: name and file.
const SHIPPED: [(&str, &str); 2] = [
    ("wordpress-ladder", include_str!("experiment/wordpress-ladder.toml")),
    ("wordpress-tables", include_str!("experiment/wordpress-tables.toml")),
];
/// Exit codes of steps, the mildest first: that of an experiment is the worst of them.
const MILDEST_FIRST: [Exit; 7] =
    [Exit::Fine, Exit::Inconclusive, Exit::Failed, Exit::Invalid, Exit::Usage, Exit::Target, Exit::Interrupted];

pub(crate) fn experiment(args: &ExperimentArgs) -> Result<Exit, CommandError> {
    let Some(file) = &args.file else { return printer::data(EXAMPLE).map(|()| Exit::Fine) };
    let text = text(file)?;
    if args.print {
        return printer::data(&text).map(|()| Exit::Fine);
    }
    let planned = Planned::read(&file_name(file), &text)?;
    planned.left_out.iter().for_each(|why| printer::note(why));
    if args.dry_run || args.allow_short_windows {
        planned.warnings.iter().for_each(|why| printer::note(why));
    }
    if args.dry_run {
        return dry_run(args, &planned);
    }
    if let Some(why) = planned.warnings.first().filter(|_| !args.allow_short_windows) {
        let name = file_name(file);
        return Err(CommandError::usage(format!(
            "{name}: {why}; or measure it all the same with --allow-short-windows"
        )));
    }
    let stop = interrupt::watch()?;
    let begun = ExperimentBegun { started: clock::wall_clock(), environment: environment::describe() };
    let store = ExperimentStore::open(args.output.output.as_deref(), &planned.plan, &Redacted::text(&text), begun)?;
    let mut steps = Steps { args, store, stop, spent_ns: 0, spent_of_known_ns: 0, known_ns: 0 };
    let walked = steps.walk(planned);
    let record = steps.store.record();
    if record.steps.is_empty() {
        walked?;
        return Err(CommandError::interrupted());
    }
    deliver(&steps.store.directory, AnyRecord::Experiment(&record), None, &args.output)?;
    let ended = walked?;
    Ok(worst(&record, ended))
}

/// The text of a file, or of an experiment that comes with the program unless a file has its name.
fn text(file: &Path) -> Result<String, CommandError> {
    let shipped = SHIPPED.iter().find(|(name, _)| Path::new(name) == file);
    match shipped {
        Some((_, text)) if !file.exists() => Ok((*text).to_owned()),
        _ => text_at_most(file, FILE_MAX_BYTES).map_err(|error| {
            let shipped = meant(&file.display().to_string(), SHIPPED.iter().map(|(name, _)| *name));
            let shipped = shipped.filter(|_| !file.exists());
            let shipped =
                shipped.map(|name| format!("; did you mean {name}, which comes with the program?")).unwrap_or_default();
            CommandError::usage(format!("{}: {error}{shipped}", file.display()))
        }),
    }
}

/// The name in messages: the last part, as in those of compilers.
fn file_name(file: &Path) -> String {
    Redacted::text(&file.display().to_string()).into_inner()
}

fn dry_run(args: &ExperimentArgs, planned: &Planned) -> Result<Exit, CommandError> {
    let text = match args.output.json {
        true => report::json::plan(&planned.plan),
        false => report::terminal::plan(
            &planned.plan,
            &report::terminal::Style { verbose: args.output.verbose, ..printer::style() },
        ),
    };
    let print = if args.output.json { printer::data } else { printer::result };
    print(&text).map(|()| Exit::Fine)
}

/// Why no more steps were made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// All have been.
    Done,
    /// ^C.
    Interrupted,
    /// The budget has no room for the next one.
    OutOfTime,
}

/// Has the steps measured that have no result yet.
struct Steps<'a> {
    args: &'a ExperimentArgs,
    store: ExperimentStore,
    stop: Arc<AtomicBool>,
    /// Time that all steps took; ns.
    spent_ns: u64,
    /// Time that those of a known length took, and what was expected of them; ns.
    spent_of_known_ns: u64,
    known_ns: u64,
}

impl Steps<'_> {
    fn walk(&mut self, planned: Planned) -> Result<Ended, CommandError> {
        let Planned { plan, mut steps, .. } = planned;
        let finished = plan.steps.iter().filter(|planned| self.store.is_finished(planned)).count();
        if finished > 0 {
            self.say(&format!(
                "{finished} of {} have a result already",
                human::plural(plan.steps.len() as u64, "step")
            ));
        }
        for (i, (planned, step)) in plan.steps.iter().zip(&mut steps).enumerate() {
            if self.store.is_finished(planned) {
                continue;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ended::Interrupted);
            }
            let next_ns = self.expected_ns(planned);
            if plan.budget_ns.is_some_and(|budget_ns| self.spent_ns.saturating_add(next_ns) > budget_ns) {
                self.say("the budget has no room for the next step");
                return Ok(Ended::OutOfTime);
            }
            let left_ns = plan.steps[i..].iter().filter(|planned| !self.store.is_finished(planned));
            let left_ns = left_ns.map(|planned| self.expected_ns(planned)).fold(0, u64::saturating_add);
            self.make(planned, step, plan.steps.len(), left_ns)?;
        }
        Ok(if self.stop.load(Ordering::Relaxed) { Ended::Interrupted } else { Ended::Done })
    }

    /// About how long a step takes, going by those before it; ns.
    fn expected_ns(&self, planned: &PlannedStep) -> u64 {
        let estimated_ns = planned.estimated_ns.unwrap_or(0);
        match self.known_ns {
            0 => estimated_ns,
            known_ns => (estimated_ns as f64 * self.spent_of_known_ns as f64 / known_ns as f64) as u64,
        }
    }

    /// Measures one step, unless its result is there and only its line is missing.
    fn make(&mut self, planned: &PlannedStep, step: &mut Step, of: usize, left_ns: u64) -> Result<(), CommandError> {
        let (name, last) = self.store.places(planned)?;
        if let Some(record) = last.and_then(|last| self.adopted(planned, last)) {
            self.say(&format!("step {} of {of}: {} has a result already", planned.number, record.directory));
            return self.store.keep(record);
        }
        let verb = if planned.load == planned.verb { String::new() } else { format!(" ({})", planned.verb) };
        self.say(&format!(
            "step {} of {of}: {}, {}{verb}; about {} left",
            planned.number,
            planned.variant,
            planned.load,
            human::time(left_ns as f64)
        ));
        let directory = self.store.directory.join(&name);
        let begin_ns = monotonic_ns();
        let outcome = step.measure(&directory, &self.args.output, &self.stop);
        let took_ns = monotonic_ns().saturating_sub(begin_ns);
        self.spent_ns = self.spent_ns.saturating_add(took_ns);
        if let (Some(estimated_ns), Ok(_)) = (planned.estimated_ns, &outcome) {
            self.spent_of_known_ns = self.spent_of_known_ns.saturating_add(took_ns);
            self.known_ns = self.known_ns.saturating_add(estimated_ns);
        }
        let stored = result_of(&directory);
        let result = stored.as_ref().and_then(|stored| step_result(stored.record.as_ref()));
        let (exit, error) = match outcome {
            Ok(Exit::Interrupted) if result.is_none() => return Ok(()),
            // One without a figure, such as a comparison whose baseline held no rate, is a result all the same.
            Ok(_) if stored.is_none() => return Err(not_stored(planned, &directory)),
            Ok(exit) => (stored.map_or(exit, |stored| exit_code(stored.record.as_ref())), None),
            Err(error) if error.exit == Exit::Interrupted && result.is_none() => return Ok(()),
            Err(error) => (error.exit, Some(error.message)),
        };
        if let Some(message) = &error {
            printer::error(&format!("step {}: {message}", planned.number));
        }
        let step = StepRecord {
            number: planned.number,
            directory: name,
            took_ns: Some(took_ns),
            exit: exit.code(),
            error,
            result,
        };
        let ends = step.result.is_none() && exit == Exit::Usage;
        let message = step.error.clone();
        self.store.keep(step)?;
        match message {
            // What this machine refuses to one step it refuses to the next.
            Some(message) if ends => Err(CommandError::usage(format!("step {}: {message}", planned.number))),
            _ => Ok(()),
        }
    }

    /// A step whose program ended between its result and the line about it.
    fn adopted(&self, planned: &PlannedStep, last: String) -> Option<StepRecord> {
        let stored = result_of(&self.store.directory.join(&last))?;
        let result = step_result(stored.record.as_ref()).filter(|result| !result.interrupted)?;
        Some(StepRecord {
            number: planned.number,
            directory: last,
            took_ns: None,
            exit: exit_code(stored.record.as_ref()).code(),
            error: None,
            result: Some(result),
        })
    }

    fn say(&self, text: &str) {
        if !self.args.output.quiet {
            printer::note(text);
        }
    }
}

fn not_stored(planned: &PlannedStep, directory: &Path) -> CommandError {
    CommandError::usage(format!(
        "step {}: its result could not be stored in {}; the same command with -o makes it again",
        planned.number,
        directory.display()
    ))
}

/// The exit code of all.
fn worst(record: &ExperimentRecord, ended: Ended) -> Exit {
    let of_end = match ended {
        Ended::Done => Exit::Fine,
        Ended::Interrupted => Exit::Interrupted,
        Ended::OutOfTime => Exit::Inconclusive,
    };
    let is_of = |exit: &&Exit| **exit == of_end || record.steps.iter().any(|step| step.exit == exit.code());
    MILDEST_FIRST.iter().rev().find(is_of).copied().unwrap_or(of_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_passes_and_says_what_it_says() {
        let planned = Planned::read("example.toml", EXAMPLE).unwrap_or_else(|error| panic!("{}", error.message));
        let verbs: std::collections::BTreeSet<_> = planned.plan.steps.iter().map(|step| step.verb.as_str()).collect();
        assert_eq!(verbs.into_iter().collect::<Vec<_>>(), ["capacity", "run"]);
        assert!(planned.plan.repetitions > 1 && planned.plan.budget_ns.is_some());
    }

    fn shipped(index: usize) -> input::experiment::Experiment {
        let (name, text) = SHIPPED[index];
        let experiment = input::experiment::Experiment::parse(name, text, &step::vocabulary());
        experiment.unwrap_or_else(|error| panic!("{}", error.message))
    }

    #[test]
    fn the_tables_have_connections_rates_and_a_comparison() {
        let tables = shipped(1);
        let of = |flag: &str| -> Vec<u64> {
            let of_one = tables.combinations.iter().filter(|one| one.verb == "run" && one.variant == "no cache");
            of_one.filter_map(|one| one.argument(flag)?.words[1].parse().ok()).collect()
        };
        let (connections, rates) = (of("connections"), of("rate"));
        assert!(connections.is_sorted() && (connections[0], connections.last()) == (1, Some(&20)), "{connections:?}");
        assert!(rates.is_sorted() && rates.len() >= 5, "{rates:?}");
        let compared = tables.combinations.last().expect("a comparison");
        assert_eq!((compared.verb.as_str(), compared.repetitions), ("compare", 1));
        assert!(compared.argument("profile").is_some(), "with flame graphs");
        for serve in tables.combinations.iter().filter_map(|one| one.argument("serve")) {
            stack::Spec::parse(&serve.words[1]).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn every_rung_of_the_ladder_is_a_server() {
        let ladder = shipped(0);
        assert!(ladder.combinations.len() >= 12 && ladder.repetitions == 6, "{}", ladder.combinations.len());
        let of = |name: &str| ladder.combinations.iter().find(|rung| rung.variant == name).expect("a rung");
        assert_eq!(of("IO-bound page, 70 workers").after.as_deref(), Some("IO-bound page, 25 workers"));
        assert!(of("MySQL").is_optional && of("FastCGI hello").argument("no-keepalive").is_some());
        for rung in &ladder.combinations {
            stack::Spec::parse(&rung.values["server"]).unwrap_or_else(|error| panic!("{}: {error}", rung.variant));
        }
    }

    #[test]
    fn the_exit_code_is_the_worst() {
        let plan = Planned::read("x.toml", "url = \"http://127.0.0.1:1/\"").unwrap().plan;
        let of = |exits: &[Exit], ended| {
            let step = |exit: &Exit| StepRecord {
                number: 1,
                directory: "steps/001".into(),
                took_ns: None,
                exit: exit.code(),
                error: None,
                result: None,
            };
            let steps = exits.iter().map(step).collect();
            worst(&report::record::experiment_record(plan.clone(), steps, Default::default(), String::new()), ended)
        };
        assert_eq!(of(&[Exit::Fine], Ended::Done), Exit::Fine);
        assert_eq!(of(&[Exit::Fine, Exit::Invalid, Exit::Failed], Ended::Done), Exit::Invalid);
        assert_eq!(of(&[Exit::Invalid, Exit::Target, Exit::Inconclusive], Ended::Done), Exit::Target);
        assert_eq!(of(&[Exit::Fine], Ended::OutOfTime), Exit::Inconclusive);
        assert_eq!(of(&[Exit::Target], Ended::Interrupted), Exit::Interrupted);
    }
}
