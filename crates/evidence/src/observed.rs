//! From samples to what was observed over the measured window.

mod bounded;
mod kernel;
mod pools;
mod series;
mod server;
#[cfg(test)]
mod tests;

use kernel::KernelSum;
use model::{
    CpuShares, CpuTimes, GeneratorObserved, MachineCpu, MachineObserved, NS_PER_S, Observed, ObservedSecond,
    OtherObserved, OthersObserved, OthersUse, ProcessFigures, ProcessUse, Sample, SamplerObserved, Sockets,
    SocketsObserved, StatusLook, ThreadObserved, ThreadRun,
};
use pools::PoolsSum;
use series::SeriesSum;
use server::ServerSum;
use std::collections::{BTreeMap, BTreeSet};

/// Other processes that are named: those with the most CPU time.
const OTHERS_NAMED_MAX: usize = 10;

/// Shorter samples are too coarse for a share: the kernel tells CPU time in steps of 10 ms.
const SAMPLE_MIN_NS: u64 = NS_PER_S / 2;

/// Samples of which at least this share was undisturbed tell what workers do when nobody takes their CPUs.
const CLEAN_SHARE: f64 = 0.75;

/// The built-in server, as its status names it, and its pool.
const BUILT_IN: &str = "target";
const BUILT_IN_POOL: &str = "built-in server: pool";
/// Answers of a status page are of one of the last seconds.
const TOLD_WITHIN: usize = 5;

/// Sums over the samples of a window, and over those of other windows merged in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObservedSum {
    machine: Option<MachineSum>,
    server: Option<ServerSum>,
    generator: Option<GeneratorSum>,
    sockets: Option<Sockets>,
    companions: BTreeMap<String, ServerSum>,
    others: Option<OthersSum>,
    kernel: KernelSum,
    pools: PoolsSum,
    /// The same of undisturbed samples only.
    clean_pools: PoolsSum,
    sampler: SamplerSum,
    accounted: Accounts,
    seconds: Vec<ObservedSecond>,
    /// What the built-in server has told of its pool, when, of which no second is here yet; ns.
    told_pool: Vec<(u64, f64)>,
    series: SeriesSum,
    unavailable: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct MachineSum {
    cpu: MachineCpu,
    busy_max: f64,
    steal_max: f64,
}

