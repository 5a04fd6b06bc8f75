//! k6: the summary at its end, and `--summary-export` or `handleSummary` as JSON.

use super::{JsonReader, Keeps, Parts, TextReader, Tool, at, k6_points, of_whole, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure};
use crate::scan::{count, go_time_ns, number};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "k6",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: Some(k6_points::SAMPLES),
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-u", "--vus"], Figure::Connections, Unit::Number),
        flag(&["-i", "--iterations"], Figure::Planned, Unit::Number),
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["--rps"], Figure::RateOffered, Unit::PerSecond),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: is_last,
    ends: is_last,
    leads: |line| line.contains("..: ") && !unmarked(line).starts_with("vus") || is_furniture(line),
    so_far: None,
    parts: Some(PARTS),
    read: read_text,
};

/// Since 1.0 the whole load comes first, and then each of its scenarios and groups where these are asked for.
const PARTS: Parts = Parts {
    whole: |line| line.contains("█ TOTAL RESULTS"),
    part: |line| line.contains("█ SCENARIO: ") || line.contains("█ GROUP: "),
};

const JSON: JsonReader = JsonReader { fits: |value| metric(value, "http_reqs").is_some(), read: read_json };

/// Versions before 0.31 do not tell what failed.
const NEEDED: [(Figure, &str); 2] = [(Figure::Responses, "http_reqs, count"), (Figure::Throughput, "http_reqs, rate")];

fn is_last(line: &str) -> bool {
    unmarked(line).starts_with("http_reqs.")
}

/// Versions before 1.0 mark each metric that has a threshold.
fn unmarked(line: &str) -> &str {
    line.trim_start_matches(['✓', '✗']).trim_start()
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    for (n, line) in of_whole(text, &TEXT) {
        let n = Some(n);
        let figures = unmarked(line);
        let Some((name, values)) = figures.split_once("..: ").or_else(|| figures.split_once(".: ")) else {
            claims.unread_lines += u64::from(!is_furniture(line));
            continue;
        };
        let words: Vec<&str> = values.split_whitespace().collect();
        let of = |key: &str| values.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        match (name.trim_end_matches('.'), words.as_slice()) {
            ("http_reqs", [all, rate, ..]) => {
                claims.put(Figure::Responses, count(all), n);
                claims.put(Figure::Throughput, rate.strip_suffix("/s").and_then(number), n);
            }
            // Of a rate that counts failures, the ticks are the failed ones.
            ("http_req_failed", [_, "✓", failed, ..] | [_, failed, "out", "of", _]) => {
                claims.put(Figure::BadStatus, count(failed), n);
            }
            ("http_req_duration", _) => {
                let figures = [
                    (Figure::LatencyMean, "avg"),
                    (Figure::LatencyMin, "min"),
                    (Figure::LatencyP50, "med"),
                    (Figure::LatencyMax, "max"),
                    (Figure::LatencyP90, "p(90)"),
                    (Figure::LatencyP95, "p(95)"),
                    (Figure::LatencyP99, "p(99)"),
                ];
                for (figure, key) in figures {
                    claims.put(figure, of(key).and_then(go_time_ns), n);
                }
            }
            ("iterations", [ended, ..]) => claims.put(Figure::Iterations, count(ended), n),
            ("dropped_iterations", [dropped, ..]) => claims.put(Figure::Dropped, count(dropped), n),
            ("vus_max", [most, ..]) => claims.put(Figure::Connections, count(most), n),
            _ => {}
        }
    }
    finish(claims)
}

/// Headings, checks and the progress line.
fn is_furniture(line: &str) -> bool {
    line.starts_with(['{', '█', '✓', '✗', '↳'])
        || ["HTTP", "EXECUTION", "NETWORK", "CUSTOM", "running (", "default ", "time=\""]
            .iter()
            .any(|known| line.starts_with(known))
}

/// A metric of `--summary-export` and `handleSummary`, and of their form with a version of its own, which has a list of them.
fn metric<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let of_list = || {
        let list = value.pointer("/results/metrics")?.as_array()?;
        list.iter().find(|metric| metric.get("name").and_then(Value::as_str) == Some(name))
    };
    value.get("metrics").and_then(|metrics| metrics.get(name)).or_else(of_list)
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    // --summary-export alone has the figures one level up.
    let values = |name: &str| metric(value, name).map(|metric| metric.get("values").unwrap_or(metric));
    let figure = |name: &str, key: &str| values(name)?.get(key)?.as_f64();
    let responses = figure("http_reqs", "count");
    claims.put(Figure::Responses, responses, None);
    // The form with a version has the time instead of the rate, and counts what matched instead of what passed.
    let seconds = at(value, "/config/duration", 1.0).filter(|seconds| *seconds > 0.0);
    let rate = figure("http_reqs", "rate").or_else(|| Some(responses? / seconds?));
    claims.put(Figure::Throughput, rate, None);
    let failed = figure("http_req_failed", "matches").or_else(|| figure("http_req_failed", "passes"));
    claims.put(Figure::BadStatus, failed, None);
    claims.put(Figure::Dropped, figure("dropped_iterations", "count"), None);
    claims.put(Figure::Iterations, figure("iterations", "count"), None);
    claims.put(Figure::Connections, figure("vus_max", "max").or_else(|| figure("vus_max", "value")), None);
    let latencies = [
        (Figure::LatencyMean, ["avg", "avg"]),
        (Figure::LatencyMin, ["min", "min"]),
        (Figure::LatencyP50, ["med", "med"]),
        (Figure::LatencyMax, ["max", "max"]),
        (Figure::LatencyP90, ["p(90)", "p90"]),
        (Figure::LatencyP95, ["p(95)", "p95"]),
        (Figure::LatencyP99, ["p(99)", "p99"]),
    ];
    for (latency, keys) in latencies {
        let ms = keys.into_iter().find_map(|key| figure("http_req_duration", key));
        claims.put(latency, ms.map(|ms| ms * 1e6), None);
    }
    finish(claims)
}

fn finish(mut claims: Claims) -> Result<Claims, Unreadable> {
    let length = claims.get(Figure::Responses).zip(claims.get(Figure::Throughput).filter(|rate| *rate > 0.0));
    claims.put(Figure::Duration, length.map(|(n, per_s)| n / per_s * 1e9), None);
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::Dropped, Some(0.0), None);
    claims.put_usual(Figure::Timeout, k6_points::TIMEOUT_NS);
    require(claims, &NEEDED)
}
