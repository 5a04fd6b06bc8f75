//! Protocol seam: the receive side of a client connection, whatever protocol it speaks.

use crate::http1::{ClientError, Expect, MAX_OUTSTANDING, Progress, Response, ResponseSink};
use crate::stream::{Event, Received, StreamId};
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
    /// True if each request has a stream of its own.
    #[must_use]
    pub const fn has_streams(&self) -> bool {
        matches!(self, Self::FastCgi(_))
    }

    /// Most requests that may be out now.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> u32 {
        match self {
            Self::Http1(_) => MAX_OUTSTANDING,
            Self::FastCgi(client) => client.capacity(),
        }
    }

    /// Stream for another request.
    ///
    /// # Panics
    ///
    /// With [`Self::capacity`] requests out already, where each has a stream of its own.
    #[inline]
    pub fn open(&mut self) -> StreamId {
        match self {
            Self::Http1(_) => 0,
            Self::FastCgi(client) => client.open(),
        }
    }

    /// A request was sent on its stream, or will be before its response can come.
    ///
    /// # Panics
    ///
    /// With [`Self::capacity`] requests out already.
    #[inline]
    pub fn submit(&mut self, stream: StreamId, expect: Expect) {
        match self {
            Self::Http1(client) => client.request_sent(expect),
            Self::FastCgi(client) => client.submit(stream),
        }
    }

    /// Puts a request, as it is written for stream 0, on its stream.
    pub fn set_stream(&self, request: &mut [u8], stream: StreamId) {
        match self {
            Self::Http1(_) => debug_assert_eq!(stream, 0, "there is no other"),
            Self::FastCgi(_) => fastcgi::set_stream(request, stream),
        }
    }

    /// Gives the request on a stream up; false where the connection has to be closed for it.
    pub fn cancel(&mut self, stream: StreamId) -> bool {
        match self {
            Self::Http1(_) => false,
            Self::FastCgi(client) => client.cancel(stream),
        }
    }

    /// Bytes that the protocol wants to send on its own account, between two requests; mostly none.
    #[inline]
    #[must_use]
    pub fn poll_transmit(&self) -> &[u8] {
        match self {
            Self::Http1(_) => &[],
            Self::FastCgi(client) => client.poll_transmit(),
        }
    }

    /// So many of them were sent.
    pub fn transmitted(&mut self, bytes: usize) {
        match self {
            Self::Http1(_) => debug_assert_eq!(bytes, 0, "nothing was to be sent"),
            Self::FastCgi(client) => client.transmitted(bytes),
        }
    }

    /// Requests whose end has not come, those given up included.
    #[inline]
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        match self {
            Self::Http1(client) => client.outstanding(),
            Self::FastCgi(client) => client.outstanding(),
        }
    }

    /// How far the response to the oldest request on a stream has come; after an error, where it happened.
    #[must_use]
    pub fn progress(&self, stream: StreamId) -> Progress {
        match self {
            Self::Http1(client) => client.progress(),
            Self::FastCgi(client) => client.progress(stream),
        }
    }

    /// Stream that the next bytes belong to; none where that is not known yet, or responses come in the order of requests.
    #[inline]
    #[must_use]
    pub fn receiving(&self) -> Option<StreamId> {
        match self {
            Self::Http1(_) => None,
            Self::FastCgi(client) => client.receiving(),
        }
    }

    /// Consumes input until one request has ended, or what follows belongs to another stream, or the input is used up.
    ///
    /// # Errors
    /// What is wrong with what came, for all requests on the connection; it is the same from then on.
    #[inline]
    pub fn receive(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        match self {
            Self::Http1(client) => {
                let http1::Received { consumed, response } = client.receive(input, sink)?;
                Ok(Received { consumed, event: response.map(Event::Response) })
            }
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
            Self::FastCgi(client) => client.receive_eof().map(|()| None),
        }
    }

    /// True if bytes behind the last response are passed over: empty lines of HTTP.
    #[must_use]
    pub fn passes_over(&self, bytes: &[u8]) -> bool {
        matches!(self, Self::Http1(_)) && http1::is_blank(bytes)
    }

    /// Bytes of a cut-off line held back, for the tests of bounds.
    pub(crate) fn stashed(&self) -> usize {
        match self {
            Self::Http1(client) => client.stashed(),
            Self::FastCgi(client) => client.stashed(),
        }
    }
}
