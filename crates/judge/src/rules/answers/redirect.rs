//! ER-02: redirects counted as pages.

use crate::facts::redirects::redirected_to;
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "ER-02",
    title: "redirect measured",
    detects: "Redirects were counted as pages.",
    fires: &[Fires::invalid(
        "At least one response had a status from 300 to 399, other than 304, that was not declared.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Responses, Need::Requests, Need::Plan, Need::WhereKnown(&[Need::Probe])],
    conditions: "",
    check: Check::Run(check),
};

/// True if `status` is a redirect; 304 is none.
pub(crate) fn is_redirect(status: u16) -> bool {
    (300..400).contains(&status) && status != 304
}

/// Redirects that were not declared, by status.
pub(crate) fn undeclared(evidence: &Evidence) -> impl Iterator<Item = (u16, u64)> {
    let declared = |status: u16| evidence.plan.contracts().any(|c| c.declared && c.status == Some(status));
    let statuses = evidence.cohort.status.iter().map(|(status, n)| (*status, *n));
    statuses.filter(move |(status, n)| is_redirect(*status) && !declared(*status) && *n > 0)
}

fn check(evidence: &Evidence) -> Outcome {
    let redirects: Vec<_> = undeclared(evidence).collect();
    let total: u64 = redirects.iter().map(|(_, n)| n).sum();
    let Some((status, _)) = redirects.iter().max_by_key(|(_, n)| *n).copied() else {
        return Outcome::Pass;
    };
    let share = total as f64 / evidence.cohort.counts.completed as f64;
    let statuses: Vec<_> = redirects.iter().map(|(status, _)| status.to_string()).collect();
    let all = evidence.cohort.counts.completed;
    let pages = all.saturating_sub(total);
    let statuses = list(&statuses);
    let destination = destination(evidence);
    let leads = match &destination {
        Some((first, Some(last))) => format!(" to {first}, which ends at {last}"),
        Some((first, None)) => format!(" to {first}"),
        None => String::new(),
    };
    let message = if pages == 0 {
        format!("all {} responses were redirects (status {statuses}){leads}: no page was measured", count(total))
    } else {
        format!(
            "{} of {} responses were redirects ({}, status {statuses}){leads}: a redirect was measured in place of a page",
            count(total),
            count(all),
            percent(share)
        )
    };
    let declare = format!("declare the redirect: --expect status={status}");
    let remedy = match destination {
        // The others got a page, so that the URL of a single request is right.
        _ if pages > 0 && evidence.plan.requests.len() > 1 => {
            format!("replace those requests of the list that are redirected by where they lead, or {declare}")
        }
        _ if pages > 0 => format!(
            "find out whom the server redirects (by cookie, session, address or load), and send what it does not: the \
             other {} responses were no redirects",
            count(pages)
        ),
        Some((first, last)) => format!("measure {} instead, or {declare}", last.unwrap_or(first)),
        None => format!("measure the redirect's target, or {declare}"),
    };
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, [("redirects", total as f64), ("share", share)])
}

/// The URLs of the first hop that the probe saw, and of the last one where that is another.
fn destination(evidence: &Evidence) -> Option<(String, Option<String>)> {
    let (probe, url) = (evidence.probe.as_ref()?, &evidence.plan.target.url);
    let location = probe.fetches.iter().find_map(|fetch| fetch.location.as_deref());
    let first = location.or_else(|| probe.redirects.first().map(String::as_str))?;
    let full = redirected_to(url, [first]).unwrap_or_else(|| first.to_owned());
    let last = redirected_to(url, probe.redirects.iter().map(String::as_str)).filter(|last| *last != full);
    Some((full, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, finding, judged, probe};

    #[test]
    fn an_undeclared_redirect_invalidates_and_tells_where_it_leads() {
        let mut evidence = clean_run();
        evidence.answer(302, 1_000_000);
        let mut seen = probe(302);
        seen.fetches[0].location = Some("/home".into());
        seen.redirects = vec!["http://127.0.0.1:8080/home".into(), "https://example.org/home/".into()];
        evidence.probe = Some(seen);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert_eq!(
            found.message,
            "all 1,000,000 responses were redirects (status 302) to http://127.0.0.1:8080/home, which ends at \
             https://example.org/home/: \
             no page was measured"
        );
        assert!(found.remedy.contains("measure https://example.org/home/ instead"), "{}", found.remedy);
        assert!(found.remedy.contains("--expect status=302"), "{}", found.remedy);
    }

    /// "10 % of the responses were redirects to /login: no page was measured", of 24,350 pages; "measure /login instead".
    #[test]
    fn pages_beside_redirects_are_counted_and_the_remedy_fits_them() {
        let mut evidence = clean_run();
        evidence.cohort.counts.completed = 27_120;
        evidence.answer(302, 2_770);
        let mut seen = probe(302);
        seen.fetches[0].location = Some("/login".into());
        evidence.probe = Some(seen);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(
            found.message,
            "2,770 of 27,120 responses were redirects (10 %, status 302) to http://127.0.0.1:8080/login: a redirect was \
             measured in place of a page"
        );
        assert!(found.remedy.contains("the other 24,350 responses were no redirects"), "{}", found.remedy);
        assert!(!found.remedy.contains("/login instead"), "{}", found.remedy);
    }

    #[test]
    fn one_redirect_is_enough_and_no_probe_is_needed() {
        let mut evidence = clean_run();
        evidence.probe = None;
        evidence.answer(301, 1);
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Invalid);
    }

    #[test]
    fn a_status_the_probe_found_is_not_a_declaration() {
        let mut evidence = clean_run();
        evidence.answer(302, 1_000_000);
        evidence.plan.requests[0].contract.status = Some(302);
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Invalid);
        evidence.plan.requests[0].contract.declared = true;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn silent_on_pages_and_unchecked_without_responses() {
        let mut evidence = clean_run();
        evidence.answer(304, 10);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.cohort.counts.completed = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
