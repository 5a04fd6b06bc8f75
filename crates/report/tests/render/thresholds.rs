//! Thresholds in the terminal, on the page, as JUnit XML and in the summary.

use crate::capacities::bracketed;
use crate::fixtures::{arms, invalid_run, valid_run};
use crate::pages::{item, page};
use model::{Bound, Estimate, KnownFigure, RunRecord, ThresholdRecord, ThresholdState};
use report::Named;
use report::record::AnyRecord;
use report::terminal::{self, Style};

fn threshold(condition: &str, state: ThresholdState, value: KnownFigure) -> ThresholdRecord {
    let why = (state == ThresholdState::Inconclusive).then(|| "it is only known as a bound".to_owned());
    let value = Some(value);
    ThresholdRecord { condition: condition.into(), state, value, limit: 0.0, baseline: None, ratio: None, why }
}

fn run_with_thresholds() -> RunRecord {
    let mut run = valid_run();
    let bound = KnownFigure { bound: Some(Bound::AtLeast), ..KnownFigure::exactly(80e6) };
    run.thresholds = vec![
        threshold("goodput<1000", ThresholdState::Passed, run.goodput_per_s.into()),
        threshold("p99>100ms", ThresholdState::Inconclusive, bound),
        ThresholdRecord {
            baseline: Some(KnownFigure::exactly(20_000.0)),
            ratio: Some(Estimate { value: 1.25, low: None, high: None, n: 2 }),
            ..threshold("cpu-per-request>+10%", ThresholdState::Failed, KnownFigure::exactly(25_000.0))
        },
    ];
    run
}

#[test]
fn the_terminal_and_the_page_say_what_came_of_each() {
    let run = run_with_thresholds();
    let text = terminal::run(&run, &Style { width: 100, colour: false, verbose: false });
    for line in [
        "passed       goodput<1000: 33,333/s",
        "inconclusive p99>100ms: >= 80.0 ms; it is only known as a bound\n",
        "failed       cpu-per-request>+10%: 25.0 µs, +25 % of 20.0 µs in the baseline\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let page = page(&[item("r", AnyRecord::Run(&run), None)]);
    assert!(page.contains("<h3>Thresholds</h3>") && page.contains("cpu-per-request&#62;+10%"));
    let mut capacity = bracketed();
    capacity.thresholds = vec![threshold("capacity<900", ThresholdState::Passed, KnownFigure::exactly(1_015.0))];
    let text = terminal::capacity(&capacity, &Style { width: 100, colour: false, verbose: false });
    assert!(text.contains("passed       capacity<900: 1,015/s\n"), "{text}");
}

#[test]
fn junit_has_a_case_for_the_verdict_and_each_threshold() {
    let run = run_with_thresholds();
    let xml = report::junit(Named { name: "nightly <1>", record: AnyRecord::Run(&run) });
    for part in [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n",
        "<testsuite name=\"nightly &lt;1&gt;\" tests=\"4\" failures=\"1\" errors=\"1\" timestamp=\"2026-01-02T03:04:05",
        "<testcase classname=\"nightly &lt;1&gt;\" name=\"verdict\">\n      <system-out>",
        "name=\"not goodput&lt;1000\"",
        "<error type=\"inconclusive\" message=\"&gt;= 80.0 ms; it is only known as a bound\">",
        "<failure type=\"threshold\" message=\"25.0 µs, +25 % of 20.0 µs in the baseline\">",
        "</testsuites>\n",
    ] {
        assert!(xml.contains(part), "{part:?} is not in\n{xml}");
    }
    let xml = report::junit(Named { name: "x", record: AnyRecord::Run(&invalid_run()) });
    assert!(xml.contains("<error type=\"invalid\" message=\"do not use these numbers (CL-06, ER-01)\">"), "{xml}");
    let cut = RunRecord { interrupted: true, ..valid_run() };
    let xml = report::junit(Named { name: "x", record: AnyRecord::Run(&cut) });
    assert!(xml.contains("<error type=\"interrupted\" message=\"stopped before the plan was done\">"), "{xml}");
    let text = report::summary(Named { name: "x", record: AnyRecord::Run(&cut) });
    assert!(text.contains("\n- stopped before the plan was done\n"), "{text}");
    let arms = arms();
    let xml = report::junit(Named { name: "both", record: AnyRecord::Sweeps(&arms) });
    assert_eq!(xml.matches("<testsuite ").count(), arms.sweeps.len());
    // A reset of the terminal in a name, or in a finding, has no place in XML.
    let mut hostile = invalid_run();
    hostile.verdict.findings[0].message = "\u{1b}c]]><failure/>\u{0}".into();
    let xml = report::junit(Named { name: "\u{1b}\"", record: AnyRecord::Run(&hostile) });
    assert!(!xml.contains(['\u{1b}', '\u{0}']) && !xml.contains("<failure/>"), "{xml}");
}

#[test]
fn the_summary_is_short_and_no_markup_of_others() {
    let run = run_with_thresholds();
    let text = report::summary(Named { name: "a|b", record: AnyRecord::Run(&run) });
    assert!(
        text.starts_with("### plimsoll: a\\|b\n\n**VALID** all validity checks that could be made passed (1 could not); goodput 33,333/s"),
        "{text}"
    );
    assert!(
        text.contains("\n| cpu-per-request>+10% | failed | 25.0 µs, +25 % of 20.0 µs in the baseline |  |\n"),
        "{text}"
    );
    assert!(text.lines().count() < 12, "{text}");
    let text = report::summary(Named { name: "c", record: AnyRecord::Capacity(&bracketed()) });
    assert!(
        text.contains("capacity 1,000 to 1,030/s for p99<100ms")
            || text.contains("capacity 1,000 to 1,030/s for p99&lt;100ms"),
        "{text}"
    );
    let text = report::summary(Named { name: "i", record: AnyRecord::Run(&invalid_run()) });
    assert!(text.contains("\n- CL-06 only 60 of 64 connections") && text.contains("**INVALID**"), "{text}");
}
