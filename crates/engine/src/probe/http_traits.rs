//! How a target speaks HTTP: version, how long it keeps a connection, codings, what it says of caches.

use super::dialogue::Dialogue;
use super::{ProbeError, connect, lost, no_answer};
use crate::source::{Scratch, Source, Style};
use crate::tls::Config;
use model::{Coded, HttpTraits, Plan, Request};
use std::cell::Cell;
use std::collections::BTreeMap;
use wire::http1::{Response, ResponseSink, Version};

/// Requests given to one connection.
const ON_ONE: u32 = 10;
/// What browsers take.
const CODINGS: (&str, &str) = ("Accept-Encoding", "gzip, deflate, br, zstd");
/// Headers by which caches tell of themselves.
const OF_CACHES: [&str; 9] = [
    "age",
    "cache-control",
    "cache-status",
    "cf-cache-status",
    "via",
    "x-cache",
    "x-cache-status",
    "x-proxy-cache",
    "x-varnish",
];

/// Looks at the first request of `plan` on one connection, and once more as a browser would ask.
///
/// A request that may change something is sent only once.
///
/// # Errors
/// If the first has no answer.
pub fn http_traits(plan: &Plan, tls: Option<&Config>) -> Result<HttpTraits, ProbeError> {
    let request = &plan.requests[0];
    let is_safe = request.is_safe();
    let asked_on_one = if is_safe && plan.keepalive { ON_ONE } else { 1 };
    let way = Way { plan, tls, sent: Cell::new(0) };
    let mut dialogue = way.open()?;
    let mut seen = Seen::default();
    let first = way.ask(&mut dialogue, request, 0, &mut seen)?;
    let mut answered_on_one = 1;
    let mut goes_on = first.keepalive;
    while goes_on && answered_on_one < asked_on_one {
        let answer = way.ask(&mut dialogue, request, u64::from(answered_on_one), &mut Seen::default());
        // One that was closed beforehand answers no more.
        goes_on = answer.as_ref().is_ok_and(|response| response.keepalive);
        answered_on_one += u32::from(answer.is_ok());
    }
    let has_own = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(CODINGS.0));
    let compressed = if is_safe && !has_own { way.compressed(request).ok() } else { None };
    Ok(HttpTraits {
        version: match first.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
        .to_owned(),
        tls: dialogue.session(),
        asked_on_one,
        answered_on_one,
        plain: Coded { encoding: seen.encoding, size_bytes: first.body_bytes },
        compressed,
        cache_headers: seen.cache_headers,
        requests_sent: way.sent.get(),
    })
}

/// How the target is reached.
struct Way<'a> {
    plan: &'a Plan,
    tls: Option<&'a Config>,
    /// Requests sent so far.
    sent: Cell<u64>,
}

impl Way<'_> {
    fn open(&self) -> Result<Dialogue, ProbeError> {
        let (address, timeout_ns) = (&self.plan.target.address, self.plan.timeout_ns);
        let mut dialogue = connect(address, Style::of(self.plan), timeout_ns)?;
        let failed = |error| no_answer(error, address, "did not finish the TLS handshake", timeout_ns);
        dialogue.start_tls(self.tls, timeout_ns).map_err(failed)?;
        Ok(dialogue)
    }

    fn ask(
        &self,
        dialogue: &mut Dialogue,
        request: &Request,
        number: u64,
        seen: &mut Seen,
    ) -> Result<Response, ProbeError> {
        let Plan { target, numbering, timeout_ns, .. } = self.plan;
        let requests = std::slice::from_ref(request);
        let source = Source::of(requests, Style::of(self.plan), numbering.clone(), self.plan.seed)?;
        let mut scratch = Scratch::default();
        let bytes = source.bytes(0, number, &mut scratch);
        self.sent.set(self.sent.get() + 1);
        let outcome = dialogue.exchange(bytes, source.expect(0), *timeout_ns, seen);
        outcome.map_err(|loss| lost(loss, dialogue, &target.address, *timeout_ns))
    }

    /// The answer to a client that takes it compressed.
    fn compressed(&self, request: &Request) -> Result<Coded, ProbeError> {
        let mut request = request.clone();
        request.headers.push((CODINGS.0.to_owned(), CODINGS.1.to_owned()));
        let mut seen = Seen::default();
        let response = self.ask(&mut self.open()?, &request, 0, &mut seen)?;
        Ok(Coded { encoding: seen.encoding, size_bytes: response.body_bytes })
    }
}

/// Headers that are wanted.
#[derive(Default)]
struct Seen {
    encoding: Option<String>,
    cache_headers: BTreeMap<String, String>,
}

impl ResponseSink for Seen {
    const HEADERS: bool = true;

    fn header(&mut self, name: &[u8], value: &[u8]) {
        let (name, value) = (String::from_utf8_lossy(name).to_ascii_lowercase(), String::from_utf8_lossy(value));
        if name == "content-encoding" {
            self.encoding = Some(value.into_owned());
        } else if OF_CACHES.contains(&name.as_str()) {
            self.cache_headers.insert(name, value.into_owned());
        }
    }
}
