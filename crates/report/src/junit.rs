//! JUnit XML, which CI systems show as tests: one case for the verdict, and one for each threshold.

use crate::Named;
use crate::record::AnyRecord;
use crate::visible;
use crate::words::compare::{change, of_variant};
use crate::words::thresholds::{measured, of, why_aborted};
use crate::words::verdict::meaning;
use crate::words::why_interrupted;
use model::{
    Aborted, Call, CompareRecord, FailIfRecord, FailIfState, MetricRecord, RunRecord, ThresholdRecord, ThresholdState,
    Verdict, VerdictState,
};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// One case.
struct Case {
    name: String,
    outcome: Outcome,
}

/// What came of it, with what to say.
enum Outcome {
    Passed(String),
    Failed(String),
    /// Neither: invalid, or not known.
    Error(&'static str, String),
}

/// One suite.
struct Suite {
    name: String,
    started: String,
    cases: Vec<Case>,
}

/// A result as JUnit XML: a suite, of several sweeps one for each. Ends with a newline.
#[must_use]
pub fn junit(named: Named<'_>) -> String {
    let suites = suites(named);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = write(&mut writer, &suites);
    written.expect("writing to memory cannot fail");
    String::from_utf8(writer.into_inner()).expect("text makes text") + "\n"
}

fn suites(named: Named<'_>) -> Vec<Suite> {
    let thresholds = of(named.record);
    let name = |arm: Option<&str>| match arm {
        Some(arm) => format!("{}: {arm}", named.name),
        None => named.name.to_owned(),
    };
    // A load that a condition has ended has failed by that, in a case of its own.
    let is_aborted = matches!(named.record, AnyRecord::Run(RunRecord { aborted: Some(_), .. }));
    let interrupted = why_interrupted(named.record).filter(|_| !is_aborted);
    let suite = |arm, verdict: &Verdict, started: &str, thresholds: &[ThresholdRecord]| Suite {
        name: name(arm),
        started: started.to_owned(),
        cases: std::iter::once(of_verdict(verdict, interrupted.clone()))
            .chain(thresholds.iter().map(of_threshold))
            .collect(),
    };
    match named.record {
        AnyRecord::Run(record) => {
            let mut suite = suite(None, &record.verdict, &record.started, &record.thresholds);
            suite.cases.extend(record.aborted.iter().map(of_aborted));
            vec![suite]
        }
        AnyRecord::Capacity(record) => vec![suite(None, &record.verdict, &record.started, &record.thresholds)],
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            let sweeps = named.record.sweeps().iter().zip(thresholds);
            sweeps.map(|(sweep, (arm, list))| suite(arm, &sweep.verdict, &sweep.started, list)).collect()
        }
        AnyRecord::Compare(record) => {
            let mut suite = suite(None, &record.verdict, &record.started, &[]);
            suite.cases.extend(of_comparison(record));
            vec![suite]
        }
        AnyRecord::Experiment(record) => vec![suite(None, &record.verdict, &record.started, &[])],
        AnyRecord::Render(record) => vec![suite(None, &record.verdict, &record.started, &[])],
    }
}

fn of_verdict(verdict: &Verdict, why_interrupted: Option<String>) -> Case {
    let worst = verdict.findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.message));
    let text = std::iter::once(meaning(verdict)).chain(worst).collect::<Vec<_>>().join("\n");
    let outcome = match (verdict.state, why_interrupted) {
        (VerdictState::Invalid, _) => Outcome::Error("invalid", text),
        (_, Some(why)) => Outcome::Error("interrupted", format!("{why}\n{text}")),
        (VerdictState::Valid | VerdictState::Bound, None) => Outcome::Passed(text),
    };
    Case { name: "verdict".to_owned(), outcome }
}

/// The condition of `--abort-if` that has ended a load.
fn of_aborted(aborted: &Aborted) -> Case {
    let name = format!("not {} while the load runs", aborted.condition.condition);
    Case { name, outcome: Outcome::Failed(why_aborted(aborted)) }
}

/// The conditions of a comparison, or where it has none the calls of what decides.
fn of_comparison(record: &CompareRecord) -> Vec<Case> {
    if !record.conditions.is_empty() {
        let case = |one: &FailIfRecord| {
            let text = format!("{}{}", one.condition, of_variant(record, &one.arm));
            let outcome = match one.state {
                FailIfState::Passed => Outcome::Passed("the whole interval lies within".to_owned()),
                FailIfState::Failed => Outcome::Failed("the whole interval lies beyond".to_owned()),
                FailIfState::CannotTell => Outcome::Error("inconclusive", "the interval holds the limit".to_owned()),
            };
            Case { name: format!("not {text}"), outcome }
        };
        return record.conditions.iter().map(case).collect();
    }
    let case = |metric: &MetricRecord| {
        let text = change(metric);
        let outcome = match metric.call {
            Call::Better | Call::SmallChange | Call::Same => Outcome::Passed(text),
            Call::Worse => Outcome::Failed(text),
            Call::CannotTell => Outcome::Error("inconclusive", text),
        };
        Case {
            name: format!("{}, {}{}", metric.metric.words(), metric.load.words(), of_variant(record, &metric.arm)),
            outcome,
        }
    };
    record.metrics.iter().filter(|metric| metric.primary).map(case).collect()
}

fn of_threshold(record: &ThresholdRecord) -> Case {
    let text = measured(record);
    let outcome = match record.state {
        ThresholdState::Passed => Outcome::Passed(text),
        ThresholdState::Failed => Outcome::Failed(text),
        ThresholdState::Inconclusive => {
            let why = record.why.as_deref().unwrap_or_default();
            Outcome::Error("inconclusive", format!("{text}; {why}"))
        }
    };
    Case { name: format!("not {}", record.condition), outcome }
}

fn write(writer: &mut Writer<Vec<u8>>, suites: &[Suite]) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .write_inner_content(|writer| suites.iter().try_for_each(|suite| write_suite(writer, suite)))?;
    Ok(())
}

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let count = |of: fn(&Outcome) -> bool| suite.cases.iter().filter(|case| of(&case.outcome)).count().to_string();
    let name = line(&suite.name);
    let element = writer
        .create_element("testsuite")
        .with_attribute(("name", name.as_str()))
        .with_attribute(("tests", suite.cases.len().to_string().as_str()))
        .with_attribute(("failures", count(|outcome| matches!(outcome, Outcome::Failed(_))).as_str()))
        .with_attribute(("errors", count(|outcome| matches!(outcome, Outcome::Error(..))).as_str()))
        .with_attribute(("timestamp", line(&suite.started).as_str()));
    element.write_inner_content(|writer| suite.cases.iter().try_for_each(|case| write_case(writer, &name, case)))?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, suite: &str, case: &Case) -> io::Result<()> {
    let element = writer.create_element("testcase").with_attribute(("classname", suite));
    element.with_attribute(("name", line(&case.name).as_str())).write_inner_content(|writer| {
        let (name, kind, text) = match &case.outcome {
            Outcome::Passed(text) => ("system-out", None, text),
            Outcome::Failed(text) => ("failure", Some("threshold"), text),
            Outcome::Error(kind, text) => ("error", Some(*kind), text),
        };
        let text = visible::block(text);
        let mut element = writer.create_element(name);
        if let Some(kind) = kind {
            let first = line(text.lines().next().unwrap_or_default());
            element = element.with_attribute(("type", kind)).with_attribute(("message", first.as_str()));
        }
        element.write_text_content(BytesText::new(&text))?;
        Ok(())
    })?;
    Ok(())
}

fn line(text: &str) -> String {
    visible::line(text).into_owned()
}
