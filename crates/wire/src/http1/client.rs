//! The receive side of one client connection.

use super::body::{Body, Parts};
use super::error::{ClientError, Part};
use super::fields::{Fields, Tolerated, Transfer, split_header, trim};
use super::lines::Lines;
use super::{Limits, Version};

/// Most requests that may be outstanding on one connection.
pub const MAX_OUTSTANDING: u32 = u64::BITS;
/// Bytes of empty lines that are skipped before a response: two of them.
pub const BLANK_BYTES_MAX: u32 = 4;

/// True if bytes behind a response are empty lines, which [`Client`] skips.
#[must_use]
pub fn is_blank(bytes: &[u8]) -> bool {
    bytes.len() <= BLANK_BYTES_MAX as usize && bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// What the response to a request looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The headers say whether there is a body.
    Body,
    /// No body whatever the headers say: the request was HEAD.
    NoBody,
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Final status code, 200 to 999.
    pub status: u16,
    /// Version in the status line.
    pub version: Version,
    /// Bytes of the body without chunked framing; other codings are not undone.
    pub body_bytes: u64,
    /// True if another request may follow on this connection.
    pub keepalive: bool,
}

/// What one call of [`Client::receive`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of the input that were used; the rest belongs to the next response.
    pub consumed: usize,
    /// The response that was completed; `None` when all input is used and more is needed.
    pub response: Option<Response>,
}

/// How far the response to the oldest outstanding request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is outstanding.
    Idle,
    /// Nothing of the response came yet.
    FirstByte,
    /// The head began; an informational response counts.
    Head,
    /// The head is complete, body or trailers are not.
    Body,
}

/// Receives the parts of a response as they come.
pub trait ResponseSink {
    /// True if [`ResponseSink::header`] is wanted.
    const HEADERS: bool = false;
    /// A header of the final response or a trailer, the value without surrounding white space.
    fn header(&mut self, _name: &[u8], _value: &[u8]) {}
    /// More of the value of the header that came last, from a folded line; white space stands between the two.
    fn folded(&mut self, _value: &[u8]) {}
    /// The next bytes of the body, in pieces as they came; never empty.
    fn body(&mut self, _bytes: &[u8]) {}
    /// A response 1xx before the final one.
    fn informational(&mut self, _status: u16) {}
}

/// A sink that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ignore;

impl ResponseSink for Ignore {}

/// The receive side of one client connection.
///
/// Tell it about every request with [`Client::request_sent`], feed it what reads return with [`Client::receive`] and
/// call again while input is left. After an error it returns that error for ever.
#[derive(Debug)]
pub struct Client {
    state: State,
    status: u16,
    version: Version,
    fields: Fields,
    body_bytes: u64,
    lines: Lines,
    /// Bit i: the i-th oldest outstanding request expects no body.
    no_body: u64,
    outstanding: u32,
    informational: u32,
    /// Bytes of empty lines before the current response.
    blank: u32,
    /// The error that ended it; `state` still says where.
    failed: Option<ClientError>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    StatusLine,
    Headers,
    Body(Body),
}

impl Client {
    /// A machine for a new connection.
    pub fn new(limits: Limits) -> Self {
        Self {
            state: State::StatusLine,
            status: 0,
            version: Version::Http11,
            fields: Fields::default(),
            body_bytes: 0,
            lines: Lines::default(),
            no_body: 0,
            outstanding: 0,
            informational: 0,
            blank: 0,
            failed: None,
            limits: limits.honoured(),
        }
    }

    /// A request was sent, or will be before its response can come.
    ///
    /// # Panics
    ///
    /// With [`MAX_OUTSTANDING`] requests outstanding already.
    #[inline]
    pub fn request_sent(&mut self, expect: Expect) {
        assert!(self.outstanding < MAX_OUTSTANDING, "more than {MAX_OUTSTANDING} requests outstanding");
        self.no_body |= u64::from(expect == Expect::NoBody) << self.outstanding;
        self.outstanding += 1;
    }

    /// Requests whose response is not complete.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// How far the current response has come; after an error, where it happened.
    pub fn progress(&self) -> Progress {
        match self.state {
            _ if self.outstanding == 0 => Progress::Idle,
            State::Body(_) => Progress::Body,
            State::StatusLine if self.nothing_came() => Progress::FirstByte,
            State::StatusLine | State::Headers => Progress::Head,
        }
    }

