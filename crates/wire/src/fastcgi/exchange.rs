//! What has come of the response on one stream.

use crate::http1::fields::{split_header, trim};
use crate::http1::lines::Lines;
use crate::http1::{ClientError, Limits, Part, Progress, Response, ResponseSink, Version};

/// Protocol status of a request that was carried out.
const REQUEST_COMPLETE: u8 = 0;

/// The response to a request, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    lines: Lines,
    head: Head,
    /// The head is complete.
    in_body: bool,
    body_bytes: u64,
    /// True if any record of it has come.
    begun: bool,
}

/// What the header lines have said.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    status: Option<u16>,
    is_redirect: bool,
    lines: usize,
}

impl Exchange {
    pub(super) const fn begin(&mut self) {
        self.begun = true;
    }

    pub(super) const fn progress(&self) -> Progress {
        match (self.begun, self.in_body) {
            (_, true) => Progress::Body,
            (true, false) => Progress::Head,
            (false, false) => Progress::FirstByte,
        }
    }

    /// True if the body may have so many bytes more; asked as soon as they are announced.
    pub(super) const fn check_body(&self, more: usize, limits: &Limits) -> Result<(), ClientError> {
        let is_too_large = self.in_body && self.body_bytes + more as u64 > limits.body_bytes;
        if is_too_large { Err(ClientError::BodyTooLarge) } else { Ok(()) }
    }

    /// A part of the document, in a record that has `left` bytes from here: header lines up to the empty one as far as they
    /// lie in it, or a piece of the body; the bytes taken.
    pub(super) fn document<S: ResponseSink>(
        &mut self,
        part: &[u8],
        left: usize,
        limits: &Limits,
        sink: &mut S,
    ) -> Result<usize, ClientError> {
        if self.in_body {
            self.body_bytes += part.len() as u64;
            sink.body(part);
            return Ok(part.len());
        }
        let mut at = 0;
        while at < part.len() {
            let Some((line, taken)) = self.lines.next(&part[at..], limits.head_bytes)? else {
                return Ok(part.len());
            };
            at += taken;
            if line.is_empty() {
                self.in_body = true;
                return self.check_body(left - at, limits).map(|()| at);
            }
            self.head.lines += 1;
            if self.head.lines > limits.headers {
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

    /// The response, which ended with that protocol status; then it is ready for the next request.
    pub(super) fn end(&mut self, protocol_status: u8, keepalive: bool) -> Result<Response, ClientError> {
        let response = match protocol_status {
            REQUEST_COMPLETE if self.in_body => Ok(Response {
                status: self.head.status.unwrap_or(if self.head.is_redirect { 302 } else { 200 }),
                version: Version::Http11,
                body_bytes: self.body_bytes,
                keepalive,
            }),
            REQUEST_COMPLETE => Err(ClientError::ClosedInHead),
            _ => Err(ClientError::Refused),
        };
        self.lines.discard();
        (self.head, self.in_body, self.body_bytes, self.begun) = (Head::default(), false, 0, false);
        response
    }

    /// Bytes of a cut-off line held back.
    pub(super) fn stashed(&self) -> usize {
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
