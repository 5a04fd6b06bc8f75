//! Outputs that people have shown in public threads and reports, names and addresses replaced, each with the answer that the
//! thread or arithmetic gave.

use crate::support::{message, state};
use audit::{Audited, Context, Figure, audit};
use model::FindingState::{self, Bound, Invalid, Note, Warning};
use std::path::Path;

/// File; rule, its state, and words of its finding that are the answer.
type Answer = (&'static str, &'static str, FindingState, &'static str);

const ANSWERS: [Answer; 29] = [
    ("ab-page-with-token.txt", "ER-03", Invalid, "the page varies"),
    ("autocannon-1-all-errors.txt", "ER-01", Invalid, "211,216 of 211,216 requests failed"),
    ("bombardier-hundred-requests.txt", "LD-04", Invalid, "100 requests are too few for"),
    ("gatling-rate-limiter.txt", "ER-01", Invalid, "5,000 of 14,924 requests failed"),
    ("gatling-rate-limiter.txt", "ER-08", Invalid, "4,962 times 403: a rate limiter"),
    (
        "fortio-one-connection.txt",
        "CL-05",
        Invalid,
        "1 connection with a response time of 103 ms can do 9.69/s at most",
    ),
    ("h2load-one-connection-ended.txt", "CL-14", Invalid, "requests were never sent (86 %)"),
    ("h2load-without-timeouts.txt", "ER-01", Invalid, "4,781,812 of 10,000,000 requests failed"),
    ("hey-closed-idle.txt", "ER-01", Invalid, "250 of 500 requests failed"),
    ("hey-million.txt", "PH-08", Warning, "hey keeps 1,000,000 results at most"),
    ("k6-commented.txt", "CL-14", Invalid, "29,079 iterations were due but never started (48 %)"),
    ("k6-half-dropped.txt", "CL-14", Invalid, "never started (56 %)"),
    ("k6-one-sample.ndjson", "LD-04", Invalid, "1 request is too few for any figure"),
    ("loadtest-all-gateway-errors.json", "ER-01", Invalid, "2,000 of 2,000 requests failed"),
    ("loadtest-time-is-up.txt", "ER-07", Note, "up to 150 requests were on their way when the time was up"),
    ("loadtest-time-is-up.txt", "LD-04", Bound, "6.41 s"),
    ("locust-table-alone.txt", "LD-03", Note, "closed loop"),
    (
        "nighthawk-throttled.txt",
        "CL-05",
        Invalid,
        "10,338/s of the offered 1,000,000/s was reached: on average 0.9 of 64",
    ),
    ("table-against-little.md", "PH-01", Invalid, "512 connections at 148,906/s have a mean response time of 3.44 ms"),
    ("table-against-little.md", "SA-01", Bound, "falls from 172,187/s on"),
    ("vegeta-another-duration.txt", "CL-05", Bound, "only 1,167/s of the offered 2,000/s"),
    ("vegeta-another-duration.txt", "RP-07", Invalid, "-duration asks for 4 min 0 s, and the output has 12 min"),
    ("wrk-clock-backwards.txt", "PH-08", Invalid, "the clock of wrk is wrong"),
    ("wrk-lost-connections.txt", "PH-01", Invalid, "5,956 requests in flight on 10,000 connections"),
    ("wrk-pipelining.txt", "PH-01", Warning, "of such a batch"),
    ("wrk-pipelining.txt", "CL-06", Note, "255 of 256"),
    ("wrk2-fork-rate-of-one.txt", "CL-05", Invalid, "21,317/s was reached where 1.00/s was asked for"),
    ("wrk2-overloaded.txt", "ST-02", Invalid, "the mean latency is 20.0 s in a run of 30.0 s"),
    ("wrk2-overloaded.txt", "ER-05", Bound, "again every 2 s"),
];

fn read(file: &str) -> Audited {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/public").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    audit(file, &bytes, &Context::default()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn the_answer_of_an_expert_is_among_the_findings() {
    for (file, rule, expected, words) in ANSWERS {
        let verdict = read(file).record.verdict;
        assert_eq!(state(&verdict, rule), Some(expected), "{file}: {rule}: {verdict:#?}");
        let said = message(&verdict, rule);
        assert!(said.contains(words), "{file}: {rule}: {said}");
    }
}

#[test]
fn numbers_that_can_be_trusted_are_told_and_others_are_not() {
    let goodput = |file: &str| read(file).record.goodput_per_s.map(|goodput| goodput.value.round());
    assert_eq!(goodput("hey-million.txt"), Some(139_688.0), "the printed rate");
    assert_eq!(goodput("wrk-clock-backwards.txt"), None);
    assert_eq!(goodput("wrk2-short-run-clock.txt"), None);
    assert_eq!(goodput("ab-page-with-token.txt"), None, "whether a page of another length is good nobody knows");
}

#[test]
fn what_was_asked_for_is_known_from_the_command_alone() {
    let short = read("wrk2-short-run-clock.txt");
    assert_eq!(short.record.tool, "wrk2", "a rate is its flag, and below 10 s it prints no calibration");
    assert_eq!(short.claims.get(Figure::RateOffered), Some(10_000_000.0));
    assert_eq!(state(&short.record.verdict, "PH-01"), None, "with a wrong clock nothing follows from the rate");
    let fork = read("wrk2-fork-rate-of-one.txt").claims;
    assert_eq!((fork.get(Figure::LatencyMax), fork.get(Figure::LatencyP99)), (None, Some(99e9)), "its column is 99 %");
}

/// What was on its way when the time was up is in no count, and no failure.
#[test]
fn outputs_without_a_contradiction_are_not_taken_for_wrong() {
    for (file, responses, highest) in
        [("loadtest-time-is-up.txt", 359.0, Bound), ("locust-table-alone.txt", 9_399.0, Warning)]
    {
        let audited = read(file);
        assert_eq!(audited.claims.get(Figure::Responses), Some(responses), "{file}");
        assert_eq!(audited.record.failed_share, Some(0.0), "{file}");
        let worst = audited.record.verdict.findings.iter().map(|finding| finding.state).max();
        assert_eq!(worst, Some(highest), "{file}: {:#?}", audited.record.verdict);
        assert_eq!(audited.record.unread_lines, 0, "{file}");
    }
}

#[test]
fn statuses_are_known_as_far_as_the_tool_names_them() {
    let status = |file: &str| read(file).record.status;
    assert_eq!(status("gatling-rate-limiter.txt"), [(403, 4_962), (404, 38)].into());
    assert_eq!(status("loadtest-all-gateway-errors.json"), [(503, 516), (504, 1_484)].into());
}

#[test]
fn remedies_fit_the_errors_that_the_tool_names() {
    let remedy = |file: &str, rule: &str| {
        let verdict = read(file).record.verdict;
        verdict.findings.iter().find(|finding| finding.rule == rule).map(|finding| finding.remedy.clone()).unwrap()
    };
    assert!(remedy("hey-closed-idle.txt", "ER-01").contains("keep-alive time"));
    assert!(remedy("ab-page-with-token.txt", "ER-03").contains("ab -l"));
    assert!(remedy("wrk-clock-backwards.txt", "PH-08").contains("599/s"));
}
