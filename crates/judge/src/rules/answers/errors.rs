//! ER-01: share of failed requests.

use super::{redirect, refused, wrong_body};
use crate::facts::closes::Closes;
use crate::facts::failures_named;
use crate::facts::surplus::Surplus;
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Contract, Evidence, FindingState};
use std::cmp::Reverse;

const WARNING_SHARE: f64 = 0.001;
const INVALID_SHARE: f64 = 0.01;
/// Kinds and statuses named in the message.
const NAMED_MAX: usize = 3;
pub(crate) const RULE: Rule = Rule {
    id: "ER-01",
    title: "errors",
    detects: "Requests failed, by bad statuses, socket errors or timeouts.",
    fires: &[
        Fires::invalid("More than 1 % of the requests failed."),
        Fires::warning("More than 0.1 % of the requests failed."),
    ],
    remarks: "For errors aspnet/Benchmarks argues for 0.1 %, and RFC 9411 for 0.001 %. Redirects and refusals count \
              in ER-02 and ER-08 instead, and wrong bodies in ER-03 where that rule fires.",
    applies: Applies::Always,
    needs: &[Need::Requests],
    conditions: "a request in the window",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let cohort = &evidence.cohort;
    let attempted = cohort.counts.planned.max(cohort.counts.good + cohort.failed());
    if attempted == 0 {
        return Outcome::Unchecked("no request in the measurement window");
    }
    let kinds = own_failures(evidence);
    let failed: u64 = kinds.iter().map(|(_, n)| n).sum();
    let share = failed as f64 / attempted as f64;
    let state = match share {
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let statuses = bad_statuses(evidence);
    let mut named = named(kinds.iter().map(|(name, n)| ((*name).to_owned(), *n)));
    if !statuses.is_empty() {
        named = format!("{named}; by status {}", self::named(statuses.iter().map(|(s, n)| (s.to_string(), *n))));
    }
    let message = format!("{} of {} requests failed ({}): {named}", count(failed), count(attempted), percent(share));
    let main = kinds.first().map_or("", |(name, _)| name);
    let is_lost = [".closed", ".reset"].iter().any(|end| main.ends_with(end));
    let remedy = match (Surplus::of(evidence), Closes::of(evidence).filter(|_| is_lost)) {
        (Some(surplus), _) => surplus.remedy().to_owned(),
        (None, Some(closes)) => closes.remedy(),
        (None, None) => remedy(main, statuses.first().map(|(status, _)| *status)),
    };
    let figures = [("failed", failed as f64), ("attempted", attempted as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

/// Failures no other rule accounts for, the most frequent first.
fn own_failures(evidence: &Evidence) -> Vec<(&str, u64)> {
    let elsewhere = redirect::undeclared(evidence).chain(refused::undeclared(evidence));
    let elsewhere: u64 = elsewhere.map(|(_, n)| n).sum();
    let mut kinds: Vec<_> = failures_named(evidence, "")
        .map(|(name, n)| match name {
            "contract.status" => (name, n.saturating_sub(elsewhere)),
            "contract.size" | "contract.body" | "contract.hash" if wrong_body::fires(evidence) => (name, 0),
            _ => (name, n),
        })
        .filter(|(_, n)| *n > 0)
        .collect();
    kinds.sort_by_key(|(_, n)| Reverse(*n));
    kinds
}

/// Statuses the contract does not allow, without those of other rules, the most frequent first.
fn bad_statuses(evidence: &Evidence) -> Vec<(u16, u64)> {
    let allows = |contract: &Contract, status: u16| match contract.status {
        Some(declared) => status == declared,
        None => (200..300).contains(&status),
    };
    let allowed = |status: u16| evidence.plan.contracts().any(|contract| allows(contract, status));
    let statuses = evidence.cohort.status.iter().map(|(status, n)| (*status, *n));
    let is_elsewhere = |status: u16| redirect::is_redirect(status) || refused::is_refusal(status);
    let mut bad: Vec<_> = statuses.filter(|(status, _)| !allowed(*status) && !is_elsewhere(*status)).collect();
    bad.sort_by_key(|(_, n)| Reverse(*n));
    bad
}

fn named(kinds: impl Iterator<Item = (String, u64)>) -> String {
    let mut items: Vec<_> = kinds.map(|(name, n)| format!("{name} {}", count(n))).collect();
    let more = items.len().saturating_sub(NAMED_MAX);
    items.truncate(NAMED_MAX);
    if more > 0 {
        items.push(format!("{more} more"));
    }
    list(&items)
}

/// Advice by the most frequent kind and status.
fn remedy(kind: &str, status: Option<u16>) -> String {
    let advice = match (kind, status) {
        ("contract.status", Some(503)) => {
            "a rate limiter may be answering instead of the application: exempt this client, or lower the load"
        }
        ("contract.status", Some(404 | 410)) => "check the URL",
        ("contract.status", Some(401)) => "send credentials (--auth basic:file:PATH)",
        ("contract.status", Some(408)) => {
            "the server ends idle connections while requests are on their way to it: raise its keep-alive timeout, or use \
             fewer connections"
        }
        ("contract.status", Some(413)) => {
            "send a smaller body, or raise the server's limit (client_max_body_size, LimitRequestBody)"
        }
        ("contract.status", Some(500..)) => "read the server's error log, and lower the load until errors stop",
        ("contract.status", _) => {
            "fetch the URL once and inspect the response; declare it if correct (--expect status=...)"
        }
        ("contract.size", _) => "fetch the URL a few times and find out why its size changes",
        ("connect.refused", _) => "check that the server is up, its connection limit and its backlog",
        ("tls.certificate", _) => "check the server's certificate; trust it (--ca-cert FILE) or skip verification (-k)",
        ("tls.handshake", _) => "find the reason in the server's error log",
        (kind, _) if kind.ends_with(".timeout") || kind.ends_with(".abandoned") => {
            "lower the load, or allow more time (--timeout)"
        }
        (kind, _) if kind.ends_with(".reset") || kind.ends_with(".closed") => {
            "find out why the server drops connections (limit, crash, keep-alive): read its error log"
        }
        (kind, _) if kind.ends_with("_exhausted") => "raise the client's limits",
        _ => "lower the load until errors stop, and read the server's error log",
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, finding, judged, state};

    #[test]
    fn fires_by_share() {
        for (failed, expected) in [
            (1_000, None),
            (1_100, Some(FindingState::Warning)),
            (10_000, Some(FindingState::Warning)),
            (10_100, Some(FindingState::Invalid)),
        ] {
            let mut evidence = clean_run();
            evidence.fail("first_byte.timeout", failed);
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{failed}");
        }
    }

    #[test]
    fn names_kinds_and_statuses_and_advises_by_them() {
        let mut evidence = clean_run();
        evidence.fail("contract.status", 20_000);
        evidence.answer(503, 20_000);
        evidence.fail("body.reset", 500);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(
            found.message,
            "20,500 of 1,000,000 requests failed (2.1 %): contract.status 20,000 and body.reset 500; by status 503 20,000"
        );
        assert!(found.remedy.contains("rate limiter"), "{}", found.remedy);
    }

    #[test]
    fn connections_that_end_unannounced_are_named() {
        let mut evidence = clean_run();
        evidence.fail("first_byte.closed", 400_000);
        assert!(finding(judged(&RULE, &evidence)).remedy.contains("error log"), "few were opened again");
        evidence.flow.opened = 600_000;
        assert!(finding(judged(&RULE, &evidence)).remedy.contains("measure with --no-keepalive"));
        // Said of an nginx without a free connection, which closed 86 % of them before a request.
        evidence.fail("first_byte.closed", 460_000);
        evidence.flow.opened = 860_000;
        assert!(
            finding(judged(&RULE, &evidence)).remedy.contains("worker_connections"),
            "{:?}",
            finding(judged(&RULE, &evidence))
        );
        evidence.probe.as_mut().expect("a probe").fetches[0].keepalive = false;
        assert!(finding(judged(&RULE, &evidence)).remedy.contains("error log"), "it was announced");
    }

    #[test]
    fn redirects_are_not_counted_twice() {
        let mut evidence = clean_run();
        evidence.fail("contract.status", 1_000_000);
        evidence.answer(302, 1_000_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// A rate limiter was told twice, with two remedies.
    #[test]
    fn refusals_of_a_rate_limiter_were_counted_as_errors_too() {
        let mut evidence = clean_run();
        evidence.fail("contract.status", 400_000);
        evidence.answer(429, 400_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "ER-08 says it all");
        evidence.fail("contract.status", 50_000);
        evidence.cohort.status = [(200, 550_000), (429, 400_000), (500, 50_000)].into();
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.ends_with("contract.status 50,000; by status 500 50,000"), "{}", found.message);
    }

    #[test]
    fn nothing_done_is_unchecked() {
        let mut evidence = clean_run();
        evidence.cohort = model::Cohort::default();
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
