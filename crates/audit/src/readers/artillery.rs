//! Artillery: the `Summary report` of versions 1 and 2 at the end of a run, and what `--output` writes.

use super::{JsonReader, Keeps, TextReader, Tool, at, put_statuses, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{number, time_ns, word_after};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "artillery",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    // A virtual user has a connection of its own, of which the output does not tell how many requests it served.
    keeps: Keeps::Told(|_| None),
    called: &[],
    flags: FLAGS,
};

/// Of `artillery quick`; other loads stand in a script.
const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--count"], Figure::Connections, Unit::Number),
        flag(&["-n", "--num"], Figure::Planned, Unit::NumberEach),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Summary report @"),
    ends: |line| line.starts_with("Summary report @"),
    leads: |line| {
        line.starts_with("All VUs finished") || line.starts_with("All virtual users finished") || is_rule(line)
    },
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.pointer("/aggregate/counters").or_else(|| value.pointer("/aggregate/codes")).is_some(),
    read: read_json,
};

/// Response times are those of a histogram, below a percent off, and above a second in whole ms.
const RESOLUTION_NS: f64 = 1e6;
/// Errors after which no response came, by the begin of their names: those of sockets, in Node's words.
const UNANSWERED: [&str; 6] = ["E", "socket", "Parse Error", "CERT", "DEPTH", "UND_ERR"];

/// What a summary counts.
#[derive(Default)]
struct Counted {
    /// Sent, which only version 2 prints.
    requests: Option<f64>,
    responses: Option<f64>,
    /// Virtual users.
    users: Option<f64>,
    /// Requests per second.
    rate: Option<f64>,
    /// By name.
    errors: Vec<(String, f64)>,
    /// What version 2 printed on its way.
    periods: Periods,
}

/// The periods of a run, each from its first figure to its last.
#[derive(Default)]
struct Periods {
    requests: f64,
    length_ns: f64,
}

impl Periods {
    /// Adds `Metrics for period to: 07:14:50(+0000) (width: 4.75s)`, or a count of requests below it.
    fn line(&mut self, line: &str) {
        if let Some(requests) = line.strip_prefix("http.requests:") {
            self.requests += number(requests.trim_start_matches(['.', ' '])).unwrap_or(0.0);
        } else if line.starts_with("Metrics for period") {
            self.length_ns += word_after(line, "(width: ").and_then(time_ns).unwrap_or(0.0);
        }
    }
}

/// Where a line stands: names of figures repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// In front of the summary, and behind it.
    Outside,
    Counters,
    Latencies,
    Codes,
    Errors,
    Other,
}

fn is_rule(line: &str) -> bool {
    line.starts_with("---")
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut counted = Counted::default();
    let mut section = Section::Outside;
    let mut total_time = None;
    for (n, line) in text.lines() {
        if section == Section::Outside {
            counted.periods.line(line);
        }
        if let Some(time) = line.strip_prefix("All VUs finished. Total time:") {
            total_time = length_ns(time).map(|ns| (ns, n));
        } else if line.starts_with("Summary report @") {
            section = Section::Counters;
        } else if ["Metrics for period", "Phase started", "Started phase", "Report @", "Report for", "Log file:"]
            .iter()
            .any(|begin| line.starts_with(begin))
        {
            section = Section::Outside;
        } else if section != Section::Outside && !is_rule(line) {
            section = line_of(&mut claims, &mut counted, section, line, n);
        }
    }
    if !claims.status.is_empty() {
        claims.count_statuses();
    }
    if let Some((total_ns, n)) = total_time {
        // It is in whole seconds, with those before the first request and behind the last one.
        let Periods { requests, length_ns } = counted.periods;
        let is_complete = length_ns > 0.0 && length_ns < total_ns && counted.requests == Some(requests);
        claims.put(Figure::Duration, Some(if is_complete { length_ns } else { total_ns }), Some(n));
    }
    finish(claims, &counted)
}

