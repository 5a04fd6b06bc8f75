//! Validity rules: pure functions of the evidence that say whether a number may be believed.
//!
//! Responsibilities: one rule per id of the catalogue ([`rules()`]), and their merger into a [`Verdict`] for a run
//! ([`judge_run`]), for a sweep ([`judge_sweep`]), for a capacity ([`judge_capacity`]), for a comparison
//! ([`judge_comparison`]) and for a page render ([`judge_render`], with rules of its own). A rule whose data is missing is [`Outcome::Unchecked`] and its id is listed in the verdict; it
//! never counts as passed. What would make rules fire is told beforehand by [`check`]; what stops the server is named by
//! [`limiter`]; what a load has to meet is a [`goal`], what makes a comparison fail a [`FailIf`], any other result a
//! [`threshold`], and what ends a load early stands in [`abort`].
//!
//! Findings carry their figures in `evidence`. Three families of keys are read by renderers: `LD-04` names a quantile
//! that must not be printed as `p99_tail_n` (requests beyond it), `ER-05` one that is only a lower bound as
//! `p99_at_least_ns` (likewise `p50`, `p90`, `p99_9`, `max`), and `CL-03` a quantile of the response time that is only an
//! upper bound as `p99_at_most_ns`.

pub mod abort;
mod agents;
mod beside_limiter;
#[cfg(test)]
mod bounding;
mod capacity;
pub mod check;
mod comparison;
mod facts;
mod fail_if;
pub mod goal;
pub mod limiter;
#[cfg(test)]
mod made_up;
mod need;
mod render;
mod rule;
mod rules;
#[cfg(test)]
mod shares;
mod sweep;
#[cfg(test)]
mod testing;
pub mod text;
pub mod threshold;

pub use beside_limiter::beside_limiter;
pub use capacity::{CapacityClaim, judge_capacity};
pub use comparison::{
    ComparedLoad, ComparisonClaim, judge_comparison, responses_differ, verdict_in_comparison, verdict_in_experiment,
};
pub use facts::bandwidth::speeds;
pub use facts::curve::{fit_points, fit_repeats};
pub use facts::disturbed::is_disturbed;
pub use facts::redirects::redirected_to;
pub use facts::saturation::saturated;
pub use fail_if::FailIf;
pub use need::{Applies, Kernel, Need, Whose};
pub use render::{RenderClaim, RenderRule, judge_render, render_rules};
pub(crate) use rule::{About, BesideLimiter};
pub use rule::{Check, Fires, Outcome, Rule};
pub use rules::planned_too_short;
pub use sweep::{Carriers, judge_sweep};

use model::{Evidence, Finding, FindingState, Verdict, VerdictState};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Judges one measured load by all rules that look at a run.
#[must_use]
pub fn judge_run(evidence: &Evidence) -> Verdict {
    verdict(rules().iter().filter_map(|rule| Some((rule.id, agents::outcome(rule, evidence)?))))
}

/// Every rule, in the order of the catalogue; ids are unique.
#[must_use]
pub fn rules() -> &'static [Rule] {
    rules::CATALOGUE
}

