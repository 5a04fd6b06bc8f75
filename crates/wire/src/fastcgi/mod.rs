//! FastCGI 1.0, as a web server speaks it to an application: the receive side of a client, and the writer of requests.
//!
//! A connection carries one request at a time, as all applications in use have it. Responses are documents as of CGI (RFC
//! 3875, section 6): header lines, an empty line, a body; they end with the record `END_REQUEST`.

mod client;
mod write;

pub use client::Client;
pub use write::{Request, write_request};

/// Version of the protocol, in every record.
const VERSION: u8 = 1;
/// Bytes of a record's header.
const HEADER_BYTES: usize = 8;
/// Identifier of the one request that is out; 0 is for management records.
const REQUEST_ID: u16 = 1;

/// Types of records.
mod record {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
}
