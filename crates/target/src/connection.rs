//! One connection: its socket, its protocol machine, and what it still owes its client.

use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use wire::http1::{Limits, Part, Server, ServerError, write_chunk, write_last_chunk};
use wire::tls::TlsError;

use super::body::{Body, Source};
use super::clients::Slot;
use super::deadlines::Waits;
use super::site::Site;
use net::{TlsStream, TlsStreamError};

/// Longest request head; beyond it is 414 or 431.
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// Most header lines of a request.
const HEADERS_MAX: usize = 128;
/// Longest Host header that is kept: a name of 253 bytes and a port; bytes.
pub(super) const HOST_MAX_BYTES: usize = 260;
/// Largest request body; beyond it is 413.
const BODY_MAX_BYTES: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    /// What encrypts, if anything does.
    tls: Option<Box<TlsStream>>,
    pub(super) machine: Server,
    /// Answered, and not yet taken by the kernel: from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// What follows `unsent`.
    pub(super) body: Option<Body>,
    /// An answer that waits for its time, and for that only, with the body that follows it.
    pub(super) held: Option<(Vec<u8>, Option<Body>)>,
    /// When its timer is due, if it has one; ns since the start.
    pub(super) due_ns: Option<u64>,
    /// Read behind a request whose answer is not sent yet.
    pub(super) leftover: Vec<u8>,
    /// A read may bring something.
    pub(super) readable: bool,
    /// The client has closed its side, so reads go on to the end.
    pub(super) half_closed: bool,
    /// It is in the worker's list of those to go on with.
    pub(super) queued: bool,
    /// The last answer is on its way; the connection is closed after it.
    pub(super) last: bool,
    /// The client may still be sending: closing at once would reset the connection and take the answer away.
    pub(super) linger: bool,
    /// It ends with a reset.
    pub(super) reset: bool,
    /// What is held stands for an answer that never comes.
    pub(super) dropped: bool,
    /// The request that is being read.
    pub(super) incoming: Incoming,
    /// The sending side is closed, and what still comes is discarded.
    pub(super) draining: bool,
    /// Where its client is counted.
    pub(super) client: Slot,
    /// When bytes came or were taken for the last time, or the server let go of some; ns since the start.
    pub(super) active_ns: u64,
    /// Bytes of what was owed that the kernel has taken.
    taken: u64,
    /// Of these, those that had been taken when it was blocked for the last time.
    taken_before: u64,
}

/// What an answer needs to know of a request besides what its machine keeps.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The Host header, at most [`HOST_MAX_BYTES`] of it.
    pub(super) host: String,
    /// Over the body so far.
    pub(super) crc32: crc32fast::Hasher,
    /// It shows the token of the server.
    pub(super) authorized: bool,
    /// Whose page asks.
    pub(super) site: Site,
    /// Its head is complete.
    pub(super) in_body: bool,
    /// Lengths that its head gives.
    pub(super) lengths: usize,
    /// When its first bytes were read, if it is not complete yet; ns since the start.
    begun_ns: Option<u64>,
}

/// What a complete request leaves for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Complete {
    /// Over its body.
    pub(super) crc32: u32,
    /// It showed the token of the server.
    pub(super) authorized: bool,
    /// A page of another origin sent it.
    pub(super) is_foreign: bool,
}

/// What became of bytes that were to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing is owed.
    All,
    /// Some are gone, more can be tried.
    Some,
    /// The client has to take what it got first.
    Blocked,
    /// The client is gone.
    Gone,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Bytes(usize),
    Nothing,
    End,
    Gone,
    /// The client speaks no TLS, and is not answered in it from now on.
    NotTls,
    /// The client has broken TLS, and was told so as far as the kernel took it.
    BrokenTls,
}

impl Incoming {
    /// A part of the request was read; empty lines before it (RFC 9112 section 2.2) begin none.
    pub(super) fn begin(&mut self, bytes: &[u8], now_ns: u64) {
        if self.begun_ns.is_none() && bytes.iter().any(|byte| !matches!(byte, b'\r' | b'\n')) {
            self.begun_ns = Some(now_ns);
        }
    }

