//! Search of a sweep: rising loads, and those again of which others left too little undisturbed, within a budget of time.

use super::Search;
use model::{NS_PER_S, RiseEnd};
use stats::{Next, Outcome, Sweep, SweepSettings};

/// Time of a measurement beyond its window, its warm-up and what agents take to agree (connecting, rest).
const OVERHEAD_NS: u64 = NS_PER_S / 2;
/// A load of which less than this share of the planned time was undisturbed is measured again.
const CLEAN_SHARE_MIN: f64 = 0.5;
/// Times that one load is measured again before the search goes on.
const AGAIN_MAX: usize = 2;

/// Times of one measurement, and of all that are made again; ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) window_ns: u64,
    pub(crate) warmup_ns: u64,
    /// Until agents have agreed on the start.
    pub(crate) agree_ns: u64,
    /// For making up for disturbed time; none: half of the planned time.
    pub(crate) budget_ns: Option<u64>,
}

/// One load to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trial {
    /// Connections, or requests per second.
    pub(crate) load: f64,
    /// Which measurement this is, from 1.
    pub(crate) number: usize,
    /// Which measurement of this load, from 0; none: once more, as too little of the last one was undisturbed.
    pub(crate) iteration: Option<usize>,
    /// Measurements that the search expects in all; none when it has ended and loads are only measured again.
    pub(crate) of: Option<usize>,
    /// By how much the window may be prolonged; ns.
    pub(crate) budget_ns: u64,
    /// About how long everything still takes; ns.
    pub(crate) left_ns: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrialOutcome {
    pub(crate) outcome: Outcome,
    /// True if too little was undisturbed to say anything.
    pub(crate) says_little: bool,
    /// By how much its window was prolonged; ns.
    pub(crate) prolonged_ns: u64,
    /// Undisturbed time; none where nobody kept an account; ns.
    pub(crate) clean_ns: Option<u64>,
}

/// The search, with what it needs to know of the loads it has kept.
#[derive(Clone, Debug)]
pub(crate) struct SweepSearch {
    settings: SweepSettings,
    sweep: Sweep,
    times: Times,
    /// Measurements asked for.
    measured: usize,
    /// Time spent on measuring again; ns.
    spent_ns: u64,
    /// How often the load of now was measured again.
    again: usize,
    /// The load to measure again before the search goes on.
    pending: Option<f64>,
    /// Measurements when the search ended.
    searched: Option<usize>,
    loads: Vec<Load>,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    load: f64,
    clean_ns: Option<u64>,
    prolonged_ns: u64,
}

impl SweepSearch {
    pub(crate) fn new(settings: SweepSettings, times: Times) -> Self {
        Self {
            sweep: Sweep::new(settings.clone()),
            settings,
            times,
            measured: 0,
            spent_ns: 0,
            again: 0,
            pending: None,
            searched: None,
            loads: Vec::new(),
        }
    }

    /// Why no larger loads are tried; none while they may be.
    pub(crate) fn rise_end(&self) -> Option<RiseEnd> {
        self.sweep.rise_end()
    }

    const fn each_ns(&self) -> u64 {
        self.times.window_ns + self.times.warmup_ns + self.times.agree_ns + OVERHEAD_NS
    }

    fn planned(&mut self, load: f64, iteration: usize, now_ns: u64) -> Trial {
        self.measured += 1;
        let of = self.sweep.expected_measurements();
        let left = of.saturating_sub(self.measured) + 1;
        Trial {
            load,
            number: self.measured,
            iteration: Some(iteration),
            of: Some(of),
            budget_ns: self.budget_left_ns(of, now_ns),
            left_ns: left as u64 * self.each_ns(),
        }
    }

    fn once_more(&mut self, load: f64) -> Trial {
        self.spent_ns += self.each_ns();
        self.measured += 1;
        let of = self.searched.is_none().then(|| self.sweep.expected_measurements());
        Trial { load, number: self.measured, iteration: None, of, budget_ns: 0, left_ns: self.each_ns() }
    }

