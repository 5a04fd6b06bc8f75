//! A verdict in words: its state, what it means for the numbers, and the rules that were not checked.

use crate::bounds::{is_bound_by, is_disturbed};
use crate::words::compared::compared;
use crate::words::fact::{About, Fact, Tone};
use model::human::count;
use model::{FindingState, Plan, Verdict, VerdictState, bounding};
use std::collections::BTreeMap;

/// The verdict on loads that did `plan`, with what of their responses was compared; of other results without.
pub(crate) fn fact(verdict: &Verdict, plan: Option<&Plan>) -> Fact {
    let compared = plan.map_or_else(String::new, |plan| format!("; {}", compared(plan)));
    fact_that_means(verdict, format!("{}{compared}", meaning(verdict)))
}

/// The verdict with what it means in other words.
pub(crate) fn fact_that_means(verdict: &Verdict, meaning: String) -> Fact {
    let (word, tone) = match verdict.state {
        VerdictState::Valid => ("VALID", Tone::Good),
        VerdictState::Bound => ("BOUND", Tone::Unsure),
        VerdictState::Invalid => ("INVALID", Tone::Bad),
    };
    Fact::new(About::Verdict, word, meaning).with_tone(tone)
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
        VerdictState::Valid if rules.is_empty() => passed(verdict.unchecked.len()),
        VerdictState::Valid => format!("the numbers can be used, with warnings ({rules})"),
        VerdictState::Bound => format!("{} ({rules})", bounds(verdict)),
        VerdictState::Invalid => format!("do not use these numbers ({rules})"),
    }
}

/// No rule found a fault, and so many could not be checked.
fn passed(unchecked: usize) -> String {
    match unchecked {
        0 => "all validity checks passed".to_owned(),
        n => format!("all validity checks that could be made passed ({} could not)", count(n as u64)),
    }
}

/// Which of the numbers are bounds, and of which side.
fn bounds(verdict: &Verdict) -> String {
    let is_bound_by_any = |rules: &[&str]| rules.iter().any(|rule| is_bound_by(verdict, rule));
    let by_others = is_disturbed(verdict) || is_bound_by(verdict, bounding::SHARED_CPUS);
    let is_goodput = by_others || is_bound_by_any(&bounding::PEAK_AT_LEAST);
    let is_latency = by_others || is_bound_by(verdict, bounding::QUANTILE_DELAYED);
    let of_both = match (is_goodput, is_latency) {
        (true, true) => Some("goodput is at least, and latency at most, what is shown"),
        (true, false) => Some("goodput is at least what is shown"),
        (false, true) => Some("latency is at most what is shown"),
        (false, false) => None,
    };
    let is_cut = is_bound_by_any(&[bounding::QUANTILE_CUT, bounding::ALL_CONNECTIONS_BUSY]);
    let of_tail = is_cut.then_some("upper latencies are at least what is shown");
    let of_quantiles = is_bound_by(verdict, bounding::QUANTILE_WITHHELD).then_some("upper quantiles are not known");
    let all: Vec<&str> = [of_both, of_tail, of_quantiles].into_iter().flatten().collect();
    if all.is_empty() { "the findings below say which numbers are bounds".to_owned() } else { all.join("; ") }
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

/// What becomes of the numbers of a result by a finding of this state, in a sentence.
pub(crate) const fn consequence(state: FindingState) -> &'static str {
    match state {
        FindingState::Invalid => "Some number must not be used, and the exit code is 4.",
        FindingState::Bound => "Some number is only a lower or an upper bound.",
        FindingState::Warning => "The numbers can be used, but the cause should be fixed.",
        FindingState::Note => "The numbers can be used, and the finding is worth knowing.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Finding;

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

    /// "Some of the numbers are only bounds" stood above numbers of which none had a sign.
    #[test]
    fn a_bound_is_never_told_without_the_number_that_is_one() {
        let of = |rules: &[&str]| {
            let finding = |rule: &&str| Finding {
                rule: (*rule).to_owned(),
                state: FindingState::Bound,
                message: String::new(),
                remedy: String::new(),
                evidence: BTreeMap::new(),
            };
            let findings = rules.iter().map(finding).collect();
            meaning(&Verdict {
                state: VerdictState::Bound,
                findings,
                unchecked: Vec::new(),
                unchecked_why: BTreeMap::new(),
            })
        };
        assert_eq!(of(&["LD-08", "EN-03"]), "goodput is at least, and latency at most, what is shown (LD-08, EN-03)");
        assert_eq!(of(&["SA-01"]), "goodput is at least what is shown (SA-01)");
        assert_eq!(of(&["LD-04"]), "upper quantiles are not known (LD-04)");
        assert_eq!(
            of(&["CL-03", "ER-05"]),
            "latency is at most what is shown; upper latencies are at least what is shown (CL-03, ER-05)"
        );
        assert_eq!(of(&["ZZ-01"]), "the findings below say which numbers are bounds (ZZ-01)");
    }

    #[test]
    fn a_verdict_counts_the_checks_that_could_not_be_made() {
        let of = |unchecked: &[&str]| {
            let unchecked: Vec<String> = unchecked.iter().map(|rule| (*rule).to_owned()).collect();
            meaning(&Verdict {
                state: VerdictState::Valid,
                findings: Vec::new(),
                unchecked,
                unchecked_why: BTreeMap::new(),
            })
        };
        assert_eq!(of(&[]), "all validity checks passed");
        assert_eq!(of(&["SV-01", "SV-02"]), "all validity checks that could be made passed (2 could not)");
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
