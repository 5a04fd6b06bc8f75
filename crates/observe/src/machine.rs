//! CPU time of the whole machine, from `/proc/stat`.

use model::{CpuTimes, MachineCpu, NS_PER_S};
use procfs::process::Process;
use procfs::{CpuTime, FromBufReadSI, KernelStats, ProcError, ProcResult};
use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const FILE: &str = "/proc/stat";
const USUAL_BYTES: usize = 16 << 10;
/// The first process of a container.
const FIRST: i32 = 1;

/// The machine at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    before: Option<MachineCpu>,
    /// Processes and threads that had ever begun at the sample before.
    pub(crate) begun_ever: Option<u64>,
    /// Another file in the place of `/proc/stat`.
    file: Option<PathBuf>,
}

impl Machine {
    /// What `file` says, which looks like `/proc/stat`.
    #[cfg(test)]
    pub(crate) fn of_file(file: PathBuf) -> Self {
        Self { file: Some(file), ..Self::default() }
    }

    /// CPU time since the sample before.
    pub(crate) fn sample(&mut self) -> Result<MachineCpu, ProcError> {
        self.begun_ever = None;
        let file = self.file.as_deref().unwrap_or_else(|| Path::new(FILE));
        let text = read(file).map_err(|error| ProcError::Io(error, Some(file.to_owned())))?;
        let numbers = numbers(&text, file);
        self.take(&text, numbers)
    }

    /// The same of a text, in which the CPUs that are online have these numbers.
    pub(crate) fn take(&mut self, text: &[u8], numbers: Vec<u32>) -> Result<MachineCpu, ProcError> {
        let stats = KernelStats::from_buf_read(text, procfs::current_system_info())?;
        self.begun_ever = Some(stats.processes);
        let cpus = numbers.into_iter().zip(stats.cpu_time.iter().map(times));
        let now = MachineCpu::new(times(&stats.total), cpus.collect());
        let before = self.before.replace(now.clone()).unwrap_or_else(|| now.clone());
        // Of a CPU that was switched on just now it is not known what it did since.
        let cpus: BTreeMap<u32, CpuTimes> =
            now.by_number().filter_map(|(number, now)| Some((number, since(before.cpu(number)?, now)))).collect();
        Ok(MachineCpu::new(since(&before.total, &now.total), cpus))
    }
}

/// With room for a usual file: nothing says beforehand how long it is.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(USUAL_BYTES);
    File::open(file)?.read_to_end(&mut text)?;
    Ok(text)
}

/// The numbers of the CPUs in the text of `file`, which are those online.
fn numbers(text: &[u8], file: &Path) -> Vec<u32> {
    let told = numbers_told(text);
    // LXD lays a file of its own over the kernel's, which counts the CPUs of a container from 0. Those that a process may use
    // have the kernel's numbers all the same.
    let is_laid_over = file == Path::new(FILE) && statfs(file).is_ok_and(|system| system.f_type != PROC_SUPER_MAGIC);
    if is_laid_over { renumbered(told, allowed(FIRST).unwrap_or_default()) } else { told }
}

/// CPUs that a process may use.
fn allowed(pid: i32) -> ProcResult<Vec<u32>> {
    let ranges = Process::new(pid)?.status()?.cpus_allowed_list.unwrap_or_default();
    Ok(ranges.into_iter().flat_map(|(first, last)| first..=last).collect())
}

/// The kernel's numbers of the CPUs of a container, which are `told` from 0 on: those that it is `allowed` to use.
fn renumbered(told: Vec<u32>, allowed: Vec<u32>) -> Vec<u32> {
    if told.len() == allowed.len() { allowed } else { told }
}

/// The numbers as lines `cpuN` tell them.
pub(crate) fn numbers_told(text: &[u8]) -> Vec<u32> {
    let number = |line: &[u8]| {
        let word = line.strip_prefix(b"cpu")?.split(|byte| *byte == b' ').next()?;
        std::str::from_utf8(word).ok()?.parse().ok()
    };
    text.split(|byte| *byte == b'\n').filter_map(number).collect()
}

