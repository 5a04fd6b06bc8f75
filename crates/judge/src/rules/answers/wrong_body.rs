//! ER-03: responses with a wrong body.

use crate::facts::failures_named;
use crate::facts::surplus::Surplus;
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{BODY_SAMPLE_EVERY, Evidence, FindingState, SizeBand};

const INVALID_SHARE: f64 = 0.001;
const REMEDY: &str = "inspect the body; if it may vary, declare what does not: --expect size=MIN..MAX or body~TEXT";

pub(crate) const RULE: Rule = Rule {
    id: "ER-03",
    title: "wrong body",
    detects: "Responses with a good status had a body of the wrong size or content, such as error pages, or a body \
              where none may be.",
    fires: &[Fires::invalid(
        "More than 0.1 % of the complete responses, or of those whose content was checked, did not have the \
             expected body; or the probe got a body after HEAD, with status 204 or 304, or beyond the announced \
             length.",
    )],
    remarks: "RFC 9112 (section 6.3) says where a response ends.",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan, Need::WhereKnown(&[Need::Probe])],
    conditions: "a body size, text or hash that is declared or that the probe found, and a complete response",
    check: Check::Run(check),
};

/// True if the rule fires on `evidence`.
pub(crate) fn fires(evidence: &Evidence) -> bool {
    matches!(check(evidence), Outcome::Fired(_))
}

fn check(evidence: &Evidence) -> Outcome {
    if let Some(surplus) = Surplus::of(evidence) {
        let figures = [("surplus_bytes", surplus.bytes as f64)];
        return Outcome::fired(RULE.id, FindingState::Invalid, surplus.message(), surplus.remedy().to_owned(), figures);
    }
    if evidence.plan.contracts().all(|c| c.size_bytes.is_none() && c.body_text.is_none() && c.body_hash.is_none()) {
        return Outcome::Unchecked("no expected body size, text or hash");
    }
    if evidence.cohort.counts.completed == 0 {
        return Outcome::Unchecked("no complete response");
    }
    let wrong = [wrong_size(evidence), wrong_text(evidence), wrong_hash(evidence)];
    let wrong: Vec<_> = wrong.into_iter().flatten().filter(|wrong| wrong.share() > INVALID_SHARE).collect();
    let Some(worst) = wrong.iter().map(Wrong::share).max_by(f64::total_cmp) else { return Outcome::Pass };
    let sentences = list(&wrong.iter().map(Wrong::sentence).collect::<Vec<_>>());
    let unseen = evidence::unseen_wrong(evidence);
    let message = match unseen {
        0.0 => sentences,
        _ => format!("{sentences}; goodput is without the {} others expected", count(unseen.round() as u64)),
    };
    let mut figures: Vec<_> = wrong.iter().map(|wrong| (wrong.figure, wrong.n as f64)).collect();
    figures.extend([("share", worst), ("content_checked", evidence.cohort.counts.body_checked as f64)]);
    if let Some(size) = only_size(evidence) {
        figures.extend([("size_min_bytes", size.min as f64), ("size_max_bytes", size.max as f64)]);
    }
    Outcome::fired(RULE.id, FindingState::Invalid, message, REMEDY.to_owned(), figures)
}

/// One way in which bodies were wrong.
struct Wrong {
    figure: &'static str,
    n: u64,
    of: u64,
    whose: &'static str,
    /// The expectation, after "did not have".
    expected: String,
}

impl Wrong {
    fn share(&self) -> f64 {
        self.n as f64 / self.of.max(1) as f64
    }

    fn sentence(&self) -> String {
        let (n, of) = (count(self.n), count(self.of));
        format!("{n} of {of} {} ({}) did not have {}", self.whose, percent(self.share()), self.expected)
    }
}

fn wrong_size(evidence: &Evidence) -> Option<Wrong> {
    evidence.plan.contracts().find_map(|contract| contract.size_bytes)?;
    let expected = match only_size(evidence) {
        None => "the size of its request".to_owned(),
        Some(SizeBand { min, max }) if min == max => format!("{} bytes", count(min)),
        Some(SizeBand { min, max }) => format!("{} to {} bytes", count(min), count(max)),
    };
    let n = failures_named(evidence, "contract.size").map(|(_, n)| n).sum();
    let of = evidence.cohort.counts.completed;
    let expected = format!("the expected body of {expected}");
    Some(Wrong { figure: "wrong_size", n, of, whose: "responses", expected })
}

/// The size that all bodies must have; none when it depends on the request.
fn only_size(evidence: &Evidence) -> Option<SizeBand> {
    let mut sizes = evidence.plan.contracts().map(|contract| contract.size_bytes);
    let first = sizes.next()?;
    first.filter(|_| sizes.all(|other| other == first))
}

