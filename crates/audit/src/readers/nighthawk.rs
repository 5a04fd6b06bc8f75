//! Nighthawk: its human output and `--output-format json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{number, time_ns, word_after};
use crate::text::Text;
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) const TOOL: Tool = Tool {
    name: "nighthawk",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    keeps: Keeps::Always,
    called: &["nighthawk_client"],
    flags: FLAGS,
};

/// Its rate and connections are for each of its event loops, the number of which may be `auto`: the output has them for all.
const FLAGS: Flags = Flags { style: Style::Getopt, flags: &[flag(&["--duration"], Figure::DurationAsked, Unit::Time)] };

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Nighthawk - A layer 7"),
    ends: |line| line.starts_with("Counter ") && line.ends_with("Per second"),
    leads: |line| line.starts_with('[') && line.contains("]["),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader { fits: |value| global(value).is_some(), read: read_json };

/// Sections of latencies from the one of all responses on, by the names of the output and of the JSON.
const OF_ALL: [&str; 2] = ["Request start to response end", "benchmark_http_client.request_to_response"];
const OF_GOOD: &str = "benchmark_http_client.latency_2xx";
/// What waits for a connection is held back by default.
const BLOCKING: &str = "Blocking.";
const FIGURES: [(f64, Figure); 6] = [
    (0.0, Figure::LatencyMin),
    (0.5, Figure::LatencyP50),
    (0.75, Figure::LatencyP75),
    (0.9, Figure::LatencyP90),
    (0.95, Figure::LatencyP95),
    (1.0, Figure::LatencyMax),
];

/// What was counted, and what each event loop says at its end.
#[derive(Default)]
struct Counted {
    /// Counters by name: value, and per second where that is printed.
    counters: BTreeMap<String, (f64, Option<f64>)>,
    completed: Option<f64>,
    completed_per_s: Option<f64>,
}

/// `0s 000ms 084us`.
fn spelled_ns(words: &str) -> Option<f64> {
    let parts: Option<Vec<f64>> = words.split_whitespace().map(time_ns).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.iter().sum())
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let has_all = text.lines().any(|(_, line)| OF_ALL.iter().any(|name| line.starts_with(name)));
    let wanted: &[&str] = if has_all { &OF_ALL } else { &[OF_GOOD] };
    let mut counted = Counted::default();
    let mut section = "";
    for (n, line) in text.lines() {
        if line.starts_with("Counter ") || line.contains(" samples)") || is_old_heading(line) {
            section = line;
        } else if line.starts_with('[') {
            logged(&mut claims, &mut counted, line, n);
        } else if section.starts_with("Counter ") {
            claims.unread_lines += u64::from(!counted.counter(line));
        } else if !section.is_empty() {
            if wanted.iter().any(|name| section.starts_with(name)) {
                put_latency(&mut claims, line, n);
            }
        } else {
            claims.unread_lines += u64::from(!line.starts_with("Nighthawk - "));
        }
    }
    claims.mode = mode(&claims, text.has(BLOCKING));
    finish(claims, counted)
}

/// Before 2020 the number of samples had a line of its own.
fn is_old_heading(line: &str) -> bool {
    ["Queueing and connection setup", "Request start to", "Initiation to completion"]
        .iter()
        .any(|h| line.starts_with(h))
}

/// Connections hold the load back, unless it is told otherwise.
fn mode(claims: &Claims, has_blocking: bool) -> Option<Mode> {
    match claims.command.as_deref() {
        Some(command) if command.contains("--open-loop") => Some(Mode::Open),
        Some(_) => Some(Mode::Closed),
        None => has_blocking.then_some(Mode::Closed),
    }
}

/// `[12:25:26.352783][854812][I] Global targets: 64 connections and 1000 calls per second.`
fn logged(claims: &mut Claims, counted: &mut Counted, line: &str, n: u64) {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    let before = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        number(words.get(at.checked_sub(1)?)?)
    };
    if line.contains("Global targets: ") {
        claims.put(Figure::Connections, before("connections"), n);
        claims.put(Figure::RateOffered, before("calls"), n);
    } else if line.contains("event loops. ") {
        claims.put(Figure::Threads, before("threads"), n);
        claims.put(Figure::DurationAsked, before("seconds.").map(|seconds| seconds * 1e9), n);
    } else if line.contains("Stopping after ") {
        let of = |label: &str| word_after(line, label).and_then(|word| number(word.trim_end_matches('.')));
        claims.put(Figure::Duration, of("Stopping after ").map(|ms| ms * 1e6), n);
        // Each event loop says so of itself.
        let sum = |so_far: Option<f64>, more: Option<f64>| more.map(|more| so_far.unwrap_or(0.0) + more).or(so_far);
        counted.completed = sum(counted.completed, of("Completed: "));
        counted.completed_per_s = sum(counted.completed_per_s, of("Completion rate was "));
    }
}

fn put_latency(claims: &mut Claims, line: &str, n: u64) {
    let n = Some(n);
    for part in line.split('|') {
        let Some((name, value)) = part.split_once(':') else { continue };
        let figure = match name.trim() {
            "min" => Figure::LatencyMin,
            "mean" => Figure::LatencyMean,
            "max" => Figure::LatencyMax,
            _ => continue,
        };
        claims.put(figure, spelled_ns(value), n);
    }
    let Some(share) = line.split_whitespace().next().and_then(number) else { return };
    // Behind the share stands how many samples are below.
    let value = line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    let figure = FIGURES.iter().find(|(q, _)| *q == share).map(|(_, figure)| *figure);
    if let Some(figure) = figure {
        claims.put(figure, spelled_ns(&value), n);
    }
}

