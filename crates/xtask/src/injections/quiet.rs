//! Whether this machine was left alone while something was measured: read by the task itself, not by what it tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use procfs::CurrentSI;
use rustix::thread::{CpuSet, sched_setaffinity};

/// More of a CPU than this given to another machine disturbs a run: half of what the first rules warn of (EN-01, CL-08).
const STOLEN_MAX: f64 = 0.005;
/// A thread that ought to run at once and is this late has met a pause of its CPU.
const PAUSE_MIN: Duration = Duration::from_micros(500);
/// More of the wake-ups than this that met a pause disturb a run: half of what a p99 may hold.
const PAUSED_MAX: f64 = 0.005;
/// Between two wake-ups.
const NAP: Duration = Duration::from_millis(2);
/// Before everybody else, so that a CPU that is busy is no pause.
const NICE: i32 = -20;

/// Watches all CPUs until it is asked what it has seen.
pub(super) struct Quiet {
    before: Vec<(u64, u64)>,
    ended: Arc<AtomicBool>,
    nappers: Vec<JoinHandle<(u64, u64)>>,
}

/// How much of a CPU others had, of the one of which they had most.
pub(super) struct Disturbance {
    /// Of its time.
    pub(super) stolen: f64,
    /// Of its wake-ups, those that came late.
    pub(super) paused: f64,
}

impl Disturbance {
    pub(super) fn is_little(&self) -> bool {
        self.stolen <= STOLEN_MAX && self.paused <= PAUSED_MAX
    }
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} % of a CPU stolen, {:.1} % of its wake-ups late", 100.0 * self.stolen, 100.0 * self.paused)
    }
}

impl Quiet {
    pub(super) fn watch() -> Result<Self> {
        let before = cpu_times()?;
        let ended = Arc::new(AtomicBool::new(false));
        let napper = |cpu| {
            let ended = Arc::clone(&ended);
            std::thread::spawn(move || nap(cpu, &ended))
        };
        let nappers = (0..before.len()).map(napper).collect();
        Ok(Self { before, ended, nappers })
    }

    pub(super) fn finish(self) -> Result<Disturbance> {
        self.ended.store(true, Ordering::Relaxed);
        let naps = self.nappers.into_iter().filter_map(|napper| napper.join().ok());
        let paused = naps.map(|(late, all)| late as f64 / all.max(1) as f64).fold(0.0, f64::max);
        Ok(Disturbance { stolen: stolen_most(&self.before, &cpu_times()?), paused })
    }
}

/// Sleeps on a CPU again and again: wake-ups that came late, and all.
fn nap(cpu: usize, ended: &AtomicBool) -> (u64, u64) {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Not allowed on that CPU, or not before others: then pauses are seen less surely.
    let _ = sched_setaffinity(None, &set);
    let _ = rustix::process::setpriority_process(None, NICE);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let (mut late, mut all) = (0, 0);
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        std::thread::sleep(NAP);
        all += 1;
        late += u64::from(began.elapsed() > NAP + PAUSE_MIN);
    }
    (late, all)
}

/// Ticks given to others and ticks in all, of each CPU.
fn cpu_times() -> Result<Vec<(u64, u64)>> {
    let stat = procfs::KernelStats::current().context("/proc/stat")?;
    let times = stat.cpu_time.iter().map(|cpu| {
        let [stolen, irq, softirq, iowait] =
            [cpu.steal, cpu.irq, cpu.softirq, cpu.iowait].map(Option::unwrap_or_default);
        (stolen, cpu.user + cpu.nice + cpu.system + cpu.idle + stolen + irq + softirq + iowait)
    });
    Ok(times.collect())
}

/// The largest share of the time of a CPU that was given to others.
fn stolen_most(before: &[(u64, u64)], after: &[(u64, u64)]) -> f64 {
    let share = |((stolen, all), (stolen_after, all_after)): (&(u64, u64), &(u64, u64))| {
        (stolen_after - stolen) as f64 / (all_after - all).max(1) as f64
    };
    before.iter().zip(after).map(share).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_that_others_had_most_of_counts() {
        let stolen = stolen_most(&[(5, 1000), (0, 1000)], &[(5, 1500), (10, 1500)]);
        assert!((stolen - 0.02).abs() < 1e-9, "{stolen}");
        let is_little = |stolen, paused| Disturbance { stolen, paused }.is_little();
        assert!(is_little(0.005, 0.0) && !is_little(0.006, 0.0) && !is_little(0.0, 0.006));
    }

    #[test]
    fn every_cpu_is_watched_while_it_lasts() {
        let quiet = Quiet::watch().expect("it is allowed");
        assert_eq!(quiet.nappers.len(), quiet.before.len());
        std::thread::sleep(Duration::from_millis(50));
        let seen = quiet.finish().expect("it is allowed");
        assert!((0.0..=1.0).contains(&seen.stolen) && (0.0..=1.0).contains(&seen.paused), "{seen}");
    }
}
