//! What the target answered before anything was measured.

use serde::{Deserialize, Serialize};

/// A few fetches of the target, and what they have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The fetches in order; at least one.
    pub fetches: Vec<Fetch>,
    /// Whether the body is the same each time.
    pub body: Body,
    /// Where a redirect leads, hop by hop, as told by `Location`; empty when there is none.
    pub redirects: Vec<String>,
}

/// One response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// Status code.
    pub status: u16,
    /// Body size; bytes.
    pub size_bytes: u64,
    /// `Content-Type`, if any.
    pub content_type: Option<String>,
    /// `Server`, if any.
    pub server: Option<String>,
    /// `Location`, if any.
    pub location: Option<String>,
    /// FNV-1a hash of the body; to see whether it changes, not for security.
    pub body_hash: u64,
    /// Whether the server keeps the connection open.
    pub keepalive: bool,
    /// Time to connect; ns.
    pub connect_ns: u64,
    /// Time from the request to the complete response; ns.
    pub response_ns: u64,
}

/// Whether the body is the same each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Same size and same bytes.
    Stable,
    /// Same size, other bytes.
    ChangingBytes,
    /// Other sizes.
    ChangingSize,
}
