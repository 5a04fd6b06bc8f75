//! Gatling: the summary at its end, as older versions and those since 3.14 print it, and `stats.json` and `global_stats.json`.

use super::{JsonReader, Keeps, TextReader, Tool, add_failed, gatling_log, quantile, require, status_in};
use crate::Unreadable;
use crate::asked::Flags;
use crate::claim::{Claims, Figure};
use crate::scan::number;
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "gatling",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: Some(gatling_log::SAMPLES),
    keeps: Keeps::Always,
    called: &["gatling.sh", "gatling.bat"],
    // Its load stands in the simulation.
    flags: Flags::NONE,
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("---- Global Information"),
    ends: |line| label(line).is_some_and(|(label, _)| label.starts_with("request count")),
    leads: |line| line.starts_with("=====") || line.ends_with("secs") || line.starts_with("Reports generated"),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader { fits: |value| global(value).is_some(), read: read_json };

/// Gatling keeps whole milliseconds, and gives up on a response after a minute.
const RESOLUTION_NS: f64 = 1e6;
const TIMEOUT_NS: f64 = 60e9;
/// In error texts of requests that were not answered, in small letters.
const UNANSWERED: [&str; 6] = ["exception", "premature close", "timeout", "timed out", "refused", "reset"];
const REQUEST_TIMED_OUT: [&str; 2] = ["request timeout", "request timed out"];

/// Requests, of which some were KO: a check failed, of the status if nothing else was asked for, or there was no answer.
#[derive(Default)]
struct Counted {
    all: Option<f64>,
    failed: Option<f64>,
    per_s: Option<f64>,
    /// Failed ones of which the reason is known.
    told: f64,
}

/// The part of the summary that a line stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Global figures, also where they have no heading.
    Global,
    /// Another one of the summary at the end.
    Other,
    Errors,
    /// None of it.
    Outside,
}

impl Section {
    fn next(self, title: &str) -> Self {
        match (self, title.trim_matches(['-', ' '])) {
            (_, title) if title.starts_with("Global Information") => Self::Global,
            (Self::Outside, _) => Self::Outside,
            (_, title) if title.starts_with("Errors") => Self::Errors,
            _ => Self::Other,
        }
    }
}

/// `> label` and what stands behind it, of either form.
fn label(line: &str) -> Option<(&str, Vec<&str>)> {
    let line = line.trim_start_matches(['>', ' ']);
    if let Some((label, columns)) = line.split_once('|') {
        return Some((label.trim(), columns.split('|').map(str::trim).collect()));
    }
    let (figures, rest) = line.split_once("(OK=")?;
    let (label, total) = figures.trim().rsplit_once(' ')?;
    let (ok, ko) = rest.split_once("KO=")?;
    Some((label.trim(), vec![total, ok.trim(), ko.trim_end_matches(')').trim()]))
}

/// A figure of a column; only the newer form has separators of thousands.
fn figure(word: &str) -> Option<f64> {
    number(&word.replace(',', ""))
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut counted = Counted::default();
    let mut errors: Vec<(String, f64)> = Vec::new();
    let mut section = Section::Global;
    let mut is_below_errors = false;
    for (n, line) in text.lines() {
        if line.starts_with("----") {
            section = section.next(line);
            is_below_errors = line.contains(" Errors ");
        } else if line.starts_with("=====") {
            is_below_errors = false;
            // What it prints on its way has errors too.
            section = Section::Outside;
        } else if let Some((label, columns)) = label(line).filter(|_| section == Section::Global) {
            // The older form has no separators of thousands, but may have a decimal comma.
            let read: fn(&str) -> Option<f64> = if line.contains('|') { figure } else { number };
            let all = columns.first().and_then(|word| read(word));
            let failed = columns.get(2).and_then(|word| if *word == "-" { Some(0.0) } else { read(word) });
            put(&mut claims, &mut counted, label, [all, failed], Some(n));
        } else if section == Section::Errors {
            match (error(line), errors.last_mut()) {
                (Some(error), _) => errors.push(error),
                // The rest of a long text.
                (None, Some((text, _))) if !line.starts_with('>') => text.push_str(line),
                _ => claims.unread_lines += 1,
            }
        } else {
            let known =
                [">", "[", "waiting:", "Generating", "Parsing", "Reports generated", "Simulation ", "Please open"];
            let is_known = known.iter().any(|known| line.starts_with(known)) || line.ends_with("elapsed");
            // On its way it prints long texts in two lines, too.
            let is_known = is_known || is_below_errors;
            claims.unread_lines += u64::from(!is_known);
        }
    }
    for (text, requests) in &errors {
        put_error(&mut claims, &mut counted, text, *requests);
    }
    finish(claims, &counted)
}

