//! Streams of a client connection, and what every protocol says of the requests on them.

use crate::http1::{ClientError, Response};

/// Number of a stream of a connection, from 0: a request takes one, which is free again when its response is complete. A
/// protocol whose responses come in the order of the requests has stream 0 only, with several requests on it.
pub type StreamId = u16;

/// Most streams of a connection.
pub const STREAMS_MAX: u32 = u64::BITS;

/// What one call of [`ClientProtocol::receive`](crate::ClientProtocol::receive) brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of the input that were used.
    pub consumed: usize,
    /// What ended; none when more is needed, or what follows belongs to another stream.
    pub event: Option<Event>,
}

/// How a request has ended: that of the stream that [`ClientProtocol::receiving`](crate::ClientProtocol::receiving) names,
/// else the oldest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// With a complete response.
    Response(Response),
    /// Without one, while the connection and other requests on it go on.
    Failed {
        /// Why.
        error: ClientError,
        /// True if another request may follow on this connection.
        keepalive: bool,
    },
}
