//! The validity rules in a terminal: a line each, or one of them explained.

use super::Style;
use super::layout::{labelled, labelled_bold, wrap};
use super::verdict::finding;
use crate::words::rules::{NO_STATE, states, verbs};
use crate::words::verdict::consequence;
use model::{CatalogueRecord, RuleCard, RuleText};

/// Columns before the text of a rule: id, and the spaces after it.
const ID: usize = 7;

/// All rules: those that are checked with what they make of a result, then those that are not yet. Ends with a newline.
#[must_use]
pub fn rules(record: &CatalogueRecord, style: &Style) -> String {
    let style = *style;
    let (later, checked): (Vec<_>, Vec<_>) = record.rules.iter().partition(|card| card.later.is_some());
    let mut out = if style.is_wide() { wide(&checked, style) } else { narrow(&checked, style) };
    if !later.is_empty() {
        out.push_str("\nnot checked yet\n");
        for card in later {
            let text = format!("{}: {}", card.title, card.later.as_deref().unwrap_or_default());
            out.push_str(&line(&format!("{:<ID$}", card.id), &text, style));
        }
    }
    let hint = "plimsoll rules ID explains one: what it needs, its threshold, an example.";
    out + "\n" + &wrap("", hint, style.width, 0) + "\n"
}

/// A table with the text wrapped in its last column.
fn wide(cards: &[&RuleCard], style: Style) -> String {
    let cells = |card: &RuleCard| [card.id.clone(), verbs(card), states(card)];
    let header = ["rule", "judges", "state"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once((header, "finding"))
        .chain(cards.iter().map(|card| (cells(card), card.title.as_str())))
        .collect();
    let width = |column: usize| rows.iter().map(|(cells, _)| cells[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let front = |cells: &[String; 3]| {
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect::<String>()
    };
    rows.iter().map(|(cells, title)| line(&front(cells), title, style)).collect()
}

/// For terminals without room for a table.
fn narrow(cards: &[&RuleCard], style: Style) -> String {
    let text = |card: &RuleCard| format!("{} ({}; {})", card.title, verbs(card), states(card));
    cards.iter().map(|card| line(&format!("{:<ID$}", card.id), &text(card), style)).collect()
}

/// Text beside what stands in front of it.
fn line(front: &str, text: &str, style: Style) -> String {
    wrap(front, text, style.width, front.chars().count()) + "\n"
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
        if *detects != card.title {
            out.push_str(&labelled("detects", detects, style));
        }
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
