//! What other load generators printed of servers that failed in a known way, as `cargo xtask outputs` keeps it: every figure
//! agrees with what the server did, or the output is refused.

use crate::support::state;
use audit::{Audited, Context, Figure, Unreadable, audit};
use model::FindingState;
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
    redirects: u64,
    broken: u64,
    /// Of the broken: those that ended within the body. Tools that do not look at sizes take them as good.
    cut: u64,
}

impl Truth {
    fn answered_nothing(self) -> bool {
        self.good + self.bad_status + self.redirects + self.broken == 0
    }
}

/// Tools that count redirects as good, and do not print how many there were.
const REDIRECTS_ARE_GOOD: [&str; 2] = ["wrk", "siege"];
/// Tools that ask again, unseen, when a connection breaks.
const ASK_AGAIN: [&str; 3] = ["bombardier", "hey", "vegeta"];
/// Size of the server's body.
const BODY_BYTES: u64 = 64;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/captured")
}

fn fixtures() -> Vec<Fixture> {
    let text = std::fs::read_to_string(folder().join("truth.json")).expect("cargo xtask outputs writes it");
    serde_json::from_str(&text).expect("a list of fixtures")
}

fn read(file: &str, context: &Context) -> Result<Audited, Unreadable> {
    audit(file, &std::fs::read(folder().join(file)).expect("a fixture"), context)
}

/// How an audit contradicts what the server did; empty if it does not.
fn wrong(fixture: &Fixture) -> Vec<String> {
    let audited = match read(&fixture.file, &Context::default()) {
        Ok(audited) => audited,
        Err(Unreadable::NotStarted { tool, .. }) if fixture.truth.answered_nothing() && tool == fixture.tool => {
            return Vec::new();
        }
        Err(error) => return vec![format!("refused: {error}")],
    };
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    let record = &audited.record;
    must(record.tool == fixture.tool, format!("read as {}", record.tool));
    must(record.unread_lines == 0, format!("{} unread lines", record.unread_lines));
    let negative = record.claims.iter().find(|claim| claim.value.is_sign_negative());
    must(negative.is_none(), format!("negative: {negative:?}"));
    let counts = Counts::of(&audited, fixture);
    goodput(&mut must, &audited, &counts);
    if fixture.truth.answered_nothing() {
        must(record.failed_share == Some(1.0), format!("failed share {:?}", record.failed_share));
        must(state(&record.verdict, "ER-01") == Some(FindingState::Invalid), "no ER-01".to_owned());
    } else {
        statuses(&mut must, &audited, fixture, &counts);
        lost(&mut must, fixture, &counts);
    }
    wrong
}

/// What the output says of the requests.
struct Counts {
    good: f64,
    bad: f64,
    redirects: Option<f64>,
    broken: f64,
    /// Neither bad nor broken for certain; none where the tool tells them apart.
    bad_or_broken: Option<f64>,
    /// Good ones that the server did not send as such.
    excess: f64,
    slack: f64,
}

impl Counts {
    fn of(audited: &Audited, fixture: &Fixture) -> Self {
        let get = |figure| audited.claims.get(figure);
        let [responses, bad, wrong_size, broken] =
            [Figure::Responses, Figure::BadStatus, Figure::WrongSize, Figure::Broken]
                .map(|figure| get(figure).unwrap_or(0.0));
        let redirects = get(Figure::Redirects);
        let unseen = if REDIRECTS_ARE_GOOD.contains(&fixture.tool.as_str()) { fixture.truth.redirects } else { 0 };
        let good = responses - bad - redirects.unwrap_or(0.0) - wrong_size;
        Self {
            good,
            bad,
            redirects,
            // A body that ended early is one of a wrong size to a tool that compares sizes.
            broken: broken + wrong_size,
            bad_or_broken: get(Figure::BadOrBroken),
            excess: good - (fixture.truth.good + unseen) as f64,
            slack: fixture.slack as f64,
        }
    }
}

/// Goodput follows from the count of good responses, wherever there is a duration.
fn goodput(must: &mut impl FnMut(bool, String), audited: &Audited, counts: &Counts) {
    let Some(duration_ns) = audited.claims.get(Figure::Duration).filter(|ns| *ns > 0.0) else { return };
    let good = audited.record.goodput_per_s.as_ref().map(|goodput| goodput.value * duration_ns / 1e9);
    let fits = good.is_some_and(|good| (good - counts.good).abs() <= 1e-6 * counts.good.max(1.0));
    // ab cannot tell a body that was cut from a page that varies.
    let is_untold = good.is_none() && audited.record.tool == "ab" && counts.broken > 0.0 && counts.bad == 0.0;
    must(fits || is_untold, format!("goodput of {good:?} responses, not {}", counts.good));
}