impl Counted {
    /// `benchmark.http_2xx    9994    1998.80`; before 2020 the names began with `client.`.
    fn counter(&mut self, line: &str) -> bool {
        let [name, value, per_s] = line.split_whitespace().collect::<Vec<_>>()[..] else { return false };
        let (Some(value), Some(per_s)) = (number(value), number(per_s)) else { return false };
        self.counters.insert(short(name), (value, Some(per_s)));
        true
    }

    fn of(&self, names: &[&str]) -> Option<f64> {
        let values = names.iter().filter_map(|name| self.counters.get(*name));
        let sum: f64 = values.map(|(value, _)| value).sum();
        (!self.counters.is_empty()).then_some(sum)
    }
}

fn short(name: &str) -> String {
    let name = name.strip_prefix("client.").unwrap_or(name);
    name.strip_prefix("benchmark.").unwrap_or(name).to_owned()
}

const RESPONSES: [&str; 6] = ["http_1xx", "http_2xx", "http_3xx", "http_4xx", "http_5xx", "http_xxx"];

fn global(value: &Value) -> Option<&Value> {
    value.get("options")?;
    let results = value.get("results")?.as_array()?;
    let is_global = |one: &&Value| one.get("name").and_then(Value::as_str) == Some("global");
    results.iter().find(|one| is_global(one) && one.get("statistics").is_some() && one.get("counters").is_some())
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    let Some(global) = global(value) else { return require(claims, &[(Figure::Responses, "`global`")]) };
    claims.url = text_at(value, "/options/uri");
    let is_open = value.pointer("/options/open_loop").and_then(Value::as_bool) == Some(true);
    claims.mode = Some(if is_open { Mode::Open } else { Mode::Closed });
    // One event loop has no result beside the global one.
    let results = value.get("results").and_then(Value::as_array).map_or(0, Vec::len);
    let loops = results.saturating_sub(1).max(1) as f64;
    claims.put(Figure::RateOffered, at(value, "/options/requests_per_second", loops).filter(|rate| *rate > 0.0), None);
    claims.put(Figure::Connections, at(value, "/options/connections", loops), None);
    claims.put(Figure::Threads, Some(loops), None);
    claims.put(Figure::DurationAsked, text_at(value, "/options/duration").as_deref().and_then(time_ns), None);
    claims.put(Figure::Duration, text_at(global, "/execution_duration").as_deref().and_then(time_ns), None);
    let statistics: Vec<&Value> = global
        .get("statistics")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|one| samples(one) > 0.0)
        .collect();
    let of = |id: &str| statistics.iter().find(|one| one.get("id").and_then(Value::as_str) == Some(id)).copied();
    if let Some(statistic) = of(OF_ALL[1]).or_else(|| of(OF_GOOD)) {
        put_statistic(&mut claims, statistic);
    }
    let mut counted = Counted::default();
    for counter in global.get("counters").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(name), Some(n)) = (text_at(counter, "/name"), text_at(counter, "/value").and_then(|n| number(&n)))
        {
            counted.counters.insert(short(&name), (n, None));
        }
    }
    finish(claims, counted)
}

fn samples(statistic: &Value) -> f64 {
    text_at(statistic, "/count").and_then(|n| number(&n)).unwrap_or(0.0)
}

fn put_statistic(claims: &mut Claims, statistic: &Value) {
    let ns = |value: &Value, pointer: &str| text_at(value, pointer).as_deref().and_then(time_ns);
    claims.put(Figure::LatencyMean, ns(statistic, "/mean"), None);
    claims.put(Figure::LatencyMin, ns(statistic, "/min"), None);
    claims.put(Figure::LatencyMax, ns(statistic, "/max"), None);
    for entry in statistic.get("percentiles").and_then(Value::as_array).into_iter().flatten() {
        let share = entry.get("percentile").and_then(Value::as_f64);
        if let Some((_, figure)) = FIGURES.iter().find(|(q, _)| Some(*q) == share) {
            claims.put(*figure, ns(entry, "/duration"), None);
        }
    }
}

fn finish(mut claims: Claims, counted: Counted) -> Result<Claims, Unreadable> {
    let responses = counted.of(&RESPONSES);
    claims.put(Figure::Responses, responses.or(counted.completed), None);
    claims.put(Figure::Redirects, counted.of(&["http_3xx"]), None);
    claims.put(Figure::BadStatus, counted.of(&["http_1xx", "http_4xx", "http_5xx", "http_xxx"]), None);
    claims.put(Figure::Broken, counted.of(&["stream_resets", "pool_connection_failure"]), None);
    // What found no connection was not sent.
    claims.put(Figure::Dropped, counted.of(&["pool_overflow"]), None);
    let rates = RESPONSES.iter().filter_map(|name| counted.counters.get(*name)?.1);
    let printed = counted.counters.values().any(|(_, per_s)| per_s.is_some()).then(|| rates.sum::<f64>());
    let (n, ns) = (claims.get(Figure::Responses), claims.get(Figure::Duration).filter(|ns| *ns > 0.0));
    let computed = n.zip(ns).map(|(n, ns)| n / ns * 1e9);
    claims.put(Figure::Throughput, printed.or(counted.completed_per_s).or(computed), None);
    // Without its log, the counters and their rates have the time.
    let rate = claims.get(Figure::Throughput).filter(|rate| *rate > 0.0);
    claims.put(Figure::Duration, n.zip(rate).map(|(n, rate)| n / rate * 1e9), None);
    require(
        claims,
        &[
            (Figure::Responses, "`Counter`, `http_2xx`"),
            (Figure::Throughput, "`Per second`"),
            (Figure::Duration, "`Stopping after`"),
        ],
    )
}
