//! Protocol machines without I/O: bytes in, facts out.
//!
//! Nothing here owns a socket, reads a clock or starts a thread. A machine is fed whatever a read returned and says how
//! much of it belongs to the current message; how the bytes were cut into reads never changes what it reports (this is
//! tested as a property and fuzzed, see [`testing`]). On the path of one message nothing is allocated: the only buffer
//! holds a line that was cut by a read, is bounded by [`http1::Limits::head_bytes`] and is reused.

mod client;
pub mod fastcgi;
pub mod http1;
mod stream;
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;

pub use client::ClientProtocol;
pub use stream::{Event, Received, STREAMS_MAX, StreamId};
