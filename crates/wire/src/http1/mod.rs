//! HTTP/1.0 and HTTP/1.1 (RFC 9112): the receive side of a client and of a server, and writers for both.
//!
//! [`Client`] parses responses, [`Server`] parses requests. Both are line-based, accept a bare LF as line end (RFC 9112
//! section 2.2) and stop at the first error: a machine that returned an error returns the same error from then on, and its
//! connection has to be closed. A client understands what user agents have to (folded header lines, section 5.2) and what
//! they do (empty lines between responses); a server refuses it, as a request may mean something else to the next server.

mod body;
mod client;
mod error;
pub(crate) mod fields;
pub(crate) mod lines;
mod scan;
mod server;
mod write;

pub use client::{
    BLANK_BYTES_MAX, Client, Expect, Ignore, MAX_OUTSTANDING, Progress, Received, Response, ResponseSink, is_blank,
};
pub use error::{ClientError, Part, ServerError};
pub use server::{IgnoreRequest, Method, ReceivedRequest, Request, RequestSink, Server};
pub use write::{
    Length, ResponseHead, USER_AGENT, reason, write_chunk, write_last_chunk, write_request, write_response_head,
};

/// Longest line that announces a chunk, its extensions and line end included, in bytes.
pub const CHUNK_LINE_BYTES: usize = 4096;
/// Smallest head limit that is honoured, in bytes; a smaller [`Limits::head_bytes`] counts as this.
pub const MIN_HEAD_BYTES: usize = 64;

/// What one message may cost the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one head (start line, headers, line ends), at least [`MIN_HEAD_BYTES`]; the same again for the trailers
    /// of a chunked body.
    pub head_bytes: usize,
    /// Header lines of one head; the same again for the trailers.
    pub headers: usize,
    /// Bytes of one body, after chunked framing was removed.
    pub body_bytes: u64,
    /// Responses 1xx before a final response (client only).
    pub informational: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head_bytes: 64 * 1024, headers: 256, body_bytes: u64::MAX, informational: 16 }
    }
}

impl Limits {
    /// These limits with the head limit raised to [`MIN_HEAD_BYTES`]: the tests on the first bytes of a message then
    /// always come before the test on its length, whatever the reads were.
    pub(crate) fn honoured(self) -> Self {
        Self { head_bytes: self.head_bytes.max(MIN_HEAD_BYTES), ..self }
    }
}

/// Protocol version of a message; a minor version above 1 counts as 1.1 (RFC 9110 section 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}
