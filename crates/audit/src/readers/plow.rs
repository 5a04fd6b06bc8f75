//! plow: the summary on the console, printed again and again while the load runs, and `--json`. The last one counts.

use super::{JsonReader, Keeps, TextReader, Tool, at, quantile, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{go_time_ns, number, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "plow",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--concurrency"], Figure::Connections, Unit::Number),
        flag(&["-n", "--requests"], Figure::Planned, Unit::Number),
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["--rate"], Figure::RateOffered, Unit::PerSecond),
        flag(&["--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: is_one,
    begins: |line| line.starts_with("Benchmarking "),
    ends: |_| false,
    leads: is_head,
    so_far: Some(count),
    parts: None,
    read,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.pointer("/Summary/Elapsed").is_some() && value.pointer("/Summary/RPS").is_some(),
    read: read_json,
};

/// Of the time that it prints.
const STEP_NS: f64 = 1e8;
const SUMMARY: &str = "Summary:";
const ERRORS: &str = "Error:";
const PERCENTILES: &str = "Latency Percentile:";
const HISTOGRAM: &str = "Latency Histogram:";

/// True if an output of plow is in it.
fn is_one(text: &Text) -> bool {
    [PERCENTILES, HISTOGRAM].iter().all(|heading| text.lines().any(|(_, line)| line == *heading))
}

/// What stands above the figures.
fn is_head(line: &str) -> bool {
    line == SUMMARY
        || line.starts_with("Elapsed ")
        || line.starts_with("Benchmarking ")
        || line.starts_with("@ Real-time")
}

/// `Count 969657`, which also has a bar while a number of requests is on its way.
fn count(line: &str) -> Option<f64> {
    let mut words = line.split_whitespace();
    let is_count = words.next() == Some("Count");
    words.next().filter(|_| is_count).and_then(number)
}

/// The part of a summary that a line stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Head,
    Errors,
    Percentiles,
    Histogram,
}

/// What a summary counts.
#[derive(Default)]
struct Counted {
    /// Requests, whatever became of them.
    all: Option<f64>,
    /// Responses by the hundreds of their status.
    classes: [f64; 6],
    errors: f64,
    elapsed_ns: Option<f64>,
    /// The percentiles over the next line.
    percents: Vec<f64>,
}

fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let place = |found: Option<(u64, &str)>| found.map_or(u64::MAX, |(n, _)| n);
    let first = place(text.lines().find(|(_, line)| *line == SUMMARY));
    let last = place(text.lines().filter(|(_, line)| *line == SUMMARY).last());
    let mut counted = Counted::default();
    let mut section = Section::Head;
    for (n, line) in text.lines().filter(|(n, _)| *n < first || *n >= last) {
        section = match line {
            SUMMARY => Section::Head,
            ERRORS => Section::Errors,
            PERCENTILES => Section::Percentiles,
            HISTOGRAM => Section::Histogram,
            _ if line.starts_with("Statistics ") => Section::Head,
            _ => {
                let is_known = line_of(&mut claims, &mut counted, section, line, n);
                claims.unread_lines += u64::from(!is_known);
                section
            }
        };
    }
    finish(claims, &counted)
}

fn line_of(claims: &mut Claims, counted: &mut Counted, section: Section, line: &str, n: u64) -> bool {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    match (section, words.as_slice()) {
        (Section::Errors, [errors, text, ..]) if text.starts_with('"') => {
            let Some(errors) = number(errors) else { return false };
            put_error(claims, counted, line, errors);
        }
        (Section::Percentiles, [first, ..]) if first.starts_with('P') => {
            counted.percents = words.iter().filter_map(|word| number(word.strip_prefix('P')?)).collect();
        }
        (Section::Percentiles, values) => {
            for (percent, value) in counted.percents.iter().zip(values) {
                if let Some(figure) = quantile(*percent) {
                    claims.put(figure, length_ns(value), n);
                }
            }
        }
        (Section::Histogram, _) => {}
        (_, ["Benchmarking", url, ..]) => {
            claims.url = Some((*url).to_owned());
            claims.put(Figure::Connections, word_after(line, " using ").and_then(number), n);
            claims.put(Figure::Planned, word_after(line, " with ").and_then(number), n);
            claims.put(Figure::DurationAsked, word_after(line, " for ").and_then(go_time_ns), n);
        }
        (_, ["Elapsed", elapsed, ..]) => counted.elapsed_ns = length_ns(elapsed),
        (_, ["Count", all, ..]) => counted.all = number(all).filter(|all| *all <= FIGURE_MAX),
        (_, ["Concurrency", connections]) => claims.put(Figure::Connections, number(connections), n),
        (_, ["RPS", rate]) => claims.put(Figure::Throughput, number(rate), n),
        (_, ["Latency", min, mean, _, max]) => {
            claims.put(Figure::LatencyMin, length_ns(min), n);
            claims.put(Figure::LatencyMean, length_ns(mean), n);
            claims.put(Figure::LatencyMax, length_ns(max), n);
        }
        (_, ["RPS" | "Reads" | "Writes" | "@", ..]) => {}
        (_, [class, responses]) => return put_class(counted, class, number(responses)),
        _ => return false,
    }
    true
}

