//! From a request to the bytes of its answer, and when they are to be sent.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use wire::http1::{
    Length, Method, Request, ResponseHead, ServerError, Version, write_chunk, write_last_chunk, write_response_head,
};

use super::route::{Route, RouteError, route};
use super::{Shared, page, stats};

/// Bodies up to this size are written together with their head, and kept rendered; bytes.
const WHOLE_MAX: u64 = 8 * 1024;
/// Answers a worker keeps rendered.
const RENDERED_MAX: usize = 16;
/// Longest request target whose answer is kept; bytes.
const RENDERED_TARGET_MAX: usize = 64;

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const BINARY: &str = "application/octet-stream";

/// What is left to do after the bytes were written to `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: that was the whole answer.
    Send,
    /// Send that head, then a body.
    SendBody(Body),
    /// Send the answer at this time and nothing before; ns since the start.
    SendAt(u64),
    /// Burn this much CPU time, then send the answer; ns.
    BurnThenSend(u64),
}

/// A body that is sent in pieces as the client takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) size: u64,
    pub(super) sent: u64,
    pub(super) chunked: bool,
}

/// An answer, its bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) next: Next,
    /// Whether the connection serves further requests.
    pub(super) keepalive: bool,
}

/// Answers the requests of one worker.
pub(super) struct Answers {
    shared: Arc<Shared>,
    filler: Box<[u8]>,
    /// Whole answers to GET on a connection that stays open, by request target.
    rendered: Vec<(String, Vec<u8>)>,
    /// The one used last.
    recent: usize,
    /// The one replaced next.
    oldest: usize,
}

/// What a status, a content type and a body need besides.
#[derive(Clone, Copy)]
struct Plain<'a> {
    status: u16,
    content_type: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a [u8],
}

impl Answers {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, filler: page::filler(), rendered: Vec::new(), recent: 0, oldest: 0 }
    }

    pub(super) fn filler(&self) -> &[u8] {
        &self.filler
    }

    /// Appends the answer to `out`, or the first part of it; `now_ns` is when the request was read.
    pub(super) fn answer(&mut self, request: &Request, target: &str, now_ns: u64, out: &mut Vec<u8>) -> Answer {
        let common = request.method == Method::Get && request.keepalive;
        if common && let Some(found) = self.find(target) {
            if self.fails() {
                failure(request, out);
            } else {
                out.extend_from_slice(&self.rendered[found].1);
            }
            return Answer { next: Next::Send, keepalive: true };
        }
        let begin = out.len();
        let (answer, keep) = self.compose(request, target, now_ns, out);
        if common && keep && target.len() <= RENDERED_TARGET_MAX {
            self.keep(target, &out[begin..]);
        }
        answer
    }

    /// Keeps a rendered answer, in place of the oldest when there are enough.
    fn keep(&mut self, target: &str, answer: &[u8]) {
        if self.rendered.len() < RENDERED_MAX {
            self.rendered.push((target.into(), answer.into()));
        } else {
            self.rendered[self.oldest] = (target.into(), answer.into());
            self.oldest = (self.oldest + 1) % RENDERED_MAX;
        }
    }

    fn find(&mut self, target: &str) -> Option<usize> {
        let is = |(rendered, _): &(String, _)| rendered == target;
        if !self.rendered.get(self.recent).is_some_and(is) {
            self.recent = self.rendered.iter().position(is)?;
        }
        Some(self.recent)
    }

    /// The answer, and whether it is always the same, whole and good.
    fn compose(&self, request: &Request, target: &str, now_ns: u64, out: &mut Vec<u8>) -> (Answer, bool) {
        let respond = |plain: Plain<'_>, out: &mut Vec<u8>| respond(request, plain, out);
        let now = Answer { next: Next::Send, keepalive: request.keepalive };
        let route = match route(target) {
            Ok(route) => route,
            Err(RouteError::Unknown) => {
                respond(json(404, page::error("no such endpoint; / lists them").as_bytes()), out);
                return (now, false);
            }
            Err(RouteError::Parameter(bad)) => {
                respond(json(400, page::bad_parameter(&bad).as_bytes()), out);
                return (now, false);
            }
        };
        if let Some(allowed) = allowed_instead(route, request.method) {
            let body = page::error("this endpoint does not take that method");
            respond(Plain { headers: &[("Allow", allowed)], ..json(405, body.as_bytes()) }, out);
            return (now, false);
        }
        match route {
            Route::Stats => {
                let body = stats::json(&self.shared.stats, self.shared.refused.load(Relaxed));
                respond(json(200, body.as_bytes()), out);
                return (now, false);
            }
            Route::Pool => return (self.pool(request, now_ns, out), false),
            Route::Status(status @ 400..) => {
                respond(plain(status, format!("status {status}\n").as_bytes()), out);
                return (now, false);
            }
            _ => {}
        }
        let fails = self.fails();
        if fails {
            failure(request, out);
        }
        let good = |body: &[u8], out: &mut Vec<u8>| {
            if !fails {
                respond(plain(200, body), out)
            }
        };
        match route {
            Route::Sleep { delay_ns } => {
                good(b"slept\n", out);
                return (Answer { next: Next::SendAt(now_ns + delay_ns), ..now }, false);
            }
            Route::Cpu { burn_ns } => {
                good(b"burned\n", out);
                return (Answer { next: Next::BurnThenSend(burn_ns), ..now }, false);
            }
            _ if fails => return (now, false),
            Route::Bytes { size, chunked } => return self.bytes(request, size, chunked, out),
            Route::Landing => self.landing(request, out),
            Route::Upload => {
                good(format!("received {} bytes\n", request.body_bytes).as_bytes(), out);
                return (now, false);
            }
            Route::Status(status) => respond(plain(status, format!("status {status}\n").as_bytes()), out),
            Route::Pool | Route::Stats => unreachable!("answered above"),
        }
        (now, true)
    }

    fn landing(&self, request: &Request, out: &mut Vec<u8>) {
        let found = [("Location", self.shared.config.redirect.as_deref().unwrap_or_default())];
        let page = if self.shared.config.redirect.is_some() {
            Plain { headers: &found, ..plain(302, b"") }
        } else {
            Plain { content_type: HTML, ..plain(200, self.shared.landing.as_bytes()) }
        };
        respond(request, page, out);
    }

    fn bytes(&self, request: &Request, size: u64, chunked: bool, out: &mut Vec<u8>) -> (Answer, bool) {
        // HTTP/1.0 knows no chunks; there the end of the connection ends the body.
        let length = match (chunked, request.version) {
            (false, _) => Length::Exact(size),
            (true, Version::Http11) => Length::Chunked,
            (true, Version::Http10) => Length::UntilClose,
        };
        let chunked = length == Length::Chunked;
        let keepalive = request.keepalive && length != Length::UntilClose;
        write_response_head(out, &ResponseHead { status: 200, content_type: BINARY, length, keepalive, headers: &[] });
        if request.method == Method::Head {
            return (Answer { next: Next::Send, keepalive }, false);
        }
        if size > WHOLE_MAX {
            return (Answer { next: Next::SendBody(Body { size, sent: 0, chunked }), keepalive }, false);
        }
        let body = &self.filler[..size as usize];
        if chunked {
            write_chunk(out, body);
            write_last_chunk(out);
        } else {
            out.extend_from_slice(body);
        }
        (Answer { next: Next::Send, keepalive }, keepalive)
    }

    fn pool(&self, request: &Request, now_ns: u64, out: &mut Vec<u8>) -> Answer {
        let now = Answer { next: Next::Send, keepalive: request.keepalive };
        let Some(pool) = &self.shared.pool else {
            let body = page::error("no pool is configured; start the target with one");
            respond(request, json(404, body.as_bytes()), out);
            return now;
        };
        let due = pool.lock().expect("no thread panics with it").arrive(now_ns);
        match due {
            Ok(due_ns) => {
                if self.fails() {
                    failure(request, out);
                } else {
                    respond(request, plain(200, b"served\n"), out);
                }
                Answer { next: Next::SendAt(due_ns), ..now }
            }
            Err(full) => {
                let body = page::error(&format!("all workers are busy and {} requests wait", full.waiting));
                respond(request, json(503, body.as_bytes()), out);
                now
            }
        }
    }

    /// Whether the next good answer is to be an error instead.
    #[inline]
    fn fails(&self) -> bool {
        self.shared.errors.is_some_and(|errors| errors.hits(self.shared.good_answers.fetch_add(1, Relaxed)))
    }
}

