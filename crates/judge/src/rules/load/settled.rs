//! ST-01: window that began before steady state.

use crate::{Check, Outcome, Rule};
use model::{Evidence, FindingState, Warmup};

pub(crate) const RULE: Rule = Rule {
    id: "ST-01",
    title: "steady state not reached",
    detects: "measurement window that began while goodput was still changing",
    threshold: "automatic warm-up ended at its limit without steady state (MSER-5): warning",
    data: "automatic warm-up; a fixed one is not tested",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.settled {
        return match evidence.plan.warmup {
            Warmup::Auto => Outcome::Pass,
            Warmup::Fixed { .. } => Outcome::Unchecked("fixed warm-up, not tested for steady state"),
        };
    }
    let message = "goodput was still changing when the measurement began: no steady state";
    let remedy = "warm up longer: --warmup 60s";
    Outcome::fired(RULE.id, FindingState::Warning, message.to_owned(), remedy.to_owned(), [("settled", 0.0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, state};

    #[test]
    fn warns_when_not_settled() {
        let mut evidence = clean_run();
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.settled = false;
        assert_eq!(state(&check(&evidence)), Some(FindingState::Warning));
    }

    #[test]
    fn a_fixed_warm_up_is_unchecked() {
        let mut evidence = clean_run();
        evidence.plan.warmup = Warmup::Fixed { duration_ns: 2_000_000_000 };
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
