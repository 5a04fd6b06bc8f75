//! Sample of machine, server and generator: the difference to the one before.

use crate::{OthersUse, Phase, ServerUse, SourceId, cpu_numbers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was used between two samples, and what was there at the second. Instants are ns since the clock of the run
/// started. A part that is not available is none, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The host.
    #[serde(default)]
    pub source: SourceId,
    /// Phase of the load in it.
    pub phase: Phase,
    /// The sample before; ns.
    pub from_ns: u64,
    /// This sample; ns.
    pub to_ns: u64,
    /// CPU time of this machine.
    pub machine: Option<MachineCpu>,
    /// The processes behind the target's port.
    pub server: Option<ServerUse>,
    /// The own process.
    pub generator: Option<GeneratorUse>,
    /// TCP sockets of the target's port.
    pub sockets: Option<Sockets>,
    /// Further processes that were asked for, and their descendants, by the name they were asked for with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub companions: BTreeMap<String, ServerUse>,
    /// Sockets of those of them that were asked for by where they listen; of a Unix socket only the accept queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub companion_sockets: BTreeMap<String, Sockets>,
    /// All processes that are none of these; none in samples that leave them out.
    #[serde(default)]
    pub others: Option<OthersUse>,
    /// What the kernel of this machine counts.
    #[serde(default)]
    pub kernel: KernelFigures,
    /// What the workers of server and companions did; none when that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<StatesUse>,
    /// CPU time that the sample has cost; ns.
    #[serde(default)]
    pub look_cpu_ns: Option<u64>,
    /// Why a part is not available, by its name; only where that was not said before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<String, String>,
}

impl Sample {
    /// A sample of this process in which nothing was observed.
    #[must_use]
    pub fn empty(phase: Phase, from_ns: u64, to_ns: u64) -> Self {
        Self {
            source: SourceId::LOCAL,
            phase,
            from_ns,
            to_ns,
            machine: None,
            server: None,
            generator: None,
            sockets: None,
            companions: BTreeMap::new(),
            companion_sockets: BTreeMap::new(),
            others: None,
            kernel: KernelFigures::default(),
            states: None,
            look_cpu_ns: None,
            unavailable: BTreeMap::new(),
        }
    }

    /// The load generator; none in a sample of another machine than its own.
    #[must_use]
    pub fn load_generator(&self) -> Option<&GeneratorUse> {
        self.generator.as_ref().filter(|_| self.source != SourceId::SERVER_HOST)
    }

    /// Puts all its instants on another clock.
    pub fn on_clock(&mut self, convert: impl Fn(u64) -> u64) {
        let groups = self.server.iter_mut().chain(self.companions.values_mut());
        let threads = groups.filter_map(|group| Some(&mut group.threads.as_mut()?.from_ns));
        let others = self.others.iter_mut().map(|others| &mut others.from_ns);
        let instants = [&mut self.from_ns, &mut self.to_ns].into_iter().chain(threads).chain(others);
        instants.for_each(|at_ns| *at_ns = convert(*at_ns));
    }
}

/// CPU time of the machine, whoever used it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCpu {
    /// All CPUs together.
    pub total: CpuTimes,
    /// Each CPU that is online.
    pub cpus: Vec<CpuTimes>,
    /// Their numbers; empty where these are their positions, and in records from before they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u32>,
}

impl MachineCpu {
    /// Of CPUs by their numbers.
    #[must_use]
    pub fn new(total: CpuTimes, cpus: BTreeMap<u32, CpuTimes>) -> Self {
        let (numbers, cpus): (Vec<u32>, Vec<CpuTimes>) = cpus.into_iter().unzip();
        Self { total, cpus, numbers: cpu_numbers::kept(numbers) }
    }

    /// Each CPU with its number.
    pub fn by_number(&self) -> impl Iterator<Item = (u32, &CpuTimes)> {
        cpu_numbers::told(&self.numbers).zip(&self.cpus)
    }

