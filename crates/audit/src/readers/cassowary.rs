//! cassowary: the summary on the console, and the JSON of `--json-metrics`.

use super::{JsonReader, Keeps, TextReader, Tool, at, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{go_time_ns, number, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "cassowary",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    // `--disable-keep-alive` is not told.
    keeps: Keeps::Told(|_| None),
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--concurrency"], Figure::Connections, Unit::Number),
        flag(&["-n", "--requests"], Figure::Planned, Unit::Number),
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-t", "--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: is_one,
    begins: |line| value(line, "Server Processing").is_some(),
    ends: |line| value(line, FAILED).is_some(),
    leads: |line| {
        let is_begin = line.starts_with(STARTING) || line.contains(CUT) || value(line, "TCP Connect").is_some();
        is_begin || progress(line).is_some() || length_ns(line).is_some()
    },
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| {
        let one = first(value);
        ["requests_per_second", "failed_requests", "server_processing"].iter().all(|name| one.get(name).is_some())
    },
    read: read_json,
};

const FAILED: &str = "Failed Req";
const STARTING: &str = "Starting Load Test with ";
const CUT: &str = "Failed to read HTTP response body";
/// It gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 5e9;

/// True if an output of cassowary is in it.
fn is_one(text: &Text) -> bool {
    text.lines().any(|(_, line)| value(line, FAILED).is_some())
}

/// What stands behind `NAME....: `; a unit may follow the name.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(name)?;
    let rest = ["(ms)", "(bytes)"].iter().find_map(|unit| rest.strip_prefix(unit)).unwrap_or(rest);
    let (dots, value) = rest.split_once(':')?;
    (!dots.is_empty() && dots.chars().all(|c| c == '.')).then(|| value.trim())
}

/// The percent of ` 100% |████| [1s:0s]  1.256773616s`, of which the length of the run is the end.
fn progress(line: &str) -> Option<f64> {
    let (percent, _) = line.split_once("% ")?;
    number(percent.trim())
}

fn length_ns(line: &str) -> Option<f64> {
    let last = line.rsplit([']', ' ']).next()?;
    go_time_ns(last).filter(|ns| *ns > 0.0)
}

/// What the output counts.
#[derive(Default)]
struct Counted {
    /// Requests that were to be sent, which it prints as the total also where they were not.
    total: Option<f64>,
    /// With a bad status.
    failed: Option<f64>,
    /// Without a complete body, of which it prints a line each and counts none.
    cut: f64,
    /// How far it came by its progress.
    percent: Option<f64>,
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut counted = Counted::default();
    for (n, line) in text.lines() {
        counted.cut += f64::from(u8::from(line.contains(CUT)));
        if line.starts_with(STARTING) {
            claims.put(Figure::Planned, word_after(line, STARTING).and_then(number), Some(n));
            claims.put(Figure::Connections, word_after(line, " using ").and_then(number), Some(n));
        } else if let Some(percent) = progress(line) {
            counted.percent = Some(percent);
            claims.put(Figure::Duration, length_ns(line), Some(n));
        } else if let Some(rest) = value(line, "Total Req") {
            counted.total = number(rest);
        } else if let Some(rest) = value(line, FAILED) {
            counted.failed = number(rest);
        } else if let Some(rest) = value(line, "Req/s") {
            claims.put(Figure::Throughput, number(rest), Some(n));
        } else if length_ns(line).is_some() {
            claims.put(Figure::Duration, length_ns(line), Some(n));
        } else {
            // Of latencies it prints parts, each cut to whole milliseconds.
            let known = ["TCP Connect", "Server Processing", "Content Transfer", "DNS Lookup"];
            let is_known = known.iter().any(|name| value(line, name).is_some());
            claims.unread_lines += u64::from(!is_known && line != "Summary:" && !line.contains(CUT));
        }
    }
    finish(claims, &counted)
}

/// The object itself, or the first of an array.
fn first(value: &Value) -> &Value {
    value.get(0).unwrap_or(value)
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    let value = first(value);
    claims.url = text_at(value, "/base_url");
    claims.put(Figure::Throughput, at(value, "/requests_per_second", 1.0), None);
    let counted = Counted {
        total: at(value, "/total_requests", 1.0),
        failed: at(value, "/failed_requests", 1.0),
        ..Counted::default()
    };
    finish(claims, &counted)
}

fn finish(mut claims: Claims, counted: &Counted) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    // When a time is given it ends with it, and its percents are whole ones.
    let share = counted.percent.map_or(1.0, |percent| ((percent + 1.0) / 100.0).min(1.0));
    let done = counted.total.map(|total| (total * share).round());
    let dropped = counted.total.zip(done).map(|(total, done)| total - done);
    claims.put(Figure::Dropped, dropped.filter(|dropped| *dropped > 0.0), None);
    // It ends itself, without a summary, when a request has no answer at all.
    let cut = done.map_or(0.0, |done| counted.cut.min(done));
    claims.put(Figure::Responses, done.map(|done| done - cut), None);
    claims.put(Figure::Broken, Some(cut), None);
    claims.put(Figure::BadStatus, counted.failed, None);
    claims.put(Figure::InRate, counted.total, None);
    let length = counted.total.zip(claims.get(Figure::Throughput).filter(|rate| *rate > 0.0));
    claims.put(Figure::Duration, length.map(|(n, per_s)| n / per_s * 1e9), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    let needed =
        [(Figure::Responses, "`Total Req`"), (Figure::BadStatus, "`Failed Req`"), (Figure::Throughput, "`Req/s`")];
    require(claims, &needed)
}