/// The answer to something that is not a request; the connection is closed after it.
pub(super) fn refuse(error: ServerError, out: &mut Vec<u8>) {
    let body = page::error(&error.to_string());
    let length = Length::Exact(body.len() as u64);
    let head = ResponseHead { status: error.status(), content_type: JSON, length, keepalive: false, headers: &[] };
    write_response_head(out, &head);
    out.extend_from_slice(body.as_bytes());
}

/// The methods an endpoint takes when `method` is none of them. Load with bodies may go anywhere but to pages.
fn allowed_instead(route: Route, method: Method) -> Option<&'static str> {
    let page = matches!(route, Route::Landing | Route::Stats);
    match method {
        Method::Get | Method::Head => None,
        Method::Post | Method::Put if !page => None,
        _ if page => Some("GET, HEAD"),
        _ => Some("GET, HEAD, POST, PUT"),
    }
}

const fn plain(status: u16, body: &[u8]) -> Plain<'_> {
    Plain { status, content_type: TEXT, headers: &[], body }
}

const fn json(status: u16, body: &[u8]) -> Plain<'_> {
    Plain { content_type: JSON, ..plain(status, body) }
}

fn failure(request: &Request, out: &mut Vec<u8>) {
    respond(request, json(500, b"{\"error\":\"this answer fails on purpose\"}\n"), out);
}

/// A whole answer; HEAD gets its head, and so does every status that has no body (RFC 9110 section 6.4.1).
fn respond(request: &Request, plain: Plain<'_>, out: &mut Vec<u8>) {
    let Plain { status, content_type, headers, body } = plain;
    let empty = matches!(status, 204 | 304);
    // 205 has to say that it is empty.
    let body = if status == 205 { b"".as_slice() } else { body };
    let length = if empty { Length::None } else { Length::Exact(body.len() as u64) };
    let content_type = if empty || body.is_empty() { "" } else { content_type };
    write_response_head(out, &ResponseHead { status, content_type, length, keepalive: request.keepalive, headers });
    if !empty && request.method != Method::Head {
        out.extend_from_slice(body);
    }
}
