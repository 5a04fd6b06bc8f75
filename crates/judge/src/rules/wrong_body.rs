//! ER-03: was the body the one that was asked for?

use crate::rules::errors::failures_named;
use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const INVALID_SHARE: f64 = 0.001;

pub(crate) const RULE: Rule = Rule {
    id: "ER-03",
    title: "wrong body",
    detects: "responses with a good status but a body of another size: error pages, cut bodies",
    threshold: "> 0.1 % of the complete responses (own threshold)",
    data: "a body size in the contract, declared or found by the probe; failures by kind",
    check: Check::Run(check),
};

/// Whether the rule fires on `evidence`.
pub(crate) fn fires(evidence: &Evidence) -> bool {
    matches!(check(evidence), Outcome::Fired(_))
}

fn check(evidence: &Evidence) -> Outcome {
    let Some(size) = evidence.plan.contract.size_bytes else {
        return Outcome::Unchecked("the contract has no body size, as for a page that changes from fetch to fetch");
    };
    let completed = evidence.cohort.completed;
    if completed == 0 {
        return Outcome::Unchecked("no response was complete");
    }
    let wrong: u64 = failures_named(evidence, "contract.size").map(|(_, n)| n).sum();
    let share = wrong as f64 / completed as f64;
    if share <= INVALID_SHARE {
        return Outcome::Pass;
    }
    let expected = if size.min == size.max {
        format!("{} bytes", count(size.min))
    } else {
        format!("{} to {} bytes", count(size.min), count(size.max))
    };
    let message = format!(
        "{} of {} responses ({}) did not have the expected body of {expected}",
        count(wrong),
        count(completed),
        percent(share)
    );
    let remedy = "look at the body under load; if its size may vary, declare that: --expect size=MIN..MAX";
    let figures = [
        ("wrong_size", wrong as f64),
        ("share", share),
        ("size_min_bytes", size.min as f64),
        ("size_max_bytes", size.max as f64),
    ];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Spoil, clean_run, finding};
    use model::SizeBand;

    #[test]
    fn wrong_sizes_invalidate_and_the_expected_one_is_named() {
        let mut evidence = clean_run();
        evidence.fail("contract.size", 1_001);
        let found = finding(check(&evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("expected body of 1,024 bytes"), "{}", found.message);
        evidence.plan.contract.size_bytes = Some(SizeBand { min: 10, max: 2_000 });
        assert!(finding(check(&evidence)).message.contains("10 to 2,000 bytes"));
    }

    #[test]
    fn silent_up_to_the_threshold_and_unchecked_without_a_size() {
        let mut evidence = clean_run();
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.fail("contract.size", 1_000);
        assert_eq!(check(&evidence), Outcome::Pass);
        evidence.plan.contract.size_bytes = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
