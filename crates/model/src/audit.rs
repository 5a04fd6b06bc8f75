//! Claims of another tool with their verdict: `audit --json`.

use crate::{Estimate, Knee, Limiter, PoolFit, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One saved output of another tool, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// [`crate::FORMAT_AUDIT`].
    pub format: String,
    /// The file it was read from, or `-`.
    pub source: String,
    /// The tool that printed it, such as `wrk`.
    pub tool: String,
    /// The command line as printed with the result, secrets replaced.
    pub command: Option<String>,
    /// What was asked for, secrets replaced.
    pub url: Option<String>,
    /// Load model: `closed` or `open`; null when the output does not tell.
    pub load_model: Option<String>,
    /// Every figure that was read.
    pub claims: Vec<Claim>,
    /// Complete responses by exact status, where the output tells.
    pub status: BTreeMap<u16, u64>,
    /// Responses per second that were good, as far as the output tells; null when it does not.
    pub goodput_per_s: Option<Estimate>,
    /// Responses per second as claimed, good or not.
    pub throughput_per_s: Option<f64>,
    /// Share of the requests that failed, 0 to 1.
    pub failed_share: Option<f64>,
    /// Connections asked for and really open.
    pub connections: Option<AuditConnections>,
    /// Of a table of loads: where more load stops buying throughput.
    pub knee: Option<Knee>,
    /// Of a table of loads: the fitted pool model.
    pub fit: Option<PoolFit>,
    /// What stopped the server while its processes were looked at; omitted without such figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiter: Option<Limiter>,
    /// Lines with something in them that nobody understood.
    pub unread_lines: u64,
    /// True if to believe it.
    pub verdict: Verdict,
}

/// One figure of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What it is, with its unit, such as `latency_p99_ns`.
    pub name: String,
    /// The figure, in that unit.
    pub value: f64,
    /// Line it stands in, from 1; null in JSON, whose lines mean nothing.
    pub line: Option<u64>,
}

/// Connections of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditConnections {
    /// Asked for.
    pub requested: u64,
    /// Open as far as the output tells.
    pub established: u64,
}

/// Several outputs, each judged, and whether they may be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditsRecord {
    /// [`crate::FORMAT_AUDITS`].
    pub format: String,
    /// The outputs in the order given.
    pub audits: Vec<AuditRecord>,
    /// Goodput of each over that of the first; null when any comparison rule forbids it.
    pub goodput_ratios: Option<Vec<f64>>,
    /// True if they may be compared; null with fewer than two. It decides the exit code as any of the outputs does.
    pub comparison: Option<Verdict>,
    /// True if the outputs bear out what a text says of them; null without a text.
    pub text: Option<Verdict>,
}
