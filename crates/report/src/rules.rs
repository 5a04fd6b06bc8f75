//! The validity rules as a page of the documentation, and words that it shares with the terminal.

use crate::table::{cell, markdown_table};
use crate::terminal::verdict::word;
use model::{CatalogueRecord, RuleCard, RuleText};

/// Where a rule does not say what it makes of a result.
pub(crate) const NO_STATE: &str = "-";
/// Families of rules by the begin of their ids.
const FAMILIES: [(&str, &str); 12] = [
    ("CL", "The load generator"),
    ("ER", "The answers"),
    ("LD", "The load"),
    ("ST", "Statistics"),
    ("SA", "Saturation"),
    ("PH", "Physics"),
    ("NE", "Network and kernel"),
    ("SV", "The server"),
    ("EN", "The environment"),
    ("PR", "Profiles"),
    ("CP", "Comparisons"),
    ("RP", "Reports"),
];

/// The page: one table of all rules, then each in full. Ends with a newline.
#[must_use]
pub fn markdown(record: &CatalogueRecord) -> String {
    let (later, checked): (Vec<_>, Vec<_>) = record.rules.iter().partition(|card| card.later.is_some());
    let mut out = String::from(
        "# The rules\n\n\
         Written by `cargo xtask docs` from the rules themselves, as `plimsoll rules` prints them; `plimsoll rules ID` explains\n\
         one. A rule whose data is missing is *not checked*, never passed. The examples are what a rule says of a constructed\n\
         load that has this fault and no other.\n\n\
         A *note* is worth knowing, a *warning* worth mending; by a *bound* some number becomes a lower or an upper bound; what\n\
         is *invalid* must not be used.\n\n",
    );
    let row = |card: &&RuleCard| vec![card.id.clone(), card.title.clone(), verbs(card), states(card)];
    let header = ["rule", "what it finds", "judges", "state"].map(str::to_owned);
    out.push_str(&markdown_table(&header, &checked.iter().map(row).collect::<Vec<_>>(), header.len()));
    for (begin, name) in FAMILIES {
        let mut of_family = checked.iter().filter(|card| card.id.starts_with(begin)).peekable();
        if of_family.peek().is_some() {
            out.push_str(&format!("\n## {name}\n"));
        }
        of_family.for_each(|card| out.push_str(&section(card)));
    }
    out.push_str("\n## Not checked yet\n\n");
    let row = |card: &&RuleCard| vec![card.id.clone(), card.title.clone(), card.later.clone().unwrap_or_default()];
    let header = ["rule", "what it would find", "why not yet"].map(str::to_owned);
    out.push_str(&markdown_table(&header, &later.iter().map(row).collect::<Vec<_>>(), header.len()));
    out
}

fn section(card: &RuleCard) -> String {
    let mut out = format!("\n### {} {}\n\n", card.id, cell(&card.title));
    for (verb, text) in [("Detects", &card.own), ("In the output of other tools", &card.audit)] {
        let Some(RuleText { detects, threshold, data }) = text else { continue };
        out.push_str(&format!("- {verb}: {}\n", cell(detects)));
        if let Some(threshold) = threshold {
            out.push_str(&format!("- Fires: {}\n", cell(threshold)));
        }
        out.push_str(&format!("- Needs: {}\n", cell(data)));
    }
    if let Some(example) = &card.example {
        let (state, message, remedy) = (word(example.state), cell(&example.message), cell(&example.remedy));
        out.push_str(&format!("- Example: **{state}** {message} → {remedy}\n"));
    }
    out
}

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