    fn nothing_came(&self) -> bool {
        let silent = matches!(self.failed, None | Some(ClientError::ClosedBeforeResponse));
        silent && self.lines.untouched() && self.informational == 0
    }

    /// Consumes input until one response is complete or the input is used up.
    pub fn receive(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        let result = self.advance(input, sink);
        if let Err(error) = result {
            self.failed = Some(error);
        }
        result
    }

    /// The peer closed its side. Completes a body that lasts until then, is no news when nothing is outstanding, and
    /// otherwise says what was cut.
    pub fn receive_eof(&mut self) -> Result<Option<Response>, ClientError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let error = match self.state {
            _ if self.outstanding == 0 => return Ok(None),
            State::Body(Body::UntilClose) => return Ok(Some(self.complete())),
            State::Body(Body::Fixed(missing)) => ClientError::ClosedInBody { missing: Some(missing) },
            State::Body(_) => ClientError::ClosedInBody { missing: None },
            State::StatusLine if self.nothing_came() => ClientError::ClosedBeforeResponse,
            State::StatusLine | State::Headers => ClientError::ClosedInHead,
        };
        self.failed = Some(error);
        Err(error)
    }

    #[inline]
    fn advance<S: ResponseSink>(&mut self, input: &[u8], sink: &mut S) -> Result<Received, ClientError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.outstanding == 0 && !input.is_empty() {
            return self.unasked(input);
        }
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match &mut self.state {
                State::StatusLine => {
                    if !speaks_http(self.lines.begun(), rest) {
                        at += self.skip_blank(rest)?;
                        continue;
                    }
                    let Some((line, taken)) = self.lines.next(rest, self.limits.head_bytes)? else { break };
                    (self.version, self.status) = status_line(line)?;
                    self.fields = Fields::default();
                    self.state = State::Headers;
                    at += taken;
                }
                State::Headers => {
                    let (taken, complete) = self.headers(rest, sink)?;
                    at += taken;
                    if complete && self.head_complete(sink)? {
                        return Ok(Received { consumed: at, response: Some(self.complete()) });
                    }
                }
                State::Body(body) => {
                    let parts = &mut ResponseParts(sink);
                    let step = body.receive(rest, &mut self.body_bytes, &mut self.lines, &self.limits, parts)?;
                    at += step.consumed;
                    if step.complete {
                        return Ok(Received { consumed: at, response: Some(self.complete()) });
                    }
                }
            }
        }
        Ok(Received { consumed: input.len(), response: None })
    }

    /// Bytes that nobody asked for: empty lines, which belong before the next response, or an error.
    #[cold]
    fn unasked(&mut self, input: &[u8]) -> Result<Received, ClientError> {
        let bytes = input.len() as u32;
        if !is_blank(input) || self.blank + bytes > BLANK_BYTES_MAX {
            return Err(ClientError::UnexpectedBytes);
        }
        self.blank += bytes;
        Ok(Received { consumed: input.len(), response: None })
    }

    /// Takes a byte of an empty line before a response: some servers end a body with one that they do not announce.
    #[cold]
    fn skip_blank(&mut self, rest: &[u8]) -> Result<usize, ClientError> {
        if !self.lines.begun().is_empty() || !is_blank(&rest[..1]) || self.blank == BLANK_BYTES_MAX {
            return Err(ClientError::NotHttp);
        }
        self.blank += 1;
        Ok(1)
    }

    /// Header lines up to the empty one: the bytes taken and whether it came.
    #[inline]
    fn headers<S: ResponseSink>(&mut self, input: &[u8], sink: &mut S) -> Result<(usize, bool), ClientError> {
        let final_response = self.status >= 200;
        let mut at = 0;
        while at < input.len() {
            let Some((line, taken)) = self.lines.next(&input[at..], self.limits.head_bytes)? else { break };
            at += taken;
            if line.is_empty() {
                return Ok((at, true));
            }
            if self.fields.count == self.limits.headers {
                return Err(ClientError::TooManyHeaders);
            }
            self.fields.count += 1;
            let (name, value) = match split_header(line) {
                Ok(parts) => parts,
                Err(_) => match self.fields.tolerate(line)? {
                    Tolerated::Header(name, value) => (name, value),
                    Tolerated::Folded(value) => {
                        if S::HEADERS && final_response {
                            sink.folded(value);
                        }
                        continue;
                    }
                },
            };
            if S::HEADERS && final_response {
                sink.header(name, trim(value));
            }
            self.fields.absorb(name, value)?;
        }
        Ok((input.len(), false))
    }

    /// Decides what follows the head (RFC 9112 section 6.3); true when the response ends with it.
    #[inline]
    fn head_complete(&mut self, sink: &mut impl ResponseSink) -> Result<bool, ClientError> {
        self.lines.reset();
        if self.status < 200 {
            self.informational += 1;
            if self.informational > self.limits.informational {
                return Err(ClientError::TooManyInformational);
            }
            sink.informational(self.status);
            self.state = State::StatusLine;
            return Ok(false);
        }
        if self.no_body & 1 == 1 || self.status == 204 || self.status == 304 {
            return Ok(true);
        }
        let body = match (self.fields.transfer, self.fields.content_length) {
            (transfer, _) if transfer.is_chunked() => Body::ChunkSize,
            (Transfer::Absent | Transfer::Identity, Some(0)) => return Ok(true),
            (Transfer::Absent | Transfer::Identity, Some(length)) if length > self.limits.body_bytes => {
                return Err(ClientError::BodyTooLarge);
            }
            (Transfer::Absent | Transfer::Identity, Some(length)) => Body::Fixed(length),
            _ => Body::UntilClose,
        };
        self.state = State::Body(body);
        Ok(false)
    }

    /// Hands out the current response and makes ready for the next.
    #[inline]
    fn complete(&mut self) -> Response {
        let until_close = self.state == State::Body(Body::UntilClose);
        let response = Response {
            status: self.status,
            version: self.version,
            body_bytes: self.body_bytes,
            keepalive: !until_close && self.fields.keepalive(self.version),
        };
        self.outstanding -= 1;
        self.no_body >>= 1;
        self.informational = 0;
        self.blank = 0;
        self.body_bytes = 0;
        self.lines.reset();
        self.state = State::StatusLine;
        response
    }

    /// Bytes of a cut-off line held back, for the tests of bounds.
    pub(crate) fn stashed(&self) -> usize {
        self.lines.stashed()
    }
}

