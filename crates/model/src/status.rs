//! Figures of servers' status pages.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Begin of the reason of a look that a server has refused to its user.
pub const LOGIN_REFUSED: &str = "it does not let ";

/// One status page, read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// Which server's kind of page it is.
    pub server: String,
    /// Its figures by our names, units in the names.
    pub figures: BTreeMap<String, f64>,
}

/// One sample of a status page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusLook {
    /// Where it is.
    pub url: String,
    /// What it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ServerStatus>,
    /// Why it said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the page was there, since the clock of the run started; none before that. ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// How long it took to get; ns.
    #[serde(default)]
    pub took_ns: u64,
}

/// A status page over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusRecord {
    /// Where it is.
    pub url: String,
    /// Which server's kind of page it is; none when it was never read.
    pub server: Option<String>,
    /// Times it was read.
    pub looks: u64,
    /// Why it could not be read the last time it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its figures.
    pub figures: BTreeMap<String, Figure>,
    /// The same before the load and after it: a server that had no connection left for its page in the window has counted
    /// that all the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub around: BTreeMap<String, Around>,
    /// Requests between the first and the last sample of the window by the server's count and by ours; none without a
    /// counter `requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<CountedRequests>,
}

/// A figure of a status page on both sides of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    /// Before it.
    pub before: f64,
    /// After it.
    pub after: f64,
}

/// The same requests, counted at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedRequests {
    /// By the server, without those for its status page.
    pub server: f64,
    /// Complete responses here.
    pub client: f64,
    /// Time between the samples; ns.
    pub span_ns: u64,
    /// Complete responses of which nobody knows on which side of the server's count they are: those while the two pages
    /// were on their way, and those by which the count within a second may be wrong.
    #[serde(default)]
    pub unclear: f64,
}

/// One figure of a status page over the measured window. A counter is told by its first and last, a state by the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// At the first sample.
    pub first: f64,
    /// At the last sample.
    pub last: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Over the samples of undisturbed time, or all where there were none.
    pub mean: f64,
}