/// Takes down a line of the summary; the section of the next one.
fn line_of(claims: &mut Claims, counted: &mut Counted, section: Section, line: &str, n: u64) -> Section {
    if let Some(title) = line.strip_suffix(':') {
        return match title {
            "http.response_time" | "Request latency" | "Response time (msec)" | "Response time" => Section::Latencies,
            "Codes" => Section::Codes,
            "Errors" => Section::Errors,
            _ => Section::Other,
        };
    }
    let Some((name, value)) = line.split_once(": .").or_else(|| line.rsplit_once(':')) else {
        claims.unread_lines += 1;
        return section;
    };
    let value = value.trim_start_matches(['.', ' ']);
    let is_nested = ["min", "max", "mean", "median", "p50", "p75", "p90", "p95", "p99", "p999"].contains(&name);
    let value_of = || number(value.split(' ').next()?);
    match (section, name) {
        (Section::Latencies, name) if is_nested => {
            if let Some(figure) = latency(name) {
                claims.put(figure, value_of().map(|ms| ms * 1e6), Some(n));
            }
        }
        (Section::Other, _) if is_nested => {}
        (Section::Codes, code) => status(claims, code, value_of()),
        (Section::Errors, name) => counted.errors.extend(value_of().map(|n| (name.to_owned(), n))),
        _ => {
            counter(claims, counted, name, value);
            return if name.contains('.') { Section::Counters } else { section };
        }
    }
    section
}

fn counter(claims: &mut Claims, counted: &mut Counted, name: &str, value: &str) {
    let n = number(value.split(' ').next().unwrap_or_default());
    if let Some(code) = name.strip_prefix("http.codes.") {
        status(claims, code, n);
    } else if let Some(error) = name.strip_prefix("errors.") {
        counted.errors.extend(n.map(|n| (error.to_owned(), n)));
    }
    let of = match name {
        "http.requests" => &mut counted.requests,
        "http.responses" | "Requests completed" => &mut counted.responses,
        "vusers.created" | "Scenarios launched" => &mut counted.users,
        "RPS sent" | "Mean response/sec" => &mut counted.rate,
        _ => return,
    };
    *of = of.or(n);
}

fn status(claims: &mut Claims, code: &str, responses: Option<f64>) {
    let responses = responses.filter(|n| (0.0..=FIGURE_MAX).contains(n));
    if let (Ok(status @ 100..=599), Some(n)) = (code.parse::<u16>(), responses) {
        claims.status.insert(status, n as u64);
    }
}

fn latency(name: &str) -> Option<Figure> {
    Some(match name {
        "min" => Figure::LatencyMin,
        "max" => Figure::LatencyMax,
        "mean" => Figure::LatencyMean,
        "median" | "p50" => Figure::LatencyP50,
        "p75" => Figure::LatencyP75,
        "p90" => Figure::LatencyP90,
        "p95" => Figure::LatencyP95,
        "p99" => Figure::LatencyP99,
        "p999" => Figure::LatencyP999,
        _ => return None,
    })
}

