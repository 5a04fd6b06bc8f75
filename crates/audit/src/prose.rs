//! Rates in a text: each must be in an output that supports it.

use super::rules::{NO_RAW_DATA, UNTIED};
use super::scan::number;
use super::{Audited, Figure, Text};
use judge::text::list;
use judge::{Outcome, verdict};
use model::human::rate;
use model::{FindingState, Verdict, VerdictState};
use std::collections::BTreeSet;

/// Units of a rate.
const UNITS: [&str; 9] =
    ["req/s", "req/sec", "req/second", "requests/s", "requests/sec", "requests/second", "rps", "reqs/s", "kreqs/s"];
/// A round figure may be so much off.
const ROUND_OFF: f64 = 0.05;
/// Figures named in a message.
const NAMED_MAX: usize = 6;

/// A rate that a text names.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    line: u64,
    per_s: f64,
    /// Half of the last digit that is written.
    within: f64,
}

/// Judges the rates of a text by the outputs given with it.
pub(super) fn judge_prose(text: &Text, audited: &[Audited]) -> Verdict {
    let named = rates(text);
    verdict([(UNTIED.id, tied(&named, audited)), (NO_RAW_DATA.id, raw_data(&named, audited))].into_iter())
}

fn tied(named: &[Named], audited: &[Audited]) -> Outcome {
    if named.is_empty() {
        return Outcome::Unchecked("no rate in the text");
    }
    let mut seen = BTreeSet::new();
    let mut untied = Vec::new();
    let mut refuted = Vec::new();
    // A figure that is named twice is one claim.
    for claim in named.iter().filter(|claim| seen.insert(claim.per_s.to_bits())) {
        let sources: Vec<&Audited> = audited.iter().filter(|one| has(one, claim)).collect();
        let place = format!("{} (line {})", rate(claim.per_s), claim.line);
        match sources.as_slice() {
            [] => untied.push(place),
            some if some.iter().all(|one| one.record.verdict.state == VerdictState::Invalid) => {
                let good = some[0].record.goodput_per_s.map_or_else(|| "unknown".to_owned(), |good| rate(good.value));
                refuted.push(format!("{place} of {}, goodput {good}", some[0].record.source));
            }
            _ => {}
        }
    }
    if untied.is_empty() && refuted.is_empty() {
        return Outcome::Pass;
    }
    let (n_untied, n_refuted) = (untied.len(), refuted.len());
    let mut parts = Vec::new();
    if n_refuted > 0 {
        parts.push(format!("rates that their output does not support: {}", named_few(refuted)));
    }
    if n_untied > 0 {
        parts.push(format!("rates in none of the outputs: {}", named_few(untied)));
    }
    let message = format!("the text claims {}", parts.join("; and "));
    let remedy = "name the output of each figure, and quote its goodput".to_owned();
    let figures = [("rates", named.len() as f64), ("untied", n_untied as f64), ("refuted", n_refuted as f64)];
    Outcome::fired(UNTIED.id, FindingState::Invalid, message, remedy, figures)
}

/// The first few in a sentence.
fn named_few(mut items: Vec<String>) -> String {
    let more = items.len().saturating_sub(NAMED_MAX);
    items.truncate(NAMED_MAX);
    items.extend((more > 0).then(|| format!("{more} more")));
    list(&items)
}

fn raw_data(named: &[Named], audited: &[Audited]) -> Outcome {
    let tied = named.iter().filter(|claim| audited.iter().any(|one| has(one, claim))).count();
    match (named.len(), tied) {
        (0, _) => Outcome::Unchecked("no rate in the text"),
        (all, 0) => {
            let message = match all {
                1 => "the rate in the text has no raw data".to_owned(),
                _ => format!("none of the {all} rates in the text has raw data"),
            };
            let remedy = "keep the tool's output with the text, and pass it too".to_owned();
            Outcome::fired(NO_RAW_DATA.id, FindingState::Invalid, message, remedy, [("rates", all as f64)])
        }
        _ => Outcome::Pass,
    }
}

/// True if an output has this rate: its throughput, or a row of its table.
fn has(one: &Audited, claim: &Named) -> bool {
    let rows = one.claims.table.iter().map(|row| row.throughput_per_s);
    let goodput = one.record.goodput_per_s.map(|goodput| goodput.value);
    let figures = [Figure::Throughput, Figure::RateSent].into_iter().filter_map(|figure| one.claims.get(figure));
    figures.chain(goodput).chain(rows).any(|value| (value - claim.per_s).abs() <= claim.within)
}

/// `5431.01 req/s`, `1000+ req/s`, `210 requests per second`; thousands may be parted by commas.
fn rates(text: &Text) -> Vec<Named> {
    let mut found = Vec::new();
    for (line, content) in text.lines() {
        let words: Vec<&str> = content.split_whitespace().collect();
        for (i, word) in words.iter().enumerate() {
            let next = words.get(i + 1).map_or("", |next| trimmed(next)).to_ascii_lowercase();
            let third = words.get(i + 2).map_or("", |third| trimmed(third)).to_ascii_lowercase();
            let fourth = words.get(i + 3).map_or("", |fourth| trimmed(fourth)).to_ascii_lowercase();
            let is_rate = UNITS.contains(&next.as_str())
                || (next == "requests" && third == "per" && matches!(fourth.as_str(), "second" | "sec" | "s"));
            if let Some(mut claim) = is_rate.then(|| figure(trimmed(word), line)).flatten() {
                if next.starts_with('k') {
                    claim.per_s *= 1e3;
                    claim.within *= 1e3;
                }
                found.push(claim);
            }
        }
    }
    found
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| "*_`()[].,;:!?~\"'+≈".contains(c))
}

/// A figure and how exactly it is written: `5431.01` to 0.005, `35543` to 1, `1400` to 100.
fn figure(word: &str, line: u64) -> Option<Named> {
    let plain = word.replace(',', "");
    let per_s = number(&plain)?;
    let within = match plain.split_once('.') {
        Some((_, decimals)) => 0.5 * 0.1_f64.powi(decimals.len() as i32),
        // Whole ones are cut as often as rounded, and round ones mean a few percent.
        None => {
            let zeros = plain.len() - plain.trim_end_matches('0').len();
            (0.5 * 10_f64.powi(zeros as i32)).min(ROUND_OFF * per_s).max(1.0)
        }
    };
    Some(Named { line, per_s, within: within * 1.0001 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_found_in_prose() {
        let text = "reached 5431.01 req/s, and **1000+ req/s** with 70 children;\n35,543 requests per second (210 rps) in 30 s";
        let found = rates(&Text::decode(text.as_bytes()).unwrap());
        let values: Vec<_> = found.iter().map(|claim| (claim.line, claim.per_s)).collect();
        assert_eq!(values, [(1, 5431.01), (1, 1000.0), (2, 35_543.0), (2, 210.0)]);
        let within: Vec<_> = found.iter().map(|claim| (claim.within * 1e3).round() / 1e3).collect();
        assert_eq!(within, [0.005, 50.005, 1.0, 5.001]);
    }
}
