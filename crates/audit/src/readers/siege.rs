//! siege 3 and 4: the summary on stderr, and `-j`.

use super::{JsonReader, Keeps, TextReader, Tool, at, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{after, number};
use crate::text::Text;
use serde_json::Value;

pub(super) const TOOL: Tool = Tool {
    name: "siege",
    text: Some(TEXT),
    json: Some(JSON),
    csv: None,
    samples: None,
    keeps: Keeps::Told(|_| None),
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c", "--concurrent"], Figure::Connections, Unit::Number),
        flag(&["-r", "--reps"], Figure::Planned, Unit::NumberEach),
        flag(&["-t", "--time"], Figure::DurationAsked, Unit::Minutes),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Transactions:"),
    ends: |line| line.starts_with("Availability:"),
    leads: |line| ["** ", "Lifting", "The server is now"].iter().any(|lead| line.starts_with(lead)),
    so_far: None,
    parts: None,
    read: read_text,
};

const JSON: JsonReader = JsonReader {
    fits: |value| value.get("transactions").is_some() && value.get("availability").is_some(),
    read: read_json,
};

/// siege prints hundredths of a second, and gives up on a response after 30 s.
const RESOLUTION_NS: f64 = 1e7;
const TIMEOUT_NS: f64 = 30e9;
/// Label in text, name in JSON, figure, scale.
const FIGURES: [(&str, &str, Figure, f64); 5] = [
    ("Elapsed time:", "elapsed_time", Figure::Duration, 1e9),
    ("Response time:", "response_time", Figure::LatencyMean, 1e9),
    ("Transaction rate:", "transaction_rate", Figure::Throughput, 1.0),
    ("Longest transaction:", "longest_transaction", Figure::LatencyMax, 1e9),
    ("Shortest transaction:", "shortest_transaction", Figure::LatencyMin, 1e9),
];

/// How siege counts.
#[derive(Default)]
struct Counted {
    /// Responses but for 408 and 5xx: what the transaction rate is of.
    hits: Option<f64>,
    /// Of these: below 400, 401 and 407 among them. Redirects that led to a failure are in it and no hits.
    successful: Option<f64>,
    /// 408, 5xx, and requests without an answer; siege does not tell them apart.
    failed: Option<f64>,
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let mut counted = Counted::default();
    for (n, line) in text.lines() {
        let first = |label: &str| after(line, label).and_then(|rest| number(rest.split_whitespace().next()?));
        if line.starts_with("Transactions:") {
            counted.hits = first("Transactions:");
        } else if line.starts_with("Successful transactions:") {
            counted.successful = first("Successful transactions:");
        } else if line.starts_with("Failed transactions:") {
            counted.failed = first("Failed transactions:");
        } else if let Some((label, _, figure, scale)) = FIGURES.iter().find(|(label, ..)| line.starts_with(label)) {
            // Since 4.1 response times may be given in ms.
            let scale = if line.ends_with(" ms") { 1e6 } else { *scale };
            claims.put(*figure, first(label).map(|value| value * scale), Some(n));
        } else {
            let known = [
                "Availability:",
                "Data transferred:",
                "Throughput:",
                "Concurrency:",
                "HTTP OK received:",
                "HTTP/",
                "[",
                "siege aborted due to",
                "can change the failure",
                "**",
                "Lifting",
                "The server is now",
            ];
            claims.unread_lines += u64::from(!known.iter().any(|known| line.starts_with(known)));
        }
    }
    finish(claims, &counted)
}

fn read_json(value: &Value, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    for (_, name, figure, scale) in FIGURES {
        claims.put(figure, at(value, &format!("/{name}"), scale), None);
    }
    let of = |name: &str| at(value, name, 1.0);
    let counted = Counted {
        hits: of("/transactions"),
        successful: of("/successful_transactions"),
        failed: of("/failed_transactions"),
    };
    finish(claims, &counted)
}

fn finish(mut claims: Claims, counted: &Counted) -> Result<Claims, Unreadable> {
    if let (Some(hits), Some(failed)) = (counted.hits, counted.failed) {
        // It follows redirects, and counts those that lead nowhere as successful and as no hits.
        let lost = counted.successful.filter(|_| hits == 0.0).unwrap_or(0.0);
        if lost > 0.0 {
            claims.put(Figure::Redirects, Some(lost), None);
        }
        let bad_hits = counted.successful.map_or(0.0, |successful| (hits - successful).max(0.0));
        claims.put(Figure::Responses, Some(hits + lost), None);
        claims.put(Figure::BadStatus, Some(bad_hits), None);
        claims.put(Figure::BadOrBroken, Some(failed), None);
        claims.put(Figure::InRate, Some(hits), None);
    }
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    require(
        claims,
        &[
            (Figure::Responses, "`Transactions:` and `Failed transactions:`"),
            (Figure::Duration, "`Elapsed time:`"),
            (Figure::Throughput, "`Transaction rate:`"),
        ],
    )
}