/// CPU time of all processes, against the time the machine was busy.
#[derive(Clone, Debug, Default, PartialEq)]
struct Accounts {
    processes_ns: u64,
    busy_ns: u64,
    /// Begin of the first sample since the others were looked at, and the two times since; not part of any sum yet.
    open: Option<(u64, u64, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct OthersSum {
    wall_ns: u64,
    used: OthersUse,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct SamplerSum {
    looks: u64,
    cpu_ns: u64,
    cpu_ns_max: u64,
    wall_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct GeneratorSum {
    wall_ns: u64,
    cpu_ns: u64,
    /// What each did, and the length of the samples that have it; by name.
    threads: BTreeMap<String, (ThreadRun, u64)>,
    cpus: BTreeSet<u32>,
    major_faults: Option<u64>,
}

impl ObservedSum {
    /// True if nobody looked.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Nobody looks any more.
    pub(crate) fn lose(&mut self, why: &str) {
        self.unavailable.insert(Observed::SERVER.to_owned(), why.to_owned());
    }

    /// Takes note of what is not available, whenever that is said.
    pub(crate) fn note(&mut self, sample: &Sample) {
        self.unavailable.extend(sample.unavailable.iter().map(|(part, why)| (part.clone(), why.clone())));
    }

    /// Adds a sample of the measured window, of which `clean_share` (0 to 1) was undisturbed.
    pub(crate) fn add(&mut self, sample: &Sample, clean_share: f64) {
        let length_ns = sample.to_ns.saturating_sub(sample.from_ns);
        let mut second = ObservedSecond { from_ns: sample.from_ns, length_ns, ..ObservedSecond::default() };
        let is_long = length_ns >= SAMPLE_MIN_NS;
        if let Some(machine) = &sample.machine {
            let sum = self.machine.get_or_insert_default();
            sum.cpu.add(machine);
            let cpus = machine.cpus.len() as f64;
            second.machine_cores = Some(share(machine.total.busy_ns(), &machine.total) * cpus);
            second.steal_cores = Some(share(machine.total.steal_ns, &machine.total) * cpus);
            if is_long {
                sum.busy_max = sum.busy_max.max(share(machine.total.busy_ns(), &machine.total));
                sum.steal_max = sum.steal_max.max(share(machine.total.steal_ns, &machine.total));
            }
        }
        if let Some(server) = &sample.server {
            let figures = ProcessFigures::of(&server.processes);
            let cores = ratio(figures.cpu_ns, length_ns);
            (second.server_cores, second.server_rss_bytes) = (Some(cores), Some(figures.rss_bytes));
            let sum = self.server.get_or_insert_default();
            sum.add(server, &figures, sample.to_ns, length_ns, if is_long { cores } else { 0.0 });
        }
        for (label, companion) in &sample.companions {
            let figures = ProcessFigures::of(&companion.processes);
            let cores = ratio(figures.cpu_ns, length_ns);
            *second.companions_cores.get_or_insert_default() += cores;
            let cores = if is_long { cores } else { 0.0 };
            let sum = self.companions.entry(label.clone()).or_default();
            sum.add(companion, &figures, sample.to_ns, length_ns, cores);
        }
        if let Some(others) = &sample.others {
            self.others.get_or_insert_default().add(others, sample.to_ns);
        }
        self.accounted.add(sample);
        self.kernel.add(&sample.kernel);
        if let Some(states) = &sample.states {
            let cpus = sample.machine.iter().flat_map(|machine| &machine.cpus);
            let stolen_share = cpus.map(|cpu| share(cpu.steal_ns, cpu)).fold(0.0, f64::max);
            second.pools = self.pools.add(states, length_ns, is_long, stolen_share);
            if clean_share >= CLEAN_SHARE {
                self.clean_pools.add(states, length_ns, is_long, stolen_share);
            }
        }
        if let Some(cpu_ns) = sample.look_cpu_ns {
            self.sampler.merge(&SamplerSum { looks: 1, cpu_ns, cpu_ns_max: cpu_ns, wall_ns: length_ns });
        }
        if let Some(generator) = sample.load_generator() {
            second.generator_cores = Some(ratio(generator.cpu_ns, length_ns));
            let sum = self.generator.get_or_insert_default();
            sum.wall_ns += length_ns;
            sum.cpu_ns += generator.cpu_ns;
            sum.cpus.extend(&generator.cpus);
            sum.add_faults(generator.major_faults);
            for thread in &generator.threads {
                add_run(sum.threads.entry(thread.name.clone()).or_default(), thread, length_ns);
            }
        }
        if let Some(sockets) = &sample.sockets {
            let states = sockets.server.as_ref().unwrap_or(&sockets.client);
            second.established = Some(states.get("established").copied().unwrap_or(0));
            self.sockets.get_or_insert_default().add_sample(sockets);
        }
        if is_long {
            self.seconds.push(second);
            self.series.add(sample, &self.seconds);
            self.place_told();
        }
    }

    /// Takes in the status of the built-in server, whose pool is no set of threads: one may stand for all of its workers.
    pub(crate) fn add_status(&mut self, look: &StatusLook) {
        let Some(status) = look.status.as_ref().filter(|status| status.server == BUILT_IN) else { return };
        let of = |name: &str| status.figures.get(name).copied();
        if let (Some(at_ns), Some(busy), Some(workers)) = (look.at_ns, of("pool_busy"), of("pool_workers"))
            && workers > 0.0
        {
            if self.told_pool.len() > TOLD_WITHIN {
                self.told_pool.remove(0);
            }
            self.told_pool.push((at_ns, (busy / workers).min(1.0)));
            self.place_told();
        }
    }

    /// Puts what was told into its seconds, and keeps what lies behind the last of them.
    fn place_told(&mut self) {
        let end_ns = |second: &ObservedSecond| second.from_ns + second.length_ns;
        let seconds = &mut self.seconds;
        self.told_pool.retain(|(at_ns, occupancy)| {
            let holds = |second: &&mut ObservedSecond| (second.from_ns..end_ns(second)).contains(at_ns);
            if let Some(second) = seconds.iter_mut().rev().take(TOLD_WITHIN).find(holds) {
                second.pools.insert(BUILT_IN_POOL.to_owned(), *occupancy);
            }
            seconds.last().is_none_or(|last| *at_ns >= end_ns(last))
        });
    }

    /// Adds the sums of another window of the same load.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            machine,
            server,
            generator,
            sockets,
            companions,
            others,
            kernel,
            pools,
            clean_pools,
            sampler,
            accounted,
            seconds,
            // No second of that window is to come.
            told_pool: _,
            series,
            unavailable,
        } = other;
        if let Some(machine) = machine {
            self.machine.get_or_insert_default().merge(machine);
        }
        if let Some(server) = server {
            self.server.get_or_insert_default().merge(server);
        }
        if let Some(generator) = generator {
            self.generator.get_or_insert_default().merge(generator);
        }
        if let Some(sockets) = sockets {
            self.sockets.get_or_insert_default().add_sample(sockets);
        }
        for (label, companion) in companions {
            self.companions.entry(label.clone()).or_default().merge(companion);
        }
        if let Some(others) = others {
            self.others.get_or_insert_default().merge(others);
        }
        self.accounted.merge(accounted);
        self.kernel.merge(kernel);
        self.pools.merge(pools);
        self.clean_pools.merge(clean_pools);
        self.sampler.merge(sampler);
        self.series.merge(series, self.seconds.len());
        self.seconds.extend_from_slice(seconds);
        self.unavailable.extend(unavailable.iter().map(|(part, why)| (part.clone(), why.clone())));
    }

    /// Why nothing was observed.
    pub(crate) fn unobserved(&self) -> Observed {
        Observed { unavailable: self.unavailable.clone(), ..Observed::default() }
    }

    /// What was observed, given the complete responses per second of the same window; none when nobody looked.
    pub(crate) fn observed(&self, responses_per_s: f64) -> Option<Observed> {
        if self.is_empty() {
            return None;
        }
        let server = self.server.as_ref().map(|server| server.observed(responses_per_s));
        let companions: BTreeMap<_, _> = self
            .companions
            .iter()
            .map(|(label, companion)| (label.clone(), companion.observed(responses_per_s)))
            .collect();
        let series = self.series.observed(server.iter().chain(companions.values()));
        Some(Observed {
            machine: self
                .machine
                .as_ref()
                .map(|machine| MachineObserved { accounted_share: self.accounted.share(), ..machine.observed() }),
            server,
            generator: self.generator.as_ref().map(GeneratorSum::observed),
            sockets: self.sockets.clone().map(SocketsObserved::from),
            companions,
            others: self.others.as_ref().map(OthersSum::observed),
            counters: self.kernel.counters().clone(),
            gauges: self.kernel.gauges(),
            sampler: self.sampler.observed(),
            pools: self.pools.observed_without(&self.clean_pools),
            pools_sampler: self.pools.sampler(),
            seconds: self.seconds.clone(),
            series,
            unavailable: self.unavailable.clone(),
        })
    }
}

impl MachineSum {
    fn merge(&mut self, other: &Self) {
        let Self { cpu, busy_max, steal_max } = other;
        self.cpu.add(cpu);
        self.busy_max = self.busy_max.max(*busy_max);
        self.steal_max = self.steal_max.max(*steal_max);
    }

    fn observed(&self) -> MachineObserved {
        let MachineCpu { total, cpus, numbers } = &self.cpu;
        let of = |part_ns| share(part_ns, total);
        MachineObserved {
            cpus: cpus.len() as u32,
            busy_mean: of(total.busy_ns()),
            busy_max: self.busy_max,
            user_mean: of(total.user_ns),
            system_mean: of(total.system_ns),
            softirq_mean: of(total.softirq_ns),
            steal_mean: of(total.steal_ns),
            steal_max: self.steal_max,
            cpu_busy_mean: cpus.iter().map(|cpu| share(cpu.busy_ns(), cpu)).collect(),
            cpu_shares: cpus.iter().map(shares).collect(),
            cpu_numbers: numbers.clone(),
            accounted_share: None,
        }
    }
}

impl Accounts {
    fn add(&mut self, sample: &Sample) {
        let (from_ns, mut processes_ns, mut busy_ns) = self.open.take().unwrap_or((sample.from_ns, 0, 0));
        let (Some(machine), Some(generator)) = (&sample.machine, &sample.generator) else { return };
        busy_ns += machine.total.busy_ns();
        let groups = sample.server.iter().chain(sample.companions.values());
        processes_ns += groups.map(|group| ProcessFigures::of(&group.processes).cpu_ns).sum::<u64>() + generator.cpu_ns;
        match &sample.others {
            None => self.open = Some((from_ns, processes_ns, busy_ns)),
            // What was used before the window is left out with all that was in that sample.
            Some(others) if others.from_ns != from_ns => {}
            Some(others) => {
                let all = others.processes.iter().chain(&others.undecided);
                self.processes_ns += processes_ns + ProcessFigures::of(all).cpu_ns;
                self.busy_ns += busy_ns;
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        // What is part of no sum yet stays so.
        let Self { processes_ns, busy_ns, open: _ } = other;
        self.processes_ns += processes_ns;
        self.busy_ns += busy_ns;
    }

    fn share(&self) -> Option<f64> {
        (self.busy_ns > 0).then(|| ratio(self.processes_ns, self.busy_ns))
    }
}

impl OthersSum {
    fn add(&mut self, others: &OthersUse, to_ns: u64) {
        self.wall_ns += to_ns.saturating_sub(others.from_ns);
        self.used.add_sample(others);
    }

    fn merge(&mut self, other: &Self) {
        let Self { wall_ns, used } = other;
        self.wall_ns += wall_ns;
        self.used.add_sample(used);
    }

    fn observed(&self) -> OthersObserved {
        let cores = |figures: &ProcessFigures| ratio(figures.cpu_ns, self.wall_ns);
        let named = |all: &[ProcessUse]| {
            let named =
                |process: &ProcessUse| OtherObserved { name: process.name.clone(), cpu_cores: cores(&process.figures) };
            let mut processes: Vec<_> = all.iter().map(named).collect();
            processes.sort_by(|a, b| b.cpu_cores.total_cmp(&a.cpu_cores));
            processes.truncate(OTHERS_NAMED_MAX);
            processes
        };
        OthersObserved {
            cpu_cores: cores(&ProcessFigures::of(&self.used.processes)),
            processes: named(&self.used.processes),
            undecided: named(&self.used.undecided),
        }
    }
}

impl SamplerSum {
    fn merge(&mut self, other: &Self) {
        let Self { looks, cpu_ns, cpu_ns_max, wall_ns } = other;
        self.looks += looks;
        self.cpu_ns += cpu_ns;
        self.cpu_ns_max = self.cpu_ns_max.max(*cpu_ns_max);
        self.wall_ns += wall_ns;
    }

    fn observed(&self) -> Option<SamplerObserved> {
        (self.looks > 0).then(|| SamplerObserved {
            looks: self.looks,
            cpu_ns_per_look: ratio(self.cpu_ns, self.looks),
            cpu_ns_max: self.cpu_ns_max,
            cpu_share: ratio(self.cpu_ns, self.wall_ns),
        })
    }
}

impl GeneratorSum {
    fn merge(&mut self, other: &Self) {
        let Self { wall_ns, cpu_ns, threads, cpus, major_faults } = other;
        self.wall_ns += wall_ns;
        self.cpu_ns += cpu_ns;
        self.cpus.extend(cpus);
        self.add_faults(*major_faults);
        for (name, (run, wall_ns)) in threads {
            add_run(self.threads.entry(name.clone()).or_default(), run, *wall_ns);
        }
    }

    fn add_faults(&mut self, more: Option<u64>) {
        self.major_faults = more.map(|more| self.major_faults.unwrap_or(0) + more).or(self.major_faults);
    }

    fn observed(&self) -> GeneratorObserved {
        let threads = self.threads.iter().map(|(name, (run, wall_ns))| ThreadObserved {
            name: name.clone(),
            busy_mean: ratio(run.cpu_ns, *wall_ns),
            wait_mean: ratio(run.wait_ns, *wall_ns),
            runs_per_s: ratio(run.runs, *wall_ns) * NS_PER_S as f64,
        });
        GeneratorObserved {
            cpu_cores: ratio(self.cpu_ns, self.wall_ns),
            threads: threads.collect(),
            cpus: self.cpus.iter().copied().collect(),
            major_faults: self.major_faults,
        }
    }
}

fn add_run((sum, wall_ns): &mut (ThreadRun, u64), more: &ThreadRun, length_ns: u64) {
    let ThreadRun { name: _, cpu_ns, wait_ns, runs } = more;
    sum.cpu_ns += cpu_ns;
    sum.wait_ns += wait_ns;
    sum.runs += runs;
    *wall_ns += length_ns;
}

/// Where the time of a CPU went.
fn shares(cpu: &CpuTimes) -> CpuShares {
    CpuShares {
        user: share(cpu.user_ns, cpu),
        system: share(cpu.system_ns, cpu),
        softirq: share(cpu.softirq_ns, cpu),
        steal: share(cpu.steal_ns, cpu),
        idle: share(cpu.idle_ns, cpu),
    }
}

/// Part of all CPU time.
fn share(part_ns: u64, of: &CpuTimes) -> f64 {
    ratio(part_ns, of.all_ns())
}

fn ratio(part_ns: u64, of_ns: u64) -> f64 {
    if of_ns == 0 { 0.0 } else { part_ns as f64 / of_ns as f64 }
}
