//! `plimsoll compare`: a baseline and variants of it, measured in blocks, judged.

mod arms;
mod capacity;
mod stored;

use crate::cli::compare::CompareArgs;
use crate::coordinate::compare::BlockSearch;
use crate::coordinate::{unless_interrupted, walk};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::deliver::deliver;
use crate::output::progress::Progress;
use crate::result::compare_record;
use crate::settings::clients::{self, Machines};
use crate::settings::compare::{CompareOptions, fail_if};
use crate::settings::draft::Draft;
use arms::{Arms, Looked};
use model::human::{percent, plural, rate, time};
use model::{
    Call, CompareLoad, CompareMetric, CompareRecord, CompareSettings, FailIfState, SessionEvent, VerdictState,
};
use report::record::AnyRecord;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, CommandError> {
    if let Some(directories) = stored::directories(args)? {
        return stored::compare(args, &directories);
    }
    let checked = Checked::new(args)?;
    measure(args, &checked, &interrupt::watch()?)
}

/// What was typed, as far as it can be checked before anything is started.
pub(super) struct Checked {
    options: CompareOptions,
    pub(super) draft: Draft,
    machines: Machines,
}

impl Checked {
    pub(super) fn new(args: &CompareArgs) -> Result<Self, CommandError> {
        let options = CompareOptions::new(args)?;
        let least = ("-c", args.connections.0 as u32);
        let machines = Machines::new(&args.clients, &args.serve, &args.observe, options.warmup, least)?;
        let draft = Draft::new(&args.request, &args.generator)?.with_warmup(args.warmup.is_some());
        let draft = clients::direct(&args.clients, &args.serve, draft);
        Ok(Self { options, draft, machines })
    }

    /// About how long it takes at most, without starting and ending; ns.
    pub(super) fn expected_ns(&self) -> u64 {
        self.options.expected_ns()
    }
}

/// Measures until the end, or until `stop` is set.
pub(super) fn measure(args: &CompareArgs, checked: &Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    let options = &checked.options;
    let Looked { arms: looked, pilots_per_s, mut log, directory, before, agents, sessions, has_canary, check } =
        arms::look(args, checked, stop)?;
    options.check_rate(&pilots_per_s)?;
    let settings = options.settings(&pilots_per_s, has_canary);
    let progress = Progress::new(args.output.quiet);
    progress.line(&begin_line(&settings, &pilots_per_s));
    check.iter().for_each(|row| progress.line(&report::terminal::check_row(row)));
    log.tell(SessionEvent::Blocks { settings: Box::new(settings.clone()), arms: looked, check });
    let looked = (log, directory, agents, sessions);
    let mut arms = Arms::new(args, checked, stop, settings.rate_per_s, looked, progress);
    let mut search = BlockSearch::new(settings);
    let walked = walk(&mut search, &mut arms, stop);
    if args.profile && walked.is_ok() {
        arms.profile();
    }
    arms.tell_loss();
    let (mut log, directory, trials) = arms.end();
    if trials.is_empty() {
        walked?;
        return Err(CommandError::interrupted());
    }
    let walked = unless_interrupted(walked);
    log.tell(SessionEvent::Changed { changes: before.changes() });
    log.tell(SessionEvent::Finished { interrupted: stop.load(Ordering::Relaxed) || walked.is_err() });
    let record = compare_record(&log.facts, &trials).map_err(CommandError::usage)?;
    deliver(&directory, AnyRecord::Compare(&record), None, &args.output)?;
    // What made it end early is told after what was found until then.
    walked?;
    Ok(exit(&record))
}

fn begin_line(settings: &CompareSettings, pilots_per_s: &[f64]) -> String {
    let pilots: Vec<String> = pilots_per_s.iter().map(|per_s| rate(*per_s)).collect();
    let fixed = match settings.loads.contains(&CompareLoad::Fixed) {
        true => format!("; fixed load {}", rate(settings.rate_per_s)),
        false => String::new(),
    };
    let until = settings.precision.map_or_else(
        || plural(settings.blocks_max, "block"),
        |wanted| format!("until the intervals are ± {} wide, in blocks", percent(wanted)),
    );
    let searched = settings.capacity.as_ref().map_or_else(String::new, |capacity| {
        format!("; searches of {} for the rate with {}", time(capacity.budget_ns as f64), capacity.goal)
    });
    format!(
        "closed loops: {} good{fixed}{searched}; {until} of about {}, at most {}",
        pilots.join(", "),
        time(settings.times.block_ns as f64),
        time(settings.times.budget_ns as f64)
    )
}

