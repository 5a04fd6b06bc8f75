//! The verdict and its findings, shared by all results.
//!
//! Three findings are shown; the rest is on the page, in JSON and behind `-v`.

use super::Style;
use super::layout::{advice, bold, fact_lines, labelled, wrap};
use crate::visible;
use crate::words::fact::About;
use crate::words::verdict::{fact, unchecked, word};
use anstyle::AnsiColor;
use model::human::plural;
use model::{Finding, FindingState, Verdict};

/// Findings shown beneath a result: more are not read.
const SHOWN_MAX: usize = 3;

/// The state in a word, what it means, and the rules behind it; ends with a newline.
pub(crate) fn headline(verdict: &Verdict, style: Style) -> String {
    fact_lines(&[fact(verdict, None)], &[About::Verdict], style)
}

/// The findings that matter most with their remedies, worst first, and what else there is; all of it where that is
/// asked for. Ends with a newline.
pub(crate) fn findings(verdict: &Verdict, style: Style) -> String {
    if style.verbose {
        return all_findings(verdict, style);
    }
    let mut out = String::from("\n");
    let matter = verdict.findings.iter().filter(|finding| finding.state > FindingState::Note).take(SHOWN_MAX);
    let mut shown = 0;
    for finding in matter {
        out.push_str(&self::finding(finding, style));
        shown += 1;
    }
    if let Some(rest) = rest(verdict, shown) {
        let text = format!("{}{rest} (-v lists all)", if shown == 0 { "" } else { "and " });
        out.push_str(&wrap("", &text, style.width, 2));
        out.push('\n');
    }
    if out.len() > 1 { out } else { String::new() }
}

/// All findings with their remedies, worst first, and which rules were not checked; ends with a newline.
pub(crate) fn all_findings(verdict: &Verdict, style: Style) -> String {
    let unchecked = if verdict.unchecked.is_empty() { None } else { Some(unchecked(verdict)) };
    each_finding(verdict, unchecked, style)
}

/// The same of an output that somebody else made, which tells little of what rules ask for: how many were not checked, unless
/// all was asked for.
pub(crate) fn findings_of_file(verdict: &Verdict, style: Style) -> String {
    let n = verdict.unchecked.len() as u64;
    if style.verbose || n == 0 {
        return all_findings(verdict, style);
    }
    let text = format!("{}, for want of data in the output (-v lists them)", plural(n, "rule"));
    each_finding(verdict, Some(text), style)
}

fn each_finding(verdict: &Verdict, unchecked: Option<String>, style: Style) -> String {
    let mut out = String::from("\n");
    for finding in &verdict.findings {
        out.push_str(&self::finding(finding, style));
    }
    if let Some(text) = unchecked {
        out.push_str(&labelled("not checked", &text, style));
    }
    if out.len() > 1 { out } else { String::new() }
}

/// What is left when the first `shown` findings are told: `1 warning, 4 notes, 3 rules not checked`.
fn rest(verdict: &Verdict, shown: usize) -> Option<String> {
    let of = |state: FindingState| verdict.findings[shown..].iter().filter(|finding| finding.state == state).count();
    let decisive = [FindingState::Invalid, FindingState::Bound].into_iter().filter(|state| of(*state) > 0);
    let mut parts: Vec<String> = decisive.map(|state| format!("{} more {}", of(state), word(state))).collect();
    for (n, what) in [(of(FindingState::Warning), "warning"), (of(FindingState::Note), "note")] {
        if n > 0 {
            parts.push(plural(n as u64, what));
        }
    }
    if !verdict.unchecked.is_empty() {
        parts.push(format!("{} not checked", plural(verdict.unchecked.len() as u64, "rule")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What the findings say that are more than notes, without their remedies; ends with a newline when there are any.
pub(crate) fn messages(verdict: &Verdict, style: Style) -> String {
    let told = verdict.findings.iter().filter(|finding| finding.state > FindingState::Note);
    told.map(|finding| message(finding, style).0 + "\n").collect()
}

/// A finding with its remedy; ends with a newline.
pub(crate) fn finding(finding: &Finding, style: Style) -> String {
    let (message, first) = message(finding, style);
    let remedy = visible::line(&finding.remedy);
    let line = format!("{} -> {remedy}", visible::line(&finding.message));
    if first + line.chars().count() <= style.width {
        return format!("{message} -> {remedy}\n");
    }
    let rest = if style.is_wide() { first } else { 2 };
    format!("{message}\n{}", advice(&finding.remedy, rest, style))
}

/// The colour of a state.
pub(crate) const fn colour(state: FindingState) -> AnsiColor {
    match state {
        FindingState::Invalid => AnsiColor::Red,
        FindingState::Bound | FindingState::Warning => AnsiColor::Yellow,
        FindingState::Note => AnsiColor::Cyan,
    }
}

/// State, rule and message of a finding, wrapped, and how many columns stand before the message.
fn message(finding: &Finding, style: Style) -> (String, usize) {
    let colour = colour(finding.state);
    let head = format!("{:<7} {}  ", word(finding.state), visible::line(&finding.rule));
    let first = head.chars().count();
    let rest = if style.is_wide() { first } else { 2 };
    (wrap(&style.paint(bold(colour), &head), &finding.message, style.width, rest), first)
}
