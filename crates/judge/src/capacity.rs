//! Judging a capacity: the rules of a run over the two loads that it lies between, and whether it has both ends.
//!
//! That a load held is shown in spite of what the client and others on the machine did to it: they only add delay and
//! take CPU time. That a load failed may be their doing: then the upper end is none of the server's, and the capacity
//! is a lower bound, or where nothing held, not known. What the goal asks about (errors, backlog) is not judged a second
//! time.

use crate::{Check, Outcome, Rule, rules, verdict};
use model::human::{percent, plural, rate};
use model::{CapacityReason, DISTURBANCE_RULES, Evidence, Finding, FindingState, Verdict};

/// Rules whose subject is a condition of every goal, or is judged by the search.
const JUDGED_BY_GOAL: [&str; 3] = ["ER-01", "ER-05", "ST-02"];
/// Windows that are short: that an end rests on too few of them is told by the bracket.
const TOO_SHORT: &str = "LD-04";
/// Upper end that is missing.
const NOT_SATURATED: &str = "SA-01";
/// Bracket that is wide, not confirmed, or has no lower end.
const COARSE: &str = "SA-02";
/// Higher load that held above one that failed.
const UNEVEN: &str = "SA-06";
/// A bracket wider than this multiple of what was wanted is noted.
const WIDE: f64 = 1.5;
/// What to do about a server that has changed under the search.
const CHANGED: &str = "see whether the server warms up, fills a cache or ages, then search again (--warmup, --restart)";

