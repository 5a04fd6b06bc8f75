//! ER-01 to ER-09 for outputs of other tools: correctness of the responses.

use super::{AuditRule, Check};
use crate::claim::QUANTILES;
use crate::facts::same_size;
use crate::{Figure, Subject};
use judge::text::list;
use judge::{Fires, Outcome};
use model::FindingState;
use model::human::{count, percent, percent_exact, plural, rate, time};

const WARNING_SHARE: f64 = 0.001;
const INVALID_SHARE: f64 = 0.01;
/// Share of wrong sizes that is not right any more.
const WRONG_SHARE: f64 = 0.001;
/// A maximum this close to the timeout is taken as cut by it.
const MAX_OF_TIMEOUT: f64 = 0.95;
/// Responses may be smaller than expected by rounding of totals only.
const BYTES_SHARE: f64 = 0.98;
/// Share of kept connections that is not what was asked for.
const REUSE_SHARE: f64 = 0.99;
/// Connections, of which each can have one more request, that are worth a word beside so many responses.
const IN_FLIGHT_SHARE: f64 = 0.01;
/// Statuses of limiters, firewalls and bans.
const REFUSALS: [u16; 2] = [403, 429];
/// Parameters of URLs that name the size of the answer.
const SIZE_PARAMETERS: [&str; 3] = ["size=", "bytes=", "length="];

pub(super) const ERRORS: AuditRule = AuditRule {
    id: "ER-01",
    title: None,
    detects: "Failed requests were counted as throughput.",
    fires: &[
        Fires::invalid("More than 1 % of the requests failed, or no request was answered."),
        Fires::warning("More than 0.1 % of the requests failed."),
    ],
    remarks: "",
    data: "responses, bad statuses, socket errors",
    check: Check::Any(errors),
};
pub(super) const REDIRECTS: AuditRule = AuditRule {
    id: "ER-02",
    title: None,
    detects: "Redirects were counted as pages.",
    fires: &[Fires::invalid("At least one response was a redirect.")],
    remarks: "",
    data: "responses by class or status; wrk and siege count redirects as good, ab, k6 and autocannon's tables do not \
           show them",
    check: Check::Output(redirects),
};
pub(super) const BODY: AuditRule = AuditRule {
    id: "ER-03",
    title: None,
    detects: "Bodies differ in size from the declared one or from the first one.",
    fires: &[
        Fires::invalid(
            "A body does not have the size given by --expect-size, or more than 0.1 % of the responses differ in \
             size from the first.",
        ),
        Fires::warning("A body does not have the size that the URL asks for."),
    ],
    remarks: "",
    data: "body size, and --expect-size or a size in the URL; or ab's length failures",
    check: Check::Output(body),
};
pub(super) const CENSORED: AuditRule = AuditRule {
    id: "ER-05",
    title: None,
    detects: "A longer timeout would raise the latencies.",
    fires: &[Fires::bound(
        "A request had no response within the timeout, or the largest latency is within about 5 % of the \
             timeout.",
    )],
    remarks: "Every 2 s wrk2 counts a waiting connection again, so that its timeouts are no number of requests.",
    data: "timeouts, or the largest latency and the timeout",
    check: Check::Output(censored),
};
pub(super) const BYTES: AuditRule = AuditRule {
    id: "ER-06",
    title: None,
    detects: "Fewer bytes were received than the expected bodies need.",
    fires: &[Fires::invalid("A response has, with its headers, less than 98 % of the bytes given by --expect-size.")],
    remarks: "",
    data: "bytes received, --expect-size",
    check: Check::Output(bytes),
};
pub(super) const IN_FLIGHT: AuditRule = AuditRule {
    id: "ER-07",
    title: None,
    detects: "Requests that had no response yet when the time was up are in the server's log and in no count.",
    fires: &[Fires::note(
        "A run was ended by its time, and had a connection, of which each can have one request on its way, for at most \
         100 responses.",
    )],
    remarks: "",
    data: "the time that was asked for, connections, responses",
    check: Check::Output(in_flight),
};
pub(super) const REFUSED: AuditRule = AuditRule {
    id: "ER-08",
    title: None,
    detects: "A rate limiter or a ban responded instead of the application.",
    fires: &[Fires::invalid("At least one response had status 403 or 429.")],
    remarks: "",
    data: "responses by exact status",
    check: Check::Output(refused),
};
pub(super) const REUSE: AuditRule = AuditRule {
    id: "ER-09",
    title: None,
    detects: "Connections were not kept open as requested.",
    fires: &[Fires::invalid("Less than 99 % of the responses kept their connection open.")],
    remarks: "",
    data: "keep-alive requests of `ab -k`",
    check: Check::Output(reuse),
};

