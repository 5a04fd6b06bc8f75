//! oha: its summary as text, and `--output-format json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, hey, put_statuses, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "oha",
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
        flag(&["-n", "--num-requests"], Figure::Planned, Unit::Number),
        flag(&["-z", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-q", "--query-per-second"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-t", "--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |text| text.has("Success rate:"),
    begins: |line| line == "Summary:",
    ends: |line| line.starts_with("Response time histogram:"),
    leads: |_| false,
    so_far: None,
    parts: None,
    read: hey::read,
};

const JSON: JsonReader = JsonReader { fits: |value| value.pointer("/summary/successRate").is_some(), read };

fn read(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let figures = [
        (Figure::Duration, "/summary/total"),
        (Figure::LatencyMax, "/summary/slowest"),
        (Figure::LatencyMin, "/summary/fastest"),
        (Figure::LatencyMean, "/summary/average"),
        (Figure::LatencyP50, "/latencyPercentiles/p50"),
        (Figure::LatencyP75, "/latencyPercentiles/p75"),
        (Figure::LatencyP90, "/latencyPercentiles/p90"),
        (Figure::LatencyP95, "/latencyPercentiles/p95"),
        (Figure::LatencyP99, "/latencyPercentiles/p99"),
        (Figure::LatencyP999, "/latencyPercentiles/p99.9"),
    ];
    for (figure, pointer) in figures {
        claims.put(figure, at(value, pointer, 1e9), None);
    }
    claims.put(Figure::Throughput, at(value, "/summary/requestsPerSec", 1.0), None);
    claims.put(Figure::BodyBytes, at(value, "/summary/sizePerRequest", 1.0), None);
    put_statuses(&mut claims, value.get("statusCodeDistribution"), Value::as_f64);
    for (what, n) in value.get("errorDistribution").and_then(Value::as_object).into_iter().flatten() {
        // What was under way when the time was up is no failure.
        if what != "aborted due to deadline" {
            claims.add(Figure::Broken, n.as_f64().unwrap_or(0.0), None);
        }
        if what.to_ascii_lowercase().contains("timeout") {
            claims.add(Figure::Timeouts, n.as_f64().unwrap_or(0.0), None);
        }
    }
    claims.put(Figure::Broken, Some(0.0), None);
    require(
        claims,
        &[
            (Figure::Duration, "summary.total"),
            (Figure::Throughput, "summary.requestsPerSec"),
            (Figure::Responses, "statusCodeDistribution"),
        ],
    )
}
