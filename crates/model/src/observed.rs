//! Machine, server and generator over the measured window: the `observed` object of a record.

use crate::{Figures, ProcessObserved, Sockets, cpu_numbers};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Why nothing was seen where nobody was to look: in [`Observed::unavailable`], and of the rules that need it.
pub const NOT_OBSERVED: &str = "not observed (--no-observe)";

/// The same where neither load nor server is on this machine.
pub const ALL_ELSEWHERE: &str = "load and server are on other machines (see --server-host)";

/// What was seen beside the load itself. A part that is not available is null, and `unavailable` says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// CPU of this machine.
    pub machine: Option<MachineObserved>,
    /// The processes behind the target's port.
    pub server: Option<ServerObserved>,
    /// The own process.
    pub generator: Option<GeneratorObserved>,
    /// TCP sockets of the target's port.
    pub sockets: Option<SocketsObserved>,
    /// Further processes that were asked for, by the name they were asked for with.
    #[serde(default)]
    pub companions: BTreeMap<String, ServerObserved>,
    /// All other processes of this machine.
    #[serde(default)]
    pub others: Option<OthersObserved>,
    /// Growth of the kernel's counters over the window, by part and name.
    #[serde(default)]
    pub counters: Figures,
    /// What the kernel tells of each moment, by part and name.
    #[serde(default)]
    pub gauges: BTreeMap<String, BTreeMap<String, GaugeObserved>>,
    /// Cost of sampling.
    #[serde(default)]
    pub sampler: Option<SamplerObserved>,
    /// What the workers of the server and of its companions did, looked at several times a second; the pool that was
    /// occupied most first. Empty when nothing is known of them: `unavailable` says why by the name `pools`.
    #[serde(default)]
    pub pools: Vec<PoolObserved>,
    /// Cost of sampling the workers.
    #[serde(default)]
    pub pools_sampler: Option<SamplerObserved>,
    /// One entry for each sample of at least half a second.
    pub seconds: Vec<ObservedSecond>,
    /// What changed from second to second by process, thread, socket state and so on: each named once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<SeriesObserved>,
    /// Why a part was not available, by its name; also when it was so only for a part of the time.
    pub unavailable: BTreeMap<String, String>,
}

impl Observed {
    /// Key of the machine in [`Observed::unavailable`].
    pub const MACHINE: &str = "machine";
    /// Key of the server there.
    pub const SERVER: &str = "server";
    /// Begin of the key of a companion there, whose name follows.
    pub const COMPANION: &str = "companions/";

    /// CPUs that the server and its companions (PHP, a database) kept busy; none when the server was not observed, or used less
    /// than the kernel counts.
    #[must_use]
    pub fn server_cpu_cores(&self) -> Option<f64> {
        self.counted_cpu_cores().filter(|cores| *cores > 0.0)
    }

    /// The same, and 0 where it is less than the kernel counts: for who asks whether it is below a limit.
    #[must_use]
    pub fn counted_cpu_cores(&self) -> Option<f64> {
        self.server.as_ref()?;
        Some(self.groups().map(|group| group.cpu_cores).sum())
    }

    /// CPU time of the server and its companions per complete response; none when the server was not observed, or used less
    /// than the kernel counts, and without a response; ns.
    #[must_use]
    pub fn server_cpu_ns_per_request(&self) -> Option<f64> {
        self.server.as_ref()?;
        let all: f64 = self.groups().filter_map(|group| group.cpu_ns_per_request).sum();
        (all > 0.0).then_some(all)
    }

    /// Resident memory of the server and its companions, each at its largest; none when the server was not observed.
    #[must_use]
    pub fn server_rss_bytes_max(&self) -> Option<u64> {
        self.server.as_ref()?;
        Some(self.groups().map(|group| group.rss_bytes_max).fold(0, u64::saturating_add))
    }

    /// The server, if it was observed, and its companions.
    pub fn groups(&self) -> impl Iterator<Item = &ServerObserved> {
        self.named_groups().map(|(_, group)| group)
    }

    /// The same with their names.
    pub fn named_groups(&self) -> impl Iterator<Item = (&str, &ServerObserved)> {
        let companions = self.companions.iter().map(|(name, group)| (name.as_str(), group));
        self.server.iter().map(|server| ("server", server)).chain(companions)
    }

    /// CPUs that the threads of the server and of its companions may run on; empty when that is not known.
    #[must_use]
    pub fn allowed_cpus(&self) -> BTreeSet<u32> {
        let mut allowed = BTreeSet::new();
        for group in self.groups() {
            // Of one that did not run nothing is known, and it uses none.
            if group.cpus.is_empty() && group.cpu_cores > 0.0 {
                return BTreeSet::new();
            }
            allowed.extend(&group.cpus);
        }
        allowed
    }

