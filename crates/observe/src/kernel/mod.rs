//! Kernel counters: a table of parts, each with the files it is read from.
//!
//! Figures are names and values, not types: a rule looks for the names it knows, and a part more is a line in the
//! table.

mod cgroup;
mod devices;
mod memory;
mod network;
mod power;
mod pressure;

pub(crate) use cgroup::CpuGroup;

use crate::files::{Files, Missing};
use cgroup::cgroup;
use model::KernelFigures;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Looks from one reading of a expensive part to the next.
const EXPENSIVE_EVERY: u64 = 10;

/// What a part shows: counters as totals since the machine has started, and values of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figured {
    pub(crate) counters: BTreeMap<String, u64>,
    pub(crate) gauges: BTreeMap<String, u64>,
    /// CPUs that the counters are summed over: one that comes back brings what it has counted since the machine started.
    /// 0 where the kernel sums.
    cpus: usize,
    /// Whose counters these are, where that may change: a control group.
    place: String,
}

impl Figured {
    fn counters<N: Into<String>>(pairs: impl IntoIterator<Item = (N, u64)>) -> Self {
        Self { counters: named(pairs), ..Self::default() }
    }

    fn of_cpus(self, cpus: usize) -> Self {
        Self { cpus, ..self }
    }

    fn gauges<N: Into<String>>(pairs: impl IntoIterator<Item = (N, u64)>) -> Self {
        Self { gauges: named(pairs), ..Self::default() }
    }
}

fn named<N: Into<String>>(pairs: impl IntoIterator<Item = (N, u64)>) -> BTreeMap<String, u64> {
    pairs.into_iter().map(|(name, n)| (name.into(), n)).collect()
}

/// What is looked at.
pub(crate) struct Context<'a> {
    pub(crate) files: &'a Files,
    /// A process of the server.
    pub(crate) server: Option<i32>,
    /// Once it is read.
    snmp: OnceCell<Result<String, Missing>>,
}

impl<'a> Context<'a> {
    const fn new(files: &'a Files, server: Option<i32>) -> Self {
        Self { files, server, snmp: OnceCell::new() }
    }
}

/// A part of the kernel.
struct Part {
    name: &'static str,
    /// Read in every tenth look only; in the others it is told as it was read last.
    is_expensive: bool,
    read: fn(&Context<'_>) -> Result<Figured, Missing>,
}

const fn part(name: &'static str, read: fn(&Context<'_>) -> Result<Figured, Missing>) -> Part {
    Part { name, is_expensive: false, read }
}

/// Parts that there is one of.
const PARTS: [Part; 16] = [
    part("tcp", network::tcp),
    part("udp", network::udp),
    part("ip", network::ip),
    part("sockstat", network::sockstat),
    part("softnet", network::softnet),
    Part { name: "ports", is_expensive: true, read: network::ports },
    part("conntrack", network::conntrack),
    part("pressure/cpu", |context| pressure::pressure(context.files, "cpu")),
    part("pressure/memory", |context| pressure::pressure(context.files, "memory")),
    part("pressure/io", |context| pressure::pressure(context.files, "io")),
    part("memory", memory::memory),
    part("paging", memory::paging),
    part("cgroup/generator", |context| cgroup(context.files, "self")),
    part("cgroup/server", |context| match context.server {
        Some(pid) => cgroup(context.files, &pid.to_string()),
        None => Err(Missing::Because("the processes of the server are not seen")),
    }),
    Part { name: "frequency", is_expensive: true, read: power::frequency },
    Part { name: "throttling", is_expensive: true, read: power::throttling },
];

/// A kind of which there are several, each a part by itself: `KIND/NAME`.
struct Kind {
    name: &'static str,
    read: fn(&Files) -> Result<BTreeMap<String, Figured>, Missing>,
}

const KINDS: [Kind; 2] = [Kind { name: "nic", read: devices::interfaces }, Kind { name: "disk", read: devices::disks }];

/// The kernel at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    files: Files,
    totals: BTreeMap<String, Figured>,
    looks: u64,
    /// Dear parts as they were read last.
    read: BTreeMap<&'static str, Result<Figured, Missing>>,
}

impl Kernel {
    /// That of the machine with these files.
    pub(crate) fn of(files: Files) -> Self {
        Self { files, ..Self::default() }
    }