/// `2xx`, and how many responses it is of; false if it is none.
fn put_class(counted: &mut Counted, class: &str, responses: Option<f64>) -> bool {
    let place = class.strip_suffix("xx").and_then(|digit| digit.parse::<usize>().ok());
    let class = place.and_then(|place| counted.classes.get_mut(place));
    let (Some(class), Some(responses)) = (class, responses) else { return false };
    *class = responses.clamp(0.0, FIGURE_MAX);
    true
}

fn put_error(claims: &mut Claims, counted: &mut Counted, text: &str, errors: f64) {
    counted.errors += errors;
    if text.contains("timeout") || text.contains("timed out") {
        claims.add(Figure::Timeouts, errors, None);
    }
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let object = |pointer: &str| value.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    // `--seconds` makes numbers of its times.
    let length = |value: &Value| value.as_f64().map(|seconds| seconds * 1e9).or_else(|| length_ns(value.as_str()?));
    let mut counted = Counted {
        all: at(value, "/Summary/Count", 1.0),
        elapsed_ns: value.pointer("/Summary/Elapsed").and_then(length),
        ..Counted::default()
    };
    for (class, responses) in object("/Summary/Counts") {
        claims.unread_lines += u64::from(!put_class(&mut counted, class, responses.as_f64()));
    }
    for (text, errors) in object("/Error") {
        put_error(&mut claims, &mut counted, text, errors.as_f64().unwrap_or(0.0).clamp(0.0, FIGURE_MAX));
    }
    for (name, latency) in object("/Percentiles") {
        let figure = name.strip_prefix('P').and_then(number).and_then(quantile);
        if let Some(figure) = figure {
            claims.put(figure, length(latency), None);
        }
    }
    for (figure, name) in [
        (Figure::LatencyMin, "/Statistics/Latency/Min"),
        (Figure::LatencyMean, "/Statistics/Latency/Mean"),
        (Figure::LatencyMax, "/Statistics/Latency/Max"),
    ] {
        claims.put(figure, value.pointer(name).and_then(length), None);
    }
    claims.put(Figure::Throughput, at(value, "/Summary/RPS", 1.0), None);
    claims.put(Figure::Connections, at(value, "/Summary/Concurrency", 1.0), None);
    finish(claims, &counted)
}

/// `1m2.5s`; a number alone is in seconds, by `--seconds`.
fn length_ns(word: &str) -> Option<f64> {
    number(word).map(|seconds| seconds * 1e9).or_else(|| go_time_ns(word))
}

fn finish(mut claims: Claims, counted: &Counted) -> Result<Claims, Unreadable> {
    let [_, other, good, redirects, client, server] = counted.classes;
    let classes = other + good + redirects + client + server;
    // What came too late has an error, and also the status 200 that a response has before it is read.
    let twice = counted.all.map(|all| (classes + counted.errors - all).clamp(0.0, good));
    claims.put(Figure::Responses, twice.map(|twice| classes - twice), None);
    claims.put(Figure::Redirects, Some(redirects), None);
    claims.put(Figure::BadStatus, Some(other + client + server), None);
    let responses = claims.get(Figure::Responses);
    claims.put(Figure::Broken, counted.all.zip(responses).map(|(all, responses)| (all - responses).max(0.0)), None);
    // The time is cut to tenths of a second, its rate is not.
    let by_rate = counted.all.zip(claims.get(Figure::Throughput).filter(|rate| *rate > 0.0));
    let by_rate = by_rate.map(|(all, rate)| all / rate * 1e9);
    let is_closer = |(elapsed, by_rate): &(f64, f64)| (elapsed - by_rate).abs() <= STEP_NS;
    let length = counted.elapsed_ns.zip(by_rate).filter(is_closer).map(|(_, by_rate)| by_rate);
    claims.put(Figure::Duration, length.or(counted.elapsed_ns), None);
    // Its rate is of the requests that failed, too.
    claims.put(Figure::InRate, counted.all, None);
    let needed = [(Figure::InRate, "`Count`"), (Figure::Throughput, "`RPS`"), (Figure::Duration, "`Elapsed`")];
    require(claims, &needed)
}