    /// Refuses a head that gives its length more than once: RFC 9112 section 6.3 lets equal ones pass, but who sends
    /// several may want two servers to read different ones.
    pub(super) fn unambiguous<T>(&self, received: T) -> Result<T, ServerError> {
        if self.lengths > 1 { Err(ServerError::Malformed(Part::ContentLength)) } else { Ok(received) }
    }

    /// Ends the request, and is ready for the next.
    pub(super) fn complete(&mut self) -> Complete {
        let is_foreign = self.site.is_foreign(&self.host);
        let complete = Complete { crc32: self.crc32.clone().finalize(), authorized: self.authorized, is_foreign };
        self.crc32.reset();
        self.site.forget();
        (self.authorized, self.in_body, self.lengths, self.begun_ns) = (false, false, 0, None);
        complete
    }
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, tls: Option<TlsStream>, client: Slot, now_ns: u64) -> Self {
        let limits = Limits {
            head_bytes: HEAD_MAX_BYTES,
            headers: HEADERS_MAX,
            body_bytes: BODY_MAX_BYTES,
            ..Limits::default()
        };
        Self {
            socket,
            tls: tls.map(Box::new),
            machine: Server::new(limits),
            unsent: Vec::new(),
            sent: 0,
            body: None,
            held: None,
            due_ns: None,
            leftover: Vec::new(),
            readable: false,
            half_closed: false,
            queued: false,
            last: false,
            linger: false,
            reset: false,
            dropped: false,
            incoming: Incoming::default(),
            draining: false,
            client,
            active_ns: now_ns,
            taken: 0,
            taken_before: 0,
        }
    }

    /// What it waits for when all that could be sent was.
    pub(super) fn waits(&self) -> Waits {
        if self.due_ns.is_some() {
            return Waits::Timer;
        }
        match self.incoming.begun_ns {
            None => Waits::Idle { since_ns: self.active_ns },
            Some(begun_ns) if self.incoming.in_body => Waits::Body { begun_ns, since_ns: self.active_ns },
            Some(begun_ns) => Waits::Head { begun_ns },
        }
    }

    /// True if the client has taken some of what it is owed since this was asked for the last time.
    pub(super) fn has_taken(&mut self) -> bool {
        let before = std::mem::replace(&mut self.taken_before, self.taken);
        before != self.taken
    }

    /// True if a part of a request has come.
    pub(super) fn is_in_request(&self) -> bool {
        self.incoming.begun_ns.is_some()
    }

    /// True if the next request can be answered now.
    pub(super) const fn is_free(&self) -> bool {
        !self.last && self.held.is_none() && self.body.is_none()
    }

    /// True if the client has yet to agree on how to encrypt.
    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|stream| stream.tls.is_handshaking())
    }

    /// Reads once. A read that does not fill `input` has emptied the socket, so the next edge says when to go on.
    /// What is encrypted is read into `encrypted` first.
    pub(super) fn read(&mut self, input: &mut [u8], encrypted: &mut [u8]) -> Read {
        if self.tls.is_some() {
            return self.read_sealed(input, encrypted);
        }
        let size = input.len();
        loop {
            return match recv(&self.socket, &mut *input, RecvFlags::empty()) {
                Ok((0, _)) => Read::End,
                Ok((got, _)) => {
                    self.readable = got == size || self.half_closed;
                    Read::Bytes(got)
                }
                Err(Errno::AGAIN) => {
                    self.readable = false;
                    Read::Nothing
                }
                Err(Errno::INTR) => continue,
                Err(_) => Read::Gone,
            };
        }
    }

    fn read_sealed(&mut self, input: &mut [u8], encrypted: &mut [u8]) -> Read {
        let Some(stream) = &mut self.tls else { return Read::Gone };
        match stream.read(&self.socket, encrypted, input) {
            Ok(Some(0)) => Read::End,
            Ok(Some(got)) => {
                self.readable = stream.has_more() || self.half_closed;
                Read::Bytes(got)
            }
            Ok(None) => {
                self.readable = stream.has_more();
                Read::Nothing
            }
            Err(TlsStreamError::Socket(_)) => Read::Gone,
            Err(TlsStreamError::Tls(error)) => {
                self.tls = None;
                if error == TlsError::NotTls { Read::NotTls } else { Read::BrokenTls }
            }
        }
    }

    /// Sends `answers` when nothing else is owed; what the kernel does not take is owed then.
    pub(super) fn send(&mut self, answers: &[u8]) -> Sent {
        debug_assert!(self.unsent.is_empty(), "answers go out in order");
        match hand_over(&self.socket, &mut self.tls, answers, more_follows(self.body)) {
            Ok(taken) if taken == answers.len() => Sent::All,
            Ok(taken) => {
                self.unsent.extend_from_slice(&answers[taken..]);
                Sent::Blocked
            }
            Err(_) => Sent::Gone,
        }
    }

    /// What was held is owed from now on.
    pub(super) fn release(&mut self) {
        let Some((answer, body)) = self.held.take() else { return };
        self.body = body;
        if self.unsent.is_empty() {
            (self.unsent, self.sent) = (answer, 0);
        } else {
            self.unsent.extend_from_slice(&answer);
        }
    }

    /// When what is owed may go on, if it has to wait; ns since the start.
    pub(super) fn paused_until_ns(&self) -> Option<u64> {
        if self.unsent.is_empty() { self.body?.due_ns() } else { None }
    }

    /// Sends what is owed, once.
    pub(super) fn send_owed(&mut self, source: &mut Source) -> Sent {
        match self.flush_sealed() {
            Sent::All => {}
            other => return other,
        }
        if !self.unsent.is_empty() {
            return self.send_unsent();
        }
        match self.body {
            None => Sent::All,
            Some(body) if body.chunk.is_some() => self.send_chunk(body, source),
            Some(body) => self.send_piece(body, source),
        }
    }

    /// Sends what is encrypted already.
    fn flush_sealed(&mut self) -> Sent {
        match self.tls.as_mut().map_or(Ok(true), |stream| stream.flush(&self.socket, false)) {
            Ok(true) => Sent::All,
            Ok(false) => Sent::Blocked,
            Err(_) => Sent::Gone,
        }
    }

    /// Tells a client that speaks TLS that nothing more will come.
    pub(super) fn say_goodbye(&mut self) -> Sent {
        if let Some(stream) = self.tls.as_mut().filter(|_| !self.reset) {
            stream.tls.close();
        }
        self.flush_sealed()
    }

    fn send_unsent(&mut self) -> Sent {
        match hand_over(&self.socket, &mut self.tls, &self.unsent[self.sent..], more_follows(self.body)) {
            Ok(taken) => {
                self.sent += taken;
                self.taken += taken as u64;
            }
            Err(_) => return Sent::Gone,
        }
        if self.sent < self.unsent.len() {
            return Sent::Blocked;
        }
        self.unsent.clear();
        self.sent = 0;
        if self.body.is_some() { Sent::Some } else { Sent::All }
    }

    /// The next piece, straight from its source.
    fn send_piece(&mut self, mut body: Body, source: &mut Source) -> Sent {
        let piece = source.piece(body.fill, body.sent, body.next_len());
        match hand_over(&self.socket, &mut self.tls, piece, false) {
            Ok(taken) => {
                body.sent += taken as u64;
                self.taken += taken as u64;
                self.body = (body.sent < body.size).then_some(body);
                match self.body {
                    None => Sent::All,
                    Some(_) if taken < piece.len() => Sent::Blocked,
                    Some(_) => Sent::Some,
                }
            }
            Err(_) => Sent::Gone,
        }
    }

    /// The next chunk: written to `unsent`, which is empty, and sent from there.
    fn send_chunk(&mut self, mut body: Body, source: &mut Source) -> Sent {
        let size = body.next_len();
        write_chunk(&mut self.unsent, source.piece(body.fill, body.sent, size));
        body.sent += size as u64;
        self.body = (body.sent < body.size).then_some(body);
        if self.body.is_none() && !body.unfinished {
            write_last_chunk(&mut self.unsent);
        }
        self.send_unsent()
    }

    /// Closing will discard what is not acknowledged and send a reset.
    pub(super) fn reset_on_close(&self) {
        // Without it the connection ends in good order, which the client also sees as broken off.
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }

    /// Closes the sending side; what the client still sends is read and discarded from now on.
    pub(super) fn drain(&mut self) {
        self.draining = true;
        self.readable = true;
        // A client that is gone is noticed by the next read.
        let _ = shutdown(&self.socket, Shutdown::Write);
    }
}

