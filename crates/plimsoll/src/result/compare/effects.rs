//! Effects of the variants on each quantity, and what may be said of them.

use super::bounds::Merged;
use crate::coordinate::compare::{BlockSearch, Open};
use model::{ArmRecord, Call, CompareLoad, CompareMetric, Effect, Estimate, MetricRecord, PositionRecord};
use stats::{Looks, call, effect, geometric_mean, precision, with_holm};
use std::collections::BTreeMap;

/// Confidence of what the set of CPUs does, of which nobody makes a call.
const POSITION_CONFIDENCE: f64 = 0.95;

/// Every quantity of every variant, and why others are missing.
pub(super) fn metrics(
    search: &BlockSearch,
    arms: &[ArmRecord],
    merged: &Merged<'_>,
) -> (Vec<MetricRecord>, BTreeMap<CompareMetric, String>) {
    let (mut metrics, mut unavailable) = (Vec::new(), BTreeMap::new());
    for load in &search.settings().loads {
        for metric in load.metrics() {
            if search.is_known(*load, *metric) {
                metrics.extend(of_metric(search, arms, merged, *load, *metric));
            } else if search.counted() > 0 {
                unavailable
                    .entry(*metric)
                    .and_modify(|why: &mut String| why.push_str(&format!("; at {} too", load.words())))
                    .or_insert_with(|| format!("at {}: {}", load.words(), why_unknown(*metric)));
            }
        }
    }
    // What is known at one load at least was compared.
    unavailable.retain(|metric, _| metrics.iter().all(|known: &MetricRecord| known.metric != *metric));
    (metrics, unavailable)
}

/// One quantity of every variant.
fn of_metric(
    search: &BlockSearch,
    arms: &[ArmRecord],
    merged: &Merged<'_>,
    load: CompareLoad,
    metric: CompareMetric,
) -> Vec<MetricRecord> {
    let settings = search.settings();
    let confidence = search.confidence();
    let narrowest = settings.precision.unwrap_or_else(|| Looks::half_width_for(settings.margin));
    let variants = 1..settings.arms as usize;
    let pairs: Vec<_> = variants.clone().map(|arm| search.pairs(arm, load, metric)).collect();
    let effects: Option<Vec<Effect>> = pairs.iter().map(|pairs| effect(pairs, confidence)).collect();
    let Some(mut effects) = effects else { return Vec::new() };
    with_holm(&mut effects);
    let record = |arm: usize, pairs: &[(f64, f64)], effect: &Effect| {
        let (baselines, values): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let open = merged.open(search, arm, load, metric);
        let ratio = Estimate {
            low: effect.ratio.low.filter(|_| !open.below),
            high: effect.ratio.high.filter(|_| !open.above),
            ..effect.ratio
        };
        MetricRecord {
            metric,
            load,
            arm: super::name(arms, arm),
            primary: search.primary(load) == Some(metric),
            baseline: geometric_mean(&baselines),
            value: geometric_mean(&values),
            ratio,
            bound: merged.why(search, arm, load, metric),
            call: call(&ratio, metric.wanted(), settings.margin),
            method: Some(effect.method),
            p_value: effect.p_value.filter(|_| open == Open::default()),
            p_adjusted: effect.p_adjusted.filter(|_| open == Open::default()),
            sd_log: effect.sd_log,
            precision: Some(precision(effect, needed_to_call(&ratio, settings.margin).max(narrowest), confidence)),
        }
    };
    variants.zip(&pairs).zip(&effects).map(|((arm, pairs), effect)| record(arm, pairs, effect)).collect()
}

/// Half width that would be narrow enough to call a change of this size, relative: the distance to the nearer end of the margin.
fn needed_to_call(ratio: &Estimate, margin: f64) -> f64 {
    let distance = |limit: f64| (ratio.value / limit).ln().abs().exp_m1();
    distance(1.0 - margin).min(distance(1.0 + margin))
}

/// What the set of CPUs does to each quantity of a duet; nothing outside one.
pub(super) fn positions(search: &BlockSearch) -> Vec<PositionRecord> {
    let settings = search.settings();
    let of = |load: CompareLoad, metric: CompareMetric| {
        let ratio = effect(&search.sets(load, metric), POSITION_CONFIDENCE)?.ratio;
        let is_large = matches!(call(&ratio, metric.wanted(), settings.margin), Call::Better | Call::Worse);
        Some(PositionRecord { metric, load, ratio, is_large })
    };
    let all = settings.loads.iter().flat_map(|load| load.metrics().iter().map(move |metric| (*load, *metric)));
    all.filter(|(load, metric)| search.is_known(*load, *metric)).filter_map(|(load, metric)| of(load, metric)).collect()
}

const fn why_unknown(metric: CompareMetric) -> &'static str {
    match metric {
        CompareMetric::ServerCpuNsPerRequest | CompareMetric::ServerRssBytes => {
            "the server of a variant was not observed"
        }
        CompareMetric::CapacityPerS => {
            "a search had no time for a load that held or failed: more time (--capacity-budget)"
        }
        CompareMetric::GoodputPerS => "a variant gave no good response",
        CompareMetric::ResponseP50Ns
        | CompareMetric::ResponseP90Ns
        | CompareMetric::ResponseP95Ns
        | CompareMetric::ResponseP99Ns => {
            "too few responses in a window for this quantile: longer windows (-d), or a higher rate (-R)"
        }
    }
}
