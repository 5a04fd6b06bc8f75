//! Comparison of several outputs, and whether one is allowed.

use super::prose::judge_prose;
use super::readers::{Keeps, TOOLS};
use super::rules::{CEILING, IDENTICAL, LIKE_WITH_LIKE, ONE_FACTOR, SAME_WORK, UNEQUAL_SUCCESS};
use super::{Audited, Figure, Text};
use judge::text::list;
use judge::{Outcome, verdict};
use model::human::{plural, rate};
use model::{AuditRecord, AuditsRecord, FORMAT_AUDITS, FindingState, VerdictState};
use std::collections::BTreeSet;

/// Body sizes may differ by a counter or a date in the page.
const BODY_OFF: f64 = 0.05;
/// Loads this far apart show a ceiling.
const CEILING_LOADS: f64 = 1.5;
/// By as much the rates on a ceiling may differ.
const CEILING_OFF: f64 = 0.05;
/// Fewer figures may be equal by chance.
const TELLING_MIN: usize = 4;

/// Holds the outputs against each other, and what a text says against them.
#[must_use]
pub fn compare(audited: &[Audited], text: Option<&Text>) -> AuditsRecord {
    let outcomes = [
        (SAME_WORK.id, same_work(audited)),
        (LIKE_WITH_LIKE.id, like_with_like(audited)),
        (ONE_FACTOR.id, one_factor(audited)),
        (UNEQUAL_SUCCESS.id, unequal_success(audited)),
        (IDENTICAL.id, identical(audited)),
        (CEILING.id, ceiling(audited)),
    ];
    let comparison = (audited.len() > 1).then(|| verdict(outcomes.into_iter()));
    let may = comparison.as_ref().is_some_and(|verdict| verdict.state != VerdictState::Invalid);
    let goodputs: Option<Vec<f64>> =
        audited.iter().map(|one| one.record.goodput_per_s.map(|goodput| goodput.value)).collect();
    let goodput_ratios =
        goodputs.filter(|values| may && !is_curve(audited) && values.first().is_some_and(|first| *first > 0.0));
    AuditsRecord {
        format: FORMAT_AUDITS.to_owned(),
        audits: audited.iter().map(|one| one.record.clone()).collect(),
        goodput_ratios: goodput_ratios.map(|values| values.iter().map(|value| value / values[0]).collect()),
        comparison,
        text: text.map(|text| judge_prose(text, audited)),
    }
}

/// PH-07: the same server does no less on many connections than on one.
fn same_work(audited: &[Audited]) -> Outcome {
    let throughput = |one: &Audited| one.claims.get(Figure::Throughput);
    let is_alone = |one: &&Audited| one.claims.get(Figure::Connections) == Some(1.0);
    let alone = audited.iter().filter(is_alone).filter_map(|one| Some((one, throughput(one)?)));
    let Some((first, alone_per_s)) = alone.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Outcome::Unchecked("no output over one connection");
    };
    let loaded = audited.iter().filter(|one| is_loaded(one));
    let loaded: Vec<_> = loaded.filter_map(|one| Some((one, throughput(one)?))).collect();
    if loaded.is_empty() {
        return Outcome::Unchecked("no output at a load above one connection");
    }
    let Some((other, per_s)) = loaded.iter().find(|(_, per_s)| *per_s < alone_per_s) else { return Outcome::Pass };
    let message = format!(
        "{} did {} on one connection, {} only {} at a higher load: different workloads",
        first.record.source,
        rate(alone_per_s),
        other.record.source,
        rate(*per_s)
    );
    let remedy = "check status, size and caching of both before comparing them".to_owned();
    let figures = [("alone_per_s", alone_per_s), ("per_s", *per_s)];
    Outcome::fired(SAME_WORK.id, FindingState::Warning, message, remedy, figures)
}