    /// How many that are: of the machine's where nothing is known of them; none where nothing is known of it either.
    #[must_use]
    pub fn usable_cpus(&self) -> Option<u32> {
        match self.allowed_cpus().len() {
            0 => self.machine.as_ref().map(|machine| machine.cpus).filter(|cpus| *cpus > 0),
            some => u32::try_from(some).ok(),
        }
    }
}

/// CPU of the machine; shares of all its CPUs, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineObserved {
    /// Its CPUs.
    pub cpus: u32,
    /// Busy share.
    pub busy_mean: f64,
    /// Busy share of the busiest second.
    pub busy_max: f64,
    /// Share in programs.
    pub user_mean: f64,
    /// Share in the kernel on behalf of programs.
    pub system_mean: f64,
    /// Share in interrupts.
    pub softirq_mean: f64,
    /// Share taken by the hypervisor.
    pub steal_mean: f64,
    /// Share taken by the hypervisor in the worst second.
    pub steal_max: f64,
    /// Busy share of each CPU that was online.
    pub cpu_busy_mean: Vec<f64>,
    /// The shares of each of them.
    #[serde(default)]
    pub cpu_shares: Vec<CpuShares>,
    /// Their numbers; empty where these are their positions, and in records from before they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_numbers: Vec<u32>,
    /// CPU time of all processes that were seen, in parts of `busy_mean`. It is near 1, and above it by the interrupts
    /// where the kernel counts them for the process they interrupt too; null when not all were looked at.
    #[serde(default)]
    pub accounted_share: Option<f64>,
}

impl MachineObserved {
    /// Busy share of the CPU with that number; none if it was offline.
    #[must_use]
    pub fn busy_of(&self, cpu: u32) -> Option<f64> {
        self.cpu_busy_mean.get(cpu_numbers::position(&self.cpu_numbers, cpu)?).copied()
    }

    /// The shares of the CPU with that number; none if it was offline.
    #[must_use]
    pub fn shares_of(&self, cpu: u32) -> Option<&CpuShares> {
        self.cpu_shares.get(cpu_numbers::position(&self.cpu_numbers, cpu)?)
    }

    /// The shares of each CPU with its number.
    pub fn shares_by_number(&self) -> impl Iterator<Item = (u32, &CpuShares)> {
        cpu_numbers::told(&self.cpu_numbers).zip(&self.cpu_shares)
    }
}

/// Where the time of one CPU went; shares, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    /// In programs.
    pub user: f64,
    /// In the kernel on behalf of programs.
    pub system: f64,
    /// In interrupts.
    pub softirq: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle, or waiting for a disk.
    pub idle: f64,
}

/// All processes that are neither server, companion nor load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OthersObserved {
    /// CPU time per time.
    pub cpu_cores: f64,
    /// Those with the most CPU time, by name.
    pub processes: Vec<OtherObserved>,
    /// Processes of which this user cannot see whether they work for the server, by name, those with the most CPU time first:
    /// neither in `cpu_cores` nor in `processes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<OtherObserved>,
}

/// Other processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherObserved {
    /// Name.
    pub name: String,
    /// CPU time per time.
    pub cpu_cores: f64,
}

/// A value over the samples of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GaugeObserved {
    /// Mean of the samples.
    pub mean: f64,
    /// Largest.
    pub max: u64,
    /// Smallest.
    pub min: u64,
}

/// Cost of sampling: CPU time of the thread that samples, which carries no load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerObserved {
    /// Looks.
    pub looks: u64,
    /// CPU time of a sample; ns.
    pub cpu_ns_per_look: f64,
    /// CPU time of the dearest look; ns.
    pub cpu_ns_max: u64,
    /// Share of one CPU, 0 to 1.
    pub cpu_share: f64,
}

/// A thread of the server or of a companion; shares of its time, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerThreadObserved {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Name of the thread.
    pub name: String,
    /// Share in programs.
    pub user_mean: f64,
    /// Share in the kernel.
    pub system_mean: f64,
    /// Share in which it could have run, but no CPU was free; null when the kernel does not tell.
    pub wait_mean: Option<f64>,
    /// Times a second it stopped by itself, to wait for something.
    pub voluntary_switches_per_s: f64,
    /// Times a second it was stopped for another.
    pub involuntary_switches_per_s: f64,
}

