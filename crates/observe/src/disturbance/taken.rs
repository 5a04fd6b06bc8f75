//! CPU time taken between two readings, by cause: pure.

use super::foreign::ForeignUse;
use super::reading::Reading;
use model::{Cause, CpuTimes, SLICE_NS, SliceAccount};
use std::collections::{BTreeMap, BTreeSet};

/// A reading that comes so much later than its slice ends, without having waited for a CPU, comes from a process that was
/// stopped, or from a machine that was.
const STOPPED_NS: u64 = SLICE_NS / 2;
/// What being put on an idle CPU takes, also on a virtual machine; it is part of what the scheduler tells as waiting.
const WAKE_UP_NS: u64 = 20_000;
/// A client that is woken very often is rarely idle by then: its wake-ups are not counted beyond this share of the time.
const WAKE_UPS_MAX_NS: u64 = SLICE_NS * 3 / 100;
/// Readings over which the steps of idle time even out.
const STEADY: usize = 3;
/// On more CPUs than this, others have to use more of them to be in the way.
const FEW_CPUS: u64 = 2;

/// Who may use which CPUs, and since when it is so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) client: Vec<u32>,
    pub(super) server: Vec<u32>,
    /// Load threads.
    pub(super) threads: usize,
    /// The server's quota before the first load; ns of CPU time each second.
    pub(super) quota_at_begin_ns: Option<u64>,
}

/// Turns readings into the account.
#[derive(Debug)]
pub(super) struct Taking {
    places: Places,
    /// The slices before this one are decided.
    until: u64,
    /// The reading before; ns.
    read_ns: u64,
    /// CPU time that nobody of the measurement used since the first reading, as the last readings had it; ns.
    unexplained_ns: [i64; STEADY],
}

impl Taking {
    /// From slice `from` on.
    pub(super) const fn new(places: Places, from: u64) -> Self {
        Self { places, until: from, read_ns: from * SLICE_NS, unexplained_ns: [0; STEADY] }
    }

    /// CPUs that the server may use; none where that is not known.
    pub(super) fn server_cpus(&self) -> &[u32] {
        &self.places.server
    }

    /// The slices before this one are decided.
    pub(super) const fn until(&self) -> u64 {
        self.until
    }

    /// What was taken until `reading`; `foreign` tells how much processes used that are not part of the measurement, and is
    /// asked only when somebody must have. Slices may be told that are decided already: of a thread that waits it is known
    /// only when it runs again.
    pub(super) fn next(&mut self, reading: &Reading, foreign: impl FnOnce() -> ForeignUse) -> Vec<SliceAccount> {
        let from = self.until;
        // Readings come shortly after the end of a slice.
        let until = (reading.at_ns / SLICE_NS).max(from);
        let late_ns = reading.at_ns.saturating_sub((from + 1) * SLICE_NS);
        if until == from {
            return Vec::new();
        }
        self.until = until;
        let span = until - from;
        let mut all = Slices::default();
        for (cause, cpus) in [(Cause::ClientSteal, &self.places.client), (Cause::ServerSteal, &self.places.server)] {
            all.spread(cause, from, until, steal_ns(reading, cpus));
        }
        let unexplained_ns = self.used_by_others(reading);
        let wait = Cause::ServerWait.threshold_ns();
        let is_waiting = reading.server_waited_ns >= wait && unexplained_ns >= wait;
        if unexplained_ns >= Cause::OtherPrograms.threshold_ns() || is_waiting {
            let foreign = foreign();
            let used_ns = unexplained_ns.min(foreign.all_ns);
            all.spread(Cause::OtherPrograms, from, until, (used_ns / self.crowd(reading)).min(span * SLICE_NS));
            // A server that is short of CPUs waits for its own threads too: for others only as long as these had its CPUs.
            let waited_ns = reading.server_waited_ns.min(foreign.beside_server_ns).min(used_ns);
            all.spread(Cause::ServerWait, from, until, waited_ns);
            all.others_ns = used_ns / span;
        }
        if self.has_client_own_cpus() {
            let waited = reading
                .load
                .iter()
                .map(|(wait_ns, runs)| wait_ns.saturating_sub((runs * WAKE_UP_NS).min(WAKE_UPS_MAX_NS * span)));
            all.backwards(Cause::ClientWait, until, waited.max().unwrap_or(0));
        }
        all.backwards(Cause::ClientThrottled, until, reading.client_throttled_ns);
        if reading.server_quota_ns != self.places.quota_at_begin_ns {
            all.backwards(Cause::ServerQuota, until, reading.server_throttled_ns);
        }
        if late_ns >= STOPPED_NS && reading.reader_waited_ns < late_ns / 2 {
            all.spread(Cause::ClientStopped, from, until, span * SLICE_NS);
        }
        all.accounts()
    }

