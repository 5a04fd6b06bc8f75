//! Types of a rule and of its outcome.

use crate::need::{Applies, NO_LOADS, Need};
use model::{Evidence, Finding, FindingState, SweepEvidence};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One validity rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Id in the catalogue, such as `ER-02`.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What it detects, in a sentence.
    pub detects: &'static str,
    /// Each state that it can reach, the worst first, with when it does.
    pub fires: &'static [Fires],
    /// What has to be known to understand these, and where thresholds come from, in sentences; empty if there is nothing.
    pub remarks: &'static str,
    /// The loads that it has something to say of.
    pub applies: Applies,
    /// What has to be known before it is checked.
    pub needs: &'static [Need],
    /// How much of that there has to be for the check to say something; empty if any will do.
    pub conditions: &'static str,
    /// The rule itself.
    pub check: Check,
}

/// A state that a rule can reach, and when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fires {
    /// The state.
    pub state: FindingState,
    /// When, in a sentence. Of two conditions for one state both are in it.
    pub when: &'static str,
}

impl Fires {
    /// Some number must not be used.
    #[must_use]
    pub const fn invalid(when: &'static str) -> Self {
        Self { state: FindingState::Invalid, when }
    }

    /// Some number is a bound.
    #[must_use]
    pub const fn bound(when: &'static str) -> Self {
        Self { state: FindingState::Bound, when }
    }

    /// Something should be fixed.
    #[must_use]
    pub const fn warning(when: &'static str) -> Self {
        Self { state: FindingState::Warning, when }
    }

    /// Something is worth knowing.
    #[must_use]
    pub const fn note(when: &'static str) -> Self {
        Self { state: FindingState::Note, when }
    }
}

/// The rule itself, by what it looks at.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Looks at one measured load.
    Run(fn(&Evidence) -> Outcome),
    /// Looks at a whole sweep.
    Sweep(fn(&SweepEvidence) -> Outcome),
    /// Looks at one measured load by itself, and in its own way at a whole sweep.
    Both {
        /// The rule for one load.
        run: fn(&Evidence) -> Outcome,
        /// The rule for a sweep.
        sweep: fn(&SweepEvidence) -> Outcome,
    },
}

impl Rule {
    /// What it says of one measured load; none if it looks at whole sweeps only.
    #[must_use]
    pub fn judge_load(&self, evidence: &Evidence) -> Option<Outcome> {
        self.judge_load_with(evidence, self.needs)
    }

    /// The same of a load that is still to come: a machine is sampled for less than a window then.
    pub(crate) fn judge_planned_load(&self, evidence: &Evidence) -> Option<Outcome> {
        let needs: Vec<Need> = self.needs.iter().copied().filter(|need| *need != Need::Window).collect();
        self.judge_load_with(evidence, &needs)
    }

    fn judge_load_with(&self, evidence: &Evidence, needs: &[Need]) -> Option<Outcome> {
        let (Check::Run(check) | Check::Both { run: check, .. }) = self.check else { return None };
        let lacking = || needs.iter().find_map(|need| need.lacking(evidence));
        Some(match self.applies.to(evidence) {
            Err(why) => Outcome::Unchecked(why),
            Ok(false) => Outcome::Pass,
            Ok(true) => lacking().map_or_else(|| check(evidence), Outcome::Unchecked),
        })
    }

    /// What it says of a whole sweep; none if it looks at each load by itself.
    #[must_use]
    pub fn judge_sweep(&self, sweep: &SweepEvidence) -> Option<Outcome> {
        let (Check::Sweep(check) | Check::Both { sweep: check, .. }) = self.check else { return None };
        if sweep.points.is_empty() {
            return Some(Outcome::Unchecked(NO_LOADS));
        }
        let applies = |evidence: &Evidence| self.applies.to(evidence) != Ok(false);
        if !sweep.points.iter().any(|point| applies(&point.evidence)) {
            return Some(Outcome::Pass);
        }
        let lacking = self.needs.iter().find_map(|need| need.lacking_in_sweep(sweep));
        Some(lacking.map_or_else(|| check(sweep), Outcome::Unchecked))
    }

    /// The data that it needs, in words.
    #[must_use]
    pub fn data(&self) -> String {
        let applies = self.applies.text().map(Cow::Borrowed);
        let needs = self.needs.iter().map(|need| need.text());
        let conditions = Some(self.conditions).filter(|text| !text.is_empty()).map(Cow::Borrowed);
        let all: Vec<Cow<'static, str>> = applies.into_iter().chain(needs).chain(conditions).collect();
        if all.is_empty() { "nothing more than the load".to_owned() } else { all.join("; ") }
    }
}

/// A rule whose finding stands beside the limiter: what bounds the goodput is said by the limiter alone, and the finding says
/// what was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BesideLimiter {
    /// Id of the rule.
    pub(crate) rule: &'static str,
    /// What it is about.
    pub(crate) about: About,
}

/// What a finding beside the limiter is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    /// Something that these limiters name; its remedy gains nothing while another limit is in front of it.
    Limits(&'static [&'static str]),
    /// That nothing is at its limit, which is untrue where a limit is named.
    NoLimit,
}

/// What a rule says about the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Looked and found nothing.
    Pass,
    /// Fired.
    Fired(Finding),
    /// The data are missing; why.
    Unchecked(&'static str),
}

impl Outcome {
    /// Of a check that lacks what its rule says to need. The driver asks for that before, so nobody reads it.
    pub(crate) const UNMET: Self = Self::Unchecked("a need of the rule was not met");

    /// A finding of `rule` with its figures.
    #[must_use]
    pub fn fired<'a>(
        rule: &str,
        state: FindingState,
        message: String,
        remedy: String,
        figures: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Self {
        let evidence: BTreeMap<_, _> = figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self::Fired(Finding { rule: rule.to_owned(), state, message, remedy, evidence })
    }
}
