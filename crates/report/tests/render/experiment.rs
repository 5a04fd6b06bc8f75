//! An experiment in the terminal, as a page, as tables, and as JSON; and steps in short.

use crate::capacities::{bracketed, unbounded};
use crate::experiments::{experiment, plan};
use crate::fixtures::{bound_run, valid_run, valid_sweep};
use crate::golden::{NARROW, WIDE, golden};
use crate::pages::{charts, item, page};
use model::{Bound, StepRecord, VerdictState};
use report::Named;
use report::record::{AnyRecord, experiment_record, peak_point, step_result};
use report::stored::Record;
use report::terminal::{self, Style};

#[test]
fn texts() {
    let record = experiment();
    let named = [Named { name: "e", record: AnyRecord::Experiment(&record) }];
    golden("experiment", &terminal::results(&named, &Style { width: 110, ..WIDE }));
    golden("experiment_80", &terminal::results(&named, &WIDE));
    golden("experiment_40", &terminal::results(&named, &NARROW));
    golden("experiment_verbose", &terminal::results(&named, &Style { verbose: true, width: 110, ..WIDE }));
    golden("experiment_markdown", &report::markdown(&named));
    golden("experiment_csv", &report::csv(&named));
    golden("experiment_plan", &terminal::plan(&plan(), &WIDE));
    golden("experiment_plan_verbose", &terminal::plan(&plan(), &Style { verbose: true, ..WIDE }));
}

#[test]
fn the_page_links_the_page_of_each_step_that_has_one() {
    let mut record = experiment();
    let text = page(&[item("e", AnyRecord::Experiment(&record), None)]);
    assert!(text.contains("<h1>nginx: workers</h1>") && text.contains("worst of 6 steps"), "no headline");
    for step in &record.steps {
        let link = format!("<a href=\"{}/report.html\">", step.directory);
        assert_eq!(text.contains(&link), step.result.is_some(), "{link}");
    }
    let charts = charts(&text);
    let hollow: Vec<_> = charts.iter().map(|chart| chart.to_string().matches("-open\"").count()).collect();
    assert_eq!(hollow, [1, 1], "goodput and response time of four rows, one of which is a bound");
    record.steps[0].directory = "javascript:alert(1)".to_owned();
    let text = page(&[item("e", AnyRecord::Experiment(&record), None)]);
    assert!(!text.contains("href=\"javascript:"), "a step of a foreign result leads elsewhere");
}

#[test]
fn a_bound_of_a_step_is_no_exact_figure_of_its_row() {
    let mut late = bound_run();
    let short = step_result(AnyRecord::Run(&late)).expect("a run stands for itself");
    assert_eq!(short.bounds, [("goodput".to_owned(), Bound::AtLeast)].into());
    assert_eq!(step_result(AnyRecord::Run(&valid_run())).expect("a run").bounds, [].into());
    // A load on the CPUs of the server takes of what the server could do.
    late.verdict.findings[0].rule = "LD-08".to_owned();
    let short = step_result(AnyRecord::Run(&late)).expect("a run");
    assert_eq!(short.bounds, [("goodput".to_owned(), Bound::AtLeast)].into());
    late.verdict.findings[0].rule = "CL-03".to_owned();
    late.verdict.findings[0].evidence = [("p99_at_most_ns".to_owned(), 1.0)].into();
    let short = step_result(AnyRecord::Run(&late)).expect("a run");
    assert_eq!(short.bounds, [("p99".to_owned(), Bound::AtMost)].into());
    let mut record = experiment();
    record.rows[0].bounds = short.bounds;
    let named = [Named { name: "e", record: AnyRecord::Experiment(&record) }];
    let text = terminal::results(&named, &Style { width: 130, ..WIDE });
    assert!(text.contains(" <= 5.88 ms to 6.05 ms "), "{text}");
}

#[test]
fn a_step_in_short_is_the_load_that_its_answer_rests_on() {
    let run = valid_run();
    let short = step_result(AnyRecord::Run(&run)).unwrap();
    assert_eq!((short.goodput_per_s, short.response_ns), (run.goodput_per_s, run.latency_ns.response));
    let sweep = valid_sweep();
    let short = step_result(AnyRecord::Sweep(&sweep)).unwrap();
    let (peak, at_peak) = (sweep.peak.unwrap(), peak_point(&sweep).unwrap());
    assert_eq!((short.load, short.goodput_per_s.value), (peak.load, peak.goodput_per_s));
    assert_eq!(short.response_ns, at_peak.latency_ns.response);
    for capacity in [bracketed(), unbounded()] {
        let short = step_result(AnyRecord::Capacity(&capacity)).unwrap();
        let found = short.capacity.unwrap();
        assert_eq!((found.low, found.high), (capacity.capacity.low, capacity.capacity.high));
        assert_eq!(Some(short.goodput_per_s.value), capacity.capacity.value);
        assert_eq!(Some(short.load), capacity.capacity.low);
    }
    let mut empty = valid_sweep();
    empty.peak = None;
    assert!(step_result(AnyRecord::Sweep(&empty)).is_none());
}

#[test]
fn rows_stand_in_the_order_of_the_file_over_their_repetitions() {
    let record = experiment();
    let rows: Vec<_> = record.rows.iter().map(|row| (row.variant.as_str(), row.load.as_str())).collect();
    let all = [("workers=2", "steady"), ("workers=2", "capacity"), ("workers=4", "steady"), ("workers=4", "capacity")];
    assert_eq!(rows, all);
    let [steady, capacity, missing, failed] = record.rows.as_slice() else { panic!("four rows") };
    assert_eq!((steady.steps.as_slice(), steady.missing, steady.verdict), (&[2, 5][..], 0, Some(VerdictState::Bound)));
    let goodput = steady.goodput_per_s.unwrap();
    assert_eq!((goodput.n, goodput.low), (2, None), "two repetitions give no interval");
    let ends = capacity.capacity.as_ref().map(|ends| (ends.low, ends.high)).unwrap();
    assert_eq!(ends, (Some(1_040.0), Some(1_166.0)), "the widest");
    assert_eq!([missing.missing, failed.missing], [1, 1]);
    assert!(record.interrupted, "a step was not tried");
    let all: Vec<StepRecord> =
        plan().steps.iter().map(|planned| StepRecord { number: planned.number, ..record.steps[0].clone() }).collect();
    let whole = experiment_record(plan(), all, record.environment.clone(), record.started.clone());
    assert!(!whole.interrupted && whole.rows.iter().all(|row| row.missing == 0));
}

#[test]
fn the_record_reads_back() {
    let record = experiment();
    let json = report::json::record(AnyRecord::Experiment(&record));
    let Record::Experiment(read) = Record::parse(&json).unwrap() else { panic!("another kind") };
    assert_eq!(*read, record);
}