/// The exit code of a result.
pub(crate) fn exit(record: &CompareRecord) -> Exit {
    match record.verdict.state {
        _ if record.interrupted => Exit::Interrupted,
        VerdictState::Invalid => Exit::Invalid,
        _ if !record.conditions.is_empty() => by_conditions(record.conditions.iter().map(|condition| condition.state)),
        _ if record.plan.as_ref().is_some_and(|plan| plan.is_aa) => match record.aa_floor.is_empty() {
            true => Exit::Inconclusive,
            false => Exit::Fine,
        },
        _ => {
            let primary = record.metrics.iter().filter(|metric| metric.primary);
            // What was asked for and could not be compared is not known.
            let is_open = record.unavailable.contains_key(&CompareMetric::CapacityPerS);
            by_calls(&primary.map(|metric| metric.call).collect::<Vec<_>>(), is_open)
        }
    }
}

fn by_conditions(states: impl Iterator<Item = FailIfState>) -> Exit {
    match states.max() {
        Some(FailIfState::Failed) => Exit::Failed,
        Some(FailIfState::Passed) => Exit::Fine,
        Some(FailIfState::CannotTell) | None => Exit::Inconclusive,
    }
}

/// `is_open`: one of the calls that were asked for could not be made.
fn by_calls(calls: &[Call], is_open: bool) -> Exit {
    if calls.contains(&Call::Worse) {
        Exit::Failed
    } else if calls.is_empty() || is_open || calls.contains(&Call::CannotTell) {
        Exit::Inconclusive
    } else {
        Exit::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, CompareOptions, CompareRecord, Exit, FailIfState, VerdictState, by_calls, by_conditions, exit};
    use crate::cli::{Cli, Verb};
    use crate::result::stored_comparison;
    use clap::Parser;
    use model::{FailIfRecord, RunRecord};

    /// A valid comparison of a server with itself, that shows no smallest change.
    fn of_itself() -> CompareRecord {
        let run: RunRecord = serde_json::from_str(include_str!("../../../report/tests/stored/run")).unwrap();
        let arms = ["a", "a (2)"].map(|name| (name.to_owned(), name.to_owned(), run.clone()));
        let mut record = stored_comparison(arms.into(), 0.02, &[]).unwrap();
        let Verb::Compare(args) = Cli::try_parse_from(["plimsoll", "compare", "--aa"]).unwrap().verb else {
            panic!("another verb")
        };
        record.plan = Some(CompareOptions::new(&args).unwrap().settings(&[1_000.0], true));
        record.verdict.state = VerdictState::Valid;
        record
    }

    /// `--aa --fail-if` ended with 0 whatever had failed.
    #[test]
    fn conditions_decide_also_where_a_server_is_compared_with_itself() {
        let mut record = of_itself();
        assert_eq!(exit(&record), Exit::Inconclusive, "without conditions the smallest change is what was asked for");
        use FailIfState::{CannotTell, Failed, Passed};
        for (state, expected) in [(Failed, Exit::Failed), (Passed, Exit::Fine), (CannotTell, Exit::Inconclusive)] {
            let condition = FailIfRecord { condition: "cpu>1%".to_owned(), arm: "a (2)".to_owned(), state };
            record.conditions = vec![condition];
            assert_eq!(exit(&record), expected, "{state:?}");
        }
        record.interrupted = true;
        assert_eq!(exit(&record), Exit::Interrupted);
    }

    #[test]
    fn one_worse_metric_fails_and_one_open_question_leaves_the_others_open() {
        assert_eq!(by_calls(&[Call::Better, Call::Worse, Call::CannotTell], true), Exit::Failed);
        assert_eq!(by_calls(&[Call::Better, Call::CannotTell], false), Exit::Inconclusive);
        assert_eq!(by_calls(&[Call::Better], true), Exit::Inconclusive);
        assert_eq!(by_calls(&[], false), Exit::Inconclusive);
        assert_eq!(by_calls(&[Call::Better, Call::Same], false), Exit::Fine);
    }

    #[test]
    fn one_failed_condition_fails_and_one_that_cannot_be_told_leaves_the_others_open() {
        let exit = |states: &[FailIfState]| by_conditions(states.iter().copied());
        assert_eq!(exit(&[FailIfState::Passed, FailIfState::Failed, FailIfState::CannotTell]), Exit::Failed);
        assert_eq!(exit(&[FailIfState::CannotTell, FailIfState::Passed]), Exit::Inconclusive);
        assert_eq!(exit(&[FailIfState::Passed]), Exit::Fine);
    }
}
