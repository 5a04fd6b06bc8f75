//! Commands to the browser and what it says, over its pipes, with deadlines.

use crate::error::BrowserError;
use crate::messages::{Message, Reassembly};
use crate::said::in_a_line;
use crate::waiting::Waiting;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value, json};
use stack::Piped;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long one waits before looking for ^C again; ns.
const LOOK_UP_NS: u64 = 50_000_000;
/// Time that an ended browser has until it is known how it ended; ns.
const ENDING_NS: u64 = 2_000_000_000;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Bytes written at once: as many as a pipe that has any room takes without waiting (`PIPE_BUF` of Linux, pipe(7)).
const WRITE_BYTES: usize = 4096;

/// A program that reads commands from one pipe and writes what it says to another.
pub(crate) trait Spoken {
    /// None once it was closed.
    fn input(&mut self) -> Option<&mut File>;
    fn output(&mut self) -> &mut File;
    /// How it has ended, once it had so much time to end; ns. None while it runs.
    fn ended_within(&mut self, time_ns: u64) -> Option<String>;
}

impl Spoken for Piped {
    fn input(&mut self) -> Option<&mut File> {
        self.input.as_mut()
    }

    fn output(&mut self) -> &mut File {
        &mut self.output
    }

    fn ended_within(&mut self, time_ns: u64) -> Option<String> {
        Self::ended_within(self, time_ns)
    }
}

/// The connection.
pub(crate) struct Pipe<P = Piped> {
    program: P,
    reassembly: Reassembly,
    /// Events that came while an answer was waited for.
    waiting: Waiting,
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

impl<P: Spoken> Pipe<P> {
    pub(crate) fn new(program: P, stop: Arc<AtomicBool>) -> Self {
        Self { program, reassembly: Reassembly::default(), waiting: Waiting::default(), sent: 0, stop }
    }

    /// Sends a command and returns its number. Fails if the browser has not taken all of it at the deadline: what it would be
    /// sent after a part of a message would be none.
    pub(crate) fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
        deadline_ns: u64,
    ) -> Result<u64, BrowserError> {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.write(format!("{message}\0").as_bytes(), deadline_ns)?;
        Ok(self.sent)
    }

    /// Sends a command and waits for its answer; events that come meanwhile wait for [`Self::next`].
    pub(crate) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
        deadline_ns: u64,
    ) -> Result<Answer, BrowserError> {
        let id = self.send(session, method, params, deadline_ns)?;
        loop {
            let Some(text) = self.read(deadline_ns)? else { return Ok(Answer::Late) };
            let Message { id: answered, error, result, .. } = Message::read(&text).map_err(BrowserError::Ended)?;
            match answered {
                Some(answered) if answered == id => {
                    return Ok(error.map_or(Answer::Result(result), |error| Answer::Refused(in_a_line(&error.message))));
                }
                // Answers to commands that nobody waits for.
                Some(_) => {}
                None => self.waiting.push(text).map_err(|why| self.gone(&why))?,
            }
        }
    }

    /// The next message, answers included; none at the deadline.
    pub(crate) fn next(&mut self, deadline_ns: u64) -> Result<Option<Message>, BrowserError> {
        let text = match self.waiting.pop() {
            Some(event) => Some(event),
            None => self.read(deadline_ns)?,
        };
        text.map(|text| Message::read(&text).map_err(BrowserError::Ended)).transpose()
    }

    /// Forgets events of what is over.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Closes the browser in good order.
    pub(crate) fn close(mut self) {
        // It is ended in any case.
        let _ = self.send(None, "Browser.close", json!({}), clock::monotonic_ns() + ENDING_NS);
        self.program.ended_within(ENDING_NS);
    }

    /// The text of the next message; none at the deadline.
    fn read(&mut self, deadline_ns: u64) -> Result<Option<Vec<u8>>, BrowserError> {
        loop {
            if let Some(text) = self.reassembly.next().map_err(BrowserError::Ended)? {
                return Ok(Some(text));
            }
            let Some(wait_ns) = self.left(deadline_ns)? else { return Ok(None) };
            if !self.is_readable(wait_ns)? {
                continue;
            }
            let mut buffer = [0; READ_BYTES];
            match self.program.output().read(&mut buffer) {
                Ok(0) => return Err(self.gone("closed its pipe")),
                Ok(count) => self.reassembly.add(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.gone(&format!("cannot be read: {error}"))),
            }
        }
    }

    /// Writes a part whenever the pipe has room for one, which then is taken at once.
    fn write(&mut self, mut bytes: &[u8], deadline_ns: u64) -> Result<(), BrowserError> {
        while !bytes.is_empty() {
            let Some(wait_ns) = self.left(deadline_ns)? else {
                return Err(self.gone("does not read what it is sent"));
            };
            if !self.is_writable(wait_ns)? {
                continue;
            }
            let part = &bytes[..bytes.len().min(WRITE_BYTES)];
            match self.program.input().map(|input| input.write(part)) {
                Some(Ok(count)) => bytes = &bytes[count..],
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Some(Err(error)) => return Err(self.gone(&format!("does not read: {error}"))),
                None => return Err(self.gone("was closed")),
            }
        }
        Ok(())
    }

    /// How long one may wait now; none at the deadline; ns.
    fn left(&self, deadline_ns: u64) -> Result<Option<u64>, BrowserError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BrowserError::Interrupted);
        }
        let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
        Ok((left_ns > 0).then(|| left_ns.min(LOOK_UP_NS)))
    }

    fn is_readable(&mut self, wait_ns: u64) -> Result<bool, BrowserError> {
        let is_ready = is_ready(PollFd::new(self.program.output(), PollFlags::IN), wait_ns);
        is_ready.map_err(|error| self.gone(&format!("cannot be waited for: {error}")))
    }

    /// True of a pipe that was closed, too: writing to it says so.
    fn is_writable(&mut self, wait_ns: u64) -> Result<bool, BrowserError> {
        let Some(input) = self.program.input() else { return Ok(true) };
        let is_ready = is_ready(PollFd::new(input, PollFlags::OUT), wait_ns);
        is_ready.map_err(|error| self.gone(&format!("cannot be waited for: {error}")))
    }

    /// The error of a browser that is no more, or that is to be no more.
    fn gone(&mut self, why: &str) -> BrowserError {
        BrowserError::Ended(self.program.ended_within(ENDING_NS).unwrap_or_else(|| why.to_owned()))
    }
}

