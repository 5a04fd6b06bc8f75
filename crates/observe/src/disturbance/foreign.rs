//! Who used CPU time that nobody of the measurement did: looked for only when somebody must have.

use super::reading::Watched;
use crate::cpu_accounting::Seen;
use crate::processes::Processes;
use std::collections::{BTreeMap, BTreeSet};

/// The kernel's own threads are children of this process.
const KERNEL_THREADS: i32 = 2;
/// Who used less than a tick of the kernel's clock has used nothing that could be told.
const SUSPECT_NS: u64 = 1;

/// CPU time of all processes when they were looked at last.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    seen_ns: BTreeMap<i32, (u64, u64)>,
}

/// CPU time of the processes that used any since they were looked at before.
#[derive(Debug, Default)]
pub(super) struct Used {
    all: BTreeMap<i32, Seen>,
    used_ns: BTreeMap<i32, u64>,
}

/// What strangers used; ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ForeignUse {
    pub(super) all_ns: u64,
    /// The part of it on CPUs that the server may use, as far as it is known where they ran.
    pub(super) beside_server_ns: u64,
}

impl Foreign {
    /// Looks at all processes of the machine.
    pub(super) fn look(&mut self) -> Used {
        let all = Processes::default().sample(&BTreeSet::new(), true, None).all;
        let before = std::mem::take(&mut self.seen_ns);
        self.seen_ns = all.values().map(|seen| (seen.pid, (seen.began, total_ns(seen)))).collect();
        if before.is_empty() {
            return Used::default();
        }
        let used = |seen: &Seen| match before.get(&seen.pid) {
            Some((began, ns)) if *began == seen.began => total_ns(seen).saturating_sub(*ns),
            _ => seen.figures.cpu_ns,
        };
        let used_ns = all.values().map(|seen| (seen.pid, used(seen))).filter(|(_, ns)| *ns >= SUSPECT_NS).collect();
        Used { all, used_ns }
    }
}

impl Used {
    /// Those who used CPU time and are not part of the measurement: neither watched nor descendants of who is, and no threads of
    /// the kernel. What they are called is no evidence.
    pub(super) fn foreign(&self, watched: &Watched) -> Vec<i32> {
        self.used_ns.keys().copied().filter(|pid| self.is_foreign(*pid, watched)).collect()
    }

    /// What they used.
    pub(super) fn of(&self, watched: &Watched, server_cpus: &[u32]) -> ForeignUse {
        let mut foreign = ForeignUse::default();
        for pid in self.foreign(watched) {
            let ns = self.used_ns[&pid];
            foreign.all_ns += ns;
            if server_cpus.is_empty() || server_cpus.contains(&self.all[&pid].cpu) {
                foreign.beside_server_ns += ns;
            }
        }
        foreign
    }

    fn is_foreign(&self, pid: i32, watched: &Watched) -> bool {
        let own = std::process::id().cast_signed();
        let is_member = |pid: i32| pid == own || watched.pids.contains(&pid);
        let above = std::iter::successors(Some(pid), |pid| self.all.get(pid).map(|seen| seen.ppid));
        let mut above = above.take(self.all.len() + 1);
        !watched.undecided.contains(&pid)
            && !above
                .any(|one| one == KERNEL_THREADS || (is_member(one) && (one == pid || !watched.alone.contains(&one))))
    }
}

/// With the time of children that have ended, which nobody else tells any more.
const fn total_ns(seen: &Seen) -> u64 {
    seen.figures.cpu_ns + seen.waited_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// A server (5) with a worker (6) and a backend (9, in a test that has also started the hog 10), beside a compiler.
    const PROCESSES: [(i32, i32, &str, u32, u64); 7] = [
        (3, 2, "kswapd0", 0, 40),
        (5, 1, "web", 0, 50),
        (6, 5, "web", 1, 60),
        (9, 1, "test", 1, 70),
        (10, 9, "python3", 0, 20),
        (11, 1, "cc1plus", 1, 30),
        (12, 1, "idle", 1, 0),
    ];

    fn used(names: impl Fn(&str) -> String) -> Used {
        let seen = |&(pid, ppid, name, cpu, _): &(i32, i32, &str, u32, u64)| {
            (pid, Seen { pid, ppid, name: names(name), cpu, ..Seen::default() })
        };
        let used_ns = PROCESSES.iter().filter(|process| process.4 > 0).map(|process| (process.0, process.4 * MS));
        Used { all: PROCESSES.iter().map(seen).collect(), used_ns: used_ns.collect() }
    }

    fn watched() -> Watched {
        Watched { pids: vec![5, 9], server: Some(5), alone: [9].into(), ..Watched::default() }
    }

    #[test]
    fn who_is_neither_watched_nor_started_by_who_is_has_taken_cpu_time() {
        let used = used(str::to_owned);
        assert_eq!(used.foreign(&watched()), [10, 11]);
        assert_eq!(used.of(&watched(), &[]), ForeignUse { all_ns: 50 * MS, beside_server_ns: 50 * MS });
        assert_eq!(used.of(&watched(), &[0]), ForeignUse { all_ns: 50 * MS, beside_server_ns: 20 * MS });
    }

    /// What this user cannot see may be the server itself, and what it has started, as a session does, is seen.
    #[test]
    fn who_may_belong_to_the_server_is_no_stranger_and_its_children_are() {
        let watched = Watched { undecided: [9, 11].into(), pids: vec![5], ..watched() };
        assert_eq!(used(str::to_owned).foreign(&watched), [10]);
    }

    /// A hog named python3 beside a load ended VALID with 1,664/s of 2,000/s: programs of such names were left out.
    #[test]
    fn no_name_makes_a_program_part_of_the_server() {
        for name in
            ["python3", "node", "java", "php-fpm8.2", "ruby", "mariadbd", "nginx", "postgres", "sh", "plimsoll", "web"]
        {
            let used = used(|was| if was == "cc1plus" { name.to_owned() } else { was.to_owned() });
            assert_eq!(used.foreign(&watched()), [10, 11], "{name}");
        }
    }
}
