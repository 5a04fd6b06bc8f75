//! ST-01: window that began before steady state.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState, Warmup};

pub(crate) const RULE: Rule = Rule {
    id: "ST-01",
    title: "steady state not reached",
    detects: "The measurement window began while goodput was still changing.",
    fires: &[Fires::warning(
        "The automatic warm-up ended at its limit without steady state; or the window of an open loop had \
             clearly more good responses than belong to the requests that were scheduled in it.",
    )],
    remarks: "MSER-5 decides about the steady state. Clearly more means more than 10, more than 1 % of the scheduled \
              requests, and more than the requests in flight vary by (3 standard deviations); goodput is then \
              without them.",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan],
    conditions: "an automatic warm-up, since a fixed one is not tested for steady state",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let carried = evidence::carried_over(evidence);
    if carried > 0 {
        return backlog(evidence, carried);
    }
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

/// The warm-up ended with a queue in front of the server, whose answers came in the window.
fn backlog(evidence: &Evidence, carried: u64) -> Outcome {
    let share = carried as f64 / evidence.flow.good.max(1) as f64;
    let message = format!(
        "{} good responses of the window ({}) were to requests that had piled up before it: goodput is without them",
        count(carried),
        percent(share)
    );
    let remedy = "warm up until nothing is left waiting (--warmup), or start the load with a lower rate".to_owned();
    let figures = [("carried_over", carried as f64), ("share", share)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged, state};

    /// 210/s of 192/s, and no rule objected.
    #[test]
    fn goodput_above_the_schedule_is_told_as_the_backlog_that_it_is() {
        let mut evidence = clean_open_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.flow.good += 90_000;
        evidence.flow.completed += 90_000;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(
            found.message.starts_with("90,000 good responses of the window (8.3 %) were to requests that"),
            "{found:?}"
        );
        evidence.plan.warmup = Warmup::Fixed { duration_ns: 2_000_000_000 };
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning), "of a fixed one too");
    }

    #[test]
    fn warns_when_not_settled() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.settled = false;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
    }

    #[test]
    fn a_fixed_warm_up_is_unchecked() {
        let mut evidence = clean_run();
        evidence.plan.warmup = Warmup::Fixed { duration_ns: 2_000_000_000 };
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