    /// The CPU with that number; none if it is offline.
    #[must_use]
    pub fn cpu(&self, number: u32) -> Option<&CpuTimes> {
        self.cpus.get(cpu_numbers::position(&self.numbers, number)?)
    }

    /// Adds `other`, each CPU to that with its number.
    pub fn add(&mut self, other: &Self) {
        let mut cpus: BTreeMap<u32, CpuTimes> = self.by_number().map(|(number, times)| (number, *times)).collect();
        other.by_number().for_each(|(number, times)| cpus.entry(number).or_default().add(times));
        self.total.add(&other.total);
        *self = Self::new(self.total, cpus);
    }
}

/// Where CPU time went; ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Programs, those of virtual machines and of low priority included.
    pub user_ns: u64,
    /// The kernel on behalf of programs.
    pub system_ns: u64,
    /// Interrupts, soft ones included: most of what the network costs.
    pub softirq_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
    /// Nothing to do, or waiting for a disk.
    pub idle_ns: u64,
}

impl CpuTimes {
    /// Time in which programs or the kernel ran; ns. Stolen time is not among it.
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.softirq_ns
    }

    /// All of it; ns.
    #[must_use]
    pub const fn all_ns(&self) -> u64 {
        self.busy_ns() + self.steal_ns + self.idle_ns
    }

    /// Adds `other`.
    pub const fn add(&mut self, other: &Self) {
        let Self { user_ns, system_ns, softirq_ns, steal_ns, idle_ns } = *other;
        self.user_ns += user_ns;
        self.system_ns += system_ns;
        self.softirq_ns += softirq_ns;
        self.steal_ns += steal_ns;
        self.idle_ns += idle_ns;
    }
}

/// Part and name, among the kernel's counters, of the connection attempts that the target's own listening sockets dropped: the
/// counters of TCP are those of all servers of the machine.
pub const LISTENER_DROPS: [&str; 2] = ["listener", "dropped_connects"];

/// Figures by part of the kernel, such as `tcp` or `nic/eth0`, and by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFigures {
    /// Growth since the sample before that had the part.
    pub counters: Figures,
    /// Values at the sample; of those that are expensive to read at most ten samples old.
    pub gauges: Figures,
}

/// Numbers by part and name.
pub type Figures = BTreeMap<String, BTreeMap<String, u64>>;

/// CPU of the own process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// User and system time of all threads; ns.
    pub cpu_ns: u64,
    /// The load threads that still run.
    pub threads: Vec<ThreadRun>,
    /// CPUs that the load threads may run on.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Times that it waited for a disk to bring a page of its memory.
    #[serde(default)]
    pub major_faults: Option<u64>,
}

/// What the scheduler gave a load thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRun {
    /// Name of the thread.
    pub name: String,
    /// Time on a CPU; ns.
    pub cpu_ns: u64,
    /// Time it could have run, but no CPU was free; ns.
    pub wait_ns: u64,
    /// Times it was put on a CPU.
    #[serde(default)]
    pub runs: u64,
}

/// TCP sockets of the target's port by state: only states that occur.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sockets {
    /// The server's ends; none when it is on another machine.
    pub server: Option<BTreeMap<String, u64>>,
    /// The clients' ends on this machine, those of other programs included.
    pub client: BTreeMap<String, u64>,
    /// Connections that wait to be accepted; none when the server is on another machine.
    pub accept_queue: Option<u64>,
    /// Connections that may wait on all of its listening sockets together.
    #[serde(default)]
    pub accept_backlog: Option<u64>,
    /// How full the fullest of its accept queues is; 1 is full, and the kernel lets one more in.
    #[serde(default)]
    pub accept_fullest: Option<f64>,
}

impl Sockets {
    /// Adds another sample: the most of each state, and the fullest queues.
    pub fn add_sample(&mut self, other: &Self) {
        let Self { server, client, accept_queue, accept_backlog, accept_fullest } = other;
        if let Some(server) = server {
            keep_most(self.server.get_or_insert_default(), server);
        }
        keep_most(&mut self.client, client);
        self.accept_queue = self.accept_queue.max(*accept_queue);
        self.accept_backlog = self.accept_backlog.max(*accept_backlog);
        // None is less than any number.
        if *accept_fullest > self.accept_fullest {
            self.accept_fullest = *accept_fullest;
        }
    }
}

