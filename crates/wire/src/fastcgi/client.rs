//! The receive side of one client connection.

use super::exchange::Exchange;
use super::{HEADER_BYTES, VERSION, record, record_header, request_id};
use crate::http1::{ClientError, Limits, Part, Progress, ResponseSink};
use crate::stream::{Event, Received, STREAMS_MAX, StreamId};

/// The receive side of one client connection, which has one request out at a time on each of its streams.
///
/// Take a stream for each request with [`Client::open`], tell about the request with [`Client::submit`], feed what reads
/// return to [`Client::receive`] and call again while input is left. After an error it returns that error for ever.
#[derive(Debug)]
pub struct Client {
    state: State,
    /// Header of the current record.
    header: [u8; HEADER_BYTES],
    /// Bytes of it that have come.
    have: usize,
    /// Content of `END_REQUEST`.
    end: [u8; HEADER_BYTES],
    /// Bytes of the current record that have not come, without and with padding.
    left: usize,
    padding: usize,
    /// Stream 0, and the others of an application that multiplexes.
    first: Exchange,
    others: Box<[Exchange]>,
    /// Streams by bit: in use, with a request out, given up.
    used: u64,
    out: u64,
    cancelled: u64,
    /// Records of our own that are to be sent.
    own: Vec<u8>,
    keepalive: bool,
    failed: Option<ClientError>,
    limits: Limits,
}

/// Where in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Content,
    Padding,
    /// At its end.
    Over,
}

impl Client {
    /// A machine for a new connection with so many streams, at most [`STREAMS_MAX`]; `keepalive` if the requests ask for it
    /// to be left open.
    #[must_use]
    pub fn new(limits: Limits, keepalive: bool, streams: u32) -> Self {
        let others = streams.clamp(1, STREAMS_MAX) - 1;
        Self {
            state: State::Header,
            header: [0; HEADER_BYTES],
            have: 0,
            end: [0; HEADER_BYTES],
            left: 0,
            padding: 0,
            first: Exchange::default(),
            others: (0..others).map(|_| Exchange::default()).collect(),
            used: 0,
            out: 0,
            cancelled: 0,
            own: Vec::new(),
            keepalive,
            failed: None,
            limits: limits.honoured(),
        }
    }