/// Good and other statuses are exact. Only where the audit says that sizes are unchecked, cut bodies may be good.
fn statuses(must: &mut impl FnMut(bool, String), audited: &Audited, fixture: &Fixture, counts: &Counts) {
    let Fixture { truth, .. } = fixture;
    let is_unchecked = |rule: &str| audited.record.verdict.unchecked.iter().any(|unchecked| unchecked == rule);
    let cut = if is_unchecked("ER-03") { truth.cut as f64 } else { 0.0 };
    let range = -counts.slack..=cut + counts.slack;
    must(range.contains(&counts.excess), format!("good responses {}, not {}", counts.good, truth.good));
    let (bad, redirects) = (truth.bad_status as f64, truth.redirects as f64);
    let near = |is: f64, expected: f64| (is - expected).abs() <= counts.slack;
    match counts.redirects {
        Some(is) => must(near(is, redirects), format!("redirects {is}, not {redirects}")),
        None => must(is_unchecked("ER-02"), "redirects not told apart, and ER-02 checked".to_owned()),
    }
    let is_among_bad = counts.redirects.is_none() && !REDIRECTS_ARE_GOOD.contains(&fixture.tool.as_str());
    let expected = if is_among_bad { bad + redirects } else { bad };
    match counts.bad_or_broken {
        Some(either) => {
            let failed = bad + truth.broken as f64 - counts.excess;
            must(near(counts.bad + either, failed), format!("failed {}, not {failed}", counts.bad + either));
        }
        None => must(near(counts.bad, expected), format!("bad statuses {}, not {expected}", counts.bad)),
    }
}

/// No broken response is invented, and none is hidden by a tool that does not ask again.
fn lost(must: &mut impl FnMut(bool, String), fixture: &Fixture, counts: &Counts) {
    let broken = fixture.truth.broken as f64;
    must(counts.broken <= broken + counts.slack, format!("broken {}, more than {broken}", counts.broken));
    if counts.bad_or_broken.is_none() && !ASK_AGAIN.contains(&fixture.tool.as_str()) {
        let seen = counts.broken + counts.excess.max(0.0);
        must(seen >= broken - counts.slack, format!("broken {seen}, less than {broken}"));
    }
}

#[test]
fn every_figure_agrees_with_the_server_or_the_output_is_refused() {
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

#[test]
fn cut_bodies_counted_as_replies_by_httperf_contradict_the_declared_size() {
    let context = Context { expect_size_bytes: Some(BODY_BYTES), ..Context::default() };
    let record = read("httperf-cut.txt", &context).expect("an output").record;
    assert_eq!(state(&record.verdict, "ER-03"), Some(FindingState::Invalid));
    assert!(record.goodput_per_s.is_none());
    let record = read("httperf-good.txt", &context).expect("an output").record;
    assert_eq!(state(&record.verdict, "ER-03"), None);
}

#[test]
fn wrk_that_could_not_connect_is_refused_with_its_message() {
    let error = read("wrk-refused.txt", &Context::default()).expect_err("it measured nothing").to_string();
    assert_eq!(error, "it is of wrk, which gave no result: unable to connect to 127.0.0.1:34541 Connection refused");
}

#[test]
fn requests_that_autocannon_sent_in_vain_are_broken() {
    for file in ["autocannon-closed.txt", "autocannon-j-closed.json"] {
        let record = read(file, &Context::default()).expect("an output").record;
        assert_eq!(record.failed_share, Some(0.1), "{file}");
        assert_eq!(state(&record.verdict, "ER-01"), Some(FindingState::Invalid), "{file}");
    }
}

#[test]
fn failures_of_siege_are_not_taken_for_bad_statuses() {
    let record = read("siege-closed.txt", &Context::default()).expect("an output").record;
    let message = crate::support::message(&record.verdict, "ER-01");
    assert!(message.contains("200 with a bad status or without a response"), "{message}");
}

#[test]
fn requests_that_ab_counts_in_several_kinds_of_failure_are_one() {
    let record = read("ab-refused.txt", &Context::default()).expect("an output").record;
    let message = crate::support::message(&record.verdict, "ER-01");
    assert!(message.starts_with("2,000 of 2,000 requests failed"), "{message}");
}
