//! Rules that nobody could check because nobody was to look: they say so, instead of what they missed first.

use crate::testing::{clean_open_run, clean_run, clean_sweep};
use crate::{Check, Outcome, Rule};
use model::{ALL_ELSEWHERE, Evidence, NOT_OBSERVED};

/// `outcome` of `rule`, with the reason that nobody looked at any of the loads, if it is that.
pub(crate) fn told<'a>(rule: &Rule, loads: impl IntoIterator<Item = &'a Evidence>, outcome: Outcome) -> Outcome {
    if !matches!(outcome, Outcome::Unchecked(_)) {
        return outcome;
    }
    match loads.into_iter().find_map(why_unseen) {
        Some(why) if needs_observation(rule) => Outcome::Unchecked(why),
        _ => outcome,
    }
}

/// Why nobody was to look at a load; none if somebody was.
fn why_unseen(evidence: &Evidence) -> Option<&'static str> {
    let seen = evidence.observed.as_ref()?;
    [NOT_OBSERVED, ALL_ELSEWHERE].into_iter().find(|why| seen.unavailable.values().any(|told| told == why))
}

/// True if a rule that is checked of a load that somebody looked at is not when nobody did: asked of the rule itself, so
/// that no list of them can be out of date.
fn needs_observation(rule: &Rule) -> bool {
    match rule.check {
        Check::Run(check) | Check::Both { run: check, .. } => [clean_run(), clean_open_run()].iter().any(|seen| {
            let blind = Evidence { observed: None, status: Vec::new(), ..seen.clone() };
            is_checked(&check(seen)) && !is_checked(&check(&blind))
        }),
        Check::Sweep(check) => {
            let seen = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 176.0), (8.0, 175.0)]);
            let mut blind = seen.clone();
            blind.points.iter_mut().for_each(|point| point.evidence.observed = None);
            is_checked(&check(&seen)) && !is_checked(&check(&blind))
        }
    }
}

const fn is_checked(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Unchecked(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge_run, judge_sweep};
    use model::Observed;

    /// Nobody looks at it.
    fn blind(evidence: &mut Evidence) {
        blind_for(NOT_OBSERVED, evidence);
    }

    fn blind_for(why: &str, evidence: &mut Evidence) {
        let unavailable = [("machine".to_owned(), why.to_owned())].into();
        evidence.observed = Some(Observed { unavailable, ..Observed::default() });
        evidence.status.clear();
    }

    #[test]
    fn rules_that_need_an_observer_say_that_there_was_none() {
        let mut evidence = clean_run();
        blind(&mut evidence);
        evidence.threads.clear();
        let verdict = judge_run(&evidence);
        for rule in ["CL-10", "EN-01", "EN-03", "NE-01", "NE-04", "SV-01", "SV-02", "SV-05"] {
            assert_eq!(verdict.unchecked_why.get(rule).map(String::as_str), Some(NOT_OBSERVED), "{rule}");
        }
        assert!(verdict.unchecked_why.keys().eq(std::collections::BTreeSet::from_iter(&verdict.unchecked)));
        // What was missed for another reason keeps that.
        assert_eq!(verdict.unchecked_why["CL-01"], "CPU time of the load threads unknown");
        // An observer who finds nothing is none who was sent away.
        evidence.observed = None;
        assert!(!judge_run(&evidence).unchecked_why.values().any(|why| why == NOT_OBSERVED));
    }

    /// Each run with `--client` of a remote server told of a flag that nobody had written.
    #[test]
    fn rules_do_not_blame_a_flag_where_load_and_server_are_elsewhere() {
        let mut evidence = clean_run();
        blind_for(ALL_ELSEWHERE, &mut evidence);
        let why = judge_run(&evidence).unchecked_why;
        for rule in ["CL-10", "EN-01", "SV-01"] {
            assert_eq!(why.get(rule).map(String::as_str), Some(ALL_ELSEWHERE), "{rule}");
        }
        assert!(!why.values().any(|why| why == NOT_OBSERVED));
    }

    #[test]
    fn sweeps_say_it_as_runs_do() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 176.0)]);
        sweep.points.iter_mut().for_each(|point| blind(&mut point.evidence));
        let why = judge_sweep(&sweep).unchecked_why;
        assert_eq!(why["EN-01"], NOT_OBSERVED);
        assert!(
            why.keys().all(|rule| why[rule] == NOT_OBSERVED || ["CL-01", "ST-04", "ST-07"].contains(&rule.as_str())),
            "{why:#?}"
        );
    }
}
