//! The rules, one file each, in the order of the catalogue.

mod answers;
mod censored;
mod client;
mod client_busy;
mod closed_loop;
mod connections;
mod curve;
pub(crate) mod disturbed;
mod environment;
mod errors;
mod facts;
pub(crate) mod kernel;
mod little;
mod load;
mod network;
mod outage;
mod physics;
mod ports;
mod profiled;
mod redirect;
pub(crate) mod saturation;
mod send_rate;
pub(crate) mod server;
mod settled;
mod slip;
mod too_short;
mod unstable;
mod wrong_body;

use crate::Rule;
use std::sync::LazyLock;

/// Every rule.
pub(crate) static CATALOGUE: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let own = [&ALL[..], &client::ALL, &answers::ALL, &load::ALL, &curve::ALL, &physics::ALL];
    [own.concat(), [&network::ALL[..], &server::ALL, &environment::ALL].concat()].concat()
});

pub(crate) static ALL: [Rule; 18] = [
    client_busy::RULE,
    slip::RULE,
    send_rate::RULE,
    connections::RULE,
    ports::RULE,
    errors::RULE,
    redirect::RULE,
    wrong_body::RULE,
    censored::RULE,
    outage::RULE,
    closed_loop::RULE,
    too_short::RULE,
    settled::RULE,
    unstable::RULE,
    saturation::NO_FAILING_LOAD,
    saturation::PEAK_AT_EDGE,
    little::RULE,
    profiled::RULE,
];

/// Quantiles that are printed: name, key in a finding's evidence, q.
pub(crate) const PRINTED: [(&str, &str, f64); 4] =
    [("p50", "p50", 0.5), ("p90", "p90", 0.9), ("p99", "p99", 0.99), ("p99.9", "p99_9", 0.999)];
