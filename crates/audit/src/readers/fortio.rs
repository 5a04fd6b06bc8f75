//! fortio: what it prints, and what `-json` writes.

use super::{JsonReader, Keeps, TextReader, Tool, at, put_statuses, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{go_time_ns, number, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "fortio",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Go,
    flags: &[
        flag(&["-c"], Figure::Connections, Unit::Number),
        flag(&["-n"], Figure::Planned, Unit::Number),
        flag(&["-t"], Figure::DurationAsked, Unit::Time),
        flag(&["-qps"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-timeout"], Figure::Timeout, Unit::Time),
        flag(&["-r"], Figure::Resolution, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Starting at ") && line.contains(" qps with "),
    ends: |line| line.starts_with("Ended after ") && line.contains(" qps="),
    leads: |line| line.starts_with("Fortio ") || is_log(line),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("ActualQPS").is_some() && value.get("DurationHistogram").is_some(),
    read: read_json,
};

/// fortio gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 3e9;
/// Its percentiles lie on a line between the edges of buckets, which are this wide or more, unless told otherwise.
const RESOLUTION_NS: f64 = 1e6;

/// Lines that hold nothing to be judged.
const KNOWN: [&str; 16] = [
    "Starting at ",
    "Fortio ",
    "Aggregated Sleep Time",
    "Sleep times",
    "Jitter: ",
    "Uniform: ",
    "Error cases",
    "Connection time",
    "# ",
    "> ",
    ">= ",
    "WARNING ",
    "[",
    "IP addresses",
    "All done ",
    "Successfully wrote ",
];

/// What it logs while it runs: `14:36:31 I httprunner.go:81> ...`, later with colours and `[INF]`, or as JSON.
fn is_log(line: &str) -> bool {
    let is_time = |word: &str| word.len() >= 8 && word.as_bytes()[2] == b':' && word.as_bytes()[5] == b':';
    line.starts_with("{\"ts\":") || (line.contains('>') && line.split_whitespace().next().is_some_and(is_time))
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    // Each time is a histogram of its own.
    let mut heading = "";
    let mut sizes = [None, None];
    for (n, line) in text.lines() {
        if let Some((name, figures)) = line.split_once(" : count ") {
            heading = name;
            let of = |label: &str| word_after(figures, label).and_then(number);
            match name {
                "Aggregated Function Time" => {
                    for (figure, label) in
                        [(Figure::LatencyMean, " avg "), (Figure::LatencyMin, " min "), (Figure::LatencyMax, " max ")]
                    {
                        claims.put(figure, of(label).map(|seconds| seconds * 1e9), Some(n));
                    }
                }
                "Response Header Sizes" => sizes[0] = of(" avg "),
                "Response Body/Total Sizes" => sizes[1] = of(" avg "),
                _ => {}
            }
        } else if !line_of(&mut claims, heading, line, n) {
            let is_address =
                line.split_once(": ").is_some_and(|(address, n)| address.contains(':') && number(n).is_some());
            let is_known = is_log(line) || is_address || KNOWN.iter().any(|known| line.starts_with(known));
            claims.unread_lines += u64::from(!is_known);
        }
    }
    // Its fast client counts heads as well.
    claims.put(Figure::BodyBytes, sizes[1].map(|total| total - sizes[0].unwrap_or(0.0)), None);
    if !claims.status.is_empty() {
        claims.count_statuses();
    } else if claims.printed(Figure::Broken).is_some() {
        for none in [Figure::Responses, Figure::BadStatus, Figure::Redirects] {
            claims.put(none, Some(0.0), None);
        }
    }
    finish(claims, [(Figure::Throughput, "`qps=`"), (Figure::Duration, "`Ended after`"), (Figure::Responses, "`Code`")])
}

fn line_of(claims: &mut Claims, heading: &str, line: &str, n: u64) -> bool {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["Starting", "at", rate, "qps", "with", threads, ..] => {
            claims.put(Figure::RateOffered, number(rate), n);
            claims.put(Figure::Connections, number(threads), n);
            let asked = word_after(line, " for ").and_then(go_time_ns);
            claims.put(Figure::DurationAsked, asked, n);
            claims.put(Figure::Planned, word_after(line, " for exactly ").and_then(number), n);
        }
        ["Ended", "after", length, ":", ..] => {
            claims.put(Figure::Duration, go_time_ns(length), n);
            claims.put(Figure::Throughput, word_after(line, " qps=").and_then(number), n);
        }
        ["#", "target", share, value] if heading == "Aggregated Function Time" => {
            if let Some(figure) = percentile(share.trim_end_matches('%').parse().ok()) {
                claims.put(figure, number(value).map(|seconds| seconds * 1e9), n);
            }
        }
        ["Sockets", "used:", sockets, ..] => claims.put(Figure::ConnectionsOpened, number(sockets), n),
        ["Code", status, ":", responses, ..] => {
            let Some(responses) = number(responses).filter(|n| *n <= FIGURE_MAX) else { return false };
            match status.parse::<u16>() {
                Ok(status @ 100..=599) => *claims.status.entry(status).or_default() += responses as u64,
                _ => claims.add(Figure::Broken, responses, n),
            }
        }
        ["Fortio", .., url] if line.contains(" queries per second, ") => claims.url = Some((*url).to_owned()),
        _ => return false,
    }
    true
}

fn percentile(share: Option<f64>) -> Option<Figure> {
    Some(match share? {
        50.0 => Figure::LatencyP50,
        75.0 => Figure::LatencyP75,
        90.0 => Figure::LatencyP90,
        95.0 => Figure::LatencyP95,
        99.0 => Figure::LatencyP99,
        99.9 => Figure::LatencyP999,
        _ => return None,
    })
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.url = text_at(value, "/URL");
    let rate = text_at(value, "/RequestedQPS").and_then(|text| number(&text));
    claims.put(Figure::RateOffered, rate.filter(|rate| *rate > 0.0), None);
    claims.put(Figure::Throughput, at(value, "/ActualQPS", 1.0), None);
    claims.put(Figure::Duration, at(value, "/ActualDuration", 1.0), None);
    claims.put(Figure::Connections, at(value, "/NumThreads", 1.0), None);
    let head = at(value, "/HeaderSizes/Avg", 1.0).unwrap_or(0.0);
    claims.put(Figure::BodyBytes, at(value, "/Sizes/Avg", 1.0).map(|total| total - head), None);
    for (figure, name) in [(Figure::LatencyMean, "Avg"), (Figure::LatencyMin, "Min"), (Figure::LatencyMax, "Max")] {
        claims.put(figure, at(value, &format!("/DurationHistogram/{name}"), 1e9), None);
    }
    let percentiles = value.pointer("/DurationHistogram/Percentiles").and_then(Value::as_array);
    for entry in percentiles.into_iter().flatten() {
        let Some(figure) = percentile(entry.get("Percentile").and_then(Value::as_f64)) else { continue };
        claims.put(figure, at(entry, "/Value", 1e9), None);
    }
    if value.get("RetCodes").is_some_and(Value::is_object) {
        put_statuses(&mut claims, value.get("RetCodes"), Value::as_f64);
    }
    finish(
        claims,
        [(Figure::Throughput, "ActualQPS"), (Figure::Duration, "ActualDuration"), (Figure::Responses, "RetCodes")],
    )
}

fn finish(mut claims: Claims, needed: [(Figure, &'static str); 3]) -> Result<Claims, Unreadable> {
    // Connections wait for their answers, whatever the rate.
    claims.mode = Some(Mode::Closed);
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    claims.put_usual(Figure::Resolution, RESOLUTION_NS);
    require(claims, &needed)
}