    /// The load with the least undisturbed time, if that is too little.
    fn worst(&self) -> Option<f64> {
        let planned_ns = (self.times.window_ns * self.settings.iterations as u64).max(1) as f64;
        let clean = |load: &Load| load.clean_ns.map_or(1.0, |clean_ns| clean_ns as f64 / planned_ns);
        let worst = self.loads.iter().map(|load| (load.load, clean(load))).min_by(|a, b| a.1.total_cmp(&b.1))?;
        (worst.1 < CLEAN_SHARE_MIN).then_some(worst.0)
    }

    /// What is left of the time for measuring again, where so many measurements are `planned`; ns.
    fn budget_left_ns(&self, planned: usize, now_ns: u64) -> u64 {
        // A search that needs more points than were planned has no larger budget for it.
        let planned = planned.min(self.settings.points * self.settings.iterations) as u64;
        let whole_ns = self.times.budget_ns.unwrap_or_else(|| planned * (self.each_ns() - OVERHEAD_NS) / 2);
        let prolonged_ns: u64 = self.loads.iter().map(|load| load.prolonged_ns).sum();
        // Where others take CPU time, everything takes longer.
        let planned_so_far_ns = (self.measured as u64 * self.each_ns()).saturating_sub(self.spent_ns);
        let late_ns = now_ns.saturating_sub(planned_so_far_ns);
        whole_ns.saturating_sub((self.spent_ns + prolonged_ns).max(late_ns))
    }

    fn can_once_more(&self, planned: usize, now_ns: u64) -> bool {
        self.budget_left_ns(planned, now_ns) >= self.each_ns()
    }

    fn keep(&mut self, load: f64, measured: &TrialOutcome) {
        let index = self.loads.iter().position(|known| known.load == load).unwrap_or_else(|| {
            self.loads.push(Load { load, clean_ns: None, prolonged_ns: 0 });
            self.loads.len() - 1
        });
        let known = &mut self.loads[index];
        known.prolonged_ns += measured.prolonged_ns;
        if let Some(clean_ns) = measured.clean_ns {
            known.clean_ns = Some(known.clean_ns.unwrap_or(0) + clean_ns);
        }
    }
}

impl Search for SweepSearch {
    type Trial = Trial;
    type Outcome = TrialOutcome;

    fn next(&mut self, now_ns: u64) -> Option<Trial> {
        if let Some(load) = self.pending.take() {
            return Some(self.once_more(load));
        }
        if let Next::Measure { load, iteration } = self.sweep.next() {
            return Some(self.planned(load, iteration, now_ns));
        }
        let searched = *self.searched.get_or_insert(self.measured);
        let worst = self.worst()?;
        self.can_once_more(searched, now_ns).then(|| self.once_more(worst))
    }

