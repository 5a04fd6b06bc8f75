//! Gate at which a load waits, its connections open, for the instant that all agents have agreed on.

use crate::lock::hold;
use clock::monotonic_ns;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Before the instant the thread is awake for so long: a wake-up takes some tens of microseconds.
const AWAKE_NS: u64 = 300_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No instant is agreed on.
    #[default]
    Shut,
    OpensAt {
        attempt: u32,
        at_ns: u64,
    },
    /// The load is not wanted any more.
    GivenUp,
}

/// Passed by one thread, once.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

/// How the gate was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) attempt: u32,
    /// The instant, on `CLOCK_MONOTONIC`; ns.
    pub(crate) at_ns: u64,
    /// After it; ns.
    pub(crate) late_ns: u64,
}

impl Gate {
    /// Opens at an instant of `CLOCK_MONOTONIC`; ns.
    pub(crate) fn open_at(&self, attempt: u32, at_ns: u64) {
        self.set(State::OpensAt { attempt, at_ns });
    }

    /// Does not open.
    pub(crate) fn shut(&self) {
        self.set(State::Shut);
    }

    /// Lets go whoever waits; for good.
    pub(crate) fn give_up(&self) {
        self.set(State::GivenUp);
    }

    fn set(&self, state: State) {
        let mut held = self.hold();
        if *held != State::GivenUp {
            *held = state;
        }
        self.changed.notify_all();
    }

    /// Waits until it is open; none if the load is not wanted any more.
    pub(crate) fn pass(&self) -> Option<Passed> {
        let mut held = self.hold();
        loop {
            match *held {
                State::GivenUp => return None,
                State::Shut => held = self.changed.wait(held).unwrap_or_else(PoisonError::into_inner),
                State::OpensAt { attempt, at_ns } => {
                    let left_ns = at_ns.saturating_sub(monotonic_ns());
                    if left_ns <= AWAKE_NS {
                        return Some(awaited(attempt, at_ns));
                    }
                    let wait = Duration::from_nanos(left_ns - AWAKE_NS);
                    held = self.changed.wait_timeout(held, wait).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    fn hold(&self) -> MutexGuard<'_, State> {
        hold(&self.state)
    }
}

fn awaited(attempt: u32, at_ns: u64) -> Passed {
    loop {
        let now_ns = monotonic_ns();
        if now_ns >= at_ns {
            return Passed { attempt, at_ns, late_ns: now_ns - at_ns };
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_at_the_instant_and_not_at_one_that_was_taken_back() {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| gate.pass());
            let first_ns = monotonic_ns() + 30_000_000;
            gate.open_at(1, first_ns);
            gate.shut();
            let at_ns = first_ns + 30_000_000;
            gate.open_at(2, at_ns);
            let passed = waits.join().expect("no panic").expect("it opens");
            assert_eq!((passed.attempt, passed.at_ns), (2, at_ns));
        });
    }

    #[test]
    fn a_load_that_is_not_wanted_waits_no_more() {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| gate.pass());
            gate.give_up();
            gate.open_at(1, 0);
            assert_eq!(waits.join().expect("no panic"), None);
        });
    }
}