/// The server as its processes show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerObserved {
    /// CPU time per time: how many CPUs it kept busy.
    pub cpu_cores: f64,
    /// The same of the busiest second.
    pub cpu_cores_max: f64,
    /// CPU time per complete response; null without responses, and where it is less than the kernel counts. ns.
    pub cpu_ns_per_request: Option<f64>,
    /// Largest resident memory; what processes share counts for each.
    pub rss_bytes_max: u64,
    /// By name, the one with the most CPU time first.
    pub processes: Vec<ProcessObserved>,
    /// Processes that ended and whose last CPU time is missing.
    pub ended_unaccounted: u64,
    /// Processes that have ended, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ended: BTreeMap<String, u64>,
    /// The threads that kept a CPU busiest.
    #[serde(default)]
    pub threads: Vec<ServerThreadObserved>,
    /// All threads that were seen.
    #[serde(default)]
    pub threads_seen: u64,
    /// CPUs that the threads that ran may run on; empty when that is not known.
    #[serde(default)]
    pub cpus: Vec<u32>,
}

/// The own process as the kernel shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorObserved {
    /// CPU time per time, of all threads.
    pub cpu_cores: f64,
    /// The load threads.
    pub threads: Vec<ThreadObserved>,
    /// CPUs that they may run on; empty when that is not known.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Times that it waited for a disk to bring a page of its memory; null when that is not known.
    #[serde(default)]
    pub major_faults: Option<u64>,
}

/// A load thread; shares of its time, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadObserved {
    /// Name.
    pub name: String,
    /// Share on a CPU.
    pub busy_mean: f64,
    /// Share in which it could have run, but no CPU was free.
    pub wait_mean: f64,
    /// Times a second it was put on a CPU.
    #[serde(default)]
    pub runs_per_s: f64,
}

/// Most sockets of the target's port in each state at any sample; only states that occurred.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SocketsObserved {
    /// The server's ends; null when it is on another machine.
    pub server: Option<BTreeMap<String, u64>>,
    /// The clients' ends on this machine.
    pub client: BTreeMap<String, u64>,
    /// Connections that waited to be accepted; null when the server is on another machine.
    pub accept_queue_max: Option<u64>,
    /// Connections that may wait on all of its listening sockets together.
    #[serde(default)]
    pub accept_backlog: Option<u64>,
    /// How full the fullest of its accept queues was at any sample, 0 to 1 and a little more.
    #[serde(default)]
    pub accept_fullest_max: Option<f64>,
}

impl From<Sockets> for SocketsObserved {
    /// Of several samples, added to one.
    fn from(sockets: Sockets) -> Self {
        let Sockets { server, client, accept_queue, accept_backlog, accept_fullest } = sockets;
        let (accept_queue_max, accept_fullest_max) = (accept_queue, accept_fullest);
        Self { server, client, accept_queue_max, accept_backlog, accept_fullest_max }
    }
}

/// What workers wait for that are stopped: by a signal, by a debugger, or in a frozen control group.
pub const STOPPED: &str = "stopped";
/// What workers wait for that write into a pipe which its reader does not empty; ` to NAME` follows where that is known.
pub const FULL_PIPE: &str = "full pipe";

/// Workers of one kind: the processes, or the threads of a process, that do the same work. Those that only start and
/// watch others are not among them. Shares are of all samples of its workers, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolObserved {
    /// Name, such as `php-fpm: pool www`.
    pub name: String,
    /// Program, as the kernel names the process.
    pub program: String,
    /// Workers at a time.
    pub workers_mean: f64,
    /// Most at a time.
    pub workers_max: u32,
    /// Samples: one for each worker that was looked at, each time.
    pub samples: u64,
    /// Share in which a worker was not free to take work: everything but `idle`.
    pub occupancy: f64,
    /// Share on a CPU; with `runnable` null also that waiting for one.
    pub running: f64,
    /// Share in which it could have run, but no CPU was free; null when the kernel does not tell.
    pub runnable: Option<f64>,
    /// Share in which it waited for work.
    pub idle: f64,
    /// Share in which it waited for something else, by what that was: the name of another program, `client NAME`, an
    /// address, `disk`, `lock`, `sleep`, `child`, ...
    pub blocked: BTreeMap<String, f64>,
    /// Occupancy of the second with the highest.
    pub occupancy_max: f64,
    /// Workers that came after the first sample.
    #[serde(default)]
    pub begun: u64,
    /// Workers that went.
    #[serde(default)]
    pub ended: u64,
    /// Times a second that any of its workers was put on a CPU: at least once for each request that it serves, unless it
    /// serves several at a time. Null when the scheduler does not tell.
    #[serde(default)]
    pub runs_per_s: Option<f64>,
    /// The waits behind `blocked` in detail, the longest first.
    #[serde(default)]
    pub waits: Vec<WaitObserved>,
}