    /// CPU time since the reading before that was used by nobody of the measurement; ns. The kernel tells idle time in steps, so
    /// that only what goes beyond all of the last readings is sure.
    fn used_by_others(&mut self, reading: &Reading) -> u64 {
        let span_ns = reading.at_ns.saturating_sub(std::mem::replace(&mut self.read_ns, reading.at_ns));
        let Some(server_ns) = reading.server_ns else { return 0 };
        let busy_ns: u64 = self.cpus(reading).iter().map(|cpu| programs_ns(cpu, span_ns)).sum();
        let before_ns = self.unexplained_ns[STEADY - 1];
        let now_ns = before_ns + busy_ns.cast_signed() - (reading.own_ns + server_ns).cast_signed();
        let most_ns = self.unexplained_ns.into_iter().max().unwrap_or(before_ns);
        self.unexplained_ns.rotate_left(1);
        self.unexplained_ns[STEADY - 1] = now_ns;
        (now_ns - most_ns).max(0).cast_unsigned()
    }

    /// The CPUs of either that are online: a process may often use others too.
    fn cpus<'a>(&self, reading: &'a Reading) -> Vec<&'a CpuTimes> {
        let either: BTreeSet<u32> = self.places.client.iter().chain(&self.places.server).copied().collect();
        either.into_iter().filter_map(|cpu| reading.machine.cpu(cpu)).collect()
    }

    /// By how much more CPU time others have to use on many CPUs to be in the way.
    fn crowd(&self, reading: &Reading) -> u64 {
        (self.cpus(reading).len() as u64 / FEW_CPUS).max(1)
    }

    /// True if a load thread that waits does so for somebody from outside.
    fn has_client_own_cpus(&self) -> bool {
        let Places { client, server, threads, .. } = &self.places;
        !client.is_empty() && client.len() >= *threads && !client.iter().any(|cpu| server.contains(cpu))
    }
}

/// Time of a CPU that went to programs and the kernel on their behalf; ns. What is told of these is sampled by most kernels: idle time
/// is exact.
const fn programs_ns(cpu: &CpuTimes, span_ns: u64) -> u64 {
    span_ns.saturating_sub(cpu.idle_ns + cpu.steal_ns + cpu.softirq_ns)
}

/// Steal of the CPU that lost most; ns.
fn steal_ns(reading: &Reading, cpus: &[u32]) -> u64 {
    cpus.iter().filter_map(|cpu| reading.machine.cpu(*cpu)).map(|cpu| cpu.steal_ns).max().unwrap_or(0)
}

/// Accounts by slice while they are put together.
#[derive(Debug, Default)]
struct Slices {
    taken: BTreeMap<u64, BTreeMap<Cause, u64>>,
    /// What others used in each slice in which they are a cause.
    others_ns: u64,
}

impl Slices {
    /// `ns` in equal parts on the slices from `from` up to `until`.
    fn spread(&mut self, cause: Cause, from: u64, until: u64, ns: u64) {
        let each_ns = (ns / (until - from)).min(SLICE_NS);
        for slice in from..until {
            self.put(slice, cause, each_ns);
        }
    }

    /// `ns` on the last slices before `until`, the last one first: a wait is known when it is over.
    fn backwards(&mut self, cause: Cause, until: u64, mut ns: u64) {
        let mut slice = until;
        while ns > 0 && slice > 0 {
            slice -= 1;
            let part_ns = ns.min(SLICE_NS);
            self.put(slice, cause, part_ns);
            ns -= part_ns;
        }
    }

    fn put(&mut self, slice: u64, cause: Cause, ns: u64) {
        // An estimate below its threshold is noise.
        if ns > 0 && (!cause.is_estimate() || ns >= cause.threshold_ns()) {
            *self.taken.entry(slice).or_default().entry(cause).or_default() += ns;
        }
    }

