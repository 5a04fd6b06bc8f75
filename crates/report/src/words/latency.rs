//! Latencies of a run in words and rows: each quantile as far as it is known, with the sign of a bound.

use crate::bounds::{response_quantile, service_quantile, sign};
use model::human::time;
use model::{KnownFigure, Quantile, Quantiles, RunRecord, Verdict};

/// By how much of the service time the first byte comes earlier, on average, where it is told: below it both are told as the
/// same number.
const FIRST_BYTE_EARLIER_MIN: f64 = 0.01;

/// A latency of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latency {
    Response,
    Service,
    FirstByte,
    SendDelay,
    ConnectionWait,
}

impl Latency {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::FirstByte => "first byte",
            Self::SendDelay => "send delay",
            Self::ConnectionWait => "connection wait",
        }
    }

    const fn quantiles(self, record: &RunRecord) -> &Quantiles {
        match self {
            Self::Response => &record.latency_ns.response,
            Self::Service => &record.latency_ns.service,
            Self::FirstByte => &record.latency_ns.first_byte,
            Self::SendDelay => &record.latency_ns.slip_client,
            Self::ConnectionWait => &record.latency_ns.slip_blocked,
        }
    }

    /// A quantile of this latency. The timeout cuts what ends with the response; delays before the send are known even of
    /// requests that were never answered.
    pub(crate) fn cell(self, record: &RunRecord, quantile: Quantile) -> String {
        let ns = quantile.of(self.quantiles(record));
        match self {
            Self::Response => text(response_quantile(&record.verdict, quantile, ns)),
            Self::Service | Self::FirstByte => text(service_quantile(&record.verdict, quantile, ns)),
            Self::SendDelay | Self::ConnectionWait => ns.map_or_else(|| "-".to_owned(), |ns| time(ns as f64)),
        }
    }

    /// The name and every quantile of this latency, in the order of [`quantiles`].
    pub(crate) fn row(self, record: &RunRecord) -> Vec<String> {
        let cells = quantiles(record).into_iter().map(|quantile| self.cell(record, quantile));
        [self.name().to_owned()].into_iter().chain(cells).collect()
    }
}

/// The quantiles that a run has, the lowest first.
pub(crate) fn quantiles(record: &RunRecord) -> Vec<Quantile> {
    Quantile::usual_and(&record.plan.quantiles)
}

/// Response time, service time and time to the first byte, as far as they differ.
pub(crate) fn response_times(record: &RunRecord) -> Vec<Latency> {
    let latency = &record.latency_ns;
    // In a closed loop a request is intended when it is sent, so that both are the same.
    let is_one = record.plan.load.is_closed() && latency.response == latency.service;
    let response = (!is_one).then_some(Latency::Response);
    let first_byte = has_first_byte(record).then_some(Latency::FirstByte);
    response.into_iter().chain([Latency::Service]).chain(first_byte).collect()
}

/// True if the first bytes came earlier than the whole responses, by [`FIRST_BYTE_EARLIER_MIN`]: those that come in one piece
/// have only one time.
pub(crate) fn has_first_byte(record: &RunRecord) -> bool {
    let latency = &record.latency_ns;
    latency.first_byte.n > 0 && latency.first_byte.mean < (1.0 - FIRST_BYTE_EARLIER_MIN) * latency.service.mean
}

/// The same, and the delays before the send that occurred in an open loop.
pub(crate) fn latencies(record: &RunRecord) -> Vec<Latency> {
    let delays = [Latency::SendDelay, Latency::ConnectionWait].into_iter();
    let delays = delays.filter(|delay| !record.plan.load.is_closed() && delay.quantiles(record).max > 0);
    response_times(record).into_iter().chain(delays).collect()
}

/// A row for each latency; empty when no response time was recorded.
pub(crate) fn latency_rows(record: &RunRecord) -> Vec<Vec<String>> {
    match record.latency_ns.response.n {
        0 => Vec::new(),
        _ => latencies(record).into_iter().map(|latency| latency.row(record)).collect(),
    }
}

/// A quantile of the response time, which is `ns` by its histogram: `-` where it is not known.
pub(crate) fn quantile_text(verdict: &Verdict, quantile: Quantile, ns: impl Into<Option<u64>>) -> String {
    text(response_quantile(verdict, quantile, ns))
}

fn text(known: Option<KnownFigure>) -> String {
    known.map_or_else(|| "-".to_owned(), |known| format!("{}{}", sign(known.bound), time(known.value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Finding, FindingState, VerdictState};

    /// A run with a finding of `rule` that has a figure of this name.
    fn run(rule: &str, figure: &str) -> RunRecord {
        let mut record: RunRecord = serde_json::from_str(include_str!("../../tests/stored/run")).unwrap();
        let finding = Finding {
            rule: rule.to_owned(),
            state: FindingState::Bound,
            message: String::new(),
            remedy: String::new(),
            evidence: [(figure.to_owned(), 4e6)].into(),
        };
        (record.verdict.state, record.verdict.findings) = (VerdictState::Bound, vec![finding]);
        let quantiles = Quantiles { n: 1_000, p50: 1_000_000, p99: 2_000_000, ..Quantiles::default() };
        let latency = &mut record.latency_ns;
        (latency.response, latency.service) = (quantiles.clone(), quantiles.clone());
        latency.slip_client = quantiles;
        record
    }

    #[test]
    fn own_lateness_bounds_the_response_time_from_above_and_no_other() {
        let late = run("CL-03", &Quantile::P99.at_most_figure());
        assert_eq!(Latency::Response.cell(&late, Quantile::P99), "<= 2.00 ms");
        assert_eq!(Latency::Response.cell(&late, Quantile::P50), "1.00 ms");
        assert_eq!(Latency::Service.cell(&late, Quantile::P99), "2.00 ms");
        assert_eq!(Latency::SendDelay.cell(&late, Quantile::P99), "2.00 ms");
        let cut = run("ER-05", &Quantile::P99.at_least_figure());
        assert_eq!(Latency::Service.cell(&cut, Quantile::P99), ">= 2.00 ms", "the timeout cuts both");
        assert_eq!(Latency::Response.cell(&cut, Quantile::P99), ">= 4.00 ms", "for so long a request had waited");
    }

    #[test]
    fn the_first_byte_is_told_where_it_comes_before_the_response_is_whole() {
        let mut record = run("CL-03", &Quantile::P99.at_most_figure());
        let of_mean = |mean: f64| Quantiles { n: 1_000, mean, p50: 500_000, ..Quantiles::default() };
        (record.latency_ns.service.mean, record.latency_ns.first_byte) = (1e6, of_mean(5e5));
        assert_eq!(response_times(&record), [Latency::Response, Latency::Service, Latency::FirstByte]);
        assert_eq!(Latency::FirstByte.cell(&record, Quantile::P50), "500 µs");
        record.latency_ns.first_byte.mean = 999_000.0;
        assert!(!has_first_byte(&record), "nearly all responses came in one piece");
        record.latency_ns.first_byte = Quantiles::default();
        assert!(!has_first_byte(&record), "an earlier version has not stored it");
    }
}
