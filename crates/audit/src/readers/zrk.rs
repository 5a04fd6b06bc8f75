//! zrk: its plain text, that of versions before 0.4, which is like wrk's, and `--format json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{number, time_ns, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "zrk",
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
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-R", "--rate"], Figure::RateOffered, Unit::PerSecond),
        flag(&["--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: is_zrk,
    begins: |line| is_total(line) || (line.starts_with("Running ") && line.contains(" test @ ")),
    ends: is_heading,
    leads: |line| line.starts_with('[') && line.contains(" req/s "),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("zrk_version").is_some() && value.get("achieved_rate").is_some(),
    read: read_json,
};

/// It gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 2e9;
const CLOSED: &str = "latency (closed-loop";
const HEADINGS: [&str; 3] =
    ["latency (coordinated-omission corrected", "Latency (corrected for coordinated omission", CLOSED];
/// Lines that hold nothing to be judged.
const KNOWN: [&str; 6] =
    ["3xx (redirect)", "peak schedule lag", "Detailed Percentile", "Transfer/sec:", "Report written", "interrupted"];

/// The heading of its latencies, which no other tool has.
fn is_heading(line: &str) -> bool {
    HEADINGS.iter().any(|heading| line.starts_with(heading))
}

pub(super) fn is_zrk(text: &Text) -> bool {
    text.lines().any(|(_, line)| is_heading(line))
}

/// `506 requests in 10.01s, 560.36KiB read  ·  51 req/s  ·  56.00KiB/s`.
fn is_total(line: &str) -> bool {
    line.contains(" requests in ") && line.contains(" read ") && line.contains(" req/s ")
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    for (n, line) in text.lines() {
        let is_known = line_of(&mut claims, line, Some(n))
            || is_heading(line)
            || (TEXT.leads)(line)
            || KNOWN.iter().any(|known| line.starts_with(known))
            || line.split_whitespace().next().is_some_and(|word| word.ends_with('%'));
        claims.unread_lines += u64::from(!is_known);
    }
    let is_closed = text.lines().any(|(_, line)| line.starts_with(CLOSED));
    claims.mode = Some(if is_closed { Mode::Closed } else { Mode::Open });
    // It does not print what is zero.
    for silent in [Figure::BadStatus, Figure::Redirects, Figure::Broken, Figure::Timeouts, Figure::Dropped] {
        claims.put(silent, Some(0.0), None);
    }
    finish(claims)
}

fn line_of(claims: &mut Claims, line: &str, n: Option<u64>) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let last = || words.last().copied().and_then(number);
    match words.as_slice() {
        // Of the measured time; what was asked for is not printed.
        ["Running", _, "test", "@", url] => claims.url = Some((*url).to_owned()),
        [connections, "connections,", "target", "rate", rate, "req/s"] => {
            claims.put(Figure::Connections, number(connections), n);
            claims.put(Figure::RateOffered, mean_rate(rate), n);
        }
        [requests, "requests", "in", length, rest @ ..] => {
            claims.put(Figure::Responses, number(requests), n);
            claims.put(Figure::Duration, time_ns(length.trim_end_matches(',')), n);
            let rate = rest.iter().position(|word| *word == "req/s").and_then(|at| rest.get(at.checked_sub(1)?));
            claims.put(Figure::Throughput, rate.and_then(|rate| number(rate)), n);
        }
        ["Requests/sec:", rate] => claims.put(Figure::Throughput, number(rate), n),
        [name @ ("p50" | "p75" | "p90" | "p99" | "p99.9" | "max" | "50%" | "75%" | "90%" | "99%" | "99.9%"), value] => {
            let figure = match name.trim_start_matches('p').trim_end_matches('%') {
                "50" => Figure::LatencyP50,
                "75" => Figure::LatencyP75,
                "90" => Figure::LatencyP90,
                "99" => Figure::LatencyP99,
                "99.9" => Figure::LatencyP999,
                _ => Figure::LatencyMax,
            };
            claims.put(figure, time_ns(value), n);
        }
        ["non-2xx/3xx:", bad] => claims.put(Figure::BadStatus, number(bad), n),
        ["Non-2xx", "or", "3xx", "responses:", _] => claims.put(Figure::BadStatus, last(), n),
        ["3xx", "(redirect):", redirects, ..] | ["3xx", "(redirect)", "responses:", redirects, ..] => {
            claims.put(Figure::Redirects, number(redirects), n);
        }
        ["socket" | "Socket", "errors:", ..] => {
            let of = |label: &str| word_after(line, label).and_then(number).unwrap_or(0.0);
            claims.put(Figure::Broken, Some(["connect ", "read ", "write ", "timeout "].map(of).iter().sum()), n);
            claims.put(Figure::Timeouts, Some(of("timeout ")), n);
        }
        ["deadline", "misses:", misses, ..] => claims.put(Figure::Dropped, number(misses), n),
        _ => return false,
    }
    true
}

/// The rate of a ramp `1→100` as a whole.
fn mean_rate(word: &str) -> Option<f64> {
    match word.split_once('\u{2192}') {
        None => number(word),
        Some((from, to)) => Some((number(from)? + number(to)?) / 2.0),
    }
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.url = text_at(value, "/target/url");
    let is_closed = value.pointer("/config/closed").and_then(Value::as_bool) == Some(true);
    claims.mode = Some(if is_closed { Mode::Closed } else { Mode::Open });
    let figures = [
        (Figure::Connections, "/config/connections", 1.0),
        (Figure::DurationAsked, "/config/duration_s", 1e9),
        (Figure::Timeout, "/config/timeout_ms", 1e6),
        (Figure::Duration, "/duration_s", 1e9),
        (Figure::Responses, "/requests", 1.0),
        (Figure::Throughput, "/achieved_rate", 1.0),
        (Figure::BadStatus, "/errors/non_2xx_3xx", 1.0),
        (Figure::Redirects, "/status_codes/3xx", 1.0),
        (Figure::Timeouts, "/errors/timeout", 1.0),
        (Figure::Dropped, "/errors/deadline", 1.0),
        (Figure::LatencyMin, "/latency_us/min", 1e3),
        (Figure::LatencyMean, "/latency_us/mean", 1e3),
        (Figure::LatencyP50, "/latency_us/p50", 1e3),
        (Figure::LatencyP75, "/latency_us/p75", 1e3),
        (Figure::LatencyP90, "/latency_us/p90", 1e3),
        (Figure::LatencyP99, "/latency_us/p99", 1e3),
        (Figure::LatencyP999, "/latency_us/p99_9", 1e3),
        (Figure::LatencyMax, "/latency_us/max", 1e3),
    ];
    for (figure, pointer, scale) in figures {
        claims.put(figure, at(value, pointer, scale), None);
    }
    let of = |name: &str| at(value, &format!("/errors/{name}"), 1.0);
    let broken = ["connect", "read", "write", "timeout"].map(of);
    claims.put(Figure::Broken, broken.iter().copied().sum::<Option<f64>>(), None);
    // A rate of a closed loop is none that was asked for.
    let from = at(value, "/target_rate", 1.0).filter(|rate| !is_closed && *rate > 0.0);
    let to = at(value, "/target_rate_end", 1.0);
    claims.put(Figure::RateOffered, from.map(|from| (from + to.unwrap_or(from)) / 2.0), None);
    finish(claims)
}

fn finish(mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    require(
        claims,
        &[
            (Figure::Responses, "`N requests in TIME`"),
            (Figure::Duration, "`N requests in TIME`"),
            (Figure::Throughput, "`req/s`"),
            (Figure::BadStatus, "non_2xx_3xx"),
        ],
    )
}
