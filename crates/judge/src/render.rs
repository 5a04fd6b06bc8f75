//! Rules of a page render: they look at loads of a browser, which are no load of a server.

use crate::comparison::{FEW_UNITS, few_blocks};
use crate::{Fires, Outcome, verdict};
use model::human::{count, plural};
use model::{FindingState, PageFailureKind, PageLoad, Verdict};
use stats::RUNS_MIN;

/// What is claimed of a page render.
#[derive(Clone, Copy, Debug)]
pub struct RenderClaim<'a> {
    /// All loads.
    pub loads: &'a [PageLoad],
    /// Blocks that are complete.
    pub blocks: u64,
    /// True if a server of the pages runs on this machine.
    pub is_server_here: bool,
}

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct RenderRule {
    /// Id in the catalogue, such as `RE-02`.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What it detects, in a sentence.
    pub detects: &'static str,
    /// Each state that it can reach, the worst first, with when it does.
    pub fires: &'static [Fires],
    /// What has to be known to understand these, in sentences; empty if there is nothing.
    pub remarks: &'static str,
    /// The data it needs.
    pub data: &'static str,
    check: fn(&RenderClaim<'_>) -> Outcome,
}

static RULES: [RenderRule; 7] = [
    RenderRule {
        id: "RE-01",
        title: "page not loaded",
        detects: "The document could not be fetched; or the page had no load event in its time, was too large to be \
                  followed, was a download, or crashed.",
        fires: &[Fires::invalid("At least one load failed in one of these ways.")],
        remarks: "",
        data: "loads of the browser",
        check: not_loaded,
    },
    RenderRule {
        id: "RE-02",
        title: "error page",
        detects: "The document had an HTTP status of 400 or more, so that an error page was rendered.",
        fires: &[Fires::invalid("At least one load got a status of 400 or more.")],
        remarks: "",
        data: "loads of the browser",
        check: error_page,
    },
    RenderRule {
        id: "RE-03",
        title: "another page than the URL",
        detects: "Loads were redirected, or the page went to another URL by itself.",
        fires: &[
            Fires::invalid(
                "At least one load was redirected to another host, or its page went to another URL by itself.",
            ),
            Fires::warning("At least one load was redirected on the same host."),
        ],
        remarks: "",
        data: "loads of the browser",
        check: redirected,
    },
    RenderRule {
        id: "RE-04",
        title: "blank page",
        detects: "No text and no image was painted.",
        fires: &[Fires::invalid("At least one load of the page stayed blank.")],
        remarks: "",
        data: "loads of the browser",
        check: blank,
    },
    RenderRule {
        id: "RE-05",
        title: "parts of the page failed",
        detects: "Requests of the page, other than that of the document, failed or had an HTTP status of 400 or \
                  more.",
        fires: &[Fires::warning("At least one request of the page failed.")],
        remarks: "",
        data: "loads of the browser",
        check: parts_failed,
    },
    RenderRule {
        id: "RE-06",
        title: "page still loading",
        detects: "The page still fetched something 5 s after its load event, so that bytes and requests are those \
                  until then.",
        fires: &[Fires::note("At least one load of the page did not settle.")],
        remarks: "",
        data: "loads of the browser",
        check: unsettled,
    },
    RenderRule {
        id: "RE-07",
        title: "browser beside the server",
        detects: "A server on the machine of the browser took CPU time from it while it rendered.",
        fires: &[Fires::note("A server of the pages runs on this machine.")],
        remarks: "",
        data: "addresses of the URLs",
        check: colocated,
    },
];

/// All rules that look at page renders alone.
#[must_use]
pub fn render_rules() -> &'static [RenderRule] {
    &RULES
}

/// Judges a page render.
#[must_use]
pub fn judge_render(claim: &RenderClaim<'_>) -> Verdict {
    let own = RULES.iter().map(|rule| (rule.id, (rule.check)(claim)));
    verdict(
        own.chain([(FEW_UNITS, few_blocks(claim.blocks, &format!("measure at least {RUNS_MIN} blocks (--blocks)")))]),
    )
}

fn not_loaded(claim: &RenderClaim<'_>) -> Outcome {
    use PageFailureKind::{Browser, Network, NotAPage, TimedOut, TooLarge};
    let remedy = "look at the URL in a browser; --timeout gives a slow page more time";
    failed(claim, "RE-01", &[Network, TimedOut, NotAPage, TooLarge, Browser], remedy)
}

fn error_page(claim: &RenderClaim<'_>) -> Outcome {
    failed(claim, "RE-02", &[PageFailureKind::Status], "name a URL that answers with the page that is meant")
}

fn blank(claim: &RenderClaim<'_>) -> Outcome {
    failed(
        claim,
        "RE-04",
        &[PageFailureKind::Blank],
        "look at the URL in a browser: it has nothing to show, or takes too long",
    )
}

fn redirected(claim: &RenderClaim<'_>) -> Outcome {
    let kinds = [PageFailureKind::OtherHost, PageFailureKind::LeftPage];
    let elsewhere = failed(claim, "RE-03", &kinds, "measure the URL that the page ends at");
    let redirected = claim.loads.iter().filter(|load| load.redirects > 0).count();
    if elsewhere != Outcome::Pass || redirected == 0 {
        return elsewhere;
    }
    let to = claim
        .loads
        .iter()
        .find(|load| load.redirects > 0)
        .and_then(|load| load.url.as_deref())
        .unwrap_or("another URL");
    let message = format!("redirected to {to} in {}: all times hold the redirect", share(redirected, claim));
    let remedy = format!("measure {to}, unless the redirect is meant");
    Outcome::fired("RE-03", FindingState::Warning, message, remedy, [("loads", redirected as f64)])
}

