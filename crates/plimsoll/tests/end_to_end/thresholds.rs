//! `--fail-if`, `--baseline` and the files for CI on results that were measured: exit codes, JUnit XML, summary.

use crate::support::{Ended, decide, plimsoll, text};
use serde_json::Value;

/// Built-in server whose pool serves 2,000/s.
const SERVER: &str = "target pool=4 pool-time=2ms";
/// As short as a valid result is.
const RUN: [&str; 11] = ["run", "--serve", SERVER, "-c", "8", "-d", "5s", "--warmup", "100ms", "--json", "-q"];
/// Files for CI.
const FILES: [&str; 4] = ["--junit", "ci.xml", "--summary", "ci.md"];

fn states(record: &Value) -> Vec<&str> {
    record["thresholds"].as_array().expect("a list").iter().map(|one| text(one, "state")).collect()
}

/// A record with the exit code and both files.
fn told(ended: &Ended) -> (Value, (Option<i32>, String, String)) {
    (ended.json(), (ended.status.code(), ended.file("ci.xml"), ended.file("ci.md")))
}

#[test]
fn a_run_fails_by_its_thresholds_and_is_a_baseline_of_the_next() {
    let conditions = ["--fail-if", "goodput<100", "--fail-if", "goodput<1M"];
    decide(
        || {
            let before = plimsoll([&RUN[..], &conditions, &FILES].concat()).run();
            let directory = before.run_directory();
            let baseline = ["--baseline", directory.to_str().expect("UTF-8"), "--fail-if", "goodput<-60%,p50>+400%"];
            let after = plimsoll([&RUN[..], &baseline, &FILES].concat()).run();
            let [(before, told_before), (after, told_after)] = [told(&before), told(&after)];
            (Value::Array(vec![before, after]), [told_before, told_after])
        },
        |(records, [(code, junit, summary), after])| {
            let record = &records[0];
            assert_eq!((states(record), *code), (vec!["passed", "failed"], Some(1)), "{record:#}");
            assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
            assert!(
                junit.contains("name=\"not goodput&lt;1M\"") && junit.contains("<failure type=\"threshold\""),
                "{junit}"
            );
            assert!(summary.contains("goodput") && summary.contains("| failed |"), "{summary}");
            let (record, (code, junit, summary)) = (&records[1], after);
            assert_eq!((states(record), *code), (vec!["passed", "passed"], Some(0)), "{record:#}");
            assert!(record["thresholds"][0]["baseline"].is_object() && junit.contains("in the baseline"), "{junit}");
            assert!(junit.contains("failures=\"0\" errors=\"0\"") && summary.contains("| passed |"), "{summary}");
        },
    );
}

#[test]
fn nothing_passes_that_is_invalid() {
    let sweep = ["sweep", "--serve", SERVER, "-d", "200ms", "--warmup", "0s", "--points", "2", "--iterations", "1"];
    let conditions = ["--to", "4", "--fail-if", "goodput<1", "--json", "-q"];
    let ended = plimsoll([&sweep[..], &conditions, &FILES].concat()).run();
    let record = ended.exits(4).json();
    assert_eq!(states(&record), ["inconclusive"], "windows this short are INVALID: {record:#}");
    let (junit, summary) = (ended.file("ci.xml"), ended.file("ci.md"));
    assert!(junit.contains("failures=\"0\" errors=\"2\"") && junit.contains("<error type=\"invalid\""), "{junit}");
    assert!(summary.contains("**INVALID**") && summary.contains("the result is INVALID"), "{summary}");
}
