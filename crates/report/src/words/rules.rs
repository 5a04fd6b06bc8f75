//! The cards of rules in words: for the terminal and the documentation.

use crate::words::verdict::{consequence, word};
use model::{FindingState, RuleCard};

/// The states, the worst first.
pub(crate) const STATES: [FindingState; 4] =
    [FindingState::Invalid, FindingState::Bound, FindingState::Warning, FindingState::Note];
/// What the states of a rule are about that judges single loads.
pub(crate) const OF_ONE_LOAD: &str =
    "These states are for one load: in a sweep, a capacity or a comparison a finding may count for less.";
/// The verb whose results are single loads.
const RUN: &str = "run";

/// The verbs whose results it judges.
pub(crate) fn verbs(card: &RuleCard) -> String {
    card.judges.join(", ")
}

/// What it can make of a result.
pub(crate) fn states(card: &RuleCard) -> String {
    card.states.iter().map(|state| word(*state).to_ascii_lowercase()).collect::<Vec<_>>().join(", ")
}

/// What its states mean for the numbers, the worst first.
pub(crate) fn meanings(card: &RuleCard) -> String {
    let own = STATES.into_iter().filter(|state| card.states.contains(state));
    let mut sentences: Vec<String> = own.map(|state| format!("{}: {}", word(state), consequence(state))).collect();
    let counts = card.states.iter().any(|state| *state > FindingState::Note);
    if counts && card.judges.iter().any(|verb| verb == RUN) {
        sentences.push(OF_ONE_LOAD.to_owned());
    }
    sentences.join(" ")
}
