//! autocannon: its tables, and `--json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, put_statuses, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{count, number, time_ns};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "autocannon",
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
        flag(&["-a", "--amount"], Figure::Planned, Unit::Number),
        flag(&["-R", "--overallRate"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-r", "--connectionRate"], Figure::RateOffered, Unit::PerSecondEach),
        flag(&["-t", "--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: has_tables,
    begins: |line| line.starts_with("Running ") && line.contains(" @ "),
    ends: |line| line.contains(" requests in ") && line.ends_with(" read"),
    leads: |_| false,
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("non2xx").is_some() && value.pointer("/requests/total").is_some(),
    read: read_json,
};

/// autocannon keeps whole milliseconds, and gives up on a response after 10 s.
const RESOLUTION_NS: f64 = 1e6;
const TIMEOUT_NS: f64 = 10e9;

/// Its tables, which before version 3 had no lines.
pub(super) fn has_tables(text: &Text) -> bool {
    text.has("│") || text.lines().any(|(_, line)| line.starts_with("Latency (ms) "))
}

/// What autocannon says of the number of responses.
#[derive(Default)]
struct Counted {
    /// Good and other responses, to the unit; printed only when there are others.
    by_class: Option<(f64, f64)>,
    /// Readings of the rate; since they are printed, the count in the last line is of requests sent.
    samples: Option<f64>,
    /// Requests, above a thousand rounded to `120k`, and the step of that rounding.
    rounded: Option<(f64, f64)>,
}

impl Counted {
    /// Responses at a mean rate of `per_s`, sampled once a second for `ns`.
    fn responses(&self, per_s: Option<f64>, ns: Option<f64>) -> Option<f64> {
        if let Some((good, bad)) = self.by_class {
            return Some(good + bad);
        }
        let (rounded, step) = self.rounded?;
        let by_rate = |samples: f64| per_s.map(|per_s| (per_s * samples).round());
        if let Some(samples) = self.samples {
            return by_rate(samples);
        }
        let counted = ns.and_then(|ns| by_rate((ns / 1e9).round()));
        Some(counted.filter(|counted| step > 1.0 && (counted - rounded).abs() <= step).unwrap_or(rounded))
    }

    /// Requests that were sent and not answered, as far as the rounding tells: a connection that is reset is no error to it.
    /// A run of a `planned` number of requests sends exactly these, and waits for all of them; one that is ended by its time
    /// does not wait for those on their way, `in_flight` at most.
    fn unanswered(&self, responses: Option<f64>, planned: Option<f64>, in_flight: f64) -> f64 {
        let exact = |(rounded, step): (f64, f64)| {
            planned
                .filter(|planned| (planned - rounded).abs() <= step)
                .map_or((rounded, step), |planned| (planned, 0.0))
        };
        let sent = self.rounded.filter(|_| self.samples.is_some()).map(exact).zip(responses);
        sent.map_or(0.0, |((rounded, step), responses)| {
            let on_their_way = if planned.is_some() { 0.0 } else { in_flight };
            if rounded - responses > step + on_their_way { rounded - responses } else { 0.0 }
        })
    }
}

/// The step in which a count such as `120k` is printed.
fn step(word: &str) -> f64 {
    let decimals = word.split_once('.').map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
    let unit: String = word.chars().skip_while(|c| c.is_ascii_digit() || *c == '.').collect();
    count(&format!("1{unit}")).unwrap_or(1.0) / 10_f64.powi(decimals as i32)
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let mut counted = Counted::default();
    let mut header: Vec<&str> = Vec::new();
    for (n, line) in text.lines() {
        if line.starts_with('│') {
            let cells: Vec<&str> = line.trim_matches('│').split('│').map(str::trim).collect();
            match cells.as_slice() {
                ["Stat" | "Code" | "Percentile", ..] => header = cells,
                ["Latency", ..] => put_latencies(&mut claims, &header, &cells, n),
                ["Req/Sec", ..] => {
                    let mean = header.iter().position(|name| *name == "Avg").and_then(|at| cells.get(at));
                    claims.put(Figure::Throughput, mean.and_then(|cell| number(&cell.replace(',', ""))), Some(n));
                }
                [status, responses] if header.first() == Some(&"Code") => {
                    if let (Ok(status @ 100..=599), Some(responses)) = (status.parse(), number(responses)) {
                        claims.status.insert(status, responses.min(FIGURE_MAX) as u64);
                    }
                }
                _ => {}
            }
        } else if !line_of(&mut claims, &mut counted, line, n) {
            let known = ['┌', '├', '└'].iter().any(|corner| line.starts_with(*corner))
                || ["Req/Bytes counts", "request pipeline was reset"].iter().any(|known| line.starts_with(known));
            claims.unread_lines += u64::from(!known);
        }
    }
    if !claims.status.is_empty() {
        claims.count_statuses();
    }
    claims.put(Figure::BadStatus, Some(counted.by_class.map_or(0.0, |(_, bad)| bad)), None);
    let responses = counted.responses(claims.get(Figure::Throughput), claims.get(Figure::Duration));
    claims.put(Figure::Responses, responses, None);
    // At a rate (-R) it counts what was due, and sends less.
    let in_flight = match claims.get(Figure::RateOffered) {
        Some(_) => f64::INFINITY,
        None => claims.get(Figure::Connections).unwrap_or(0.0),
    };
    let more_broken = counted.unanswered(responses, claims.get(Figure::Planned), in_flight)
        - claims.get(Figure::Broken).unwrap_or(0.0);
    if more_broken > 0.0 {
        claims.add(Figure::Broken, more_broken, None);
    }
    finish(claims)
}

fn line_of(claims: &mut Claims, counted: &mut Counted, line: &str, n: u64) -> bool {
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
        [_, "workers"] => {}
        // Of versions before 3, in whole milliseconds.
        ["Latency", "(ms)", mean, _, max] => {
            claims.put(Figure::LatencyMean, number(mean).map(|ms| ms * 1e6), n);
            claims.put(Figure::LatencyMax, number(max).map(|ms| ms * 1e6), n);
        }
        ["Req/Sec", mean, ..] => claims.put(Figure::Throughput, number(mean), n),
        ["Stat", "Avg", ..] | ["Bytes/Sec", ..] => {}
        ["#", "of", "samples:", samples] => counted.samples = number(samples),
        [good, "2xx", "responses,", bad, "non", "2xx", "responses"] => {
            counted.by_class = count(good).zip(count(bad));
        }
        [errors, "errors", rest @ ..] => {
            claims.put(Figure::Broken, count(errors), n);
            let timeouts = rest.first().and_then(|word| count(word.trim_start_matches('(')));
            claims.put(Figure::Timeouts, timeouts, n);
        }
        [requests, "requests", "with", "mismatched", "body"] => claims.put(Figure::WrongSize, count(requests), n),
        [requests, "requests", "in", length, .., "read"] => {
            counted.rounded = count(requests).map(|value| (value, step(requests)));
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

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    claims.url = text_at(value, "/url");
    if let Some(statuses) = value.get("statusCodeStats").filter(|statuses| statuses.is_object()) {
        put_statuses(&mut claims, Some(statuses), |status| at(status, "/count", 1.0));
    }
    let figures = [
        (Figure::Duration, "/duration", 1e9),
        (Figure::Connections, "/connections", 1.0),
        (Figure::Throughput, "/requests/average", 1.0),
        (Figure::Responses, "/requests/total", 1.0),
        (Figure::Redirects, "/3xx", 1.0),
        (Figure::Broken, "/errors", 1.0),
        (Figure::Timeouts, "/timeouts", 1.0),
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
    // Bodies are compared only when one was expected, which is not in the result.
    claims.put(Figure::WrongSize, at(value, "/mismatches", 1.0).filter(|wrong| *wrong > 0.0), None);
    let unanswered = unanswered(value);
    if unanswered > 0.0 && claims.get(Figure::RateOffered).is_none() {
        claims.add(Figure::Broken, unanswered, None);
    }
    // Redirects are among its non-2xx.
    let redirects = claims.get(Figure::Redirects).unwrap_or(0.0);
    claims.put(Figure::BadStatus, at(value, "/non2xx", 1.0).map(|bad| (bad - redirects).max(0.0)), None);
    finish(claims)
}

/// Requests sent and neither answered nor errors, if these are more than can be in flight when the time is up.
fn unanswered(value: &Value) -> f64 {
    let of = |pointer: &str| at(value, pointer, 1.0).unwrap_or(0.0);
    let missing = of("/requests/sent") - of("/requests/total") - of("/errors");
    let in_flight = of("/connections") * of("/pipelining").max(1.0);
    if missing > in_flight { missing } else { 0.0 }
}

fn finish(mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
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
