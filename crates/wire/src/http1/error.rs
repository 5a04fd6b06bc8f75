//! Errors of a message, as facts.

use thiserror::Error;

/// The part of a message that breaks the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// First line of a response.
    StatusLine,
    /// First line of a request.
    RequestLine,
    /// A header or trailer line.
    Header,
    /// `Content-Length`: not a number, too large for 64 bits, or two different values.
    ContentLength,
    /// `Transfer-Encoding`: chunked applied twice or, in a request, in a place it may not stand.
    TransferEncoding,
    /// `Host`: absent in an HTTP/1.1 request, or there twice.
    Host,
    /// A chunk's size line or the line end after its data.
    Chunk,
    /// A record of FastCGI: of a type or for a request that there is not.
    Record,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::StatusLine => "status line",
            Self::RequestLine => "request line",
            Self::Header => "header line",
            Self::ContentLength => "content length",
            Self::TransferEncoding => "transfer encoding",
            Self::Host => "host header",
            Self::Chunk => "chunk",
            Self::Record => "FastCGI record",
        })
    }
}

/// Why a response could not be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum ClientError {
    /// The first bytes are no `HTTP/`: another protocol, for instance TLS or SSH, answers here.
    #[error("the peer does not speak HTTP/1")]
    NotHttp,
    /// The first byte is not FastCGI's version: another protocol answers here.
    #[error("the peer does not speak FastCGI")]
    NotFastCgi,
    /// The application does not carry out the request: it is overloaded, or wants no request of this kind.
    #[error("the application refused the request")]
    Refused,
    /// A status line of another major version.
    #[error("unsupported HTTP version")]
    Version,
    /// 101: the peer changes the protocol, which was not asked for.
    #[error("the peer switched protocols unasked")]
    Upgrade,
    /// The grammar of the protocol is broken.
    #[error("malformed {0}")]
    Malformed(Part),
    /// Head, trailers or a chunk's size line exceed their limit.
    #[error("response head too large")]
    HeadTooLarge,
    /// More header or trailer lines than allowed.
    #[error("too many headers")]
    TooManyHeaders,
    /// The body exceeds the limit; raised as soon as the announced length says so.
    #[error("response body too large")]
    BodyTooLarge,
    /// More 1xx responses than allowed.
    #[error("too many informational responses")]
    TooManyInformational,
    /// Bytes came although nothing is outstanding.
    #[error("bytes without a request")]
    UnexpectedBytes,
    /// Closed with a request outstanding and nothing of its response seen.
    #[error("closed before the response")]
    ClosedBeforeResponse,
    /// Closed inside the head (also: after a 1xx response).
    #[error("closed inside the response head")]
    ClosedInHead,
    /// Closed inside the body.
    #[error("closed inside the response body")]
    ClosedInBody {
        /// Bytes that were announced and did not come; `None` for a chunked body.
        missing: Option<u64>,
    },
}

/// Why a request is refused; the connection is closed after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum ServerError {
    /// The first byte cannot begin a method: another protocol, for instance TLS.
    #[error("the peer does not speak HTTP/1")]
    NotHttp,
    /// A request line of another major version.
    #[error("unsupported HTTP version")]
    Version,
    /// The grammar of HTTP/1 is broken.
    #[error("malformed {0}")]
    Malformed(Part),
    /// Both `Content-Length` and `Transfer-Encoding` (RFC 9112 section 6.3: a sign of request smuggling).
    #[error("both content length and transfer encoding")]
    AmbiguousLength,
    /// A transfer coding other than chunked.
    #[error("unsupported transfer coding")]
    TransferCoding,
    /// An `Expect` other than `100-continue`.
    #[error("unsupported expectation")]
    Expectation,
    /// The request line alone exceeds the head limit.
    #[error("request target too long")]
    TargetTooLong,
    /// Head, trailers or a chunk's size line exceed their limit.
    #[error("request head too large")]
    HeadTooLarge,
    /// More header or trailer lines than allowed.
    #[error("too many headers")]
    TooManyHeaders,
    /// The body exceeds the limit; raised as soon as the announced length says so.
    #[error("request body too large")]
    BodyTooLarge,
}

impl ServerError {
    /// The status code that answers it.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotHttp | Self::Malformed(_) | Self::AmbiguousLength => 400,
            Self::BodyTooLarge => 413,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::HeadTooLarge | Self::TooManyHeaders => 431,
            Self::TransferCoding => 501,
            Self::Version => 505,
        }
    }
}

/// What the parts shared by both machines can find wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Malformed(Part),
    HeadTooLarge,
    TooManyHeaders,
    BodyTooLarge,
}

impl From<Fault> for ClientError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed(part) => Self::Malformed(part),
            Fault::HeadTooLarge => Self::HeadTooLarge,
            Fault::TooManyHeaders => Self::TooManyHeaders,
            Fault::BodyTooLarge => Self::BodyTooLarge,
        }
    }
}

impl From<Fault> for ServerError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed(part) => Self::Malformed(part),
            Fault::HeadTooLarge => Self::HeadTooLarge,
            Fault::TooManyHeaders => Self::TooManyHeaders,
            Fault::BodyTooLarge => Self::BodyTooLarge,
        }
    }
}
