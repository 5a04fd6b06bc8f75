//! Timers of one worker. A connection waits for at most one thing, so the size is bounded by
//! the number of connections.

use std::collections::BTreeSet;

/// Due times of connections, named by token.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(u64, u64)>,
}

impl Timers {
    pub(super) fn add(&mut self, due_ns: u64, token: u64) {
        self.due.insert((due_ns, token));
    }

    /// Takes back exactly what was added.
    pub(super) fn cancel(&mut self, due_ns: u64, token: u64) {
        self.due.remove(&(due_ns, token));
    }

    /// When the next is due; ns.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.due.first().map(|(due_ns, _)| *due_ns)
    }

    /// The next that is due at `now_ns`, never one that is not yet.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<u64> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.due.pop_first().map(|(_, token)| token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_order_never_early_and_cancelled_never() {
        let mut timers = Timers::default();
        for (due_ns, token) in [(30, 3), (10, 1), (20, 2), (10, 4)] {
            timers.add(due_ns, token);
        }
        timers.cancel(20, 2);
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop(9), None);
        assert_eq!((timers.pop(10), timers.pop(10), timers.pop(10)), (Some(1), Some(4), None));
        assert_eq!((timers.pop(100), timers.pop(100)), (Some(3), None));
    }
}
