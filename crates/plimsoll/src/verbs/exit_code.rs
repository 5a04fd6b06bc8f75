//! The exit code of a result: from its kind, verdict, calls and thresholds.

use crate::exit::Exit;
use model::{
    Call, CapacityBracket, CapacityReason, CapacityRecord, CompareMetric, CompareRecord, FailIfState, PageFailureKind,
    PageLoad, RenderRecord, ThresholdState, VerdictState,
};
use report::record::AnyRecord;

/// The exit code of a result, just measured or read back.
pub(super) fn exit_code(record: AnyRecord<'_>) -> Exit {
    let by_itself = match record {
        AnyRecord::Run(record) if record.aborted.is_some() => Exit::Failed,
        AnyRecord::Run(record) => of_verdict(record.verdict.state, record.interrupted),
        AnyRecord::Sweep(record) => of_verdict(record.verdict.state, record.interrupted),
        AnyRecord::Sweeps(record) => of_verdict(record.verdict.state, record.interrupted),
        AnyRecord::Capacity(record) => of_capacity(record),
        AnyRecord::Compare(record) => of_comparison(record),
        AnyRecord::Experiment(record) => of_verdict(record.verdict.state, record.interrupted),
        AnyRecord::Render(record) => of_render(record),
    };
    with_thresholds(by_itself, report::thresholds::worst(record))
}

/// An exit code with what came of thresholds, of which the worst counts. What is invalid or interrupted stays that; a goal that is
/// not met, or a threshold that failed, is worse than what is not known.
fn with_thresholds(exit: Exit, worst: Option<ThresholdState>) -> Exit {
    match (exit, worst) {
        (Exit::Fine | Exit::Inconclusive, Some(ThresholdState::Failed)) => Exit::Failed,
        (Exit::Fine, Some(ThresholdState::Inconclusive)) => Exit::Inconclusive,
        (exit, _) => exit,
    }
}

/// That of a verdict by itself.
const fn of_verdict(verdict: VerdictState, interrupted: bool) -> Exit {
    match verdict {
        _ if interrupted => Exit::Interrupted,
        VerdictState::Invalid => Exit::Invalid,
        VerdictState::Valid | VerdictState::Bound => Exit::Fine,
    }
}

/// That of a search for a capacity.
const fn of_capacity(record: &CapacityRecord) -> Exit {
    match record.verdict.state {
        _ if record.interrupted => Exit::Interrupted,
        VerdictState::Invalid => Exit::Invalid,
        _ => by_end(&record.capacity),
    }
}

const fn by_end(found: &CapacityBracket) -> Exit {
    match found.ended {
        CapacityReason::NeverMet => Exit::Failed,
        CapacityReason::BudgetEnded => Exit::Inconclusive,
        CapacityReason::NonMonotone if !found.low_confirmed || !found.high_confirmed => Exit::Inconclusive,
        _ => Exit::Fine,
    }
}

