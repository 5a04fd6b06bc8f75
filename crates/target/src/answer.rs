//! From a request to the bytes of its answer, and when they are to be sent.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use model::NS_PER_S;
use wire::http1::{
    Length, Method, Request, ResponseHead, ServerError, Version, write_chunk, write_last_chunk, write_response_head,
};

use super::body::{Body, Fill, Pace, Source};
use super::faults::{AnswerFaults, Break, SLEEP_MAX_NS};
use super::guard::Guard;
use super::route::{EXPECT, Route, RouteError, body_rate_min, plan};
use super::{Shared, page, stats};

/// Bodies up to this size are written together with their head, and kept rendered; bytes.
const WHOLE_MAX: u64 = 8 * 1024;
/// Answers a worker keeps rendered.
const RENDERED_MAX: usize = 16;
/// Longest request target whose answer is kept; bytes.
const RENDERED_TARGET_MAX: usize = 64;
/// How long a connection stays open whose answer never comes; ns.
const DROP_MAX_NS: u64 = 60 * NS_PER_S;

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const BINARY: &str = "application/octet-stream";

/// A request, complete.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) request: Request,
    /// Path and query.
    pub(super) target: &'a str,
    /// The Host header; empty without one.
    pub(super) host: &'a str,
    /// Of the body.
    pub(super) crc32: u32,
    /// True if it showed the token of the server.
    pub(super) authorized: bool,
    /// True if a page of another origin sent it.
    pub(super) is_foreign: bool,
    /// When it was read; ns since the start.
    pub(super) now_ns: u64,
}

/// What is left to do after the head, and a small body, were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// True if the connection serves further requests.
    pub(super) keepalive: bool,
    /// CPU time to burn before anything is sent; ns.
    pub(super) burn_ns: u64,
    /// Nothing is sent before this; ns since the start.
    pub(super) due_ns: Option<u64>,
    /// What follows.
    pub(super) body: Option<Body>,
    /// The connection is reset behind it.
    pub(super) reset: bool,
    /// There is none, and who stops waiting for it may go.
    pub(super) dropped: bool,
}

/// Answers the requests of one worker.
pub(super) struct Answers {
    shared: Arc<Shared>,
    /// Where bodies come from.
    pub(super) source: Source,
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

impl Answer {
    /// Goes out as it is.
    const fn now(keepalive: bool) -> Self {
        Self { keepalive, burn_ns: 0, due_ns: None, body: None, reset: false, dropped: false }
    }