/// One kind of waiting of a pool's workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitObserved {
    /// Name of the thread.
    pub thread: String,
    /// The kernel's letter for its state: `S` can be woken, `D` cannot.
    pub state: String,
    /// The call into the kernel it waited in; `-` for none, as in a page fault.
    pub syscall: String,
    /// What for, as in `blocked`.
    pub on: String,
    /// Share of all samples of the pool, 0 to 1.
    pub share: f64,
}

/// One figure of one thing in each of the seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesObserved {
    /// What is told, with its unit.
    pub figure: SeriesFigure,
    /// Of what: a process's name, a thread, a state, a network interface.
    pub of: String,
    /// A value for each entry of `seconds`; null where it was not looked at, missing at the end likewise.
    pub values: Vec<Option<f32>>,
}

impl SeriesObserved {
    /// The own process.
    pub const GENERATOR: &str = "load generator";
    /// All processes that are neither server, companion nor the own one.
    pub const OTHERS: &str = "all others";
    /// Interrupts; some kernels count them for the processes that they interrupt as well.
    pub const INTERRUPTS: &str = "interrupts";
    /// What is neither of the server nor of a companion.
    pub const NOT_WATCHED: [&str; 3] = [Self::GENERATOR, Self::OTHERS, Self::INTERRUPTS];
}

/// What a series tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesFigure {
    /// CPUs that processes of a name kept busy; of those looked at more seldom the mean since the sample before.
    #[default]
    CpuCores,
    /// Share of its time that a thread was on a CPU, 0 to 1.
    ThreadBusy,
    /// Resident memory of the processes of a name; what they share counts for each.
    RssBytes,
    /// Resident memory in which each shared page counts in parts.
    PssBytes,
    /// Sockets of the target's port in a state, at the server's end or else at the clients'.
    Sockets,
    /// Connections that waited to be accepted.
    AcceptQueue,
    /// What a network interface received each second.
    ReceivedBytesPerS,
    /// What it sent.
    SentBytesPerS,
}

/// One sample of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedSecond {
    /// Begin, since the clock of the run started; ns.
    pub from_ns: u64,
    /// Length; ns.
    pub length_ns: u64,
    /// CPUs of the machine that were busy.
    pub machine_cores: Option<f64>,
    /// CPUs that the hypervisor took.
    pub steal_cores: Option<f64>,
    /// CPUs that the server kept busy.
    pub server_cores: Option<f64>,
    /// The same of its companions; omitted without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub companions_cores: Option<f64>,
    /// CPUs that the own process kept busy.
    pub generator_cores: Option<f64>,
    /// Resident memory of the server.
    pub server_rss_bytes: Option<u64>,
    /// Open connections of the target's port, at the server's end or else at the clients'.
    pub established: Option<u64>,
    /// Occupancy of each pool of workers that was looked at, 0 to 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, f64>,
}

impl ObservedSecond {
    /// CPUs that the server and its companions kept busy; none when the server was not observed.
    #[must_use]
    pub fn server_cpu_cores(&self) -> Option<f64> {
        Some(self.server_cores? + self.companions_cores.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_uses_counts_its_companions_and_is_unknown_without_it() {
        let group = |cpu_cores, rss_bytes_max| ServerObserved { cpu_cores, rss_bytes_max, ..ServerObserved::default() };
        let companions = [("php-fpm".to_owned(), group(1.5, 300)), ("mariadbd".to_owned(), group(0.25, 200))].into();
        let mut observed = Observed { server: Some(group(0.25, 100)), companions, ..Observed::default() };
        assert_eq!((observed.server_cpu_cores(), observed.server_rss_bytes_max()), (Some(2.0), Some(600)));
        assert_eq!(observed.server_cpu_ns_per_request(), None, "without a response");
        let php = observed.companions.get_mut("php-fpm").unwrap();
        php.cpu_ns_per_request = Some(30.0);
        assert_eq!(observed.server_cpu_ns_per_request(), Some(30.0), "that of a front is less than the kernel counts");
        observed.server = None;
        assert_eq!((observed.server_cpu_cores(), observed.server_rss_bytes_max()), (None, None));
    }

    /// `0 ns` for each request stood in the result of a short run, and a threshold on it had passed.
    #[test]
    fn cpu_time_that_the_kernel_has_not_counted_is_no_zero() {
        let observed = Observed { server: Some(ServerObserved::default()), ..Observed::default() };
        assert_eq!((observed.server_cpu_cores(), observed.server_cpu_ns_per_request()), (None, None));
        assert_eq!(observed.counted_cpu_cores(), Some(0.0), "a limit above it is kept all the same");
    }
}
