//! siege 3 and 4: the summary on stderr, and `-j`.

use super::{JsonReader, TextReader, at, require};
use crate::Unreadable;
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{after, number};
use crate::text::Text;
use serde_json::Value;

pub(super) const TEXT: TextReader = TextReader {
    tool: "siege",
    fits: |_| true,
    begins: |line| line.starts_with("Transactions:"),
    ends: |line| line.starts_with("Availability:"),
    read: read_text,
};

pub(super) const JSON: JsonReader = JsonReader {
    fits: |value| value.get("transactions").is_some() && value.get("availability").is_some(),
    read: read_json,
};

/// siege prints hundredths of a second, and gives up on a response after 30 s.
const RESOLUTION_NS: f64 = 1e7;
const TIMEOUT_NS: f64 = 30e9;
/// Label in text, name in JSON, figure, scale.
const FIGURES: [(&str, &str, Figure, f64); 6] = [
    ("Elapsed time:", "elapsed_time", Figure::Duration, 1e9),
    ("Response time:", "response_time", Figure::LatencyMean, 1e9),
    ("Transaction rate:", "transaction_rate", Figure::Throughput, 1.0),
    ("Longest transaction:", "longest_transaction", Figure::LatencyMax, 1e9),
    ("Shortest transaction:", "shortest_transaction", Figure::LatencyMin, 1e9),
    ("Failed transactions:", "failed_transactions", Figure::BadStatus, 1.0),
];

fn read_text(text: &Text) -> Result<Claims, Unreadable> {
    let mut claims = Claims::new("siege", Some(Mode::Closed));
    let mut hits = None;
    for (n, line) in text.lines() {
        let first = |label: &str| after(line, label).and_then(|rest| number(rest.split_whitespace().next()?));
        if line.starts_with("Transactions:") {
            hits = first("Transactions:");
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
                "Successful transactions:",
                "**",
                "Lifting",
                "The server is now",
            ];
            claims.unread_lines += u64::from(!known.iter().any(|known| line.starts_with(known)));
        }
    }
    finish(claims, hits)
}

fn read_json(value: &Value) -> Result<Claims, Unreadable> {
    let mut claims = Claims::new("siege", Some(Mode::Closed));
    for (_, name, figure, scale) in FIGURES {
        claims.put(figure, at(value, &format!("/{name}"), scale), None);
    }
    finish(claims, at(value, "/transactions", 1.0))
}

fn finish(mut claims: Claims, hits: Option<f64>) -> Result<Claims, Unreadable> {
    // Hits are those below 400; what failed was answered badly or not at all, and siege does not tell which.
    let all = hits.zip(claims.get(Figure::BadStatus));
    claims.put(Figure::Responses, all.map(|(good, failed)| good + failed), None);
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    claims.put(Figure::Timeout, Some(TIMEOUT_NS), None);
    require(
        claims,
        &[
            (Figure::Responses, "`Transactions:` and `Failed transactions:`"),
            (Figure::Duration, "`Elapsed time:`"),
            (Figure::Throughput, "`Transaction rate:`"),
        ],
    )
}