fn times(time: &CpuTime) -> CpuTimes {
    // User time includes that of guests.
    CpuTimes {
        user_ns: ticks_ns(time.user.saturating_add(time.nice)),
        system_ns: ticks_ns(time.system),
        softirq_ns: ticks_ns(time.irq.unwrap_or(0).saturating_add(time.softirq.unwrap_or(0))),
        steal_ns: ticks_ns(time.steal.unwrap_or(0)),
        idle_ns: ticks_ns(time.idle.saturating_add(time.iowait.unwrap_or(0))),
    }
}

/// The kernel's counters of idle time may go back a little.
const fn since(before: &CpuTimes, now: &CpuTimes) -> CpuTimes {
    CpuTimes {
        user_ns: now.user_ns.saturating_sub(before.user_ns),
        system_ns: now.system_ns.saturating_sub(before.system_ns),
        softirq_ns: now.softirq_ns.saturating_sub(before.softirq_ns),
        steal_ns: now.steal_ns.saturating_sub(before.steal_ns),
        idle_ns: now.idle_ns.saturating_sub(before.idle_ns),
    }
}

/// The kernel's clock ticks in ns.
pub(crate) fn ticks_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(NS_PER_S / procfs::ticks_per_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_since_the_look_before_counts() {
        let mut machine = Machine::default();
        assert_eq!(machine.sample().unwrap().total, CpuTimes::default());
        let before = machine.before.clone().unwrap();
        let spent = machine.sample().unwrap();
        let mut sum = before.total;
        sum.add(&spent.total);
        assert_eq!(sum.user_ns, machine.before.as_ref().unwrap().total.user_ns);
        assert!(!spent.cpus.is_empty() && before.total.all_ns() > 0);
    }

    /// `/proc/stat` of these CPUs, each idle for so many ticks of 10 ms.
    fn stat(cpus: &[(u32, u64)]) -> String {
        let lines = cpus.iter().map(|(number, idle)| format!("cpu{number} 0 0 0 {idle} 0 0 0 0 0 0\n"));
        let all: u64 = cpus.iter().map(|(_, idle)| idle).sum();
        let lines: String = lines.collect();
        format!("cpu  0 0 0 {all} 0 0 0 0 0 0\n{lines}intr 0\nctxt 0\nbtime 1700000000\nprocesses 7\n")
    }

    #[test]
    fn a_cpu_that_is_switched_on_or_off_moves_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("stat");
        let mut machine = Machine::of_file(file.clone());
        let mut idle_ms = |cpus: &[(u32, u64)]| -> Vec<(u32, u64)> {
            std::fs::write(&file, stat(cpus)).unwrap();
            let told = machine.sample().unwrap();
            told.by_number().map(|(number, times)| (number, times.idle_ns / 1_000_000)).collect()
        };
        idle_ms(&[(0, 10), (1, 10), (2, 10), (3, 10)]);
        assert_eq!(idle_ms(&[(0, 11), (2, 12), (3, 13)]), [(0, 10), (2, 20), (3, 30)]);
        assert_eq!(idle_ms(&[(0, 11), (1, 10), (2, 13), (3, 13)]), [(0, 0), (2, 10), (3, 0)]);
        assert_eq!(idle_ms(&[(0, 11), (1, 14), (2, 13), (3, 13)]), [(0, 0), (1, 40), (2, 0), (3, 0)]);
    }

    #[test]
    fn the_cpus_of_a_container_have_the_numbers_of_the_kernel() {
        assert_eq!(renumbered(vec![0, 1], vec![4, 6]), [4, 6]);
        assert_eq!(renumbered(vec![0, 1], vec![0, 1, 2, 3]), [0, 1], "which two of them it is cannot be told");
        assert!(!allowed(std::process::id().cast_signed()).unwrap().is_empty());
    }

    #[test]
    fn a_counter_that_goes_back_is_no_time() {
        let (high, low) = (CpuTimes { idle_ns: 9, user_ns: 1, ..CpuTimes::default() }, CpuTimes::default());
        assert_eq!(since(&high, &low), CpuTimes::default());
        assert_eq!(since(&low, &high), high);
    }
}
