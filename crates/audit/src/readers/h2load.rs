//! h2load, with the labels up to 1.52 (`time for request:`) and the later ones (`request`); before 1.4 it had no timeouts, and
//! before 1.0 its times were in words.

use super::{Keeps, TextReader, Tool, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{number, time_ns, word_after};
use crate::text::Text;

pub(super) const TOOL: Tool = Tool {
    name: "h2load",
    text: Some(TEXT),
    json: None,
    csv: None,
    samples: None,
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--clients"], Figure::Connections, Unit::Number),
        flag(&["-n", "--requests"], Figure::Planned, Unit::Number),
        flag(&["-t", "--threads"], Figure::Threads, Unit::Number),
        flag(&["-D", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["--rps"], Figure::RateOffered, Unit::PerSecondEach),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("starting benchmark..."),
    ends: |line| line.starts_with("finished in "),
    leads: |_| false,
    so_far: None,
    parts: None,
    read,
};

/// Lines that hold nothing to be judged.
const KNOWN: [&str; 17] = [
    "starting benchmark",
    "progress: ",
    "Warm-up",
    "Main benchmark",
    "Stopped all",
    "time for connect",
    "time to 1st byte",
    "req/s",
    "connect",
    "TTFB",
    "min ",
    "Application protocol",
    "Protocol: ",
    "TLS Protocol",
    "Cipher",
    "Server Temp Key",
    "ALPN",
];

fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    for (n, line) in text.lines() {
        let known = line_of(&mut claims, line, n) || KNOWN.iter().any(|known| line.starts_with(known));
        claims.unread_lines += u64::from(!known);
    }
    require(
        claims,
        &[
            (Figure::Duration, "`finished in`"),
            (Figure::Throughput, "`finished in`"),
            (Figure::Responses, "`requests:`"),
            (Figure::BadStatus, "`status codes:`"),
        ],
    )
}

fn line_of(claims: &mut Claims, line: &str, n: u64) -> bool {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    // Figures stand before their names here.
    let of = |name: &str| {
        let at = words.iter().position(|word| word.trim_end_matches(',') == name)?;
        number(words[at.checked_sub(1)?])
    };
    if line.starts_with("finished in ") {
        let time = word_after(line, "finished in ").and_then(time_ns);
        claims.put(Figure::Duration, time.or_else(|| spelled_ns(line)), n);
        claims.put(Figure::Throughput, of("req/s"), n);
    } else if line.starts_with("spawning thread #") {
        claims.add(Figure::Connections, word_after(line, ": ").and_then(number).unwrap_or(0.0), n);
        claims.add(Figure::Threads, 1.0, n);
    } else if line.starts_with("requests: ") {
        let counted = ["total", "started", "succeeded", "failed", "errored"].map(of);
        if let [Some(total), Some(started), Some(succeeded), Some(failed), Some(errored)] = counted {
            let timeout = of("timeout");
            // A connection that ends takes its share of the requests with it, unsent.
            // For a time (-D) all are those that ended, and those in flight at its end were started as well.
            let unsent = if started > 0.0 { (total - started).max(0.0) } else { 0.0 };
            claims.put(Figure::Planned, Some(total), n);
            claims.put(Figure::Dropped, Some(unsent), n);
            // Those that timed out are among the errored.
            let errored = errored.max(timeout.unwrap_or(0.0));
            claims.put(Figure::Responses, Some(succeeded + failed - errored), n);
            claims.put(Figure::Broken, Some(errored - unsent), n);
            claims.put(Figure::Timeouts, timeout, n);
        }
    } else if line.starts_with("status codes: ") {
        // Of responses that ended early as well, so that they are no count of responses.
        if let [Some(redirects), Some(client), Some(server)] = ["3xx", "4xx", "5xx"].map(of) {
            claims.put(Figure::Redirects, Some(redirects), n);
            claims.put(Figure::BadStatus, Some(client + server), n);
        }
    } else if line.starts_with("traffic: ") {
        let responses = claims.get(Figure::Responses).filter(|n| *n > 0.0);
        let bytes = |label: &str| {
            let (before, _) = line.split_once(label)?;
            number(before.rsplit_once(['(', ' '])?.1.trim_start_matches('('))
        };
        let total = bytes(") total").or_else(|| bytes(" bytes total"));
        let data = bytes(") data").or_else(|| bytes(" bytes data"));
        claims.put(Figure::ResponseBytes, total.zip(responses).map(|(bytes, n)| bytes / n), n);
        claims.put(Figure::BodyBytes, data.zip(responses).map(|(bytes, n)| bytes / n), n);
    } else if let ["time", "for", "request:", min, max, mean, ..] = words.as_slice() {
        claims.put(Figure::LatencyMin, time_ns(min), n);
        claims.put(Figure::LatencyMax, time_ns(max), n);
        claims.put(Figure::LatencyMean, time_ns(mean), n);
    } else if let ["request", ":", rest @ ..] | ["request", rest @ ..] = words.as_slice() {
        let [min, max, median, p95, p99, mean, ..] = rest else { return false };
        let figures = [
            Figure::LatencyMin,
            Figure::LatencyMax,
            Figure::LatencyP50,
            Figure::LatencyP95,
            Figure::LatencyP99,
            Figure::LatencyMean,
        ];
        for (figure, word) in figures.into_iter().zip([min, max, median, p95, p99, mean]) {
            claims.put(figure, time_ns(word), n);
        }
    } else {
        return false;
    }
    true
}

/// `7 sec, 45 millisec and 190 microsec`.
fn spelled_ns(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
    let unit =
        |word: &str| [("sec", 1e9), ("millisec", 1e6), ("microsec", 1e3)].into_iter().find(|(unit, _)| *unit == word);
    let parts = words.windows(2).filter_map(|pair| Some(number(pair[0])? * unit(pair[1])?.1));
    parts.fold(None, |sum, part| Some(sum.unwrap_or(0.0) + part))
}