/// One line, or one object of the JSON: of all requests and of the failed ones.
fn put(claims: &mut Claims, counted: &mut Counted, label: &str, [all, failed]: [Option<f64>; 2], n: Option<u64>) {
    let label = label.trim_end_matches(" (ms)");
    let latency = match label {
        "request count" => {
            counted.all = counted.all.or(all);
            counted.failed = counted.failed.or(failed);
            return;
        }
        "mean requests/sec" | "mean throughput (rps)" => {
            counted.per_s = counted.per_s.or(all);
            return;
        }
        "min response time" => Some(Figure::LatencyMin),
        "max response time" => Some(Figure::LatencyMax),
        "mean response time" => Some(Figure::LatencyMean),
        other => other.strip_prefix("response time ").and_then(|rest| {
            let percent = rest.strip_suffix(" percentile")?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            quantile(number(percent)?)
        }),
    };
    if let Some(latency) = latency {
        claims.put(latency, all.map(|ms| ms * 1e6), n);
    }
}

/// `> status.find.is(200), but actually found 403      4962 (99.24%)`: a text, and how many requests it is of.
fn error(line: &str) -> Option<(String, f64)> {
    let (rest, _) = line.strip_prefix('>')?.rsplit_once('(')?;
    let (text, requests) = rest.trim().rsplit_once(' ')?;
    Some((text.trim().to_owned(), figure(requests)?))
}

fn put_error(claims: &mut Claims, counted: &mut Counted, text: &str, requests: f64) {
    // Requests that could not be made have errors, and are not counted.
    let requests = requests.min(counted.failed.unwrap_or(0.0) - counted.told).max(0.0);
    let lowered = text.to_ascii_lowercase();
    let found = lowered.rsplit_once("found").filter(|_| lowered.starts_with("status"));
    if let Some(status) = found.and_then(|(_, rest)| status_in(rest)) {
        add_failed(claims, status, requests, None);
    } else if UNANSWERED.iter().any(|words| lowered.contains(words)) {
        claims.add(Figure::Broken, requests, None);
    } else {
        return;
    }
    counted.told += requests;
    if REQUEST_TIMED_OUT.iter().any(|words| lowered.contains(words)) {
        claims.add(Figure::Timeouts, requests, None);
        // `... to HOST after 60000 ms`
        let ms = lowered.strip_suffix(" ms").and_then(|rest| number(rest.rsplit(' ').next()?));
        claims.put(Figure::Timeout, ms.map(|ms| ms * 1e6), None);
    }
}

/// The figures of all requests: of `stats.json` those of its first group, and `global_stats.json` as a whole.
fn global(value: &Value) -> Option<&Value> {
    [value.get("stats"), Some(value)]
        .into_iter()
        .flatten()
        .find(|stats| stats.get("numberOfRequests").is_some() && stats.get("meanNumberOfRequestsPerSecond").is_some())
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut counted = Counted::default();
    // `stats.json` has its numbers as text.
    let number_of = |name: &str, part: &str| -> Option<f64> {
        let value = global(value)?.get(name)?.get(part)?;
        value.as_f64().or_else(|| match value.as_str()? {
            "-" => Some(0.0),
            text => figure(text),
        })
    };
    let labels = [
        ("request count", "numberOfRequests"),
        ("mean requests/sec", "meanNumberOfRequestsPerSecond"),
        ("min response time", "minResponseTime"),
        ("max response time", "maxResponseTime"),
        ("mean response time", "meanResponseTime"),
    ];
    for (label, name) in labels {
        put(&mut claims, &mut counted, label, [number_of(name, "total"), number_of(name, "ko")], None);
    }
    // Which percentiles it has stands in the configuration alone.
    finish(claims, &counted)
}

fn finish(mut claims: Claims, counted: &Counted) -> Result<Claims, Unreadable> {
    let untold = counted.failed.map(|failed| (failed - counted.told).max(0.0));
    claims.put(Figure::BadStatus, Some(0.0), None);
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::BadOrBroken, untold, None);
    let unanswered = claims.get(Figure::Broken).unwrap_or(0.0) + untold.unwrap_or(0.0);
    claims.put(Figure::Responses, counted.all.map(|all| (all - unanswered).max(0.0)), None);
    claims.put(Figure::InRate, counted.all, None);
    claims.put(Figure::Throughput, counted.per_s, None);
    let length = counted.all.zip(counted.per_s.filter(|per_s| *per_s > 0.0));
    claims.put(Figure::Duration, length.map(|(all, per_s)| all / per_s * 1e9), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    let needed = [
        (Figure::InRate, "`request count`"),
        (Figure::BadOrBroken, "`KO`"),
        (Figure::Throughput, "`mean requests/sec` or `mean throughput`"),
    ];
    require(claims, &needed)
}
