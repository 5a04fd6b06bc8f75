//! Types of a rule and of its outcome.

use model::{Evidence, Finding, FindingState, SweepEvidence};
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
    /// When it fires, and where the threshold comes from.
    pub threshold: &'static str,
    /// The data it needs; without them it is not checked.
    pub data: &'static str,
    /// The rule itself.
    pub check: Check,
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

/// The words that stand for the states in a rule's threshold.
const WORDS: [(&str, FindingState); 4] = [
    ("note", FindingState::Note),
    ("warning", FindingState::Warning),
    ("bound", FindingState::Bound),
    ("invalid", FindingState::Invalid),
];

/// The states that a threshold names.
#[must_use]
pub fn states_in(threshold: &str) -> Vec<FindingState> {
    let words: Vec<_> = threshold.split(|c: char| !c.is_alphabetic()).collect();
    WORDS.iter().filter(|(word, _)| words.contains(word)).map(|(_, state)| *state).collect()
}
