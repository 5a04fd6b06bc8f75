//! The validity rules in a terminal: a line each, or one of them explained.

use super::Style;
use super::layout::{labelled, labelled_bold, labelled_painted, wrap};
use super::verdict::{colour, finding};
use crate::words::rules::{meanings, states, verbs};
use crate::words::verdict::word;
use model::{CatalogueRecord, FiringText, RuleCard, RuleText};

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
    let hint = "plimsoll rules ID explains one: when it fires, what it needs, and an example.";
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

/// One rule: what it detects, each state with when it fires, what it needs, what the states mean and an example. Ends with a
/// newline.
#[must_use]
pub fn rule(card: &RuleCard, style: &Style) -> String {
    let style = *style;
    let mut out = labelled_bold(&card.id, &card.title, style);
    if let Some(reason) = &card.later {
        return out + &labelled("not checked", &format!("not yet: {reason}"), style);
    }
    match (&card.own, &card.audit) {
        (Some(own), Some(audit)) => {
            out.push_str(&explained(own, Some(&verbs(card)), style));
            out.push('\n');
            out.push_str(&labelled("audit", "what plimsoll audit looks for in the output of other tools:", style));
            out.push_str(&explained(audit, None, style));
        }
        (Some(only), None) | (None, Some(only)) => out.push_str(&explained(only, Some(&verbs(card)), style)),
        (None, None) => {}
    }
    out.push('\n');
    out.push_str(&labelled("states", &meanings(card), style));
    if let Some(example) = &card.example {
        out.push_str("\nfor example, of a load that has this fault and no other:\n");
        out.push_str(&finding(example, style));
    }
    out
}

/// What a rule says of itself, with the verbs that it judges where they are told.
fn explained(text: &RuleText, judges: Option<&str>, style: Style) -> String {
    let beside = |text: &str| format!("\n{}", labelled("", text, style));
    let mut out = beside(&text.detects);
    out.push('\n');
    for FiringText { state, when } in &text.fires {
        out.push_str(&labelled_painted(word(*state), when, colour(*state), style));
    }
    out.extend(text.remarks.as_deref().map(beside));
    out.push('\n');
    out.extend(judges.map(|verbs| labelled("judges", verbs, style)));
    out + &labelled("needs", &format!("{}; without these data the rule is not checked", text.data), style)
}
