//! History: what stored results say of a server over time, as series of results that were measured alike.
//!
//! Each result is read by itself and only its figures are kept ([`entries`]); [`history`] puts them in the order measured
//! and looks for changes of level. Numbers that are not comparable are left out and counted, never mixed in.

mod comparisons;
mod figures;

pub use figures::HistoryEntry;

use crate::Named;
use crate::record::AnyRecord;
use figures::{entries_of_render, entry_of_capacity, entry_of_run, entry_of_sweep};
use model::{
    Change, FORMAT_HISTORY, HistoryChange, HistoryFigure, HistoryQuantity, HistoryRecord, HistoryRun, HistorySeries,
    HistorySettings, LeftOut, VerdictState,
};
use stats::{ChangePoint, ChangePointSettings, change_points, change_points_n_min};

/// Results of a series that are looked at, the latest ones: the time for a test grows with their square.
pub const RUNS_MAX: usize = 500;

/// What is kept of a result: an entry, or of several sweeps and of the variants of a comparison one for each.
///
/// # Errors
/// In a few words, why a result is in no history.
pub fn entries(named: Named<'_>) -> Result<Vec<HistoryEntry>, String> {
    match named.record {
        AnyRecord::Run(record) => Ok(vec![entry_of_run(named.name, record)]),
        AnyRecord::Capacity(record) => Ok(vec![entry_of_capacity(named.name, record)]),
        AnyRecord::Sweep(_) | AnyRecord::Sweeps(_) => {
            Ok(named.record.sweeps().iter().map(|record| entry_of_sweep(named.name, record)).collect())
        }
        AnyRecord::Compare(record) => comparisons::entries(named.name, record),
        AnyRecord::Experiment(_) => Err("an experiment; name the directories of its steps".to_owned()),
        AnyRecord::Render(record) => Ok(entries_of_render(named.name, record)),
    }
}

/// Puts `entries` into series and finds the changes in each. `left_out` is what could not be read; invalid and interrupted
/// results are added to it.
#[must_use]
pub fn history(mut entries: Vec<HistoryEntry>, settings: HistorySettings, left_out: Vec<LeftOut>) -> HistoryRecord {
    // Times in RFC 3339 and UTC are in the order of their texts.
    entries.sort_by(|a, b| (&a.run.started, &a.run.name).cmp(&(&b.run.started, &b.run.name)));
    let mut left_out = left_out;
    let mut groups: Vec<Vec<HistoryEntry>> = Vec::new();
    for entry in entries {
        if let Some(why) = unusable(&entry) {
            left_out.push(LeftOut { name: entry.run.name, why });
            continue;
        }
        match groups.iter_mut().find(|group| group[0].factors == entry.factors) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups.sort_by(|a, b| latest(b).cmp(latest(a)));
    let series: Vec<HistorySeries> = groups.into_iter().map(|group| series(group, settings)).collect();
    let last = |figure: &HistoryFigure| figure.changes.last().is_some_and(|change| change.is_worse);
    HistoryRecord {
        format: FORMAT_HISTORY.to_owned(),
        settings,
        is_worse: series.iter().flat_map(|series| &series.figures).any(last),
        series,
        left_out,
    }
}

/// Why a result is in no series.
fn unusable(entry: &HistoryEntry) -> Option<String> {
    match entry {
        HistoryEntry { run: HistoryRun { state: VerdictState::Invalid, .. }, rules, .. } => {
            Some(if rules.is_empty() { "INVALID".to_owned() } else { format!("INVALID ({})", rules.join(", ")) })
        }
        HistoryEntry { interrupted: true, .. } => Some("interrupted before its plan was done".to_owned()),
        _ => None,
    }
}

fn latest(group: &[HistoryEntry]) -> &str {
    group.last().map_or("", |entry| &entry.run.started)
}

/// A series of results in the order measured; there is at least one.
fn series(mut group: Vec<HistoryEntry>, settings: HistorySettings) -> HistorySeries {
    let older = group.len().saturating_sub(RUNS_MAX);
    group.drain(..older);
    let figures = HistoryQuantity::ALL.into_iter().filter_map(|quantity| figure(&group, quantity, settings));
    HistorySeries {
        figures: figures.collect(),
        factors: group[0].factors.clone(),
        runs: group.into_iter().map(|entry| entry.run).collect(),
        older: older as u64,
    }
}

/// A figure through a series; none when no result has it.
fn figure(group: &[HistoryEntry], quantity: HistoryQuantity, settings: HistorySettings) -> Option<HistoryFigure> {
    let of = |entry: &HistoryEntry| entry.figures.get(&quantity).copied();
    let is_wanted = |bound: bool| settings.with_bounds || !bound;
    let canary_ns = canary_ns(group, quantity, settings);
    let as_there = |entry: &HistoryEntry| canary_ns.zip(entry.canary_ns).map_or(1.0, |(all, own)| all / own);
    let values: Vec<Option<f64>> = group
        .iter()
        .map(|entry| of(entry).filter(|figure| is_wanted(figure.is_bound)).map(|figure| figure.value * as_there(entry)))
        .collect();
    let intervals: Vec<_> = group.iter().map(|entry| of(entry).and_then(|figure| figure.ends)).collect();
    if group.iter().all(|entry| of(entry).is_none()) {
        return None;
    }
    let known: Vec<usize> = (0..values.len()).filter(|at| values[*at].is_some()).collect();
    let found = change_points(
        &known.iter().filter_map(|at| values[*at]).collect::<Vec<_>>(),
        ChangePointSettings {
            false_alarms: settings.false_alarms,
            change_min: settings.change_min,
            seed: settings.seed,
        },
    );
    let needed = change_points_n_min(settings.false_alarms);
    Some(HistoryFigure {
        quantity,
        intervals: if intervals.iter().any(Option::is_some) { intervals } else { Vec::new() },
        canary_ns,
        bounds: group.iter().filter(|entry| of(entry).is_some_and(|figure| !is_wanted(figure.is_bound))).count() as u64,
        needed: (known.len() < needed).then_some(needed as u64),
        changes: found.iter().map(|change| describe(group, &known, quantity, change)).collect(),
        values,
    })
}

/// The canary that CPU time of the results is related to: their median, so that figures stay in their own size. None of other
/// figures, and unless all results have one, as all of a series do or none.
fn canary_ns(group: &[HistoryEntry], quantity: HistoryQuantity, settings: HistorySettings) -> Option<f64> {
    let is_wanted = settings.by_canary && quantity == HistoryQuantity::ServerCpuNsPerRequest;
    let all: Vec<f64> = group.iter().filter(|_| is_wanted).map(|entry| entry.canary_ns).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| stats::median(&all))
}

