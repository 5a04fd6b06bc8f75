//! Page render: what a browser measured of a page, as `render --json` prints it. A metric of its own: none of it is the
//! throughput of a server.

use crate::{Call, Direction, EffectMethod, Environment, Estimate, Verdict};
use serde::{Deserialize, Serialize};

/// Quantity of one page load; its name has the unit. Of all of them less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RenderMetric {
    /// Time from the start of the navigation to the first byte of the response to the document, redirects included.
    TtfbNs,
    /// Time to the first contentful paint: text or an image is on the screen.
    FcpNs,
    /// Time to the largest contentful paint.
    LcpNs,
    /// Time to the load event.
    LoadNs,
    /// Bytes received from the network, headers and redirects included, bodies as they were sent (compressed).
    TransferredBytes,
    /// Requests that were answered by the network, each hop of a redirect included.
    Requests,
}

impl RenderMetric {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::TtfbNs, Self::FcpNs, Self::LcpNs, Self::LoadNs, Self::TransferredBytes, Self::Requests];
    /// The one on whose call in cold loads the exit code of a comparison rests.
    pub const PRIMARY: Self = Self::LcpNs;
    /// Which way all of them are wanted to go.
    pub const WANTED: Direction = Direction::LowerIsBetter;

    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::TtfbNs => "time to first byte (TTFB)",
            Self::FcpNs => "first contentful paint (FCP)",
            Self::LcpNs => "largest contentful paint (LCP)",
            Self::LoadNs => "load event",
            Self::TransferredBytes => "bytes on the wire",
            Self::Requests => "requests",
        }
    }
}

/// State of the browser's cache before a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// A new profile: nothing is cached, no cookie is set, no connection is open.
    Cold,
    /// A second visit in the same profile.
    Warm,
}

impl CacheState {
    /// Both, in the order in which a profile has them.
    pub const ALL: [Self; 2] = [Self::Cold, Self::Warm];

    /// In a word.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
        }
    }
}

/// Why a load says nothing of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageFailureKind {
    /// The document could not be fetched.
    Network,
    /// The page had no load event within its time.
    TimedOut,
    /// The document has an HTTP status of 400 or more.
    Status,
    /// Nothing was painted.
    Blank,
    /// The document came from another host than that of the URL.
    OtherHost,
    /// The page went to another URL by itself.
    LeftPage,
    /// It is a download, or no page at all.
    NotAPage,
    /// More requests, frames or events than are followed.
    TooLarge,
    /// The browser, or its process of the page, ended or said what cannot be read.
    Browser,
}

/// A load that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageFailure {
    /// Why.
    pub kind: PageFailureKind,
    /// The same in words, such as `net::ERR_CONNECTION_REFUSED`.
    pub message: String,
}

/// One load of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLoad {
    /// Block, from 0.
    pub block: u64,
    /// Page, from 0, the baseline.
    pub arm: u64,
    /// State of the cache.
    pub cache: CacheState,
    /// URL of the document after redirects, secrets replaced; null where none was answered.
    pub url: Option<String>,
    /// HTTP status of the document; null where none was answered.
    pub status: Option<u16>,
    /// Redirects before the document.
    pub redirects: u64,
    /// [`RenderMetric::TtfbNs`]; null where it is not known, as are those below.
    pub ttfb_ns: Option<u64>,
    /// [`RenderMetric::FcpNs`].
    pub fcp_ns: Option<u64>,
    /// [`RenderMetric::LcpNs`].
    pub lcp_ns: Option<u64>,
    /// [`RenderMetric::LoadNs`].
    pub load_ns: Option<u64>,
    /// [`RenderMetric::TransferredBytes`].
    pub transferred_bytes: u64,
    /// [`RenderMetric::Requests`].
    pub requests: u64,
    /// Requests that were answered by a cache of the browser.
    pub cached_requests: u64,
    /// Requests of the page, without the document, that failed or have a status of 400 or more.
    pub failed_requests: u64,
    /// False if the page still fetched when it was no longer waited for.
    pub is_settled: bool,
    /// Why the load does not count; null of one that does.
    pub failure: Option<PageFailure>,
}

