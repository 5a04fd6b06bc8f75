//! Figures of a result by name, each as far as it is known: what thresholds, histories and tables are about.
//!
//! A sweep has the figures of its peak. A number that a rule has made a bound is one here too; what too few requests are
//! behind, or nobody observed, is missing.

use crate::arms::Arm;
use crate::record::AnyRecord;
use crate::terminal::run::{failed_share, is_disturbed, is_goodput_bound, quantile};
use crate::terminal::sweep::is_peak_bound;
use model::{Bound, CapacityRecord, KnownFigure, Observed, RunRecord, SweepRecord};
use std::collections::BTreeMap;

/// Figures by name.
pub type Figures = BTreeMap<&'static str, KnownFigure>;

/// What stands before a value that may be a bound.
pub(crate) fn sign(bound: Option<Bound>) -> &'static str {
    bound.map_or("", Bound::sign)
}

/// The figures of a result; none of several results in one, which have some each.
#[must_use]
pub fn figures(record: AnyRecord<'_>) -> Figures {
    match record {
        AnyRecord::Run(record) => of_run(record),
        AnyRecord::Sweep(record) => of_sweep(record),
        AnyRecord::Capacity(record) => of_capacity(record),
        AnyRecord::Sweeps(_) | AnyRecord::Compare(_) | AnyRecord::Experiment(_) => Figures::new(),
    }
}

/// Those of one load.
pub(crate) fn of_run(record: &RunRecord) -> Figures {
    let goodput = KnownFigure {
        bound: is_goodput_bound(record).then_some(Bound::AtLeast),
        ..KnownFigure::from(record.goodput_per_s)
    };
    let response = &record.latency_ns.response;
    let latencies = [
        ("p50", "p50", response.p50),
        ("p90", "p90", response.p90),
        ("p99", "p99", response.p99),
        ("p99.9", "p99_9", response.p99_9),
        ("max", "max", response.max),
    ];
    let mut figures: Figures = [
        ("goodput", goodput),
        ("throughput", KnownFigure { bound: goodput.bound, ..KnownFigure::exactly(record.throughput_per_s) }),
        ("errors", KnownFigure::exactly(failed_share(record))),
        ("send-rate", KnownFigure::exactly(sent_share(record))),
    ]
    .into();
    if response.n > 0 {
        figures.extend(latencies.into_iter().filter_map(|(name, key, ns)| Some((name, latency(record, key, ns)?))));
        let bound = is_disturbed(&record.verdict).then_some(Bound::AtMost);
        figures.insert("mean", KnownFigure { bound, ..KnownFigure::exactly(response.mean) });
    }
    figures.extend(record.server_cpu_ns_per_request.map(|cpu| ("cpu-per-request", KnownFigure::from(cpu))));
    figures.extend(record.observed.iter().flat_map(of_server));
    figures
}

/// A quantile as far as it may be told.
fn latency(record: &RunRecord, key: &str, ns: u64) -> Option<KnownFigure> {
    let text = quantile(&record.verdict, key, ns);
    let bound = match text.as_bytes().first() {
        Some(b'-') | None => return None,
        Some(b'>') => Some(Bound::AtLeast),
        Some(b'<') => Some(Bound::AtMost),
        Some(_) => None,
    };
    Some(KnownFigure { bound, ..KnownFigure::exactly(ns as f64) })
}

fn sent_share(record: &RunRecord) -> f64 {
    let requests = &record.requests;
    if requests.planned == 0 { 1.0 } else { requests.sent as f64 / requests.planned as f64 }
}

/// What server and companions use; nothing where the server was not observed.
fn of_server(observed: &Observed) -> Vec<(&'static str, KnownFigure)> {
    let Some(server) = &observed.server else { return Vec::new() };
    let companions = || observed.companions.values();
    let cores = server.cpu_cores + companions().map(|group| group.cpu_cores).sum::<f64>();
    let rss = companions().map(|group| group.rss_bytes_max).fold(server.rss_bytes_max, u64::saturating_add);
    let all = match (server.cpus.len(), &observed.machine) {
        (0, Some(machine)) => f64::from(machine.cpus),
        (some, _) => some as f64,
    };
    let mut figures = vec![("cpu", KnownFigure::exactly(cores)), ("rss", KnownFigure::exactly(rss as f64))];
    figures.extend((all > 0.0).then(|| ("cpu%", KnownFigure::exactly(cores / all))));
    figures
}

/// Those of the load at which the peak is.
pub(crate) fn of_sweep(record: &SweepRecord) -> Figures {
    let arm = Arm { index: 0, label: String::new(), record };
    let Some((peak, at)) = record.peak.zip(arm.at_peak()) else { return Figures::new() };
    let mut figures = record.points.get(at).map_or_else(Figures::new, of_run);
    let interval = figures.get("goodput").copied().unwrap_or_default();
    let bound = is_peak_bound(record).then_some(Bound::AtLeast);
    figures.insert("goodput", KnownFigure { value: peak.goodput_per_s, bound, ..interval });
    figures
}

/// The capacity between the ends of its bracket, or beyond the only one.
pub(crate) fn of_capacity(record: &CapacityRecord) -> Figures {
    let capacity = &record.capacity;
    let (low, high) = (capacity.low, capacity.high);
    let bound = match (low, high) {
        (Some(_), Some(_)) | (None, None) => None,
        (Some(_), None) => Some(Bound::AtLeast),
        (None, Some(_)) => Some(Bound::AtMost),
    };
    let estimate = capacity.estimate_per_s.map(|estimate| estimate.value).filter(|_| bound.is_none());
    let value = estimate.or(low).or(high);
    value.map(|value| ("capacity", KnownFigure { value, low, high, bound })).into_iter().collect()
}
