//! A set of processes that belong together: some that were found, and their descendants.

use crate::cpu_accounting::{CpuAccounting, Seen};
use crate::processes::Present;
use crate::resource_usage::ResourceUsage;
use crate::threads::Threads;
use model::ServerUse;
use std::collections::BTreeSet;

/// The processes of a group at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Group {
    cpu_accounting: CpuAccounting,
    threads: Threads,
    resource_usage: ResourceUsage,
    /// Processes whose descendants do not belong to the group because they do.
    alone: BTreeSet<i32>,
}

impl Group {
    /// A group to which the descendants of these processes belong only if they are found by themselves.
    pub(crate) fn standing_alone(alone: BTreeSet<i32>) -> Self {
        Self { alone, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cpu_accounting.is_empty()
    }

    pub(crate) fn has(&self, pid: i32) -> bool {
        self.cpu_accounting.has(pid)
    }

    pub(crate) fn pids(&self) -> Vec<i32> {
        self.cpu_accounting.pids()
    }

    /// Takes in `roots` and the descendants of all members, unless they are `taken` by another.
    pub(crate) fn adopt(&mut self, roots: Vec<i32>, present: &Present, taken: &BTreeSet<i32>) {
        let mut joining = roots;
        let mut others: Vec<&Seen> =
            present.all.values().filter(|seen| !self.has(seen.pid) && !taken.contains(&seen.pid)).collect();
        loop {
            let has_parent = |seen: &Seen| self.has(seen.ppid) && !self.alone.contains(&seen.ppid);
            let is_joining = |seen: &Seen| joining.contains(&seen.pid) || has_parent(seen);
            let (join, stay): (Vec<&Seen>, Vec<&Seen>) = others.into_iter().partition(|seen| is_joining(seen));
            if join.is_empty() {
                return;
            }
            join.into_iter().for_each(|seen| self.cpu_accounting.open(seen.to_the_ns(), present.has_begun(seen.pid)));
            joining.clear();
            others = stay;
        }
    }

    /// What the members used since the sample before.
    pub(crate) fn sample(&mut self, present: &Present, now_ns: u64) -> ServerUse {
        let pids = self.pids();
        self.resource_usage.sample(&pids);
        let mut seen: Vec<Seen> = pids.iter().filter_map(|pid| Some(present.all.get(pid)?.to_the_ns())).collect();
        seen.iter_mut().for_each(|seen| seen.figures = self.resource_usage.complete(seen.pid, &seen.figures));
        let threads = self.threads.sample(&pids, now_ns);
        ServerUse { threads, ..self.cpu_accounting.settle(seen) }
    }

    /// Counts from now on, and asks all members for what is expensive to look at.
    pub(crate) fn start(&mut self, present: &Present, now_ns: u64) {
        self.threads.forget();
        self.resource_usage.sample_all(&self.pids());
        self.sample(present, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(processes: &[(i32, i32)]) -> Present {
        let seen = |&(pid, ppid): &(i32, i32)| (pid, Seen { pid, ppid, name: "p".into(), ..Seen::default() });
        Present { all: processes.iter().map(seen).collect(), ..Present::default() }
    }

    /// A window of a second, of which steps of 10 ms told 2 % more or less.
    #[test]
    fn the_cpu_time_of_members_is_told_to_the_nanosecond() {
        let look = |exact_ns| {
            let figures = crate::testing::used(20_000_000);
            let seen = Seen { pid: 2, ppid: 1, name: "p".into(), exact_ns, figures, ..Seen::default() };
            Present { all: [(2, seen)].into(), ..Present::default() }
        };
        let mut group = Group::default();
        group.adopt(vec![2], &look(Some(20_000_001)), &BTreeSet::new());
        let used = |group: &mut Group, exact_ns| group.sample(&look(exact_ns), 0).processes[0].figures.cpu_ns;
        assert_eq!(used(&mut group, Some(29_999_999)), 9_999_998);
        assert_eq!(used(&mut group, None), 0, "one that ended just now has no less than before");
    }

    #[test]
    fn descendants_join_and_those_of_others_do_not() {
        let mut group = Group::default();
        let now = present(&[(2, 1), (3, 2), (4, 3), (5, 1), (6, 4), (7, 6)]);
        group.adopt(vec![2], &now, &[6].into());
        assert_eq!(group.pids(), [2, 3, 4]);
        group.adopt(Vec::new(), &present(&[(8, 4), (9, 5)]), &BTreeSet::new());
        assert!(group.has(8) && !group.has(9));
    }

    /// A test starts its backend in itself, the server, and plimsoll: the hog that it starts is no backend.
    #[test]
    fn the_children_of_who_started_all_of_it_do_not_join() {
        let mut group = Group::standing_alone([2].into());
        group.adopt(vec![2, 5], &present(&[(2, 1), (3, 2), (5, 1), (6, 5)]), &BTreeSet::new());
        assert_eq!(group.pids(), [2, 5, 6]);
    }
}
