//! CPU time of a changing set of processes, none of it lost silently.
//!
//! A process that ends takes its CPU time along, but its parent, when it waits for it, gets all of it as time of its
//! children. So what a parent got beyond what was already counted is what its ended children used since.
//!
//! A sample reads one process after the other, parents mostly first: a child that ends meanwhile is missing, and its parent
//! was read before it got the time. What was counted of the child already is then held against what the parent has got at
//! the next sample, as it would count twice otherwise.

use model::{ENDED_CHILDREN, NS_PER_S, ProcessFigures, ProcessUse, ServerUse};
use std::collections::{BTreeMap, BTreeSet};

/// The kernel tells times in ticks of 10 ms, user and system apart: sums of a few are not closer than this.
const ROUNDING_NS: u64 = NS_PER_S / 25;

/// What the kernel may know of the ended children of a process and not tell yet: less than one tick each of user and system
/// time. An ended child was counted to the nanosecond, so that what is left of its time comes with that of a later one.
const UNTOLD_NS: u64 = NS_PER_S / 50;

/// A process as one sample sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) pid: i32,
    pub(crate) ppid: i32,
    /// When it began, to tell it from a later one with its number.
    pub(crate) began: u64,
    pub(crate) name: String,
    /// CPU time of the children it waited for, and of theirs.
    pub(crate) waited_ns: u64,
    /// CPU time since it began, to the nanosecond, where its figures have steps of 10 ms; none of one that ended just now.
    pub(crate) exact_ns: Option<u64>,
    /// The CPU that it ran on last.
    pub(crate) cpu: u32,
    /// Its figures: what it used since it began, what there is now, and of what is expensive to read what there was when it
    /// was asked last.
    pub(crate) figures: ProcessFigures,
}

impl Seen {
    /// The same with its CPU time to the nanosecond, as far as that is known. Of the many processes beside the server the steps
    /// are enough: what uses next to nothing would have a line in each sample.
    pub(crate) fn to_the_ns(&self) -> Self {
        let cpu_ns = self.exact_ns.unwrap_or(self.figures.cpu_ns);
        Self { figures: ProcessFigures { cpu_ns, ..self.figures }, ..self.clone() }
    }
}

/// The processes counted so far, as the sample before saw them.
#[derive(Debug, Default)]
pub(crate) struct CpuAccounting {
    members: BTreeMap<i32, Seen>,
    /// What was counted of ended children and had not come to their parent at the sample before, by the parent's number; ns.
    owed_ns: BTreeMap<i32, u64>,
}

impl CpuAccounting {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn has(&self, pid: i32) -> bool {
        self.members.contains_key(&pid)
    }

    /// True if this very process is counted, and not an earlier one with its number.
    pub(crate) fn knows(&self, seen: &Seen) -> bool {
        self.members.get(&seen.pid).is_some_and(|member| member.began == seen.began)
    }

    pub(crate) fn pids(&self) -> Vec<i32> {
        self.members.keys().copied().collect()
    }

    /// Counts a process from now on, or from its begin when that was after the sample before.
    pub(crate) fn open(&mut self, seen: Seen, is_new: bool) {
        let account = if is_new { Seen { figures: seen.figures.at_begin(), waited_ns: 0, ..seen } } else { seen };
        self.members.insert(account.pid, account);
    }

    /// What was used since the sample before, given the members that are still there.
    pub(crate) fn settle(&mut self, seen: Vec<Seen>) -> ServerUse {
        self.settle_without(seen, &BTreeSet::new())
    }

    /// The same without the members that are counted `elsewhere`. They have to be members here too: when they end, their
    /// parents get their time, which must not count again.
    pub(crate) fn settle_without(&mut self, seen: Vec<Seen>, elsewhere: &BTreeSet<i32>) -> ServerUse {
        let mut groups = BTreeMap::new();
        let mut grown = BTreeMap::new();
        let mut now = BTreeMap::new();
        for process in seen {
            // A number that was given to another process is another process.
            let Some(before) = self.members.get(&process.pid).filter(|before| before.began == process.began) else {
                continue;
            };
            if elsewhere.contains(&process.pid) {
                now.insert(process.pid, process);
                continue;
            }
            let group: &mut ProcessFigures = groups.entry(process.name.clone()).or_default();
            group.add_process(&process.figures.since(&before.figures));
            grown.insert(process.pid, process.waited_ns.saturating_sub(before.waited_ns));
            now.insert(process.pid, process);
        }
        let before = std::mem::replace(&mut self.members, now);
        let ended_unaccounted = self.ended(&before, &grown, &mut groups);
        let processes = groups.into_iter().map(|(name, figures)| ProcessUse { name, figures }).collect();
        let mut ended = BTreeMap::new();
        for gone in before.values().filter(|process| !self.has(process.pid)) {
            *ended.entry(gone.name.clone()).or_default() += 1;
        }
        ServerUse { processes, ended_unaccounted, ended, threads: None }
    }