    /// Cuts it after half of its body, or of its head when that is all; it begins at `begin` in `out`.
    fn break_off(&mut self, out: &mut Vec<u8>, begin: usize) {
        self.keepalive = false;
        if let Some(body) = &mut self.body {
            body.size /= 2;
            body.unfinished = true;
            self.body = self.body.filter(|body| body.size > 0);
            return;
        }
        let answer = &out[begin..];
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
        let rest = answer.len() - head;
        out.truncate(begin + if rest > 0 { head + rest / 2 } else { head / 2 });
    }
}

impl Answers {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, source: Source::new(), rendered: Vec::new(), recent: 0, oldest: 0 }
    }

    /// Appends the answer to `out`, or the first part of it.
    pub(super) fn answer(&mut self, asked: &Asked<'_>, out: &mut Vec<u8>) -> Answer {
        let request = &asked.request;
        let common = request.method == Method::Get && request.keepalive && !self.shared.faults.any();
        if common && let Some(found) = self.find(asked.target) {
            if self.fails() {
                failure(request, out);
            } else {
                out.extend_from_slice(&self.rendered[found].1);
            }
            return Answer::now(true);
        }
        let begin = out.len();
        let (answer, keep) = self.compose(asked, out);
        if common && keep && asked.target.len() <= RENDERED_TARGET_MAX {
            self.keep(asked.target, &out[begin..]);
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
    fn compose(&mut self, asked: &Asked<'_>, out: &mut Vec<u8>) -> (Answer, bool) {
        let Asked { request, now_ns, .. } = asked;
        let now = Answer::now(request.keepalive);
        let plan = match plan(asked.target) {
            Ok(plan) => plan,
            Err(RouteError::Unknown) => {
                respond(request, json(404, page::error("no such endpoint; / lists them").as_bytes()), out);
                return (now, false);
            }
            Err(RouteError::Parameter(bad)) => {
                respond(request, json(400, page::bad_parameter(&bad).as_bytes()), out);
                return (now, false);
            }
        };
        if let Some(allowed) = allowed_instead(plan.route, request.method) {
            let body = page::error("this endpoint does not take that method");
            respond(request, Plain { headers: &[("Allow", allowed)], ..json(405, body.as_bytes()) }, out);
            return (now, false);
        }
        let guard = &self.shared.config.guard;
        if plan.is_guarded() && asked.is_foreign && *guard == Guard::Open {
            foreign(request, out);
            return (now, false);
        }
        if plan.is_guarded() && !guard.admits(asked.authorized) {
            unauthorized(request, guard, out);
            return (now, false);
        }
        let mut faults = plan.faults;
        if plan.route != Route::Stats {
            if let Err(wait_ns) = self.shared.faults.admit(*now_ns) {
                limited(request, wait_ns, out);
                return (now, false);
            }
            faults = faults.and(self.shared.faults.next(*now_ns));
        }
        if faults.broken == Some(Break::Drop) {
            let due_ns = Some(now_ns + DROP_MAX_NS);
            return (Answer { keepalive: false, due_ns, dropped: true, ..now }, false);
        }
        let begin = out.len();
        let (mut answer, keep) = self.endpoint(asked, plan.route, faults, out);
        if faults.delay_ns > 0 {
            answer.due_ns = Some(answer.due_ns.unwrap_or(*now_ns) + faults.delay_ns);
        }
        if let Some(kind @ (Break::Half | Break::Reset)) = faults.broken {
            answer.break_off(out, begin);
            answer.reset = kind == Break::Reset;
        }
        (answer, keep && faults == AnswerFaults::default())
    }

    /// The answer of an endpoint, faults of timing and breaks apart.
    fn endpoint(&mut self, asked: &Asked<'_>, route: Route, faults: AnswerFaults, out: &mut Vec<u8>) -> (Answer, bool) {
        let request = &asked.request;
        let now = Answer::now(request.keepalive);
        let wrong = faults.broken == Some(Break::WrongSize);
        let respond = |plain: Plain<'_>, out: &mut Vec<u8>| {
            let size = if wrong { plain.body.len() / 2 } else { plain.body.len() };
            respond(request, Plain { body: &plain.body[..size], ..plain }, out);
        };
        match route {
            Route::Stats => {
                let pool = self.shared.pool.as_ref().map(|pool| pool.lock().expect("no thread panics with it"));
                let pool = pool.map(|pool| pool.state(asked.now_ns));
                let body = stats::json(&self.shared.stats, self.shared.refused.load(Relaxed), pool);
                respond(json(200, body.as_bytes()), out);
                return (now, false);
            }
            Route::Pool => return (self.pool(asked, respond, out), false),
            Route::Status(status @ 400..) => {
                respond(plain(status, format!("status {status}\n").as_bytes()), out);
                return (now, false);
            }
            Route::Upload { expect: Some(bytes) } if bytes != request.body_bytes => {
                let error = format!("{} bytes came, {bytes} were expected", request.body_bytes);
                respond(json(400, page::bad_parameter(&EXPECT.bad(error)).as_bytes()), out);
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
                return (Answer { due_ns: Some(asked.now_ns + delay_ns), ..now }, false);
            }
            Route::SleepDrawn { dist, seed } => {
                good(b"slept\n", out);
                let index = self.shared.sleeps.fetch_add(1, Relaxed);
                let delay_ns = dist.draw_ns(seed, index, SLEEP_MAX_NS);
                return (Answer { due_ns: Some(asked.now_ns + delay_ns), ..now }, false);
            }
            Route::Cpu { burn_ns } => {
                good(b"burned\n", out);
                return (Answer { burn_ns, ..now }, false);
            }
            _ if fails => return (now, false),
            Route::Body { fill, size, chunk } => return self.body(asked, (fill, size, chunk), faults, out),
            Route::Landing => return (now, self.landing(asked, respond, out)),
            Route::Upload { .. } => {
                respond(json(200, page::upload(request.body_bytes, asked.crc32).as_bytes()), out);
                return (now, false);
            }
            Route::Status(status) => respond(plain(status, format!("status {status}\n").as_bytes()), out),
            Route::Pool | Route::Stats => unreachable!("answered above"),
        }
        (now, true)
    }

    /// The page or the redirect of `/`; whether it is always the same.
    fn landing(&self, asked: &Asked<'_>, respond: impl Fn(Plain<'_>, &mut Vec<u8>), out: &mut Vec<u8>) -> bool {
        if let Some(redirect) = &self.shared.config.redirect {
            respond(Plain { headers: &[("Location", redirect)], ..plain(302, b"") }, out);
            return true;
        }
        let Shared { address, tls, config, .. } = &*self.shared;
        let page = page::landing(address, tls.is_some(), asked.host, &config.guard);
        respond(Plain { content_type: HTML, ..plain(200, page.as_bytes()) }, out);
        false
    }

    fn body(
        &mut self,
        asked: &Asked<'_>,
        (fill, size, chunk): (Fill, u64, Option<usize>),
        faults: AnswerFaults,
        out: &mut Vec<u8>,
    ) -> (Answer, bool) {
        let request = &asked.request;
        // Other than asked for, also when nothing was.
        let wrong = if size == 0 { 1 } else { size / 2 };
        let size = if faults.broken == Some(Break::WrongSize) { wrong } else { size };
        // HTTP/1.0 knows no chunks; there the end of the connection ends the body.
        let length = match (chunk, request.version) {
            (None, _) => Length::Exact(size),
            (Some(_), Version::Http11) => Length::Chunked,
            (Some(_), Version::Http10) => Length::UntilClose,
        };
        let chunk = chunk.filter(|_| length == Length::Chunked);
        let keepalive = request.keepalive && length != Length::UntilClose;
        let now = Answer::now(keepalive);
        write_response_head(out, &ResponseHead { status: 200, content_type: BINARY, length, keepalive, headers: &[] });
        if request.method == Method::Head {
            return (now, false);
        }
        let pace = faults.body_bytes_per_s.map(|bytes_per_s| Pace {
            bytes_per_s: bytes_per_s.max(body_rate_min(size)),
            begin_ns: asked.now_ns + faults.delay_ns,
        });
        if size > 0 && (size > WHOLE_MAX || pace.is_some()) {
            let body = Body { fill, size, sent: 0, chunk, unfinished: false, pace };
            return (Answer { body: Some(body), ..now }, false);
        }
        let body = self.source.piece(fill, 0, size as usize);
        match chunk {
            Some(chunk) => {
                body.chunks(chunk).for_each(|chunk| write_chunk(out, chunk));
                write_last_chunk(out);
            }
            None => out.extend_from_slice(body),
        }
        // HTTP/1.0 is to be answered otherwise.
        (now, keepalive && length != Length::Chunked)
    }

    fn pool(&self, asked: &Asked<'_>, respond: impl Fn(Plain<'_>, &mut Vec<u8>), out: &mut Vec<u8>) -> Answer {
        let now = Answer::now(asked.request.keepalive);
        let Some(pool) = &self.shared.pool else {
            respond(json(404, page::error("no pool is configured; start the target with one").as_bytes()), out);
            return now;
        };
        let due = pool.lock().expect("no thread panics with it").arrive(asked.now_ns);
        match due {
            Ok(due_ns) => {
                if self.fails() {
                    failure(&asked.request, out);
                } else {
                    respond(plain(200, b"served\n"), out);
                }
                Answer { due_ns: Some(due_ns), ..now }
            }
            Err(full) => {
                let body = page::error(&format!("all workers are busy and {} requests wait", full.waiting));
                respond(json(503, body.as_bytes()), out);
                now
            }
        }
    }

    /// True if the next good answer is to be an error instead.
    #[inline]
    fn fails(&self) -> bool {
        self.shared.errors.is_some_and(|errors| errors.hits(self.shared.good_answers.fetch_add(1, Relaxed)))
    }
}