/// What is claimed of a capacity.
#[derive(Clone, Copy, Debug)]
pub struct CapacityClaim<'a> {
    /// Highest load that held, per second, and all its trials merged.
    pub low: Option<(f64, &'a Evidence)>,
    /// Lowest load above it that failed, and all its trials merged.
    pub high: Option<(f64, &'a Evidence)>,
    /// A trial where none counted.
    pub uncounted: Option<&'a Evidence>,
    /// Why the search ended.
    pub reason: CapacityReason,
    /// True if fresh trials confirmed the lower end, and the upper end.
    pub is_confirmed: (bool, bool),
    /// Wanted width, `high / low - 1`.
    pub width: f64,
    /// Highest load that was allowed; per second.
    pub to_per_s: f64,
}

/// Judges a capacity by what is known of the loads at both ends of its bracket.
#[must_use]
pub fn judge_capacity(claim: &CapacityClaim<'_>) -> Verdict {
    verdict(rules().iter().map(|rule| {
        let outcome = match rule.check {
            Check::Run(_) | Check::Both { .. } => of_loads(claim, rule),
            Check::Sweep(_) => of_bracket(claim, rule.id),
        };
        (rule.id, outcome)
    }))
}

/// A rule of a run over both ends.
fn of_loads(claim: &CapacityClaim<'_>, rule: &Rule) -> Outcome {
    if JUDGED_BY_GOAL.contains(&rule.id) {
        return Outcome::Pass;
    }
    let no_trial = Outcome::Unchecked("no trial counted");
    // Where nothing held, the load that failed is all there is.
    let Some((at_per_s, evidence)) = claim.low.or(claim.high) else {
        return claim.uncounted.and_then(|evidence| rule.judge_load(evidence)).unwrap_or(no_trial);
    };
    match (rule.judge_load(evidence), excuse(claim, rule)) {
        (_, Some(finding)) => Outcome::Fired(finding),
        (Some(Outcome::Fired(finding)), None) => Outcome::Fired(weighed(finding, at_per_s)),
        (outcome, None) => outcome.unwrap_or(no_trial),
    }
}

/// A finding at the load that the capacity claims to hold.
fn weighed(finding: Finding, per_s: f64) -> Finding {
    let only_adds = finding.rule.starts_with("CL-") || DISTURBANCE_RULES.contains(&finding.rule.as_str());
    let is_mild = only_adds || finding.rule == TOO_SHORT;
    let state = finding.state.min(if is_mild { FindingState::Warning } else { FindingState::Invalid });
    // Notes are about the set-up, whatever the load.
    let message = match state {
        FindingState::Note => finding.message,
        _ => format!("at {}: {}", rate(per_s), finding.message),
    };
    Finding { state, message, ..finding }
}

/// What a rule says of the load that failed if the server may not be the reason.
fn excuse(claim: &CapacityClaim<'_>, rule: &Rule) -> Option<Finding> {
    let (per_s, evidence) = claim.high?;
    match rule.judge_load(evidence)? {
        Outcome::Fired(finding) => not_of_the_server(finding, per_s),
        Outcome::Pass | Outcome::Unchecked(_) => None,
    }
}

/// Rules by which the server may not be the reason why a load failed.
fn excuses(claim: &CapacityClaim<'_>) -> Vec<String> {
    rules().iter().filter_map(|rule| excuse(claim, rule)).map(|finding| finding.rule).collect()
}

/// A finding at the load that failed which says that the server may not be the reason.
fn not_of_the_server(finding: Finding, per_s: f64) -> Option<Finding> {
    let is_disturbed = DISTURBANCE_RULES.contains(&finding.rule.as_str()) && finding.state >= FindingState::Bound;
    let is_client = finding.rule.starts_with("CL-") && finding.state == FindingState::Invalid;
    (is_disturbed || is_client).then(|| {
        let message = format!("{} failed, which may not be the server's doing: {}", rate(per_s), finding.message);
        Finding { state: FindingState::Bound, message, ..finding }
    })
}

/// What a rule of sweeps says of the bracket.
fn of_bracket(claim: &CapacityClaim<'_>, id: &str) -> Outcome {
    match id {
        NOT_SATURATED => no_upper_end(claim),
        COARSE => coarse(claim),
        UNEVEN => uneven(claim),
        _ => Outcome::Pass,
    }
}

fn no_upper_end(claim: &CapacityClaim<'_>) -> Outcome {
    let (Some((low, _)), None) = (claim.low, claim.high) else { return Outcome::Pass };
    let message = format!("the capacity is at least {}: {}", rate(low), claim.reason.words());
    let remedy = match claim.reason {
        CapacityReason::RangeEnded => format!("search higher: --to {:.0}", claim.to_per_s * 4.0),
        CapacityReason::ClientCeiling => "use more load threads (-t) or a faster client machine".to_owned(),
        CapacityReason::TargetGone => "see why the server ended: its log, its limits".to_owned(),
        _ => "give it more time (--budget)".to_owned(),
    };
    Outcome::fired(NOT_SATURATED, FindingState::Bound, message, remedy, [("low_per_s", low)])
}

fn coarse(claim: &CapacityClaim<'_>) -> Outcome {
    let (low, high) = match (claim.low, claim.high) {
        (_, None) => return Outcome::Pass,
        (None, Some((high, _))) => return nothing_held(claim, high),
        (Some((low, _)), Some((high, _))) => (low, high),
    };
    let width = high / low - 1.0;
    let figures = [("low_per_s", low), ("high_per_s", high), ("width", width)];
    if let Some(ends) = unconfirmed(claim).filter(|_| claim.reason != CapacityReason::Bracketed) {
        let (why, remedy) = match claim.reason {
            // It is SA-06 that says more of it.
            CapacityReason::NonMonotone => (format!("fresh trials did not confirm {ends} of the bracket"), CHANGED),
            reason => {
                let why = format!("{} before {ends} of the bracket could be confirmed", reason.words());
                (why, "give it more time (--budget)")
            }
        };
        let message = format!(
            "the capacity is probably between {} and {}, {} apart: {why}",
            rate(low),
            rate(high),
            percent(width)
        );
        return Outcome::fired(COARSE, FindingState::Bound, message, remedy.to_owned(), figures);
    }
    if width <= WIDE * claim.width {
        return Outcome::Pass;
    }
    let message = format!(
        "the capacity is between {} and {}, {} apart, as it differs from trial to trial: quote the range",
        rate(low),
        rate(high),
        percent(width)
    );
    let remedy = "give it more time (--budget), or use a quieter machine".to_owned();
    Outcome::fired(COARSE, FindingState::Note, message, remedy, figures)
}

/// A capacity below the lowest load tried, unless that may have failed without the server.
fn nothing_held(claim: &CapacityClaim<'_>, high: f64) -> Outcome {
    let figures = [("high_per_s", high)];
    let excuses = excuses(claim);
    if excuses.is_empty() {
        let message = format!("the capacity is below {}: {}", rate(high), claim.reason.words());
        let remedy = "search lower (--from), or ask for less (--goal)".to_owned();
        return Outcome::fired(COARSE, FindingState::Bound, message, remedy, figures);
    }
    let message = format!(
        "nothing is known of the capacity: no load held, and that {} failed may not be the server's doing ({})",
        rate(high),
        excuses.join(", ")
    );
    let remedy = "see those findings, and search again on a quieter machine, or with a faster client".to_owned();
    Outcome::fired(COARSE, FindingState::Invalid, message, remedy, figures)
}

/// Ends of a bracket that fresh trials have not confirmed, in words; none if there are none.
fn unconfirmed(claim: &CapacityClaim<'_>) -> Option<String> {
    let ends = [claim.is_confirmed.0, claim.is_confirmed.1];
    let open = ends.iter().filter(|is_confirmed| !**is_confirmed).count();
    (open > 0).then(|| plural(open as u64, "end"))
}

fn uneven(claim: &CapacityClaim<'_>) -> Outcome {
    if claim.reason != CapacityReason::NonMonotone {
        return Outcome::Pass;
    }
    let then = match unconfirmed(claim) {
        Some(ends) => format!("{ends} of the bracket could not be confirmed, however far it was moved"),
        None => "the bracket was widened over both".to_owned(),
    };
    let message = format!("{}: {then}", claim.reason.words());
    let end_per_s = |end: Option<(f64, &Evidence)>| end.map_or(0.0, |end| end.0);
    let figures = [("low_per_s", end_per_s(claim.low)), ("high_per_s", end_per_s(claim.high))];
    Outcome::fired(UNEVEN, FindingState::Warning, message, CHANGED.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_open_run, machine};
    use model::VerdictState;

    /// As merged trials are.
    fn trials() -> Evidence {
        Evidence { iterations: 3, ..clean_open_run() }
    }

    fn claim<'a>(low: Option<&'a Evidence>, high: Option<&'a Evidence>, reason: CapacityReason) -> CapacityClaim<'a> {
        CapacityClaim {
            low: low.map(|evidence| (1_000.0, evidence)),
            high: high.map(|evidence| (1_030.0, evidence)),
            uncounted: None,
            reason,
            is_confirmed: (true, true),
            width: 0.03,
            to_per_s: 10_000.0,
        }
    }

    fn judged(low: &Evidence, high: &Evidence) -> Verdict {
        judge_capacity(&claim(Some(low), Some(high), CapacityReason::Bracketed))
    }

    #[track_caller]
    fn finding<'a>(verdict: &'a Verdict, rule: &str) -> &'a Finding {
        let found = verdict.findings.iter().find(|finding| finding.rule == rule);
        found.unwrap_or_else(|| panic!("{rule} did not fire: {verdict:#?}"))
    }

    #[test]
    fn a_clean_bracket_is_valid_whatever_the_load_above_it_did() {
        let (low, mut high) = (trials(), trials());
        assert_eq!(judged(&low, &high).state, VerdictState::Valid);
        high.fail("first_byte.timeout", 200_000);
        high.latency.slip_blocked.p99_ns = 3_000_000_000;
        let verdict = judged(&low, &high);
        assert_eq!(verdict.state, VerdictState::Valid, "{verdict:#?}");
        assert!(verdict.findings.iter().all(|finding| finding.state == FindingState::Note), "{verdict:#?}");
    }

    #[test]
    fn a_client_at_its_limit_bounds_where_the_load_failed_and_warns_where_it_held() {
        let (mut low, mut high) = (trials(), trials());
        high.cohort.counts.sent = 900_000;
        high.latency.slip_client.p99_ns = 50_000_000;
        let verdict = judged(&low, &high);
        let found = finding(&verdict, "CL-05");
        assert_eq!((found.state, verdict.state), (FindingState::Bound, VerdictState::Bound));
        assert!(found.message.starts_with("1,030/s failed, which may not be the server's"), "{}", found.message);
        low.threads[0].busy_max = 0.97;
        let verdict = judged(&low, &trials());
        let found = finding(&verdict, "CL-01");
        assert_eq!((found.state, verdict.state), (FindingState::Warning, VerdictState::Valid));
        assert!(found.message.starts_with("at 1,000/s: "), "{}", found.message);
    }

    #[test]
    fn wrong_answers_invalidate_and_errors_are_the_goals_affair() {
        let mut low = trials();
        low.fail("contract.size", 200_000);
        let verdict = judged(&low, &trials());
        assert_eq!(verdict.state, VerdictState::Invalid);
        assert_eq!(finding(&verdict, "ER-03").state, FindingState::Invalid);
        let mut low = trials();
        low.fail("first_byte.timeout", 200_000);
        assert!(judged(&low, &trials()).findings.iter().all(|finding| finding.rule != "ER-01"));
    }

    #[test]
    fn a_missing_end_is_a_bound_with_the_reason() {
        let load = trials();
        let upper = judge_capacity(&claim(Some(&load), None, CapacityReason::RangeEnded));
        assert_eq!(upper.state, VerdictState::Bound);
        let found = finding(&upper, "SA-01");
        assert_eq!(found.message, "the capacity is at least 1,000/s: the highest load allowed held");
        assert_eq!(found.remedy, "search higher: --to 40000");
        let lower = judge_capacity(&claim(None, Some(&load), CapacityReason::NeverMet));
        assert!(finding(&lower, "SA-02").message.starts_with("the capacity is below 1,030/s: the goal was not met"));
        let nothing = judge_capacity(&claim(None, None, CapacityReason::TargetGone));
        assert!(nothing.findings.is_empty() && nothing.unchecked.contains(&"CL-01".to_owned()));
    }

    /// Steal makes a server fail: that the capacity is below that load is not shown.
    #[test]
    fn a_lowest_rate_that_failed_under_steal_is_no_upper_bound() {
        let clean = trials();
        let mut stolen = trials();
        machine(&mut stolen).steal_mean = 0.15;
        let judged = |load| judge_capacity(&claim(None, Some(load), CapacityReason::NeverMet));
        assert_eq!(
            (judged(&clean).state, finding(&judged(&clean), "SA-02").state),
            (VerdictState::Bound, FindingState::Bound)
        );
        let verdict = judged(&stolen);
        let found = finding(&verdict, "EN-01");
        assert_eq!((found.state, verdict.state), (FindingState::Bound, VerdictState::Invalid), "{verdict:#?}");
        assert!(found.message.starts_with("1,030/s failed, which may not be the server's doing"), "{}", found.message);
        let none = finding(&verdict, "SA-02");
        assert!(none.message.starts_with("nothing is known of the capacity"), "{}", none.message);
        assert!(none.state == FindingState::Invalid && none.message.ends_with("(EN-01)"), "{}", none.message);
    }

    /// It was valid, with a warning that a higher load had held better.
    #[test]
    fn a_search_that_lost_an_end_is_a_bound() {
        let load = trials();
        let lost = CapacityClaim {
            is_confirmed: (false, true),
            ..claim(Some(&load), Some(&load), CapacityReason::NonMonotone)
        };
        let verdict = judge_capacity(&lost);
        let found = finding(&verdict, "SA-02");
        assert_eq!((found.state, verdict.state), (FindingState::Bound, VerdictState::Bound));
        assert!(found.message.ends_with("fresh trials did not confirm 1 end of the bracket"), "{}", found.message);
        let uneven = finding(&verdict, "SA-06");
        assert!(uneven.message.ends_with("1 end of the bracket could not be confirmed, however far it was moved"));
    }

    #[test]
    fn a_bracket_that_is_not_confirmed_is_a_bound_and_a_wide_one_a_note() {
        let load = trials();
        let ended = CapacityClaim {
            is_confirmed: (true, false),
            ..claim(Some(&load), Some(&load), CapacityReason::BudgetEnded)
        };
        let verdict = judge_capacity(&ended);
        let found = finding(&verdict, "SA-02");
        assert_eq!(found.state, FindingState::Bound);
        assert!(
            found.message.contains("the time (--budget) was used up before 1 end of the bracket"),
            "{}",
            found.message
        );
        let wide = CapacityClaim { width: 0.01, ..claim(Some(&load), Some(&load), CapacityReason::Bracketed) };
        assert_eq!(finding(&judge_capacity(&wide), "SA-02").state, FindingState::Note);
        let uneven = judge_capacity(&claim(Some(&load), Some(&load), CapacityReason::NonMonotone));
        assert_eq!((finding(&uneven, "SA-06").state, uneven.state), (FindingState::Warning, VerdictState::Valid));
    }
}