/// True if there is something to do with a descriptor within this time.
fn is_ready(descriptor: PollFd<'_>, wait_ns: u64) -> Result<bool, Errno> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ns as i64 };
    match poll(&mut [descriptor], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};

    /// A browser that is a script.
    struct Script {
        child: Child,
        input: File,
        output: File,
    }

    impl Spoken for Script {
        fn input(&mut self) -> Option<&mut File> {
            Some(&mut self.input)
        }

        fn output(&mut self) -> &mut File {
            &mut self.output
        }

        fn ended_within(&mut self, _: u64) -> Option<String> {
            None
        }
    }

    impl Drop for Script {
        fn drop(&mut self) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }

    /// It reads commands from its descriptor 3 and writes to 4, as the browser does.
    fn scripted(script: &str) -> Pipe<Script> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("exec 3<&0 4>&1; {script}")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let [input, output] = [OwnedFd::from(input), OwnedFd::from(output)].map(File::from);
        Pipe::new(Script { child, input, output }, Arc::default())
    }

    fn soon_ns() -> u64 {
        clock::monotonic_ns() + LOOK_UP_NS
    }

    /// It would have been waited for without end: its pipe takes 64 KiB.
    #[test]
    fn a_browser_that_does_not_read_is_given_up() {
        let mut pipe = scripted("while :; do sleep 77; done");
        let long = json!({ "url": "x".repeat(1 << 20) });
        let error = pipe.send(None, "Page.navigate", long.clone(), soon_ns()).expect_err("nobody reads");
        assert_eq!(error.to_string(), "the browser does not read what it is sent");
        pipe.stop.store(true, Ordering::Relaxed);
        assert!(matches!(pipe.send(None, "Page.navigate", long, u64::MAX), Err(BrowserError::Interrupted)));
    }

    #[test]
    fn a_long_command_comes_whole_to_a_browser_that_reads_slowly() {
        let mut pipe = scripted("sleep 0.1; cat <&3 >&4");
        let params = json!({ "url": "x".repeat(1 << 20) });
        let deadline_ns = clock::monotonic_ns() + 60_000_000_000;
        let (reads, mut writes) = (pipe.program.output.try_clone().expect("a pipe"), Vec::new());
        let reader = std::thread::spawn(move || {
            let (mut reads, mut buffer) = (reads, [0; READ_BYTES]);
            while writes.last() != Some(&0) {
                let count = reads.read(&mut buffer).expect("it is written");
                writes.extend_from_slice(&buffer[..count]);
            }
            writes
        });
        let id = pipe.send(Some("S"), "Page.navigate", params.clone(), deadline_ns).expect("it reads");
        let told = reader.join().expect("it comes whole");
        let told: Value = serde_json::from_slice(told.strip_suffix(b"\0").expect("its end")).expect("a message");
        assert_eq!(told, json!({ "id": id, "method": "Page.navigate", "params": params, "sessionId": "S" }));
    }

    #[test]
    fn a_browser_that_floods_instead_of_answering_is_given_up_in_bounded_memory() {
        let flood = "m=$(head -c 4000000 /dev/zero | tr '\\0' x); \
                     while :; do printf '{\"method\":\"A.b\",\"params\":{\"x\":\"%s\"}}\\0' \"$m\"; done >&4";
        let mut pipe = scripted(flood);
        let deadline_ns = clock::monotonic_ns() + 600_000_000_000;
        let Err(error) = pipe.call(None, "Browser.getVersion", json!({}), deadline_ns) else { panic!("an answer") };
        assert_eq!(error.to_string(), "the browser sends more than 64 MiB of events before it answers");
    }

    #[test]
    fn events_that_waited_come_in_their_order_and_before_later_ones() {
        let mut pipe = scripted(
            "printf '{\"method\":\"A\"}\\0{\"method\":\"B\"}\\0{\"id\":1,\"result\":7}\\0{\"method\":\"C\"}\\0' >&4; cat <&3 >&2",
        );
        let deadline_ns = clock::monotonic_ns() + 60_000_000_000;
        let answer = pipe.call(None, "Browser.getVersion", json!({}), deadline_ns).expect("an answer");
        assert!(matches!(answer, Answer::Result(result) if result == 7));
        let mut next = || pipe.next(deadline_ns).expect("a message").map(|message| message.method);
        assert_eq!([next(), next(), next()].map(Option::unwrap), ["A", "B", "C"]);
    }
}
