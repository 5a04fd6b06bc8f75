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

/// The head of each response comes after 20 ms, and its 2 kB at 20 kB/s: 100 ms later.
const IN_PIECES: &str = "target path=/zero?size=2kB first-byte=20ms body-rate=20kB";

#[test]
fn the_time_to_the_first_byte_is_a_latency_of_its_own_with_conditions_of_its_own() {
    let conditions = ["--fail-if", "ttfb-p90>60ms", "--fail-if", "p50>60ms", "--fail-if", "ttfb-p97>5s"];
    let run = ["run", "--serve", IN_PIECES, "-c", "64", "-d", "10s", "--warmup", "500ms", "--json", "-q"];
    decide(
        || plimsoll([&run[..], &conditions].concat()).run().json(),
        |record| {
            let of =
                |latency: &str, figure: &str| record["latency_ns"][latency][figure].as_f64().expect("a time") / 1e6;
            let (first_byte, service) = (of("first_byte", "p50"), of("service", "p50"));
            assert!((20.0..30.0).contains(&first_byte) && (100.0..160.0).contains(&service), "{first_byte} {service}");
            assert_eq!(record["latency_ns"]["first_byte"]["n"], record["latency_ns"]["service"]["n"]);
            assert_eq!(states(record), ["passed", "failed", "passed"], "{:#}", record["thresholds"]);
            assert!(
                of("first_byte", "p50")
                    < record["latency_ns"]["first_byte"]["others"]["p97"].as_f64().expect("asked for")
            );
        },
    );
}

/// One request in two is answered with an error, and of the clean server none.
#[test]
fn a_load_that_fails_is_ended_early_and_keeps_what_was_measured() {
    let run = |server: &'static str, length: &'static str| {
        let load = ["run", "--serve", server, "-c", "4", "-d", length, "--warmup", "0s", "--json", "-q"];
        plimsoll([&load[..], &["--abort-if", "p99>1m,errors>5%"], &FILES].concat()).run()
    };
    let clean = run(SERVER, "6s").json();
    assert!(clean.get("aborted").is_none() && clean["interrupted"] == false, "{clean:#}");
    let ended = run("target pool=4 pool-time=2ms error-share=0.5", "5m");
    let record = ended.exits(1).json();
    let aborted = &record["aborted"];
    assert_eq!(text(&aborted["condition"], "condition"), "errors>5%", "{aborted:#}");
    let value = aborted["condition"]["value"]["value"].as_f64().expect("a share");
    assert!((0.49..0.51).contains(&value), "{value}");
    let measured_ns = record["measured_ns"].as_u64().expect("a time");
    assert!((5_000_000_000..60_000_000_000).contains(&measured_ns), "{measured_ns}");
    assert_eq!(record["interrupted"], true);
    let (junit, summary) = (ended.file("ci.xml"), ended.file("ci.md"));
    assert!(junit.contains("not errors&gt;5% while the load runs") && junit.contains("<failure"), "{junit}");
    assert!(summary.contains("has ended the load"), "{summary}");
    let directory = ended.run_directory();
    let shown = plimsoll(["report", directory.to_str().expect("UTF-8")]).run();
    assert!(shown.stdout.contains("ended early"), "{}", shown.stdout);
}

#[test]
fn a_rate_that_is_not_held_ends_the_load() {
    let run = ["run", "--serve", SERVER, "-R", "4000", "-c", "64", "-d", "5m", "--warmup", "0s", "--json", "-q"];
    let ended = plimsoll([&run[..], &["--abort-if", "send-rate<90%"]].concat()).run();
    let record = ended.exits(1).json();
    assert_eq!(text(&record["aborted"]["condition"], "condition"), "send-rate<90%");
}
