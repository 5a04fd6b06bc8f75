//! loadtest of npm: its summary, with and without what its logger puts in front, and its result as JSON.

use super::{JsonReader, Keeps, TextReader, Tool, add_failed, at, quantile, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{number, time_ns};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "loadtest",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    keeps: Keeps::Told(|_| None),
    called: &["loadtest.js"],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-n", "--maxRequests"], Figure::Planned, Unit::Number),
        flag(&["-c", "--concurrency"], Figure::Connections, Unit::Number),
        flag(&["-t", "--maxSeconds"], Figure::DurationAsked, Unit::Time),
        flag(&["--rps"], Figure::RateOffered, Unit::PerSecond),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |text| text.lines().any(|(_, line)| line.contains("Total errors:")),
    begins: |line| unmarked(line).starts_with("Completed requests:"),
    ends: |line| unmarked(line).starts_with("Total errors:"),
    leads: |line| HEADING.iter().any(|label| unmarked(line).starts_with(label)),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("totalRequests").is_some() && value.get("totalErrors").is_some(),
    read: read_json,
};

/// loadtest prints percentiles in whole milliseconds, and the rate as a whole number.
const RESOLUTION_NS: f64 = 1e6;
const RATE_ROUNDED: f64 = 0.5;
/// What it prints of its settings, above the results.
const HEADING: [&str; 8] = [
    "Target URL:",
    "Max requests:",
    "Max time (s):",
    "Concurrency level:",
    "Concurrent clients:",
    "Running on cores:",
    "Agent:",
    "Target rps:",
];

/// Versions before 6 log each line: `[DATE] INFO Total errors: 0`.
fn unmarked(line: &str) -> &str {
    line.split_once("] INFO").or_else(|| line.split_once("INFO ")).map_or(line, |(_, rest)| rest).trim()
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut codes: Vec<(&str, f64)> = Vec::new();
    for (n, line) in text.lines() {
        let line = unmarked(line);
        match error_code(line) {
            Some(code) => codes.push(code),
            None => claims.unread_lines += u64::from(!line_of(&mut claims, line, n)),
        }
    }
    finish(claims, codes.into_iter())
}

/// `  503:   516 errors`; the code can have a part of the user's own, `500:CODE`.
fn error_code(line: &str) -> Option<(&str, f64)> {
    let (code, rest) = line.rsplit_once(':')?;
    Some((code, number(rest.trim().strip_suffix(" errors")?)?))
}

