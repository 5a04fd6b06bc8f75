//! Why a request did not become a good response: a phase and a kind, countable in an array.

use std::fmt;

/// Where in its life a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FailurePhase {
    /// Opening the connection.
    Connect,
    /// The TLS handshake on a connection that is open.
    Tls,
    /// Writing the request.
    Send,
    /// Waiting for the first byte of the response.
    FirstByte,
    /// Reading the head of the response after its first byte.
    Head,
    /// Reading the body of the response.
    Body,
    /// The response is complete but is not what the contract asks for.
    Contract,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FailureKind {
    /// Nobody listens there.
    Refused,
    /// No answer within `--timeout`; the value is kept as censored.
    Timeout,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the response was complete.
    Closed,
    /// We closed it before the request's own deadline, as an older one on it had met its own.
    Abandoned,
    /// No route to the host or network.
    Unreachable,
    /// This machine has no free local port left.
    PortsExhausted,
    /// This process has no free file descriptor left.
    FdsExhausted,
    /// What came is not HTTP as the machine understands it.
    Malformed,
    /// A head or body beyond the stated limits.
    TooLarge,
    /// The status is not the declared one.
    Status,
    /// The body size is not the declared one.
    Size,
    /// The body does not hold the declared text.
    Body,
    /// The body has not the hash of the probe's.
    Hash,
    /// The server's certificate is not valid or not trusted.
    Certificate,
    /// The peer and we could not agree on TLS.
    Handshake,
    /// Any other error of the operating system.
    Other,
}

/// One cause of failure: the phase and the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// Where it failed.
    pub phase: FailurePhase,
    /// What went wrong.
    pub kind: FailureKind,
}

impl FailurePhase {
    /// Every phase, in the order of a request's life.
    pub const ALL: [Self; 7] =
        [Self::Connect, Self::Tls, Self::Send, Self::FirstByte, Self::Head, Self::Body, Self::Contract];

    fn word(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::FirstByte => "first_byte",
            Self::Head => "head",
            Self::Body => "body",
            Self::Contract => "contract",
        }
    }
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 17] = [
        Self::Refused,
        Self::Timeout,
        Self::Reset,
        Self::Closed,
        Self::Abandoned,
        Self::Unreachable,
        Self::PortsExhausted,
        Self::FdsExhausted,
        Self::Malformed,
        Self::TooLarge,
        Self::Status,
        Self::Size,
        Self::Body,
        Self::Hash,
        Self::Certificate,
        Self::Handshake,
        Self::Other,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Abandoned => "abandoned",
            Self::Unreachable => "unreachable",
            Self::PortsExhausted => "ports_exhausted",
            Self::FdsExhausted => "fds_exhausted",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Status => "status",
            Self::Size => "size",
            Self::Body => "body",
            Self::Hash => "hash",
            Self::Certificate => "certificate",
            Self::Handshake => "handshake",
            Self::Other => "other",
        }
    }
}

impl Failure {
    /// How many different failures exist: the length of an array indexed by [`Failure::index`].
    pub const COUNT: usize = FailurePhase::ALL.len() * FailureKind::ALL.len();

    /// A failure of `kind` in `phase`.
    #[must_use]
    pub const fn new(phase: FailurePhase, kind: FailureKind) -> Self {
        Self { phase, kind }
    }

    /// Position in an array of [`Failure::COUNT`] counters.
    #[must_use]
    pub const fn index(self) -> usize {
        self.phase as usize * FailureKind::ALL.len() + self.kind as usize
    }

    /// The failure at `index`, the inverse of [`Failure::index`].
    ///
    /// # Panics
    /// If `index` is not below [`Failure::COUNT`].
    #[must_use]
    pub const fn from_index(index: usize) -> Self {
        let kinds = FailureKind::ALL.len();
        Self { phase: FailurePhase::ALL[index / kinds], kind: FailureKind::ALL[index % kinds] }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.phase.word(), self.kind.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_and_name_are_unique_and_invertible() {
        let mut names = std::collections::BTreeSet::new();
        for index in 0..Failure::COUNT {
            let failure = Failure::from_index(index);
            assert_eq!(failure.index(), index);
            assert!(names.insert(failure.to_string()));
        }
    }

    #[test]
    fn name_is_phase_dot_kind() {
        assert_eq!(Failure::new(FailurePhase::Connect, FailureKind::Refused).to_string(), "connect.refused");
        let tls = Failure::new(FailurePhase::Tls, FailureKind::Certificate);
        assert_eq!(tls.to_string(), "tls.certificate");
    }
}
