//! k6's `--out json`: a measured point in each line.

use super::require;
use super::samples::{Begun, Ended, Fold, SampleReader, Tally};
use crate::Unreadable;
use crate::claim::{Claims, Figure};
use jiff::Timestamp;
use serde::Deserialize;
use std::borrow::Cow;

pub(super) const SAMPLES: SampleReader = SampleReader { begin };

/// What k6 calls a response that did not come in time.
const LATE: &str = "1050";
/// k6 gives up on a response after this, unless told otherwise.
pub(super) const TIMEOUT_NS: f64 = 60e9;
const NS_PER_MS: f64 = 1e6;

/// A line; of the definition of a metric as well, which has no value.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metric: Cow<'a, str>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    time: Cow<'a, str>,
    #[serde(default)]
    value: f64,
    #[serde(borrow, default)]
    tags: Option<Tags<'a>>,
}

#[derive(Default, Deserialize)]
struct Tags<'a> {
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    error: Cow<'a, str>,
    #[serde(borrow, default)]
    error_code: Cow<'a, str>,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
}

#[derive(Default)]
struct Points {
    tally: Tally,
    /// Requests without a status, as a load may be told to leave it out; and requests that failed.
    unknown: u64,
    failed: u64,
    dropped: f64,
    users: f64,
    /// The URL of all requests; none once there are two.
    url: Option<String>,
    has_several_urls: bool,
}

fn begin(line: &[u8]) -> Option<Begun> {
    let parsed: Line<'_> = serde_json::from_slice(line).ok()?;
    matches!(&*parsed.kind, "Metric" | "Point").then(|| Ok(Box::<Points>::default() as Box<dyn Fold>))
}

impl Points {
    fn request(&mut self, tags: &Tags<'_>) {
        let how = match tags.status.parse::<u16>() {
            Ok(status @ 100..=599) => Ended::Status(status),
            Ok(_) if tags.error_code == LATE => Ended::Late,
            Ok(_) => Ended::Broken,
            Err(_) => {
                self.unknown += 1;
                return;
            }
        };
        self.tally.ended(how, 1);
        self.tally.reason(tags.error.as_bytes());
        if tags.url.is_empty() || self.has_several_urls {
            return;
        }
        match &self.url {
            None => self.url = Some(tags.url.clone().into_owned()),
            Some(url) if *url == tags.url => {}
            Some(_) => {
                self.url = None;
                self.has_several_urls = true;
            }
        }
    }

    /// A point has the time of its end.
    fn duration(&mut self, data: &Data<'_>, tags: &Tags<'_>) -> bool {
        let Ok(end) = data.time.parse::<Timestamp>() else { return false };
        let Ok(end_ns) = i64::try_from(end.as_nanosecond()) else { return false };
        let ns = data.value * NS_PER_MS;
        self.tally.lasted(end_ns.saturating_sub(ns as i64), end_ns);
        if tags.status != "0" {
            self.tally.latency(ns);
        }
        true
    }
}

impl Fold for Points {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(Line { kind, metric, data }) = serde_json::from_slice::<Line<'_>>(line) else { return false };
        if kind != "Point" {
            return true;
        }
        let none = Tags::default();
        let tags = data.tags.as_ref().unwrap_or(&none);
        match &*metric {
            "http_reqs" => self.request(tags),
            "http_req_duration" => return self.duration(&data, tags),
            "http_req_failed" if data.value != 0.0 => self.failed += 1,
            "dropped_iterations" => self.dropped += data.value,
            "vus_max" => self.users = self.users.max(data.value),
            _ => {}
        }
        true
    }

    fn finish(mut self: Box<Self>, mut claims: Claims) -> Result<Claims, Unreadable> {
        if self.unknown > 0 {
            let failed = self.failed.min(self.unknown);
            self.tally.ended(Ended::Bad, failed);
            self.tally.ended(Ended::Good, self.unknown - failed);
        }
        self.tally.put(&mut claims);
        claims.put(Figure::Dropped, Some(self.dropped), None);
        claims.put(Figure::Connections, Some(self.users).filter(|users| *users > 0.0), None);
        claims.put_usual(Figure::Timeout, TIMEOUT_NS);
        claims.url = self.url;
        require(
            claims,
            &[(Figure::Responses, "points of http_reqs"), (Figure::Duration, "points of http_req_duration")],
        )
    }
}
