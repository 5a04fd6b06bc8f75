//! How far the connections are that are opened before the clock starts, and when to wait for the rest no longer.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Without another connection for so long, opening is told to have come to a halt; ns.
const HALT_NS: u64 = 250_000_000;

/// What load threads and coordinator tell each other meanwhile.
#[derive(Debug, Default)]
pub(crate) struct OpeningBoard {
    established: AtomicU32,
    given_up: AtomicBool,
}

impl OpeningBoard {
    /// So many more connections are open, or fewer.
    pub(crate) fn add(&self, connections: i32) {
        self.established.fetch_add(connections.cast_unsigned(), Ordering::Relaxed);
    }

    pub(crate) fn established(&self) -> u32 {
        self.established.load(Ordering::Relaxed)
    }

    /// Those that are not open now are not waited for.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

/// What is to be done about connections that do not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Nothing: they come, or have just begun to fail to.
    None,
    /// To be told, once for each number of connections at which they halt.
    Halted,
    /// Enough waited: none has come for as long as an answer may take.
    Over,
}

/// Watches how connections open. Their number does not bound the time, as long as they come.
#[derive(Debug)]
pub(crate) struct StallWatch {
    timeout_ns: u64,
    established: u32,
    since_ns: u64,
    is_told: bool,
}

impl StallWatch {
    /// From the begin of the opening, at 0.
    pub(crate) const fn new(timeout_ns: u64) -> Self {
        Self { timeout_ns, established: 0, since_ns: 0, is_told: false }
    }

    /// `established` connections are open at `now`; ns.
    pub(crate) fn look(&mut self, established: u32, now: u64) -> Stall {
        if established != self.established {
            (self.established, self.since_ns, self.is_told) = (established, now, false);
        }
        let waited_ns = now - self.since_ns;
        if waited_ns >= self.timeout_ns {
            Stall::Over
        } else if waited_ns >= HALT_NS && !self.is_told {
            self.is_told = true;
            Stall::Halted
        } else {
            Stall::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A server that holds 32 connections: `-R 200 -d 3s` took 53 s without a line.
    #[test]
    fn a_server_that_takes_no_more_is_told_at_once_and_given_up_after_one_timeout() {
        let mut watch = StallWatch::new(5_000 * MS);
        let looks = [(10, 20), (32, 40), (32, 280), (32, 290), (32, 310), (32, 4_000), (32, 5_039), (32, 5_040)];
        let stalls: Vec<Stall> = looks.iter().map(|(n, at_ms)| watch.look(*n, at_ms * MS)).collect();
        let expected =
            [Stall::None, Stall::None, Stall::None, Stall::Halted, Stall::None, Stall::None, Stall::None, Stall::Over];
        assert_eq!(stalls, expected);
    }

    #[test]
    fn many_that_come_one_after_the_other_are_waited_for() {
        let mut watch = StallWatch::new(1_000 * MS);
        for n in 1..1_000 {
            assert_eq!(watch.look(n, u64::from(n) * 200 * MS), Stall::None);
        }
        assert_eq!(watch.look(999, 999 * 200 * MS + 250 * MS), Stall::Halted);
        assert_eq!(watch.look(1_000, 999 * 200 * MS + 300 * MS), Stall::None);
        assert_eq!(watch.look(1_000, 999 * 200 * MS + 550 * MS), Stall::Halted, "at another number again");
    }

    #[test]
    fn not_one_that_opens_is_over_after_one_timeout_too() {
        let mut watch = StallWatch::new(100 * MS);
        assert_eq!([20, 99, 100].map(|ms| watch.look(0, ms * MS)), [Stall::None, Stall::None, Stall::Over]);
    }
}
