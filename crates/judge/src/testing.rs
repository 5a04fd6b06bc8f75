//! What tests of the rules have in common: the made-up loads, and what is inside an outcome.

pub(crate) use faults::*;

use crate::{Fires, Outcome, Rule, Verdict, judge_run, judge_sweep};
use model::{Evidence, Finding, FindingState, SweepEvidence};

/// The finding inside `outcome`.
pub(crate) fn finding(outcome: Outcome) -> Finding {
    match outcome {
        Outcome::Fired(finding) => finding,
        other => panic!("expected a finding, got {other:?}"),
    }
}

/// What a rule says of one load, with one of the states that it names.
pub(crate) fn judged(rule: &Rule, evidence: &Evidence) -> Outcome {
    with_a_state_of(rule, rule.judge_load(evidence).expect("a rule of a load"))
}

/// What a rule says of a whole sweep, with one of the states that it names.
pub(crate) fn judged_sweep(rule: &Rule, sweep: &SweepEvidence) -> Outcome {
    with_a_state_of(rule, rule.judge_sweep(sweep).expect("a rule of a sweep"))
}

#[track_caller]
fn with_a_state_of(rule: &Rule, outcome: Outcome) -> Outcome {
    if let Some(state) = state(&outcome) {
        assert!(can_say(rule.fires, state), "{}: {state:?} is not in {:?}", rule.id, rule.fires);
    }
    outcome
}

/// True if a rule that fires so can reach the state.
pub(crate) fn can_say(fires: &[Fires], state: FindingState) -> bool {
    fires.iter().any(|fires| fires.state == state)
}

/// The state `outcome` fired with; none if it passed or was not checked.
pub(crate) fn state(outcome: &Outcome) -> Option<FindingState> {
    match outcome {
        Outcome::Fired(finding) => Some(finding.state),
        Outcome::Pass | Outcome::Unchecked(_) => None,
    }
}

/// What all rules say of a made-up load.
pub(crate) fn verdict_of(fault: &Fault) -> Verdict {
    match fault.measured() {
        Measured::Run(evidence) => judge_run(&evidence),
        Measured::Sweep(sweep) => judge_sweep(&sweep),
    }
}
