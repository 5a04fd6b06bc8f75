//! The receive side of one server connection.

use super::body::{Body, Parts};
use super::error::{Part, ServerError};
use super::fields::{Fields, Transfer, is, is_tchar, split_header, trim};
use super::lines::Lines;
use super::{Limits, Version};
use memchr::{memchr, memchr2};

/// Request method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// GET
    Get,
    /// HEAD: the response has no body.
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// PATCH
    Patch,
    /// Any other token.
    Other,
}

/// A complete request; its target is [`Server::target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Method; names are case-sensitive.
    pub method: Method,
    /// Version in the request line.
    pub version: Version,
    /// True if the client lets the connection stay open after the response.
    pub keepalive: bool,
    /// Bytes of the body without chunked framing.
    pub body_bytes: u64,
    /// True if the client asked for `100 Continue` before it sent the body.
    pub expect_continue: bool,
}

/// What one call of [`Server::receive`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// Bytes of the input that were used; the rest belongs to the next request.
    pub consumed: usize,
    /// The request that was completed; `None` when all input is used and more is needed.
    pub request: Option<Request>,
}

/// Receives the parts of a request as they come.
pub trait RequestSink {
    /// True if [`RequestSink::header`] is wanted.
    const HEADERS: bool = false;
    /// A header or a trailer, the value without surrounding white space.
    fn header(&mut self, _name: &[u8], _value: &[u8]) {}
    /// The next bytes of the body, in pieces as they came; never empty.
    fn body(&mut self, _bytes: &[u8]) {}
    /// The head is complete and the client waits for `100 Continue` before it sends the body.
    fn expect_continue(&mut self) {}
}

/// A sink that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct IgnoreRequest;

impl RequestSink for IgnoreRequest {}

/// The receive side of one server connection.
///
/// Feed it what reads return and call again while input is left, so pipelined requests come out one by one. After an
/// error answer with [`ServerError::status`] and close.
#[derive(Debug)]
pub struct Server {
    state: State,
    method: Method,
    version: Version,
    fields: Fields,
    hosts: u32,
    expect_continue: bool,
    body_bytes: u64,
    target: String,
    lines: Lines,
    failed: Option<ServerError>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    RequestLine,
    Headers,
    Body(Body),
}

impl Server {
    /// A machine for a new connection.
    pub fn new(limits: Limits) -> Self {
        Self {
            state: State::RequestLine,
            method: Method::Other,
            version: Version::Http11,
            fields: Fields::default(),
            hosts: 0,
            expect_continue: false,
            body_bytes: 0,
            target: String::new(),
            lines: Lines::default(),
            failed: None,
            limits: limits.honoured(),
        }
    }

    /// Path and query of the last complete request head, an absolute target reduced to them; `*` for `OPTIONS *`.
    /// Valid until the next [`Server::receive`].
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Consumes input until one request is complete or the input is used up.
    pub fn receive(&mut self, input: &[u8], sink: &mut impl RequestSink) -> Result<ReceivedRequest, ServerError> {
        let result = self.advance(input, sink);
        if let Err(error) = result {
            self.failed = Some(error);
        }
        result
    }

