//! The receive side of a client connection, whatever protocol it speaks.

use crate::http1::{ClientError, Expect, MAX_OUTSTANDING, Progress, Received, Response, ResponseSink};
use crate::{fastcgi, http1};

/// A protocol machine; dispatch is by a branch, so that the machine of HTTP/1 is inlined.
#[derive(Debug)]
pub enum ClientProtocol {
    /// HTTP/1.0 and 1.1.
    Http1(http1::Client),
    /// FastCGI.
    FastCgi(fastcgi::Client),
}

impl ClientProtocol {
    /// Most requests that may be out at a time.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        match self {
            Self::Http1(_) => MAX_OUTSTANDING,
            Self::FastCgi(_) => 1,
        }
    }

    /// A request was sent, or will be before its response can come.
    ///
    /// # Panics
    ///
    /// With [`Self::capacity`] requests out already.
    #[inline]
    pub fn submit(&mut self, expect: Expect) {
        match self {
            Self::Http1(client) => client.request_sent(expect),
            Self::FastCgi(client) => client.request_sent(),
        }
    }

    /// Requests whose response is not complete.
    #[inline]
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        match self {
            Self::Http1(client) => client.outstanding(),
            Self::FastCgi(client) => client.outstanding(),
        }
    }

    /// How far the response to the oldest request has come; after an error, where it happened.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match self {
            Self::Http1(client) => client.progress(),
            Self::FastCgi(client) => client.progress(),
        }
    }

    /// Consumes input until one response is complete or the input is used up.
    ///
    /// # Errors
    /// What is wrong with the response; it is the same from then on.
    #[inline]
    pub fn receive(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        match self {
            Self::Http1(client) => client.receive(input, sink),
            Self::FastCgi(client) => client.receive(input, sink),
        }
    }

    /// The peer closed its side: completes a body that lasts until then, and is no news when nothing is out.
    ///
    /// # Errors
    /// What was cut.
    pub fn receive_eof(&mut self) -> Result<Option<Response>, ClientError> {
        match self {
            Self::Http1(client) => client.receive_eof(),
            Self::FastCgi(client) => client.receive_eof(),
        }
    }

    /// Bytes of a cut-off line held back, for the tests of bounds.
    pub(crate) fn stashed(&self) -> usize {
        match self {
            Self::Http1(client) => client.stashed(),
            Self::FastCgi(client) => client.stashed(),
        }
    }
}