/// That of a comparison.
fn of_comparison(record: &CompareRecord) -> Exit {
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

/// That of a render of pages.
fn of_render(record: &RenderRecord) -> Exit {
    let is_unreached = |load: &PageLoad| load.failure.as_ref().is_some_and(|why| why.kind == PageFailureKind::Network);
    match record.verdict.state {
        _ if record.interrupted => Exit::Interrupted,
        VerdictState::Invalid if record.loads.iter().all(is_unreached) => Exit::Target,
        VerdictState::Invalid => Exit::Invalid,
        VerdictState::Valid | VerdictState::Bound => by_call(record),
    }
}

fn by_call(record: &RenderRecord) -> Exit {
    let primary = record.effects.iter().find(|effect| effect.primary).map(|effect| effect.call);
    match primary {
        Some(Call::Worse) => Exit::Failed,
        Some(Call::Better | Call::SmallChange | Call::Same) => Exit::Fine,
        Some(Call::CannotTell) => Exit::Inconclusive,
        None if record.arms.len() > 1 => Exit::Inconclusive,
        None => Exit::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use crate::result::stored_comparison;
    use crate::settings::compare::CompareOptions;
    use clap::Parser;
    use model::{Aborted, FailIfRecord, RunRecord, ThresholdRecord};

    #[test]
    fn what_is_invalid_stays_that_and_a_failure_is_worse_than_what_is_not_known() {
        use ThresholdState::{Failed, Inconclusive, Passed};
        for (worst, fine, open) in [
            (None, Exit::Fine, Exit::Inconclusive),
            (Some(Passed), Exit::Fine, Exit::Inconclusive),
            (Some(Inconclusive), Exit::Inconclusive, Exit::Inconclusive),
            (Some(Failed), Exit::Failed, Exit::Failed),
        ] {
            let with = |exit| with_thresholds(exit, worst);
            assert_eq!([with(Exit::Fine), with(Exit::Inconclusive)], [fine, open]);
            assert_eq!([with(Exit::Invalid), with(Exit::Interrupted)], [Exit::Invalid, Exit::Interrupted]);
        }
    }

    #[test]
    fn a_step_that_is_adopted_keeps_the_failure_of_its_thresholds() {
        let text = include_str!("../../../report/tests/stored/run");
        let mut run: RunRecord = serde_json::from_str(text).expect("a run");
        assert_eq!(exit_code(AnyRecord::Run(&run)), Exit::Fine);
        run.thresholds.push(ThresholdRecord {
            condition: "p99>50ms".to_owned(),
            state: ThresholdState::Failed,
            value: None,
            limit: 50e6,
            baseline: None,
            ratio: None,
            why: None,
        });
        assert_eq!(exit_code(AnyRecord::Run(&run)), Exit::Failed);
        let condition = run.thresholds.remove(0);
        run.interrupted = true;
        assert_eq!(exit_code(AnyRecord::Run(&run)), Exit::Interrupted);
        run.aborted = Some(Aborted { at_ns: 9, over_ns: 5, condition });
        assert_eq!(
            exit_code(AnyRecord::Run(&run)),
            Exit::Failed,
            "a condition of --abort-if has ended it, and nobody else"
        );
    }

    #[test]
    fn a_search_that_lost_an_end_leaves_the_question_open() {
        let exit = |ended: CapacityReason, low_confirmed: bool| {
            by_end(&CapacityBracket {
                value: None,
                low: Some(1_000.0),
                high: Some(1_030.0),
                n: 9,
                reason: String::new(),
                ended,
                low_confirmed,
                high_confirmed: true,
                estimate_per_s: None,
                noise: None,
                disturbed: 0,
                failed: Vec::new(),
                more: None,
            })
        };
        assert_eq!(exit(CapacityReason::NonMonotone, false), Exit::Inconclusive);
        assert_eq!(exit(CapacityReason::NonMonotone, true), Exit::Fine, "widened over both");
        assert_eq!(exit(CapacityReason::NeverMet, false), Exit::Failed);
    }

    /// A valid comparison of a server with itself, that shows no smallest change.
    fn of_itself() -> CompareRecord {
        let run: RunRecord = serde_json::from_str(include_str!("../../../report/tests/stored/run")).unwrap();
        let arms = ["a", "a (2)"].map(|name| (name.to_owned(), name.to_owned(), run.clone()));
        let mut record = stored_comparison(arms.into(), 0.02, &[]).unwrap();
        let Verb::Compare(args) = Cli::try_parse_from(["plimsoll", "compare", "--aa"]).unwrap().verb else {
            panic!("another verb")
        };
        record.plan = Some(CompareOptions::new(&args).unwrap().settings(&[1_000.0], true, true));
        record.verdict.state = VerdictState::Valid;
        record
    }

    /// `--aa --fail-if` ended with 0 whatever had failed.
    #[test]
    fn conditions_decide_also_where_a_server_is_compared_with_itself() {
        let mut record = of_itself();
        assert_eq!(
            of_comparison(&record),
            Exit::Inconclusive,
            "without conditions the smallest change is what was asked for"
        );
        use FailIfState::{CannotTell, Failed, Passed};
        for (state, expected) in [(Failed, Exit::Failed), (Passed, Exit::Fine), (CannotTell, Exit::Inconclusive)] {
            let condition = FailIfRecord { condition: "cpu>1%".to_owned(), arm: "a (2)".to_owned(), state };
            record.conditions = vec![condition];
            assert_eq!(of_comparison(&record), expected, "{state:?}");
        }
        record.interrupted = true;
        assert_eq!(of_comparison(&record), Exit::Interrupted);
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