    /// What has happened since the sample before, and what is missing with the reason, by part.
    pub(crate) fn sample(&mut self, server: Option<i32>) -> (KernelFigures, Vec<(&'static str, Missing)>) {
        let mut figures = KernelFigures::default();
        let mut missing = Vec::new();
        let files = self.files.clone();
        let context = Context::new(&files, server);
        let is_expensive_sample = self.looks.is_multiple_of(EXPENSIVE_EVERY);
        self.looks += 1;
        for part in &PARTS {
            let told = match self.read.get(part.name) {
                Some(told) if !is_expensive_sample => told.clone(),
                _ => (part.read)(&context),
            };
            if part.is_expensive {
                self.read.insert(part.name, told.clone());
            }
            match told {
                Ok(figured) => self.take(part.name, figured, &mut figures),
                Err(why) => missing.push((part.name, why)),
            }
        }
        for kind in &KINDS {
            match (kind.read)(&files) {
                Ok(all) => {
                    for (name, figured) in all {
                        self.take(&format!("{}/{name}", kind.name), figured, &mut figures);
                    }
                }
                Err(why) => missing.push((kind.name, why)),
            }
        }
        (figures, missing)
    }

    /// Adds a part. Of a counter that was not there before, has gone back, or is now of other CPUs or of another group, the
    /// growth is not known.
    fn take(&mut self, part: &str, figured: Figured, figures: &mut KernelFigures) {
        let before = self.totals.insert(part.to_owned(), figured.clone()).unwrap_or_default();
        let is_same = (before.cpus, &before.place) == (figured.cpus, &figured.place);
        let before = if is_same { before.counters } else { BTreeMap::new() };
        let grown = |(name, total): (String, u64)| Some((total.checked_sub(*before.get(&name)?)?, name));
        let grown: BTreeMap<String, u64> =
            figured.counters.into_iter().filter_map(grown).map(|(by, name)| (name, by)).collect();
        if !grown.is_empty() {
            figures.counters.insert(part.to_owned(), grown);
        }
        if !figured.gauges.is_empty() {
            figures.gauges.insert(part.to_owned(), figured.gauges);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_as_growth_and_only_when_it_is_known() {
        let mut kernel = Kernel::default();
        let mut take = |total| {
            let mut figures = KernelFigures::default();
            kernel.take("tcp", Figured::counters([("Drops", total)]), &mut figures);
            figures.counters.get("tcp").map(|tcp| tcp["Drops"])
        };
        assert_eq!([take(5), take(9), take(9), take(2), take(3)], [None, Some(4), Some(0), None, Some(1)]);
    }

    /// A quota of another group in the place of the first brought all that it had been throttled in its life.
    #[test]
    fn counters_of_another_group_are_no_growth() {
        let mut kernel = Kernel::default();
        let mut take = |total, place: &str| {
            let mut figures = KernelFigures::default();
            let figured = Figured { place: place.to_owned(), ..Figured::counters([("throttled_ns", total)]) };
            kernel.take("cgroup/server", figured, &mut figures);
            figures.counters.get("cgroup/server").map(|counters| counters["throttled_ns"])
        };
        let grown = [take(5, "/a"), take(6, "/a"), take(7_200, "/b"), take(7_201, "/b")];
        assert_eq!(grown, [None, Some(1), None, Some(1)]);
    }

    /// A CPU that was switched on brought the drops of its whole life: "receive queue overflowed", INVALID.
    #[test]
    fn a_cpu_that_comes_back_brings_no_growth() {
        let mut kernel = Kernel::default();
        let mut take = |total, cpus| {
            let mut figures = KernelFigures::default();
            kernel.take("softnet", Figured::counters([("dropped", total)]).of_cpus(cpus), &mut figures);
            figures.counters.get("softnet").map(|softnet| softnet["dropped"])
        };
        assert_eq!([take(5, 3), take(6, 3), take(20_006, 4), take(20_007, 4)], [None, Some(1), None, Some(1)]);
    }

    #[test]
    fn numbers_beyond_those_of_any_kernel_overflow_nothing() {
        let root = tempfile::tempdir().unwrap();
        let most = u64::MAX;
        for (path, text) in [
            (
                "proc/net/sockstat",
                format!("sockets: used 1\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem {most}\nUDP: inuse 0 mem {most}"),
            ),
            ("proc/net/softnet_stat", "ffffffffffffffff 1 1\nffffffffffffffff 1 1\n".to_owned()),
            ("proc/sys/net/ipv4/ip_local_port_range", format!("0 {most}")),
            ("proc/pressure/cpu", format!("some total={most}\n")),
            ("proc/meminfo", format!("MemTotal: {most} kB\n")),
            ("proc/net/dev", format!("h\nh\n a: {0} {0} 0 0 0 0 0 0 {0} {0} 0 0 0 0 0 0\n", most)),
            ("proc/diskstats", format!("1 0 vda {0} 0 {0} 5 {0} 0 {0} 7 1 {0} {0}\n", most)),
            ("sys/block/vda/size", "1".to_owned()),
            ("proc/self/cgroup", "0::/".to_owned()),
            ("sys/fs/cgroup/cgroup.procs", String::new()),
            ("sys/fs/cgroup/cpu.max", format!("{most} 1")),
            ("sys/fs/cgroup/cpu.stat", format!("throttled_usec {most}\n")),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", most.to_string()),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", most.to_string()),
        ] {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let mut kernel = Kernel::of(Files::below(root.path()));
        let (first, _) = kernel.sample(None);
        let gauge = |part: &str, name: &str| first.gauges[part][name];
        assert_eq!((gauge("memory", "total_bytes"), gauge("frequency", "max_hz")), (most, most));
        assert_eq!((gauge("ports", "local_ports"), gauge("cgroup/generator", "cpu_quota_ns_per_s")), (most, most));
        assert_eq!(gauge("sockstat", "tcp_memory_bytes"), most);
        let (second, _) = kernel.sample(None);
        let parts: Vec<&str> = second.counters.keys().map(String::as_str).collect();
        assert_eq!(parts, ["cgroup/generator", "disk/vda", "nic/a", "pressure/cpu", "softnet"]);
        assert!(second.counters.values().all(|counters| counters.values().all(|growth| *growth == 0)), "{second:?}");
    }

    #[test]
    fn a_machine_without_any_of_the_files_has_a_reason_for_each_part() {
        let nowhere = tempfile::tempdir().unwrap();
        let mut kernel = Kernel::of(Files::below(nowhere.path()));
        let (figures, missing) = kernel.sample(None);
        assert_eq!(figures, KernelFigures::default());
        assert_eq!(missing.len(), PARTS.len() + KINDS.len());
        let why = |part| missing.iter().find(|(name, _)| *name == part).map(|(_, why)| why.to_string()).unwrap();
        assert_eq!(why("tcp"), "this kernel or container has no /proc/net/snmp");
        assert_eq!(why("cgroup/server"), "the processes of the server are not seen");
        // Dear parts are told as they were, also when they are not read again.
        assert_eq!(kernel.sample(None).1, missing);
    }
}
