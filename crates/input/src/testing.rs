//! Promises of the readers on arbitrary bytes, for the fuzz targets and the tests that fuzz a little.

use crate::experiment::{Experiment, FlagShape, Progress, STEPS_MAX, Takes, VerbFlags, Vocabulary};
use crate::requests::{BODIES_MAX_BYTES, REQUESTS_MAX, parse_har, parse_url_list};
use crate::{InputError, Listed};
use model::ExperimentEvent;
use std::path::Path;

/// Name of the file that the bytes stand for; its directory does not exist, so that no file is read.
const FILE: &str = "/nowhere/requests";

/// Reads `data` as a list of requests: no panic, and what is taken can be sent.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_url_list(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        check(parse_url_list(text, Path::new(FILE), None));
    }
}

/// Reads `data` as a recording of a browser: no panic, and what is taken can be sent.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_har(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        check(parse_har(text, Path::new(FILE), None));
    }
}

/// Verbs and flags as those of the program, without the program.
#[must_use]
pub fn vocabulary() -> Vocabulary {
    let flag = |name: &str, short: Option<char>, takes: Takes| FlagShape { name: name.to_owned(), short, takes };
    let common = [
        flag("duration", Some('d'), Takes::One),
        flag("warmup", None, Takes::One),
        flag("header", Some('H'), Takes::Many),
        flag("body", Some('b'), Takes::One),
        flag("auth", None, Takes::One),
        flag("connections", Some('c'), Takes::One),
        flag("no-keepalive", None, Takes::Nothing),
        flag("seed", None, Takes::One),
    ];
    let verb = |name: &str, own: &[(&str, Option<char>)]| {
        let own = own.iter().map(|(name, short)| flag(name, *short, Takes::One));
        let takes_all = name == "compare";
        VerbFlags { name: name.to_owned(), flags: own.chain(common.clone()).collect(), takes_all }
    };
    let verbs = [
        verb("run", &[("rate", Some('R'))]),
        verb("sweep", &[("points", None), ("over", None)]),
        verb("capacity", &[("goal", None), ("budget", None)]),
        verb("compare", &[("blocks", None), ("only", None)]),
    ];
    Vocabulary { verbs: verbs.into(), of_servers: &["port", "state"] }
}

/// Reads `data` as an experiment: no panic, an error is a line that begins with a place in the file, and what is taken has
/// a bounded number of combinations, each of which can be told from the others and shown in a line.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_experiment(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let read = || Experiment::parse("x.toml", text, &vocabulary());
    let experiment = match read() {
        Ok(experiment) => experiment,
        Err(error) => {
            let mut parts = error.message.splitn(4, ':');
            assert_eq!(parts.next(), Some("x.toml"), "{error}");
            let is_place = |part: Option<&str>| part.is_some_and(|part| part.parse::<usize>().is_ok_and(|n| n > 0));
            assert!(is_place(parts.next()) && is_place(parts.next()), "{error}");
            return assert!(!error.message.contains('\n'), "{error}");
        }
    };
    assert_eq!(read().ok().map(|again| again.combinations), Some(experiment.combinations.clone()));
    let steps = experiment.combinations.len() as u64 * experiment.repetitions;
    assert!((1..=STEPS_MAX).contains(&steps), "{steps} steps");
    let mut names = std::collections::BTreeSet::new();
    for combination in &experiment.combinations {
        let name = (&combination.variant, &combination.load, &combination.verb);
        assert!(names.insert(name), "twice: {name:?}");
        let shown = [&combination.variant, &combination.load, &experiment.name];
        assert!(shown.iter().all(|text| !text.contains(char::is_control) && !text.is_empty()), "{shown:?}");
        assert!(combination.arguments.iter().all(|argument| !argument.words.is_empty()), "{combination:?}");
    }
}

/// Parts a plan from its steps in one input.
const BETWEEN: &str = "\n\n";
/// Longest message that says what is wrong with them; characters.
const WRONG_CHARS_MAX: usize = 500;

/// Reads `data` as a plan of an experiment and, behind an empty line, as the steps that were made of it: no panic; an error is
/// one short line; and what is read is the same when it is written and read again.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_progress(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (plan, steps) = text.split_once(BETWEEN).unwrap_or((text, ""));
    let read = Progress::of_plan(plan).and_then(|mut progress| progress.add_lines(steps).map(|()| progress));
    let progress = match read {
        Ok(progress) => progress,
        Err(why) => {
            let is_line = why.chars().count() <= WRONG_CHARS_MAX && !why.contains(char::is_control);
            return assert!(is_line, "{why:?}");
        }
    };
    let planned = progress.plan.steps.len();
    assert!(planned as u64 <= STEPS_MAX && progress.steps.len() <= planned, "{progress:?}");
    let written = serde_json::to_string(&progress.plan).expect("JSON");
    let mut again = Progress::of_plan(&written).expect("a plan");
    let begun = progress.begun.clone().map(|begun| ExperimentEvent::Begun(Box::new(begun)));
    let made = progress.steps.values().map(|step| ExperimentEvent::Step(Box::new(step.clone())));
    for event in begun.into_iter().chain(made) {
        again.add_lines(&serde_json::to_string(&event).expect("JSON")).expect("a line of our own");
    }
    assert_eq!(again, progress);
    assert_eq!(progress.is_complete(), progress.plan.steps.iter().all(|step| progress.is_finished(step.number)));
}

fn check(listed: Result<Listed, InputError>) {
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return assert!(!error.message.contains('\n'), "{error}"),
    };
    assert!((1..=REQUESTS_MAX).contains(&listed.requests.len()), "{} requests", listed.requests.len());
    let bodies_bytes: u64 = listed.requests.iter().map(|request| request.body.len() as u64).sum();
    assert!(bodies_bytes <= BODIES_MAX_BYTES, "{bodies_bytes} bytes of bodies");
    // FastCGI carries lengths before what they count, and any byte in a path.
    let is_http = listed.origin.is_none_or(|origin| origin.socket.is_none());
    for request in &listed.requests {
        let is_method = http::Method::from_bytes(request.method.as_bytes()).is_ok_and(|method| method != "CONNECT");
        assert!(is_method && request.weight > 0, "{request:?}");
        assert!(request.path.starts_with('/'), "{request:?}");
        assert!(!is_http || request.path.bytes().all(|byte| byte > b' '), "{request:?}");
        for (name, value) in &request.headers {
            assert!(http::HeaderName::from_bytes(name.as_bytes()).is_ok(), "{name:?}");
            assert!(http::HeaderValue::from_str(value).is_ok(), "{value:?}");
        }
    }
}
