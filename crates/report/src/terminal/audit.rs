//! Audits in a terminal: the verdict first, then what is left of the claim.

use super::Style;
use super::layout::{columns, labelled, labelled_bold, table, top_lines};
use super::verdict::{findings_of_file, headline};
use crate::words::limiter;
use model::human::{count, percent, percent_exact, plural, rate, time};
use model::{AuditRecord, AuditsRecord};

/// Latencies shown, as they are claimed: key and name.
const LATENCIES: [(&str, &str); 7] = [
    ("latency_mean_ns", "mean"),
    ("latency_p50_ns", "p50"),
    ("latency_p90_ns", "p90"),
    ("latency_p95_ns", "p95"),
    ("latency_p99_ns", "p99"),
    ("latency_p99_9_ns", "p99.9"),
    ("latency_max_ns", "max"),
];

/// One output: verdict, what is left of the claim, findings. Ends with a newline.
#[must_use]
pub fn audit(record: &AuditRecord, style: &Style) -> String {
    let style = *style;
    let mut out = headline(&record.verdict, style);
    if record.knee.is_none() {
        out.push_str(&labelled_bold("goodput", &goodput(record), style));
    }
    let model = record.load_model.as_ref().map_or_else(String::new, |model| format!(", {model} loop"));
    match record.throughput_per_s {
        Some(per_s) => out.push_str(&labelled("claimed", &format!("{} by {}{model}", rate(per_s), record.tool), style)),
        None => out.push_str(&labelled("claimed", &format!("a {}{model}", record.tool), style)),
    }
    if let Some(knee) = record.knee {
        let plateau = rate(knee.goodput_per_s);
        let text = match record.fit {
            Some(fit) => {
                let off = percent(fit.error_max);
                format!("{:.2} connections, plateau {plateau} (pool model, at most {off} off)", knee.load)
            }
            None => format!("{} held, plateau {plateau}", rate(knee.load)),
        };
        out.push_str(&labelled_bold("knee", &text, style));
    }
    out.push_str(&top_lines(&limiter::facts(record.limiter.as_ref()), style));
    if let Some(share) = record.failed_share {
        out.push_str(&labelled("failed", &percent_exact(share), style));
    }
    if let Some(connections) = record.connections {
        let text = format!("{} open of {} asked for", count(connections.established), count(connections.requested));
        out.push_str(&labelled("connections", &text, style));
    }
    let latencies: Vec<_> =
        LATENCIES.iter().filter_map(|(key, name)| Some(format!("{name} {}", time(claim(record, key)?)))).collect();
    if !latencies.is_empty() {
        out.push_str(&labelled("latency", &format!("as claimed: {}", latencies.join(", ")), style));
    }
    for (label, text) in [("url", &record.url), ("command", &record.command)] {
        if let Some(text) = text {
            out.push_str(&labelled(label, text, style));
        }
    }
    let unread = match record.unread_lines {
        0 => String::new(),
        n => format!(" ({} in it not understood)", plural(n, "line")),
    };
    out.push_str(&labelled("file", &format!("{}{unread}", record.source), style));
    out.push_str(&findings_of_file(&record.verdict, style));
    out
}

/// Several outputs one after the other, then side by side, then what a text says of them. Ends with a newline.
#[must_use]
pub fn audits(record: &AuditsRecord, style: &Style) -> String {
    let part = |(i, one): (usize, &AuditRecord)| format!("== {}\n{}", letter(i), audit(one, style));
    let mut parts: Vec<String> = record.audits.iter().enumerate().map(part).collect();
    if let Some(comparison) = &record.comparison {
        let mut part = format!("== compared\n{}\n", headline(comparison, *style));
        part.push_str(&side_by_side(record, *style));
        part.push_str(&findings_of_file(comparison, *style));
        parts.push(part);
    }
    if let Some(text) = &record.text {
        parts.push(format!("== the text\n{}{}", headline(text, *style), findings_of_file(text, *style)));
    }
    parts.join("\n")
}

/// One line for each output; on a narrow terminal its letter stands for its file, then only what counts is left.
fn side_by_side(record: &AuditsRecord, style: Style) -> String {
    let ratio =
        |i: usize| record.goodput_ratios.as_ref().map_or_else(|| "-".to_owned(), |all| format!("{:.3}", all[i]));
    let row = |(i, one): (usize, &AuditRecord)| {
        [
            letter(i).to_string(),
            one.source.clone(),
            one.tool.clone(),
            crate::words::verdict::state_word(one.verdict.state).to_owned(),
            goodput(one),
            one.throughput_per_s.map_or_else(|| "-".to_owned(), rate),
            one.failed_share.map_or_else(|| "-".to_owned(), percent_exact),
            ratio(i),
        ]
    };
    let header = ["", "file", "tool", "verdict", "goodput", "claimed", "failed", "ratio"];
    let rows: Vec<_> = record.audits.iter().enumerate().map(row).collect();
    let of = |shown: &[usize], left| {
        let header: Vec<&str> = shown.iter().map(|at| header[*at]).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(|row| shown.iter().map(|at| row[*at].clone()).collect()).collect();
        table(&header, &rows, left, 2)
    };
    let candidates = [of(&[0, 1, 2, 3, 4, 5, 6, 7], 4), of(&[0, 2, 3, 4, 5, 6, 7], 3), of(&[0, 3, 4, 7], 2)];
    let [.., narrowest] = &candidates;
    candidates.iter().find(|text| columns(text) <= style.width).unwrap_or(narrowest).clone()
}

/// What stands for an output in the table: A to Z, then from the beginning.
fn letter(i: usize) -> char {
    char::from(b'A' + (i % 26) as u8)
}

fn goodput(record: &AuditRecord) -> String {
    record.goodput_per_s.map_or_else(|| "not known".to_owned(), |goodput| rate(goodput.value))
}

fn claim(record: &AuditRecord, name: &str) -> Option<f64> {
    record.claims.iter().find(|claim| claim.name == name).map(|claim| claim.value)
}
