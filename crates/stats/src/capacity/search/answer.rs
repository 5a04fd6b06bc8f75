//! Answers of the search: its bracket, its result, and what more time would buy.

use super::{CapacitySearch, Phase};
use crate::capacity::belief::Known;
use crate::capacity::ends::{Ends, Side, TAIL};
use crate::capacity::result::CapacityResult;
use crate::capacity::tested::{Counted, Tested};
use crate::capacity::vote::{LoadClass, Vote, VoteGoal, conditional_throughput};
use model::{CapacityReason, Estimate, MoreTime};

/// An end that was not confirmed has at most this share of the belief beyond it.
const BEYOND_MAX: f64 = 0.05;
/// Standard error of a capacity found by `n` votes near it, in standard deviations of its noise times the root of `n`.
const VOTE_ERROR: f64 = 1.8;
/// Normal deviate of the interval's tails.
const TAIL_DEVIATE: f64 = 2.17;
/// Votes this many standard deviations away say little of the capacity.
const NEAR: f64 = 3.0;
/// Trials that confirm two ends.
const CONFIRMING: f64 = 4.0;
/// A bracket wider than this multiple of what was wanted would be narrower with more time.
const WIDE: f64 = 1.5;

/// Ends of a bracket; per second.
type Bounds = (Option<f64>, Option<f64>);