struct ResponseParts<'a, S>(&'a mut S);

impl<S: ResponseSink> Parts for ResponseParts<'_, S> {
    const HEADERS: bool = S::HEADERS;
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.0.header(name, value);
    }
    fn body(&mut self, bytes: &[u8]) {
        self.0.body(bytes);
    }
}

/// False of another protocol, which shows in the first bytes, long before a line is complete.
#[inline]
fn speaks_http(begun: &[u8], rest: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/";
    let expected = START.get(begun.len()..).unwrap_or_default();
    let known = expected.len().min(rest.len());
    rest[..known] == expected[..known]
}

/// Version and status of `HTTP/1.1 200 OK`; the reason and the space before it may be missing.
#[inline]
fn status_line(line: &[u8]) -> Result<(Version, u16), ClientError> {
    const MALFORMED: ClientError = ClientError::Malformed(Part::StatusLine);
    let (version, rest) = match line {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9', b' ', rest @ ..] => {
            (if *minor == b'0' { Version::Http10 } else { Version::Http11 }, rest)
        }
        [b'H', b'T', b'T', b'P', b'/', b'0' | b'2'..=b'9', b' ' | b'.', ..] => return Err(ClientError::Version),
        _ => return Err(MALFORMED),
    };
    let ([hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', units @ b'0'..=b'9']
    | [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', units @ b'0'..=b'9', b' ', ..]) = rest
    else {
        return Err(MALFORMED);
    };
    let digit = |byte: u8| u16::from(byte - b'0');
    let status = digit(*hundreds) * 100 + digit(*tens) * 10 + digit(*units);
    if status == 101 { Err(ClientError::Upgrade) } else { Ok((version, status)) }
}
