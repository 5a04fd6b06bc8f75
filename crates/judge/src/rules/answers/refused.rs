//! ER-08: requests refused by a rate limiter or an access rule.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

/// Statuses with which servers refuse clients.
const REFUSALS: [u16; 2] = [403, 429];
/// Up to this share a limiter was only touched.
const INVALID_SHARE: f64 = 0.001;

pub(crate) const RULE: Rule = Rule {
    id: "ER-08",
    title: "refused by a rate limiter or access rule",
    detects: "A rate limiter, firewall or ban responded instead of the application.",
    fires: &[
        Fires::invalid("More than 0.1 % of the responses had a status 403 or 429 that was not declared."),
        Fires::warning("At least one response had a status 403 or 429 that was not declared."),
    ],
    remarks: "Responses with status 503 count in ER-01.",
    applies: Applies::Always,
    needs: &[Need::Responses, Need::Requests, Need::Plan],
    conditions: "",
    check: Check::Run(check),
};

/// True if servers refuse clients with this status.
pub(crate) fn is_refusal(status: u16) -> bool {
    REFUSALS.contains(&status)
}

/// Refusals that were not declared, by status.
pub(crate) fn undeclared(evidence: &Evidence) -> impl Iterator<Item = (u16, u64)> {
    let declared = |status: u16| evidence.plan.contracts().any(|c| c.declared && c.status == Some(status));
    let statuses = evidence.cohort.status.iter().map(|(status, n)| (*status, *n));
    statuses.filter(move |(status, n)| is_refusal(*status) && !declared(*status) && *n > 0)
}

fn check(evidence: &Evidence) -> Outcome {
    let completed = evidence.cohort.counts.completed;
    let refused: Vec<_> = undeclared(evidence).collect();
    let total: u64 = refused.iter().map(|(_, n)| n).sum();
    let Some((status, _)) = refused.iter().max_by_key(|(_, n)| *n).copied() else {
        return Outcome::Pass;
    };
    let share = total as f64 / completed as f64;
    let state = if share > INVALID_SHARE { FindingState::Invalid } else { FindingState::Warning };
    let what = if status == 429 { "a rate limiter was measured" } else { "a ban or an access rule was measured" };
    let message = format!(
        "{} of {} responses refused ({}, status {status}): {what}",
        count(total),
        count(completed),
        percent(share)
    );
    let remedy = match status {
        429 => "exempt this client from the limit (mod_evasive, limit_req, WAF), or stay below it (-R)",
        _ => "exempt this client from the ban, or send credentials (-H, --auth)",
    };
    let figures = [("refused", total as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, finding, judged};

    #[test]
    fn refusals_invalidate_and_a_few_warn() {
        let mut evidence = clean_run();
        evidence.answer(429, 300_000);
        evidence.answer(403, 10);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.ends_with("(30 %, status 429): a rate limiter was measured"), "{}", found.message);
        let mut evidence = clean_run();
        evidence.answer(403, 7);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.remedy.contains("credentials"), "{}", found.remedy);
    }

    #[test]
    fn what_was_declared_and_other_errors_are_no_refusal() {
        let mut evidence = clean_run();
        evidence.answer(503, 300_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.answer(403, 300_000);
        evidence.plan.requests[0].contract.status = Some(403);
        evidence.plan.requests[0].contract.declared = true;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.cohort.counts.completed = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
