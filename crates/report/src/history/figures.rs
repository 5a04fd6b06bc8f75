//! What a history keeps of a result: its figures, what it may be compared with, and what else could explain a change.

use crate::figures::{self, Figures};
use evidence::factors::{of_capacity, of_render, of_run, of_sweep};
use model::{
    CapacityRecord, Environment, Factor, FindingState, HistoryQuantity, HistoryRun, Plan, RenderArm, RenderRecord,
    RunRecord, SweepRecord, Verdict,
};
use std::collections::BTreeMap;

/// Facts of machine, server and response by section and name.
pub(super) type Facts = BTreeMap<(String, String), String>;

/// A result, or an arm of several, as far as its history goes.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// Which it is.
    pub run: HistoryRun,
    /// What others have to share to be in a series with it.
    pub(crate) factors: Vec<Factor>,
    /// Facts of machine, server and response by section and name.
    pub(crate) facts: Facts,
    /// Its figures, as far as they are known.
    pub(crate) figures: BTreeMap<HistoryQuantity, Value>,
    /// CPU time of the canary per request, in the blocks of a comparison that count; none where it was not measured. ns
    pub(crate) canary_ns: Option<f64>,
    /// True if it was stopped before its plan was done.
    pub(crate) interrupted: bool,
    /// Rules that made it invalid.
    pub(crate) rules: Vec<String>,
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) value: f64,
    /// True if the true one is only known to be on one side of it.
    pub(crate) is_bound: bool,
    /// Ends of its 95 % interval, of an effect.
    pub(crate) ends: Option<[f64; 2]>,
}

pub(super) fn entry_of_run(name: &str, record: &RunRecord) -> HistoryEntry {
    HistoryEntry {
        run: history_run(name, &record.started, &record.verdict),
        factors: of_run(record),
        facts: facts(&record.environment, Some(&record.plan)),
        figures: figures(&figures::of_run(record)),
        canary_ns: None,
        interrupted: record.interrupted,
        rules: rules(&record.verdict),
    }
}

pub(super) fn entry_of_sweep(name: &str, record: &SweepRecord) -> HistoryEntry {
    HistoryEntry {
        run: history_run(name, &record.started, &record.verdict),
        factors: of_sweep(record),
        facts: facts(&record.environment, record.points.first().map(|point| &point.plan)),
        figures: figures(&figures::of_sweep(record)),
        canary_ns: None,
        interrupted: record.interrupted,
        rules: rules(&record.verdict),
    }
}

pub(super) fn entry_of_capacity(name: &str, record: &CapacityRecord) -> HistoryEntry {
    HistoryEntry {
        run: history_run(name, &record.started, &record.verdict),
        factors: of_capacity(record),
        facts: facts(&record.environment, record.trials.first().map(|trial| &trial.plan)),
        figures: figures(&figures::of_capacity(record)),
        canary_ns: None,
        interrupted: record.interrupted,
        rules: rules(&record.verdict),
    }
}

/// One for each page of a render.
pub(super) fn entries_of_render(name: &str, record: &RenderRecord) -> Vec<HistoryEntry> {
    let one = |(at, page): (usize, &RenderArm)| {
        let known = HistoryQuantity::ALL.into_iter().filter_map(|quantity| {
            let (metric, cache) = quantity.of_render()?;
            let value = crate::words::render::figure(page, metric, cache)?.median.value;
            Some((quantity, Value { value, is_bound: false, ends: None }))
        });
        let mut facts = facts(&record.environment, None);
        facts.insert(("browser".to_owned(), "version".to_owned()), record.browser.version.clone());
        HistoryEntry {
            run: history_run(name, &record.started, &record.verdict),
            factors: of_render(record, at),
            facts,
            figures: known.filter(|(_, figure)| figure.value > 0.0 && figure.value.is_finite()).collect(),
            canary_ns: None,
            interrupted: record.interrupted,
            rules: rules(&record.verdict),
        }
    };
    record.arms.iter().enumerate().map(one).collect()
}

pub(super) fn history_run(name: &str, started: &str, verdict: &Verdict) -> HistoryRun {
    HistoryRun { name: name.to_owned(), started: started.to_owned(), state: verdict.state }
}

/// Those that are followed, as far as they are known; what is not above 0 has no level.
fn figures(known: &Figures) -> BTreeMap<HistoryQuantity, Value> {
    let followed = HistoryQuantity::ALL.into_iter().filter_map(|quantity| {
        let figure = known.get(quantity.figure()?)?;
        Some((quantity, Value { value: figure.value, is_bound: figure.bound.is_some(), ends: None }))
    });
    followed.filter(|(_, figure)| figure.value > 0.0 && figure.value.is_finite()).collect()
}

pub(super) fn rules(verdict: &Verdict) -> Vec<String> {
    let invalid = verdict.findings.iter().filter(|finding| finding.state == FindingState::Invalid);
    invalid.map(|finding| finding.rule.clone()).collect()
}

/// What machine, server, response and this program are, by section and name.
pub(super) fn facts(environment: &Environment, plan: Option<&Plan>) -> Facts {
    let fingerprint = environment.fingerprint.iter().flat_map(|fingerprint| &fingerprint.facts);
    let told = fingerprint.flat_map(|(section, facts)| {
        facts.iter().map(move |(name, value)| ((section.clone(), name.clone()), value.clone()))
    });
    let mut facts: Facts = told.collect();
    let mut add = |section: &str, name: &str, value: String| {
        facts.insert((section.to_owned(), name.to_owned()), value);
    };
    add("plimsoll", "version", environment.plimsoll.clone());
    add("kernel", "release", environment.kernel.clone());
    if let Some(served) = &environment.served {
        add("server", "sha256", served.program_sha256.clone());
    }
    let size = plan.and_then(|plan| plan.requests.first()).and_then(|request| request.contract.size_bytes);
    if let Some(size) = size {
        add("response", "bytes", format!("{} to {}", size.min, size.max));
    }
    facts
}
