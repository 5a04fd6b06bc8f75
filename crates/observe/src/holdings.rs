//! What processes hold that is dear to look at: memory with shared pages in parts, and descriptors. At each look some of
//! the processes are asked, so that each is asked every ten looks, or more seldom when there are very many.

use procfs::process::{LimitValue, Process};
use std::collections::BTreeMap;

/// Looks in which each process is asked once.
const LOOKS_FOR_ALL: usize = 10;
/// Processes that are asked in one look.
const ASKED_MAX: usize = 4;

/// What a process held when it was asked last; a part is none when that is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) pss_bytes: Option<u64>,
    pub(crate) fds: Option<u64>,
    pub(crate) fds_limit: Option<u64>,
}

/// What each process held when it was asked last.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    held: BTreeMap<i32, Held>,
    /// The process asked last.
    last: i32,
    looks: usize,
}

impl Holdings {
    /// Asks those whose turn it is, and those that have never been asked.
    pub(crate) fn look(&mut self, pids: &[i32]) {
        self.held.retain(|pid, _| pids.contains(pid));
        let due = |looks: usize| looks * pids.len() / LOOKS_FOR_ALL;
        let asked = (due(self.looks + 1) - due(self.looks)).min(ASKED_MAX);
        self.looks = (self.looks + 1) % LOOKS_FOR_ALL;
        let new = pids.iter().filter(|pid| !self.held.contains_key(*pid));
        let after = pids.iter().filter(|pid| **pid > self.last);
        let turn: Vec<i32> = after.chain(pids).take(asked).copied().collect();
        let now: Vec<i32> = new.take(ASKED_MAX).chain(&turn).copied().collect();
        self.last = turn.last().copied().unwrap_or(self.last);
        for pid in now {
            self.held.insert(pid, held(pid));
        }
    }

    /// Asks all of them.
    pub(crate) fn look_at_all(&mut self, pids: &[i32]) {
        self.held = pids.iter().map(|pid| (*pid, held(*pid))).collect();
    }

    pub(crate) fn of(&self, pid: i32) -> Option<Held> {
        self.held.get(&pid).copied()
    }
}

fn held(pid: i32) -> Held {
    let Ok(process) = Process::new(pid) else { return Held::default() };
    let limit = process.limits().ok().map(|limits| match limits.max_open_files.soft_limit {
        LimitValue::Unlimited => u64::MAX,
        LimitValue::Value(n) => n,
    });
    let pss = process.smaps_rollup().ok().and_then(|rollup| {
        let all = rollup.memory_map_rollup.into_iter().next()?;
        all.extension.map.get("Pss").copied()
    });
    Held { pss_bytes: pss, fds: process.fd_count().ok().map(|n| n as u64), fds_limit: limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_holds_is_what_its_files_say() {
        let pid = std::process::id().cast_signed();
        let before = held(pid);
        let opened: Vec<_> = (0..50).map(|_| std::fs::File::open("/proc/self/stat").unwrap()).collect();
        let after = held(pid);
        let (before, after_fds) = (before.fds.unwrap(), after.fds.unwrap());
        assert!(after_fds.abs_diff(before + opened.len() as u64) < 10, "{before} and 50 more are {after_fds}");
        let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
        let pss_bytes = 1024 * pss.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
        let told = after.pss_bytes.unwrap();
        assert!(told.abs_diff(pss_bytes) < pss_bytes / 2, "{told} of {pss_bytes}");
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        assert_eq!(after.fds_limit, Some(limit.unwrap_or(u64::MAX)));
        assert_eq!(held(i32::MAX), Held::default());
    }

    #[test]
    fn each_of_many_is_asked_in_its_turn() {
        let pids: Vec<i32> = (i32::MAX - 100..i32::MAX).collect();
        let mut holdings = Holdings::default();
        for looks in 1..=25 {
            holdings.look(&pids);
            assert!(holdings.held.len() <= looks * ASKED_MAX * 2, "{} after {looks}", holdings.held.len());
        }
        assert_eq!(holdings.held.len(), 100);
        holdings.look(&pids[..1]);
        assert_eq!(holdings.held.len(), 1, "those that have ended are forgotten");
    }
}
