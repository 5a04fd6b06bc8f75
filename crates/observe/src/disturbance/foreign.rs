//! Who used CPU time that nobody of the measurement did: looked for only when somebody must have.

use crate::cpu_accounting::Seen;
use crate::processes::Processes;
use model::works_behind_servers;
use std::collections::{BTreeMap, BTreeSet};

/// The kernel's own threads are children of this process.
const KERNEL_THREADS: i32 = 2;

/// CPU time of all processes when they were looked at last.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    seen_ns: BTreeMap<i32, (u64, u64)>,
}

impl Foreign {
    /// What processes used since the call before that are neither part of the measurement nor likely to work for it: not
    /// `members`, not their descendants, no thread of the kernel, no program that often works behind a server; ns.
    pub(super) fn used_ns(&mut self, members: &[i32]) -> u64 {
        let present = Processes::default().sample(&BTreeSet::new(), true, None);
        let before = std::mem::take(&mut self.seen_ns);
        self.seen_ns = present.all.values().map(|seen| (seen.pid, (seen.began, total_ns(seen)))).collect();
        if before.is_empty() {
            return 0;
        }
        let own = std::process::id().cast_signed();
        let is_member = |pid: i32| pid == own || members.contains(&pid);
        let is_foreign = |seen: &&Seen| {
            let ancestors = std::iter::successors(Some(seen.pid), |pid| present.all.get(pid).map(|seen| seen.ppid));
            let mut ancestors = ancestors.take(present.all.len());
            !ancestors.any(|pid| is_member(pid) || pid == KERNEL_THREADS) && !works_behind_servers(&seen.name)
        };
        let used = |seen: &Seen| match before.get(&seen.pid) {
            Some((began, ns)) if *began == seen.began => total_ns(seen).saturating_sub(*ns),
            _ => seen.own_ns,
        };
        present.all.values().filter(is_foreign).map(used).sum()
    }
}

/// With the time of children that have ended, which nobody else tells any more.
const fn total_ns(seen: &Seen) -> u64 {
    seen.own_ns + seen.waited_ns
}
