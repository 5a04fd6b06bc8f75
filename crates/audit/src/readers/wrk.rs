//! wrk 2 to 4 and wrk2: `Running 30s test @ URL` to `Transfer/sec:`.

use super::{Keeps, TextReader, Tool, autocannon, require, zrk};
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{after, bytes, number, time_ns, word_after};
use crate::text::Text;
use crate::{Unreadable, commands};
use model::Redacted;

pub(super) const WRK: Tool = Tool {
    name: "wrk",
    text: Some(TEXT),
    json: None,
    csv: None,
    samples: None,
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

pub(super) const WRK2: Tool =
    Tool { name: "wrk2", text: Some(TEXT_OF_WRK2), called: &["wrk"], flags: FLAGS_OF_WRK2, ..WRK };

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--connections"], Figure::Connections, Unit::Number),
        flag(&["-t", "--threads"], Figure::Threads, Unit::Number),
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-T", "--timeout"], Figure::Timeout, Unit::Time),
    ],
};

const FLAGS_OF_RATE: Flags =
    Flags { style: Style::Getopt, flags: &[flag(&["-R", "--rate"], Figure::RateOffered, Unit::PerSecond)] };

const FLAGS_OF_WRK2: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--connections"], Figure::Connections, Unit::Number),
        flag(&["-t", "--threads"], Figure::Threads, Unit::Number),
        flag(&["-d", "--duration"], Figure::DurationAsked, Unit::Time),
        flag(&["-R", "--rate"], Figure::RateOffered, Unit::PerSecond),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |text| !is_wrk2(text) && !autocannon::has_tables(text) && !zrk::is_zrk(text),
    begins: |line| line.starts_with("Running ") && line.contains(" test @ "),
    ends: |line| line.starts_with("Transfer/sec:"),
    leads: |_| false,
    so_far: None,
    parts: None,
    read,
};

const TEXT_OF_WRK2: TextReader = TextReader { fits: is_wrk2, ..TEXT };

/// It gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 2e9;
/// wrk2 samples response times once a millisecond.
const WRK2_RESOLUTION_NS: f64 = 1e6;

/// It calibrates itself in runs of 10 s or more alone; a rate is its alone too.
fn is_wrk2(text: &Text) -> bool {
    let has_rate = || {
        let command = commands::typed(text, "wrk2").or_else(|| commands::typed(text, "wrk"));
        let words = command.map(|command| ["wrk2", "wrk"].map(|name| commands::words_of(&command, name)).concat());
        !FLAGS_OF_RATE.typed(&words.unwrap_or_default()).is_empty()
    };
    text.has("Thread calibration: mean lat.") || text.has("Latency Distribution (HdrHistogram") || has_rate()
}

fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    let is_wrk2 = claims.tool == WRK2.name;
    claims.mode = Some(if is_wrk2 { Mode::Open } else { Mode::Closed });
    // Forks of wrk2 have the 99th percentile where others have the maximum.
    let is_fork = text.lines().any(|(_, line)| line.starts_with("Thread Stats") && line.contains(" 99% "));
    let third_column = if is_fork { Figure::LatencyP99 } else { Figure::LatencyMax };
    // Of wrk2 the uncorrected latencies follow the corrected ones.
    let mut uncorrected = false;
    for (n, line) in text.lines() {
        uncorrected |= line.starts_with("Uncorrected Latency");
        let known =
            (uncorrected && is_percentile(line)) || line_of(&mut claims, third_column, line, n) || is_spectrum(line);
        claims.unread_lines += u64::from(!known);
    }
    if is_wrk2 {
        // Its latencies count from the time due: no timeout cuts them.
        claims.put(Figure::Resolution, Some(WRK2_RESOLUTION_NS), None);
    } else {
        claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    }
    // Neither prints what is zero.
    for silent in [Figure::BadStatus, Figure::Broken, Figure::ConnectErrors, Figure::Timeouts] {
        claims.put(silent, Some(0.0), None);
    }
    if let (Some(received), Some(n)) = (received(text), claims.get(Figure::Responses).filter(|n| *n > 0.0)) {
        claims.put(Figure::ResponseBytes, Some(received / n), None);
    }
    require(
        claims,
        &[
            (Figure::Connections, "`N threads and N connections`"),
            (Figure::Responses, "`N requests in TIME`"),
            (Figure::Duration, "`N requests in TIME`"),
            (Figure::Throughput, "`Requests/sec:`"),
        ],
    )
}