/// A change of the figure whose values are those of the `known` results.
fn describe(group: &[HistoryEntry], known: &[usize], quantity: HistoryQuantity, change: &ChangePoint) -> HistoryChange {
    let at = known[change.index];
    // What lies between them has no value, and may have been measured on either side of the change.
    let (before, after) = (&group[known[change.index - 1]], &group[at]);
    HistoryChange {
        at: at as u64,
        run: after.run.name.clone(),
        started: after.run.started.clone(),
        ratio: change.ratio,
        before: change.before,
        before_n: change.before_n as u64,
        after: change.after,
        after_n: change.after_n as u64,
        p: change.p,
        is_worse: !quantity.is_of_machine() && (change.ratio.value < 1.0) == quantity.is_better_high(),
        differs: differs(before, after),
    }
}

/// Facts that are not the same in both.
fn differs(before: &HistoryEntry, after: &HistoryEntry) -> Vec<Change> {
    let names: std::collections::BTreeSet<&(String, String)> = before.facts.keys().chain(after.facts.keys()).collect();
    let value = |entry: &HistoryEntry, name| entry.facts.get(name).cloned().unwrap_or_default();
    let changes = names.into_iter().map(|name| Change {
        section: name.0.clone(),
        name: name.1.clone(),
        before: value(before, name),
        after: value(after, name),
    });
    changes.filter(|change| change.before != change.after).collect()
}

#[cfg(test)]
mod tests {
    use super::figures::Value;
    use super::*;
    use model::Factor;
    use std::collections::BTreeMap;

    const SETTINGS: HistorySettings =
        HistorySettings { false_alarms: 0.01, change_min: 0.01, with_bounds: false, by_canary: true, seed: 1 };

    fn entry(day: usize, target: &str, goodput_per_s: f64) -> HistoryEntry {
        HistoryEntry {
            run: HistoryRun {
                name: format!("run {day}"),
                started: format!("2026-01-{day:02}T00:00:00Z"),
                state: VerdictState::Valid,
            },
            factors: vec![Factor { name: "target".into(), value: target.into() }],
            facts: [(("program".to_owned(), "version".to_owned()), if day < 16 { "1" } else { "2" }.to_owned())].into(),
            figures: [(HistoryQuantity::GoodputPerS, Value { value: goodput_per_s, is_bound: false, ends: None })]
                .into(),
            canary_ns: None,
            interrupted: false,
            rules: Vec::new(),
        }
    }

    /// Thirty days, the last fifteen with 5 % less.
    fn days() -> Vec<HistoryEntry> {
        let wobble = [0.0, 3.0, -2.0, 1.0, -3.0, 2.0, -1.0];
        let value = |day: usize| (if day < 16 { 1_000.0 } else { 950.0 }) + wobble[day % wobble.len()];
        (1..=30).map(|day| entry(day, "a", value(day))).collect()
    }

