//! Probe: responses of the target before the load.

use crate::SizeBand;
use serde::{Deserialize, Serialize};

/// A few fetches of the target, and what they have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The fetches in order; at least one.
    pub fetches: Vec<Fetch>,
    /// True if the body is the same each time.
    pub body: Body,
    /// Where a redirect leads, hop by hop, as told by `Location`; empty when there is none. Of a request that may change
    /// something only the first hop, which is not followed.
    pub redirects: Vec<String>,
    /// The body for a client that takes it compressed, as browsers do; null where that was not asked, since it may change
    /// something, says itself what it takes, or is too small or of a kind that is not compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed: Option<Coded>,
    /// Requests that were sent for it, those of the other requests of a mix and those behind redirects included. 0 in a later
    /// load of the same measurement, whose probe it was as well; none in records from before they were counted.
    #[serde(default)]
    pub sent: Option<u64>,
    /// Fetches that were made again because their connection was refused, reset or closed without an answer.
    #[serde(default, skip_serializing_if = "crate::counts::is_zero")]
    pub again: u64,
}

/// How far a body that changes its size may leave the sizes that the probe saw; percent of them.
const SIZE_SLACK_PERCENT: u64 = 10;

impl Probe {
    /// The fetch that a contract follows when nothing is declared: the first 2xx, else the first of all.
    #[must_use]
    pub fn found(&self) -> Option<&Fetch> {
        self.fetches.iter().find(|fetch| (200..300).contains(&fetch.status)).or_else(|| self.fetches.first())
    }

    /// The response with most bytes behind its end; none when the server sent none.
    #[must_use]
    pub fn surplus(&self) -> Option<&Fetch> {
        self.fetches.iter().max_by_key(|fetch| fetch.surplus_bytes).filter(|fetch| fetch.surplus_bytes > 0)
    }

    /// The sizes that a body may have with `status`: the one that was seen, or for a page that changes its size
    /// those seen and a tenth beyond. None when that status was not seen.
    #[must_use]
    pub fn size_band(&self, status: u16) -> Option<SizeBand> {
        let sizes = || self.fetches.iter().filter(|fetch| fetch.status == status).map(|fetch| fetch.size_bytes);
        let (min, max) = (sizes().min()?, sizes().max()?);
        if self.body != Body::ChangingSize {
            return Some(SizeBand { min, max });
        }
        let slack = |size: u64| (u128::from(size) * u128::from(SIZE_SLACK_PERCENT)).div_ceil(100) as u64;
        Some(SizeBand { min: min - slack(min), max: max.saturating_add(slack(max)) })
    }
}

/// A body and its coding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coded {
    /// `Content-Encoding`; null when the body is as it is.
    pub encoding: Option<String>,
    /// Bytes sent.
    pub size_bytes: u64,
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
    /// Bytes of the whole response, head included; 0 in records from before they were counted.
    #[serde(default)]
    pub received_bytes: u64,
    /// Bytes that came behind the end of the response, where none may be: a body after HEAD, 204 or 304, or more than
    /// `Content-Length` announces.
    #[serde(default)]
    pub surplus_bytes: u64,
    /// The header by which a cache says that it has answered, such as `X-Cache: HIT`, if any.
    #[serde(default)]
    pub cached: Option<String>,
    /// FNV-1a hash of the body; to see whether it changes, not for security.
    pub body_hash: u64,
    /// True if the server keeps the connection open.
    pub keepalive: bool,
    /// Time to connect; ns.
    pub connect_ns: u64,
    /// Time from the request to the complete response; ns.
    pub response_ns: u64,
}

impl Fetch {
    /// Where it sends its reader; none of an answer that is no redirect, whose `Location` is that of something else.
    #[must_use]
    pub fn redirect(&self) -> Option<&str> {
        self.location.as_deref().filter(|_| (300..400).contains(&self.status))
    }
}

/// True if the body is the same each time.
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
