//! All looks together, as if they were one.

use model::{GroupObservation, Observation, OthersUse, ProcessUse, Sockets};
use std::collections::BTreeMap;

/// What was seen since the first look.
#[derive(Debug, Default)]
pub(super) struct Total {
    sum: Observation,
    looks: u64,
    /// Of each target the sum over looks that had its threads, and their number.
    waits: BTreeMap<String, (f64, u64)>,
}

impl Total {
    /// Times and counters are sums, everything else is at its most.
    pub(super) const fn sum(&self) -> &Observation {
        &self.sum
    }

    pub(super) const fn looks(&self) -> u64 {
        self.looks
    }

    pub(super) fn add(&mut self, seen: &Observation) {
        self.looks += 1;
        let sum = &mut self.sum;
        (sum.to_ns, sum.look_cpu_ns) = (seen.to_ns, sum.look_cpu_ns + seen.look_cpu_ns);
        (sum.format, sum.at) = (seen.format.clone(), seen.at.clone());
        if let Some(machine) = &seen.machine {
            sum.machine.get_or_insert_default().add(machine);
        }
        if let Some(others) = &seen.others {
            let first = OthersUse { from_ns: others.from_ns, processes: Vec::new(), ..OthersUse::default() };
            add_processes(&mut sum.others.get_or_insert(first).processes, &others.processes);
        }
        for (part, grown) in &seen.kernel.counters {
            let counters = sum.kernel.counters.entry(part.clone()).or_default();
            grown.iter().for_each(|(name, n)| *counters.entry(name.clone()).or_default() += n);
        }
        for (part, levels) in &seen.kernel.gauges {
            sum.kernel.gauges.insert(part.clone(), levels.clone());
        }
        sum.unavailable.extend(seen.unavailable.clone());
        for group in &seen.groups {
            self.add_group(group);
        }
        let length_ns = (self.sum.to_ns - self.sum.from_ns).max(1) as f64;
        // Also of those that are gone now: it is the mean of the whole time.
        self.sum.groups.iter_mut().for_each(|group| group.cpu_cores = group.cpu_ns as f64 / length_ns);
    }

    fn add_group(&mut self, seen: &GroupObservation) {
        let at = self.sum.groups.iter().position(|group| group.target == seen.target).unwrap_or_else(|| {
            self.sum.groups.push(GroupObservation { target: seen.target.clone(), ..GroupObservation::default() });
            self.sum.groups.len() - 1
        });
        let sum = &mut self.sum.groups[at];
        sum.cpu_ns += seen.cpu_ns;
        sum.ended_unaccounted += seen.ended_unaccounted;
        sum.count = sum.count.max(seen.count);
        sum.threads = sum.threads.max(seen.threads);
        sum.rss_bytes = sum.rss_bytes.max(seen.rss_bytes);
        sum.pss_bytes = sum.pss_bytes.max(seen.pss_bytes);
        if fullness(seen.fds, seen.fds_limit) >= fullness(sum.fds, sum.fds_limit) {
            (sum.fds, sum.fds_limit) = (seen.fds, seen.fds_limit);
        }
        add_processes(&mut sum.processes, &seen.processes);
        if let Some(sockets) = &seen.sockets {
            add_sockets(sum.sockets.get_or_insert_default(), sockets);
        }
        if let Some(wait) = seen.run_queue_wait {
            let (waited, looks) = self.waits.entry(seen.target.clone()).or_default();
            (*waited, *looks) = (*waited + wait, *looks + 1);
            sum.run_queue_wait = Some(*waited / *looks as f64);
        }
    }
}

/// Share of the descriptors that may be open; none where they are not known.
fn fullness(open: Option<u64>, limit: Option<u64>) -> Option<f64> {
    open.zip(limit).map(|(open, limit)| open as f64 / limit.max(1) as f64)
}

fn add_processes(sum: &mut Vec<ProcessUse>, seen: &[ProcessUse]) {
    for used in seen {
        let Some(known) = sum.iter_mut().find(|known| known.name == used.name) else {
            sum.push(used.clone());
            continue;
        };
        known.cpu_ns += used.cpu_ns;
        known.count = known.count.max(used.count);
        known.rss_bytes = known.rss_bytes.max(used.rss_bytes);
        known.vms_bytes = known.vms_bytes.max(used.vms_bytes);
        known.threads = known.threads.max(used.threads);
        known.pss_bytes = known.pss_bytes.max(used.pss_bytes);
        if fullness(used.fds, used.fds_limit) >= fullness(known.fds, known.fds_limit) {
            (known.fds, known.fds_limit) = (used.fds, used.fds_limit);
        }
    }
}

fn add_sockets(sum: &mut Sockets, seen: &Sockets) {
    let add = |sum: &mut BTreeMap<String, u64>, seen: &BTreeMap<String, u64>| {
        for (state, n) in seen {
            let most = sum.entry(state.clone()).or_default();
            *most = (*most).max(*n);
        }
    };
    if let Some(server) = &seen.server {
        add(sum.server.get_or_insert_default(), server);
    }
    add(&mut sum.client, &seen.client);
    sum.accept_queue = sum.accept_queue.max(seen.accept_queue);
    sum.accept_backlog = seen.accept_backlog.or(sum.accept_backlog);
    sum.accept_fullest = match (sum.accept_fullest, seen.accept_fullest) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NS_PER_S;

    fn look(second: u64, cpu_ns: u64, rss_bytes: u64, run_queue_wait: Option<f64>) -> Observation {
        let used = ProcessUse { name: "p".into(), count: 1, cpu_ns, rss_bytes, ..ProcessUse::default() };
        let group = GroupObservation {
            target: "p".into(),
            cpu_ns,
            rss_bytes,
            run_queue_wait,
            processes: vec![used],
            ..GroupObservation::default()
        };
        let counters = [("tcp".to_owned(), [("ListenDrops".to_owned(), 2)].into())].into();
        Observation {
            from_ns: second * NS_PER_S,
            to_ns: (second + 1) * NS_PER_S,
            groups: vec![group],
            kernel: model::KernelFigures { counters, ..model::KernelFigures::default() },
            ..Observation::default()
        }
    }

    #[test]
    fn times_and_counters_are_summed_and_levels_are_the_most() {
        let mut total = Total::default();
        total.add(&look(0, NS_PER_S / 2, 30, Some(0.2)));
        total.add(&look(1, NS_PER_S / 4, 10, None));
        let mut nearest = look(0, 0, 0, None);
        (nearest.groups[0].fds, nearest.groups[0].fds_limit) = (Some(1_000), Some(1_024));
        let mut most = look(0, 0, 0, None);
        (most.groups[0].fds, most.groups[0].fds_limit) = (Some(5_000), Some(1_048_576));
        let mut of_both = Total::default();
        [&nearest, &most].into_iter().for_each(|one| of_both.add(one));
        assert_eq!(of_both.sum().groups[0].fds, Some(1_000), "of the process nearest to its limit");
        let gone = Observation { groups: Vec::new(), ..look(2, 0, 0, None) };
        total.add(&gone);
        let group = &total.sum().groups[0];
        assert_eq!(
            (group.cpu_ns, group.rss_bytes, group.processes[0].cpu_ns),
            (NS_PER_S * 3 / 4, 30, NS_PER_S * 3 / 4)
        );
        assert_eq!((group.cpu_cores, group.run_queue_wait), (0.25, Some(0.2)));
        assert_eq!((total.looks(), total.sum().kernel.counters["tcp"]["ListenDrops"]), (3, 6));
    }
}
