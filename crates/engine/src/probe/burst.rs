//! A bounded burst of requests over a few connections, to see whether something refuses many at once.

use super::dialogue::{Dialogue, Loss};
use super::line::Deadline;
use crate::core::{BodyCheck, Look, breach, failure_of};
use crate::sockets::kind_of;
use crate::source::{Scratch, Source, Style, TemplateError};
use crate::tls::Config;
use clock::Clock;
use model::{Burst, Failure, FailureKind, FailurePhase, NS_PER_S, Plan, Refusal};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::http1::{Response, ResponseSink};

/// Requests of a burst: as many as a page with its pictures, asked for by a few visitors at once.
const REQUESTS: u32 = 200;
/// Connections that it goes over.
const CONNECTIONS: u32 = 20;
/// After this time no more requests are sent, and none is waited for.
const LENGTH_NS: u64 = 5 * NS_PER_S;
/// Least time that a connection is given, which no local one needs.
const LEAST_NS: u64 = NS_PER_S / 1000;
/// What rate limiters, bans and servers that are too full answer.
const REFUSALS: [u16; 3] = [403, 429, 503];

/// Sends the requests of `plan` in rounds of one on each connection; bodies are held against their contracts.
///
/// # Errors
/// If a field of a template cannot be filled in.
pub fn burst(plan: &Plan, tls: Option<&Config>, stop: &AtomicBool) -> Result<Burst, TemplateError> {
    let connections = CONNECTIONS.min(plan.load.connections());
    let mut volley = Volley {
        plan,
        tls,
        source: Source::new(plan)?,
        scratch: Scratch::default(),
        clock: Clock::start(),
        slots: (0..connections).map(|_| Slot::default()).collect(),
        burst: Burst { planned: REQUESTS, connections, ..Burst::default() },
    };
    while volley.burst.sent < REQUESTS && volley.left_ns() > 0 && !stop.load(Ordering::Relaxed) {
        volley.round();
    }
    Ok(Burst { length_ns: volley.clock.now_ns(), ..volley.burst })
}

/// A burst under way.
struct Volley<'a> {
    plan: &'a Plan,
    tls: Option<&'a Config>,
    source: Source,
    scratch: Scratch,
    clock: Clock,
    slots: Vec<Slot>,
    burst: Burst,
}

/// Place of one connection.
#[derive(Default)]
struct Slot {
    dialogue: Option<Dialogue>,
    /// The connection has answered before, so that the server may close it at any time.
    is_used: bool,
    /// The request that is out.
    out: Option<u32>,
}

