//! All looks together, as if they were one.

use model::{GroupObservation, Observation, OthersUse, add_processes};
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
            let first = OthersUse { from_ns: others.from_ns, ..OthersUse::default() };
            sum.others.get_or_insert(first).add_sample(others);
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
        self.sum.groups.iter_mut().for_each(|group| group.cpu_cores = group.figures.cpu_ns as f64 / length_ns);
    }

    fn add_group(&mut self, seen: &GroupObservation) {
        let GroupObservation { target, figures, cpu_cores: _, run_queue_wait, ended_unaccounted, processes, sockets } =
            seen;
        let at = self.sum.groups.iter().position(|group| group.target == *target).unwrap_or_else(|| {
            self.sum.groups.push(GroupObservation { target: target.clone(), ..GroupObservation::default() });
            self.sum.groups.len() - 1
        });
        let sum = &mut self.sum.groups[at];
        sum.figures.add_sample(figures);
        add_processes(&mut sum.processes, processes);
        sum.ended_unaccounted += ended_unaccounted;
        if let Some(sockets) = sockets {
            sum.sockets.get_or_insert_default().add_sample(sockets);
        }
        if let Some(wait) = run_queue_wait {
            let (waited, looks) = self.waits.entry(target.clone()).or_default();
            (*waited, *looks) = (*waited + wait, *looks + 1);
            sum.run_queue_wait = Some(*waited / *looks as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{NS_PER_S, ProcessFigures, ProcessUse};

    fn look(second: u64, cpu_ns: u64, rss_bytes: u64, run_queue_wait: Option<f64>) -> Observation {
        let figures = ProcessFigures { count: 1, cpu_ns, rss_bytes, ..ProcessFigures::default() };
        let used = ProcessUse { name: "p".into(), figures };
        let group = GroupObservation {
            target: "p".into(),
            figures,
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
        let gone = Observation { groups: Vec::new(), ..look(2, 0, 0, None) };
        total.add(&gone);
        let group = &total.sum().groups[0];
        assert_eq!(
            (group.figures.cpu_ns, group.figures.rss_bytes, group.processes[0].figures.cpu_ns),
            (NS_PER_S * 3 / 4, 30, NS_PER_S * 3 / 4)
        );
        assert_eq!((group.cpu_cores, group.run_queue_wait), (0.25, Some(0.2)));
        assert_eq!((total.looks(), total.sum().kernel.counters["tcp"]["ListenDrops"]), (3, 6));
    }
}
