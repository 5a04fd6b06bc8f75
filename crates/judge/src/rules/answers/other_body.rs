//! ER-16: other bodies than the probe's, of the same size.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Body, Contract, Evidence, FindingState};

const WARNING_SHARE: f64 = 0.01;
/// One may be a page that was made anew.
const OTHER_MIN: u64 = 2;

pub(crate) const RULE: Rule = Rule {
    id: "ER-16",
    title: "other bodies than before",
    detects: "Responses of the right status and size had another body than the probe's, as error pages do.",
    fires: &[Fires::warning(
        "More than 1 % of the compared bodies, and at least 2, differ from the one that the probe got each time.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan, Need::WhereKnown(&[Need::Probe])],
    conditions: "fetches of the probe with the same body each time, and a sample of the bodies",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.plan.contracts().any(|contract| contract.body_hash.is_some()) {
        // ER-03 holds each of them to it.
        return Outcome::Pass;
    }
    // Of pages of several sizes the most rarely compared one, as the verdict says of itself.
    let compared = evidence.plan.contracts().filter(|contract| contract.usual_hash.is_some());
    let Some(every) = compared.map(Contract::compared_every).max() else {
        let is_changing = evidence.probe.as_ref().is_some_and(|probe| probe.body != Body::Stable);
        return Outcome::Unchecked(match is_changing {
            true => "the pages differ from each other before the load",
            false => "no body is known to stay the same",
        });
    };
    let (compared, other) = (evidence.cohort.counts.bodies_compared, evidence.cohort.counts.bodies_other);
    if compared == 0 {
        return Outcome::Unchecked("no body was compared");
    }
    let share = other as f64 / compared as f64;
    if other < OTHER_MIN || share <= WARNING_SHARE {
        return Outcome::Pass;
    }
    let message = format!(
        "{} of {} compared bodies ({}) are others than the one that the probe got each time, of the same size (one response \
         in {} is compared): they may be error pages, and count as good",
        count(other),
        count(compared),
        percent(share),
        every
    );
    let remedy = "look at what the server sends under load; if the page changes with time or user, declare what stays: \
                  --expect 'body~\"TEXT\"'; if it may not change, --expect hash";
    let figures = [("compared", compared as f64), ("other", other as f64), ("share", share)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};

    fn other(n: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.cohort.counts.bodies_other = n;
        evidence
    }

    /// Half of the pages were error pages of the same size, and the run was VALID without a word.
    #[test]
    fn other_bodies_of_the_same_size_are_a_warning_with_their_share() {
        assert_eq!(judged(&RULE, &other(0)), Outcome::Pass);
        assert_eq!(judged(&RULE, &other(20)), Outcome::Pass);
        let half = finding(judged(&RULE, &other(4_950)));
        assert_eq!(half.state, FindingState::Warning);
        assert!(half.message.starts_with("4,950 of 9,900 compared bodies (50 %) are others"), "{}", half.message);
        assert!(half.message.contains("one response in 101"), "{}", half.message);
        let mut few = other(1);
        few.cohort.counts.bodies_compared = 2;
        assert_eq!(judged(&RULE, &few), Outcome::Pass);
    }

    #[test]
    fn pages_that_differ_before_the_load_are_not_compared() {
        let mut evidence = other(9_900);
        evidence.plan.requests[0].contract.usual_hash = None;
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked("no body is known to stay the same"));
        evidence.probe.as_mut().expect("a probe").body = Body::ChangingBytes;
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked("the pages differ from each other before the load"));
        evidence.plan.requests[0].contract.body_hash = Some(1);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "ER-03 has failed each of them");
    }
}
