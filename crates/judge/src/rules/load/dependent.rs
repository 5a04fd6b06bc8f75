//! ST-05: autocorrelated goodput.

use crate::facts::whole_load::{AGENT_LOST, is_any_lost};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState, NS_PER_S};
use stats::BATCHES_MIN;

/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S / 2;

pub(crate) const RULE: Rule = Rule {
    id: "ST-05",
    title: "autocorrelated goodput",
    detects: "Goodput drifted slowly, so that its seconds are not independent samples.",
    fires: &[Fires::note(
        "Successive batches of seconds have a correlation of at least 0.2 at every batch length, so that no \
             interval is given.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Requests],
    conditions: "one run of at least 10 whole seconds",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.iterations > 1 {
        return Outcome::Pass; // the interval is over iterations then
    }
    if is_any_lost(evidence) {
        return Outcome::Unchecked(AGENT_LOST);
    }
    let whole = evidence.seconds.iter().filter(|second| second.length_ns >= TICK_MIN_NS).count();
    if whole < BATCHES_MIN {
        return Outcome::Unchecked("fewer than 10 whole seconds");
    }
    if evidence::goodput(evidence).low.is_some() {
        return Outcome::Pass;
    }
    let message = "goodput drifted in the run: its seconds are correlated, so no interval is given".to_owned();
    let remedy = "measure longer (-d), or sweep with --iterations 6 for an interval over iterations".to_owned();
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("seconds", whole as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, state};

    #[test]
    fn a_drift_is_noted_and_a_short_run_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        for (i, second) in evidence.seconds.iter_mut().enumerate() {
            second.good += 100 * i as u64;
        }
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
        evidence.iterations = 2;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.iterations = 1;
        evidence.seconds.truncate(9);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