    fn accounts(self) -> Vec<SliceAccount> {
        let account = |(slice, taken_ns): (u64, BTreeMap<Cause, u64>)| {
            let is_theirs = |cause| taken_ns.contains_key(&cause);
            let has_others = is_theirs(Cause::OtherPrograms) || is_theirs(Cause::ServerWait);
            let others_ns = has_others.then_some(self.others_ns);
            SliceAccount { slice, taken_ns, others_ns }
        };
        self.taken.into_iter().map(account).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::MachineCpu;

    const MS: u64 = 1_000_000;

    fn taking() -> Taking {
        Taking::new(Places { client: vec![1], server: vec![0], threads: 1, quota_at_begin_ns: None }, 0)
    }

    /// A reading at the end of slice `slice`, of two CPUs that were busy for so long.
    fn reading(slice: u64, busy_ms: [u64; 2]) -> Reading {
        let cpus =
            busy_ms.map(|ms| CpuTimes { user_ns: ms * MS, idle_ns: (100 - ms.min(100)) * MS, ..CpuTimes::default() });
        Reading {
            at_ns: (slice + 1) * SLICE_NS + 300_000,
            machine: MachineCpu { cpus: cpus.to_vec(), ..MachineCpu::default() },
            own_ns: 20 * MS,
            server_ns: Some(30 * MS),
            load: vec![(0, 50)],
            ..Reading::default()
        }
    }

    const fn foreign(ms: u64) -> ForeignUse {
        ForeignUse { all_ns: ms * MS, beside_server_ns: ms * MS }
    }

    fn told(accounts: &[SliceAccount]) -> Vec<(u64, Cause, u64)> {
        let each = |account: &SliceAccount| {
            account.taken_ns.iter().map(|(cause, ns)| (account.slice, *cause, ns / MS)).collect::<Vec<_>>()
        };
        accounts.iter().flat_map(each).collect()
    }

    #[test]
    fn an_undisturbed_slice_has_no_account_and_steal_is_told_by_who_lost_it() {
        let mut taking = taking();
        assert_eq!(taking.next(&reading(0, [30, 20]), || panic!("nobody is missing")), []);
        let mut stolen = reading(1, [30, 20]);
        stolen.machine.cpus[0].steal_ns = 30 * MS;
        assert_eq!(told(&taking.next(&stolen, || foreign(0))), [(1, Cause::ServerSteal, 30)]);
        stolen.machine.cpus.swap(0, 1);
        stolen.at_ns += SLICE_NS;
        assert_eq!(told(&taking.next(&stolen, || foreign(0))), [(2, Cause::ClientSteal, 30)]);
        assert_eq!(taking.until(), 3);
    }

    #[test]
    fn time_that_nobody_used_is_that_of_others_as_far_as_somebody_is_found() {
        let mut first = taking();
        assert_eq!(told(&first.next(&reading(0, [90, 20]), || foreign(70))), [(0, Cause::OtherPrograms, 60)]);
        assert_eq!(told(&first.next(&reading(1, [90, 20]), || foreign(40))), [(1, Cause::OtherPrograms, 40)]);
        assert_eq!(
            told(&first.next(&reading(2, [90, 20]), || foreign(0))),
            [],
            "processes of the server that came and went"
        );
        // Idle time is told in steps: what one reading has too little the next has too much.
        let mut steps = taking();
        for (slice, busy) in [[55, 20], [10, 20], [55, 20], [20, 20]].into_iter().enumerate() {
            assert_eq!(told(&steps.next(&reading(slice as u64, busy), || foreign(100))), [], "{slice}");
        }
        let many = Reading { server_ns: None, ..reading(3, [100, 100]) };
        assert_eq!(told(&first.next(&many, || foreign(100))), [], "of many processes it is not known");
    }

    #[test]
    fn on_many_cpus_all_that_others_used_is_told_beside_what_it_took() {
        let places = Places { client: (0..4).collect(), server: (4..8).collect(), threads: 4, ..Places::default() };
        let mut taking = Taking::new(places, 0);
        let busy = CpuTimes { user_ns: 100 * MS, ..CpuTimes::default() };
        let all_busy = |slice| Reading {
            machine: MachineCpu { cpus: vec![busy; 8], ..MachineCpu::default() },
            load: Vec::new(),
            ..reading(slice, [0, 0])
        };
        // Of 800 ms the measurement itself used 50.
        let accounts = taking.next(&all_busy(0), || foreign(1000));
        assert_eq!(
            told(&accounts),
            [(0, Cause::OtherPrograms, 100)],
            "of the CPU that lost most, with the rest in the way"
        );
        assert_eq!(accounts[0].others_ns.map(|ns| ns / MS), Some(752), "and the reading is 300 us late on each CPU");
        let fewer = taking.next(&all_busy(1), || foreign(400));
        assert_eq!((told(&fewer), fewer[0].others_ns), (vec![(1, Cause::OtherPrograms, 100)], Some(400 * MS)));
        let few = taking.next(&all_busy(2), || foreign(100));
        assert_eq!(told(&few), [], "on eight CPUs nobody is in the way");
    }

    /// A hog in bursts of 20 ms on the server's CPU took a fifth of it, and no slice had 30 ms of it.
    #[test]
    fn a_server_that_waits_while_strangers_have_its_cpus_is_disturbed_by_less() {
        let waited = |slice, ms: u64| Reading { server_waited_ns: ms * MS, ..reading(slice, [50, 20]) };
        let mut taking = taking();
        assert_eq!(told(&taking.next(&waited(0, 24), || foreign(20))), [(0, Cause::ServerWait, 20)]);
        let own = taking.next(&waited(1, 24), || ForeignUse { all_ns: 20 * MS, beside_server_ns: 0 });
        assert_eq!(told(&own), [], "they are on other CPUs: it waits for its own threads");
        assert_eq!(told(&taking.next(&waited(2, 2), || panic!("nobody waits"))), []);
        let busy = Reading { server_waited_ns: 50 * MS, ..reading(3, [30, 20]) };
        assert_eq!(told(&taking.next(&busy, || panic!("nobody else ran"))), []);
    }

    #[test]
    fn cpus_that_are_offline_are_no_room_for_others() {
        let places = Places { client: vec![6], server: (0..6).chain(8..40).collect(), threads: 1, ..Places::default() };
        let mut taking = Taking::new(places, 0);
        let mut others = reading(0, [90, 20]);
        others.machine.numbers = vec![4, 6];
        assert_eq!(told(&taking.next(&others, || foreign(70))), [(0, Cause::OtherPrograms, 60)]);
    }

    #[test]
    fn a_wait_is_known_at_its_end_and_only_where_the_client_has_cpus_of_its_own() {
        let mut taking = taking();
        for slice in 0..4 {
            taking.next(&reading(slice, [30, 20]), || foreign(0));
        }
        let waited = Reading { load: vec![(251 * MS, 50)], ..reading(4, [30, 20]) };
        let expected = [(2, Cause::ClientWait, 50), (3, Cause::ClientWait, 100), (4, Cause::ClientWait, 100)];
        assert_eq!(told(&taking.next(&waited, || foreign(0))), expected);
        let busy = Reading { load: vec![(2 * MS, 1000)], ..reading(5, [30, 20]) };
        assert_eq!(told(&taking.next(&busy, || foreign(0))), [], "wake-ups");
        let mut shared =
            Taking::new(Places { client: vec![0, 1], server: vec![0, 1], threads: 1, ..Places::default() }, 0);
        assert_eq!(
            told(&shared.next(&Reading { load: vec![(90 * MS, 50)], ..reading(0, [30, 20]) }, || foreign(0))),
            []
        );
    }

    #[test]
    fn a_reading_that_comes_late_was_stopped_unless_it_waited_for_a_cpu() {
        let late = Reading { at_ns: 4 * SLICE_NS + 1, own_ns: 5 * MS, ..reading(0, [30, 20]) };
        let causes: Vec<_> = told(&taking().next(&late, || foreign(0)));
        let expected = [0, 1, 2, 3].map(|slice| (slice, Cause::ClientStopped, 100));
        assert_eq!(causes, expected);
        let queued = Reading { reader_waited_ns: 290 * MS, ..late };
        assert_eq!(told(&taking().next(&queued, || foreign(0))), []);
    }

    #[test]
    fn quotas_disturb_when_they_stop_the_client_or_are_new_to_the_server() {
        let client = Reading { client_throttled_ns: 60 * MS, ..reading(0, [30, 20]) };
        assert_eq!(told(&taking().next(&client, || foreign(0))), [(0, Cause::ClientThrottled, 60)]);
        let quota = |quota| Reading { server_throttled_ns: 60 * MS, server_quota_ns: quota, ..reading(0, [30, 20]) };
        assert_eq!(told(&taking().next(&quota(Some(1)), || foreign(0))), [(0, Cause::ServerQuota, 60)]);
        assert_eq!(told(&taking().next(&quota(None), || foreign(0))), [], "it is as it was");
    }
}
