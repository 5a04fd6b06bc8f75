//! Rates over a span.

use model::NS_PER_S;

/// Per second; 0 of an empty span.
pub(crate) fn per_second(count: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { count as f64 * NS_PER_S as f64 / span_ns as f64 }
}
