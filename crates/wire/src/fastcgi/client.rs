//! The receive side of one client connection.

use super::{HEADER_BYTES, REQUEST_ID, VERSION, record};
use crate::http1::fields::{split_header, trim};
use crate::http1::lines::Lines;
use crate::http1::{ClientError, Limits, Part, Progress, Received, Response, ResponseSink, Version};

/// Protocol status of a request that was carried out.
const REQUEST_COMPLETE: u8 = 0;

/// The receive side of one client connection, which has one request out at a time.
///
/// Tell it about every request with [`Client::request_sent`], feed it what reads return with [`Client::receive`] and call
/// again while input is left. After an error it returns that error for ever.
#[derive(Debug)]
pub struct Client {
    state: State,
    /// Header of the current record.
    header: [u8; HEADER_BYTES],
    /// Bytes of it that have come.
    have: usize,
    /// Content of `END_REQUEST`.
    end: [u8; HEADER_BYTES],
    /// Bytes of the current record that have not come, without and with padding.
    left: usize,
    padding: usize,
    lines: Lines,
    head: Head,
    /// The head of the response is complete.
    in_body: bool,
    body_bytes: u64,
    /// True if any record of the response has come.
    begun: bool,
    keepalive: bool,
    is_out: bool,
    failed: Option<ClientError>,
    limits: Limits,
}

/// Where in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Content,
    Padding,
    /// At its end.
    Over,
}

/// What the header lines of a response have said.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    status: Option<u16>,
    is_redirect: bool,
    lines: usize,
}

impl Client {
    /// A machine for a new connection; `keepalive` if the requests ask for it to be left open.
    #[must_use]
    pub fn new(limits: Limits, keepalive: bool) -> Self {
        Self {
            state: State::Header,
            header: [0; HEADER_BYTES],
            have: 0,
            end: [0; HEADER_BYTES],
            left: 0,
            padding: 0,
            lines: Lines::default(),
            head: Head::default(),
            in_body: false,
            body_bytes: 0,
            begun: false,
            keepalive,
            is_out: false,
            failed: None,
            limits: limits.honoured(),
        }
    }

    /// A request was sent, or will be before its response can come.
    ///
    /// # Panics
    ///
    /// With a request out already.
    #[inline]
    pub fn request_sent(&mut self) {
        assert!(!self.is_out, "a request is out already");
        self.is_out = true;
    }

