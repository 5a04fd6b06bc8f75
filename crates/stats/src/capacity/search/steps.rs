//! Steps of the search: what it asks for next.

use super::{CapacitySearch, Phase};
use crate::capacity::CapacityTrial;
use crate::capacity::belief::{Belief, Known};
use crate::capacity::bracket::{Bracketing, bracketing};
use crate::capacity::ends::{Ends, Review, Side, TAIL};
use crate::capacity::vote::LoadClass;
use model::{CapacityReason, TrialPurpose};

/// Trials kept back for confirming the ends: a third of those that there is time for, within these; none at all where there
/// is time for fewer than [`CONFIRMED_MIN`].
const CONFIRMING: std::ops::RangeInclusive<u64> = 4..=8;
const CONFIRMED_MIN: u64 = 6;
/// Most trials that narrow, and most of all, however much time there is.
const NARROWING_MAX: u32 = 200;
const TRIALS_MAX: u64 = 1000;
/// Points of the belief's grid in a bracket of the wanted width.
const POINTS_IN_WIDTH: f64 = 8.0;
/// Margin of the belief that reaches from any load to any other.
const MARGIN_MAX: f64 = 40.0;

impl CapacitySearch {
    /// Goes on until a trial is asked for or the search has ended.
    pub(super) fn advance(&mut self) {
        while self.pending.is_none() {
            self.phase = match self.phase {
                Phase::Bracket => self.bracket_step(),
                Phase::Settle(load_per_s) => self.settle_step(load_per_s),
                Phase::Narrow => self.narrow_step(),
                Phase::Confirm => self.confirm_step(),
                Phase::Done(_) => return,
            };
        }
    }

    fn bracket_step(&mut self) -> Phase {
        match bracketing(&self.tests, self.range, self.settings.start_per_s, &self.goal()) {
            Bracketing::Try(load_per_s) => {
                self.try_at(load_per_s, self.settings.times.short_ns, TrialPurpose::Bracket, Phase::Bracket)
            }
            Bracketing::Settle(load_per_s) => Phase::Settle(load_per_s),
            Bracketing::Found(..) => {
                if self.belief.is_none() {
                    let left = self.affordable();
                    let third = (left / 3).clamp(*CONFIRMING.start(), *CONFIRMING.end());
                    self.reserved = if left < CONFIRMED_MIN { 0 } else { third };
                }
                self.believe();
                Phase::Narrow
            }
        }
    }

    fn settle_step(&mut self, load_per_s: f64) -> Phase {
        match self.tests.class(load_per_s, &self.goal()) {
            LoadClass::Lower if self.range.is_at_top(load_per_s) => Phase::Done(self.top_reason()),
            LoadClass::Upper if self.range.is_at_bottom(load_per_s) => Phase::Done(CapacityReason::NeverMet),
            LoadClass::Lower | LoadClass::Upper => Phase::Bracket,
            LoadClass::Undecided => {
                let (full_ns, then) = (self.settings.times.full_ns, Phase::Settle(load_per_s));
                self.try_at(load_per_s, full_ns, TrialPurpose::Settle, then)
            }
        }
    }

    fn narrow_step(&mut self) -> Phase {
        let Some(known) = self.known_within() else { return Phase::Bracket };
        let (rules, middle) = (self.rules(), known.quantile(0.5));
        let top_per_s = self.range.to_per_s;
        if middle >= top_per_s.ln() && self.tests.class(top_per_s, &self.goal()) != LoadClass::Upper {
            return Phase::Settle(top_per_s);
        }
        let is_narrow = known.quantile(1.0 - TAIL) - known.quantile(TAIL) <= rules.width;
        let is_time = self.reserved > 0 && self.affordable() <= self.reserved;
        if is_narrow || self.narrowing >= NARROWING_MAX || is_time {
            self.ends = Some(Ends::new(&known, &rules, self.settings.seed));
            return Phase::Confirm;
        }
        self.narrowing += 1;
        self.try_at(rules.rounded(middle), self.settings.times.full_ns, TrialPurpose::Narrow, Phase::Narrow)
    }