    fn advance<S: RequestSink>(&mut self, input: &[u8], sink: &mut S) -> Result<ReceivedRequest, ServerError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match &mut self.state {
                State::RequestLine => {
                    let Some(taken) = self.request_line(rest)? else { break };
                    at += taken;
                }
                State::Headers => {
                    let (taken, complete) = self.headers(rest, sink)?;
                    at += taken;
                    if complete && self.head_complete(sink)? {
                        return Ok(ReceivedRequest { consumed: at, request: Some(self.complete()) });
                    }
                }
                State::Body(body) => {
                    let parts = &mut RequestParts(sink);
                    let step = body.receive(rest, &mut self.body_bytes, &mut self.lines, &self.limits, parts)?;
                    at += step.consumed;
                    if step.complete {
                        return Ok(ReceivedRequest { consumed: at, request: Some(self.complete()) });
                    }
                }
            }
        }
        Ok(ReceivedRequest { consumed: input.len(), request: None })
    }

    /// The first line; empty lines before it are skipped (RFC 9112 section 2.2). `None` when it is not complete.
    fn request_line(&mut self, input: &[u8]) -> Result<Option<usize>, ServerError> {
        let first = *self.lines.begun().first().unwrap_or(&input[0]);
        if !(is_tchar(first) || first == b'\r' || first == b'\n') {
            return Err(ServerError::NotHttp);
        }
        let line = self.lines.next(input, self.limits.head_bytes).map_err(|_| ServerError::TargetTooLong)?;
        let Some((line, taken)) = line else { return Ok(None) };
        if !line.is_empty() {
            let target;
            (self.method, target, self.version) = request_line(line)?;
            self.target.clear();
            if !target.starts_with('/') && target != "*" {
                self.target.push('/');
            }
            self.target.push_str(target);
            self.fields = Fields::default();
            self.hosts = 0;
            self.expect_continue = false;
            self.state = State::Headers;
        }
        Ok(Some(taken))
    }

    /// Header lines up to the empty one: the bytes taken and whether it came.
    fn headers<S: RequestSink>(&mut self, input: &[u8], sink: &mut S) -> Result<(usize, bool), ServerError> {
        let mut at = 0;
        while at < input.len() {
            let Some((line, taken)) = self.lines.next(&input[at..], self.limits.head_bytes)? else { break };
            at += taken;
            if line.is_empty() {
                return Ok((at, true));
            }
            if self.fields.count == self.limits.headers {
                return Err(ServerError::TooManyHeaders);
            }
            self.fields.count += 1;
            let (name, value) = split_header(line)?;
            // RFC 9110 section 5.5: a bare CR or NUL means something else to another parser.
            if memchr2(b'\r', b'\0', value).is_some() {
                return Err(ServerError::Malformed(Part::Header));
            }
            if S::HEADERS {
                sink.header(name, trim(value));
            }
            self.fields.absorb(name, value)?;
            match name.len() {
                4 if is(name, b"Host") => self.hosts += 1,
                6 if is(name, b"Expect") && self.version == Version::Http11 => {
                    if !is(trim(value), b"100-continue") {
                        return Err(ServerError::Expectation);
                    }
                    self.expect_continue = true;
                }
                _ => {}
            }
        }
        Ok((input.len(), false))
    }

    /// Decides what follows the head (RFC 9112 section 6.3); true when the request ends with it.
    fn head_complete(&mut self, sink: &mut impl RequestSink) -> Result<bool, ServerError> {
        self.lines.reset();
        if self.hosts > 1 || (self.hosts == 0 && self.version == Version::Http11) {
            return Err(ServerError::Malformed(Part::Host));
        }
        let body = match (self.fields.transfer, self.fields.content_length) {
            (Transfer::Absent, None | Some(0)) => return Ok(true),
            (Transfer::Absent, Some(length)) if length > self.limits.body_bytes => {
                return Err(ServerError::BodyTooLarge);
            }
            (Transfer::Absent, Some(length)) => Body::Fixed(length),
            (_, Some(_)) => return Err(ServerError::AmbiguousLength),
            // RFC 9112 section 6.1: the framing of an HTTP/1.0 message with this field is faulty.
            _ if self.version == Version::Http10 => return Err(ServerError::Malformed(Part::TransferEncoding)),
            (Transfer::Chunked, None) => Body::ChunkSize,
            (Transfer::Identity | Transfer::EncodedThenChunked | Transfer::Other, None) => {
                return Err(ServerError::TransferCoding);
            }
        };
        self.state = State::Body(body);
        if self.expect_continue {
            sink.expect_continue();
        }
        Ok(false)
    }

    /// Hands out the current request and makes ready for the next.
    fn complete(&mut self) -> Request {
        let request = Request {
            method: self.method,
            version: self.version,
            keepalive: self.fields.keepalive(self.version),
            body_bytes: self.body_bytes,
            expect_continue: self.expect_continue,
        };
        self.body_bytes = 0;
        self.lines.reset();
        self.state = State::RequestLine;
        request
    }

    /// Bytes of a cut-off line held back, for the tests of bounds.
    pub(crate) fn stashed(&self) -> usize {
        self.lines.stashed()
    }
}

struct RequestParts<'a, S>(&'a mut S);

impl<S: RequestSink> Parts for RequestParts<'_, S> {
    const HEADERS: bool = S::HEADERS;
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.0.header(name, value);
    }
    fn body(&mut self, bytes: &[u8]) {
        self.0.body(bytes);
    }
}

/// `GET /path?query HTTP/1.1`, with exactly one space between the parts.
fn request_line(line: &[u8]) -> Result<(Method, &str, Version), ServerError> {
    const MALFORMED: ServerError = ServerError::Malformed(Part::RequestLine);
    let (name, rest) = line.split_at(memchr(b' ', line).ok_or(MALFORMED)?);
    let rest = &rest[1..];
    let (target, version) = rest.split_at(memchr(b' ', rest).ok_or(MALFORMED)?);
    if name.is_empty() || !name.iter().all(|&byte| is_tchar(byte)) {
        return Err(MALFORMED);
    }
    let version = match version {
        b" HTTP/1.0" => Version::Http10,
        [b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9'] => Version::Http11,
        [b' ', b'H', b'T', b'T', b'P', b'/', b'0' | b'2'..=b'9', b'.', b'0'..=b'9'] => {
            return Err(ServerError::Version);
        }
        _ => return Err(MALFORMED),
    };
    Ok((method(name), path(target).ok_or(MALFORMED)?, version))
}

fn method(name: &[u8]) -> Method {
    match name {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        b"PUT" => Method::Put,
        b"DELETE" => Method::Delete,
        b"OPTIONS" => Method::Options,
        b"PATCH" => Method::Patch,
        _ => Method::Other,
    }
}

/// Path and query of a target in origin, absolute or asterisk form (RFC 9112 section 3.2), visible ASCII only. The path
/// of an absolute target may be missing.
fn path(target: &[u8]) -> Option<&str> {
    if !target.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    let target = std::str::from_utf8(target).ok()?;
    if target.starts_with('/') || target == "*" {
        return Some(target);
    }
    let (scheme, rest) = target.split_once("://")?;
    if !(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")) {
        return None;
    }
    let start = rest.find(['/', '?']).unwrap_or(rest.len());
    (start > 0).then(|| &rest[start..])
}