    fn apply(&mut self, trial: &Trial, measured: TrialOutcome, now_ns: u64) -> bool {
        if self.searched.is_none() {
            // So much of it was disturbed that the search would be led astray.
            let is_little = measured.says_little && self.again < AGAIN_MAX;
            if is_little && self.can_once_more(self.sweep.expected_measurements(), now_ns) {
                self.again += 1;
                self.spent_ns += measured.prolonged_ns;
                self.pending = Some(trial.load);
                return false;
            }
            self.again = 0;
            self.sweep.apply(trial.load, measured.outcome);
        }
        self.keep(trial.load, &measured);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = NS_PER_S;
    const TIMES: Times = Times { window_ns: 5 * SECOND, warmup_ns: SECOND, agree_ns: 0, budget_ns: None };
    const SETTINGS: SweepSettings =
        SweepSettings { loads: Vec::new(), from: 1.0, to: 64.0, points: 6, iterations: 2, over_rate: false, seed: 1 };

    /// A pool of four workers of 2 ms.
    fn outcome(load: f64) -> Outcome {
        Outcome { goodput_per_s: load.min(4.0) * 500.0, offered_per_s: None, good_share: 1.0 }
    }

    fn measured(load: f64, clean_s: f64) -> TrialOutcome {
        TrialOutcome {
            outcome: outcome(load),
            says_little: clean_s < 1.0,
            prolonged_ns: 0,
            clean_ns: Some((clean_s * SECOND as f64) as u64),
        }
    }

    /// What is asked for, and whether it was kept, where `clean_s` says how much of a trial is undisturbed and each takes
    /// `slow` times what was planned.
    fn walked(times: Times, slow: f64, clean_s: impl Fn(&Trial) -> f64) -> Vec<(Trial, bool)> {
        let mut search = SweepSearch::new(SETTINGS, times);
        let (mut now_ns, mut all) = (0, Vec::new());
        while let Some(trial) = search.next(now_ns) {
            now_ns += (search.each_ns() as f64 * slow) as u64;
            let is_kept = search.apply(&trial, measured(trial.load, clean_s(&trial)), now_ns);
            all.push((trial, is_kept));
            assert!(all.len() < 100, "it ends");
        }
        all
    }

    fn again(all: &[(Trial, bool)]) -> Vec<f64> {
        all.iter().filter(|(trial, _)| trial.iteration.is_none()).map(|(trial, _)| trial.load).collect()
    }

    #[test]
    fn on_a_quiet_machine_nothing_is_measured_again() {
        let all = walked(TIMES, 1.0, |_| 5.0);
        assert!(again(&all).is_empty() && all.iter().all(|(_, is_kept)| *is_kept), "{all:?}");
        assert!(all.iter().enumerate().all(|(i, (trial, _))| trial.number == i + 1));
        let loads: Vec<f64> = all.iter().map(|(trial, _)| trial.load).collect();
        assert!([1.0, 4.0, 16.0].iter().all(|load| loads.iter().filter(|one| *one == load).count() == 2), "{loads:?}");
    }

    #[test]
    fn a_load_of_which_next_to_nothing_was_undisturbed_is_measured_twice_more_and_kept_then() {
        let all = walked(TIMES, 1.0, |trial| if trial.number <= 3 { 0.2 } else { 5.0 });
        let first: Vec<_> = all[..4].iter().map(|(trial, is_kept)| (trial.load, trial.iteration, *is_kept)).collect();
        assert_eq!(first, [(1.0, Some(0), false), (1.0, None, false), (1.0, None, true), (2.0, Some(0), true)]);
    }

    #[test]
    fn the_worst_is_measured_again_first_when_the_search_has_ended() {
        // Of 10 s that two iterations have.
        let clean = |trial: &Trial| match trial.load {
            2.0 if trial.iteration.is_some() => 2.0,
            4.0 if trial.iteration.is_some() => 1.2,
            _ => 5.0,
        };
        let all = walked(TIMES, 1.0, clean);
        assert_eq!(again(&all), [4.0, 2.0], "{all:?}");
        assert!(all.iter().all(|(_, is_kept)| *is_kept));
        assert!(all[all.len() - 2..].iter().all(|(trial, _)| trial.of.is_none() && trial.budget_ns == 0));
    }

    #[test]
    fn nothing_is_measured_again_beyond_the_budget() {
        let little = |_: &Trial| 0.2;
        let seconds = |s| walked(Times { budget_ns: Some(s * SECOND), ..TIMES }, 1.0, little);
        assert!(again(&seconds(0)).is_empty());
        assert_eq!(again(&seconds(14)).len(), 2, "each takes 6.5 s");
        assert_eq!(again(&walked(TIMES, 1.0, little)).len(), 5, "of half of 12 times 6 s");
    }

    #[test]
    fn what_everything_takes_longer_counts_against_the_budget() {
        let little = |_: &Trial| 0.2;
        let (in_time, late) = (walked(TIMES, 1.0, little), walked(TIMES, 1.3, little));
        assert!(again(&late).len() < again(&in_time).len(), "{late:?}");
        let first = |all: &[(Trial, bool)], i: usize| all[i].0.budget_ns;
        let (quiet, slow) = (walked(TIMES, 1.0, |_| 5.0), walked(TIMES, 1.5, |_| 5.0));
        assert_eq!(first(&quiet, 0), first(&slow, 0));
        assert!(first(&slow, 4) < first(&quiet, 4));
    }

    #[test]
    fn a_machine_without_an_account_counts_as_undisturbed() {
        let mut search = SweepSearch::new(SETTINGS, TIMES);
        while let Some(trial) = search.next(0) {
            assert!(trial.iteration.is_some());
            search.apply(&trial, TrialOutcome { clean_ns: None, ..measured(trial.load, 5.0) }, 0);
        }
    }
}