/// Collects outcomes into a verdict: findings worst first, equals in the order given. Advice is given once: a finding that
/// calls for the same as one before it refers to that.
#[must_use]
pub fn verdict(outcomes: impl Iterator<Item = (&'static str, Outcome)>) -> Verdict {
    let mut findings = Vec::new();
    let (mut unchecked, mut unchecked_why) = (Vec::new(), BTreeMap::new());
    for (id, outcome) in outcomes {
        match outcome {
            Outcome::Pass => {}
            Outcome::Fired(finding) => findings.push(finding),
            Outcome::Unchecked(why) => {
                unchecked.push(id.to_owned());
                unchecked_why.insert(id.to_owned(), why.to_owned());
            }
        }
    }
    findings.sort_by_key(|finding| Reverse(finding.state));
    refer_to_the_first(&mut findings);
    Verdict { state: state_of(&findings), findings, unchecked, unchecked_why }
}

/// Begin of a remedy that refers to another finding, whose rule follows.
const SAME_AS: &str = "the same as for ";

/// What `finding` of a verdict calls for, in full where it refers to another one.
#[must_use]
pub fn full_remedy<'a>(verdict: &'a Verdict, finding: &'a Finding) -> &'a str {
    let first = finding.remedy.strip_prefix(SAME_AS);
    let first = first.and_then(|rule| verdict.findings.iter().find(|other| other.rule == rule));
    &first.unwrap_or(finding).remedy
}

/// Has each finding whose remedy was given before name the first one that gives it.
fn refer_to_the_first(findings: &mut [Finding]) {
    for i in 1..findings.len() {
        let (before, rest) = findings.split_at_mut(i);
        let Some(finding) = rest.first_mut().filter(|finding| !finding.remedy.is_empty()) else { continue };
        if let Some(first) = before.iter().find(|first| first.remedy == finding.remedy) {
            finding.remedy = format!("{SAME_AS}{}", first.rule);
        }
    }
}

fn state_of(findings: &[Finding]) -> VerdictState {
    match findings.iter().map(|finding| finding.state).max() {
        Some(FindingState::Invalid) => VerdictState::Invalid,
        Some(FindingState::Bound) => VerdictState::Bound,
        Some(FindingState::Warning | FindingState::Note) | None => VerdictState::Valid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run};
    use std::collections::BTreeSet;

    #[test]
    fn a_clean_run_is_valid_with_notes_only() {
        for evidence in [clean_run(), clean_open_run()] {
            let verdict = judge_run(&evidence);
            assert_eq!(verdict.state, VerdictState::Valid, "{verdict:#?}");
            assert!(verdict.findings.iter().all(|finding| finding.state == FindingState::Note), "{verdict:#?}");
            assert_eq!(verdict.unchecked, Vec::<String>::new());
        }
    }

    #[test]
    fn ids_are_unique_and_everything_is_explained() {
        let ids: BTreeSet<_> = rules().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), rules().len());
        for rule in rules() {
            assert!(!rule.title.is_empty() && !rule.data().is_empty(), "{}", rule.id);
        }
    }

    /// "Measure from another machine" stood in three findings, of which each had client and server share CPUs as its cause.
    #[test]
    fn advice_that_was_given_is_not_given_again() {
        let mut evidence = clean_run();
        evidence.plan.cpus = vec![0, 1];
        testing::machine(&mut evidence).cpu_busy_mean = vec![0.95, 0.9];
        testing::generator(&mut evidence).threads[0].wait_mean = 0.5;
        let verdict = judge_run(&evidence);
        let remedies = |rule: &str| {
            let of_rule = verdict.findings.iter().filter(|finding| finding.rule == rule);
            of_rule.map(|finding| finding.remedy.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(remedies("LD-08"), ["measure from another machine"], "{verdict:#?}");
        assert_eq!(remedies("CL-09"), ["the same as for LD-08"], "{verdict:#?}");
        let starved = verdict.findings.iter().find(|finding| finding.rule == "CL-09").expect("it fired");
        assert_eq!(full_remedy(&verdict, starved), "measure from another machine");
    }

    #[test]
    fn findings_come_worst_first_and_the_worst_decides() {
        let mut evidence = clean_run();
        evidence.settled = false;
        evidence.connections.established = 60;
        let verdict = judge_run(&evidence);
        assert_eq!(verdict.state, VerdictState::Invalid);
        let states: Vec<_> = verdict.findings.iter().map(|finding| finding.state).collect();
        assert_eq!(states[..2], [FindingState::Invalid, FindingState::Warning]);
        assert!(states.is_sorted_by_key(|state| Reverse(*state)));
    }

    #[test]
    fn a_rule_without_data_is_unchecked_not_passed() {
        let mut evidence = clean_run();
        evidence.threads.clear();
        evidence.plan.requests[0].contract.size_bytes = None;
        assert_eq!(judge_run(&evidence).unchecked, ["CL-01", "ER-03"]);
    }
}
