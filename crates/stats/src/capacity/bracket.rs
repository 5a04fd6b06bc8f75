//! Bracketing: one load that holds and one above it that fails, by doubling and halving.

use super::tested::Tests;
use super::vote::VoteGoal;

/// Step up while loads hold, and down while they fail.
const STEP: f64 = 2.0;
/// Going down, the next load is at most this share of what was got out.
const HINT_SHARE: f64 = 0.8;
/// A load nearer to an end of the range than this factor is that end.
const NEAR: f64 = 1.001;

/// Loads that may be asked for; per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) from_per_s: f64,
    pub(super) to_per_s: f64,
}

impl Range {
    pub(super) fn clamp(&self, load_per_s: f64) -> f64 {
        load_per_s.min(self.to_per_s).max(self.from_per_s)
    }

    pub(super) fn is_at_bottom(&self, load_per_s: f64) -> bool {
        load_per_s <= self.from_per_s * NEAR
    }

    pub(super) fn is_at_top(&self, load_per_s: f64) -> bool {
        load_per_s * NEAR >= self.to_per_s
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bracketing {
    /// A short trial at this load.
    Try(f64),
    /// Votes at this end of the range, as nothing holds or nothing fails.
    Settle(f64),
    /// A load that holds, and one that fails.
    Found(f64, f64),
}

/// Next step after these trials. Loads of trials lie in the range, but for those that the range has left behind.
pub(super) fn bracketing(tests: &Tests, range: Range, start_per_s: f64, goal: &VoteGoal) -> Bracketing {
    match tests.relevant(goal) {
        (None, None) => Bracketing::Try(range.clamp(start_per_s)),
        (Some(held), Some(failed)) => Bracketing::Found(held, failed),
        (Some(held), None) if range.is_at_top(held) => Bracketing::Settle(held),
        (Some(held), None) => Bracketing::Try(range.clamp(held * STEP)),
        (None, Some(failed)) if range.is_at_bottom(failed) => Bracketing::Settle(failed),
        (None, Some(failed)) => {
            let got_out = tests.hint_per_s().map_or(f64::INFINITY, |per_s| per_s * HINT_SHARE);
            Bracketing::Try(range.clamp((failed / STEP).min(got_out)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tested::Counted;
    use crate::capacity::vote::Vote;

    const GOAL: VoteGoal = VoteGoal { duration_sum_s: 18.0, exceed_ratio: 0.5 };
    const RANGE: Range = Range { from_per_s: 10.0, to_per_s: 1000.0 };

    fn after(trials: &[(f64, bool, f64)]) -> Bracketing {
        let mut tests = Tests::default();
        for (load, held, achieved_per_s) in trials {
            let vote = Vote { held: *held, is_full: false, effective_s: 3.0 };
            let trial = Counted { vote, achieved_per_s: *achieved_per_s, failed: Vec::new(), backlog_grew: false };
            tests.add(*load, trial);
        }
        bracketing(&tests, RANGE, 100.0, &GOAL)
    }

    #[test]
    fn loads_double_while_they_hold_and_halve_while_they_fail() {
        assert_eq!(after(&[]), Bracketing::Try(100.0));
        assert_eq!(after(&[(100.0, true, 100.0)]), Bracketing::Try(200.0));
        assert_eq!(after(&[(100.0, true, 100.0), (200.0, false, 150.0)]), Bracketing::Found(100.0, 200.0));
        assert_eq!(after(&[(100.0, false, 100.0)]), Bracketing::Try(50.0));
        assert_eq!(after(&[(100.0, false, 20.0)]), Bracketing::Try(16.0), "what was got out says more");
    }

    #[test]
    fn the_ends_of_the_range_are_voted_on() {
        assert_eq!(after(&[(800.0, true, 800.0)]), Bracketing::Try(1000.0));
        assert_eq!(after(&[(1000.0, true, 800.0)]), Bracketing::Settle(1000.0));
        assert_eq!(after(&[(15.0, false, 0.0)]), Bracketing::Try(10.0));
        assert_eq!(after(&[(10.0, false, 0.0)]), Bracketing::Settle(10.0));
    }
}