fn line_of(claims: &mut Claims, line: &str, n: u64) -> bool {
    let n = Some(n);
    if let Some((percent, latency)) = line.split_once('%').filter(|(percent, _)| number(percent.trim()).is_some()) {
        let latency = latency.trim().trim_end_matches("(longest request)");
        let figure = match percent.trim() {
            "100" => Some(Figure::LatencyMax),
            other => number(other).and_then(quantile),
        };
        if let Some(figure) = figure {
            claims.put(figure, time_ns(latency), n);
        }
        return true;
    }
    let Some((label, value)) = line.split_once(':') else {
        return line.is_empty() || line.starts_with("Percentage of");
    };
    let value = value.trim();
    let is_over = claims.printed(Figure::InRate).is_some();
    match label {
        "Target URL" => claims.url = claims.url.take().or_else(|| Some(value.to_owned())),
        "Max requests" => claims.put(Figure::Planned, number(value), n),
        "Max time (s)" => claims.put(Figure::DurationAsked, number(value).map(|s| s * 1e9), n),
        "Concurrency level" | "Concurrent clients" => claims.put(Figure::Connections, number(value), n),
        // The older versions have the same words for the rate that was asked for, above, and for the one that was reached.
        "Target rps" => claims.put(Figure::RateOffered, number(value), n),
        "Requests per second" if !is_over => claims.put(Figure::RateOffered, number(value), n),
        "Requests per second" | "Effective rps" => claims.put(Figure::Throughput, number(value), n),
        "Completed requests" => claims.put(Figure::InRate, number(value), n),
        "Total errors" => claims.put(Figure::BadOrBroken, number(value), n),
        "Total time" => claims.put(Figure::Duration, time_ns(value), n),
        "Mean latency" => claims.put(Figure::LatencyMean, time_ns(value), n),
        // Progress, once every few seconds.
        "Running on cores" | "Agent" | "Requests" | "Errors" => {}
        _ => return false,
    }
    true
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.url = text_at(value, "/url");
    let figures = [
        (Figure::InRate, "/totalRequests", 1.0),
        (Figure::BadOrBroken, "/totalErrors", 1.0),
        (Figure::Duration, "/totalTimeSeconds", 1e9),
        (Figure::Throughput, "/rps", 1.0),
        (Figure::Connections, "/concurrency", 1.0),
        (Figure::LatencyMean, "/meanLatencyMs", 1e6),
        (Figure::LatencyMin, "/minLatencyMs", 1e6),
        (Figure::LatencyMax, "/maxLatencyMs", 1e6),
        (Figure::LatencyP50, "/percentiles/50", 1e6),
        (Figure::LatencyP90, "/percentiles/90", 1e6),
        (Figure::LatencyP95, "/percentiles/95", 1e6),
        (Figure::LatencyP99, "/percentiles/99", 1e6),
    ];
    for (figure, pointer, scale) in figures {
        claims.put(figure, at(value, pointer, scale), None);
    }
    // What was not asked for is 0 or null.
    let asked = [
        (Figure::Planned, "/maxRequests", 1.0),
        (Figure::DurationAsked, "/maxSeconds", 1e9),
        (Figure::RateOffered, "/requestsPerSecond", 1.0),
    ];
    for (figure, pointer, scale) in asked {
        claims.put(figure, at(value, pointer, scale).filter(|value| *value > 0.0), None);
    }
    let codes = value.get("errorCodes").and_then(Value::as_object).into_iter().flatten();
    let codes: Vec<(&str, f64)> = codes.filter_map(|(code, n)| Some((code.as_str(), n.as_f64()?))).collect();
    finish(claims, codes.into_iter())
}

fn finish<'a>(mut claims: Claims, codes: impl Iterator<Item = (&'a str, f64)>) -> Result<Claims, Unreadable> {
    claims.mode = Some(if claims.get(Figure::RateOffered).is_some() { Mode::Open } else { Mode::Closed });
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    let counted = claims.printed(Figure::InRate).zip(claims.printed(Figure::BadOrBroken));
    let mut statuses = 0.0;
    for (code, n) in codes {
        // -1 is no answer; version 8 has it for bad statuses too.
        if let Ok(status @ 100..=599) = code.split(':').next().unwrap_or(code).parse::<u16>() {
            statuses += n;
            add_failed(&mut claims, status, n, None);
        }
    }
    if let Some((all, errors)) = counted {
        let untold = (errors - statuses).max(0.0);
        claims.put(Figure::Broken, Some(0.0), None);
        claims.replace(Figure::BadOrBroken, untold);
        claims.put(Figure::BadStatus, Some(0.0), None);
        claims.put(Figure::Responses, Some((all - untold).max(0.0)), None);
    }
    let by_time = claims.printed(Figure::InRate).zip(claims.printed(Figure::Duration).filter(|ns| *ns > 0.0));
    let (exact, printed) = (by_time.map(|(n, ns)| n / ns * 1e9), claims.printed(Figure::Throughput));
    if let Some(exact) = exact.filter(|exact| printed.is_some_and(|printed| (exact - printed).abs() <= RATE_ROUNDED)) {
        claims.replace(Figure::Throughput, exact);
    }
    let needed = [
        (Figure::InRate, "`Completed requests:`"),
        (Figure::BadOrBroken, "`Total errors:`"),
        (Figure::Duration, "`Total time:`"),
        (Figure::Throughput, "`Effective rps:` or `Requests per second:`"),
    ];
    require(claims, &needed)
}
