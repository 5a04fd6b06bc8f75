//! One slot: a connection, and the requests it carries.

use super::body::Look;
use model::{Contract, Failure, FailureKind, FailurePhase};
use std::collections::VecDeque;
use wire::http1::{ClientError, Part, Progress, Response};
use wire::{ClientProtocol, StreamId};

/// A slot of the load: at most one connection and the requests it carries.
pub(super) struct Conn {
    pub(super) machine: ClientProtocol,
    pub(super) looks: Looks,
    pub(super) state: State,
    /// Requests assigned to it, oldest first; at most as many as the load pipelines.
    pub(super) flights: VecDeque<Flight>,
    /// How many of them, from the oldest, the transport has taken whole.
    pub(super) whole: usize,
    /// Bytes it has taken of the next.
    pub(super) written: usize,
    /// When opening began; ns.
    pub(super) opening_since_ns: u64,
    /// When a slot that is down wants its turn; ns.
    pub(super) retry_ns: u64,
    /// Attempts to open since the last response: what failed, and what opened and was of no use.
    pub(super) fruitless: u8,
    /// True once a response has come on the connection that is open.
    pub(super) has_served: bool,
    /// Responses since the window began.
    pub(super) answered: u64,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Its number in the load: with the source, all its bytes.
    pub(super) number: u64,
    /// Which of the source's requests it is.
    pub(super) item: u32,
    /// What it takes of its connection: with this, a slot of the load.
    pub(super) stream: StreamId,
    /// True if its first byte has been counted as sent.
    pub(super) sent: bool,
    /// True if it was counted as planned in the window: then its end counts as well, whatever is known of the window by then.
    pub(super) planned: bool,
    /// When it was to be sent; ns.
    pub(super) intended_ns: u64,
    /// When work on it began (connecting, if the connection is opened for it); ns.
    pub(super) started_ns: u64,
    /// When the first byte of its response came; none before. ns
    pub(super) first_byte_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Opening,
    Open,
}

impl Conn {
    pub(super) fn new(pipeline: usize, machine: ClientProtocol) -> Self {
        Self {
            looks: Looks::new(if machine.has_streams() { pipeline } else { 1 }),
            machine,
            state: State::Closed,
            flights: VecDeque::with_capacity(pipeline),
            whole: 0,
            written: 0,
            opening_since_ns: 0,
            retry_ns: 0,
            fruitless: 0,
            has_served: false,
            answered: 0,
        }
    }

    /// Forgets what was on the connection; the requests are assigned to the slot as before, for a new `machine`.
    pub(super) fn closed(&mut self, machine: ClientProtocol) {
        self.state = State::Closed;
        self.machine = machine;
        self.has_served = false;
        (self.whole, self.written) = (0, 0);
        for at in 0..self.flights.len() {
            let stream = self.machine.open();
            if std::mem::replace(&mut self.flights[at].stream, stream) != stream {
                // What was decided for the other stream is lost: this body is not checked.
                *self.looks.of(stream) = Look::default();
            }
        }
    }

    /// Place of the oldest request on a stream; none when there is none, as when it was given up.
    #[inline]
    pub(super) fn place(&self, stream: StreamId) -> Option<usize> {
        self.flights.iter().position(|flight| flight.stream == stream)
    }

    /// The stream that the next bytes belong to, the place of its oldest request, and which of the source's requests it is. If
    /// they are the first of its response, they came at `now`.
    #[inline]
    pub(super) fn receiving(&mut self, now: u64) -> (Option<StreamId>, Option<usize>, Option<u32>) {
        // In the order of the requests, unless the protocol says whose turn it is.
        let stream = self.machine.receiving();
        let place = stream.map_or(Some(0), |stream| self.place(stream));
        let Some(flight) = place.and_then(|place| self.flights.get_mut(place)) else { return (stream, place, None) };
        // Where requests have streams and none is named yet, the bytes may be of any of them.
        if stream.is_some() || !self.machine.has_streams() {
            flight.first_byte_ns.get_or_insert(now);
        }
        (stream, place, Some(flight.item))
    }

    /// True if another request may go out, of at most `pipeline` at a time.
    #[inline]
    pub(super) fn has_room(&self, pipeline: usize) -> bool {
        self.flights.len() < pipeline.min(self.machine.capacity() as usize)
    }

    /// True if a request is assigned.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        !self.flights.is_empty()
    }

    /// True if a part of a request is still to be sent, or something of the protocol's own.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.whole < self.flights.len() || !self.machine.poll_transmit().is_empty()
    }

    /// How far the oldest request of this slot has come.
    pub(super) fn phase(&self) -> FailurePhase {
        let stream = self.flights.front().map_or(0, |flight| flight.stream);
        match self.machine.progress(stream) {
            _ if self.state != State::Open => FailurePhase::Connect,
            Progress::Idle => FailurePhase::Send,
            Progress::FirstByte if self.whole == 0 => FailurePhase::Send,
            Progress::FirstByte => FailurePhase::FirstByte,
            Progress::Head => FailurePhase::Head,
            Progress::Body => FailurePhase::Body,
        }
    }
}

/// What is seen of the body of the response on each stream; that on the first lies in the slot itself.
pub(super) struct Looks {
    first: Look,
    others: Box<[Look]>,
}

impl Looks {
    fn new(streams: usize) -> Self {
        Self { first: Look::default(), others: (1..streams).map(|_| Look::default()).collect() }
    }

    #[inline]
    pub(super) fn of(&mut self, stream: StreamId) -> &mut Look {
        match stream.checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[usize::from(other)],
        }
    }
}

/// How a complete response breaks the contract, if it does.
#[inline]
pub(crate) fn breach(contract: &Contract, response: Response) -> Option<Failure> {
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
pub(crate) fn failure_of(error: ClientError) -> Failure {
    use FailureKind::{Closed, Malformed, Refused, TooLarge};
    use FailurePhase::{Body, FirstByte, Head};
    let (phase, kind) = match error {
        ClientError::NotHttp | ClientError::NotFastCgi | ClientError::UnexpectedBytes => (FirstByte, Malformed),
        ClientError::Refused => (FirstByte, Refused),
        ClientError::Version | ClientError::Upgrade => (Head, Malformed),
        ClientError::Malformed(Part::Chunk | Part::Record) => (Body, Malformed),
        ClientError::Malformed(_) => (Head, Malformed),
        ClientError::HeadTooLarge | ClientError::TooManyHeaders | ClientError::TooManyInformational => (Head, TooLarge),
        ClientError::BodyTooLarge => (Body, TooLarge),
        ClientError::ClosedBeforeResponse => (FirstByte, Closed),
        ClientError::ClosedInHead => (Head, Closed),
        ClientError::ClosedInBody { .. } => (Body, Closed),
    };
    Failure::new(phase, kind)
}