/// True if a body follows at once.
fn more_follows(body: Option<Body>) -> bool {
    body.is_some_and(|body| body.pace.is_none())
}

/// Bytes that were taken, 0 when none are at the moment. With `more` to follow, the kernel may wait for it to fill a
/// segment.
fn hand_over(socket: &OwnedFd, tls: &mut Option<Box<TlsStream>>, bytes: &[u8], more: bool) -> Result<usize, Errno> {
    if let Some(stream) = tls {
        return stream.send(socket, bytes, more);
    }
    let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
    loop {
        match send(socket, bytes, flags) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Fill;
    use crate::clients::Clients;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    /// A connection, and the client's end of it.
    fn pair() -> (Connection, OwnedFd) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("two sockets");
        let client = Clients::new(1).enter(None).expect("the first");
        (Connection::new(ours, None, client, 3), theirs)
    }

    #[test]
    fn what_is_waited_for_follows_what_has_come() {
        let (mut connection, _client) = pair();
        assert_eq!(connection.waits(), Waits::Idle { since_ns: 3 });
        connection.incoming.begin(b"\r\n", 5);
        assert_eq!(connection.waits(), Waits::Idle { since_ns: 3 });
        connection.incoming.begin(b"\r\nG", 7);
        connection.incoming.begin(b"ET", 8);
        connection.active_ns = 8;
        assert_eq!(connection.waits(), Waits::Head { begun_ns: 7 });
        connection.incoming.in_body = true;
        assert_eq!(connection.waits(), Waits::Body { begun_ns: 7, since_ns: 8 });
        assert!(connection.is_in_request());
        connection.due_ns = Some(9);
        assert_eq!(connection.waits(), Waits::Timer);
        connection.due_ns = None;
        connection.incoming.complete();
        assert_eq!(connection.waits(), Waits::Idle { since_ns: 8 });
    }

    #[test]
    fn only_bytes_that_the_client_takes_are_progress() {
        let (mut connection, client) = pair();
        let mut source = Source::new();
        let pace = None;
        connection.body = Some(Body { fill: Fill::Zero, size: 1 << 30, sent: 0, chunk: None, unfinished: false, pace });
        let mut fill = |connection: &mut Connection| {
            while connection.send_owed(&mut source) == Sent::Some {}
            connection.has_taken()
        };
        assert!(fill(&mut connection), "what fits into the socket");
        assert!(!fill(&mut connection), "and no more");
        let mut taken = vec![0u8; 1 << 20];
        while recv(&client, &mut *taken, RecvFlags::empty()).is_ok_and(|(got, _)| got > 0) {}
        assert!(fill(&mut connection));
        assert!(!fill(&mut connection));
    }

    #[test]
    fn a_length_that_is_given_twice_is_refused() {
        let mut incoming = Incoming { lengths: 1, ..Incoming::default() };
        assert_eq!(incoming.unambiguous(()), Ok(()));
        incoming.lengths = 2;
        assert_eq!(incoming.unambiguous(()), Err(ServerError::Malformed(Part::ContentLength)));
        incoming.complete();
        assert_eq!(incoming.unambiguous(()), Ok(()));
    }
}
