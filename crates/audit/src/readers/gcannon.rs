//! gcannon: its text and `--json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{count, number, time_ns, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "gcannon",
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
        flag(&["-c"], Figure::Connections, Unit::Number),
        flag(&["-t"], Figure::Threads, Unit::Number),
        flag(&["-d"], Figure::DurationAsked, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| ["gcannon v", "gcannon \u{2014} "].iter().any(|name| line.starts_with(name)),
    ends: |line| line.starts_with("Status codes: 2xx="),
    leads: |_| false,
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("pipeline_depth").is_some() && value.pointer("/status/2xx").is_some(),
    read: read_json,
};

/// Lines that hold nothing to be judged.
const KNOWN: [&str; 12] = [
    "gcannon ",
    "Req/conn:",
    "Templates:",
    "Expected:",
    "Thread Stats ",
    "Bandwidth:",
    "Latency samples:",
    "Latency overflow",
    "Reconnects:",
    "Per-template",
    "WARNING: ",
    "#",
];

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut sent = None;
    let mut depth = 1.0;
    for (n, line) in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let n = Some(n);
        match words.as_slice() {
            ["Target:", target] => claims.url = Some(format!("http://{target}")),
            ["Threads:", threads] => claims.put(Figure::Threads, number(threads), n),
            ["Conns:", connections, ..] => claims.put(Figure::Connections, number(connections), n),
            ["Pipeline:", requests] => depth = number(requests).unwrap_or(1.0),
            ["Duration:", length] => claims.put(Figure::DurationAsked, time_ns(length), n),
            ["Latency", mean, p50, p90, p99, p999] => {
                let figures = [
                    (Figure::LatencyMean, mean),
                    (Figure::LatencyP50, p50),
                    (Figure::LatencyP90, p90),
                    (Figure::LatencyP99, p99),
                    (Figure::LatencyP999, p999),
                ];
                for (figure, word) in figures {
                    claims.put(figure, time_ns(word), n);
                }
            }
            [requests, "requests", "in", length, responses, "responses"] => {
                sent = number(requests);
                claims.put(Figure::Duration, time_ns(length.trim_end_matches(',')), n);
                claims.put(Figure::Responses, number(responses), n);
            }
            ["Throughput:", rate, "req/s"] => claims.put(Figure::Throughput, count(rate), n),
            ["Status", "codes:", classes @ ..] => {
                let of = |class: &str| {
                    let value = classes.iter().find_map(|word| word.strip_prefix(class)?.strip_prefix('='));
                    value.and_then(|word| number(word.trim_end_matches(',')))
                };
                put_classes(&mut claims, ["3xx", "4xx", "5xx", "other"].map(of), n);
            }
            ["Errors:", ..] => {
                let of = |label: &str| word_after(line, label).and_then(number).unwrap_or(0.0);
                put_errors(&mut claims, ["connect ", "read ", "timeout "].map(of), n);
            }
            _ => claims.unread_lines += u64::from(!KNOWN.iter().any(|known| line.starts_with(known))),
        }
    }
    finish(claims, sent, depth)
}

/// Redirects, 4xx, 5xx and others.
fn put_classes(claims: &mut Claims, [redirects, client, server, other]: [Option<f64>; 4], n: Option<u64>) {
    claims.put(Figure::Redirects, redirects, n);
    let bad = client.zip(server).map(|(client, server)| client + server + other.unwrap_or(0.0));
    claims.put(Figure::BadStatus, bad, n);
}

/// Failed connects, which it repeats, broken connections and timeouts.
fn put_errors(claims: &mut Claims, [connect, read, timeout]: [f64; 3], n: Option<u64>) {
    claims.put(Figure::Broken, Some(connect + read + timeout), n);
    claims.put(Figure::Timeouts, Some(timeout), n);
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.url = text_at(value, "/target").map(|target| format!("http://{target}"));
    let figures = [
        (Figure::Connections, "/connections", 1.0),
        (Figure::Threads, "/threads", 1.0),
        (Figure::DurationAsked, "/duration_sec", 1e9),
        (Figure::Duration, "/elapsed_sec", 1e9),
        (Figure::Responses, "/responses", 1.0),
        (Figure::Throughput, "/rps", 1.0),
        (Figure::LatencyMean, "/latency_us/avg", 1e3),
        (Figure::LatencyP50, "/latency_us/p50", 1e3),
        (Figure::LatencyP90, "/latency_us/p90", 1e3),
        (Figure::LatencyP99, "/latency_us/p99", 1e3),
        (Figure::LatencyP999, "/latency_us/p999", 1e3),
    ];
    for (figure, pointer, scale) in figures {
        claims.put(figure, at(value, pointer, scale), None);
    }
    let of = |pointer: &str| at(value, pointer, 1.0);
    put_classes(&mut claims, ["/status/3xx", "/status/4xx", "/status/5xx", "/status/other"].map(of), None);
    let errors = ["/errors/connect", "/errors/read", "/errors/timeout"].map(|pointer| of(pointer).unwrap_or(0.0));
    put_errors(&mut claims, errors, None);
    finish(claims, of("/requests"), of("/pipeline_depth").unwrap_or(1.0))
}

fn finish(mut claims: Claims, sent: Option<f64>, depth: f64) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    claims.put(Figure::Broken, Some(0.0), None);
    // A connection that breaks takes a whole pipeline with it, and counts as one error.
    let in_flight = claims.get(Figure::Connections).unwrap_or(0.0) * depth.max(1.0);
    let missing = sent.zip(claims.get(Figure::Responses)).map_or(0.0, |(sent, responses)| sent - responses);
    let counted = claims.get(Figure::Broken).unwrap_or(0.0);
    if missing > in_flight && missing > counted {
        claims.add(Figure::Broken, missing - counted, None);
    }
    require(
        claims,
        &[
            (Figure::Responses, "`N requests in TIME, N responses`"),
            (Figure::Duration, "`N requests in TIME, N responses`"),
            (Figure::Throughput, "`Throughput:`"),
            (Figure::BadStatus, "`Status codes:`"),
        ],
    )
}
