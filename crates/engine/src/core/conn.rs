//! One slot: a connection, and the request it carries.

use super::body::Look;
use model::{Contract, Failure, FailureKind, FailurePhase};
use wire::http1::{Client, ClientError, Limits, Part, Progress, Response};

/// A slot of the load: at most one connection and one request.
pub(super) struct Conn {
    pub(super) http: Client,
    pub(super) look: Look,
    pub(super) state: State,
    /// Whether a request is assigned.
    pub(super) busy: bool,
    /// When the request was to be sent; ns.
    pub(super) intended_ns: u64,
    /// When work on it began (connecting, if the connection is opened for it); ns.
    pub(super) started_ns: u64,
    /// Bytes of it that the transport has taken.
    pub(super) written: usize,
    /// When a slot that is down wants its turn; ns.
    pub(super) retry_ns: u64,
    /// Attempts to open that failed in a row.
    pub(super) refusals: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Opening,
    Open,
}

impl Conn {
    pub(super) fn new() -> Self {
        Self {
            http: Client::new(Limits::default()),
            look: Look::default(),
            state: State::Closed,
            busy: false,
            intended_ns: 0,
            started_ns: 0,
            written: 0,
            retry_ns: 0,
            refusals: 0,
        }
    }

    /// Forgets what was on the connection.
    pub(super) fn closed(&mut self) {
        self.state = State::Closed;
        self.http = Client::new(Limits::default());
    }

    /// Whether a part of the request is still to be sent.
    pub(super) fn is_writing(&self, request_bytes: usize) -> bool {
        self.busy && self.state == State::Open && self.written < request_bytes
    }

    /// How far the request of this slot has come.
    pub(super) fn phase(&self, request_bytes: usize) -> FailurePhase {
        match self.http.progress() {
            _ if self.state != State::Open => FailurePhase::Connect,
            Progress::Idle => FailurePhase::Send,
            Progress::FirstByte if self.written < request_bytes => FailurePhase::Send,
            Progress::FirstByte => FailurePhase::FirstByte,
            Progress::Head => FailurePhase::Head,
            Progress::Body => FailurePhase::Body,
        }
    }
}

/// How a complete response breaks the contract, if it does.
#[inline]
pub(super) fn breach(contract: &Contract, response: Response) -> Option<Failure> {
    let status_fits = match contract.status {
        Some(status) => response.status == status,
        None => (200..300).contains(&response.status),
    };
    if !status_fits {
        return Some(Failure::new(FailurePhase::Contract, FailureKind::Status));
    }
    let size_fits = contract.size_bytes.is_none_or(|band| (band.min..=band.max).contains(&response.body_bytes));
    (!size_fits).then_some(Failure::new(FailurePhase::Contract, FailureKind::Size))
}

/// Where a protocol error belongs in our counting.
pub(super) fn failure_of(error: ClientError) -> Failure {
    use FailureKind::{Closed, Malformed, TooLarge};
    use FailurePhase::{Body, FirstByte, Head};
    let (phase, kind) = match error {
        ClientError::NotHttp | ClientError::UnexpectedBytes => (FirstByte, Malformed),
        ClientError::Version | ClientError::Upgrade => (Head, Malformed),
        ClientError::Malformed(Part::Chunk) => (Body, Malformed),
        ClientError::Malformed(_) => (Head, Malformed),
        ClientError::HeadTooLarge | ClientError::TooManyHeaders | ClientError::TooManyInformational => (Head, TooLarge),
        ClientError::BodyTooLarge => (Body, TooLarge),
        ClientError::ClosedBeforeResponse => (FirstByte, Closed),
        ClientError::ClosedInHead => (Head, Closed),
        ClientError::ClosedInBody { .. } => (Body, Closed),
    };
    Failure::new(phase, kind)
}
