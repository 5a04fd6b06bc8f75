//! The cards of rules in words: for the terminal and the documentation.

use crate::words::verdict::word;
use model::RuleCard;

/// Where a rule does not say what it makes of a result.
pub(crate) const NO_STATE: &str = "-";

/// The verbs whose results it judges.
pub(crate) fn verbs(card: &RuleCard) -> String {
    card.judges.join(", ")
}

/// What it can make of a result.
pub(crate) fn states(card: &RuleCard) -> String {
    if card.states.is_empty() {
        return NO_STATE.to_owned();
    }
    card.states.iter().map(|state| word(*state).to_ascii_lowercase()).collect::<Vec<_>>().join(", ")
}