    /// Adds what ended processes used since the sample before; tells how many it is not known of.
    fn ended(
        &mut self,
        before: &BTreeMap<i32, Seen>,
        grown: &BTreeMap<i32, u64>,
        groups: &mut BTreeMap<String, ProcessFigures>,
    ) -> u64 {
        let mut heirs: BTreeMap<i32, (u64, Vec<&str>)> = BTreeMap::new();
        let mut unaccounted = 0;
        for gone in before.values().filter(|process| !self.has(process.pid)) {
            // Its parent may have ended with it, and been waited for by the next.
            let ancestors = std::iter::successors(Some(gone.ppid), |pid| before.get(pid).map(|parent| parent.ppid));
            match ancestors.take(before.len() + 1).find(|pid| self.has(*pid)) {
                Some(heir) => {
                    let (counted_ns, names) = heirs.entry(heir).or_default();
                    *counted_ns += gone.figures.cpu_ns + gone.waited_ns;
                    names.push(&gone.name);
                }
                None => unaccounted += 1,
            }
        }
        // Whatever has not come by now never will, but for what is less than the steps in which it comes.
        let owed_ns = std::mem::take(&mut self.owed_ns);
        for (pid, grown_ns) in grown {
            let (counted_ns, names) = heirs.remove(pid).unwrap_or_default();
            let known_ns = counted_ns + owed_ns.get(pid).copied().unwrap_or(0);
            if grown_ns + ROUNDING_NS < counted_ns {
                unaccounted += names.len() as u64;
            } else if *grown_ns > known_ns {
                let name = names.first().map_or_else(|| ended_children(&self.members[pid].name), |name| (*name).into());
                groups.entry(name).or_default().cpu_ns += grown_ns - known_ns;
            }
            let short_ns = known_ns.saturating_sub(*grown_ns).min(counted_ns.max(UNTOLD_NS));
            if short_ns > 0 {
                self.owed_ns.insert(*pid, short_ns);
            }
        }
        unaccounted
    }
}

