//! The verdict and its findings, shared by all results.

use super::Style;
use super::layout::wrap;
use anstyle::{AnsiColor, Style as Ansi};
use model::{Finding, FindingState, Verdict, VerdictState};

/// The state in a word, what it means, and the rules behind it; ends with a newline.
pub(crate) fn headline(verdict: &Verdict, style: Style) -> String {
    let (word, colour, decisive) = match verdict.state {
        VerdictState::Valid => ("VALID", AnsiColor::Green, FindingState::Invalid),
        VerdictState::Bound => ("BOUND", AnsiColor::Yellow, FindingState::Bound),
        VerdictState::Invalid => ("INVALID", AnsiColor::Red, FindingState::Invalid),
    };
    let rules: Vec<_> =
        verdict.findings.iter().filter(|f| f.state == decisive).map(|finding| finding.rule.as_str()).collect();
    let rules = rules.join(", ");
    let warnings = verdict.findings.iter().filter(|f| f.state == FindingState::Warning).count();
    let meaning = match (verdict.state, warnings) {
        (VerdictState::Valid, 0) => "the numbers mean what they say".to_owned(),
        (VerdictState::Valid, 1) => "the numbers stand, with one warning".to_owned(),
        (VerdictState::Valid, n) => format!("the numbers stand, with {n} warnings"),
        (VerdictState::Bound, _) => format!("some of the numbers are only bounds ({rules})"),
        (VerdictState::Invalid, _) => format!("do not use these numbers ({rules})"),
    };
    let indent = word.len() + 2;
    format!("{}  {}\n", style.paint(bold(colour), word), wrap(&meaning, style.width, indent, indent))
}

/// All findings with their remedies, worst first, and how many rules were not checked; ends with a newline.
pub(crate) fn findings(verdict: &Verdict, style: Style) -> String {
    let mut out = String::new();
    for finding in &verdict.findings {
        out.push('\n');
        out.push_str(&one(finding, style));
    }
    if !verdict.unchecked.is_empty() {
        let n = verdict.unchecked.len();
        let rules = if n == 1 { "1 rule was".to_owned() } else { format!("{n} rules were") };
        let text = format!("{rules} not checked for want of data: {}", verdict.unchecked.join(", "));
        out.push('\n');
        out.push_str(&wrap(&text, style.width, 0, 2));
        out.push('\n');
    }
    out
}

/// The finding of `rule`, if it fired.
pub(crate) fn finding_of<'a>(verdict: &'a Verdict, rule: &str) -> Option<&'a Finding> {
    verdict.findings.iter().find(|finding| finding.rule == rule)
}

/// Whether `rule` made a number a bound.
pub(crate) fn is_bound_by(verdict: &Verdict, rule: &str) -> bool {
    finding_of(verdict, rule).is_some_and(|finding| finding.state == FindingState::Bound)
}

fn one(finding: &Finding, style: Style) -> String {
    let (word, colour) = match finding.state {
        FindingState::Invalid => ("INVALID", AnsiColor::Red),
        FindingState::Bound => ("BOUND", AnsiColor::Yellow),
        FindingState::Warning => ("WARNING", AnsiColor::Yellow),
        FindingState::Note => ("NOTE", AnsiColor::Cyan),
    };
    let head = format!("{word:<7} {}  ", finding.rule);
    let first = head.chars().count();
    let rest = if style.is_wide() { first } else { 2 };
    let message = wrap(&finding.message, style.width, first, rest);
    let remedy = wrap(&finding.remedy, style.width, rest + 3, rest + 3);
    let indent = " ".repeat(rest);
    format!("{}{message}\n{indent}-> {remedy}\n", style.paint(bold(colour), &head))
}

fn bold(colour: AnsiColor) -> Ansi {
    colour.on_default().bold()
}
