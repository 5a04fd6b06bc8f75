//! CPU time of the whole machine, from `/proc/stat`.

use model::{CpuTimes, MachineCpu, NS_PER_S};
use procfs::{CpuTime, CurrentSI, FromReadSI, KernelStats, ProcError};
use std::path::PathBuf;

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
        let stats = match &self.file {
            None => KernelStats::current()?,
            Some(file) => KernelStats::from_file(file, procfs::current_system_info())?,
        };
        self.begun_ever = Some(stats.processes);
        let now = MachineCpu { total: times(&stats.total), cpus: stats.cpu_time.iter().map(times).collect() };
        let before = self.before.replace(now.clone()).unwrap_or_else(|| now.clone());
        // A CPU that was switched on or off moves the ones after it.
        let same = before.cpus.len() == now.cpus.len();
        let cpus =
            if same { before.cpus.iter().zip(&now.cpus).map(|(a, b)| since(a, b)).collect() } else { Vec::new() };
        Ok(MachineCpu { total: since(&before.total, &now.total), cpus })
    }
}

fn times(time: &CpuTime) -> CpuTimes {
    // User time includes that of guests.
    CpuTimes {
        user_ns: ticks_ns(time.user + time.nice),
        system_ns: ticks_ns(time.system),
        softirq_ns: ticks_ns(time.irq.unwrap_or(0) + time.softirq.unwrap_or(0)),
        steal_ns: ticks_ns(time.steal.unwrap_or(0)),
        idle_ns: ticks_ns(time.idle + time.iowait.unwrap_or(0)),
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
    ticks * (NS_PER_S / procfs::ticks_per_second())
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

    #[test]
    fn a_counter_that_goes_back_is_no_time() {
        let (high, low) = (CpuTimes { idle_ns: 9, user_ns: 1, ..CpuTimes::default() }, CpuTimes::default());
        assert_eq!(since(&high, &low), CpuTimes::default());
        assert_eq!(since(&low, &high), high);
    }
}