/// `1 hour, 4 minutes, 30 seconds`.
fn length_ns(words: &str) -> Option<f64> {
    let mut sum = None;
    for part in words.split(',') {
        let (n, unit) = part.trim().split_once(' ')?;
        let unit_ns = match unit.trim_end_matches('s') {
            "second" => 1e9,
            "minute" => 60e9,
            "hour" => 3600e9,
            "day" => 86_400e9,
            _ => return None,
        };
        sum = Some(sum.unwrap_or(0.0) + number(n)? * unit_ns);
    }
    sum
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut counted = Counted::default();
    let Some(aggregate) = value.get("aggregate") else { return finish(claims, &counted) };
    // Version 1 has counters too: those that scripts keep.
    let counters = aggregate.get("counters").filter(|_| aggregate.get("requestsCompleted").is_none());
    let latencies = if let Some(counters) = counters.and_then(Value::as_object) {
        for (name, n) in counters {
            counter(&mut claims, &mut counted, name, &n.to_string());
        }
        let length = at(aggregate, "/lastMetricAt", 1e6).zip(at(aggregate, "/firstMetricAt", 1e6));
        claims.put(Figure::Duration, length.map(|(last, first)| last - first), None);
        claims.count_statuses();
        aggregate.pointer("/summaries/http.response_time")
    } else {
        counted.responses = at(aggregate, "/requestsCompleted", 1.0);
        counted.requests = at(aggregate, "/rps/count", 1.0);
        counted.users = at(aggregate, "/scenariosCreated", 1.0);
        counted.rate = at(aggregate, "/rps/mean", 1.0);
        let errors = aggregate.get("errors").and_then(Value::as_object).into_iter().flatten();
        counted.errors = errors.filter_map(|(name, n)| Some((name.clone(), n.as_f64()?))).collect();
        put_statuses(&mut claims, aggregate.get("codes"), Value::as_f64);
        aggregate.get("latency")
    };
    for (name, ms) in latencies.and_then(Value::as_object).into_iter().flatten() {
        if let Some(figure) = latency(name) {
            claims.put(figure, ms.as_f64().map(|ms| ms * 1e6), None);
        }
    }
    finish(claims, &counted)
}

fn finish(mut claims: Claims, counted: &Counted) -> Result<Claims, Unreadable> {
    let is_unanswered = |name: &str| UNANSWERED.iter().any(|begin| name.starts_with(begin));
    let sum = |keep: &dyn Fn(&str) -> bool| -> f64 {
        counted.errors.iter().filter(|(name, _)| keep(name)).map(|(_, n)| n).sum()
    };
    claims.put(Figure::Responses, counted.responses, None);
    if counted.responses.is_some() || counted.requests.is_some() {
        // Where nothing was answered there are no codes.
        claims.put(Figure::Responses, Some(0.0), None);
        claims.put(Figure::BadStatus, Some(0.0), None);
    }
    let responses = claims.get(Figure::Responses);
    let unanswered = counted.requests.zip(responses).map(|(requests, responses)| (requests - responses).max(0.0));
    let named = sum(&is_unanswered);
    let broken = unanswered.map_or(named, |unanswered| unanswered.max(named.min(counted.requests.unwrap_or(named))));
    // What broke off in its body was counted as a response, too, when its head came.
    let cut = unanswered.map_or(0.0, |unanswered| broken - unanswered);
    let responses = responses.map(|responses| (responses - cut).max(0.0));
    if let Some(responses) = responses.filter(|_| cut > 0.0) {
        claims.replace(Figure::Responses, responses);
    }
    claims.put(Figure::Broken, Some(broken), None);
    claims.put(Figure::Timeouts, Some(sum(&|name| name == "ETIMEDOUT" || name == "ESOCKETTIMEDOUT")), None);
    // Answers in which a script did not find what it expected.
    let refused = sum(&|name| name.starts_with("Failed capture or match")).min(responses.unwrap_or(0.0));
    if refused > 0.0 {
        claims.add(Figure::BadStatus, refused, None);
    }
    // With one request for each user, none waits for another.
    if counted.users.is_some_and(|users| counted.requests.or(responses) == Some(users)) {
        claims.mode = Some(Mode::Open);
    }
    let attempted = responses.map(|responses| responses + broken);
    if let Some(rate) = counted.rate.filter(|rate| *rate > 0.0) {
        claims.put(Figure::Throughput, Some(rate), None);
        claims.put(Figure::Duration, attempted.map(|n| n / rate * 1e9), None);
    }
    // The rate that version 2 prints is a mean of periods, of which the last is shorter, and rounded.
    let by_time = responses.zip(claims.get(Figure::Duration).filter(|ns| *ns > 0.0));
    claims.put(Figure::Throughput, by_time.map(|(n, ns)| n / ns * 1e9), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    require(claims, &[(Figure::Responses, "`http.responses` or `Requests completed`")])
}
