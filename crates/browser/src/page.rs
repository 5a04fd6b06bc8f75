//! One load of a page: events of the protocol into what was measured. Knows neither pipe nor clock.
//!
//! What follows from the events is fixed by recordings of a browser in `fixtures`.

use crate::events::{Answered, Event, Failed, Lifecycle, Navigated, Painted, RequestSent, Response, Timing};
use crate::said::in_a_line;
use model::{CacheState, PageFailure, PageFailureKind, PageLoad};
use std::collections::HashMap;
use url::Url;

/// Requests that are followed: of a page with more nothing is said.
const REQUESTS_MAX: usize = 20_000;
/// HTTP statuses from here on are errors.
const ERROR_STATUS: u16 = 400;
/// Longest time that is believed; s.
const TIME_MAX_S: f64 = 86_400.0;

/// What is known of a load so far.
#[derive(Debug)]
pub(crate) struct Page {
    /// Host of the URL that was asked for.
    host: Option<String>,
    /// The frame of the page itself.
    frame: String,
    /// Its document, as soon as it is known.
    loader: Option<String>,
    requests: HashMap<String, Request>,
    document: Document,
    /// As `timestamp`s.
    fcp_s: Option<f64>,
    load_s: Option<f64>,
    is_idle: bool,
    /// Seconds since 1970.
    lcp_s: Option<f64>,
    failure: Option<PageFailure>,
}

/// The document of the page.
#[derive(Debug, Default)]
struct Document {
    url: Option<String>,
    status: Option<u16>,
    redirects: u64,
    first_byte_s: Option<f64>,
}

/// One request.
#[derive(Debug, Default)]
struct Request {
    /// Hops before it that came over the network.
    redirects: u64,
    redirect_bytes: f64,
    is_cached: bool,
    /// False of `data:` and the like, which are no requests.
    is_network: bool,
    is_failed: bool,
    /// The last hop was answered.
    is_answered: bool,
    /// Bytes as far as they have come, and all of them.
    received: f64,
    finished: Option<f64>,
}

/// Start of the navigation, in both clocks of the browser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// As a `timestamp`.
    pub(crate) monotonic_s: f64,
    /// Seconds since 1970; none where the page did not tell in time.
    pub(crate) wall_s: Option<f64>,
}

impl Page {
    /// Nothing of a load of `url` in this frame.
    pub(crate) fn new(url: &str, frame: &str) -> Self {
        Self {
            host: host(url),
            frame: frame.to_owned(),
            loader: None,
            requests: HashMap::new(),
            document: Document::default(),
            fcp_s: None,
            load_s: None,
            is_idle: false,
            lcp_s: None,
            failure: None,
        }
    }

    /// Takes in what the answer to the navigation says.
    pub(crate) fn on_navigation(&mut self, error: Option<&str>, is_download: bool) {
        if is_download {
            self.fail(PageFailureKind::NotAPage, "the browser would download it: it is no page");
        } else if let Some(error) = error {
            self.fail(PageFailureKind::Network, error);
        }
    }

    /// Takes in an event.
    pub(crate) fn on_event(&mut self, event: &Event) {
        match event {
            Event::RequestSent(sent) => self.on_request(sent),
            Event::Answered(answered) => self.on_answer(answered),
            Event::ServedFromCache(request) => self.change(&request.request_id, |request| request.is_cached = true),
            Event::Data(data) => {
                self.change(&data.request_id, |request| request.received += data.encoded_data_length.max(0.0));
            }
            Event::Finished(finished) => {
                self.change(&finished.request_id, |request| request.finished = Some(finished.encoded_data_length));
            }
            Event::Failed(failed) => self.on_failure(failed),
            Event::Lifecycle(lifecycle) => self.on_lifecycle(lifecycle),
            Event::Navigated(navigated) => self.on_navigated(navigated),
            Event::Painted(painted) => self.on_paint(painted),
            Event::Crashed => self.fail(PageFailureKind::Browser, "the browser's process of the page crashed"),
            Event::Attached(_) | Event::DialogOpened | Event::Other => {}
        }
    }

    /// Ends the load for a reason that the events do not tell. The first reason counts.
    pub(crate) fn fail(&mut self, kind: PageFailureKind, why: &str) {
        self.failure.get_or_insert_with(|| PageFailure { kind, message: in_a_line(why) });
    }

    /// True if there is nothing more to wait for.
    pub(crate) const fn is_complete(&self) -> bool {
        self.failure.is_some() || (self.is_loaded() && self.is_idle && self.fcp_s.is_some())
    }

    /// True if the page had its load event.
    pub(crate) const fn is_loaded(&self) -> bool {
        self.load_s.is_some()
    }

    /// What was measured. Its block and page are 0.
    pub(crate) fn end(mut self, cache: CacheState, start: Option<Start>) -> PageLoad {
        self.judge();
        let since = |at_s: Option<f64>, from_s: Option<f64>| Some(nanoseconds(at_s? - from_s?)).flatten();
        let (monotonic_s, wall_s) = (start.map(|start| start.monotonic_s), start.and_then(|start| start.wall_s));
        let network = |request: &&Request| request.is_network && !request.is_cached && request.is_answered;
        let all = self.requests.values();
        let bytes = |request: &Request| request.redirect_bytes + request.finished.unwrap_or(request.received);
        let own = self.loader.as_ref().and_then(|loader| self.requests.get(loader));
        let failed = all.clone().filter(|request| request.is_failed).count() as u64;
        PageLoad {
            block: 0,
            arm: 0,
            cache,
            url: self.document.url,
            status: self.document.status,
            redirects: self.document.redirects,
            ttfb_ns: since(self.document.first_byte_s, monotonic_s),
            fcp_ns: since(self.fcp_s, monotonic_s),
            lcp_ns: since(self.lcp_s, wall_s),
            load_ns: since(self.load_s, monotonic_s),
            transferred_bytes: all.clone().filter(|request| request.is_network).map(bytes).sum::<f64>() as u64,
            requests: all.clone().filter(network).count() as u64
                + all.clone().map(|request| request.redirects).sum::<u64>(),
            cached_requests: all.filter(|request| request.is_cached).count() as u64,
            failed_requests: failed - own.map_or(0, |own| u64::from(own.is_failed)),
            is_settled: self.is_idle,
            failure: self.failure,
        }
    }

