//! Outputs of strangers that were once read or judged wrongly, though nothing was wrong with them; and some that were taken for
//! better than they are.

use crate::support::{message, state};
use audit::{Audited, Context, Figure, Part, audit_all};
use model::FindingState::{Bound, Invalid};
use std::path::Path;

fn parts(file: &str) -> Vec<Part> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/strangers").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    audit_all("log", bytes.as_slice(), &Context::default()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn each(file: &str) -> Vec<Audited> {
    parts(file).into_iter().map(|part| part.audited.unwrap_or_else(|error| panic!("{file}: {error}"))).collect()
}

fn only(file: &str) -> Audited {
    let mut all = each(file);
    assert_eq!(all.len(), 1, "{file}");
    all.remove(0)
}

#[test]
fn each_output_has_its_own_command_and_its_own_heading() {
    for (file, requests, connections) in [
        ("bombardier-twice.txt", [200.0, 10_235.0], [2.0, 8.0]),
        ("siege-twice.txt", [20.0, 9_245.0], [2.0, 8.0]),
        ("siege-text-twice.txt", [2_000.0, 6_200.0], [10.0, 50.0]),
    ] {
        let all = each(file);
        let of = |figure| all.iter().map(|one| one.claims.get(figure).unwrap_or(-1.0)).collect::<Vec<_>>();
        assert_eq!(of(Figure::Responses), requests, "{file}");
        assert_eq!(of(Figure::Connections), connections, "{file}");
        for one in &all {
            assert_eq!(state(&one.record.verdict, "RP-07"), None, "{file}: {:#?}", one.record.verdict);
            assert_eq!(state(&one.record.verdict, "PH-08"), None, "{file}: {:#?}", one.record.verdict);
        }
    }
    let names: Vec<String> = parts("siege-twice.txt").into_iter().map(|part| part.source).collect();
    assert_eq!(names, ["log:3", "log:18"]);
}

#[test]
fn a_command_that_did_what_it_says_is_no_contradiction() {
    for file in [
        "vegeta-few-requests.txt",
        "siege-minutes.txt",
        "ab-time-behind-number.txt",
        "ab-number-behind-time.txt",
        "autocannon-rate.txt",
    ] {
        let verdict = only(file).record.verdict;
        assert_eq!(["RP-07", "PH-08"].map(|rule| state(&verdict, rule)), [None, None], "{file}: {verdict:#?}");
    }
    for one in each("loadtest-rate.txt") {
        assert_eq!(state(&one.record.verdict, "RP-07"), None, "{:#?}", one.record.verdict);
    }
}

#[test]
fn requests_on_their_way_have_not_failed() {
    for (file, failed) in [("autocannon-on-their-way.txt", Some(0.0)), ("autocannon-rate.txt", Some(0.0))] {
        assert_eq!(only(file).record.failed_share, failed, "{file}");
    }
}

#[test]
fn a_server_that_is_slow_has_no_queue_and_a_queue_may_be_short_for_its_run() {
    assert_eq!(state(&only("vegeta-slow-server.txt").record.verdict, "ST-02"), None);
    assert_eq!(state(&only("wrk2-queue.txt").record.verdict, "ST-02"), Some(Invalid));
}

#[test]
fn iterations_that_never_started_are_a_share_of_iterations() {
    let verdict = only("k6-many-requests-each.txt").record.verdict;
    assert_eq!(state(&verdict, "CL-14"), Some(Invalid));
    assert!(message(&verdict, "CL-14").contains("(45 %)"), "{verdict:#?}");
}

#[test]
fn what_ab_gave_up_is_told_in_its_words_with_a_remedy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/strangers/ab-refused.txt");
    let error = audit_all("-", std::fs::read(path).unwrap().as_slice(), &Context::default()).unwrap_err().to_string();
    assert!(error.contains("of ab, which gave no result: apr_socket_recv: Connection refused (111)"), "{error}");
    assert!(error.contains("see that the server listens"), "{error}");
}

#[test]
fn latencies_have_no_failures_where_nothing_was_answered() {
    let verdict = only("hey-timeouts.txt").record.verdict;
    assert!(!message(&verdict, "ER-01").contains("latencies include failures"), "{verdict:#?}");
    assert_eq!(state(&verdict, "ER-05"), Some(Bound));
}

/// No answer was good: an error page first, and closed connections, which have no status and no length.
#[test]
fn what_ab_may_have_counted_twice_has_no_goodput() {
    let record = only("ab-errors-and-closed.txt").record;
    assert_eq!((record.goodput_per_s, state(&record.verdict, "ER-01")), (None, Some(Invalid)));
}

#[test]
fn redirects_that_siege_followed_in_a_circle_were_answered() {
    let verdict = only("siege-redirect-loop.txt").record.verdict;
    assert_eq!(
        ["ER-01", "ER-02", "RP-07"].map(|rule| state(&verdict, rule)),
        [None, Some(Invalid), None],
        "{verdict:#?}"
    );
}

#[test]
fn runs_of_jmeter_may_stand_below_headings_alone() {
    let all = each("jmeter-headings.txt");
    let responses: Vec<f64> = all.iter().filter_map(|one| one.claims.get(Figure::InRate)).collect();
    assert_eq!(responses, [1_000.0, 2_000.0, 10_000.0, 20_000.0, 40_000.0]);
}

#[test]
fn one_request_is_no_measurement() {
    let verdict = only("ab-one-request.txt").record.verdict;
    assert!(message(&verdict, "LD-04").starts_with("1 request is too few for any figure"), "{verdict:#?}");
    assert_eq!(state(&verdict, "LD-04"), Some(Invalid));
}
