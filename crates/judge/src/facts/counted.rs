//! Requests that both the server's status page and the client have counted.

use model::{CountedRequests, Evidence};

/// Less than this share of what must have happened is nothing.
pub(crate) const SHARE: f64 = 0.1;

/// The first page that counts requests: whose it is, and what both ends counted.
pub(crate) fn counted(evidence: &Evidence) -> Option<(&str, CountedRequests)> {
    let of = |page: &model::StatusRecord| page.requests.filter(|counted| counted.span_ns > 0);
    evidence.status.iter().find_map(|page| Some((page.server.as_deref().unwrap_or("the server"), of(page)?)))
}

/// True if the server's count did not follow the client's.
pub(crate) fn is_unmoved(counted: CountedRequests) -> bool {
    counted.server < SHARE * counted.client
}
