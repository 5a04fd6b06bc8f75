//! Bytes behind the end of a response, where none may be.

use model::Evidence;
use model::human::bytes;

/// Advice about a body after HEAD.
pub(crate) const MEASURE_GET: &str = "the server sends a body with HEAD, which may have none: measure GET (-m GET)";
/// Advice about a body with 204 or 304.
const NO_BODY: &str = "let the server send no body with 204 and 304 (RFC 9112 section 6.3), or another status: browsers and \
                       proxies lose the next response too";
/// Advice about a body longer than announced.
const LENGTH: &str = "let `Content-Length` be the number of bytes that follow: a program behind the server often counts \
                      characters, or adds to the body after it has counted";

/// What the server sent behind the end of its response to the probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surplus {
    /// How much came at least.
    pub(crate) bytes: u64,
    why: Why,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    Head,
    Status(u16),
    Length,
}

impl Surplus {
    /// None where the probe got no more than there may be.
    pub(crate) fn of(evidence: &Evidence) -> Option<Self> {
        let fetch = evidence.probe.as_ref()?.surplus()?;
        let why = match fetch.status {
            _ if evidence.plan.requests.iter().any(|request| request.method == "HEAD") => Why::Head,
            204 | 304 => Why::Status(fetch.status),
            _ => Why::Length,
        };
        Some(Self { bytes: fetch.surplus_bytes, why })
    }

    /// What the server did.
    pub(crate) fn message(self) -> String {
        let bytes = bytes(self.bytes);
        let did = match self.why {
            Why::Head => format!("the server sent a body with its response to HEAD ({bytes} or more)"),
            Why::Status(status) => format!("the server sent a body with status {status} ({bytes} or more)"),
            Why::Length => format!("the server sent more than `Content-Length` announces ({bytes} or more)"),
        };
        format!("{did}: it is in the way of the next response, and what fails is a matter of timing")
    }

    /// What came, in a few words, behind the type of the content.
    pub(crate) fn found(self) -> String {
        match self.why {
            Why::Head => "with a body, in answer to HEAD".to_owned(),
            Why::Status(status) => format!("with a body, and status {status}"),
            Why::Length => "longer than `Content-Length` announces".to_owned(),
        }
    }

    /// What to do.
    pub(crate) const fn remedy(self) -> &'static str {
        match self.why {
            Why::Head => MEASURE_GET,
            Why::Status(_) => NO_BODY,
            Why::Length => LENGTH,
        }
    }
}
