//! Sums over the comparisons of one server and kind, and the goals.

use model::{Call, Estimate};

use super::comparison::{Kind, Outcome};

/// Time in which an answer is wanted; s.
pub(super) const IN_TIME_S: f64 = 180.0;
/// Goals: share of the changes of 3 % that are called worse in time, and of the comparisons without a change that call one.
pub(super) const CALLED_WORSE_MIN: f64 = 0.8;
pub(super) const FLAGGED_MAX: f64 = 0.05;

/// What came of the comparisons of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) comparisons: usize,
    pub(super) worse: usize,
    /// Of them those within [`IN_TIME_S`].
    pub(super) worse_in_time: usize,
    pub(super) better: usize,
    /// Called the same, or a small change.
    pub(super) same_or_small: usize,
    pub(super) cannot_tell: usize,
    pub(super) invalid: usize,
    /// Time that half of them and that nine in ten of them took at most; s.
    pub(super) seconds: [f64; 2],
    /// Blocks that half of them had at most.
    pub(super) blocks: f64,
    /// Blocks of all of them that did not count.
    pub(super) thrown_away: u64,
    /// The smallest, the median and the largest estimate.
    pub(super) ratios: [f64; 3],
    /// Comparisons with an interval, and those of them whose interval has the true change in it.
    pub(super) intervals: usize,
    pub(super) covering: usize,
}

impl Sums {
    /// Of these outcomes, where `truth` is the true ratio, with an interval of its own if it was measured.
    pub(super) fn new(outcomes: &[Outcome], truth: &Estimate) -> Self {
        let count = |is: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
        let called = |calls: &[Call]| count(&|outcome| outcome.call.is_some_and(|call| calls.contains(&call)));
        let of = |value: fn(&Outcome) -> f64| -> Vec<f64> {
            let mut values: Vec<f64> = outcomes.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (seconds, ratios) = (of(|outcome| outcome.seconds), of(|outcome| outcome.ratio.value));
        Self {
            comparisons: outcomes.len(),
            worse: called(&[Call::Worse]),
            worse_in_time: count(&|outcome| outcome.call == Some(Call::Worse) && outcome.seconds <= IN_TIME_S),
            better: called(&[Call::Better]),
            same_or_small: called(&[Call::Same, Call::SmallChange]),
            cannot_tell: called(&[Call::CannotTell]),
            invalid: count(&|outcome| outcome.call.is_none()),
            seconds: [0.5, 0.9].map(|share| at(&seconds, share)),
            blocks: at(&of(|outcome| outcome.blocks as f64), 0.5),
            thrown_away: outcomes.iter().map(|outcome| outcome.thrown_away).sum(),
            ratios: [0.0, 0.5, 1.0].map(|share| at(&ratios, share)),
            intervals: count(&|outcome| outcome.ratio.low.is_some() && outcome.ratio.high.is_some()),
            covering: count(&|outcome| overlap(&outcome.ratio, truth)),
        }
    }

    /// The goal of its kind in a sentence, and whether it was met; none without a comparison.
    pub(super) fn goal(&self, server: &str, kind: Kind) -> Option<(String, bool)> {
        let of = self.comparisons;
        let share = |count: usize| count as f64 / of as f64;
        (of > 0).then(|| match kind {
            Kind::Worse => {
                let found = self.worse_in_time;
                let is_met = share(found) >= CALLED_WORSE_MIN;
                (format!("{server}: {found} of {of} changes of 3 % were called worse within 3 minutes"), is_met)
            }
            Kind::Same => {
                let flagged = self.worse + self.better;
                let is_met = share(flagged) <= FLAGGED_MAX;
                (format!("{server}: {flagged} of {of} comparisons without a change called one"), is_met)
            }
        })
    }
}

/// The value below or at which this share of the sorted values is; 0 without any.
fn at(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.max(1) - 1).copied().unwrap_or_default()
}

/// True if two intervals have a value in common; the truth is a value where it has no interval.
fn overlap(found: &Estimate, truth: &Estimate) -> bool {
    let (low, high) = (truth.low.unwrap_or(truth.value), truth.high.unwrap_or(truth.value));
    found.low.is_some_and(|found| found <= high) && found.high.is_some_and(|found| low <= found)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An outcome with an interval of a per cent on either side.
    pub(in super::super) fn outcome(call: Option<Call>, ratio: f64, seconds: f64) -> Outcome {
        let ratio = Estimate { value: ratio, low: Some(ratio - 0.01), high: Some(ratio + 0.01), n: 12 };
        Outcome { call, ratio, blocks: 12, thrown_away: 1, seconds }
    }

    #[test]
    fn calls_are_counted_and_times_are_medians() {
        let outcomes = [
            outcome(Some(Call::Worse), 1.03, 100.0),
            outcome(Some(Call::Worse), 1.05, 181.0),
            outcome(Some(Call::CannotTell), 1.02, 170.0),
            outcome(Some(Call::SmallChange), 1.0, 60.0),
            outcome(None, 1.04, 10.0),
        ];
        let truth = Estimate { value: 1.03, low: Some(1.029), high: Some(1.031), n: 12 };
        let sums = Sums::new(&outcomes, &truth);
        assert_eq!((sums.worse, sums.worse_in_time, sums.cannot_tell, sums.same_or_small), (2, 1, 1, 1));
        assert_eq!((sums.better, sums.invalid, sums.thrown_away, sums.blocks), (0, 1, 5, 12.0));
        assert_eq!((sums.seconds, sums.ratios), ([100.0, 181.0], [1.0, 1.03, 1.05]));
        assert_eq!((sums.intervals, sums.covering), (5, 3), "1.05 and 1.0 are too far from the truth");
        let exact = Estimate { value: 1.0, ..Estimate::default() };
        assert_eq!(Sums::new(&outcomes, &exact).covering, 1);
    }

    #[test]
    fn goals_are_shares_of_the_comparisons() {
        let worse = |found: usize| Sums { comparisons: 20, worse: 20, worse_in_time: found, ..Sums::default() };
        let said = "go: 16 of 20 changes of 3 % were called worse within 3 minutes".to_owned();
        assert_eq!(worse(16).goal("go", Kind::Worse), Some((said, true)));
        assert!(worse(15).goal("go", Kind::Worse).is_some_and(|(_, is_met)| !is_met));
        let same = |worse: usize, better: usize| Sums { comparisons: 20, worse, better, ..Sums::default() };
        assert!(same(0, 1).goal("go", Kind::Same).is_some_and(|(_, is_met)| is_met));
        assert!(same(1, 1).goal("go", Kind::Same).is_some_and(|(_, is_met)| !is_met));
        assert_eq!(Sums::default().goal("go", Kind::Same), None, "nothing was compared");
    }
}
