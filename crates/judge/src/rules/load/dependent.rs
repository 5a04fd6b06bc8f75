//! ST-05: autocorrelated goodput.

use crate::facts::whole_load::{AGENT_LOST, is_any_lost};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::rate;
use model::{Evidence, FindingState, NS_PER_S, Second};
use stats::BATCHES_MIN;

/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S / 2;

/// Thirds of a window that are further apart, as a share of the higher one, are two states.
const DRIFT_SHARE: f64 = 0.2;

pub(crate) const RULE: Rule = Rule {
    id: "ST-05",
    title: "autocorrelated goodput",
    detects: "Goodput drifted slowly, so that its seconds are not independent samples.",
    fires: &[
        Fires::warning(
            "No interval can be given, and the goodput of the last third of the window was more than 20 % above or \
             below that of its first third.",
        ),
        Fires::note(
            "Successive batches of seconds have a correlation of at least 0.2 at every batch length, so that no \
             interval is given.",
        ),
    ],
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
    if let Some((first_per_s, last_per_s)) = drift(evidence) {
        let message = format!(
            "goodput was {} in the first third of the window and {} in the last one: the mean is that of neither state, and \
             no interval is given",
            rate(first_per_s),
            rate(last_per_s)
        );
        let remedy =
            "find out what changes (a cache that fills, memory, data that grow), and warm up until it has settled";
        let figures = [("first_per_s", first_per_s), ("last_per_s", last_per_s)];
        return Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures);
    }
    let message = "goodput drifted in the run: its seconds are correlated, so no interval is given".to_owned();
    let remedy = "measure longer (-d), or sweep with --iterations 6 for an interval over iterations".to_owned();
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("seconds", whole as f64)])
}

/// Goodput of the first and of the last third of the window, per second, where they are clearly apart.
fn drift(evidence: &Evidence) -> Option<(f64, f64)> {
    let seconds = &evidence.seconds;
    let third = seconds.len() / 3;
    let per_s = |seconds: &[Second]| {
        let (good, ns) = seconds.iter().fold((0, 0), |(good, ns), one| (good + one.good, ns + one.length_ns));
        (ns > 0).then(|| good as f64 / ns as f64 * NS_PER_S as f64)
    };
    let ends = per_s(&seconds[..third]).zip(per_s(&seconds[seconds.len() - third..]));
    ends.filter(|(first, last)| (last - first).abs() > DRIFT_SHARE * first.max(*last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, state};

    #[test]
    fn a_drift_is_noted_and_a_short_run_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        for (i, second) in evidence.seconds.iter_mut().enumerate() {
            second.good += 100 * i as u64;
        }
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
        // 1,740/s in the first second and 620/s in the last, and the run was VALID with a mean of 1,013/s.
        let falling = [1740, 1420, 1280, 1140, 1000, 920, 840, 800, 700, 680, 620];
        let mut fallen = evidence.clone();
        fallen.seconds.truncate(falling.len());
        fallen.seconds.iter_mut().zip(falling).for_each(|(second, good)| second.good = good);
        let found = finding(judged(&RULE, &fallen));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("1,480/s in the first third of the window and 667/s"), "{}", found.message);
        evidence.iterations = 2;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.iterations = 1;
        evidence.seconds.truncate(9);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