    #[test]
    fn a_change_is_told_with_its_run_its_size_and_what_else_changed() {
        let mut entries = days();
        entries.reverse();
        let record = history(entries, SETTINGS, Vec::new());
        assert_eq!((record.series.len(), record.is_worse), (1, true));
        let figure = &record.series[0].figures[0];
        assert_eq!((figure.values.len(), figure.changes.len(), figure.needed), (30, 1, None));
        let change = &figure.changes[0];
        assert_eq!((change.at, change.run.as_str(), change.started.as_str()), (15, "run 16", "2026-01-16T00:00:00Z"));
        assert!((change.ratio.value - 0.95).abs() < 0.002 && change.is_worse, "{change:?}");
        assert_eq!((change.before_n, change.after_n), (15, 15));
        let differs: Vec<_> = change.differs.iter().map(|one| (one.name.as_str(), one.after.as_str())).collect();
        assert_eq!(differs, [("version", "2")]);
    }

    #[test]
    fn results_of_other_targets_are_series_of_their_own_and_the_latest_comes_first() {
        let mut entries = days();
        entries.extend([entry(31, "b", 10.0), entry(3, "c", 10.0)]);
        let record = history(entries, SETTINGS, Vec::new());
        let targets: Vec<_> = record.series.iter().map(|series| series.factors[0].value.as_str()).collect();
        assert_eq!(targets, ["b", "a", "c"]);
        let figure = &record.series[0].figures[0];
        assert_eq!((figure.needed, figure.changes.len()), (Some(10), 0));
    }

    #[test]
    fn invalid_and_interrupted_results_are_left_out_and_bounds_of_the_figure_alone() {
        let mut entries = days();
        entries[3].run.state = VerdictState::Invalid;
        entries[3].rules = vec!["ER-01".into(), "LD-04".into()];
        entries[4].interrupted = true;
        let bound = Value { value: 1.0, is_bound: true, ends: None };
        entries[5].figures.insert(HistoryQuantity::GoodputPerS, bound);
        entries[5].figures.insert(HistoryQuantity::ResponseP99Ns, Value { is_bound: false, ..bound });
        let unread = LeftOut { name: "x".into(), why: "no such directory".into() };
        let record = history(entries.clone(), SETTINGS, vec![unread]);
        let told: Vec<_> = record.left_out.iter().map(|one| format!("{}: {}", one.name, one.why)).collect();
        assert_eq!(
            told,
            ["x: no such directory", "run 4: INVALID (ER-01, LD-04)", "run 5: interrupted before its plan was done"]
        );
        let figures = &record.series[0].figures;
        assert_eq!((figures[0].bounds, figures[0].values[3], figures[0].changes.len()), (1, None, 1));
        assert_eq!(figures[0].changes[0].at, 13, "places are those of the series");
        let p99 = &figures[1];
        assert_eq!((p99.bounds, p99.values[3], p99.values[0], p99.needed), (0, Some(1.0), None, Some(10)));
        let settings = HistorySettings { with_bounds: true, ..SETTINGS };
        let record = history(entries, settings, Vec::new());
        assert_eq!((record.series[0].figures[0].bounds, record.series[0].figures[0].values[3]), (0, Some(1.0)));
    }

    #[test]
    fn better_is_more_goodput_and_less_latency() {
        let mut entries = days();
        for (at, entry) in entries.iter_mut().enumerate() {
            let value = if at < 15 { 2e6 } else { 1e6 } + 1e3 * (at % 5) as f64;
            entry.figures =
                BTreeMap::from([(HistoryQuantity::ResponseP99Ns, Value { value, is_bound: false, ends: None })]);
        }
        let record = history(entries, SETTINGS, Vec::new());
        let change = &record.series[0].figures[0].changes[0];
        assert!(!change.is_worse && !record.is_worse && change.ratio.value < 0.51, "{change:?}");
    }

    #[test]
    fn of_very_many_results_the_latest_are_looked_at() {
        let entries = (0..RUNS_MAX + 7).map(|i| HistoryEntry {
            run: HistoryRun {
                name: format!("{i}"),
                started: format!("2026-01-01T{:02}:{:02}:{:02}Z", i / 3600, i / 60 % 60, i % 60),
                state: VerdictState::Valid,
            },
            figures: BTreeMap::new(),
            ..entry(1, "a", 1.0)
        });
        let record = history(entries.collect(), SETTINGS, Vec::new());
        let series = &record.series[0];
        assert_eq!((series.older, series.runs.len(), series.runs[0].name.as_str()), (7, RUNS_MAX, "7"));
        assert!(series.figures.is_empty());
    }
}