fn errors(subject: Subject<'_>) -> Outcome {
    let facts = subject.facts;
    let (attempted, erred) = match (facts.attempted, facts.erred) {
        (Some(0.0), _) => {
            let message = "no request was answered".to_owned();
            let remedy = "check that the server is up and responds to this URL".to_owned();
            return Outcome::fired(ERRORS.id, FindingState::Invalid, message, remedy, [("attempted", 0.0)]);
        }
        (Some(attempted), Some(erred)) => (attempted, erred),
        _ => return Outcome::Unchecked("failures not in the output"),
    };
    let share = erred / attempted;
    let state = match share {
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let of = |figure| subject.claims.get(figure).unwrap_or(0.0);
    let bad_or_broken = match subject.claims.tool {
        // They check more than the status.
        "gatling" | "jmeter" | "k6" => "that failed a check or had no response",
        _ => "with a bad status or without a response",
    };
    // Its rate of failures counts those without an answer too.
    let bad_status =
        if subject.claims.tool == "k6" { "with a bad status or without a response" } else { "with a bad status" };
    let parts = [
        (of(Figure::BadStatus), bad_status),
        (of(Figure::Broken), "without a response"),
        (of(Figure::BadOrBroken), bad_or_broken),
    ];
    let parts: Vec<_> =
        parts.iter().filter(|(n, _)| *n > 0.0).map(|(n, what)| format!("{} {what}", count(*n as u64))).collect();
    // Answers with a bad status have a latency in every tool; requests without an answer in few.
    let include = if of(Figure::BadStatus) > 0.0 { ", and latencies include failures" } else { "" };
    let rest = facts.goodput_per_s.map_or_else(String::new, |goodput| format!("; goodput {}{include}", rate(goodput)));
    let message = format!(
        "{} of {} requests failed ({}): {}{rest}",
        count(erred as u64),
        count(attempted as u64),
        percent_exact(share),
        list(&parts)
    );
    let remedy = remedy_of(subject);
    let figures = [("failed", erred), ("attempted", attempted), ("share", share)];
    Outcome::fired(ERRORS.id, state, message, remedy, figures)
}

/// What helps against the errors that the tool names.
fn remedy_of(subject: Subject<'_>) -> String {
    let named: Vec<&str> = subject.claims.reasons.iter().map(|reason| reason.remedy()).collect();
    let responses = subject.claims.get(Figure::Responses);
    match named.as_slice() {
        // No load is low enough for a port at which nobody listens.
        [] if responses == Some(0.0) => "check that the server is up, and speaks this protocol at this port".to_owned(),
        [] => "read the server's error log, and lower the load until errors stop".to_owned(),
        several => several.join("; "),
    }
}

fn redirects(subject: Subject<'_>) -> Outcome {
    let Some(n) = subject.claims.get(Figure::Redirects) else {
        return Outcome::Unchecked("the tool does not distinguish redirects from pages");
    };
    if n == 0.0 {
        return Outcome::Pass;
    }
    let all = subject.claims.get(Figure::Responses).unwrap_or(n);
    let message = format!(
        "{} of {} responses were redirects: {}no page was measured",
        count(n as u64),
        count(all as u64),
        if n < all { "for these, " } else { "" }
    );
    let remedy = "measure the redirect's target, with the right Host header".to_owned();
    Outcome::fired(REDIRECTS.id, FindingState::Invalid, message, remedy, [("redirects", n), ("responses", all)])
}

fn body(subject: Subject<'_>) -> Outcome {
    let wrong = subject.claims.get(Figure::WrongSize);
    let all = subject.claims.get(Figure::Responses).unwrap_or(0.0);
    let declared = subject.context.expect_size_bytes;
    let expected = declared.or_else(|| subject.claims.url.as_deref().and_then(size_in));
    let held = subject.facts.body_bytes.zip(expected);
    let remedy = "fetch the URL once and inspect the response".to_owned();
    if let Some((body, expected)) = held.filter(|(body, expected)| !same_size(*body, *expected)) {
        let whose = if declared.is_some() { "not the declared" } else { "and the URL asks for" };
        let message = format!("a body has {} bytes, {whose} {}", count(body as u64), count(expected));
        // What a parameter means is up to the server.
        let state = if declared.is_some() { FindingState::Invalid } else { FindingState::Warning };
        let figures = [("body_bytes", body), ("expected_bytes", expected as f64)];
        return Outcome::fired(BODY.id, state, message, remedy, figures);
    }
    match wrong {
        Some(wrong) if wrong > WRONG_SHARE * all => {
            let message = format!(
                "{} of {} responses differed in size from the first: the page varies (a token, a date), or some were errors",
                count(wrong as u64),
                count(all as u64)
            );
            let remedy = match subject.claims.tool {
                "ab" => {
                    "fetch the page twice: where it varies by itself use ab -l; otherwise see what differs".to_owned()
                }
                _ => "fetch the page twice, and see in what the responses differ".to_owned(),
            };
            Outcome::fired(BODY.id, FindingState::Invalid, message, remedy, [("wrong_size", wrong), ("responses", all)])
        }
        None if held.is_none() => Outcome::Unchecked("no body size, or nothing to compare it with (--expect-size)"),
        _ => Outcome::Pass,
    }
}

/// The size that a URL names.
fn size_in(url: &str) -> Option<u64> {
    let (_, query) = url.split_once('?')?;
    query.split('&').find_map(|part| SIZE_PARAMETERS.iter().find_map(|name| part.strip_prefix(name)?.parse().ok()))
}

fn censored(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    let max = claims.get(Figure::LatencyMax);
    let timeouts = claims.get(Figure::Timeouts);
    let timeout = claims.get(Figure::Timeout);
    if timeouts.is_none() && max.zip(timeout).is_none() {
        return Outcome::Unchecked("neither timeouts nor a maximum latency in the output");
    }
    let n = timeouts.unwrap_or(0.0);
    // Far above it another one was in force.
    let close = max
        .zip(timeout.filter(|ns| *ns > 0.0))
        .is_some_and(|(max, timeout)| (MAX_OF_TIMEOUT * timeout..=timeout / MAX_OF_TIMEOUT).contains(&max));
    if n == 0.0 && !close {
        return Outcome::Pass;
    }
    if claims.tool == "wrk2" && n > 0.0 {
        return every_two_seconds(n, subject);
    }
    let share = n / subject.facts.attempted.unwrap_or(n).max(1.0);
    let mut cut: Vec<_> = QUANTILES
        .iter()
        .filter(|(_, q, ..)| n > 0.0 && share >= 1.0 - q)
        .filter_map(|(figure, _, name, key)| {
            Some(((*name).to_owned(), format!("{key}_at_least_ns"), claims.get(*figure)?))
        })
        .collect();
    cut.extend(max.map(|max| ("max".to_owned(), "max_at_least_ns".to_owned(), max)));
    let names: Vec<_> = cut.iter().map(|(name, ..)| name.clone()).collect();
    let after = timeout.map_or_else(String::new, |ns| format!(" in {}", time(ns)));
    let why = if n > 0.0 {
        format!("{} ({}) had no answer{after}", plural(n as u64, "request"), percent(share))
    } else {
        format!("the slowest response came just before the timeout ({})", after.trim_start_matches(" in "))
    };
    let bounds = match names.as_slice() {
        [] => "the latencies exclude them".to_owned(),
        [one] => format!("{one} is a lower bound"),
        several => format!("{} are lower bounds", list(several)),
    };
    let mut figures = vec![("censored".to_owned(), n), ("share".to_owned(), share)];
    figures.extend(cut.into_iter().map(|(_, key, ns)| (key, ns)));
    let remedy = "raise the timeout, or lower the load".to_owned();
    let figures = figures.iter().map(|(key, value)| (key.as_str(), *value));
    Outcome::fired(CENSORED.id, FindingState::Bound, format!("{why}: {bounds}"), remedy, figures)
}

/// wrk2 counts a timeout for each connection that has waited, and counts it again every 2 s: no number of requests.
fn every_two_seconds(n: f64, subject: Subject<'_>) -> Outcome {
    let message = format!(
        "wrk2 counted {}: it counts each waiting connection again every 2 s, so this is no number of requests; the \
         quantiles exclude what had no answer",
        plural(n as u64, "timeout")
    );
    let remedy = "lower the rate until there are none".to_owned();
    let max = subject.claims.get(Figure::LatencyMax).map(|ns| ("max_at_least_ns", ns));
    let figures = [("timeouts", n)].into_iter().chain(max);
    Outcome::fired(CENSORED.id, FindingState::Bound, message, remedy, figures)
}

fn bytes(subject: Subject<'_>) -> Outcome {
    let received = subject.claims.get(Figure::ResponseBytes);
    let Some((received, expected)) = received.zip(subject.context.expect_size_bytes) else {
        return Outcome::Unchecked("no bytes received, or no --expect-size");
    };
    if received >= BYTES_SHARE * expected as f64 {
        return Outcome::Pass;
    }
    let message = format!(
        "{} bytes per response, headers included: less than the expected body of {}",
        count(received as u64),
        count(expected)
    );
    let remedy = "check for error pages or compression".to_owned();
    let figures = [("response_bytes", received), ("expected_bytes", expected as f64)];
    Outcome::fired(BYTES.id, FindingState::Invalid, message, remedy, figures)
}

fn in_flight(subject: Subject<'_>) -> Outcome {
    let get = |figure| subject.claims.get(figure);
    if get(Figure::DurationAsked).is_none() {
        return match get(Figure::Planned) {
            Some(_) => Outcome::Pass,
            None => Outcome::Unchecked("neither a time nor a number of requests that was asked for"),
        };
    }
    let Some((connections, responses)) = get(Figure::Connections).zip(get(Figure::Responses)) else {
        return Outcome::Unchecked("no connections or responses in the output");
    };
    if connections < IN_FLIGHT_SHARE * responses || responses == 0.0 {
        return Outcome::Pass;
    }
    let message = format!(
        "up to {} were on their way when the time was up: the server's log can have so many more than the {} that were \
         counted",
        plural(connections as u64, "request"),
        count(responses as u64)
    );
    let remedy = "measure for longer, so that they do not matter".to_owned();
    let figures = [("in_flight_max", connections), ("responses", responses)];
    Outcome::fired(IN_FLIGHT.id, FindingState::Note, message, remedy, figures)
}

fn refused(subject: Subject<'_>) -> Outcome {
    if subject.claims.status.is_empty() {
        return Outcome::Unchecked("no exact statuses in the output");
    }
    let refused: Vec<_> =
        REFUSALS.iter().filter_map(|status| Some((*status, *subject.claims.status.get(status)?))).collect();
    let n: u64 = refused.iter().map(|(_, n)| n).sum();
    if n == 0 {
        return Outcome::Pass;
    }
    let named: Vec<_> = refused.iter().map(|(status, n)| format!("{} times {status}", count(*n))).collect();
    let message = format!("{}: a rate limiter or a ban was measured", list(&named));
    let remedy = "exempt this client from the limiter, or stay below it".to_owned();
    Outcome::fired(REFUSED.id, FindingState::Invalid, message, remedy, [("refused", n as f64)])
}

fn reuse(subject: Subject<'_>) -> Outcome {
    let kept = subject.claims.get(Figure::KeptAlive).zip(subject.claims.get(Figure::Responses));
    let Some((kept, all)) = kept else {
        return Outcome::Unchecked("connection reuse not in the output");
    };
    if kept >= REUSE_SHARE * all {
        return Outcome::Pass;
    }
    let message = format!(
        "only {} of {} requests kept their connection open as requested",
        count(kept as u64),
        count(all as u64)
    );
    let remedy = "use an HTTP/1.1 client: ab speaks HTTP/1.0, kept open only for responses of known length".to_owned();
    Outcome::fired(REUSE.id, FindingState::Invalid, message, remedy, [("kept_alive", kept), ("responses", all)])
}
