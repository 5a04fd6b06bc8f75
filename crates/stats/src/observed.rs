//! From samples to what was observed over the measured window.

use model::{
    CpuTimes, GeneratorObserved, MachineObserved, NS_PER_S, Observed, ObservedSecond, ProcessObserved, Sample,
    ServerObserved, Sockets, SocketsObserved, ThreadObserved,
};
use std::collections::BTreeMap;

/// Shorter samples are too coarse for a share: the kernel tells CPU time in steps of 10 ms.
const SAMPLE_MIN_NS: u64 = NS_PER_S / 2;

/// Sums over the samples of a window, and over those of other windows merged in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObservedSum {
    machine: Option<MachineSum>,
    server: Option<ServerSum>,
    generator: Option<GeneratorSum>,
    sockets: Option<SocketsObserved>,
    seconds: Vec<ObservedSecond>,
    unavailable: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct MachineSum {
    total: CpuTimes,
    cpus: Vec<CpuTimes>,
    busy_max: f64,
    steal_max: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ServerSum {
    wall_ns: u64,
    cores_max: f64,
    rss_bytes_max: u64,
    ended_unaccounted: u64,
    /// By name.
    processes: BTreeMap<String, ProcessSum>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ProcessSum {
    count_max: u32,
    cpu_ns: u64,
    rss_bytes_max: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct GeneratorSum {
    wall_ns: u64,
    cpu_ns: u64,
    /// Time on a CPU, time waiting for one, and length of the samples that have it; by name.
    threads: BTreeMap<String, (u64, u64, u64)>,
}

impl ObservedSum {
    /// Takes note of what is not available, whenever that is said.
    pub(crate) fn note(&mut self, sample: &Sample) {
        self.unavailable.extend(sample.unavailable.iter().map(|(part, why)| (part.clone(), why.clone())));
    }

    /// Adds a sample of the measured window.
    pub(crate) fn add(&mut self, sample: &Sample) {
        let length_ns = sample.to_ns.saturating_sub(sample.from_ns);
        let mut second = ObservedSecond { from_ns: sample.from_ns, length_ns, ..ObservedSecond::default() };
        let is_long = length_ns >= SAMPLE_MIN_NS;
        if let Some(machine) = &sample.machine {
            let sum = self.machine.get_or_insert_default();
            sum.total.add(&machine.total);
            add_cpus(&mut sum.cpus, &machine.cpus);
            let cpus = machine.cpus.len() as f64;
            second.machine_cores = Some(share(machine.total.busy_ns(), &machine.total) * cpus);
            second.steal_cores = Some(share(machine.total.steal_ns, &machine.total) * cpus);
            if is_long {
                sum.busy_max = sum.busy_max.max(share(machine.total.busy_ns(), &machine.total));
                sum.steal_max = sum.steal_max.max(share(machine.total.steal_ns, &machine.total));
            }
        }
        if let Some(server) = &sample.server {
            let cpu_ns: u64 = server.processes.iter().map(|process| process.cpu_ns).sum();
            let rss_bytes = server.processes.iter().map(|process| process.rss_bytes).sum();
            let cores = ratio(cpu_ns, length_ns);
            (second.server_cores, second.server_rss_bytes) = (Some(cores), Some(rss_bytes));
            let sum = self.server.get_or_insert_default();
            sum.add(server, length_ns, if is_long { cores } else { 0.0 }, rss_bytes);
        }
        if let Some(generator) = &sample.generator {
            second.generator_cores = Some(ratio(generator.cpu_ns, length_ns));
            let sum = self.generator.get_or_insert_default();
            sum.wall_ns += length_ns;
            sum.cpu_ns += generator.cpu_ns;
            for thread in &generator.threads {
                let times = (thread.cpu_ns, thread.wait_ns, length_ns);
                add_times(sum.threads.entry(thread.name.clone()).or_default(), times);
            }
        }
        if let Some(sockets) = &sample.sockets {
            let states = sockets.server.as_ref().unwrap_or(&sockets.client);
            second.established = Some(states.get("established").copied().unwrap_or(0));
            most_sockets(self.sockets.get_or_insert_default(), sockets);
        }
        if is_long {
            self.seconds.push(second);
        }
    }

    /// Adds the sums of another window of the same load.
    pub(crate) fn merge(&mut self, other: &Self) {
        if let Some(theirs) = &other.machine {
            let mine = self.machine.get_or_insert_default();
            mine.total.add(&theirs.total);
            add_cpus(&mut mine.cpus, &theirs.cpus);
            mine.busy_max = mine.busy_max.max(theirs.busy_max);
            mine.steal_max = mine.steal_max.max(theirs.steal_max);
        }
        if let Some(theirs) = &other.server {
            self.server.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = &other.generator {
            let mine = self.generator.get_or_insert_default();
            mine.wall_ns += theirs.wall_ns;
            mine.cpu_ns += theirs.cpu_ns;
            for (name, times) in &theirs.threads {
                add_times(mine.threads.entry(name.clone()).or_default(), *times);
            }
        }
        if let Some(theirs) = other.sockets.clone() {
            let SocketsObserved { server, client, accept_queue_max: accept_queue } = theirs;
            most_sockets(self.sockets.get_or_insert_default(), &Sockets { server, client, accept_queue });
        }
        self.seconds.extend_from_slice(&other.seconds);
        self.unavailable.extend(other.unavailable.iter().map(|(part, why)| (part.clone(), why.clone())));
    }

    /// What was observed, given the complete responses per second of the same window; none when nobody looked.
    pub(crate) fn observed(&self, responses_per_s: f64) -> Option<Observed> {
        if *self == Self::default() {
            return None;
        }
        Some(Observed {
            machine: self.machine.as_ref().map(MachineSum::observed),
            server: self.server.as_ref().map(|server| server.observed(responses_per_s)),
            generator: self.generator.as_ref().map(GeneratorSum::observed),
            sockets: self.sockets.clone(),
            seconds: self.seconds.clone(),
            unavailable: self.unavailable.clone(),
        })
    }
}

impl MachineSum {
    fn observed(&self) -> MachineObserved {
        let of = |part_ns| share(part_ns, &self.total);
        MachineObserved {
            cpus: self.cpus.len() as u32,
            busy_mean: of(self.total.busy_ns()),
            busy_max: self.busy_max,
            user_mean: of(self.total.user_ns),
            system_mean: of(self.total.system_ns),
            softirq_mean: of(self.total.softirq_ns),
            steal_mean: of(self.total.steal_ns),
            steal_max: self.steal_max,
            cpu_busy_mean: self.cpus.iter().map(|cpu| share(cpu.busy_ns(), cpu)).collect(),
        }
    }
}

impl ServerSum {
    fn add(&mut self, server: &model::ServerUse, length_ns: u64, cores: f64, rss_bytes: u64) {
        self.wall_ns += length_ns;
        self.cores_max = self.cores_max.max(cores);
        self.rss_bytes_max = self.rss_bytes_max.max(rss_bytes);
        self.ended_unaccounted += server.ended_unaccounted;
        for process in &server.processes {
            let sum = self.processes.entry(process.name.clone()).or_default();
            sum.cpu_ns += process.cpu_ns;
            sum.count_max = sum.count_max.max(process.count);
            sum.rss_bytes_max = sum.rss_bytes_max.max(process.rss_bytes);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.wall_ns += other.wall_ns;
        self.cores_max = self.cores_max.max(other.cores_max);
        self.rss_bytes_max = self.rss_bytes_max.max(other.rss_bytes_max);
        self.ended_unaccounted += other.ended_unaccounted;
        for (name, process) in &other.processes {
            let sum = self.processes.entry(name.clone()).or_default();
            sum.cpu_ns += process.cpu_ns;
            sum.count_max = sum.count_max.max(process.count_max);
            sum.rss_bytes_max = sum.rss_bytes_max.max(process.rss_bytes_max);
        }
    }

    fn observed(&self, responses_per_s: f64) -> ServerObserved {
        // Rates of both, as the samples do not begin and end at the very instants of the window.
        let per_request = |cores: f64| (responses_per_s > 0.0).then(|| cores * NS_PER_S as f64 / responses_per_s);
        let mut processes: Vec<ProcessObserved> = self
            .processes
            .iter()
            .map(|(name, sum)| {
                let cpu_cores = ratio(sum.cpu_ns, self.wall_ns);
                ProcessObserved {
                    name: name.clone(),
                    count: sum.count_max,
                    cpu_cores,
                    cpu_ns_per_request: per_request(cpu_cores),
                    rss_bytes_max: sum.rss_bytes_max,
                }
            })
            .collect();
        processes.sort_by(|a, b| b.cpu_cores.total_cmp(&a.cpu_cores));
        let cpu_cores = processes.iter().map(|process| process.cpu_cores).sum();
        ServerObserved {
            cpu_cores,
            cpu_cores_max: self.cores_max,
            cpu_ns_per_request: per_request(cpu_cores),
            rss_bytes_max: self.rss_bytes_max,
            processes,
            ended_unaccounted: self.ended_unaccounted,
        }
    }
}

impl GeneratorSum {
    fn observed(&self) -> GeneratorObserved {
        let threads = self.threads.iter().map(|(name, (cpu_ns, wait_ns, wall_ns))| ThreadObserved {
            name: name.clone(),
            busy_mean: ratio(*cpu_ns, *wall_ns),
            wait_mean: ratio(*wait_ns, *wall_ns),
        });
        GeneratorObserved { cpu_cores: ratio(self.cpu_ns, self.wall_ns), threads: threads.collect() }
    }
}

fn add_cpus(sum: &mut Vec<CpuTimes>, more: &[CpuTimes]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), CpuTimes::default());
    }
    sum.iter_mut().zip(more).for_each(|(cpu, other)| cpu.add(other));
}

fn add_times(sum: &mut (u64, u64, u64), more: (u64, u64, u64)) {
    *sum = (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2);
}

/// Keeps the larger number of each state.
fn most_sockets(sum: &mut SocketsObserved, more: &Sockets) {
    most(&mut sum.client, &more.client);
    if let Some(server) = &more.server {
        most(sum.server.get_or_insert_default(), server);
    }
    sum.accept_queue_max = sum.accept_queue_max.max(more.accept_queue);
}

fn most(sum: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (state, n) in more {
        let largest = sum.entry(state.clone()).or_default();
        *largest = (*largest).max(*n);
    }
}

/// Part of all CPU time.
fn share(part_ns: u64, of: &CpuTimes) -> f64 {
    ratio(part_ns, of.all_ns())
}

fn ratio(part_ns: u64, of_ns: u64) -> f64 {
    if of_ns == 0 { 0.0 } else { part_ns as f64 / of_ns as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{GeneratorUse, MachineCpu, Phase, ProcessUse, ServerUse, ThreadRun};

    fn process(name: &str, count: u32, cpu_ms: u64, rss_bytes: u64) -> ProcessUse {
        ProcessUse { name: name.into(), count, cpu_ns: cpu_ms * 1_000_000, rss_bytes }
    }

    /// A sample of `length_ms` in which one of two CPUs was `busy_ms` busy.
    fn sample(length_ms: u64, busy_ms: u64, processes: Vec<ProcessUse>) -> Sample {
        let ns = |ms: u64| ms * 1_000_000;
        let cpu = |busy| CpuTimes { user_ns: ns(busy), idle_ns: ns(length_ms - busy), ..CpuTimes::default() };
        let (busy, idle) = (cpu(busy_ms), cpu(0));
        let mut total = busy;
        total.add(&idle);
        Sample {
            phase: Phase::Measure,
            from_ns: 0,
            to_ns: ns(length_ms),
            machine: Some(MachineCpu { total, cpus: vec![busy, idle] }),
            server: Some(ServerUse { processes, ended_unaccounted: 1 }),
            generator: Some(GeneratorUse {
                cpu_ns: ns(300),
                threads: vec![ThreadRun { name: "load-0".into(), cpu_ns: ns(200), wait_ns: ns(50) }],
            }),
            sockets: Some(Sockets {
                server: Some([("established".to_owned(), busy_ms)].into()),
                client: [("time_wait".to_owned(), 7)].into(),
                accept_queue: Some(busy_ms / 100),
            }),
            unavailable: BTreeMap::new(),
        }
    }

    fn sum(samples: &[Sample]) -> ObservedSum {
        let mut sum = ObservedSum::default();
        samples.iter().for_each(|sample| sum.add(sample));
        sum
    }

    #[test]
    fn means_are_over_the_time_and_largest_are_of_long_samples() {
        let seen = sum(&[
            sample(1000, 800, vec![process("a", 1, 100, 10), process("b", 3, 500, 20)]),
            sample(1000, 400, vec![process("a", 2, 100, 30), process("b", 2, 300, 20)]),
            sample(100, 100, vec![process("a", 1, 100, 1)]),
        ])
        .observed(1000.0)
        .unwrap();
        let machine = seen.machine.unwrap();
        assert!((machine.busy_mean - 1300.0 / 4200.0).abs() < 1e-9, "{machine:?}");
        assert_eq!((machine.cpus, machine.busy_max, machine.cpu_busy_mean[1]), (2, 0.4, 0.0));
        let server = seen.server.unwrap();
        assert!((server.cpu_cores - 1.1 / 2.1).abs() < 1e-9 && (server.cpu_cores_max - 0.6).abs() < 1e-9);
        assert!((server.cpu_ns_per_request.unwrap() - 1e6 * 1.1 / 2.1).abs() < 1e-3);
        assert_eq!((server.rss_bytes_max, server.ended_unaccounted), (50, 3));
        let told: Vec<_> = server.processes.iter().map(|p| (p.name.as_str(), p.count, p.rss_bytes_max)).collect();
        assert_eq!(told, [("b", 3, 20), ("a", 2, 30)], "the one with the most CPU time first");
        let thread = &seen.generator.unwrap().threads[0];
        assert!((thread.busy_mean - 0.6 / 2.1).abs() < 1e-9 && (thread.wait_mean - 0.15 / 2.1).abs() < 1e-9);
        let sockets = seen.sockets.unwrap();
        assert_eq!((sockets.server.unwrap()["established"], sockets.accept_queue_max), (800, Some(8)));
        let cores: Vec<_> = seen.seconds.iter().map(|second| second.server_cores).collect();
        assert_eq!(cores, [Some(0.6), Some(0.4)], "the short sample is no second");
        assert_eq!(seen.seconds[0].machine_cores, Some(0.8));
    }

    #[test]
    fn windows_merge_as_if_they_were_one() {
        let first = sample(1000, 800, vec![process("a", 1, 100, 10)]);
        let second = sample(2000, 400, vec![process("a", 2, 300, 5), process("b", 1, 50, 5)]);
        let mut merged = sum(std::slice::from_ref(&first));
        merged.merge(&sum(std::slice::from_ref(&second)));
        assert_eq!(merged, sum(&[first, second]));
    }

    #[test]
    fn what_is_not_available_is_none_with_its_reason() {
        let mut bare = sample(1000, 0, Vec::new());
        (bare.machine, bare.server, bare.generator, bare.sockets) = (None, None, None, None);
        bare.unavailable = [("server".to_owned(), "elsewhere".to_owned())].into();
        let mut seen = sum(std::slice::from_ref(&bare));
        seen.note(&bare);
        let observed = seen.observed(1.0).unwrap();
        assert_eq!((observed.machine, observed.server, observed.sockets), (None, None, None));
        assert_eq!(observed.unavailable["server"], "elsewhere");
        assert_eq!(observed.seconds[0].server_cores, None);
        assert_eq!(ObservedSum::default().observed(1.0), None);
        assert_eq!(sum(&[sample(1000, 0, Vec::new())]).observed(0.0).unwrap().server.unwrap().cpu_ns_per_request, None);
    }
}