    /// What makes the load no load of the page that was asked for.
    fn judge(&mut self) {
        let document = self.document.url.clone().unwrap_or_default();
        if let Some(status) = self.document.status.filter(|status| *status >= ERROR_STATUS) {
            self.fail(PageFailureKind::Status, &format!("the document has HTTP status {status}"));
        }
        if self.document.url.is_some() && host(&document) != self.host {
            self.fail(PageFailureKind::OtherHost, &format!("the document came from {document}"));
        }
        if !self.is_loaded() {
            self.fail(PageFailureKind::TimedOut, "no load event in its time (--timeout)");
        }
        if self.fcp_s.is_none() {
            self.fail(PageFailureKind::Blank, "no text and no image was painted");
        }
    }

    fn on_request(&mut self, sent: &RequestSent) {
        let is_document = sent.request_id == sent.loader_id && sent.frame_id == self.frame && sent.kind == "Document";
        if is_document && self.loader.is_none() {
            self.loader = Some(sent.request_id.clone());
        }
        if self.requests.len() >= REQUESTS_MAX && !self.requests.contains_key(&sent.request_id) {
            self.fail(PageFailureKind::TooLarge, &format!("the page makes more than {REQUESTS_MAX} requests"));
            return;
        }
        let is_own = self.loader.as_ref() == Some(&sent.request_id);
        let request = self.requests.entry(sent.request_id.clone()).or_default();
        request.is_network = is_network(&sent.request.url);
        if let Some(redirect) = &sent.redirect_response {
            self.document.redirects += u64::from(is_own);
            if !is_from_cache(redirect) && !std::mem::take(&mut request.is_cached) {
                request.redirects += 1;
                request.redirect_bytes += redirect.encoded_data_length.max(0.0);
            }
            // What it says of the bytes of the hop was told with the hop.
            request.received = 0.0;
            request.is_answered = false;
        }
    }

    fn on_answer(&mut self, answered: &Answered) {
        let response = &answered.response;
        if self.loader.as_ref() == Some(&answered.request_id) {
            self.document.url = Some(response.url.clone());
            self.document.status = Some(response.status);
            self.document.first_byte_s = response.timing.as_ref().map(first_byte_s);
        }
        self.change(&answered.request_id, |request| {
            request.is_cached |= is_from_cache(response);
            request.is_failed |= response.status >= ERROR_STATUS;
            request.is_answered = true;
            request.received += response.encoded_data_length.max(0.0);
        });
    }

    fn on_failure(&mut self, failed: &Failed) {
        if self.loader.as_ref() == Some(&failed.request_id) {
            self.fail(PageFailureKind::Network, &failed.error_text);
        }
        // What the page itself takes back, such as an image that it replaces, has not failed.
        self.change(&failed.request_id, |request| request.is_failed |= !failed.canceled);
    }

    fn on_lifecycle(&mut self, lifecycle: &Lifecycle) {
        if lifecycle.frame_id != self.frame || Some(&lifecycle.loader_id) != self.loader.as_ref() {
            return;
        }
        match lifecycle.name.as_str() {
            "firstContentfulPaint" => self.fcp_s = Some(lifecycle.timestamp),
            "load" => self.load_s = Some(lifecycle.timestamp),
            "networkIdle" => self.is_idle = true,
            _ => {}
        }
    }

    fn on_navigated(&mut self, navigated: &Navigated) {
        let frame = &navigated.frame;
        if frame.id == self.frame && self.loader.as_ref().is_some_and(|loader| *loader != frame.loader_id) {
            self.fail(PageFailureKind::LeftPage, &format!("the page went to {} by itself", frame.url));
        }
    }

    /// Candidates come in their order: the last is the largest.
    fn on_paint(&mut self, painted: &Painted) {
        let paint = &painted.event;
        if paint.frame_id == self.frame && paint.kind == "largest-contentful-paint" {
            self.lcp_s = Some(paint.time);
        }
    }

    fn change(&mut self, request: &str, change: impl FnOnce(&mut Request)) {
        if let Some(request) = self.requests.get_mut(request) {
            change(request);
        }
    }
}

const fn is_from_cache(response: &Response) -> bool {
    response.from_disk_cache || response.from_prefetch_cache || response.from_service_worker
}

fn first_byte_s(timing: &Timing) -> f64 {
    timing.request_time + timing.receive_headers_start.unwrap_or(timing.receive_headers_end) / 1e3
}

fn is_network(url: &str) -> bool {
    ["http:", "https:", "ws:", "wss:"].iter().any(|scheme| url.starts_with(scheme))
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

/// None of a time that cannot be.
fn nanoseconds(time_s: f64) -> Option<u64> {
    (0.0..TIME_MAX_S).contains(&time_s).then(|| (time_s * 1e9).round() as u64)
}

#[cfg(test)]
mod tests;
