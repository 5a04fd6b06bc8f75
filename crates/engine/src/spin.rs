//! Staying awake shortly before a request is due and while its response may come: a CPU that sleeps takes 50 µs and more to
//! come back, on a virtual machine often a multiple, and all of that would be lateness of our own, in sending or in noticing
//! the response. The time spent awake for nothing is known, so that it does not pass for work.

/// Keeps one load thread awake round its requests.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    /// How long before a request is due and after one has gone out; 0: never. ns
    span_ns: u64,
    /// Since when it has not slept for the sake of a request that is due; none once it sleeps.
    awake_since_ns: Option<u64>,
    /// Until when, and the thread's CPU time when it began; none while it does not.
    current: Option<Current>,
    /// CPU time spent since it was asked for last; ns.
    spent_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    until_ns: u64,
    began_cpu_ns: u64,
}

/// What a load thread has before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// There is something to do by then at the latest.
    pub(crate) deadline_ns: u64,
    /// When the next request goes out by schedule; none when none does.
    pub(crate) due_ns: Option<u64>,
    /// When the latest request went out; none when no response is awaited.
    pub(crate) awaiting_since_ns: Option<u64>,
}

impl Spin {
    pub(crate) fn new(span_ns: u64) -> Self {
        Self { span_ns, ..Self::default() }
    }

    /// How long to sleep at `now`; 0 is to look for events without sleeping.
    #[inline]
    pub(crate) fn sleep_ns(&mut self, now: u64, next: Next, thread_cpu_ns: impl Fn() -> u64) -> u64 {
        if self.span_ns == 0 {
            return next.deadline_ns.saturating_sub(now);
        }
        let soon_ns = next.due_ns.filter(|due_ns| now + self.span_ns >= *due_ns);
        if soon_ns.is_some() {
            self.awake_since_ns.get_or_insert(now);
        }
        // A CPU that comes back late leaves time before the request unused: it is added to that for the response.
        let both_ns = self.awake_since_ns.map_or(0, |since_ns| since_ns + 2 * self.span_ns);
        let response_ns = next.awaiting_since_ns.map(|since_ns| both_ns.max(since_ns + self.span_ns));
        let response_ns = response_ns.filter(|until_ns| now < *until_ns);
        let Some(until_ns) = soon_ns.or(response_ns) else {
            self.awake_since_ns = None;
            let from_ns = next.due_ns.map_or(u64::MAX, |due_ns| due_ns.saturating_sub(self.span_ns));
            return next.deadline_ns.min(from_ns).saturating_sub(now);
        };
        self.current.get_or_insert_with(|| Current { until_ns, began_cpu_ns: thread_cpu_ns() });
        0
    }

    /// Something happens at `now`, an `event` or nothing but time: from the first event and from the end of the wait on the
    /// thread works.
    #[inline]
    pub(crate) fn look(&mut self, now: u64, event: bool, thread_cpu_ns: impl Fn() -> u64) {
        if let Some(current) = self.current.take_if(|current| event || now >= current.until_ns) {
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
    use super::{Next, Spin};

    const US: u64 = 1000;

    fn next(deadline_us: u64, due_us: Option<u64>, awaiting_since_us: Option<u64>) -> Next {
        let ns = |us: u64| us * US;
        Next { deadline_ns: ns(deadline_us), due_ns: due_us.map(ns), awaiting_since_ns: awaiting_since_us.map(ns) }
    }

    #[test]
    fn a_thread_sleeps_until_shortly_before_the_next_request_and_then_not_at_all() {
        let mut spin = Spin::new(200 * US);
        let mut sleep = |now, deadline, due| spin.sleep_ns(now, next(deadline, due, None), || 0);
        assert_eq!(sleep(0, 5000, Some(1000)), 800 * US);
        assert_eq!(sleep(0, 300, Some(1000)), 300 * US, "something else comes first");
        assert_eq!(sleep(800 * US, 1000, Some(1000)), 0);
        assert_eq!(sleep(0, 5000, None), 5000 * US, "nothing is due");
        assert_eq!(Spin::new(0).sleep_ns(999 * US, next(1000, Some(1000), Some(990)), || 0), US, "it is not wanted");
    }

    #[test]
    fn it_stays_awake_for_a_response_that_comes_soon() {
        let mut spin = Spin::new(200 * US);
        let mut sleep = |now_us, since| spin.sleep_ns(now_us * US, next(5000, Some(3000), since), || 0);
        assert_eq!(sleep(1199, Some(1000)), 0);
        assert_eq!(sleep(1200, Some(1000)), 1600 * US, "it takes longer than that");
        assert_eq!(sleep(1100, None), 1700 * US, "it has come");
        assert_eq!(spin.sleep_ns(1200 * US, next(5000, None, Some(1000)), || 0), 3800 * US, "nor is anything due");
    }

    #[test]
    fn what_a_late_awakening_leaves_of_the_time_before_a_request_is_added_to_that_for_its_response() {
        let mut spin = Spin::new(50 * US);
        let mut sleep = |now_us, due, since| spin.sleep_ns(now_us * US, next(5000, due, since), || 0);
        // Asleep until 50 us before, awake only 10 us before.
        assert_eq!(sleep(900, Some(1000), None), 50 * US);
        assert_eq!(sleep(990, Some(1000), None), 0);
        assert_eq!(sleep(1089, Some(1200), Some(1000)), 0, "100 us in all");
        assert_eq!(sleep(1090, Some(1200), Some(1000)), 60 * US);
        // Awake in time: half before, half after.
        assert_eq!(sleep(1150, Some(1200), None), 0);
        assert_eq!(sleep(1249, Some(1400), Some(1200)), 0);
        assert_eq!(sleep(1250, Some(1400), Some(1200)), 100 * US);
    }

    #[test]
    fn time_awake_for_nothing_ends_with_the_first_event_or_the_request() {
        let mut spin = Spin::new(200 * US);
        let before = next(1000, Some(1000), None);
        spin.sleep_ns(850 * US, before, || 70 * US);
        spin.look(900 * US, false, || 120 * US);
        assert_eq!(spin.take_spent_ns(), 0, "it goes on");
        spin.sleep_ns(900 * US, before, || 121 * US);
        spin.look(950 * US, true, || 170 * US);
        spin.look(960 * US, true, || 180 * US);
        spin.sleep_ns(970 * US, before, || 190 * US);
        spin.look(1001 * US, false, || 221 * US);
        assert_eq!((spin.take_spent_ns(), spin.take_spent_ns()), (100 * US + 31 * US, 0));
    }

    #[test]
    fn so_does_time_awake_for_a_response() {
        let mut spin = Spin::new(200 * US);
        let after = next(5000, Some(4000), Some(1000));
        spin.sleep_ns(1001 * US, after, || 10 * US);
        spin.look(1060 * US, true, || 69 * US);
        assert_eq!(spin.take_spent_ns(), 59 * US, "until it comes");
        spin.sleep_ns(1070 * US, after, || 80 * US);
        spin.look(1150 * US, false, || 160 * US);
        spin.look(1201 * US, false, || 211 * US);
        assert_eq!(spin.take_spent_ns(), 131 * US, "or for as long as it may take");
    }
}