    /// Requests whose response is not complete.
    #[inline]
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        self.is_out as u32
    }

    /// How far the response has come; after an error, where it happened.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        match (self.is_out, self.begun, self.in_body) {
            (false, ..) => Progress::Idle,
            (true, _, true) => Progress::Body,
            (true, true, false) => Progress::Head,
            (true, false, false) => Progress::FirstByte,
        }
    }

    /// Consumes input until the response is complete or the input is used up.
    ///
    /// # Errors
    /// What is wrong with the response.
    pub fn receive(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        let result = self.advance(input, sink);
        if let Err(error) = result {
            self.failed = Some(error);
        }
        result
    }

    /// The peer closed its side: no news when no request is out.
    ///
    /// # Errors
    /// What was cut.
    pub fn receive_eof(&mut self) -> Result<Option<Response>, ClientError> {
        let error = match (self.failed, self.progress()) {
            (Some(error), _) => error,
            (None, Progress::Idle) => return Ok(None),
            (None, Progress::FirstByte) => ClientError::ClosedBeforeResponse,
            (None, Progress::Head) => ClientError::ClosedInHead,
            (None, Progress::Body) => ClientError::ClosedInBody { missing: None },
        };
        self.failed = Some(error);
        Err(error)
    }

    fn advance(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !self.is_out && !input.is_empty() {
            return Err(ClientError::UnexpectedBytes);
        }
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            at += match self.state {
                State::Header => self.record_header(rest)?,
                State::Content => self.content(rest, sink)?,
                State::Padding | State::Over => self.skip_padding(rest),
            };
            if self.state == State::Over {
                (self.state, self.have) = (State::Header, 0);
                if self.header[1] == record::END_REQUEST && self.is_ours() {
                    return Ok(Received { consumed: at, response: Some(self.complete()?) });
                }
            }
        }
        Ok(Received { consumed: input.len(), response: None })
    }

    /// The header of a record, as far as it has come.
    fn record_header(&mut self, input: &[u8]) -> Result<usize, ClientError> {
        // Another protocol shows in the first byte.
        if self.have == 0 && input[0] != VERSION {
            return Err(ClientError::NotFastCgi);
        }
        let taken = fill(&mut self.header, self.have, input);
        self.have += taken;
        if self.have < HEADER_BYTES {
            return Ok(taken);
        }
        self.begun = true;
        let [_, kind, id_high, id_low, high, low, padding, _] = self.header;
        let id = u16::from_be_bytes([id_high, id_low]);
        self.left = usize::from(u16::from_be_bytes([high, low]));
        self.padding = usize::from(padding);
        // Records of identifier 0 are about the connection and may be left unread.
        let is_known =
            id == 0 || (id == REQUEST_ID && matches!(kind, record::STDOUT | record::STDERR | record::END_REQUEST));
        if !is_known || (self.is_ours() && kind == record::END_REQUEST && self.left != HEADER_BYTES) {
            return Err(ClientError::Malformed(Part::Record));
        }
        if kind == record::STDOUT && self.is_ours() && self.in_body {
            self.check_body(self.left)?;
        }
        self.next_state();
        Ok(taken)
    }

    /// After a header, and when a part of the record has been read.
    const fn next_state(&mut self) {
        self.state = match (self.left, self.padding) {
            (0, 0) => State::Over,
            (0, _) => State::Padding,
            _ => State::Content,
        };
    }

    fn is_ours(&self) -> bool {
        self.header[2..4] == REQUEST_ID.to_be_bytes()
    }

    fn content(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<usize, ClientError> {
        let part = &input[..input.len().min(self.left)];
        let taken = match self.header[1] {
            record::STDOUT if self.is_ours() && self.in_body => {
                self.body_bytes += part.len() as u64;
                sink.body(part);
                part.len()
            }
            record::STDOUT if self.is_ours() => self.head(part, sink)?,
            record::END_REQUEST if self.is_ours() => fill(&mut self.end, HEADER_BYTES - self.left, part),
            _ => part.len(),
        };
        self.left -= taken;
        self.next_state();
        Ok(taken)
    }

    fn skip_padding(&mut self, input: &[u8]) -> usize {
        let taken = input.len().min(self.padding);
        self.padding -= taken;
        self.next_state();
        taken
    }

    /// True if the body may have so many bytes more; asked as soon as they are announced.
    const fn check_body(&self, more: usize) -> Result<(), ClientError> {
        let is_too_large = self.body_bytes + more as u64 > self.limits.body_bytes;
        if is_too_large { Err(ClientError::BodyTooLarge) } else { Ok(()) }
    }

    /// Header lines up to the empty one, as far as they lie in `part`; the bytes taken.
    fn head<S: ResponseSink>(&mut self, part: &[u8], sink: &mut S) -> Result<usize, ClientError> {
        let mut at = 0;
        while at < part.len() {
            let Some((line, taken)) = self.lines.next(&part[at..], self.limits.head_bytes)? else {
                return Ok(part.len());
            };
            at += taken;
            if line.is_empty() {
                self.in_body = true;
                return self.check_body(self.left - at).map(|()| at);
            }
            self.head.lines += 1;
            if self.head.lines > self.limits.headers {
                return Err(ClientError::TooManyHeaders);
            }
            let (name, value) = split_header(line)?;
            let value = trim(value);
            if S::HEADERS {
                sink.header(name, value);
            }
            self.head.absorb(name, value)?;
        }
        Ok(at)
    }

    /// Hands out the response and makes ready for the next request.
    fn complete(&mut self) -> Result<Response, ClientError> {
        match self.end[4] {
            REQUEST_COMPLETE if self.in_body => {}
            REQUEST_COMPLETE => return Err(ClientError::ClosedInHead),
            _ => return Err(ClientError::Refused),
        }
        let response = Response {
            status: self.head.status.unwrap_or(if self.head.is_redirect { 302 } else { 200 }),
            version: Version::Http11,
            body_bytes: self.body_bytes,
            keepalive: self.keepalive,
        };
        self.lines.reset();
        (self.head, self.in_body, self.body_bytes) = (Head::default(), false, 0);
        (self.begun, self.is_out) = (false, false);
        Ok(response)
    }

    /// Bytes of a cut-off line held back, for the tests of bounds.
    pub(crate) fn stashed(&self) -> usize {
        self.lines.stashed()
    }
}

impl Head {
    fn absorb(&mut self, name: &[u8], value: &[u8]) -> Result<(), ClientError> {
        if name.eq_ignore_ascii_case(b"status") {
            let digits = value.split(|c| *c == b' ').next().unwrap_or_default();
            let status = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            let status = status.filter(|status| (200..=999).contains(status));
            self.status = Some(status.ok_or(ClientError::Malformed(Part::StatusLine))?);
        }
        self.is_redirect |= name.eq_ignore_ascii_case(b"location");
        Ok(())
    }
}

/// Copies what is missing of `whole`, of which `have` bytes are there; the bytes taken.
fn fill(whole: &mut [u8; HEADER_BYTES], have: usize, input: &[u8]) -> usize {
    let taken = input.len().min(HEADER_BYTES - have);
    whole[have..have + taken].copy_from_slice(&input[..taken]);
    taken
}
