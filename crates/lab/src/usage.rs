//! CPU time and memory of the machine and of processes, from `/proc`, and the CPU on which a thread stays.

use anyhow::{Context, Result, ensure};
use procfs::process::{Process, Status, all_processes};
use procfs::{CpuTime, CurrentSI, KernelStats};
use rustix::thread::{CpuSet, sched_setaffinity};

/// CPU time since the start of the machine, of one CPU or of all; ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// Without idle time and without steal.
    pub(crate) busy: u64,
    pub(crate) steal: u64,
    /// Busy, idle and stolen.
    pub(crate) total: u64,
}

impl From<&CpuTime> for Ticks {
    fn from(cpu: &CpuTime) -> Self {
        let [steal, irq, softirq, iowait] =
            [cpu.steal, cpu.irq, cpu.softirq, cpu.iowait].map(Option::unwrap_or_default);
        let busy = cpu.user + cpu.nice + cpu.system + irq + softirq;
        Self { busy, steal, total: busy + cpu.idle + iowait + steal }
    }
}

/// CPU time that the whole machine has spent since its start, guests and stolen time included; s.
pub(crate) fn machine_cpu_s() -> Result<f64> {
    let Ticks { busy, steal, .. } = Ticks::from(&KernelStats::current().context("/proc/stat")?.total);
    Ok(seconds(busy + steal))
}

/// CPU time that a process has used so far, without its children; s.
pub(crate) fn process_cpu_s(pid: i32) -> Result<f64> {
    let stat = Process::new(pid).and_then(|process| process.stat());
    let stat = stat.with_context(|| format!("the CPU time of process {pid}"))?;
    Ok(seconds(stat.utime + stat.stime))
}

/// Keeps the calling thread, and what it starts from now on, on one CPU.
pub(crate) fn pin(cpu: usize) -> Result<()> {
    ensure!(cpu < CpuSet::MAX_CPU, "there is no CPU {cpu}");
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("CPU {cpu}"))
}

/// Processes that one has started, and that have not ended.
pub(crate) fn children(of: i32) -> Vec<i32> {
    let all = all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok());
    all.filter(|stat| stat.ppid == of && stat.state != 'Z').map(|stat| stat.pid).collect()
}

/// Sizes of a process, in KiB: `vmrss` as it is now, `vmhwm` the most that it was.
pub(crate) fn sizes(pid: u32) -> Result<Status> {
    let status = Process::new(pid.cast_signed()).and_then(|process| process.status());
    status.with_context(|| format!("the sizes of process {pid}"))
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::Ticks;
    use procfs::{FromBufReadSI, KernelStats, current_system_info};

    #[test]
    fn idle_and_io_wait_are_not_busy() {
        let text = "cpu  100 10 200 9999 8888 1 2 3 0 0\nctxt 1\nbtime 1\nprocesses 1\n";
        let stat = KernelStats::from_buf_read(text.as_bytes(), current_system_info()).unwrap();
        let Ticks { busy, steal, total } = Ticks::from(&stat.total);
        assert_eq!((busy, steal, total), (313, 3, 313 + 9999 + 8888 + 3));
    }
}
