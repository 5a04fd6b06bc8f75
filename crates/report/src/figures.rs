//! Figures of a result by name, each as far as it is known: what thresholds, histories and tables are about.
//!
//! A sweep has the figures of its peak. A number that a rule has made a bound is one here too; what too few requests are
//! behind, or nobody observed, is missing.

use crate::bounds::{finding_of, is_disturbed, is_goodput_bound, is_peak_bound, response_quantile, service_quantile};
use crate::record::{AnyRecord, peak_point};
use crate::sums::failed_share;
use model::{
    Bound, CapacityRecord, DISTURBANCE_RULES, FindingState, KnownFigure, Observed, Peak, Quantile, RunRecord,
    SweepRecord, Verdict, bounding,
};
use std::collections::BTreeMap;

/// Figures by name.
pub type Figures = BTreeMap<String, KnownFigure>;

/// The figures of a result; none of several results in one, which have some each.
#[must_use]
pub fn figures(record: AnyRecord<'_>) -> Figures {
    match record {
        AnyRecord::Run(record) => of_run(record),
        AnyRecord::Sweep(record) => of_sweep(record),
        AnyRecord::Capacity(record) => of_capacity(record),
        AnyRecord::Sweeps(_) | AnyRecord::Compare(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => {
            Figures::new()
        }
    }
}

/// Those of one load.
pub(crate) fn of_run(record: &RunRecord) -> Figures {
    let goodput = KnownFigure {
        bound: is_goodput_bound(record).then_some(Bound::AtLeast),
        ..KnownFigure::from(record.goodput_per_s)
    };
    let response = &record.latency_ns.response;
    let mut figures = Figures::new();
    // Of a window that had not begun, and of requests that were not planned, nothing is known.
    if record.measured_ns > 0 {
        let throughput = KnownFigure { bound: goodput.bound, ..KnownFigure::exactly(record.throughput_per_s) };
        figures.extend(named([("goodput", goodput), ("throughput", throughput)]));
    }
    if record.requests.counts.planned > 0 {
        let shares = [("errors", failed_share(record)), ("send-rate", sent_share(record))];
        figures.extend(named(shares.map(|(name, share)| (name, KnownFigure::exactly(share)))));
        let slo = record.requests.counts.slo_share(record.plan.slo_ns);
        figures.extend(named(slo.map(|share| ("slo", KnownFigure::exactly(share)))));
    }
    if response.n > 0 {
        let known = |quantile: Quantile| response_quantile(&record.verdict, quantile, quantile.of(response));
        let quantiles = Quantile::usual_and(&record.plan.quantiles).into_iter();
        let with_range = |quantile: Quantile| {
            let [low, high] = response.ranges.get(&quantile).copied()?.map(|ns| Some(ns as f64));
            Some(KnownFigure { low, high, ..known(quantile)? })
        };
        figures
            .extend(quantiles.filter_map(|quantile| {
                Some((quantile.to_string(), with_range(quantile).or_else(|| known(quantile))?))
            }));
        // A request that was given up counts with its timeout.
        let censored = finding_of(&record.verdict, bounding::QUANTILE_CUT);
        let censored = censored.and_then(|found| found.evidence.get(bounding::UNANSWERED_FIGURE));
        let is_cut = censored.is_some_and(|n| *n > 0.0);
        let disturbed = is_disturbed(&record.verdict).then_some(Bound::AtMost);
        let bound = if is_cut { Some(Bound::AtLeast) } else { disturbed };
        figures.insert("mean".to_owned(), KnownFigure { bound, ..KnownFigure::exactly(response.mean) });
    }
    let first_byte = &record.latency_ns.first_byte;
    figures.extend(Quantile::usual_and(&record.plan.quantiles).into_iter().filter_map(|quantile| {
        let known = service_quantile(&record.verdict, quantile, quantile.of(first_byte))?;
        Some((format!("ttfb-{quantile}"), known))
    }));
    figures.extend(named(record.known_server_cpu_ns().map(|cpu| ("cpu-per-request", KnownFigure::from(cpu)))));
    figures.extend(named(record.observed.iter().flat_map(of_server)));
    figures
}

fn named(
    figures: impl IntoIterator<Item = (&'static str, KnownFigure)>,
) -> impl Iterator<Item = (String, KnownFigure)> {
    figures.into_iter().map(|(name, figure)| (name.to_owned(), figure))
}

fn sent_share(record: &RunRecord) -> f64 {
    record.requests.counts.sent as f64 / record.requests.counts.planned as f64
}

/// What server and companions use; nothing where the server was not observed.
fn of_server(observed: &Observed) -> Vec<(&'static str, KnownFigure)> {
    let cores = observed.server_cpu_cores();
    let share = cores.zip(observed.usable_cpus()).map(|(cores, all)| cores / f64::from(all));
    let rss = observed.server_rss_bytes_max().map(|bytes| bytes as f64);
    let figures = [("cpu", cores), ("cpu%", share), ("rss", rss)];
    figures.into_iter().filter_map(|(name, value)| Some((name, KnownFigure::exactly(value?)))).collect()
}

/// Those of the load at which the peak is.
pub(crate) fn of_sweep(record: &SweepRecord) -> Figures {
    let is_on_curve = |peak: &Peak| record.curve.iter().any(|point| point.load == peak.load);
    let Some(peak) = record.peak.filter(is_on_curve) else { return Figures::new() };
    let mut figures = peak_point(record).map_or_else(Figures::new, of_run);
    let interval = figures.get("goodput").copied().unwrap_or_default();
    let bound = is_peak_bound(record).then_some(Bound::AtLeast);
    figures.insert("goodput".to_owned(), KnownFigure { value: peak.goodput_per_s, bound, ..interval });
    figures
}

/// The capacity between the ends of its bracket, or beyond the only one. A load whose failure may not be the server's doing
/// is no end.
pub(crate) fn of_capacity(record: &CapacityRecord) -> Figures {
    let capacity = &record.capacity;
    let (low, high) = (capacity.low, capacity.high.filter(|_| !may_hold_more(&record.verdict)));
    let estimate = capacity.estimate_per_s.map(|estimate| estimate.value);
    let (value, bound) = match (low, high) {
        (Some(low), Some(_)) => (estimate.unwrap_or(low), None),
        (Some(low), None) => (low, Some(Bound::AtLeast)),
        (None, Some(high)) => (high, Some(Bound::AtMost)),
        (None, None) => return Figures::new(),
    };
    named([("capacity", KnownFigure { value, low, high, bound })]).collect()
}

/// True if client or others may be why the load at the upper end of a bracket failed: of the lower end they are warnings.
fn may_hold_more(verdict: &Verdict) -> bool {
    let is_of_others = |rule: &str| rule.starts_with(bounding::CLIENT_FAMILY) || DISTURBANCE_RULES.contains(&rule);
    verdict.findings.iter().any(|finding| finding.state == FindingState::Bound && is_of_others(&finding.rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Finding;

    /// A capacity between 1,000 and 1,030/s.
    fn capacity(findings: Vec<Finding>) -> CapacityRecord {
        let run: serde_json::Value = serde_json::from_str(include_str!("../tests/stored/run")).unwrap();
        let mut record: CapacityRecord = serde_json::from_value(serde_json::json!({
            "format": model::FORMAT_CAPACITY, "verdict": run["verdict"], "goal": "errors<1%", "trials": [], "outcomes": [],
            "capacity": {
                "value": 1_000.0, "low": 1_000.0, "high": 1_030.0, "n": 9, "reason": "", "ended": "bracketed",
                "low_confirmed": true, "high_confirmed": true, "noise": 0.01, "disturbed": 0, "failed": [], "more": null,
                "estimate_per_s": { "value": 1_010.0, "low": 1_001.0, "high": 1_020.0, "n": 9 },
            },
            "search": {
                "from_per_s": 1.0, "to_per_s": 1e6, "start_per_s": 500.0, "width": 0.03, "seed": 1,
                "times": { "short_ns": 1, "full_ns": 1, "overhead_ns": 1, "budget_ns": 1 },
            },
            "pilot_per_s": 1.0, "spent_ns": 1, "limiter": null, "environment": run["environment"], "started": "",
            "interrupted": false,
        }))
        .unwrap();
        record.verdict.findings = findings;
        record
    }

    fn figure(findings: Vec<Finding>) -> Option<KnownFigure> {
        of_capacity(&capacity(findings)).get("capacity").copied()
    }

    fn found(rule: &str, state: FindingState) -> Vec<Finding> {
        vec![Finding {
            rule: rule.to_owned(),
            state,
            message: String::new(),
            remedy: String::new(),
            evidence: BTreeMap::new(),
        }]
    }

    /// It was told as exact where each that was given up counts with its timeout: `mean>60ms` passed.
    #[test]
    fn a_mean_that_the_timeout_has_cut_is_a_lower_bound() {
        let mut run: RunRecord = serde_json::from_str(include_str!("../tests/stored/run")).unwrap();
        let mut bound = |findings| {
            run.verdict.findings = findings;
            of_run(&run)["mean"].bound
        };
        let mut cut = found("ER-05", FindingState::Bound);
        cut[0].evidence = [("censored".to_owned(), 3.0)].into();
        assert_eq!(bound(cut), Some(Bound::AtLeast));
        assert_eq!(bound(found("ER-05", FindingState::Bound)), None, "connections that were never answered");
    }

    /// `capacity<1100` had failed for certain, of a server that may hold more.
    #[test]
    fn a_capacity_whose_failure_may_be_the_clients_is_a_lower_bound() {
        let between = KnownFigure { value: 1_010.0, low: Some(1_000.0), high: Some(1_030.0), bound: None };
        assert_eq!(figure(Vec::new()), Some(between));
        assert_eq!(figure(found("CL-15", FindingState::Warning)), Some(between), "of the lower end");
        assert_eq!(figure(found("SA-02", FindingState::Bound)), Some(between), "not confirmed");
        let least = KnownFigure { value: 1_000.0, low: Some(1_000.0), high: None, bound: Some(Bound::AtLeast) };
        for rule in ["EN-01", "CL-05"] {
            assert_eq!(figure(found(rule, FindingState::Bound)), Some(least), "{rule}");
        }
        let mut record = capacity(found("EN-01", FindingState::Bound));
        record.capacity.low = None;
        assert!(of_capacity(&record).is_empty(), "neither end is known");
    }
}
