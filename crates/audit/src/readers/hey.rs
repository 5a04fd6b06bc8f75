//! hey, and boom before it: `Summary:` to `Status code distribution:`.

use super::{Keeps, TextReader, Tool, ghz, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, FIGURE_MAX, Figure, Mode};
use crate::scan::{after, number, time_ns};
use crate::text::Text;

pub(super) const TOOL: Tool = Tool {
    name: "hey",
    text: Some(TEXT),
    json: None,
    csv: None,
    samples: None,
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Go,
    flags: &[
        flag(&["-c"], Figure::Connections, Unit::Number),
        flag(&["-n"], Figure::Planned, Unit::Number),
        flag(&["-z"], Figure::DurationAsked, Unit::Time),
        flag(&["-q"], Figure::RateOffered, Unit::PerSecondEach),
        flag(&["-t"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |text| !text.has("Success rate:") && !ghz::is_ghz(text),
    // Others have a `Summary:`, too.
    begins: |line| line.starts_with("Slowest:"),
    ends: |line| line.starts_with("Response time histogram:"),
    leads: |line| line == "Summary:" || line.starts_with("Total:"),
    so_far: None,
    parts: None,
    read: |text, mut claims| {
        claims.put_usual(Figure::Timeout, TIMEOUT_NS);
        claims.kept_max = Some(KEPT_MAX);
        read(text, claims)
    },
};

/// Results that hey keeps; its rate counts all (`maxRes` in its source).
const KEPT_MAX: f64 = 1_000_000.0;
/// hey gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 20e9;

/// Lines that hold nothing to be judged.
const KNOWN: [&str; 17] = [
    "Summary:",
    "Size/sec:",
    "Response time",
    "Latency distribution",
    "Details",
    "DNS",
    "req write:",
    "resp wait:",
    "resp read:",
    "Status code distribution",
    "Error distribution",
    "10%",
    "25%",
    "10.00%",
    "25.00%",
    "99.99%",
    "Success rate:",
];

/// Output that hey and oha have in common.
pub(super) fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let mut errors = false;
    // oha can add the same distributions for parts of the responses.
    let mut part = false;
    for (n, line) in text.lines() {
        errors |= line.starts_with("Error distribution");
        part |= line.contains("xx only)");
        part &= !line.starts_with("Details");
        let known = line_of(&mut claims, line, n, errors, part)
            || line.contains(" |")
            || line.contains("]\t|")
            || KNOWN.iter().any(|known| line.starts_with(known));
        claims.unread_lines += u64::from(!known);
    }
    claims.count_statuses();
    claims.put(Figure::Broken, Some(0.0), None);
    let answered = claims.get(Figure::Responses).unwrap_or(0.0) + claims.get(Figure::Broken).unwrap_or(0.0);
    if answered == 0.0 {
        let missing = vec!["`Status code distribution:` with a status"];
        let read = claims.figures().map(|(figure, ..)| figure.name()).collect();
        return Err(Unreadable::Incomplete { tool: claims.tool, read, missing });
    }
    require(claims, &[(Figure::Duration, "`Total:`"), (Figure::Throughput, "`Requests/sec:`")])
}

fn line_of(claims: &mut Claims, line: &str, n: u64, errors: bool, part: bool) -> bool {
    let n = Some(n);
    if let Some((figure, rest)) = labelled(line) {
        claims.put(figure, time_ns(rest), n);
    } else if let Some(rest) = after(line, "DNS+dialup:") {
        // oha has the mean over its connections there.
        let mean = rest.split(',').next().and_then(time_ns).filter(|_| claims.tool == TOOL.name);
        claims.put(Figure::ConnectMean, mean, n);
    } else if let Some(rest) = after(line, "Requests/sec:") {
        claims.put(Figure::Throughput, number(rest), n);
    } else if let Some(rest) = after(line, "Size/request:") {
        claims.put(Figure::BodyBytes, crate::scan::bytes(&rest.replace("bytes", "B"), 1000.0), n);
    } else if let Some((counted, what)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let what = what.trim();
        match (number(counted), what.split_once(' ')) {
            (Some(status), Some((responses, "responses"))) if !errors && (100.0..600.0).contains(&status) => {
                let responses = number(responses).unwrap_or(0.0).min(FIGURE_MAX);
                claims.status.insert(status as u16, responses as u64);
            }
            // What was under way when the time was up is no failure.
            (Some(_), _) if errors && what == "aborted due to deadline" => {}
            (Some(failed), _) if errors => {
                claims.add(Figure::Broken, failed, n);
                if what.to_ascii_lowercase().contains("timeout") || what.contains("deadline exceeded") {
                    claims.add(Figure::Timeouts, failed, n);
                }
            }
            _ => return false,
        }
    } else if let Some((quantile, value)) = line.split_once("% in ") {
        // Some versions print `99%%`.
        let figure = match quantile.trim_end_matches('%').trim_end_matches("00").trim_end_matches('.') {
            "50" => Figure::LatencyP50,
            "75" => Figure::LatencyP75,
            "90" => Figure::LatencyP90,
            "95" => Figure::LatencyP95,
            "99" => Figure::LatencyP99,
            "99.90" => Figure::LatencyP999,
            _ => return true,
        };
        if !part {
            claims.put(figure, time_ns(value), n);
        }
    } else {
        return line.starts_with("Total data:");
    }
    true
}

/// `Total: 0.0452 secs` and its like.
fn labelled(line: &str) -> Option<(Figure, &str)> {
    let labels = [
        ("Total:", Figure::Duration),
        ("Slowest:", Figure::LatencyMax),
        ("Fastest:", Figure::LatencyMin),
        ("Average:", Figure::LatencyMean),
    ];
    labels.iter().find_map(|(label, figure)| Some((*figure, after(line, label)?)))
}
