//! The verdict and its findings, shared by all results.
//!
//! Three findings are shown; the rest is on the page, in JSON and behind `-v`.

use super::Style;
use super::layout::{advice, labelled, labelled_painted, wrap};
use crate::compared::compared;
use crate::visible;
use anstyle::{AnsiColor, Style as Ansi};
use model::human::plural;
use model::{Finding, FindingState, Plan, Verdict, VerdictState};
use std::collections::BTreeMap;

/// Findings shown beneath a result: more are not read.
const SHOWN_MAX: usize = 3;

/// The state in a word, what it means, and the rules behind it; ends with a newline.
pub(crate) fn headline(verdict: &Verdict, style: Style) -> String {
    headline_of(verdict, None, style)
}

/// The same of loads that did `plan`, with what of their responses was compared.
pub(crate) fn headline_of(verdict: &Verdict, plan: Option<&Plan>, style: Style) -> String {
    let (word, colour) = match verdict.state {
        VerdictState::Valid => ("VALID", AnsiColor::Green),
        VerdictState::Bound => ("BOUND", AnsiColor::Yellow),
        VerdictState::Invalid => ("INVALID", AnsiColor::Red),
    };
    let compared = plan.map_or_else(String::new, |plan| format!("; {}", compared(plan)));
    labelled_painted(word, &format!("{}{compared}", meaning(verdict)), bold(colour), style)
}

/// What the state means for the numbers, and the rules behind it.
pub(crate) fn meaning(verdict: &Verdict) -> String {
    let decisive = match verdict.state {
        VerdictState::Valid => FindingState::Warning,
        VerdictState::Bound => FindingState::Bound,
        VerdictState::Invalid => FindingState::Invalid,
    };
    let rules: Vec<_> =
        verdict.findings.iter().filter(|f| f.state == decisive).map(|finding| finding.rule.as_str()).collect();
    let rules = rules.join(", ");
    match verdict.state {
        VerdictState::Valid if rules.is_empty() => "all validity checks passed".to_owned(),
        VerdictState::Valid => format!("the numbers stand, with warnings ({rules})"),
        VerdictState::Bound => format!("some of the numbers are only bounds ({rules})"),
        VerdictState::Invalid => format!("do not use these numbers ({rules})"),
    }
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
        let text = format!("{}{rest} (plimsoll report DIR, or -v)", if shown == 0 { "" } else { "and " });
        out.push_str(&wrap("", &text, style.width, 2));
        out.push('\n');
    }
    if out.len() > 1 { out } else { String::new() }
}

/// All findings with their remedies, worst first, and which rules were not checked; ends with a newline.
pub(crate) fn all_findings(verdict: &Verdict, style: Style) -> String {
    let mut out = String::from("\n");
    for finding in &verdict.findings {
        out.push_str(&self::finding(finding, style));
    }
    if !verdict.unchecked.is_empty() {
        out.push_str(&labelled("not checked", &unchecked(verdict), style));
    }
    if out.len() > 1 { out } else { String::new() }
}

/// The rules that were not checked; those with the same reason together.
pub(crate) fn unchecked(verdict: &Verdict) -> String {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in &verdict.unchecked {
        let why = verdict.unchecked_why.get(rule).map_or("for want of data", String::as_str);
        let place = *places.entry(why).or_insert_with(|| {
            by_reason.push((why, Vec::new()));
            by_reason.len() - 1
        });
        by_reason[place].1.push(rule);
    }
    let told: Vec<_> = by_reason.iter().map(|(why, rules)| format!("{}, {why}", rules.join(", "))).collect();
    told.join("; ")
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

/// The finding of `rule`, if it fired.
pub(crate) fn finding_of<'a>(verdict: &'a Verdict, rule: &str) -> Option<&'a Finding> {
    verdict.findings.iter().find(|finding| finding.rule == rule)
}

/// True if `rule` made a number a bound.
pub(crate) fn is_bound_by(verdict: &Verdict, rule: &str) -> bool {
    finding_of(verdict, rule).is_some_and(|finding| finding.state == FindingState::Bound)
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

/// State, rule and message of a finding, wrapped, and how many columns stand before the message.
fn message(finding: &Finding, style: Style) -> (String, usize) {
    let colour = match finding.state {
        FindingState::Invalid => AnsiColor::Red,
        FindingState::Bound | FindingState::Warning => AnsiColor::Yellow,
        FindingState::Note => AnsiColor::Cyan,
    };
    let head = format!("{:<7} {}  ", word(finding.state), visible::line(&finding.rule));
    let first = head.chars().count();
    let rest = if style.is_wide() { first } else { 2 };
    (wrap(&style.paint(bold(colour), &head), &finding.message, style.width, rest), first)
}

/// Verdict in a table.
pub(crate) const fn state_word(state: VerdictState) -> &'static str {
    match state {
        VerdictState::Valid => "valid",
        VerdictState::Bound => "bound",
        VerdictState::Invalid => "invalid",
    }
}

/// A state in a word.
pub(crate) const fn word(state: FindingState) -> &'static str {
    match state {
        FindingState::Invalid => "INVALID",
        FindingState::Bound => "BOUND",
        FindingState::Warning => "WARNING",
        FindingState::Note => "NOTE",
    }
}

/// A state in a word, and what becomes of the result.
pub(crate) const fn consequence(state: FindingState) -> (&'static str, &'static str) {
    let means = match state {
        FindingState::Invalid => "the result is INVALID: some number must not be used (exit code 4)",
        FindingState::Bound => "the result is BOUND unless worse: some number is only a lower or an upper bound",
        FindingState::Warning => "the result stays VALID, with a warning that should be fixed",
        FindingState::Note => "the result stays VALID: worth knowing",
    };
    (word(state), means)
}

pub(crate) fn bold(colour: AnsiColor) -> Ansi {
    colour.on_default().bold()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_were_not_checked_stand_together_by_their_reason() {
        let reasons = [("EN-01", "nobody looked"), ("SV-02", "nobody looked"), ("LD-05", "no window")];
        let verdict = Verdict {
            state: VerdictState::Valid,
            findings: Vec::new(),
            unchecked: ["EN-01", "LD-05", "SV-02", "ST-07"].map(str::to_owned).into(),
            unchecked_why: reasons.map(|(rule, why)| (rule.to_owned(), why.to_owned())).into(),
        };
        assert_eq!(unchecked(&verdict), "EN-01, SV-02, nobody looked; LD-05, no window; ST-07, for want of data");
    }

    #[test]
    fn many_rules_that_were_not_checked_for_reasons_of_their_own_take_no_time() {
        let rules: Vec<String> = (0..200_000).map(|i| format!("r{i}")).collect();
        let verdict = Verdict {
            state: VerdictState::Valid,
            findings: Vec::new(),
            unchecked_why: rules.iter().map(|rule| (rule.clone(), format!("why {rule}"))).collect(),
            unchecked: rules,
        };
        assert!(unchecked(&verdict).ends_with("; r199999, why r199999"));
    }
}
