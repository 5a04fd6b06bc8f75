//! Stream sockets by address, TCP or Unix, and TLS streams on them that do not block.

pub mod address;
mod tls_stream;

pub use tls_stream::{TlsStream, TlsStreamError};