    /// Streams that a request can be out on: all but those given up whose end has not come.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.streams() - self.cancelled.count_ones()
    }

    fn streams(&self) -> u32 {
        1 + self.others.len() as u32
    }

    /// The lowest stream that is free.
    ///
    /// # Panics
    ///
    /// If none is.
    pub fn open(&mut self) -> StreamId {
        let stream = self.used.trailing_ones();
        assert!(stream < self.streams(), "all streams are in use");
        self.used |= 1 << stream;
        stream as StreamId
    }

    /// A request was sent on a stream, or will be before its response can come.
    ///
    /// # Panics
    ///
    /// With a request out there already.
    #[inline]
    pub fn submit(&mut self, stream: StreamId) {
        assert!(self.out & bit(stream) == 0, "a request is out already");
        self.used |= bit(stream);
        self.out |= bit(stream);
    }

    /// Gives a request up and tells the application; the stream is in use until it has ended there too. False where it is
    /// the last stream: the connection is of no use then.
    pub fn cancel(&mut self, stream: StreamId) -> bool {
        if self.capacity() <= 1 {
            return false;
        }
        self.out &= !bit(stream);
        self.cancelled |= bit(stream);
        self.own.extend_from_slice(&record_header(record::ABORT_REQUEST, request_id(stream), 0));
        true
    }

    /// Bytes to be sent on the connection's own account, between two requests.
    #[must_use]
    pub fn poll_transmit(&self) -> &[u8] {
        &self.own
    }

    /// So many of them were sent.
    pub fn transmitted(&mut self, bytes: usize) {
        self.own.drain(..bytes);
    }

    /// Requests whose end has not come, those given up included.
    #[inline]
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        (self.out | self.cancelled).count_ones()
    }

    /// How far the response on a stream has come; after an error, where it happened.
    #[must_use]
    pub fn progress(&self, stream: StreamId) -> Progress {
        if self.out & bit(stream) == 0 { Progress::Idle } else { self.exchange(stream).progress() }
    }

    /// Stream that the next bytes belong to, which no response can end before [`Client::receive`] has told the next; none
    /// between two records, and where there is one stream only.
    #[inline]
    #[must_use]
    pub fn receiving(&self) -> Option<StreamId> {
        let is_inside = !self.others.is_empty() && self.state != State::Header;
        if is_inside { self.stream() } else { None }
    }

    /// Consumes input until a response is complete, or what follows belongs to another stream, or the input is used up.
    ///
    /// # Errors
    /// What is wrong with what came; no request is answered from then on.
    pub fn receive(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        let result = self.advance(input, sink);
        if let Err(error) = result {
            self.failed = Some(error);
        }
        result
    }

    /// The peer closed its side: no news when no request is out.
    ///
    /// # Errors
    /// What was cut, of the lowest stream with a request out.
    pub fn receive_eof(&mut self) -> Result<(), ClientError> {
        let error = match (self.failed, self.progress(self.out.trailing_zeros() as StreamId)) {
            (Some(error), _) => error,
            (None, Progress::Idle) => return Ok(()),
            (None, Progress::FirstByte) => ClientError::ClosedBeforeResponse,
            (None, Progress::Head) => ClientError::ClosedInHead,
            (None, Progress::Body) => ClientError::ClosedInBody { missing: None },
        };
        self.failed = Some(error);
        Err(error)
    }

    fn advance(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<Received, ClientError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.outstanding() == 0 && !input.is_empty() {
            return Err(ClientError::UnexpectedBytes);
        }
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            let was = self.state;
            at += match was {
                State::Header => self.record_header(rest)?,
                State::Content => self.content(rest, sink)?,
                State::Padding | State::Over => self.skip_padding(rest),
            };
            if self.state == State::Over {
                (self.state, self.have) = (State::Header, 0);
                if let Some(event) = self.record_over() {
                    return Ok(Received { consumed: at, event: Some(event) });
                }
            } else if was == State::Header && self.receiving().is_some() {
                // Whose record this is may want another sink.
                return Ok(Received { consumed: at, event: None });
            }
        }
        Ok(Received { consumed: input.len(), event: None })
    }

    /// The header of a record, as far as it has come.
    fn record_header(&mut self, input: &[u8]) -> Result<usize, ClientError> {
        // Another protocol shows in the first byte.
        if self.have == 0 && input[0] != VERSION {
            return Err(ClientError::NotFastCgi);
        }
        let taken = fill(&mut self.header, self.have, input);
        self.have += taken;
        if self.have < HEADER_BYTES {
            return Ok(taken);
        }
        let [_, kind, .., high, low, padding, _] = self.header;
        self.left = usize::from(u16::from_be_bytes([high, low]));
        self.padding = usize::from(padding);
        // Records of identifier 0 are about the connection and may be left unread.
        if self.header[2..4] != [0, 0] {
            let is_known = matches!(kind, record::STDOUT | record::STDERR | record::END_REQUEST);
            let stream = self.stream().filter(|stream| (self.out | self.cancelled) & bit(*stream) != 0);
            let (true, Some(stream)) = (is_known, stream) else { return Err(ClientError::Malformed(Part::Record)) };
            if kind == record::END_REQUEST && self.left != HEADER_BYTES {
                return Err(ClientError::Malformed(Part::Record));
            }
            let (left, limits) = (self.left, self.limits);
            let exchange = self.exchange_mut(stream);
            exchange.begin();
            if kind == record::STDOUT {
                exchange.check_body(left, &limits)?;
            }
        }
        self.next_state();
        Ok(taken)
    }

    /// After a header, and when a part of the record has been read.
    const fn next_state(&mut self) {
        self.state = match (self.left, self.padding) {
            (0, 0) => State::Over,
            (0, _) => State::Padding,
            _ => State::Content,
        };
    }

    /// Stream of the current record; none where it is about the connection.
    fn stream(&self) -> Option<StreamId> {
        let id = u16::from_be_bytes([self.header[2], self.header[3]]);
        id.checked_sub(1).filter(|stream| u32::from(*stream) < self.streams())
    }

    fn content(&mut self, input: &[u8], sink: &mut impl ResponseSink) -> Result<usize, ClientError> {
        let part = &input[..input.len().min(self.left)];
        let (left, limits) = (self.left, self.limits);
        let taken = match (self.header[1], self.stream()) {
            (record::END_REQUEST, Some(_)) => fill(&mut self.end, HEADER_BYTES - self.left, part),
            (record::STDOUT, Some(stream)) if self.out & bit(stream) != 0 => {
                self.exchange_mut(stream).document(part, left, &limits, sink)?
            }
            _ => part.len(),
        };
        self.left -= taken;
        self.next_state();
        Ok(taken)
    }

    fn skip_padding(&mut self, input: &[u8]) -> usize {
        let taken = input.len().min(self.padding);
        self.padding -= taken;
        self.next_state();
        taken
    }

    /// What the record that has come means for its stream: nothing, unless it ends a request that was not given up.
    fn record_over(&mut self) -> Option<Event> {
        let stream = self.stream().filter(|_| self.header[1] == record::END_REQUEST)?;
        let is_awaited = self.out & bit(stream) != 0;
        for streams in [&mut self.used, &mut self.out, &mut self.cancelled] {
            *streams &= !bit(stream);
        }
        let (status, keepalive) = (self.end[4], self.keepalive);
        let ended = self.exchange_mut(stream).end(status, keepalive);
        let event = ended.map_or_else(|error| Event::Failed { error, keepalive }, Event::Response);
        is_awaited.then_some(event)
    }

    fn exchange(&self, stream: StreamId) -> &Exchange {
        match stream.checked_sub(1) {
            None => &self.first,
            Some(other) => &self.others[usize::from(other)],
        }
    }

    fn exchange_mut(&mut self, stream: StreamId) -> &mut Exchange {
        match stream.checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[usize::from(other)],
        }
    }

    /// Bytes of a cut-off line held back on a stream, for the tests of bounds.
    pub(crate) fn stashed(&self) -> usize {
        self.others.iter().chain([&self.first]).map(Exchange::stashed).max().unwrap_or_default()
    }
}

/// Its place in a set of streams.
const fn bit(stream: StreamId) -> u64 {
    1 << (stream % STREAMS_MAX as StreamId)
}

/// Copies what is missing of `whole`, of which `have` bytes are there; the bytes taken.
fn fill(whole: &mut [u8; HEADER_BYTES], have: usize, input: &[u8]) -> usize {
    let taken = input.len().min(HEADER_BYTES - have);
    whole[have..have + taken].copy_from_slice(&input[..taken]);
    taken
}