fn wrong_text(evidence: &Evidence) -> Option<Wrong> {
    let text = evidence.plan.contracts().find_map(|contract| contract.body_text.as_ref())?;
    Some(looked_at(evidence, "wrong_text", "contract.body", format!("the text {text:?} in their body")))
}

fn wrong_hash(evidence: &Evidence) -> Option<Wrong> {
    evidence.plan.contracts().find_map(|contract| contract.body_hash)?;
    Some(looked_at(evidence, "wrong_hash", "contract.hash", "the body that the probe got".to_owned()))
}

fn looked_at(evidence: &Evidence, figure: &'static str, failure: &str, what: String) -> Wrong {
    let n = failures_named(evidence, failure).map(|(_, n)| n).sum();
    let expected = format!("{what} (one response in {BODY_SAMPLE_EVERY} is checked)");
    Wrong { figure, n, of: evidence.cohort.counts.body_checked, whose: "checked responses", expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::surplus::MEASURE_GET;
    use crate::testing::{Mutate, clean_run, finding, judged};

    #[test]
    fn wrong_sizes_invalidate_and_the_expected_one_is_named() {
        let mut evidence = clean_run();
        evidence.fail("contract.size", 1_001);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("expected body of 1,024 bytes"), "{}", found.message);
        evidence.plan.requests[0].contract.size_bytes = Some(SizeBand { min: 10, max: 2_000 });
        assert!(finding(judged(&RULE, &evidence)).message.contains("10 to 2,000 bytes"));
    }

    #[test]
    fn wrong_content_is_held_against_the_responses_looked_at() {
        let mut evidence = clean_run();
        evidence.cohort.counts.body_checked = 10_000;
        evidence.plan.requests[0].contract.body_text = Some("</html>".to_owned());
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.fail("contract.body", 10);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.fail("contract.body", 490);
        let found = finding(judged(&RULE, &evidence));
        let expected = "500 of 10,000 checked responses (5.0 %) did not have the text \"</html>\" in their body (one \
                        response in 17 is checked); goodput is without the 49,500 others expected";
        assert_eq!((found.state, found.message.as_str()), (FindingState::Invalid, expected));
        evidence.plan.requests[0].contract.body_hash = Some(1);
        evidence.fail("contract.hash", 20);
        let message = finding(judged(&RULE, &evidence)).message;
        assert!(message.contains("</html>") && message.contains("20 of 10,000"), "{message}");
        assert!(message.contains("the body that the probe got"), "{message}");
    }

    /// It failed 20 to 100 % of the requests, by timing, with "lower the load until errors stop".
    #[test]
    fn a_body_after_head_is_named() {
        let mut evidence = clean_run();
        evidence.probe.as_mut().expect("a probe").fetches[0].surplus_bytes = 1_024;
        evidence.plan.requests[0].method = "HEAD".to_owned();
        let found = finding(judged(&RULE, &evidence));
        assert_eq!((found.state, found.remedy.as_str()), (FindingState::Invalid, MEASURE_GET));
        assert!(found.message.starts_with("the server sent a body with its response to HEAD (1,024 B or more)"));
        evidence.fail("first_byte.malformed", 200_000);
        evidence.flow.opened = 900_000;
        let verdict = crate::judge_run(&evidence);
        for rule in ["ER-01", "ER-03", "ER-09"] {
            let found = verdict.findings.iter().find(|found| found.rule == rule).expect("it fires");
            let is_first = rule == verdict.findings[0].rule;
            assert_eq!(found.remedy, if is_first { MEASURE_GET } else { "the same as for ER-01" }, "{rule}");
        }
    }

    /// ER-01 said "lower the load until errors stop" of them as well.
    #[test]
    fn bytes_behind_the_end_of_a_response_are_named_by_what_it_was() {
        for (status, message, remedy) in [
            (200, "more than `Content-Length` announces (9 B or more)", "let `Content-Length` be"),
            (204, "a body with status 204 (9 B or more)", "no body with 204"),
            (304, "a body with status 304 (9 B or more)", "no body with 204 and 304"),
        ] {
            let mut evidence = clean_run();
            let fetch = &mut evidence.probe.as_mut().expect("a probe").fetches[0];
            (fetch.status, fetch.surplus_bytes) = (status, 9);
            evidence.fail("body.malformed", 200_000);
            let verdict = crate::judge_run(&evidence);
            let of = |rule: &str| verdict.findings.iter().find(|found| found.rule == rule).expect("it fires");
            assert!(of("ER-03").message.starts_with(&format!("the server sent {message}")), "{:?}", of("ER-03"));
            assert!(of("ER-01").remedy.contains(remedy), "{status}: {:?}", of("ER-01"));
            assert_eq!(of("ER-03").remedy, "the same as for ER-01", "{status}");
        }
    }

    #[test]
    fn silent_up_to_the_threshold_and_unchecked_without_anything_to_check() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.fail("contract.size", 1_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.plan.requests[0].contract.size_bytes = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
