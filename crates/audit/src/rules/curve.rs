//! ST-06, SA-01, SA-03 and PH-04 for tables of loads.

use super::{AuditRule, Check};
use crate::{Row, Subject};
use judge::{Fires, Outcome};
use model::FindingState;
use model::human::{percent, rate};

/// A row may beat so much of one connection's rate by chance.
const SEQUENTIAL_OFF: f64 = 1.05;
/// A rate is held when at least this share of it comes back; Nighthawk's.
const HELD_SHARE: f64 = 0.99;
/// Fewer loads than this say nothing about a bend.
const POINTS_MIN: usize = 4;
/// Throughput at the highest load below this share of the highest one has fallen.
const FALLEN_SHARE: f64 = 0.95;
/// Loads from this multiple of the knee on are on the plateau.
const PAST_KNEE: f64 = 1.5;

pub(super) const SINGLE: AuditRule = AuditRule {
    id: "ST-06",
    title: None,
    detects: "There is one value for each load, so that there is no interval and differences on the plateau mean \
              nothing.",
    fires: &[Fires::note("The input is a table of loads.")],
    remarks: "",
    data: "table of loads",
    check: Check::Table(single),
};
pub(super) const NO_FAILING_LOAD: AuditRule = AuditRule {
    id: "SA-01",
    title: None,
    detects: "The table ends before saturation, so that its highest value is only a lower bound.",
    fires: &[Fires::bound(
        "Each offered rate was sustained to 99 %; or, over connections, there are fewer than four loads or none \
             past a knee.",
    )],
    remarks: "Where throughput falls at the highest load, its peak may be at a load that is not in the table.",
    data: "four loads or more, for the pool model",
    check: Check::Table(saturated),
};
pub(super) const EDGE: AuditRule = AuditRule {
    id: "SA-03",
    title: None,
    detects: "The highest value is at the highest load.",
    fires: &[
        Fires::bound("No load is higher than that of the highest value, and no plateau is known."),
        Fires::note("No load is higher than that of the highest value, but the loads go past a knee."),
    ],
    remarks: "",
    data: "table of loads",
    check: Check::Table(edge),
};
pub(super) const SEQUENTIAL: AuditRule = AuditRule {
    id: "PH-04",
    title: None,
    detects: "N connections have more than N times the rate of one.",
    fires: &[Fires::invalid(
        "A load has more than 1.05 times the throughput of one connection, times its connections.",
    )],
    remarks: "",
    data: "row for one connection",
    check: Check::Table(sequential),
};

fn single(subject: Subject<'_>) -> Outcome {
    let plateau: Vec<f64> = subject.facts.fit.map_or_else(Vec::new, |fit| {
        let past = subject.claims.table.iter().filter(|row| row.load >= PAST_KNEE * fit.knee);
        past.map(|row| row.throughput_per_s / fit.fit.plateau_per_s - 1.0).collect()
    });
    let widest = plateau.iter().fold(0.0, |widest: f64, off| widest.max(off.abs()));
    let noise = if plateau.len() < 2 { String::new() } else { format!("; the plateau varies by {}", percent(widest)) };
    let message = format!("one value per load: no interval, no trend between neighbouring loads{noise}");
    let remedy = "repeat each load in random order (plimsoll sweep --iterations 6)".to_owned();
    Outcome::fired(SINGLE.id, FindingState::Note, message, remedy, [("plateau_off_max", widest)])
}

fn saturated(subject: Subject<'_>) -> Outcome {
    let rows = &subject.claims.table;
    let held = rows.iter().all(|row| row.throughput_per_s >= HELD_SHARE * row.load);
    let why = match (subject.claims.over_rate, held, subject.facts.fit.is_some()) {
        (true, false, _) | (false, _, true) => return Outcome::Pass,
        (true, true, _) => "every offered rate was sustained",
        (false, ..) if rows.len() < POINTS_MIN => "too few loads to find a knee",
        (false, ..) => "the loads do not go past a knee",
    };
    let highest = highest(rows.iter());
    let most = rows.iter().max_by(|a, b| a.load.total_cmp(&b.load));
    let falls = highest.zip(most).is_some_and(|(highest, most)| {
        !subject.claims.over_rate && most.throughput_per_s < FALLEN_SHARE * highest.throughput_per_s
    });
    let per_s = rate(highest.map_or(0.0, |row| row.throughput_per_s));
    let message = if falls {
        format!("throughput falls from {per_s} on, and too few loads show where: its peak may be at another load")
    } else {
        format!("{why}: the server can do {per_s} or more")
    };
    let remedy = if falls {
        "measure more loads around the highest value"
    } else {
        "measure higher loads until throughput stops rising"
    };
    let remedy = remedy.to_owned();
    Outcome::fired(NO_FAILING_LOAD.id, FindingState::Bound, message, remedy, [("loads", rows.len() as f64)])
}

fn edge(subject: Subject<'_>) -> Outcome {
    let rows = &subject.claims.table;
    let last = rows.iter().max_by(|a, b| a.load.total_cmp(&b.load));
    let (Some(highest), Some(last)) = (highest(rows.iter()), last) else {
        return Outcome::Unchecked("no loads");
    };
    if highest.load < last.load {
        return Outcome::Pass;
    }
    let message =
        format!("the highest value, {}, is at the highest load, {}", rate(highest.throughput_per_s), last.load);
    // Where the model has seen a plateau, its height counts and not which point of it is highest.
    let (state, remedy) = match subject.facts.fit {
        Some(_) => (FindingState::Note, "use the plateau of the fit, not the position of the maximum"),
        None => (FindingState::Bound, "measure at higher loads"),
    };
    Outcome::fired(EDGE.id, state, message, remedy.to_owned(), [("load", last.load)])
}

fn sequential(subject: Subject<'_>) -> Outcome {
    let rows = &subject.claims.table;
    let alone = rows.iter().find(|row| row.load == 1.0 && row.throughput_per_s > 0.0);
    let Some(alone) = alone.filter(|_| !subject.claims.over_rate) else {
        return Outcome::Unchecked("no row for one connection");
    };
    let beats = |row: &&Row| row.throughput_per_s > SEQUENTIAL_OFF * row.load * alone.throughput_per_s;
    let Some(row) = rows.iter().find(beats) else { return Outcome::Pass };
    let message = format!(
        "{} on {} connections is more than {} times the {} of one: different work",
        rate(row.throughput_per_s),
        row.load,
        row.load,
        rate(alone.throughput_per_s)
    );
    let remedy = "check for errors, redirects or a cache".to_owned();
    let figures =
        [("load", row.load), ("throughput_per_s", row.throughput_per_s), ("alone_per_s", alone.throughput_per_s)];
    Outcome::fired(SEQUENTIAL.id, FindingState::Invalid, message, remedy, figures)
}

fn highest<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    rows.max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
}
