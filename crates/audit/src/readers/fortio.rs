//! fortio: what `-json` writes.

use super::{JsonReader, Keeps, Tool, at, put_statuses, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::number;
use serde_json::Value;

pub(super) const TOOL: Tool =
    Tool { name: "fortio", text: None, json: Some(JSON), csv: None, keeps: Keeps::Always, called: &[], flags: FLAGS };

const FLAGS: Flags = Flags {
    style: Style::Go,
    flags: &[
        flag(&["-c"], Figure::Connections, Unit::Number),
        flag(&["-n"], Figure::Planned, Unit::Number),
        flag(&["-t"], Figure::DurationAsked, Unit::Time),
        flag(&["-qps"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-timeout"], Figure::Timeout, Unit::Time),
    ],
};

const JSON: JsonReader =
    JsonReader { fits: |value| value.get("ActualQPS").is_some() && value.get("DurationHistogram").is_some(), read };

/// fortio gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 3e9;

fn read(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    // Connections wait for their answers, whatever the rate.
    claims.mode = Some(Mode::Closed);
    claims.url = text_at(value, "/URL");
    let rate = text_at(value, "/RequestedQPS").and_then(|text| number(&text));
    claims.put(Figure::RateOffered, rate.filter(|rate| *rate > 0.0), None);
    claims.put(Figure::Throughput, at(value, "/ActualQPS", 1.0), None);
    claims.put(Figure::Duration, at(value, "/ActualDuration", 1.0), None);
    claims.put(Figure::Connections, at(value, "/NumThreads", 1.0), None);
    claims.put(Figure::BodyBytes, at(value, "/Sizes/Avg", 1.0), None);
    for (figure, name) in [(Figure::LatencyMean, "Avg"), (Figure::LatencyMin, "Min"), (Figure::LatencyMax, "Max")] {
        claims.put(figure, at(value, &format!("/DurationHistogram/{name}"), 1e9), None);
    }
    let percentiles = value.pointer("/DurationHistogram/Percentiles").and_then(Value::as_array);
    for entry in percentiles.into_iter().flatten() {
        let figure = match entry.get("Percentile").and_then(Value::as_f64) {
            Some(50.0) => Figure::LatencyP50,
            Some(75.0) => Figure::LatencyP75,
            Some(90.0) => Figure::LatencyP90,
            Some(95.0) => Figure::LatencyP95,
            Some(99.0) => Figure::LatencyP99,
            Some(99.9) => Figure::LatencyP999,
            _ => continue,
        };
        claims.put(figure, at(entry, "/Value", 1e9), None);
    }
    if value.get("RetCodes").is_some_and(Value::is_object) {
        put_statuses(&mut claims, value.get("RetCodes"), Value::as_f64);
    }
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    require(
        claims,
        &[(Figure::Throughput, "ActualQPS"), (Figure::Duration, "ActualDuration"), (Figure::Responses, "RetCodes")],
    )
}