impl PageLoad {
    /// Value of a quantity in the unit of its name; none where it is not known, and of a load that failed.
    #[must_use]
    pub fn value(&self, metric: RenderMetric) -> Option<f64> {
        let value = match metric {
            _ if self.failure.is_some() => None,
            RenderMetric::TtfbNs => self.ttfb_ns,
            RenderMetric::FcpNs => self.fcp_ns,
            RenderMetric::LcpNs => self.lcp_ns,
            RenderMetric::LoadNs => self.load_ns,
            RenderMetric::TransferredBytes => Some(self.transferred_bytes),
            RenderMetric::Requests => Some(self.requests),
        };
        value.map(|value| value as f64)
    }
}

/// One quantity of one page over all loads that count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderFigure {
    /// Quantity; the value is in the unit of its name.
    pub metric: RenderMetric,
    /// State of the cache.
    pub cache: CacheState,
    /// Median with its 95 % interval, which is null below 6 loads; `n` is the number of loads.
    pub median: Estimate,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderArm {
    /// URL as it was asked for, secrets replaced.
    pub url: String,
    /// Each quantity, cold and warm; without those that no load has.
    pub figures: Vec<RenderFigure>,
}

/// One quantity of the second page against the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderEffect {
    /// Quantity.
    pub metric: RenderMetric,
    /// State of the cache.
    pub cache: CacheState,
    /// True if the exit code rests on it.
    pub primary: bool,
    /// Second over first with its 95 % interval; `n` is the number of blocks.
    pub ratio: Estimate,
    /// What may be said of it.
    pub call: Call,
    /// How it was computed.
    pub method: EffectMethod,
    /// Probability of such a ratio without an effect, two-sided; null without an interval.
    pub p_value: Option<f64>,
    /// Standard deviation of the log ratio from block to block; null below two blocks.
    pub sd_log: Option<f64>,
}

/// What was planned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderSettings {
    /// Blocks: in each of them every page is loaded cold and then warm.
    pub blocks: u64,
    /// Time that a load may take; ns.
    pub timeout_ns: u64,
    /// Change that matters, relative.
    pub margin: f64,
    /// Seed of the order in the blocks.
    pub seed: u64,
    /// Width of the browser's window; pixels.
    pub width_px: u32,
    /// Its height; pixels.
    pub height_px: u32,
    /// False if the browser ran without its sandbox.
    pub sandbox: bool,
}

/// The browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Browser {
    /// Path of its program.
    pub program: String,
    /// Name and version as it says itself, such as `Chrome/156.0.8078.79`.
    pub version: String,
}

/// Result of a page render: `render --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderRecord {
    /// [`crate::FORMAT_RENDER`].
    pub format: String,
    /// True if to believe it.
    pub verdict: Verdict,
    /// The pages, the baseline first.
    pub arms: Vec<RenderArm>,
    /// Each quantity of the second page against the first; empty of one page.
    pub effects: Vec<RenderEffect>,
    /// The browser.
    pub browser: Browser,
    /// What was planned.
    pub settings: RenderSettings,
    /// All loads in the order made.
    pub loads: Vec<PageLoad>,
    /// Time that the blocks took; ns.
    pub spent_ns: u64,
    /// Where it ran.
    pub environment: Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// True if it was stopped from outside before its plan was done.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_quantities_are_those_of_the_contract() {
        let names = RenderMetric::ALL.map(|metric| serde_json::to_string(&metric).unwrap());
        let expected = ["ttfb_ns", "fcp_ns", "lcp_ns", "load_ns", "transferred_bytes", "requests"];
        assert_eq!(names, expected.map(|name| format!("{name:?}")));
    }
}
