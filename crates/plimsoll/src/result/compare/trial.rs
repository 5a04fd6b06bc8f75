//! One trial of a comparison: what was measured in it.

use super::capacity::SearchedCapacity;
use crate::coordinate::compare::Outcome;
use crate::result::Facts;
use evidence::EvidenceBuilder;
use model::{CompareLoad, CompareMetric, CompareTrialMade, Estimate, Evidence, Observed, RunRecord};
use std::collections::BTreeMap;

/// Response times beyond a quantile that a window has at least, for the quantile to be one.
const BEYOND_MIN: f64 = 10.0;

/// One trial, and everything that was measured in it.
#[derive(Clone)]
pub(in crate::result) struct ComparedTrial {
    pub(in crate::result) made: CompareTrialMade,
    pub(in crate::result) measured: Measured,
}

/// What was measured in a trial.
#[derive(Clone)]
pub(in crate::result) enum Measured {
    /// One load.
    Load(Box<EvidenceBuilder>),
    /// Several loads, one after the other.
    Search(SearchedCapacity),
}

impl ComparedTrial {
    /// The loads that were put on the server of a variant; none of a canary.
    pub(super) fn loads(&self) -> Vec<&EvidenceBuilder> {
        match &self.measured {
            _ if self.made.load == CompareLoad::Canary => Vec::new(),
            Measured::Load(builder) => vec![builder],
            Measured::Search(searched) => searched.trials.iter().map(|trial| &trial.builder).collect(),
        }
    }

    /// True if it was ended before its window was over.
    pub(super) fn is_cut(&self) -> bool {
        match &self.measured {
            Measured::Load(builder) => builder.evidence().interrupted,
            Measured::Search(searched) => searched.is_cut(),
        }
    }
}

impl ComparedTrial {
    /// What it says, as far as a search needs it.
    pub(super) fn outcome(&self, facts: &Facts) -> Outcome {
        match &self.measured {
            Measured::Load(builder) => of_load(&self.made, builder),
            Measured::Search(searched) => of_search(facts, &self.made, searched),
        }
    }
}

/// What a trial says, as far as a search needs it, that has no place in the comparison yet: a load, or else a search.
pub(in crate::result) fn outcome(
    facts: &Facts,
    made: &CompareTrialMade,
    load: Option<&EvidenceBuilder>,
    searched: Option<&SearchedCapacity>,
) -> Outcome {
    match (load, searched) {
        (Some(builder), _) => of_load(made, builder),
        (None, Some(searched)) => of_search(facts, made, searched),
        (None, None) => Outcome { took_ns: made.took_ns, ..Outcome::default() },
    }
}

fn of_search(facts: &Facts, made: &CompareTrialMade, searched: &SearchedCapacity) -> Outcome {
    match facts.compared_goal() {
        Some(goal) => searched.found(&goal, facts.limits()).outcome(made.took_ns),
        None => Outcome { took_ns: made.took_ns, ..Outcome::default() },
    }
}

fn of_load(made: &CompareTrialMade, builder: &EvidenceBuilder) -> Outcome {
    let evidence = builder.evidence();
    let known = made.load.metrics().iter().filter_map(|metric| Some((*metric, value(*metric, builder, &evidence)?)));
    let values: BTreeMap<CompareMetric, f64> = known.filter(|(_, value)| value.is_finite() && *value > 0.0).collect();
    Outcome {
        values,
        clean_share: builder.clean_ns().map(|clean_ns| clean_ns as f64 / evidence.measured_ns.max(1) as f64),
        says_little: builder.says_little(),
        took_ns: made.took_ns,
        bound: None,
    }
}

fn value(metric: CompareMetric, builder: &EvidenceBuilder, evidence: &Evidence) -> Option<f64> {
    let response = &evidence.latency.response;
    let quantile = |share: f64, ns: u64| (response.n as f64 * (1.0 - share) >= BEYOND_MIN - 1e-9).then_some(ns as f64);
    match metric {
        CompareMetric::ServerCpuNsPerRequest => {
            let completed = (evidence.flow.completed > 0).then_some(evidence.flow.completed as f64)?;
            Some(evidence.observed.as_ref()?.server_cpu_cores()? * evidence.measured_ns as f64 / completed)
        }
        CompareMetric::GoodputPerS => Some(builder.goodput().value),
        CompareMetric::ResponseP50Ns => quantile(0.5, response.p50_ns),
        CompareMetric::ResponseP90Ns => quantile(0.9, response.p90_ns),
        CompareMetric::ResponseP95Ns => quantile(0.95, response.p95_ns),
        CompareMetric::ResponseP99Ns => quantile(0.99, response.p99_ns),
        CompareMetric::ServerRssBytes => rss_bytes(evidence.observed.as_ref()),
        // One load has none.
        CompareMetric::CapacityPerS => None,
    }
}

/// A quantity of a run that was measured before, with the interval that it has by itself.
pub(super) fn stored_value(run: &RunRecord, metric: CompareMetric) -> Option<Estimate> {
    let response = &run.latency_ns.response;
    let alone = |value: f64| Estimate { value, low: None, high: None, n: 1 };
    let quantile =
        |share: f64, ns: u64| (response.n as f64 * (1.0 - share) >= BEYOND_MIN - 1e-9).then(|| alone(ns as f64));
    match metric {
        CompareMetric::ServerCpuNsPerRequest => run.known_server_cpu_ns(),
        CompareMetric::GoodputPerS => Some(run.goodput_per_s),
        CompareMetric::ResponseP50Ns => quantile(0.5, response.p50),
        CompareMetric::ResponseP90Ns => quantile(0.9, response.p90),
        CompareMetric::ResponseP95Ns => quantile(0.95, response.p95?),
        CompareMetric::ResponseP99Ns => quantile(0.99, response.p99),
        CompareMetric::ServerRssBytes => rss_bytes(run.observed.as_ref()).map(alone),
        CompareMetric::CapacityPerS => None,
    }
}

fn rss_bytes(observed: Option<&Observed>) -> Option<f64> {
    Some(observed?.server_rss_bytes_max()? as f64)
}