/// More than one connection, or a rate that was more than was reached.
fn is_loaded(one: &Audited) -> bool {
    let get = |figure| one.claims.get(figure);
    let missed =
        get(Figure::RateOffered).zip(get(Figure::RateSent)).is_some_and(|(offered, sent)| sent < 0.99 * offered);
    missed || get(Figure::Connections).is_some_and(|n| n > 1.0)
}

/// An aspect that must be equal, and its value in one output.
type Aspect<'a> = (&'a str, &'a dyn Fn(&Audited) -> Option<String>);

/// CP-01: what must be equal for a ratio to mean anything.
fn like_with_like(audited: &[Audited]) -> Outcome {
    let differ = |of: &dyn Fn(&Audited) -> Option<String>| {
        let values: BTreeSet<String> = audited.iter().filter_map(of).collect();
        (values.len() > 1).then(|| values.into_iter().collect::<Vec<_>>())
    };
    let record = |of: fn(&AuditRecord) -> Option<String>| move |one: &Audited| of(&one.record);
    let mut different = Vec::new();
    let aspects: [Aspect<'_>; 4] = [
        ("tool", &record(|record| Some(record.tool.clone()))),
        ("load mode", &record(|record| record.load_model.clone())),
        ("URL", &record(|record| record.url.as_deref().map(|url| url.trim_end_matches('/').to_owned()))),
        ("connection reuse", &keeps_connections),
    ];
    for (what, of) in aspects {
        different.extend(differ(of).map(|values| format!("different {what} ({})", values.join(", "))));
    }
    let load = |one: &Audited| {
        let load = one.claims.get(Figure::RateOffered).or_else(|| one.claims.get(Figure::Connections))?;
        Some(load.to_string())
    };
    different.extend(differ(&load).map(|values| format!("different load ({})", values.join(", "))));
    let bodies: Vec<f64> = audited.iter().filter_map(|one| one.claims.get(Figure::BodyBytes)).collect();
    let (least, most) = bodies.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), body| (a.min(*body), b.max(*body)));
    if most > least * (1.0 + BODY_OFF) {
        different.push(format!("different response ({least:.0} and {most:.0} bytes)"));
    }
    if different.is_empty() {
        return Outcome::Pass;
    }
    if is_curve(audited) && different.len() == 1 {
        let message = "they differ in their load alone: they are loads of one curve, and not variants".to_owned();
        let remedy = "read them as a curve (plimsoll sweep measures one)".to_owned();
        return Outcome::fired(LIKE_WITH_LIKE.id, FindingState::Note, message, remedy, [("differences", 1.0)]);
    }
    let message = different.join("; ");
    let remedy = "measure both with the same tool and load, and change one thing".to_owned();
    let figures = [("differences", different.len() as f64)];
    Outcome::fired(LIKE_WITH_LIKE.id, FindingState::Invalid, message, remedy, figures)
}

/// True if a log has them, and each was made with another number of connections: whoever keeps them apart means variants.
fn is_curve(audited: &[Audited]) -> bool {
    let log = audited.first().and_then(|first| first.log.as_ref());
    if log.is_none() || audited.iter().any(|one| one.log.as_ref() != log) {
        return false;
    }
    let loads: Option<BTreeSet<u64>> =
        audited.iter().map(|one| one.claims.get(Figure::Connections).map(|n| n as u64)).collect();
    let has_rate = audited.iter().any(|one| one.claims.get(Figure::RateOffered).is_some());
    audited.len() > 1 && !has_rate && loads.is_some_and(|loads| loads.len() == audited.len())
}

