//! What other load generators printed of servers that failed in a known way, as `cargo xtask outputs` keeps it: every figure
//! is exact, or the output is refused.

use audit::{Context, Figure, audit};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// One fixture, with what the server did.
#[derive(Debug, Deserialize)]
struct Fixture {
    file: String,
    tool: String,
    truth: Truth,
    /// Requests that may be on their way when the tool's time is up.
    slack: u64,
}

/// How the server ended requests.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Truth {
    good: u64,
    bad_status: u64,
    broken: u64,
}

/// Outputs that are refused: the tool prints no figure of a load without a response.
const REFUSED: [&str; 0] = [];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/captured")
}

fn fixtures() -> Vec<Fixture> {
    let text = std::fs::read_to_string(folder().join("truth.json")).expect("cargo xtask outputs writes it");
    serde_json::from_str(&text).expect("a list of fixtures")
}

/// How an audit contradicts what the server did; empty if it does not.
fn wrong(fixture: &Fixture) -> Vec<String> {
    let Fixture { file, tool, truth, slack } = fixture;
    let bytes = std::fs::read(folder().join(file)).expect("a fixture");
    let audited = match audit(file, &bytes, &Context::default()) {
        Ok(audited) => audited,
        Err(error) if REFUSED.contains(&file.as_str()) => return no(error.to_string().is_empty(), "no reason"),
        Err(error) => return vec![format!("refused: {error}")],
    };
    let record = &audited.record;
    let mut wrong = no(record.tool != *tool, "another tool");
    wrong.extend(no(record.unread_lines > 0, "unread lines"));
    let is = |figure: Figure| audited.claims.get(figure);
    let mut holds = |what: &str, is: f64, expected: u64| {
        if (is - expected as f64).abs() > *slack as f64 {
            wrong.push(format!("{what} {is}, not {expected}"));
        }
    };
    let bad = is(Figure::BadStatus).unwrap_or(0.0);
    if let Some(responses) = is(Figure::Responses) {
        holds("good responses", responses - bad, truth.good);
    }
    if is(Figure::BadStatus).is_some() {
        holds("bad statuses", bad, truth.bad_status);
    }
    // A client may ask again, unseen, when a connection breaks.
    if truth.broken == 0 && truth.good + truth.bad_status > 0 {
        holds("broken", is(Figure::Broken).unwrap_or(0.0), 0);
    }
    if let (Some(goodput), Some(duration_ns)) = (&record.goodput_per_s, is(Figure::Duration)) {
        let good = goodput.value * duration_ns / 1e9;
        let expected = truth.good as f64;
        if (good - expected).abs() > *slack as f64 + 0.01 * expected {
            wrong.push(format!("goodput of {good:.1} responses, not {expected}"));
        }
    }
    wrong
}

fn no(is_wrong: bool, what: &str) -> Vec<String> {
    if is_wrong { vec![what.to_owned()] } else { Vec::new() }
}

#[test]
fn every_figure_is_exact_or_the_output_is_refused() {
    let wrong: Vec<String> = fixtures()
        .iter()
        .flat_map(|fixture| wrong(fixture).into_iter().map(|wrong| format!("{}: {wrong}", fixture.file)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_captured_output_has_its_truth() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "truth.json")
        .collect();
    names.sort();
    let known: Vec<String> = fixtures().into_iter().map(|fixture| fixture.file).collect();
    assert_eq!(names, known);
}
