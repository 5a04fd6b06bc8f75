//! Sums and shares of numbers of a record, which may come from anywhere.

use model::RunRecord;

/// At most the largest number there is.
pub(crate) fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Failed share of the requests, 0 to 1.
pub(crate) fn failed_share(record: &RunRecord) -> f64 {
    let requests = &record.requests;
    let failed = sum(requests.failures.values().copied());
    failed as f64 / requests.counts.planned.max(requests.counts.good.saturating_add(failed)).max(1) as f64
}
