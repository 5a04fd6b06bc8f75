//! Why requests failed, by the words of the tools.

use super::text::Text;
use std::collections::BTreeSet;

/// A kind of failure that has a remedy of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// The server closed a connection that the client wanted to use again.
    ClosedIdle,
    /// The server, or something in front of it, broke connections.
    Reset,
    /// Nobody listens, or the queue of connections is full.
    Refused,
    /// Too few descriptors.
    Descriptors,
    /// No local port is left.
    Ports,
    /// No answer in time.
    Timeout,
    /// The name cannot be resolved.
    Name,
}

/// Words of errors, in small letters, as Go, Rust, Node, C and Java have them. The first that fits a line counts.
const WORDS: [(Reason, &[&str]); 7] = [
    (
        Reason::ClosedIdle,
        &[
            "server closed idle connection",
            "socket hang up",
            "connection closed before message completed",
            "prematurely closed",
        ],
    ),
    (Reason::Descriptors, &["too many open files", "emfile"]),
    (
        Reason::Ports,
        &[
            "cannot assign requested address",
            "can't assign requested address",
            "eaddrnotavail",
            "address not available",
        ],
    ),
    (Reason::Refused, &["connection refused", "econnrefused"]),
    (Reason::Name, &["no such host", "enotfound", "name or service not known", "temporary failure in name resolution"]),
    (
        Reason::Timeout,
        &["timeout exceeded", "i/o timeout", "deadline exceeded", "etimedout", "timed out", "request timeout"],
    ),
    (Reason::Reset, &["connection reset", "econnreset", "broken pipe", ": eof", "unexpected eof"]),
];

impl Reason {
    /// Those that a text names.
    pub(crate) fn named(text: &Text) -> BTreeSet<Self> {
        text.lines().filter_map(|(_, line)| Self::of(line)).collect()
    }

    /// The one that a line names.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let line = line.to_ascii_lowercase();
        WORDS.iter().find(|(_, words)| words.iter().any(|word| line.contains(word))).map(|(reason, _)| *reason)
    }

    /// What to do about it.
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::ClosedIdle => {
                "the server closes connections that the client still uses: raise its keep-alive time and its number of \
                 requests for each connection"
            }
            Self::Reset => {
                "connections were broken: look for crashes and limits of connections in the server's error log, and at \
                 what stands in front of it"
            }
            Self::Refused => "connections were refused: see that the server listens there, and raise its accept queue",
            Self::Descriptors => "descriptors ran out: raise the limit of open files (ulimit -n) of client and server",
            Self::Ports => "local ports ran out: keep connections open, or use several addresses",
            Self::Timeout => "answers came too late for the client: lower the load, or raise its timeout",
            Self::Name => "the name was not found: use the address, or mend the resolver",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_known_by_the_words_of_tools() {
        let of = |line: &str| Reason::named(&Text::decode(line.as_bytes()).unwrap()).into_iter().collect::<Vec<_>>();
        assert_eq!(of("[250] Get \"http://h/\": http: server closed idle connection"), [Reason::ClosedIdle]);
        assert_eq!(of("dial tcp 127.0.0.1:80: connect: cannot assign requested address"), [Reason::Ports]);
        assert_eq!(of("socket: too many open files"), [Reason::Descriptors]);
        assert_eq!(of("connect ECONNREFUSED 127.0.0.1:80"), [Reason::Refused]);
        assert_eq!(of("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"), [Reason::Timeout]);
        assert_eq!(of("Requests/sec: 5"), []);
    }
}
