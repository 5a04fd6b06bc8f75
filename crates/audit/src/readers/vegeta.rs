//! vegeta: `vegeta report` as text and as JSON.

use super::{JsonReader, Keeps, TextReader, Tool, at, put_statuses, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{go_time_ns, number};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "vegeta",
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
        flag(&["-rate"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Requests") && line.contains("[total, rate"),
    ends: |line| line.starts_with("Success") && line.contains("[ratio]"),
    leads: |_| false,
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("latencies").is_some() && value.get("status_codes").is_some(),
    read: read_json,
};

/// vegeta gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 30e9;
const NEEDED: [(Figure, &str); 3] = [
    (Figure::Duration, "Duration, attack and wait"),
    (Figure::RateSent, "Requests, rate"),
    (Figure::Responses, "Status Codes"),
];

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Open);
    let mut errors = false;
    for (n, line) in text.lines() {
        errors |= line.starts_with("Error Set:");
        let known =
            errors || line_of(&mut claims, line, Some(n)) || line.starts_with("Bytes ") || line.starts_with("Success");
        claims.unread_lines += u64::from(!known);
    }
    if !text.has("[code:count]") {
        // No status was read: that is no zero.
        return require(claims, &[(Figure::Responses, "`Status Codes [code:count]`")]);
    }
    claims.count_statuses();
    finish(claims)
}

/// `Label   [name, name]   value, value`.
fn line_of(claims: &mut Claims, line: &str, n: Option<u64>) -> bool {
    if let ["rate:", rate, "per:", per, "duration:", duration] = line.split_whitespace().collect::<Vec<_>>()[..] {
        put_asked(claims, rate, per, duration);
        return true;
    }
    let Some((label, rest)) = line.split_once('[') else { return false };
    let Some((names, values)) = rest.split_once(']') else { return false };
    if label.trim() == "Status Codes" {
        for word in values.split_whitespace() {
            let Some((status, responses)) = word.split_once(':') else { continue };
            let Some(responses) = number(responses).filter(|n| *n <= FIGURE_MAX) else { continue };
            match status.parse::<u16>() {
                Ok(status @ 100..=599) => drop(claims.status.insert(status, responses as u64)),
                _ => claims.add(Figure::Broken, responses, n),
            }
        }
        return true;
    }
    for (name, value) in names.split(',').map(str::trim).zip(values.split(',').map(str::trim)) {
        let (figure, value) = match (label.trim(), name) {
            ("Requests", "total") => (Figure::Planned, number(value)),
            ("Requests", "rate") => (Figure::RateSent, number(value)),
            // Of older versions, that had no throughput, `total` was the duration of all.
            ("Duration", "total") => (Figure::Duration, go_time_ns(value)),
            ("Duration", "attack") => (Figure::DurationAsked, go_time_ns(value)),
            ("Latencies", "min") => (Figure::LatencyMin, go_time_ns(value)),
            ("Latencies", "mean") => (Figure::LatencyMean, go_time_ns(value)),
            ("Latencies", "50") => (Figure::LatencyP50, go_time_ns(value)),
            ("Latencies", "90") => (Figure::LatencyP90, go_time_ns(value)),
            ("Latencies", "95") => (Figure::LatencyP95, go_time_ns(value)),
            ("Latencies", "99") => (Figure::LatencyP99, go_time_ns(value)),
            ("Latencies", "max") => (Figure::LatencyMax, go_time_ns(value)),
            ("Bytes In", "mean") => (Figure::BodyBytes, number(value)),
            _ => continue,
        };
        claims.put(figure, value, n);
    }
    ["Requests", "Duration", "Latencies"].contains(&label.trim())
}

/// What programs around vegeta print of their request.
fn put_asked(claims: &mut Claims, rate: &str, per: &str, duration: &str) {
    let words = ["vegeta".to_owned(), format!("-rate={rate}/{per}"), format!("-duration={duration}")];
    if claims.typed.is_empty() {
        claims.typed = FLAGS.typed(&words);
    }
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Open);
    let figures = [
        (Figure::Planned, "/requests"),
        (Figure::RateSent, "/rate"),
        (Figure::DurationAsked, "/duration"),
        (Figure::LatencyMin, "/latencies/min"),
        (Figure::LatencyMean, "/latencies/mean"),
        (Figure::LatencyP50, "/latencies/50th"),
        (Figure::LatencyP90, "/latencies/90th"),
        (Figure::LatencyP95, "/latencies/95th"),
        (Figure::LatencyP99, "/latencies/99th"),
        (Figure::LatencyMax, "/latencies/max"),
        (Figure::BodyBytes, "/bytes_in/mean"),
    ];
    for (figure, pointer) in figures {
        claims.put(figure, at(value, pointer, 1.0), None);
    }
    let length = at(value, "/duration", 1.0).zip(at(value, "/wait", 1.0));
    claims.put(Figure::Duration, length.map(|(attack, wait)| attack + wait), None);
    put_statuses(&mut claims, value.get("status_codes"), Value::as_f64);
    finish(claims)
}

fn finish(mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    let all = claims.get(Figure::Responses).zip(claims.get(Figure::Duration).filter(|ns| *ns > 0.0));
    // The printed throughput is of successes only.
    claims.put(Figure::Throughput, all.map(|(n, ns)| n / ns * 1e9), None);
    require(claims, &NEEDED)
}