/// SA-07: more connections without more responses is a ceiling.
fn ceiling(audited: &[Audited]) -> Outcome {
    if !is_curve(audited) {
        return Outcome::Unchecked("not several outputs at different numbers of connections");
    }
    let point = |one: &Audited| Some((one.claims.get(Figure::Connections)?, one.claims.get(Figure::Throughput)?));
    let mut points: Vec<(f64, f64)> = audited.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_flat = |pair: &&[(f64, f64)]| {
        let ((few, less_per_s), (many, more_per_s)) = (pair[0], pair[1]);
        many >= CEILING_LOADS * few && (more_per_s / less_per_s - 1.0).abs() <= CEILING_OFF
    };
    let Some(pair) = points.windows(2).find(is_flat) else { return Outcome::Pass };
    let ((few, per_s), (many, _)) = (pair[0], pair[1]);
    let message = format!(
        "the same {} on {} and on {}: this is a ceiling, and more connections only make requests wait",
        rate(per_s),
        few as u64,
        plural(many as u64, "connection")
    );
    let remedy = "find what limits it: the server's CPUs, a pool of workers, a rate limiter, or the client".to_owned();
    Outcome::fired(CEILING.id, FindingState::Note, message, remedy, [("per_s", per_s), ("connections", few)])
}

/// In words; none where that is not known.
fn keeps_connections(one: &Audited) -> Option<String> {
    let tool = TOOLS.iter().find(|tool| tool.name == one.claims.tool)?;
    let are_kept = match tool.keeps {
        Keeps::Always => true,
        Keeps::Told(told) => told(&one.claims)?,
    };
    Some(if are_kept { "kept open" } else { "new for each request" }.to_owned())
}

/// CP-03: always, as what else was changed between saved outputs is never in them.
fn one_factor(audited: &[Audited]) -> Outcome {
    let message = format!(
        "{}, each measured once, in sequence: drift looks like an effect",
        plural(audited.len() as u64, "result")
    );
    let remedy = "repeat them in shuffled blocks before claiming a difference".to_owned();
    Outcome::fired(ONE_FACTOR.id, FindingState::Warning, message, remedy, [("results", audited.len() as f64)])
}

/// CP-10: no ratio with a result in it that is not valid.
fn unequal_success(audited: &[Audited]) -> Outcome {
    let invalid: Vec<String> = audited
        .iter()
        .filter(|one| one.record.verdict.state == VerdictState::Invalid)
        .map(|one| one.record.source.clone())
        .collect();
    if invalid.is_empty() {
        return Outcome::Pass;
    }
    let (verb, whose) = if invalid.len() == 1 { ("is", "its") } else { ("are", "their") };
    let message = format!("{} {verb} invalid by {whose} own figures: no valid ratio", list(&invalid));
    let remedy = "fix and repeat them first".to_owned();
    Outcome::fired(UNEQUAL_SUCCESS.id, FindingState::Invalid, message, remedy, [("invalid", invalid.len() as f64)])
}

/// RP-09: nothing that was measured twice is equal in every figure.
fn identical(audited: &[Audited]) -> Outcome {
    const TELLING: [Figure; 5] =
        [Figure::Throughput, Figure::Responses, Figure::Duration, Figure::LatencyMean, Figure::LatencyMax];
    // Not a number is equal to nothing, not even to itself.
    let figures = |one: &Audited| TELLING.map(|figure| one.claims.get(figure).unwrap_or(f64::NAN));
    let is_telling = |figures: &[f64; 5]| figures.iter().filter(|value| value.is_finite()).count() >= TELLING_MIN;
    let told: Vec<_> = audited.iter().map(|one| (&one.record.source, figures(one))).collect();
    if told.iter().filter(|(_, figures)| is_telling(figures)).count() < 2 {
        return Outcome::Unchecked("too few figures to detect copies");
    }
    for (i, (one, figures)) in told.iter().enumerate().filter(|(_, (_, figures))| is_telling(figures)) {
        let is_copy = |other: &[f64; 5]| figures.iter().zip(other).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
        if let Some((other, _)) = told[i + 1..].iter().find(|(_, other)| is_copy(other)) {
            let message = format!("{one} and {other} are equal to the last digit: one is a copy");
            let remedy = "find the raw data of both, or measure again".to_owned();
            let figures = [("results", audited.len() as f64)];
            return Outcome::fired(IDENTICAL.id, FindingState::Invalid, message, remedy, figures);
        }
    }
    Outcome::Pass
}