impl Volley<'_> {
    /// One request on each connection, then their answers.
    fn round(&mut self) {
        for slot in 0..self.slots.len() {
            if self.burst.sent == REQUESTS {
                break;
            }
            self.burst.sent += 1;
            let number = self.burst.sent;
            self.slots[slot].out = Some(number);
            if let Err(failure) = self.send(slot, number) {
                self.fail(slot, number, failure);
            }
        }
        for slot in 0..self.slots.len() {
            let Some(number) = self.slots[slot].out else { continue };
            let mut answer = self.receive(slot, number);
            let lost = answer.as_ref().err().is_some_and(|failure| failure.phase == FailurePhase::FirstByte);
            if lost && self.slots[slot].is_used && self.left_ns() > 0 {
                // Closed while it was idle, which is no answer to this request: a new connection tells.
                self.slots[slot].dialogue = None;
                answer = self.send(slot, number).and_then(|()| self.receive(slot, number));
            }
            match answer {
                Ok((response, heard)) => self.answered(slot, number, response, &heard),
                Err(failure) => self.fail(slot, number, failure),
            }
        }
    }

    fn send(&mut self, slot: usize, number: u32) -> Result<(), Failure> {
        // Who begins to drop what comes must not hold each connection for a whole timeout.
        let timeout_ns = self.plan.timeout_ns.min(self.left_ns()).max(LEAST_NS);
        let item = self.source.pick(u64::from(number));
        let expect = self.source.expect(item);
        let bytes = self.source.bytes(item, u64::from(number), &mut self.scratch);
        let place = &mut self.slots[slot];
        if let Some(dialogue) = &mut place.dialogue
            && dialogue.send(bytes, expect, Deadline::after(timeout_ns)).is_ok()
        {
            return Ok(());
        }
        let failed = |phase| move |error: std::io::Error| Failure::new(phase, kind(&error));
        place.is_used = false;
        let dialogue = Dialogue::connect(&self.plan.target.address, Style::of(self.plan), timeout_ns)
            .map_err(failed(FailurePhase::Connect))?;
        let dialogue = place.dialogue.insert(dialogue);
        self.burst.opened += 1;
        dialogue.start_tls(self.tls, timeout_ns).map_err(failed(FailurePhase::Tls))?;
        dialogue.send(bytes, expect, Deadline::after(timeout_ns)).map_err(|loss| failure(&loss, FailurePhase::Send))
    }

    fn receive(&mut self, slot: usize, number: u32) -> Result<(Response, Heard), Failure> {
        let timeout_ns = self.left_ns().min(self.plan.timeout_ns);
        let contract = self.source.contract(self.source.pick(u64::from(number)));
        let mut heard = Heard::new(BodyCheck::new(contract));
        let Some(dialogue) = &mut self.slots[slot].dialogue else {
            return Err(Failure::new(FailurePhase::Connect, FailureKind::Closed));
        };
        let response = dialogue.receive(Deadline::after(timeout_ns), &mut heard).map_err(|loss| {
            failure(&loss, if dialogue.first().is_empty() { FailurePhase::FirstByte } else { FailurePhase::Body })
        })?;
        Ok((response, heard))
    }

    fn answered(&mut self, slot: usize, number: u32, response: Response, heard: &Heard) {
        let place = &mut self.slots[slot];
        (place.out, place.is_used) = (None, true);
        if !response.keepalive {
            place.dialogue = None;
        }
        *self.burst.status.entry(response.status).or_default() += 1;
        let contract = self.source.contract(self.source.pick(u64::from(number)));
        let Some(broken) = breach(contract, response).or_else(|| heard.breach()) else {
            self.burst.good += 1;
            return;
        };
        let is_refusal = REFUSALS.contains(&response.status)
            || (heard.retry_after.is_some() && response.status >= 400 && broken.kind == FailureKind::Status);
        self.count(broken);
        if is_refusal && broken.kind == FailureKind::Status {
            let retry_after = heard.retry_after.clone();
            self.refused(Refusal { request: number, status: Some(response.status), failure: None, retry_after });
        }
    }

    fn fail(&mut self, slot: usize, number: u32, failure: Failure) {
        self.slots[slot] = Slot::default();
        // What had no answer when the time was up was not refused: nobody waited for it. Connections were answered before.
        let is_open = failure.phase != FailurePhase::Connect;
        if is_open && failure.kind == FailureKind::Timeout && self.left_ns() == 0 {
            return;
        }
        self.count(failure);
        if matches!(failure.kind, FailureKind::Reset | FailureKind::Closed | FailureKind::Refused) {
            let failure = Some(failure.to_string());
            self.refused(Refusal { request: number, status: None, failure, retry_after: None });
        }
    }

    fn count(&mut self, failure: Failure) {
        *self.burst.failures.entry(failure.to_string()).or_default() += 1;
    }

    fn refused(&mut self, refusal: Refusal) {
        self.burst.refused += 1;
        let first = self.burst.first_refused.take().filter(|first| first.request < refusal.request);
        self.burst.first_refused = first.or(Some(refusal));
    }

    fn left_ns(&self) -> u64 {
        LENGTH_NS.saturating_sub(self.clock.now_ns())
    }
}

/// What matters of an answer beyond its frame.
struct Heard {
    retry_after: Option<String>,
    content: Option<(BodyCheck, Look)>,
}

impl Heard {
    fn new(check: Option<BodyCheck>) -> Self {
        let content = check.map(|mut check| {
            let mut look = Look::default();
            check.begin(&mut look);
            (check, look)
        });
        Self { retry_after: None, content }
    }

    /// How the content breaks the contract.
    fn breach(&self) -> Option<Failure> {
        let (check, look) = self.content.as_ref()?;
        check.breach(look).map(|kind| Failure::new(FailurePhase::Contract, kind))
    }
}

impl ResponseSink for Heard {
    const HEADERS: bool = true;

    fn header(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"retry-after") {
            self.retry_after = Some(String::from_utf8_lossy(value).into_owned());
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if let Some((check, look)) = &mut self.content {
            check.sink(look).body(bytes);
        }
    }
}

fn failure(loss: &Loss, phase: FailurePhase) -> Failure {
    match loss {
        Loss::Io(error) => Failure::new(phase, kind(error)),
        Loss::Http(error) => failure_of(*error),
    }
}

fn kind(error: &std::io::Error) -> FailureKind {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::TimedOut | ErrorKind::WouldBlock, _) => FailureKind::Timeout,
        (_, Some(number)) => kind_of(Errno::from_raw_os_error(number)),
        // The only errors that are none of the system are those of TLS.
        (_, None) => FailureKind::Handshake,
    }
}
