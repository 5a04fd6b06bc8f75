//! Preflight checks: `check --json`.

use crate::{Address, Coded, Environment, FindingState, Probe, TlsSession};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of a check of this machine, and of a target if one was named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// [`crate::FORMAT_CHECK`].
    pub format: String,
    /// The worst of the rows.
    pub state: CheckState,
    /// Everything that was looked at, worst first.
    pub rows: Vec<CheckRow>,
    /// What the target did; null when only this machine was looked at.
    pub target: Option<TargetCheck>,
    /// Where it ran.
    pub environment: Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRow {
    /// The rule that a measurement would trip, such as `CL-06`.
    pub rule: String,
    /// What was looked at, in a few words.
    pub what: String,
    /// What it would do to a measurement.
    pub state: CheckState,
    /// What was found; of what is not available, why.
    pub found: String,
    /// What to do; null when nothing is to be done.
    pub remedy: Option<String>,
    /// The figures, by name with unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

/// What something would do to a measurement, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Nothing.
    Fine,
    /// It could not be looked at.
    Unavailable,
    /// Nothing, but it is worth knowing.
    Note,
    /// The number would stand with a warning, or become a bound.
    Warning,
    /// The number would not be valid.
    Invalid,
}

impl From<FindingState> for CheckState {
    fn from(state: FindingState) -> Self {
        match state {
            FindingState::Note => Self::Note,
            FindingState::Warning | FindingState::Bound => Self::Warning,
            FindingState::Invalid => Self::Invalid,
        }
    }
}

/// What the target did when it was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetCheck {
    /// The URL of the first request.
    pub url: String,
    /// What was connected to.
    pub address: Address,
    /// Where redirects end: the URL to measure. Null when that is `url`, or could not be found.
    pub canonical_url: Option<String>,
    /// Each place that a redirect led to, hop by hop.
    pub redirects: Vec<String>,
    /// A few fetches, one after the other.
    pub probe: Probe,
    /// How it speaks HTTP.
    #[serde(rename = "manners")]
    pub http_traits: HttpTraits,
    /// Many requests at once; null when they were not sent.
    pub burst: Option<Burst>,
    /// Why they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_unavailable: Option<String>,
    /// Requests sent for the check: by the probe, behind redirects, one at a time, and in the burst.
    #[serde(default)]
    pub requests_sent: u64,
}

/// How a target speaks HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpTraits {
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub version: String,
    /// What TLS has agreed on; null without TLS.
    pub tls: Option<TlsSession>,
    /// Requests that one connection was given.
    pub asked_on_one: u32,
    /// Those that it answered before it was closed.
    pub answered_on_one: u32,
    /// The body as it is measured.
    pub plain: Coded,
    /// The body for a client that takes it compressed; null when that was not asked.
    pub compressed: Option<Coded>,
    /// Headers that say what caches did or may do.
    pub cache_headers: BTreeMap<String, String>,
    /// Requests sent to learn all this.
    #[serde(default)]
    pub requests_sent: u64,
}

/// A bounded burst of requests over a few connections: what rate limiters and bans answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Requests that were to be sent.
    pub planned: u32,
    /// Requests sent, numbered from 1 on.
    pub sent: u32,
    /// Connections at a time.
    pub connections: u32,
    /// Connections opened in all.
    pub opened: u32,
    /// Complete responses that were as the contract says.
    pub good: u32,
    /// Complete responses by status.
    pub status: BTreeMap<u16, u32>,
    /// What was wrong, by `phase.kind`.
    pub failures: BTreeMap<String, u32>,
    /// Requests that were refused: by status or by closing the connection.
    pub refused: u32,
    /// The first of them; null when there was none.
    pub first_refused: Option<Refusal>,
    /// How long it took; ns.
    pub length_ns: u64,
}

/// How a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Its number, from 1 on.
    pub request: u32,
    /// The status of the answer; null when there was none.
    pub status: Option<u16>,
    /// What happened instead of an answer, as `phase.kind`.
    pub failure: Option<String>,
    /// `Retry-After`, if any.
    pub retry_after: Option<String>,
}