impl CapacitySearch {
    /// The bracket as it is: while it narrows, highest load that holds below the lowest that fails, and that.
    #[must_use]
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        if matches!(self.phase, Phase::Done(_)) {
            return self.bounds();
        }
        let ends = self.ends.as_ref().map(|ends| (ends.load_per_s(Side::Low), ends.load_per_s(Side::High)));
        match ends {
            Some((low, high)) if low < high => (Some(low), Some(high)),
            _ => self.tests.relevant(&self.goal()),
        }
    }

    /// What is known by now; the result once nothing more is asked for.
    #[must_use]
    pub fn result(&self) -> CapacityResult {
        let reason = if let Phase::Done(reason) = self.phase { reason } else { CapacityReason::Interrupted };
        let known = self.known();
        let (low_per_s, high_per_s) = self.bounds();
        let is_confirmed = |side: Side, load: Option<f64>| load.is_some() && self.confirmed(side) == load;
        let at_high: Vec<&Counted> = self.trials_at(high_per_s).filter(|trial| !trial.vote.held).collect();
        let mut failed: Vec<usize> = at_high.iter().flat_map(|trial| trial.failed.iter().copied()).collect();
        failed.sort_unstable();
        failed.dedup();
        CapacityResult {
            low_per_s,
            high_per_s,
            value_per_s: low_per_s.map(|load| self.throughput_at(load)),
            estimate_per_s: known.as_ref().map(|known| self.estimate(known)),
            noise: known.as_ref().map(|known| known.noise),
            n: self.counted,
            disturbed: self.disturbed,
            reason,
            is_confirmed: (is_confirmed(Side::Low, low_per_s), is_confirmed(Side::High, high_per_s)),
            failed,
            backlog_grew: at_high.iter().any(|trial| trial.backlog_grew),
            spent_ns: self.spent_ns,
            more: self.more(reason, known.as_ref(), (low_per_s, high_per_s)),
        }
    }

    /// The bracket; its lower end lies below its upper one.
    fn bounds(&self) -> Bounds {
        match self.phase {
            Phase::Done(CapacityReason::NeverMet) => (None, Some(self.range.from_per_s)),
            Phase::Done(CapacityReason::ClientCeiling | CapacityReason::RangeEnded) => {
                let goal = self.goal();
                let highest = self.tests.iter().rev().find(|tested| tested.class(&goal) == LoadClass::Lower);
                (highest.map(|tested| tested.load_per_s).or_else(|| self.best_low()), None)
            }
            _ => {
                let low = self.best_low();
                (low, self.best_high(low))
            }
        }
    }

    /// The end that fresh votes have confirmed.
    fn confirmed(&self, side: Side) -> Option<f64> {
        let rules = self.rules();
        let ends: Option<&Ends> = self.ends.as_ref().filter(|ends| ends.is_confirmed(side, &rules));
        ends.map(|ends| ends.load_per_s(side))
    }

    /// Confirmed, or else the highest load that held and that the capacity is hardly below, or else by the votes alone.
    fn best_low(&self) -> Option<f64> {
        let goal = self.goal();
        let sure = || {
            let known = self.known()?;
            let is_sure = |tested: &&Tested| tested.holds(&goal) && known.below(tested.load_per_s.ln()) <= BEYOND_MAX;
            self.tests.iter().rev().find(is_sure).map(|tested| tested.load_per_s)
        };
        self.confirmed(Side::Low).or_else(sure).or_else(|| self.tests.relevant(&goal).0)
    }

    /// The same of the loads that failed, above `low`.
    fn best_high(&self, low: Option<f64>) -> Option<f64> {
        let goal = self.goal();
        let is_above = |load: &f64| low.is_none_or(|low| *load > low);
        let sure = || {
            let known = self.known()?;
            let failed = self.tests.iter().filter(|tested| !tested.holds(&goal)).map(|tested| tested.load_per_s);
            failed.filter(is_above).find(|load| 1.0 - known.below(load.ln()) <= BEYOND_MAX)
        };
        let lowest = || {
            let mut failed = self.tests.iter().filter(|tested| !tested.holds(&goal)).map(|tested| tested.load_per_s);
            failed.find(is_above)
        };
        self.confirmed(Side::High).filter(is_above).or_else(sure).or_else(lowest)
    }

    fn known(&self) -> Option<Known> {
        self.belief.as_ref().map(|belief| belief.known(&self.tests.plateaus()))
    }

    fn estimate(&self, known: &Known) -> Estimate {
        let at = |share: f64| known.quantile(share).exp();
        Estimate { value: at(0.5), low: Some(at(TAIL)), high: Some(at(1.0 - TAIL)), n: self.counted }
    }

    fn trials_at(&self, load_per_s: Option<f64>) -> impl Iterator<Item = &Counted> {
        load_per_s.and_then(|load| self.tests.at(load)).into_iter().flat_map(|tested| tested.trials.iter())
    }

    /// Conditional throughput by the full-length trials that there are; without one, the most that was got out.
    fn throughput_at(&self, load_per_s: f64) -> f64 {
        let trials: Vec<(Vote, f64)> =
            self.trials_at(Some(load_per_s)).map(|trial| (trial.vote, trial.achieved_per_s)).collect();
        let full_s: f64 = trials.iter().filter(|(vote, _)| vote.is_full).map(|(vote, _)| vote.effective_s).sum();
        if full_s > 0.0 {
            return conditional_throughput(&trials, &VoteGoal { duration_sum_s: full_s, ..self.goal() });
        }
        trials.iter().map(|(_, per_s)| *per_s).fold(0.0, f64::max)
    }

    /// What more time would buy, where time is what is missing.
    fn more(&self, reason: CapacityReason, known: Option<&Known>, bounds: Bounds) -> Option<MoreTime> {
        let wanted = self.settings.width.ln_1p();
        let is_missing = match (reason, bounds) {
            (CapacityReason::BudgetEnded | CapacityReason::Interrupted, _) => true,
            (CapacityReason::Bracketed, (Some(low), Some(high))) => (high / low).ln() > WIDE * wanted,
            _ => false,
        };
        if !is_missing {
            return None;
        }
        let trials = known.map_or_else(
            || (self.settings.to_per_s / self.settings.from_per_s).log2().max(1.0) - wanted.log2().min(0.0),
            |known| self.narrowing_left(known, wanted),
        );
        let times = &self.settings.times;
        let each_ns = times.full_ns.saturating_add(times.overhead_ns) as f64;
        let ns = (trials.ceil() + CONFIRMING) * each_ns;
        Some(MoreTime { ns: ns as u64, width: self.settings.width })
    }

    /// Trials that narrow the belief to `wanted`: by halves of what is left, and by as many near it as its noise asks for.
    fn narrowing_left(&self, known: &Known, wanted: f64) -> f64 {
        let middle = known.quantile(0.5);
        let near = self.tests.trials().filter(|(load, _)| (load.ln() - middle).abs() < NEAR * known.noise).count();
        let noisy = (2.0 * TAIL_DEVIATE * VOTE_ERROR * known.noise / wanted).powi(2) - near as f64;
        let halves = ((known.quantile(1.0 - TAIL) - known.quantile(TAIL)) / wanted).log2();
        noisy.max(halves).max(0.0)
    }
}