/// One line of the output; false when it is none.
fn line_of(claims: &mut Claims, third_column: Figure, line: &str, n: u64) -> bool {
    let n = Some(n);
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["Running", length, "test", "@", url, ..] => {
            claims.put(Figure::DurationAsked, time_ns(length), n);
            claims.url = Some((*url).to_owned());
        }
        [threads, "threads", "and", connections, "connections"] => {
            claims.put(Figure::Threads, number(threads), n);
            claims.put(Figure::Connections, number(connections), n);
        }
        ["Latency", mean, _, high, share] if share.ends_with('%') => {
            claims.put(Figure::LatencyMean, time_ns(mean), n);
            claims.put(third_column, time_ns(high), n);
        }
        [quantile, value] if is_percentile(line) => put_quantile(claims, quantile, time_ns(value), n),
        [requests, "requests", "in", length, _, "read"] => {
            claims.put(Figure::Responses, number(requests), n);
            // A clock that ran backwards makes it longer than anything.
            claims.put(Figure::Duration, time_ns(length.trim_end_matches(',')).map(|ns| ns.min(FIGURE_MAX)), n);
        }
        ["Socket", "errors:", ..] => {
            let of = |label: &str| word_after(line, label).and_then(number);
            claims.put(Figure::ConnectErrors, of("connect "), n);
            claims.put(Figure::Broken, of("read ").zip(of("write ")).map(|(read, write)| read + write), n);
            claims.put(Figure::Timeouts, of("timeout "), n);
        }
        ["Non-2xx", "or", "3xx", "responses:", bad] => claims.put(Figure::BadStatus, number(bad), n),
        ["Requests/sec:", rate] => claims.put(Figure::Throughput, number(rate), n),
        ["Req/Sec", ..] | ["Thread", "Stats", ..] | ["Latency", "Distribution", ..] | ["Transfer/sec:", _] => {}
        ["Thread", "calibration:", ..] | ["Initialised", ..] => {}
        // Of the fork of DeathStarBench.
        ["Test", "Results", "@", _] | ["Sent", _, "requests"] => {}
        _ => return false,
    }
    true
}

/// The quantile of a line such as `99%` or `99.900%`.
fn put_quantile(claims: &mut Claims, name: &str, ns: Option<f64>, n: Option<u64>) {
    let figure = match name.trim_end_matches('%').parse::<f64>() {
        Ok(50.0) => Figure::LatencyP50,
        Ok(75.0) => Figure::LatencyP75,
        Ok(90.0) => Figure::LatencyP90,
        Ok(99.0) => Figure::LatencyP99,
        Ok(99.9) => Figure::LatencyP999,
        _ => return,
    };
    claims.put(figure, ns, n);
}

fn is_percentile(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word.ends_with('%')) && words.next().is_some() && words.next().is_none()
}

/// wrk2's table of all percentiles.
fn is_spectrum(line: &str) -> bool {
    let is_number = |word: &str| number(word).is_some() || word == "inf";
    line.starts_with("#[")
        || line.starts_with("Uncorrected Latency")
        || ["Detailed Percentile spectrum:", "Value   Percentile"].iter().any(|head| line.starts_with(head))
        || (line.len() > 9 && line.chars().all(|c| c == '-'))
        || line.split_whitespace().all(is_number)
}

/// Why wrk ended before it sent anything.
pub(super) fn not_started(text: &Text) -> Option<Unreadable> {
    let gave_up = |line: &str| ["unable to connect to ", "unable to resolve "].iter().any(|why| line.starts_with(why));
    let (_, reason) = text.lines().find(|(_, line)| gave_up(line))?;
    Some(Unreadable::NotStarted { tool: "wrk", reason: Redacted::text(reason).into_inner() })
}

fn received(text: &Text) -> Option<f64> {
    let (_, line) = text.lines().find(|(_, line)| line.contains(" requests in ") && line.ends_with(" read"))?;
    bytes(after(line.rsplit_once(", ")?.1, "")?.strip_suffix(" read")?, 1024.0)
}
