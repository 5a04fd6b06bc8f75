//! Requests and their answers, one at a time, on one blocking connection.

use super::line::{Deadline, Line};
use crate::source::Style;
use crate::tls::Config;
use model::{Address, TlsSession};
use std::io;
use wire::http1::{ClientError, Expect, Limits, Response, ResponseSink};
use wire::{ClientProtocol, Event, fastcgi};

/// Bytes of a body the probe is willing to read; a larger one is the user's to declare.
const BODY_MAX_BYTES: u64 = 1 << 30;
/// How long an answer is awaited from a server that takes no more of the request; ns.
const EARLY_WAIT_NS: u64 = 50_000_000;
/// First bytes of an answer that are shown when it is not HTTP.
const SHOWN_BYTES: usize = 24;

/// A connection and the state of the protocol on it.
pub(super) struct Dialogue {
    line: Line,
    machine: ClientProtocol,
    /// First bytes of the answer that came last.
    first: Vec<u8>,
    /// Bytes of that answer, head included.
    received_bytes: u64,
    /// Of these, behind its end.
    surplus_bytes: u64,
}

/// Why there is no answer.
pub(super) enum Loss {
    /// The connection broke or stayed silent; errors of TLS are inside.
    Io(io::Error),
    /// What came is no answer.
    Http(ClientError),
}

impl Dialogue {
    /// Opens a connection.
    pub(super) fn connect(address: &Address, style: Style<'_>, timeout_ns: u64) -> io::Result<Self> {
        let machine = style.machine(Limits { body_bytes: BODY_MAX_BYTES, ..Limits::default() });
        Ok(Self {
            line: Line::connect(address, timeout_ns)?,
            machine,
            first: Vec::new(),
            received_bytes: 0,
            surplus_bytes: 0,
        })
    }

    /// Does the TLS handshake, if there is to be one.
    pub(super) fn start_tls(&mut self, tls: Option<&Config>, timeout_ns: u64) -> io::Result<()> {
        tls.map_or(Ok(()), |config| self.line.start_tls(config, Deadline::after(timeout_ns)))
    }

    /// Sends a request and waits for its answer, both within `timeout_ns`. A server that takes no more of a request may
    /// have said why.
    pub(super) fn exchange(
        &mut self,
        request: &[u8],
        expect: Expect,
        timeout_ns: u64,
        sink: &mut impl ResponseSink,
    ) -> Result<Response, Loss> {
        let deadline = Deadline::after(timeout_ns);
        match self.send(request, expect, deadline) {
            Ok(()) => self.receive(deadline, sink),
            Err(loss) => match self.receive(Deadline::after(EARLY_WAIT_NS), sink) {
                Ok(response) => Ok(Response { keepalive: false, ..response }),
                Err(_) => Err(loss),
            },
        }
    }

    /// Sends a request; nothing else may be outstanding.
    pub(super) fn send(&mut self, request: &[u8], expect: Expect, deadline: Deadline) -> Result<(), Loss> {
        let stream = self.machine.open();
        self.machine.submit(stream, expect);
        self.line.write_all(request, deadline).map_err(Loss::Io)
    }

    /// The complete answer to what was sent.
    pub(super) fn receive(&mut self, deadline: Deadline, sink: &mut impl ResponseSink) -> Result<Response, Loss> {
        self.first.clear();
        (self.received_bytes, self.surplus_bytes) = (0, 0);
        loop {
            let bytes = self.line.read(deadline).map_err(Loss::Io)?;
            self.received_bytes += bytes.len() as u64;
            if self.first.is_empty() {
                self.first.extend_from_slice(&bytes[..bytes.len().min(SHOWN_BYTES)]);
            }
            let (given, received) = match bytes {
                [] => (0, self.machine.receive_eof().map(|response| (0, response.map(Event::Response)))),
                _ => (bytes.len(), self.machine.receive(bytes, sink).map(|it| (it.consumed, it.event))),
            };
            let (consumed, event) = received.map_err(Loss::Http)?;
            if let Some(Event::Failed { error, .. }) = event {
                return Err(Loss::Http(error));
            }
            if let Some(Event::Response(response)) = event {
                // A connection that has ended, or on which more came than was announced, serves no other request.
                let is_clean = consumed == given || self.machine.passes_over(&bytes[consumed..]);
                self.surplus_bytes = if is_clean { 0 } else { (given - consumed) as u64 };
                let goes_on = given > 0 && is_clean;
                return Ok(Response { keepalive: response.keepalive && goes_on, ..response });
            }
        }
    }

    /// True if a FastCGI application takes several requests at a time on a connection; one that closes it does not know.
    pub(super) fn ask_multiplexing(&mut self, timeout_ns: u64) -> Result<bool, Loss> {
        let (mut question, mut answer) = (Vec::new(), Vec::new());
        fastcgi::ask_multiplexing(&mut question);
        let deadline = Deadline::after(timeout_ns);
        self.line.write_all(&question, deadline).map_err(Loss::Io)?;
        loop {
            let bytes = self.line.read(deadline).map_err(Loss::Io)?;
            if bytes.is_empty() {
                return Ok(false);
            }
            answer.extend_from_slice(bytes);
            if let Some(multiplexes) = fastcgi::multiplexing(&answer).map_err(Loss::Http)? {
                return Ok(multiplexes);
            }
        }
    }

    /// What it would mean if the connection ended now.
    pub(super) fn end(&mut self) -> Result<Option<Response>, ClientError> {
        self.machine.receive_eof()
    }

    /// First bytes of the answer that came last.
    pub(super) fn first(&self) -> &[u8] {
        &self.first
    }

    /// Bytes behind the end of the answer that came last, those included that come in the next `wait_ns`.
    pub(super) fn surplus_bytes(&mut self, wait_ns: u64) -> u64 {
        if self.surplus_bytes == 0 && wait_ns > 0 {
            // A silence, an end, or an empty line is what there should be.
            let bytes = self.line.read(Deadline::after(wait_ns)).unwrap_or_default();
            self.surplus_bytes = if self.machine.passes_over(bytes) { 0 } else { bytes.len() as u64 };
        }
        self.surplus_bytes
    }

    /// Bytes of the answer that came last, head included.
    pub(super) const fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// What TLS has agreed on; none without TLS.
    pub(super) fn session(&self) -> Option<TlsSession> {
        self.line.session()
    }
}
