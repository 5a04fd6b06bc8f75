//! Staying awake shortly before a request is due: a CPU that sleeps takes 50 µs and more to come back, on a virtual machine
//! often a multiple, and all of that would be lateness of our own. The time spent awake for nothing is known, so that it does
//! not pass for work.

/// Keeps one load thread awake when its next request is due soon.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    /// How long before the request; 0: never. ns
    before_ns: u64,
    /// Until when, and the thread's CPU time when it began; none while it does not.
    current: Option<Current>,
    /// CPU time spent since it was asked for last; ns.
    spent_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    due_ns: u64,
    began_cpu_ns: u64,
}

impl Spin {
    pub(crate) fn new(before_ns: u64) -> Self {
        Self { before_ns, ..Self::default() }
    }

    /// How long to sleep at `now`, when there is something to do at `deadline_ns` at the latest and the next request is due at
    /// `due_ns`; 0 is to look for events without sleeping.
    #[inline]
    pub(crate) fn sleep_ns(
        &mut self,
        now: u64,
        deadline_ns: u64,
        due_ns: Option<u64>,
        thread_cpu_ns: impl Fn() -> u64,
    ) -> u64 {
        let Some(due_ns) = due_ns.filter(|_| self.before_ns > 0) else { return deadline_ns.saturating_sub(now) };
        let from_ns = due_ns.saturating_sub(self.before_ns);
        if now < from_ns {
            return deadline_ns.min(from_ns).saturating_sub(now);
        }
        self.current.get_or_insert_with(|| Current { due_ns, began_cpu_ns: thread_cpu_ns() });
        0
    }

    /// Something happens at `now`, an `event` or nothing but time: from the first event and from the due instant on the thread
    /// works.
    #[inline]
    pub(crate) fn look(&mut self, now: u64, event: bool, thread_cpu_ns: impl Fn() -> u64) {
        if let Some(current) = self.current.take_if(|current| event || now >= current.due_ns) {
            self.spent_ns += thread_cpu_ns() - current.began_cpu_ns;
        }
    }

    /// CPU time spent awake for nothing since the last call; ns.
    pub(crate) fn take_spent_ns(&mut self) -> u64 {
        std::mem::take(&mut self.spent_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::Spin;

    const US: u64 = 1000;

    #[test]
    fn a_thread_sleeps_until_shortly_before_the_next_request_and_then_not_at_all() {
        let mut spin = Spin::new(200 * US);
        let mut sleep = |now, deadline, due| spin.sleep_ns(now, deadline, due, || 0);
        assert_eq!(sleep(0, 5000 * US, Some(1000 * US)), 800 * US);
        assert_eq!(sleep(0, 300 * US, Some(1000 * US)), 300 * US, "something else comes first");
        assert_eq!(sleep(800 * US, 1000 * US, Some(1000 * US)), 0);
        assert_eq!(sleep(0, 5000 * US, None), 5000 * US, "nothing is due");
        assert_eq!(Spin::new(0).sleep_ns(999 * US, 1000 * US, Some(1000 * US), || 0), US, "it is not wanted");
    }

    #[test]
    fn time_awake_for_nothing_ends_with_the_first_event_or_the_request() {
        let mut spin = Spin::new(200 * US);
        spin.sleep_ns(850 * US, 1000 * US, Some(1000 * US), || 70 * US);
        spin.look(900 * US, false, || 120 * US);
        assert_eq!(spin.take_spent_ns(), 0, "it goes on");
        spin.sleep_ns(900 * US, 1000 * US, Some(1000 * US), || 121 * US);
        spin.look(950 * US, true, || 170 * US);
        spin.look(960 * US, true, || 180 * US);
        spin.sleep_ns(970 * US, 1000 * US, Some(1000 * US), || 190 * US);
        spin.look(1001 * US, false, || 221 * US);
        assert_eq!((spin.take_spent_ns(), spin.take_spent_ns()), (100 * US + 31 * US, 0));
    }
}
