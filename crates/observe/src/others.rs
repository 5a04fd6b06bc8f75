//! All processes that are neither server, companion nor load generator: what else uses the machine.

use crate::cpu_accounting::{CpuAccounting, Seen};
use crate::identified::Hidden;
use crate::processes::Present;
use model::{OTHER_VARIANT, OthersUse, ServerUse};
use std::collections::BTreeSet;

/// The other processes at the sample before that had all of them.
#[derive(Debug, Default)]
pub(crate) struct Others {
    cpu_accounting: CpuAccounting,
    looked_ns: Option<u64>,
    /// Processes of the variant that is measured at the same time, which are told by names of their own.
    neighbours: Vec<i32>,
    /// Those that may belong to the server, as their sockets are not shown to this user.
    undecided: Undecided,
}

/// Processes that may belong to the server.
#[derive(Debug, Default)]
struct Undecided {
    hidden: Hidden,
    pids: BTreeSet<i32>,
    cpu_accounting: CpuAccounting,
}

impl Others {
    /// From now on these processes, with all that they have started, are those of the other variant.
    pub(crate) fn tell_apart(&mut self, neighbours: Vec<i32>) {
        self.neighbours = neighbours;
    }

    /// The processes of the other variant.
    pub(crate) fn neighbours(&self) -> &[i32] {
        &self.neighbours
    }

    /// Those of which it is not shown whether they belong to the server.
    pub(crate) const fn undecided(&self) -> &BTreeSet<i32> {
        &self.undecided.pids
    }

    /// The processes that are not `taken` and do not show whether they belong to the server are from now on told apart.
    pub(crate) fn find_undecided(&mut self, present: &Present, taken: &BTreeSet<i32>) {
        let hidden = self.undecided.hidden.among(present);
        let hidden: BTreeSet<i32> = hidden.difference(taken).copied().collect();
        if present.is_complete {
            self.undecided.pids = hidden;
        } else {
            self.undecided.pids.extend(hidden);
        }
    }

    /// What they used since the sample before; none at the first, and where not all processes were looked at.
    pub(crate) fn sample(&mut self, present: &Present, taken: &BTreeSet<i32>, now_ns: u64) -> Option<OthersUse> {
        if !present.is_complete {
            return None;
        }
        // What has begun since the sample before has used all of its time since, also when that sample was some samples ago.
        let is_first = self.looked_ns.is_none();
        let all: Vec<Seen> = present.all.values().map(|seen| self.named(seen, present)).collect();
        let undecided = &self.undecided.pids;
        let is_told_apart = |seen: &Seen| undecided.contains(&seen.pid);
        let decided: BTreeSet<i32> = all.iter().filter(|seen| !is_told_apart(seen)).map(|seen| seen.pid).collect();
        let open = |accounting: &mut CpuAccounting| {
            for seen in &all {
                if !accounting.knows(seen) {
                    accounting.open(seen.clone(), !is_first);
                }
            }
        };
        open(&mut self.cpu_accounting);
        open(&mut self.undecided.cpu_accounting);
        let elsewhere = taken.union(undecided).copied().collect();
        let undecided = self.undecided.cpu_accounting.settle_without(all.clone(), &decided);
        let used = self.cpu_accounting.settle_without(all, &elsewhere);
        let busy = |used: ServerUse| used.processes.into_iter().filter(|process| process.figures.cpu_ns > 0).collect();
        self.looked_ns.replace(now_ns).map(|from_ns| OthersUse {
            from_ns,
            processes: busy(used),
            undecided: busy(undecided),
        })
    }

