//! A search for the capacity of a variant in one block: what it has found, as one value of the block.

use crate::coordinate::compare::Outcome;
use crate::result::capacity::{JudgedTrial, Trial, bracket};
use evidence::EvidenceBuilder;
use judge::goal::Goal;
use model::{Bound, CapacityBracket, CapacityReason, CapacitySettings, CompareMetric, LimiterContext};
use stats::{CapacityResult, CapacitySearch};

/// A search, and its trials in the order made.
#[derive(Clone)]
pub(in crate::result) struct SearchedCapacity {
    pub(in crate::result) settings: CapacitySettings,
    pub(in crate::result) trials: Vec<Trial>,
}

/// What came of a search.
pub(super) struct FoundCapacity {
    result: CapacityResult,
    pub(super) bracket: CapacityBracket,
    /// Undisturbed share of all its windows; none where nobody kept an account.
    clean_share: Option<f64>,
    /// The last trial that counted and held at the lower end.
    low_trial: Option<usize>,
}

impl SearchedCapacity {
    /// True if one of its trials was ended before its window was over.
    pub(super) fn is_cut(&self) -> bool {
        self.trials.iter().any(Trial::is_cut)
    }

    /// The same search, made again from its trials.
    pub(super) fn found(&self, goal: &Goal, limits: &LimiterContext) -> FoundCapacity {
        let mut search = CapacitySearch::new(self.settings);
        let (mut held, mut clean_ns, mut measured_ns) = (Vec::new(), Some(0.0), 0.0);
        for (index, trial) in self.trials.iter().enumerate() {
            let Some(asked) = search.next().filter(|asked| asked.load_per_s == trial.made.load_per_s) else { continue };
            let judged = JudgedTrial::new(goal, limits, &trial.made, &trial.builder);
            let window_ns = judged.outcome.measured_ns as f64;
            measured_ns += window_ns;
            clean_ns = clean_ns.zip(judged.outcome.clean_share).map(|(sum, share)| sum + share * window_ns);
            if search.apply(&judged.outcome) && judged.held() {
                held.push((asked.load_per_s, index));
            }
        }
        let result = search.result();
        let at_low = held.iter().rev().find(|(load_per_s, _)| Some(*load_per_s) == result.low_per_s);
        FoundCapacity {
            low_trial: at_low.map(|(_, index)| *index),
            clean_share: clean_ns.filter(|_| measured_ns > 0.0).map(|clean_ns| clean_ns / measured_ns),
            bracket: bracket(result.clone(), goal),
            result,
        }
    }

    /// The load of the lower end.
    pub(super) fn at_low(&self, found: &FoundCapacity) -> Option<&EvidenceBuilder> {
        found.low_trial.and_then(|index| self.trials.get(index)).map(|trial| &trial.builder)
    }
}

impl FoundCapacity {
    /// As a value of the block: where all trials together put the capacity, or the end that is known.
    pub(super) fn outcome(&self, took_ns: u64) -> Outcome {
        let value = self.value();
        Outcome {
            values: value.iter().map(|(per_s, _)| (CompareMetric::CapacityPerS, *per_s)).collect(),
            clean_share: self.clean_share,
            // The search itself repeats what is too disturbed.
            says_little: false,
            took_ns,
            bound: value.and_then(|(_, bound)| bound),
        }
    }

    fn value(&self) -> Option<(f64, Option<Bound>)> {
        let CapacityResult { reason, low_per_s, high_per_s, estimate_per_s, .. } = &self.result;
        let is_at_end =
            matches!(reason, CapacityReason::ClientCeiling | CapacityReason::RangeEnded | CapacityReason::NeverMet);
        match (low_per_s, high_per_s, estimate_per_s) {
            (_, _, Some(estimate)) if !is_at_end => Some((estimate.value, None)),
            (Some(low), ..) => Some((*low, Some(Bound::AtLeast))),
            (None, Some(high), _) => Some((*high, Some(Bound::AtMost))),
            (None, None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Estimate;

    fn value(reason: CapacityReason, low: Option<f64>, high: Option<f64>, estimate: Option<f64>) -> Outcome {
        let estimate_per_s = estimate.map(|value| Estimate { value, ..Estimate::default() });
        let search = CapacitySearch::new(CapacitySettings {
            from_per_s: 1.0,
            to_per_s: 10.0,
            start_per_s: 5.0,
            width: 0.03,
            times: model::CapacityTimes::default(),
            seed: 1,
        });
        let result = CapacityResult { reason, low_per_s: low, high_per_s: high, estimate_per_s, ..search.result() };
        let goal = Goal::parse(None).unwrap();
        let bracket = bracket(result.clone(), &goal);
        FoundCapacity { result, bracket, clean_share: Some(0.5), low_trial: None }.outcome(7)
    }

    #[test]
    fn the_value_of_a_block_is_the_estimate_of_all_trials_or_the_end_that_is_known() {
        use CapacityReason::{BudgetEnded, ClientCeiling, NeverMet, RangeEnded};
        let of = |outcome: Outcome| (outcome.values.get(&CompareMetric::CapacityPerS).copied(), outcome.bound);
        assert_eq!(of(value(BudgetEnded, Some(900.0), Some(1_100.0), Some(1_000.0))), (Some(1_000.0), None));
        assert_eq!(of(value(BudgetEnded, Some(900.0), None, None)), (Some(900.0), Some(Bound::AtLeast)));
        assert_eq!(of(value(BudgetEnded, None, Some(900.0), None)), (Some(900.0), Some(Bound::AtMost)));
        assert_eq!(of(value(NeverMet, None, Some(10.0), Some(9.0))), (Some(10.0), Some(Bound::AtMost)));
        for reason in [ClientCeiling, RangeEnded] {
            assert_eq!(of(value(reason, Some(900.0), None, Some(950.0))), (Some(900.0), Some(Bound::AtLeast)));
        }
        assert_eq!(of(value(BudgetEnded, None, None, None)), (None, None));
    }
}