/// The answer to something that is not a request; the connection is closed after it.
pub(super) fn refuse(error: ServerError, out: &mut Vec<u8>) {
    refuse_with(error.status(), &error.to_string(), out);
}

/// The answer to a client that does not end its request; the connection is closed after it.
pub(super) fn refuse_late(out: &mut Vec<u8>) {
    refuse_with(408, "the rest of the request did not come in time", out);
}

/// The answer to what is no TLS, without TLS; in nginx's words, which clients know.
pub(super) fn refuse_plain(out: &mut Vec<u8>) {
    refuse_with(400, "The plain HTTP request was sent to HTTPS port", out);
}

fn refuse_with(status: u16, message: &str, out: &mut Vec<u8>) {
    let body = page::error(message);
    let length = Length::Exact(body.len() as u64);
    let head = ResponseHead { status, content_type: JSON, length, keepalive: false, headers: &[] };
    write_response_head(out, &head);
    out.extend_from_slice(body.as_bytes());
}

/// The answer to a request that comes too early by this much.
fn limited(request: &Request, wait_ns: u64, out: &mut Vec<u8>) {
    let wait_s = wait_ns.div_ceil(NS_PER_S).to_string();
    let body = page::error("too many requests; Retry-After says when there is room again");
    respond(request, Plain { headers: &[("Retry-After", &wait_s)], ..json(429, body.as_bytes()) }, out);
}

/// The answer to a request for what is guarded.
fn unauthorized(request: &Request, guard: &Guard, out: &mut Vec<u8>) {
    if *guard == Guard::Closed {
        let why = "/cpu, /sleep, /pool and faults are off: this server listens beyond loopback and has no --token";
        return respond(request, json(403, page::error(why).as_bytes()), out);
    }
    let body = page::error("/cpu, /sleep, /pool and faults need the token of this server: Authorization: Bearer TOKEN");
    respond(request, Plain { headers: &[("WWW-Authenticate", "Bearer")], ..json(401, body.as_bytes()) }, out);
}

/// The answer to a page of another site that asks for what is guarded.
fn foreign(request: &Request, out: &mut Vec<u8>) {
    let why = "/cpu, /sleep, /pool and faults are not for pages of other sites; open the URL itself, or send no Origin";
    respond(request, json(403, page::error(why).as_bytes()), out);
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
