//! CL-14: scheduled requests that were never sent.

use crate::facts::failures_named;
use crate::rules::client::cap;
use crate::rules::client::send_rate::SENT_SHARE_MIN;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "CL-14",
    title: "requests never sent",
    detects: "Requests of an open loop found no free connection before their deadline.",
    fires: &[Fires::bound("At least one request was due and was never sent.")],
    remarks: "Such requests are what k6 counts as dropped iterations. Where less than 99 % of the scheduled requests \
              were sent, CL-05 reports it instead.",
    applies: Applies::OpenLoop,
    needs: &[Need::PlannedRequests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let cohort = &evidence.cohort;
    let dropped: u64 = failures_named(evidence, "send.timeout").map(|(_, n)| n).sum();
    let told_by_rate = (cohort.counts.sent as f64) < SENT_SHARE_MIN * cohort.counts.planned as f64;
    if dropped == 0 || told_by_rate {
        return Outcome::Pass;
    }
    let share = dropped as f64 / cohort.counts.planned as f64;
    let message = format!(
        "{} requests ({}) were due but never sent: they count as failures, the rate was not sustained",
        count(dropped),
        percent(share)
    );
    let figures = [("dropped", dropped as f64), ("share", share)];
    Outcome::fired(RULE.id, FindingState::Bound, message, cap::remedy(evidence), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_open_run, clean_run, finding, judged};

    fn dropped(mut evidence: Evidence, n: u64) -> Evidence {
        evidence.fail("send.timeout", n);
        evidence.cohort.counts.sent -= n;
        evidence
    }

    #[test]
    fn one_is_enough_and_many_are_told_by_the_rate() {
        let found = finding(judged(&RULE, &dropped(clean_open_run(), 1_000)));
        assert_eq!(found.state, FindingState::Bound);
        assert!(found.message.starts_with("1,000 requests (0.10 %) were due"), "{}", found.message);
        assert_eq!(judged(&RULE, &dropped(clean_open_run(), 50_000)), Outcome::Pass);
    }

    #[test]
    fn silent_in_a_closed_loop_and_unchecked_without_requests() {
        assert_eq!(judged(&RULE, &clean_open_run()), Outcome::Pass);
        assert_eq!(judged(&RULE, &dropped(clean_run(), 1_000)), Outcome::Pass);
        let mut evidence = clean_open_run();
        evidence.cohort.counts.planned = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
