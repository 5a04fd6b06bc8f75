//! Search for a capacity: the trials of [`stats::CapacitySearch`], each with what is left of the time.

use super::Search;
use model::{CapacitySettings, CapacityTimes};
use stats::{CapacityOutcome, CapacitySearch, CapacityTrial};

/// Ends of a bracket; per second.
pub(crate) type Bounds = (Option<f64>, Option<f64>);

/// One trial to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) trial: CapacityTrial,
    /// The bracket before it.
    pub(crate) bracket: Bounds,
    /// Time that all trials before it took, and that there is for all; ns.
    pub(crate) spent_ns: u64,
    pub(crate) budget_ns: u64,
    /// By how much its window may be prolonged; ns.
    pub(crate) prolong_max_ns: u64,
}

/// The search, which counts time by what its trials say they took.
#[derive(Clone, Debug)]
pub(crate) struct CapacityWalk {
    search: CapacitySearch,
    times: CapacityTimes,
}

impl CapacityWalk {
    pub(crate) fn new(settings: CapacitySettings) -> Self {
        Self { search: CapacitySearch::new(settings), times: settings.times }
    }

    /// The bracket as it is.
    pub(crate) fn bracket(&self) -> Bounds {
        self.search.bracket()
    }
}

impl Search for CapacityWalk {
    type Trial = Asked;
    type Outcome = CapacityOutcome;

    fn next(&mut self, _now_ns: u64) -> Option<Asked> {
        let trial = self.search.next()?;
        let spent_ns = self.search.spent_ns();
        let planned_ns = trial.duration_ns.saturating_add(self.times.overhead_ns);
        Some(Asked {
            trial,
            bracket: self.search.bracket(),
            spent_ns,
            budget_ns: self.times.budget_ns,
            prolong_max_ns: self.times.budget_ns.saturating_sub(spent_ns.saturating_add(planned_ns)),
        })
    }

    /// All trials are part of the result, which says which of them counted.
    fn apply(&mut self, _asked: &Asked, outcome: CapacityOutcome, _now_ns: u64) -> bool {
        self.search.apply(&outcome);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinate::{Measure, walk};
    use crate::exit::CommandError;
    use model::{CapacityReason, NS_PER_S, TrialPurpose};
    use std::sync::atomic::{AtomicBool, Ordering};

    const CAPACITY_PER_S: f64 = 1_000.0;
    const OVERHEAD_NS: u64 = 3 * NS_PER_S / 2;

    fn settings(budget_s: u64) -> CapacitySettings {
        CapacitySettings {
            from_per_s: 1.0,
            to_per_s: 1e6,
            start_per_s: 300.0,
            width: 0.03,
            times: CapacityTimes { budget_ns: budget_s * NS_PER_S, ..CapacityTimes::default() },
            seed: 1,
        }
    }

    /// A server of a known capacity; `stop` is set in the trial of a number, and none of a number can be made.
    #[derive(Default)]
    struct Server<'a> {
        kept: Vec<Asked>,
        stop_at: Option<(u64, &'a AtomicBool)>,
        fails_at: u64,
        /// Trials of which too little is undisturbed.
        disturbed: Vec<u64>,
    }

    impl Measure<CapacityWalk> for Server<'_> {
        type Measured = u64;

        fn measure(&mut self, asked: &Asked) -> Result<(CapacityOutcome, u64), CommandError> {
            let trial = asked.trial;
            if let Some((at, stop)) = self.stop_at {
                stop.store(at == trial.number, Ordering::Relaxed);
            }
            if trial.number == self.fails_at {
                return Err(CommandError::target("it is gone"));
            }
            let outcome = CapacityOutcome {
                conditions: vec![trial.load_per_s <= CAPACITY_PER_S],
                achieved_per_s: trial.load_per_s.min(CAPACITY_PER_S),
                clean_share: Some(if self.disturbed.contains(&trial.number) { 0.1 } else { 1.0 }),
                measured_ns: trial.duration_ns,
                took_ns: trial.duration_ns + OVERHEAD_NS,
                ..CapacityOutcome::default()
            };
            Ok((outcome, trial.number))
        }

        fn keep(&mut self, asked: &Asked, number: u64) -> Result<(), CommandError> {
            assert_eq!(asked.trial.number, number);
            self.kept.push(*asked);
            Ok(())
        }
    }

    #[test]
    fn a_known_capacity_lies_in_the_bracket_that_shrinks_around_it() {
        let (mut search, mut server) = (CapacityWalk::new(settings(600)), Server::default());
        walk(&mut search, &mut server, &AtomicBool::new(false)).unwrap();
        let (low, high) = search.bracket();
        let (low, high) = (low.unwrap(), high.unwrap());
        assert!(low <= CAPACITY_PER_S && CAPACITY_PER_S < high && high / low < 1.08, "{low} {high}");
        assert_eq!(search.search.result().reason, CapacityReason::Bracketed);
        let narrowing = server.kept.iter().filter(|asked| asked.trial.purpose == TrialPurpose::Narrow);
        let widths: Vec<f64> = narrowing.filter_map(|asked| Some(asked.bracket.1? / asked.bracket.0?)).collect();
        assert!(widths.len() > 3 && widths.is_sorted_by(|a, b| a >= b), "{widths:?}");
        let spent: Vec<u64> = server.kept.iter().map(|asked| asked.spent_ns).collect();
        assert!(spent[0] == 0 && spent.is_sorted_by(|a, b| a < b), "{spent:?}");
    }

    #[test]
    fn nothing_is_prolonged_beyond_the_budget() {
        let (mut search, mut server) = (CapacityWalk::new(settings(30)), Server::default());
        walk(&mut search, &mut server, &AtomicBool::new(false)).unwrap();
        assert!(!server.kept.is_empty());
        for asked in &server.kept {
            let planned_ns = asked.trial.duration_ns + OVERHEAD_NS;
            assert_eq!(asked.spent_ns + planned_ns + asked.prolong_max_ns, asked.budget_ns);
        }
        assert_eq!(search.search.result().reason, CapacityReason::BudgetEnded);
    }

    #[test]
    fn disturbed_trials_are_kept_and_made_again() {
        let mut server = Server { disturbed: vec![2], ..Server::default() };
        let mut search = CapacityWalk::new(settings(600));
        walk(&mut search, &mut server, &AtomicBool::new(false)).unwrap();
        let [second, third] = [1, 2].map(|i| server.kept[i].trial);
        assert!(third.is_again && third.load_per_s == second.load_per_s, "{third:?}");
        assert_eq!(search.search.result().disturbed, 1);
    }

    #[test]
    fn what_was_tried_before_an_interrupt_or_an_error_is_kept() {
        let stop = AtomicBool::new(false);
        let mut server = Server { stop_at: Some((4, &stop)), ..Server::default() };
        walk(&mut CapacityWalk::new(settings(600)), &mut server, &stop).unwrap();
        assert_eq!(server.kept.len(), 3, "the fourth was cut short");
        let mut server = Server { fails_at: 3, ..Server::default() };
        let mut search = CapacityWalk::new(settings(600));
        assert!(walk(&mut search, &mut server, &AtomicBool::new(false)).is_err());
        assert_eq!(server.kept.len(), 2);
        assert!(search.bracket().0.is_some_and(|low| low <= CAPACITY_PER_S));
    }
}
