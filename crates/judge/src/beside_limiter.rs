//! The verdict beside the limiter: what bounds the goodput is said in one place, and no finding says another thing.
//!
//! The limiter is found after the findings, as it depends on them: it names nothing where client or responses were at fault.
//! Findings say what they have seen. What their remedies would gain depends on the limiter, so these are completed here.

use crate::limiter::{NOT_A_SERVER_LIMIT, NOT_SATURATED, names_a_limit};
use crate::rules::BESIDE_LIMITER;
use crate::{About, state_of};
use model::{Finding, Limiter, Verdict};

/// `verdict` as it stands beside `limiter`, of the same load or sweep.
#[must_use]
pub fn beside_limiter(verdict: Verdict, limiter: Option<&Limiter>) -> Verdict {
    let Some(limiter) = limiter else { return verdict };
    let Verdict { findings, mut unchecked, mut unchecked_why, .. } = verdict;
    let mut told = Vec::new();
    for finding in findings {
        let rule = finding.rule.clone();
        match beside(finding, limiter) {
            Beside::Told(finding) => told.push(finding),
            Beside::Untrue => {}
            Beside::Unchecked(why) => {
                unchecked.push(rule.clone());
                unchecked_why.insert(rule, why.to_owned());
            }
        }
    }
    Verdict { state: state_of(&told), findings: told, unchecked, unchecked_why }
}

enum Beside {
    /// It stands, as it is given.
    Told(Finding),
    /// A limit is named, and the finding says that there is none.
    Untrue,
    /// It cannot be known; why.
    Unchecked(&'static str),
}

fn beside(finding: Finding, limiter: &Limiter) -> Beside {
    let known = BESIDE_LIMITER.iter().find(|known| known.rule == finding.rule);
    match known.map(|known| known.about) {
        None => Beside::Told(finding),
        Some(About::NoLimit) => match limiter.name.as_str() {
            NOT_A_SERVER_LIMIT => Beside::Unchecked("faults of client or responses determined the result"),
            NOT_SATURATED => Beside::Unchecked("the load may have been too small for any limit"),
            _ if names_a_limit(limiter) => Beside::Untrue,
            _ => Beside::Told(finding),
        },
        Some(About::Limits(names)) if names_a_limit(limiter) && !names.contains(&limiter.name.as_str()) => {
            let remedy =
                format!("the limiter is another ({}), and comes first; after it: {}", limiter.name, finding.remedy);
            Beside::Told(Finding { remedy, ..finding })
        }
        Some(About::Limits(_)) => Beside::Told(finding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::UNKNOWN;
    use crate::testing::{fault, verdict_of};
    use crate::{BesideLimiter, judge_run, judge_sweep, rules};
    use model::VerdictState;

    fn named(name: &str) -> Limiter {
        Limiter { name: name.to_owned(), ..Limiter::default() }
    }

    fn of_fault(rule: &str) -> Verdict {
        verdict_of(fault(rule).expect("somebody made it up"))
    }

    fn finding<'a>(verdict: &'a Verdict, rule: &str) -> Option<&'a Finding> {
        verdict.findings.iter().find(|finding| finding.rule == rule)
    }

    /// "The pool limits goodput" beside cpu-limited: an owner who raised pm.max_children got nothing.
    #[test]
    fn remedies_of_another_limit_than_the_named_one_come_after_it() {
        for BesideLimiter { rule, about } in BESIDE_LIMITER {
            let About::Limits(names) = about else { continue };
            let plain = of_fault(rule);
            let remedy = |limiter: &str| {
                let verdict = beside_limiter(plain.clone(), Some(&named(limiter)));
                finding(&verdict, rule).expect("it stands").remedy.clone()
            };
            let own = finding(&plain, rule).expect("it fired").remedy.clone();
            assert_eq!([remedy(names[0]), remedy(UNKNOWN)], [own.clone(), own.clone()], "{rule}");
            let after = format!("the limiter is another (lock-limited), and comes first; after it: {own}");
            assert_eq!(remedy("lock-limited"), after);
        }
    }

    /// "No saturated resource ... look for a pool" stood beside limiters that named one.
    #[test]
    fn a_limit_that_is_named_is_no_missing_one() {
        let plain = of_fault("SA-05");
        let has = |limiter: &str| finding(&beside_limiter(plain.clone(), Some(&named(limiter))), "SA-05").is_some();
        assert!(finding(&plain, "SA-05").is_some() && has(UNKNOWN));
        assert!(!has("interpreter-lock-limited") && !has("concurrency-limited"));
        for (limiter, why) in [(NOT_A_SERVER_LIMIT, "faults of client"), (NOT_SATURATED, "too small")] {
            let verdict = beside_limiter(plain.clone(), Some(&named(limiter)));
            assert!(finding(&verdict, "SA-05").is_none() && verdict.unchecked.contains(&"SA-05".to_owned()));
            assert!(verdict.unchecked_why["SA-05"].contains(why), "{verdict:?}");
        }
    }

    /// A rule that says what limits the goodput, and is not given the limiter, would contradict it some day.
    #[test]
    fn no_finding_says_by_itself_what_limits_the_goodput() {
        let claims =
            ["limits goodput", "limits this load", "limits the goodput", "is the bottleneck", "limits throughput"];
        for rule in rules() {
            let verdict = of_fault(rule.id);
            let Some(finding) = finding(&verdict, rule.id) else { continue };
            let said = claims.iter().find(|claim| finding.message.contains(**claim));
            assert_eq!(said, None, "{}: {}", rule.id, finding.message);
        }
    }

    #[test]
    fn the_state_is_that_of_what_is_left() {
        let verdict = beside_limiter(of_fault("ER-01"), Some(&named("cpu-limited")));
        assert_eq!(verdict.state, VerdictState::Invalid);
        let clean = judge_run(&crate::testing::clean_run());
        assert_eq!(beside_limiter(clean.clone(), Some(&named("cpu-limited"))), clean);
        let sweep = crate::testing::clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 176.0), (8.0, 175.0)]);
        let clean = judge_sweep(&sweep);
        assert_eq!(beside_limiter(clean.clone(), Some(&named(NOT_SATURATED))), clean);
    }
}
