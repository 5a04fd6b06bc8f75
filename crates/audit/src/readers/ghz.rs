//! ghz, a client of gRPC: its summary, and `-O json`.

use super::{JsonReader, Keeps, TextReader, Tool, at, quantile, require, text_at};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{number, time_ns};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "ghz",
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
        flag(&["-n", "--total"], Figure::Planned, Unit::Number),
        flag(&["-z", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-r", "--rps"], Figure::RateOffered, Unit::PerSecond),
        flag(&["-t", "--timeout"], Figure::Timeout, Unit::Time),
        // Calls that are made at the same time, of which several share a connection.
        flag(&["-c", "--concurrency"], Figure::Connections, Unit::Number),
    ],
};

const TEXT: TextReader = TextReader {
    fits: is_ghz,
    begins: |line| line == "Summary:",
    ends: |line| line.starts_with("Response time histogram:"),
    leads: |_| false,
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader { fits: |value| value.get("statusCodeDistribution").is_some(), read: read_json };

/// ghz gives up on a call after this, unless told otherwise.
const TIMEOUT_NS: f64 = 20e9;
/// What it says of calls that were on their way when its time was up.
const CUT_AT_THE_END: [&str; 3] =
    ["transport is closing", "the client connection is closing", "use of closed network connection"];
/// More cannot have been on their way, unless the command says so.
const CONCURRENT: f64 = 50.0;

/// Others print a summary that begins alike.
pub(super) fn is_ghz(text: &Text) -> bool {
    text.lines().any(|(_, line)| line.starts_with("Count:"))
        && text.lines().any(|(_, line)| line.starts_with("Requests/sec:"))
}

/// What a report counts, beside its figures.
#[derive(Default)]
struct Counted {
    /// Calls, those that were cut at the end among them.
    calls: Option<f64>,
    per_s: Option<f64>,
    /// By the name of its status.
    by_status: Vec<(String, f64)>,
    cut_at_the_end: f64,
}

impl Counted {
    /// `[OK]  200 responses`, or `[3]  rpc error: ...`.
    fn entry(&mut self, section: &str, name: &str, rest: &str) {
        if section.starts_with("Status code distribution") {
            let calls = rest.split_whitespace().next().and_then(number);
            self.by_status.extend(calls.map(|calls| (name.to_owned(), calls)));
        } else if CUT_AT_THE_END.iter().any(|words| rest.contains(words)) {
            self.cut_at_the_end += number(name).unwrap_or(0.0);
        }
    }
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let mut counted = Counted::default();
    let mut section = "";
    for (n, line) in text.lines() {
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            counted.entry(section, name, rest);
        } else if line.ends_with(':') {
            section = line;
        } else if section.starts_with("Summary") {
            summary(&mut claims, &mut counted, line, n);
        } else if let Some((percent, latency)) = line.split_once(" in ").filter(|_| section.starts_with("Latency")) {
            let percent = number(percent.trim_end_matches('%').trim());
            if let Some(figure) = percent.and_then(quantile) {
                claims.put(figure, time_ns(latency), Some(n));
            }
        } else {
            claims.unread_lines += u64::from(!line.contains('['));
        }
    }
    finish(claims, &counted)
}

fn summary(claims: &mut Claims, counted: &mut Counted, line: &str, n: u64) {
    let Some((label, value)) = line.split_once(':') else { return };
    let figure = match label {
        "Count" => {
            counted.calls = number(value.trim());
            return;
        }
        "Requests/sec" => {
            counted.per_s = number(value.trim());
            return;
        }
        "Total" => Figure::Duration,
        "Slowest" => Figure::LatencyMax,
        "Fastest" => Figure::LatencyMin,
        "Average" => Figure::LatencyMean,
        _ => return,
    };
    // Latencies are those of good calls; where there are none, they are zero.
    claims.put(figure, time_ns(value).filter(|ns| *ns > 0.0), Some(n));
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    let figures = [
        (Figure::Duration, "/total"),
        (Figure::LatencyMean, "/average"),
        (Figure::LatencyMin, "/fastest"),
        (Figure::LatencyMax, "/slowest"),
        (Figure::Connections, "/options/concurrency"),
        (Figure::Timeout, "/options/timeout"),
    ];
    for (figure, pointer) in figures {
        claims.put(figure, at(value, pointer, 1.0).filter(|value| *value > 0.0), None);
    }
    claims.put(Figure::RateOffered, at(value, "/options/rps", 1.0).filter(|rate| *rate > 0.0), None);
    claims.url = text_at(value, "/options/host");
    for entry in value.get("latencyDistribution").and_then(Value::as_array).into_iter().flatten() {
        if let Some(figure) = at(entry, "/percentage", 1.0).and_then(quantile) {
            claims.put(figure, at(entry, "/latency", 1.0), None);
        }
    }
    if value.pointer("/options/async").and_then(Value::as_bool) == Some(true) {
        claims.mode = Some(Mode::Open);
    }
    let numbers = |key: &str| -> Vec<(String, f64)> {
        let entries = value.get(key).and_then(Value::as_object).into_iter().flatten();
        entries.filter_map(|(name, n)| Some((name.clone(), n.as_f64()?))).collect()
    };
    let is_cut = |(words, _): &&(String, f64)| CUT_AT_THE_END.iter().any(|cut| words.contains(cut));
    let counted = Counted {
        calls: at(value, "/count", 1.0),
        per_s: at(value, "/rps", 1.0),
        by_status: numbers("statusCodeDistribution"),
        cut_at_the_end: numbers("errorDistribution").iter().filter(is_cut).map(|(_, n)| n).sum(),
    };
    finish(claims, &counted)
}

fn finish(mut claims: Claims, counted: &Counted) -> Result<Claims, Unreadable> {
    let is_async = claims.command.as_deref().is_some_and(|command| command.contains("--async"));
    claims.mode = claims.mode.or(Some(if is_async { Mode::Open } else { Mode::Closed }));
    let of = |keep: fn(&str) -> bool| -> f64 {
        counted.by_status.iter().filter(|(name, _)| keep(name)).map(|(_, n)| n).sum()
    };
    // A client says Unavailable too, of a server that it cannot reach.
    let [good, unavailable, late] =
        [of(|name| name == "OK"), of(|name| name == "Unavailable"), of(|name| name == "DeadlineExceeded")];
    let canceled = of(|name| name == "Canceled");
    let bad = of(|_| true) - good - unavailable - late - canceled;
    // Those that its own end has cut are neither answered nor failed; more of them are of a server that has closed.
    let most = claims.get(Figure::Connections).unwrap_or(CONCURRENT);
    let cut = if counted.cut_at_the_end <= most { counted.cut_at_the_end } else { 0.0 };
    let failed = (unavailable + canceled - cut).max(0.0);
    if !counted.by_status.is_empty() || counted.calls == Some(0.0) {
        claims.put(Figure::Responses, Some(good + bad), None);
        claims.put(Figure::BadStatus, Some(bad), None);
        claims.put(Figure::Broken, Some(late), None);
        claims.put(Figure::Timeouts, Some(late), None);
        claims.put(Figure::BadOrBroken, Some(failed), None);
    }
    claims.put(Figure::InRate, counted.calls, None);
    claims.put(Figure::Throughput, counted.per_s, None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    let needed = [
        (Figure::InRate, "`Count:`"),
        (Figure::Duration, "`Total:`"),
        (Figure::Throughput, "`Requests/sec:`"),
        (Figure::Responses, "`Status code distribution`"),
    ];
    require(claims, &needed)
}
