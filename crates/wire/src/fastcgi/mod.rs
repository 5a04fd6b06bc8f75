//! FastCGI 1.0, as a web server speaks it to an application: the receive side of a client, and the writer of requests.
//!
//! A connection carries one request at a time, or several to an application that multiplexes: each has an identifier of its
//! own, its records come in any order among those of the others, and it is given up alone. Responses are documents as of
//! CGI (RFC 3875, section 6): header lines, an empty line, a body; they end with the record `END_REQUEST`.

mod client;
mod exchange;
mod values;
mod write;

pub use client::Client;
pub use values::{ask_multiplexing, multiplexing};
pub use write::{Request, set_stream, write_request};

use crate::StreamId;

/// Version of the protocol, in every record.
const VERSION: u8 = 1;
/// Bytes of a record's header.
const HEADER_BYTES: usize = 8;

/// Identifier of the request on a stream; 0 is for management records.
const fn request_id(stream: StreamId) -> u16 {
    stream + 1
}

/// Header of a record with `length` bytes of content and no padding.
const fn record_header(kind: u8, id: u16, length: u16) -> [u8; HEADER_BYTES] {
    let ([id_high, id_low], [high, low]) = (id.to_be_bytes(), length.to_be_bytes());
    [VERSION, kind, id_high, id_low, high, low, 0, 0]
}

/// Types of records.
mod record {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const ABORT_REQUEST: u8 = 2;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
    pub(super) const GET_VALUES: u8 = 9;
    pub(super) const GET_VALUES_RESULT: u8 = 10;
}