    fn confirm_step(&mut self) -> Phase {
        let (known, rules) = (self.known_within(), self.rules());
        let (Some(known), Some(ends)) = (known, &mut self.ends) else { return Phase::Bracket };
        let review = ends.review(&known, &rules);
        let (side, purpose) = match review {
            Review::Vote(Side::Low) => (Side::Low, TrialPurpose::ConfirmLow),
            Review::Vote(Side::High) => (Side::High, TrialPurpose::ConfirmHigh),
            Review::Confirmed if !ends.is_inverted => return Phase::Done(CapacityReason::Bracketed),
            Review::Confirmed | Review::Lost => return Phase::Done(CapacityReason::NonMonotone),
            Review::AtLimit(Side::Low) => return Phase::Done(CapacityReason::NeverMet),
            Review::AtLimit(Side::High) => return Phase::Done(self.top_reason()),
        };
        let load_per_s = ends.load_per_s(side);
        self.try_at(load_per_s, self.settings.times.full_ns, purpose, Phase::Confirm)
    }

    const fn top_reason(&self) -> CapacityReason {
        if self.is_client_limited { CapacityReason::ClientCeiling } else { CapacityReason::RangeEnded }
    }

    /// Asks for a trial; where there is no time for it the search ends.
    fn try_at(&mut self, load_per_s: f64, duration_ns: u64, purpose: TrialPurpose, then: Phase) -> Phase {
        if self.ask(load_per_s, duration_ns, purpose) { then } else { Phase::Done(CapacityReason::BudgetEnded) }
    }

    /// Asks for a trial, if there is time for it.
    pub(super) fn ask(&mut self, load_per_s: f64, duration_ns: u64, purpose: TrialPurpose) -> bool {
        if !self.affords(duration_ns) || self.asked >= TRIALS_MAX {
            return false;
        }
        self.asked += 1;
        let (number, is_again) = (self.asked, self.again > 0);
        self.pending = Some(CapacityTrial { load_per_s, duration_ns, purpose, number, is_again });
        true
    }

    /// Full-length trials that there is time for.
    fn affordable(&self) -> u64 {
        let times = &self.settings.times;
        let each_ns = times.full_ns.saturating_add(times.overhead_ns).max(1);
        times.budget_ns.saturating_sub(self.spent_ns) / each_ns
    }

    /// What is known, from a belief that reaches far enough; none before the first bracket.
    fn known_within(&mut self) -> Option<Known> {
        loop {
            let belief = self.belief.as_ref()?;
            let (known, (low, high)) = (belief.known(&self.tests.plateaus()), belief.range());
            let (is_low, is_high) = known.is_at_edge();
            let (lowest, highest) = self.allowed();
            let is_open = (is_low && low > lowest) || (is_high && high < highest);
            if !is_open || self.margin > MARGIN_MAX {
                return Some(known);
            }
            self.margin *= 2.0;
            self.believe();
        }
    }

    /// Makes the belief of all trials.
    fn believe(&mut self) {
        let (lowest, highest) = self.allowed();
        let (held, failed) = self.tests.relevant(&self.goal());
        let low = (held.map_or(lowest, f64::ln) - self.margin).max(lowest);
        let high = (failed.map_or(highest, f64::ln) + self.margin).min(highest);
        let step = self.settings.width.ln_1p() / POINTS_IN_WIDTH;
        let mut belief = Belief::new(low, high, step, self.tests.hint_per_s().map(f64::ln));
        for (load_per_s, trial) in self.tests.trials() {
            belief.vote(load_per_s.ln(), trial.vote.held, self.weight(&trial.vote));
        }
        self.belief = Some(belief);
    }

    /// Logs of the capacities that are looked for. What the client can offer is no limit to the server.
    fn allowed(&self) -> (f64, f64) {
        (self.settings.from_per_s.ln(), self.settings.to_per_s.ln())
    }
}