fn ended_children(name: &str) -> String {
    format!("{name}{ENDED_CHILDREN}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const MS: u64 = 1_000_000;

    fn seen(pid: i32, ppid: i32, name: &str, own_ms: u64, waited_ms: u64) -> Seen {
        let figures = ProcessFigures { rss_bytes: 4096, ..testing::used(own_ms * MS) };
        Seen { pid, ppid, began: 1, name: name.into(), waited_ns: waited_ms * MS, figures, ..Seen::default() }
    }

    fn cpu_accounting(members: impl IntoIterator<Item = Seen>) -> CpuAccounting {
        let mut cpu_accounting = CpuAccounting::default();
        members.into_iter().for_each(|member| cpu_accounting.open(member, false));
        cpu_accounting
    }

    fn told(used: &ServerUse) -> Vec<(&str, u64, u64)> {
        used.processes
            .iter()
            .map(|group| (group.name.as_str(), group.figures.count, group.figures.cpu_ns / MS))
            .collect()
    }

    #[test]
    fn processes_of_a_name_count_together_from_the_look_before() {
        let mut cpu_accounting = cpu_accounting([seen(1, 0, "master", 500, 0), seen(2, 1, "worker", 100, 0)]);
        cpu_accounting.open(seen(3, 1, "worker", 70, 0), true);
        let used = cpu_accounting.settle(vec![
            seen(1, 0, "master", 500, 0),
            seen(2, 1, "worker", 130, 0),
            seen(3, 1, "worker", 90, 0),
        ]);
        assert_eq!(told(&used), [("master", 1, 0), ("worker", 2, 30 + 90)]);
        assert_eq!((used.processes[1].figures.rss_bytes, used.ended_unaccounted), (2 * 4096, 0));
        assert!(used.ended.is_empty());
    }

    #[test]
    fn memory_in_parts_is_known_of_all_of_a_name_or_not_at_all() {
        let holds = |pid, name, pss_bytes, fds, vms_bytes| {
            let (fds, fds_limit) = (Some(fds), Some(100 * fds - 50));
            let figures = ProcessFigures { pss_bytes, fds, fds_limit, vms_bytes, ..testing::used(0) };
            Seen { figures, ..seen(pid, 1, name, 0, 0) }
        };
        let all = [
            holds(2, "a", Some(7), 3, 10),
            holds(3, "a", Some(8), 1, 20),
            holds(4, "b", None, 5, 0),
            holds(5, "b", Some(1), 5, 0),
        ];
        let used = cpu_accounting(all.clone()).settle(all.into());
        let told: Vec<_> =
            used.processes.iter().map(|p| p.figures).map(|p| (p.pss_bytes, p.vms_bytes, p.fds, p.fds_limit)).collect();
        assert_eq!(told, [(Some(15), 30, Some(1), Some(50)), (None, 0, Some(5), Some(450))]);
    }

    #[test]
    fn the_last_time_of_an_ended_child_comes_through_its_parent() {
        let mut cpu_accounting = cpu_accounting([seen(1, 0, "master", 0, 0), seen(2, 1, "worker", 100, 30)]);
        // It used 250 ms more before it ended, and its parent waited for it.
        let used = cpu_accounting.settle(vec![seen(1, 0, "master", 0, 380)]);
        assert_eq!(told(&used), [("master", 1, 0), ("worker", 0, 250)]);
        assert_eq!(used.ended, [("worker".to_owned(), 1)].into());
        assert_eq!(
            cpu_accounting.settle(vec![seen(1, 0, "master", 0, 380)]).processes[0].figures.cpu_ns,
            0,
            "counted once"
        );
    }

    #[test]
    fn a_child_that_ended_during_the_look_is_not_counted_twice() {
        let all = [seen(1, 0, "master", 0, 0), seen(2, 1, "worker", 30, 0), seen(3, 1, "worker", 70, 0)];
        let mut cpu_accounting = cpu_accounting(all);
        let sum = |used: &ServerUse| told(used).iter().map(|(_, _, ms)| ms).sum::<u64>();
        // The master was looked at before it got the time of the first worker, and then the worker was gone.
        let used = cpu_accounting.settle(vec![seen(1, 0, "master", 0, 0), seen(3, 1, "worker", 70, 0)]);
        assert_eq!(sum(&used), 0);
        // Now it has that, and meanwhile the same has happened to the other.
        let used = cpu_accounting.settle(vec![seen(1, 0, "master", 0, 40)]);
        assert_eq!((sum(&used), used.ended_unaccounted), (0, 0));
        let used = cpu_accounting.settle(vec![seen(1, 0, "master", 0, 120)]);
        assert_eq!(sum(&used), 10 + 10, "what both have used since they were seen last");
        // What has not come at the next sample never will, and no more than the steps of the kernel is taken from what others
        // use.
        let mut cpu_accounting = self::cpu_accounting([seen(1, 0, "master", 0, 0), seen(2, 1, "worker", 30, 0)]);
        let idle = || vec![seen(1, 0, "master", 0, 0)];
        assert_eq!((sum(&cpu_accounting.settle(idle())), sum(&cpu_accounting.settle(idle()))), (0, 0));
        assert_eq!(sum(&cpu_accounting.settle(vec![seen(1, 0, "master", 0, 50)])), 30);
    }

    #[test]
    fn children_that_were_counted_to_the_nanosecond_are_not_counted_again_with_the_steps_of_their_parent() {
        let mut cpu_accounting = cpu_accounting([seen(1, 0, "master", 0, 0)]);
        let mut told_ms = 0;
        for child in 1..=100_u64 {
            let pid = 1 + i32::try_from(child).unwrap();
            let waited_ms = |children: u64| children * 7 / 10 * 10;
            cpu_accounting.open(seen(pid, 1, "worker", 0, 0), true);
            // It is seen at its end, and two looks pass without it before the next one begins.
            let alone = || seen(1, 0, "master", 0, waited_ms(child));
            let looks = [
                vec![seen(1, 0, "master", 0, waited_ms(child - 1)), seen(pid, 1, "worker", 7, 0)],
                vec![alone()],
                vec![alone()],
            ];
            for look in looks {
                told_ms += told(&cpu_accounting.settle(look)).iter().map(|(_, _, ms)| ms).sum::<u64>();
            }
        }
        assert_eq!(told_ms, 700);
    }

    #[test]
    fn children_nobody_saw_are_told_apart() {
        let mut cpu_accounting = cpu_accounting([seen(1, 0, "httpd", 0, 10)]);
        let used = cpu_accounting.settle(vec![seen(1, 0, "httpd", 0, 60)]);
        assert_eq!(told(&used), [("httpd", 1, 0), ("httpd (ended children)", 0, 50)]);
    }

    #[test]
    fn a_child_that_ended_with_its_own_children_is_counted_once() {
        let all = [seen(1, 0, "a", 0, 0), seen(2, 1, "b", 100, 0), seen(3, 2, "c", 1000, 0)];
        let used = cpu_accounting(all).settle(vec![seen(1, 0, "a", 0, 1150)]);
        assert_eq!(told(&used), [("a", 1, 0), ("b", 0, 50)]);
        assert_eq!(used.ended_unaccounted, 0);
    }

    #[test]
    fn what_nobody_waited_for_is_told() {
        let members = || [seen(1, 0, "a", 0, 0), seen(2, 1, "b", 1000, 0)];
        // A parent that lets the kernel reap its children.
        assert_eq!(cpu_accounting(members()).settle(vec![seen(1, 0, "a", 0, 0)]).ended_unaccounted, 1);
        // The parent is no part of the server, or has ended as well.
        assert_eq!(cpu_accounting(members()).settle(Vec::new()).ended_unaccounted, 2);
        // A number that has been given to another process.
        let other = Seen { began: 2, ..seen(2, 1, "x", 9, 0) };
        let used = cpu_accounting(members()).settle(vec![seen(1, 0, "a", 0, 1000), other]);
        assert_eq!((told(&used), used.ended_unaccounted), (vec![("a", 1, 0)], 0));
    }
}
