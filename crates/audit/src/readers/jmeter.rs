//! JMeter: the lines `summary = N in TIME = N/s` of its summariser, on the console and in `jmeter.log`. The last is of the
//! whole run; lines with `+` are of the time since the one before.

use super::{Keeps, TextReader, Tool, jmeter_rows, require};
use crate::Unreadable;
use crate::asked::Flags;
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{number, time_ns, word_after};
use crate::text::Text;

pub(super) const TOOL: Tool = Tool {
    name: "jmeter",
    text: Some(TEXT),
    json: None,
    csv: None,
    samples: Some(jmeter_rows::SAMPLES),
    keeps: Keeps::Told(|_| None),
    called: &["jmeter.sh", "jmeter.bat"],
    // Its load stands in the test plan.
    flags: Flags::NONE,
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| {
        let starts = ["Starting the test @", "Starting standalone test @"].iter().any(|start| line.contains(start));
        // A heading of whoever runs one after the other.
        starts || ["===", "---", "###"].iter().any(|mark| line.starts_with(mark))
    },
    ends: |line| line.contains("... end of run"),
    leads: is_furniture,
    so_far: Some(|line| total(line).map(|total| total.requests)),
    parts: None,
    read,
};

/// JMeter prints whole milliseconds.
const RESOLUTION_NS: f64 = 1e6;
/// The time is printed in whole seconds, which says little of a shorter one.
const SHORT_NS: f64 = 10e9;
const SECOND_NS: f64 = 1e9;

/// `NAME = REQUESTS in TIME = RATE/s Avg: ...`.
struct Total<'a> {
    requests: f64,
    time: &'a str,
    rate: &'a str,
    rest: &'a str,
}

/// The totals in a line; none of one that is of a part of the run.
fn total(line: &str) -> Option<Total<'_>> {
    let (figures, rest) = line.split_once("/s Avg:")?;
    let (figures, rate) = figures.rsplit_once('=')?;
    let (count, time) = figures.rsplit_once(" in ")?;
    let mut words = count.split_whitespace().rev();
    let requests = number(words.next()?)?;
    (words.next() == Some("=")).then_some(Total { requests, time: time.trim(), rate: rate.trim(), rest })
}

/// JMeter prints in the language of the machine; it has no separators but that of the decimals.
fn decimal(word: &str) -> Option<f64> {
    number(&word.replace(',', "."))
}

/// `01:02:03`, and `17.1s` of versions before 3.
fn elapsed_ns(word: &str) -> Option<f64> {
    match word.split(':').collect::<Vec<_>>().as_slice() {
        [hours, minutes, seconds] => {
            Some((number(hours)? * 3600.0 + number(minutes)? * 60.0 + number(seconds)?) * SECOND_NS)
        }
        _ => time_ns(&word.replace(',', ".")),
    }
}

fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let known = |line: &str| is_furniture(line) || total(line).is_some();
    claims.unread_lines += text.lines().filter(|(_, line)| !known(line)).count() as u64;
    let last = text.lines().filter_map(|(n, line)| Some((n, total(line)?))).last();
    if let Some((n, total)) = last {
        put(&mut claims, &total, n);
    }
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    let needed = [
        (Figure::Responses, "`summary = N in ...` with `Err:`"),
        (Figure::Duration, "`in TIME`"),
        (Figure::Throughput, "`= N/s`"),
    ];
    require(claims, &needed)
}

fn put(claims: &mut Claims, total: &Total<'_>, n: u64) {
    let n = Some(n);
    let failed = word_after(total.rest, "Err:").and_then(number);
    // Failed samples are those with a bad status, without a response, and those that a check in the test plan refuses.
    claims.put(Figure::Responses, failed.map(|failed| total.requests - failed), n);
    claims.put(Figure::BadStatus, failed.map(|_| 0.0), None);
    claims.put(Figure::BadOrBroken, failed, n);
    claims.put(Figure::InRate, Some(total.requests), None);
    let per_s = decimal(total.rate).or_else(|| (total.requests == 0.0).then_some(0.0));
    claims.put(Figure::Throughput, per_s, n);
    let printed = elapsed_ns(total.time);
    let by_rate = per_s.filter(|per_s| *per_s > 0.0).map(|per_s| total.requests / per_s * SECOND_NS);
    let is_closer = |(printed, by_rate): &(f64, f64)| *printed < SHORT_NS && (printed - by_rate).abs() <= SECOND_NS;
    let length = printed.zip(by_rate).filter(is_closer).map(|(_, by_rate)| by_rate).or(printed);
    claims.put(Figure::Duration, length, n);
    let latencies = [
        // The line was cut behind this word.
        (Figure::LatencyMean, total.rest.split_whitespace().next()),
        (Figure::LatencyMin, word_after(total.rest, "Min:")),
        (Figure::LatencyMax, word_after(total.rest, "Max:")),
    ];
    for (figure, word) in latencies.into_iter().filter(|_| total.requests > 0.0) {
        claims.put(figure, word.and_then(number).map(|ms| ms * 1e6), n);
    }
}

/// What it prints beside its totals.
fn is_furniture(line: &str) -> bool {
    let begins = [
        "Creating summariser",
        "Created the tree",
        "Starting ",
        "Waiting for possible",
        "Tidying up",
        "... end of run",
        // Of the log, without the time in front.
        "INFO ",
        "WARN",
        "Remote engines",
        "Configuring remote",
    ];
    let is_part = line.contains("/s Avg:") && line.contains(" + ");
    is_part || line.contains(" INFO ") || begins.iter().any(|begin| line.starts_with(begin))
}