fn keep_most(sum: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (state, n) in more {
        let most = sum.entry(state.clone()).or_default();
        *most = (*most).max(*n);
    }
}

/// What workers did when they were sampled, several times between two samples of everything else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatesUse {
    /// Times that all, or as many as a sample may have, were looked at.
    pub looks: u64,
    /// CPU time that this has cost; ns.
    pub cpu_ns: u64,
    /// CPU time of the dearest of them; ns.
    pub cpu_ns_max: u64,
    /// By kind of worker.
    pub pools: Vec<PoolUse>,
}

/// Workers of one kind. Samples are counts of workers that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolUse {
    /// Name of the pool.
    pub name: String,
    /// Program, as the kernel names the process.
    pub program: String,
    /// Workers that were there, looked at or not, summed over the samples.
    pub workers: u64,
    /// Most at one sample.
    pub workers_max: u32,
    /// Samples of workers that ran or could have.
    pub running: u64,
    /// What the scheduler says of the time between two samples of each; none when it does not tell of all of them.
    #[serde(default)]
    pub scheduled: Option<Scheduled>,
    /// Samples of workers that waited for work.
    pub idle: u64,
    /// Samples of all others, by what they waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Workers that were not there at the sample before.
    #[serde(default)]
    pub begun: u64,
    /// Workers that had gone.
    #[serde(default)]
    pub ended: u64,
}

/// What threads had of CPUs over some time, by the account of the scheduler: exact, whenever it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// The time, summed over the threads; ns.
    pub span_ns: u64,
    /// On a CPU; ns.
    pub ran_ns: u64,
    /// Ready to run, without a CPU; ns.
    pub waited_ns: u64,
    /// Times that they were put on a CPU; none in records that do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
}

/// Samples of workers that waited in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Name of the thread.
    pub thread: String,
    /// The kernel's letter for the state.
    pub state: String,
    /// The call into the kernel; `-` for none.
    pub syscall: String,
    /// What for.
    pub on: String,
    /// How many.
    pub samples: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(idle: &[(u32, u64)]) -> MachineCpu {
        let times = |idle_ns| CpuTimes { idle_ns, ..CpuTimes::default() };
        MachineCpu::new(CpuTimes::default(), idle.iter().map(|(number, ns)| (*number, times(*ns))).collect())
    }

    fn idle(machine: &MachineCpu) -> Vec<(u32, u64)> {
        machine.by_number().map(|(number, times)| (number, times.idle_ns)).collect()
    }

    #[test]
    fn cpus_are_looked_up_and_added_by_number() {
        let mut sum = cpus(&[(0, 1), (2, 2), (6, 3)]);
        assert_eq!((sum.cpu(1), sum.cpu(6).map(|cpu| cpu.idle_ns)), (None, Some(3)));
        sum.add(&cpus(&[(0, 10), (1, 20), (2, 30)]));
        assert_eq!(idle(&sum), [(0, 11), (1, 20), (2, 32), (6, 3)]);
    }

    #[test]
    fn numbers_that_are_the_places_are_left_out_as_in_records_of_old() {
        let text = serde_json::to_string(&cpus(&[(0, 1), (1, 2)])).expect("JSON");
        assert!(!text.contains("numbers"), "{text}");
        let old: MachineCpu = serde_json::from_str(&text).expect("a machine");
        assert_eq!((idle(&old), old.cpu(2)), (vec![(0, 1), (1, 2)], None));
        let apart = cpus(&[(0, 1), (2, 2)]);
        assert_eq!(serde_json::from_str::<MachineCpu>(&serde_json::to_string(&apart).expect("JSON")).ok(), Some(apart));
    }
}