    /// A process with the name by which it is told: that of the other variant says so.
    fn named(&self, seen: &Seen, present: &Present) -> Seen {
        let parents = std::iter::successors(Some(seen.pid), |pid| present.all.get(pid).map(|seen| seen.ppid));
        let is_neighbour = !self.neighbours.is_empty()
            && parents.take(present.all.len() + 1).any(|pid| self.neighbours.contains(&pid));
        let name = if is_neighbour { format!("{OTHER_VARIANT}{}", seen.name) } else { seen.name.clone() };
        Seen { name, ..seen.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::used;

    fn present(is_complete: bool, processes: &[(i32, &str, u64)]) -> Present {
        let seen = |&(pid, name, own_ns): &(i32, &str, u64)| {
            (pid, Seen { pid, ppid: 1, began: 1, name: name.into(), figures: used(own_ns), ..Seen::default() })
        };
        Present { all: processes.iter().map(seen).collect(), is_complete, ..Present::default() }
    }

    #[test]
    fn the_time_of_a_companion_that_ends_is_not_that_of_its_parent() {
        let second = 1_000_000_000;
        let seen = |pid, ppid, own_s, waited_s| {
            let (figures, waited_ns) = (used(own_s * second), waited_s * second);
            (pid, Seen { pid, ppid, began: 1, name: format!("p{pid}"), figures, waited_ns, ..Seen::default() })
        };
        let present = |all: &[(i32, Seen)]| Present {
            all: all.iter().cloned().collect(),
            is_complete: true,
            ..Present::default()
        };
        let mut others = Others::default();
        let companions = [4].into();
        others.sample(&present(&[seen(3, 1, 0, 0), seen(4, 3, 50, 0)]), &companions, 1);
        assert!(
            others
                .sample(&present(&[seen(3, 1, 0, 0), seen(4, 3, 90, 0)]), &companions, 2)
                .unwrap()
                .processes
                .is_empty()
        );
        // It has used one second more before it ended, which nobody else has counted.
        let used = others.sample(&present(&[seen(3, 1, 0, 91)]), &BTreeSet::new(), 3).unwrap();
        let told: Vec<_> =
            used.processes.iter().map(|process| (process.name.as_str(), process.figures.cpu_ns)).collect();
        assert_eq!(told, [("p4", second)]);
    }

    #[test]
    fn the_other_variant_and_all_that_it_started_is_told_apart() {
        let seen = |pid, ppid, name: &str, own_ns| {
            (pid, Seen { pid, ppid, began: 1, name: name.into(), figures: used(own_ns), ..Seen::default() })
        };
        let present = |ns: u64| Present {
            all: [
                seen(2, 1, "nginx", ns),
                seen(5, 1, "nginx", ns),
                seen(6, 5, "nginx", 2 * ns),
                seen(7, 1, "cron", ns),
            ]
            .into(),
            is_complete: true,
            ..Present::default()
        };
        let mut others = Others::default();
        others.tell_apart(vec![5]);
        let server = [2].into();
        others.sample(&present(10), &server, 1);
        let used = others.sample(&present(110), &server, 2).unwrap();
        let told: Vec<_> =
            used.processes.iter().map(|process| (process.name.as_str(), process.figures.cpu_ns)).collect();
        assert_eq!(told, [("cron", 100), ("other variant: nginx", 300)]);
    }

    #[test]
    fn what_may_belong_to_the_server_is_told_apart() {
        let mut others = Others::default();
        let server = [2].into();
        others.undecided.pids = [4].into();
        others.sample(&present(true, &[(2, "nginx", 5), (3, "cron", 70), (4, "mariadbd", 7)]), &server, 10);
        let now = present(true, &[(2, "nginx", 9), (3, "cron", 75), (4, "mariadbd", 40)]);
        let used = others.sample(&now, &server, 20).unwrap();
        let told = |all: &[model::ProcessUse]| -> Vec<_> {
            all.iter().map(|process| (process.name.clone(), process.figures.cpu_ns)).collect()
        };
        assert_eq!(told(&used.processes), [("cron".to_owned(), 5)]);
        assert_eq!(told(&used.undecided), [("mariadbd".to_owned(), 33)]);
        // Once it is known to belong to the server it is counted there.
        others.undecided.pids.clear();
        let now = present(true, &[(2, "nginx", 9), (3, "cron", 75), (4, "mariadbd", 90)]);
        let used = others.sample(&now, &[2, 4].into(), 30).unwrap();
        assert_eq!((told(&used.processes), told(&used.undecided)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_strangers_used_is_told_by_name() {
        let mut others = Others::default();
        let server = [2].into();
        assert_eq!(others.sample(&present(true, &[(2, "nginx", 5), (3, "cron", 70)]), &server, 10), None);
        assert_eq!(others.sample(&present(false, &[(2, "nginx", 9)]), &server, 20), None, "not all were looked at");
        let now = present(true, &[(2, "nginx", 99), (3, "cron", 75), (4, "make", 40), (5, "idle", 0)]);
        let used = others.sample(&now, &server, 30).unwrap();
        assert_eq!(used.from_ns, 10);
        let told: Vec<_> =
            used.processes.iter().map(|process| (process.name.as_str(), process.figures.cpu_ns)).collect();
        assert_eq!(told, [("cron", 5), ("make", 40)]);
    }
}
