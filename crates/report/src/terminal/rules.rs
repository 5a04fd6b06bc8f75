//! The validity rules in a terminal: a line each, or one of them explained.

use super::Style;
use super::layout::{labelled, labelled_bold, table, wrap};
use super::verdict::{consequence, finding};
use crate::rules::{NO_STATE, states, verbs};
use model::{CatalogueRecord, RuleCard, RuleText};

/// Columns before the text of a rule: id, and the spaces after it.
const ID: usize = 7;

/// All rules: those that are checked with what they make of a result, then those that are not yet. Ends with a newline.
#[must_use]
pub fn rules(record: &CatalogueRecord, style: &Style) -> String {
    let (later, checked): (Vec<_>, Vec<_>) = record.rules.iter().partition(|card| card.later.is_some());
    let row = |card: &&RuleCard| vec![card.id.clone(), verbs(card), states(card), card.title.clone()];
    let rows: Vec<_> = checked.iter().map(row).collect();
    let header = ["rule", "judges", "state", "what it finds"];
    let mut out = if style.is_wide() { table(&header, &rows, header.len(), 2) } else { narrow(&rows, *style) };
    if !later.is_empty() {
        out.push_str("\nnot checked yet\n");
        for card in later {
            let text = format!("{}: {}", card.title, card.later.as_deref().unwrap_or_default());
            out.push_str(&format!("{:<ID$}{}\n", card.id, wrap(&text, style.width, ID, ID)));
        }
    }
    out.push('\n');
    out.push_str(&wrap("plimsoll rules ID explains one: what it needs, its threshold, an example.", style.width, 0, 0));
    out + "\n"
}

/// One rule: what it detects, from what, when it fires, what it does to a result and an example. Ends with a newline.
#[must_use]
pub fn rule(card: &RuleCard, style: &Style) -> String {
    let style = *style;
    let mut out = labelled_bold(&card.id, &card.title, style);
    if let Some(reason) = &card.later {
        return out + &labelled("not checked", &format!("not yet: {reason}"), style);
    }
    for (verb, text) in [("", &card.own), ("audit", &card.audit)] {
        let Some(RuleText { detects, threshold, data }) = text else { continue };
        out.push('\n');
        if !verb.is_empty() {
            out.push_str(&labelled("of others", "in what other tools have printed (plimsoll audit):", style));
        } else {
            out.push_str(&labelled("judges", &verbs(card), style));
        }
        out.push_str(&labelled("detects", detects, style));
        out.push_str(&labelled("needs", &format!("{data}; without them it is not checked"), style));
        if let Some(threshold) = threshold {
            out.push_str(&labelled("fires", threshold, style));
        }
    }
    if states(card) != NO_STATE {
        out.push('\n');
        for state in &card.states {
            let (word, means) = consequence(*state);
            out.push_str(&labelled(word, means, style));
        }
    }
    if let Some(example) = &card.example {
        out.push_str("\nfor example, of a load that has this fault and no other:\n");
        out.push_str(&finding(example, style));
    }
    out
}

/// For terminals without room for a table.
fn narrow(rows: &[Vec<String>], style: Style) -> String {
    let line = |row: &Vec<String>| {
        let text = format!("{} ({}; {})", row[3], row[1], row[2]);
        format!("{:<ID$}{}\n", row[0], wrap(&text, style.width, ID, 2))
    };
    rows.iter().map(line).collect()
}
