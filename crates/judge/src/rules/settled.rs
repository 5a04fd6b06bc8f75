//! ST-01: was the server warm?

use crate::{Check, Outcome, Rule};
use model::{Evidence, FindingState, Warmup};

pub(crate) const RULE: Rule = Rule {
    id: "ST-01",
    title: "not settled",
    detects: "a measured window that began while the goodput was still changing",
    threshold: "the automatic warm-up ended at its limit without finding the series settled (MSER-5): warning",
    data: "an automatic warm-up; a fixed one is not tested",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.settled {
        return match evidence.plan.warmup {
            Warmup::Auto => Outcome::Pass,
            Warmup::Fixed { .. } => Outcome::Unchecked("a fixed warm-up is not tested for having settled"),
        };
    }
    let message = "goodput was still changing when the measurement began: the server was not warm yet";
    let remedy = "warm up for longer: --warmup 60s";
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
