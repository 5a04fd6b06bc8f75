//! bombardier: the statistics as text, and `-o json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{go_time_ns, number, time_ns, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "bombardier",
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
        flag(&["-c", "--connections"], Figure::Connections, Unit::Number),
        flag(&["-n", "--requests"], Figure::Planned, Unit::Number),
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-r", "--rate"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-t", "--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Statistics ") && line.contains("Stdev"),
    ends: |line| line.starts_with("HTTP codes:"),
    leads: |line| line.starts_with("Bombarding ") || line == "Done!" || is_progress(line),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.pointer("/spec/numberOfConnections").is_some() && value.pointer("/result/req2xx").is_some(),
    read: read_json,
};

/// bombardier gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 2e9;

/// True of what it overwrites on its way: `74 / 200   37.00% 368/s`, `00m01s 2s`, `[====>---] 50.00%`.
fn is_progress(line: &str) -> bool {
    let is_time = |word: &str| word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit());
    line.contains(" / ") || line.starts_with('[') || line.split_whitespace().all(is_time)
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let mut errors = false;
    for (n, line) in text.lines() {
        errors |= line.starts_with("Errors:");
        errors &= !line.starts_with("Throughput:");
        let known = errors || line_of(&mut claims, line, n);
        claims.unread_lines += u64::from(!known);
    }
    if let (None, Some(ns), Some(n)) =
        (claims.get(Figure::Duration), claims.get(Figure::DurationAsked), claims.get(Figure::Responses))
    {
        // The text tells the length of a run by time only as it was asked for.
        claims.put(Figure::Duration, (n > 0.0).then_some(ns), None);
    }
    finish(claims)
}

fn line_of(claims: &mut Claims, line: &str, n: u64) -> bool {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["Bombarding", url, ..] => {
            claims.url = Some((*url).to_owned());
            claims.put(Figure::DurationAsked, word_after(line, " for ").and_then(go_time_ns), n);
            claims.put(Figure::Planned, word_after(line, " with ").and_then(number), n);
            claims.put(Figure::Connections, word_after(line, " using ").and_then(number), n);
        }
        ["Reqs/sec", mean, ..] => claims.put(Figure::Throughput, number(mean), n),
        ["Latency", mean, _, max] => {
            claims.put(Figure::LatencyMean, time_ns(mean), n);
            claims.put(Figure::LatencyMax, time_ns(max), n);
        }
        ["50%", value] => claims.put(Figure::LatencyP50, time_ns(value), n),
        ["75%", value] => claims.put(Figure::LatencyP75, time_ns(value), n),
        ["90%", value] => claims.put(Figure::LatencyP90, time_ns(value), n),
        ["95%", value] => claims.put(Figure::LatencyP95, time_ns(value), n),
        ["99%", value] => claims.put(Figure::LatencyP99, time_ns(value), n),
        ["1xx", "-", ..] => {
            let of = |class: &str| word_after(line, class).and_then(number);
            let classes = ["1xx - ", "2xx - ", "3xx - ", "4xx - ", "5xx - "].map(of);
            if let [Some(other), Some(good), Some(redirects), Some(client), Some(server)] = classes {
                put_classes(claims, [other, good, redirects, client, server], n);
            }
        }
        ["others", "-", others] => claims.put(Figure::Broken, number(others), n),
        // Progress, of which the last state stays.
        _ if is_progress(line) => {}
        ["Statistics" | "HTTP" | "Done!" | "Throughput:" | "Latency", ..] => {}
        _ => return false,
    }
    true
}

fn put_classes(claims: &mut Claims, [other, good, redirects, client, server]: [f64; 5], n: Option<u64>) {
    claims.put(Figure::Responses, Some(other + good + redirects + client + server), n);
    claims.put(Figure::Redirects, Some(redirects), n);
    claims.put(Figure::BadStatus, Some(other + client + server), n);
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    claims.url = text_at(value, "/spec/url");
    let result = |name: &str, scale| at(value, &format!("/result/{name}"), scale);
    let classes = ["req1xx", "req2xx", "req3xx", "req4xx", "req5xx"].map(|name| result(name, 1.0));
    if let [Some(other), Some(good), Some(redirects), Some(client), Some(server)] = classes {
        put_classes(&mut claims, [other, good, redirects, client, server], None);
    }
    claims.put(Figure::Broken, result("others", 1.0), None);
    claims.put(Figure::Duration, result("timeTakenSeconds", 1e9), None);
    claims.put(Figure::Throughput, result("rps/mean", 1.0), None);
    claims.put(Figure::Connections, at(value, "/spec/numberOfConnections", 1.0), None);
    claims.put(Figure::RateOffered, at(value, "/spec/rate", 1.0), None);
    claims.put(Figure::Timeout, at(value, "/spec/timeoutSeconds", 1e9), None);
    let latencies = [
        (Figure::LatencyMean, "latency/mean"),
        (Figure::LatencyMax, "latency/max"),
        (Figure::LatencyP50, "latency/percentiles/50"),
        (Figure::LatencyP75, "latency/percentiles/75"),
        (Figure::LatencyP90, "latency/percentiles/90"),
        (Figure::LatencyP95, "latency/percentiles/95"),
        (Figure::LatencyP99, "latency/percentiles/99"),
    ];
    for (figure, name) in latencies {
        claims.put(figure, result(name, 1e3), None);
    }
    finish(claims)
}

fn finish(mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    require(
        claims,
        &[(Figure::Throughput, "`Reqs/sec`"), (Figure::Responses, "`HTTP codes:`"), (Figure::Broken, "`others`")],
    )
}
