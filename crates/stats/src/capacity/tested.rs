//! Trials that count, by load.

use super::vote::{LoadClass, Vote, VoteGoal, classify};

/// Share of the load below which what was got out shows a saturated server, and share below which the load was so far above
/// the capacity that it shows another one.
const SATURATED: std::ops::Range<f64> = 0.8..0.99;

/// One trial that counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) vote: Vote,
    /// Good responses per second.
    pub(super) achieved_per_s: f64,
    /// Conditions of the goal that failed, by their places in it.
    pub(super) failed: Vec<usize>,
    /// True if the backlog grew.
    pub(super) backlog_grew: bool,
}

/// All trials at a load.
#[derive(Clone, Debug)]
pub(super) struct Tested {
    pub(super) load_per_s: f64,
    pub(super) trials: Vec<Counted>,
}

impl Tested {
    fn votes(&self) -> Vec<Vote> {
        self.trials.iter().map(|trial| trial.vote).collect()
    }

    /// Class by all votes.
    pub(super) fn class(&self, goal: &VoteGoal) -> LoadClass {
        classify(&self.votes(), goal)
    }

    /// True if it holds as far as is known: by its class, and while that is undecided by the longer time.
    pub(super) fn holds(&self, goal: &VoteGoal) -> bool {
        let sum_s = |held: bool| -> f64 {
            self.trials.iter().filter(|trial| trial.vote.held == held).map(|trial| trial.vote.effective_s).sum()
        };
        match self.class(goal) {
            LoadClass::Lower => true,
            LoadClass::Upper => false,
            LoadClass::Undecided => sum_s(true) > sum_s(false),
        }
    }
}

/// All trials, in rising order of load.
#[derive(Clone, Debug, Default)]
pub(super) struct Tests {
    loads: Vec<Tested>,
}

impl Tests {
    pub(super) fn add(&mut self, load_per_s: f64, trial: Counted) {
        let at = self.loads.partition_point(|tested| tested.load_per_s < load_per_s);
        if self.loads.get(at).is_none_or(|tested| tested.load_per_s > load_per_s) {
            self.loads.insert(at, Tested { load_per_s, trials: Vec::new() });
        }
        self.loads[at].trials.push(trial);
    }

    pub(super) fn at(&self, load_per_s: f64) -> Option<&Tested> {
        self.loads.iter().find(|tested| tested.load_per_s == load_per_s)
    }

    /// Class of a load; undecided without a trial.
    pub(super) fn class(&self, load_per_s: f64, goal: &VoteGoal) -> LoadClass {
        self.at(load_per_s).map_or(LoadClass::Undecided, |tested| tested.class(goal))
    }

    /// In rising order of load.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Tested> {
        self.loads.iter()
    }

    /// Trials, with their loads.
    pub(super) fn trials(&self) -> impl Iterator<Item = (f64, &Counted)> {
        self.loads.iter().flat_map(|tested| tested.trials.iter().map(move |trial| (tested.load_per_s, trial)))
    }

    /// Lowest load that failed, and highest that held below it (RFC 9971, sections 4.8.1 and 4.8.2).
    pub(super) fn relevant(&self, goal: &VoteGoal) -> (Option<f64>, Option<f64>) {
        let failed = self.loads.iter().position(|tested| !tested.holds(goal));
        let held = failed.unwrap_or(self.loads.len()).checked_sub(1);
        (held.map(|at| self.loads[at].load_per_s), failed.map(|at| self.loads[at].load_per_s))
    }

    /// Logs of what saturated trials got out: their spread is noise of the server.
    pub(super) fn plateaus(&self) -> Vec<f64> {
        let saturated = |(load, trial): (f64, &Counted)| {
            let share = trial.achieved_per_s / load;
            (!trial.vote.held && SATURATED.contains(&share)).then(|| trial.achieved_per_s.ln())
        };
        self.trials().filter_map(saturated).collect()
    }

    /// What was got out at the lowest load that failed, if that was less than the load: the capacity may be near it.
    pub(super) fn hint_per_s(&self) -> Option<f64> {
        let least = |(load, trial): (f64, &Counted)| {
            let is_less = trial.achieved_per_s > 0.0 && trial.achieved_per_s < SATURATED.end * load;
            (!trial.vote.held && is_less).then_some(trial.achieved_per_s)
        };
        self.trials().find_map(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: VoteGoal = VoteGoal { duration_sum_s: 18.0, exceed_ratio: 0.5 };

    fn trial(held: bool, achieved_per_s: f64) -> Counted {
        let vote = Vote { held, is_full: true, effective_s: 6.0 };
        Counted { vote, achieved_per_s, failed: Vec::new(), backlog_grew: !held }
    }

    #[test]
    fn the_relevant_bounds_are_below_the_lowest_failure() {
        let mut tests = Tests::default();
        assert_eq!(tests.relevant(&GOAL), (None, None));
        tests.add(400.0, trial(true, 400.0));
        assert_eq!(tests.relevant(&GOAL), (Some(400.0), None));
        tests.add(200.0, trial(false, 200.0));
        assert_eq!(tests.relevant(&GOAL), (None, Some(200.0)), "a loss inversion is taken at its worst");
        tests.add(200.0, trial(true, 200.0));
        tests.add(200.0, trial(true, 200.0));
        tests.add(800.0, trial(false, 500.0));
        assert_eq!(tests.relevant(&GOAL), (Some(400.0), Some(800.0)));
        assert_eq!((tests.class(200.0, &GOAL), tests.class(300.0, &GOAL)), (LoadClass::Lower, LoadClass::Undecided));
        assert_eq!(tests.trials().count(), 5);
    }

    #[test]
    fn saturated_trials_show_what_there_is_to_get_out() {
        let mut tests = Tests::default();
        tests.add(1000.0, trial(false, 300.0));
        assert_eq!((tests.plateaus().len(), tests.hint_per_s()), (0, Some(300.0)), "far above the capacity");
        tests.add(600.0, trial(false, 500.0));
        tests.add(550.0, trial(true, 500.0));
        tests.add(500.0, trial(false, 500.0));
        assert_eq!(tests.plateaus(), [500.0_f64.ln()], "neither a trial that held nor one with all answers good");
        assert_eq!(tests.hint_per_s(), Some(500.0));
    }
}
