//! autocannon: its tables, and `--json`.

use super::{JsonReader, TextReader, at, require, text_at};
use crate::Unreadable;
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{count, number, time_ns};
use crate::text::Text;
use serde_json::Value;

pub(super) const TEXT: TextReader = TextReader {
    tool: "autocannon",
    fits: |text| text.has("│"),
    begins: |line| line.starts_with("Running ") && line.contains(" @ "),
    ends: |line| line.contains(" requests in ") && line.ends_with(" read"),
    read: read_text,
};

pub(super) const JSON: JsonReader = JsonReader {
    fits: |value| value.get("non2xx").is_some() && value.pointer("/requests/total").is_some(),
    read: read_json,
};

/// autocannon keeps whole milliseconds, and gives up on a response after 10 s.
const RESOLUTION_NS: f64 = 1e6;
const TIMEOUT_NS: f64 = 10e9;

fn read_text(text: &Text) -> Result<Claims, Unreadable> {
    let mut claims = Claims::new("autocannon", Some(Mode::Closed));
    let mut header: Vec<&str> = Vec::new();
    for (n, line) in text.lines() {
        if line.starts_with('│') {
            let cells: Vec<&str> = line.trim_matches('│').split('│').map(str::trim).collect();
            match cells.first() {
                Some(&"Stat") => header = cells,
                Some(&"Latency") => put_latencies(&mut claims, &header, &cells, n),
                Some(&"Req/Sec") => {
                    let mean = header.iter().position(|name| *name == "Avg").and_then(|at| cells.get(at));
                    claims.put(Figure::Throughput, mean.and_then(|cell| number(&cell.replace(',', ""))), Some(n));
                }
                _ => {}
            }
        } else if !line_of(&mut claims, line, n) {
            claims.unread_lines +=
                u64::from(!line.starts_with(['┌', '├', '└']) && !line.starts_with("Req/Bytes counts"));
        }
    }
    let bad = claims.get(Figure::BadStatus).unwrap_or(0.0);
    claims.put(Figure::BadStatus, Some(bad), None);
    finish(claims)
}

fn line_of(claims: &mut Claims, line: &str, n: u64) -> bool {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["Running", length, "test", "@", url, ..] => {
            claims.url = Some((*url).to_owned());
            claims.put(Figure::DurationAsked, time_ns(length), n);
        }
        ["Running", requests, "requests", "test", "@", url, ..] => {
            claims.url = Some((*url).to_owned());
            claims.put(Figure::Planned, number(requests), n);
        }
        [connections, "connections", ..] => claims.put(Figure::Connections, number(connections), n),
        [_, "2xx", "responses,", bad, "non", "2xx", "responses"] => claims.put(Figure::BadStatus, count(bad), n),
        [errors, "errors", rest @ ..] => {
            claims.put(Figure::Broken, count(errors), n);
            let timeouts = rest.first().and_then(|word| count(word.trim_start_matches('(')));
            claims.put(Figure::Timeouts, timeouts, n);
        }
        [requests, "requests", "in", length, .., "read"] => {
            claims.put(Figure::Responses, count(requests), n);
            claims.put(Figure::Duration, time_ns(length.trim_end_matches(',')), n);
        }
        _ => return false,
    }
    true
}

fn put_latencies(claims: &mut Claims, header: &[&str], cells: &[&str], n: u64) {
    for (name, cell) in header.iter().zip(cells) {
        let figure = match *name {
            "50%" => Figure::LatencyP50,
            "99%" => Figure::LatencyP99,
            "Avg" => Figure::LatencyMean,
            "Max" => Figure::LatencyMax,
            _ => continue,
        };
        claims.put(figure, time_ns(cell), Some(n));
    }
}

fn read_json(value: &Value) -> Result<Claims, Unreadable> {
    let mut claims = Claims::new("autocannon", Some(Mode::Closed));
    claims.url = text_at(value, "/url");
    let figures = [
        (Figure::Duration, "/duration", 1e9),
        (Figure::Connections, "/connections", 1.0),
        (Figure::Throughput, "/requests/average", 1.0),
        (Figure::Responses, "/requests/total", 1.0),
        (Figure::Redirects, "/3xx", 1.0),
        (Figure::Broken, "/errors", 1.0),
        (Figure::Timeouts, "/timeouts", 1.0),
        (Figure::WrongSize, "/mismatches", 1.0),
        (Figure::LatencyMean, "/latency/average", 1e6),
        (Figure::LatencyMin, "/latency/min", 1e6),
        (Figure::LatencyMax, "/latency/max", 1e6),
        (Figure::LatencyP50, "/latency/p50", 1e6),
        (Figure::LatencyP75, "/latency/p75", 1e6),
        (Figure::LatencyP90, "/latency/p90", 1e6),
        (Figure::LatencyP99, "/latency/p99", 1e6),
        (Figure::LatencyP999, "/latency/p99_9", 1e6),
    ];
    for (figure, pointer, scale) in figures {
        claims.put(figure, at(value, pointer, scale), None);
    }
    // Redirects are among its non-2xx.
    let redirects = claims.get(Figure::Redirects).unwrap_or(0.0);
    claims.put(Figure::BadStatus, at(value, "/non2xx", 1.0).map(|bad| (bad - redirects).max(0.0)), None);
    finish(claims)
}

fn finish(mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    claims.put(Figure::Timeout, Some(TIMEOUT_NS), None);
    require(
        claims,
        &[
            (Figure::Responses, "`N requests in TIME`"),
            (Figure::Duration, "`N requests in TIME`"),
            (Figure::Throughput, "`Req/Sec`"),
            (Figure::BadStatus, "non2xx"),
        ],
    )
}