fn parts_failed(claim: &RenderClaim<'_>) -> Outcome {
    let loads = claim.loads.iter().filter(|load| load.failed_requests > 0).count();
    let requests: u64 = claim.loads.iter().map(|load| load.failed_requests).sum();
    if loads == 0 {
        return Outcome::Pass;
    }
    let message = format!(
        "{} of the page failed in {}: what is missing takes no time",
        plural(requests, "request"),
        share(loads, claim)
    );
    let remedy = "look at the page with the network panel of a browser, and mend what it asks for".to_owned();
    let figures = [("loads", loads as f64), ("requests", requests as f64)];
    Outcome::fired("RE-05", FindingState::Warning, message, remedy, figures)
}

fn unsettled(claim: &RenderClaim<'_>) -> Outcome {
    let loads = claim.loads.iter().filter(|load| load.failure.is_none() && !load.is_settled).count();
    if loads == 0 {
        return Outcome::Pass;
    }
    let message = format!(
        "the page still fetched 5 s after its load event in {}: what came later is not counted",
        share(loads, claim)
    );
    let remedy = "compare bytes and requests with care".to_owned();
    Outcome::fired("RE-06", FindingState::Note, message, remedy, [("loads", loads as f64)])
}

fn colocated(claim: &RenderClaim<'_>) -> Outcome {
    if !claim.is_server_here {
        return Outcome::Pass;
    }
    let message = "the browser takes CPU time on the machine of the server: both are slower than apart, and the network is loopback";
    let remedy = "run plimsoll render on another machine for times that visitors see".to_owned();
    Outcome::fired("RE-07", FindingState::Note, message.to_owned(), remedy, [])
}

/// Loads that failed for one of these reasons, with the words of the first.
fn failed(claim: &RenderClaim<'_>, rule: &str, kinds: &[PageFailureKind], remedy: &str) -> Outcome {
    let failures = claim.loads.iter().filter_map(|load| Some((load, load.failure.as_ref()?)));
    let mut of_kind = failures.filter(|(_, failure)| kinds.contains(&failure.kind)).peekable();
    let Some((load, failure)) = of_kind.peek().copied() else { return Outcome::Pass };
    let loads = of_kind.count();
    let which =
        if claim.loads.iter().any(|load| load.arm > 0) { format!("page {}: ", load.arm + 1) } else { String::new() };
    let message = format!("{which}{} in {}", failure.message, share(loads, claim));
    Outcome::fired(rule, FindingState::Invalid, message, remedy.to_owned(), [("loads", loads as f64)])
}

fn share(loads: usize, claim: &RenderClaim<'_>) -> String {
    format!("{} of {}", count(loads as u64), plural(claim.loads.len() as u64, "load"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{can_say, clean_page, fail_page, page_fault};
    use model::VerdictState;

    fn judged(loads: &[PageLoad]) -> Verdict {
        judge_render(&RenderClaim { loads, blocks: 10, is_server_here: false })
    }

    #[test]
    fn loads_without_fault_are_valid() {
        let verdict = judged(&[clean_page(), clean_page()]);
        assert_eq!((verdict.state, verdict.findings.len()), (VerdictState::Valid, 0), "{verdict:#?}");
        let few = judge_render(&RenderClaim { loads: &[clean_page()], blocks: 5, is_server_here: false });
        assert_eq!(
            (few.findings[0].rule.as_str(), few.findings[0].remedy.as_str()),
            ("ST-06", "measure at least 6 blocks (--blocks)")
        );
    }

    #[test]
    fn each_rule_finds_its_fault_and_no_other_does() {
        for rule in render_rules() {
            let load = page_fault(rule.id).unwrap_or_else(|| panic!("no fault was made up for {}", rule.id));
            let verdict = judge_render(&RenderClaim {
                loads: &[clean_page(), load],
                blocks: 10,
                is_server_here: rule.id == "RE-07",
            });
            assert_eq!(verdict.findings.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>(), [rule.id]);
            assert!(can_say(rule.fires, verdict.findings[0].state), "{verdict:#?}");
        }
    }

    #[test]
    fn one_failed_load_is_enough_and_is_told_with_its_page() {
        let mut load = clean_page();
        load.arm = 1;
        fail_page(&mut load, PageFailureKind::Status, "the document has HTTP status 503");
        let verdict = judged(&[clean_page(), load]);
        assert_eq!(verdict.state, VerdictState::Invalid);
        assert_eq!(verdict.findings[0].message, "page 2: the document has HTTP status 503 in 1 of 2 loads");
    }

    #[test]
    fn a_redirect_on_the_host_is_a_warning() {
        let mut load = clean_page();
        load.redirects = 1;
        let verdict = judged(&[load]);
        assert_eq!((verdict.state, verdict.findings[0].state), (VerdictState::Valid, FindingState::Warning));
        assert!(verdict.findings[0].message.contains("https://shop.example/"), "{verdict:#?}");
    }
}
