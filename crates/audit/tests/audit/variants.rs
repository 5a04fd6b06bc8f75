//! What other versions and flags of the tools print, as edits of the fixtures.

use crate::support::{bytes, message, plain, state};
use audit::{Audited, Context, Figure, audit, audit_all};
use model::FindingState;

/// A fixture with each of `edits` made wherever it fits.
#[track_caller]
fn edited(name: &str, edits: &[(&str, &str)]) -> Audited {
    let text = edits.iter().fold(String::from_utf8(bytes(name)).unwrap(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in {name}");
        text.replace(from, to)
    });
    typed("", &text)
}

/// `text` below the command line that printed it.
#[track_caller]
fn typed(command: &str, text: &str) -> Audited {
    audit("output", format!("{command}\n{text}").as_bytes(), &Context::default())
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// k6 before 1.0 marks metrics that have a threshold.
#[test]
fn marks_of_thresholds_of_k6_hide_no_figure() {
    let marks = [
        ("     http_req_", "   ✗ http_req_"),
        ("     http_reqs", "   ✓ http_reqs"),
        ("✓ 33        ✗ 6562", "✓ 5000 ✗ 1595"),
    ];
    let Audited { claims, record, .. } = edited("k6.txt", &marks);
    assert_eq!(claims.get(Figure::BadStatus), Some(5_000.0));
    assert_eq!(claims.get(Figure::LatencyMean), plain("k6.txt").claims.get(Figure::LatencyMean));
    assert_eq!(state(&record.verdict, "ER-01"), Some(FindingState::Invalid));
    assert_eq!(record.unread_lines, 0);
}

/// With `h2load -D` all requests are those that ended.
#[test]
fn requests_in_flight_at_the_end_of_h2load_are_no_failures() {
    let started = [("5000 total, 5000 started", "5000 total, 5576 started")];
    let Audited { claims, record, .. } = edited("h2load-new.txt", &started);
    assert_eq!([Figure::Broken, Figure::Dropped].map(|figure| claims.get(figure)), [Some(0.0); 2]);
    assert_eq!(state(&record.verdict, "ER-01"), None);
}

#[test]
fn a_rate_of_wrk2_may_have_a_unit() {
    let verdict = edited("wrk2.txt", &[("-R2000", "-R10k")]).record.verdict;
    assert_eq!(state(&verdict, "CL-05"), Some(FindingState::Invalid), "a fifth of it was reached");
    assert!(message(&verdict, "CL-05").contains("10,000/s"), "{verdict:#?}");
    let nearly = edited("wrk2.txt", &[("-R2000", "-R2.5k")]).record.verdict;
    assert_eq!(state(&nearly, "CL-05"), Some(FindingState::Bound));
}

#[test]
fn a_maximum_is_cut_by_the_timeout_that_was_in_force_alone() {
    let censored = |audited: Audited| state(&audited.record.verdict, "ER-05");
    let text = String::from_utf8(bytes("wrk.txt")).unwrap();
    for (command, max, expected) in [
        ("", "1.96s", Some(FindingState::Bound)),
        ("", "20.83s", None),
        ("$ wrk -t4 -c1000 -d30s -T30s http://h/", "1.96s", None),
        ("$ wrk -t4 -c1000 -d30s -T30s http://h/", "29.90s", Some(FindingState::Bound)),
        ("$ wrk -t4 -c1000 -d30s --timeout 30s http://h/", "29.90s", Some(FindingState::Bound)),
    ] {
        assert_eq!(censored(typed(command, &text.replace("40.22ms", max))), expected, "{command:?} {max}");
    }
    // Latencies of wrk2 count from the time due: 2 s are as good as any other.
    let late = [("12.34ms", "1.96s"), ("12.335", "1960.0"), ("12.334", "1960.0")];
    assert_eq!(censored(edited("wrk2.txt", &late)), None);
    let one = edited("wrk.txt", &[("read\n", "read\n  Socket errors: connect 0, read 0, write 0, timeout 1\n")])
        .record
        .verdict;
    assert!(message(&one, "ER-05").starts_with("1 request ("), "{one:#?}");
}

/// Their outputs do not tell of `-r`.
#[test]
fn connections_that_a_rate_limit_leaves_idle_break_no_law() {
    let text = String::from_utf8(bytes("bombardier.txt")).unwrap().replace("12345.67", "1000.00");
    let judged = |command: &str| {
        let verdict = typed(command, &text).record.verdict;
        (state(&verdict, "PH-01").is_some(), verdict.unchecked.contains(&"PH-01".to_owned()))
    };
    assert_eq!(judged("$ bombardier -r 1000 -c 125 http://127.0.0.1:8080/"), (false, true));
    assert_eq!(judged(""), (false, true));
    assert_eq!(judged("$ bombardier -c 125 http://127.0.0.1:8080/"), (true, false));
}

#[test]
fn percentiles_of_hey_may_have_two_signs() {
    let doubled = edited("hey.txt", &[("% in ", "%% in ")]).claims;
    let quantiles = [Figure::LatencyP50, Figure::LatencyP90, Figure::LatencyP99].map(|figure| doubled.get(figure));
    assert_eq!(quantiles, [Some(400_000.0), Some(2_200_000.0), Some(17_300_000.0)]);
}

/// hey, plow and cassowary head their figures alike.
#[test]
fn outputs_that_begin_alike_are_told_apart_in_one_file() {
    let names = ["hey.txt", "plow-1.4-errors.txt", "cassowary-0.19-errors.txt", "plow-1.4-good.txt", "hey-errors.txt"];
    let file: Vec<u8> = names.iter().flat_map(|name| [bytes(name), b"\n".to_vec()].concat()).collect();
    let parts = audit_all("log", file.as_slice(), &Context::default()).expect("it is read");
    let found: Vec<(String, f64)> = parts
        .into_iter()
        .map(|part| part.audited.expect("each is read").record)
        .map(|record| (record.tool.clone(), record.throughput_per_s.unwrap_or(0.0).round()))
        .collect();
    let expected = [("hey", 8515.0), ("plow", 1973.0), ("cassowary", 1975.0), ("plow", 1995.0), ("hey", 5117.0)];
    assert_eq!(found, expected.map(|(tool, rate)| (tool.to_owned(), rate)));
}
