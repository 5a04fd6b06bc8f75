//! Commands to the browser and what it says, over its pipes, with deadlines.

use crate::error::BrowserError;
use crate::messages::{Message, Reassembly};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value, json};
use stack::Piped;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long one waits before looking for ^C again; ns.
const LOOK_UP_NS: u64 = 50_000_000;
/// Time that an ended browser has until it is known how it ended; ns.
const ENDING_NS: u64 = 2_000_000_000;
/// Events that wait while an answer is waited for.
const WAITING_MAX: usize = 100_000;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// The connection.
pub(crate) struct Pipe {
    program: Piped,
    reassembly: Reassembly,
    /// Events that came while an answer was waited for.
    waiting: VecDeque<Message>,
    sent: u64,
    stop: Arc<AtomicBool>,
}

/// What became of a command.
pub(crate) enum Answer {
    /// Its facts.
    Result(Value),
    /// It was refused; why.
    Refused(String),
    /// It was not answered in time.
    Late,
}

impl Pipe {
    pub(crate) fn new(program: Piped, stop: Arc<AtomicBool>) -> Self {
        Self { program, reassembly: Reassembly::default(), waiting: VecDeque::new(), sent: 0, stop }
    }

    /// Sends a command and returns its number.
    pub(crate) fn send(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<u64, BrowserError> {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let text = format!("{message}\0");
        let written = self.program.input.as_mut().map(|input| input.write_all(text.as_bytes()));
        match written {
            Some(Ok(())) => Ok(self.sent),
            Some(Err(error)) => Err(self.gone(&format!("does not read: {error}"))),
            None => Err(self.gone("was closed")),
        }
    }

    /// Sends a command and waits for its answer; events that come meanwhile wait for [`Self::next`].
    pub(crate) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
        deadline_ns: u64,
    ) -> Result<Answer, BrowserError> {
        let id = self.send(session, method, params)?;
        loop {
            match self.read(deadline_ns)? {
                None => return Ok(Answer::Late),
                Some(Message { id: Some(answered), error, result, .. }) if answered == id => {
                    return Ok(error.map_or(Answer::Result(result), |error| Answer::Refused(error.message)));
                }
                // Answers to commands that nobody waits for.
                Some(Message { id: Some(_), .. }) => {}
                Some(event) => {
                    self.waiting.push_back(event);
                    if self.waiting.len() > WAITING_MAX {
                        return Err(self.gone("sends events without end"));
                    }
                }
            }
        }
    }

    /// The next message, answers included; none at the deadline.
    pub(crate) fn next(&mut self, deadline_ns: u64) -> Result<Option<Message>, BrowserError> {
        match self.waiting.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.read(deadline_ns),
        }
    }

    /// Forgets events of what is over.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Closes the browser in good order.
    pub(crate) fn close(mut self) {
        // It is ended in any case.
        let _ = self.send(None, "Browser.close", json!({}));
        self.program.ended_within(ENDING_NS);
    }

    fn read(&mut self, deadline_ns: u64) -> Result<Option<Message>, BrowserError> {
        loop {
            if let Some(message) = self.reassembly.next().map_err(BrowserError::Ended)? {
                return Ok(Some(message));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(BrowserError::Interrupted);
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= deadline_ns {
                return Ok(None);
            }
            if !self.is_readable(deadline_ns - now_ns)? {
                continue;
            }
            let mut buffer = [0; READ_BYTES];
            match self.program.output.read(&mut buffer) {
                Ok(0) => return Err(self.gone("closed its pipe")),
                Ok(count) => self.reassembly.add(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.gone(&format!("cannot be read: {error}"))),
            }
        }
    }

    fn is_readable(&mut self, wait_ns: u64) -> Result<bool, BrowserError> {
        let wait_ns = wait_ns.min(LOOK_UP_NS);
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ns as i64 };
        let mut descriptors = [PollFd::new(&self.program.output, PollFlags::IN)];
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(self.gone(&format!("cannot be waited for: {error}"))),
        }
    }

    /// The error of a browser that is no more, or that is to be no more.
    fn gone(&mut self, why: &str) -> BrowserError {
        BrowserError::Ended(self.program.ended_within(ENDING_NS).unwrap_or_else(|| why.to_owned()))
    }
}
