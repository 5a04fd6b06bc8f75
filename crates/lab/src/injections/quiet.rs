//! CPU time that others took during a measurement: read by the task itself, not by what it tests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use procfs::CurrentSI;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::usage::Ticks;

/// Between two wake-ups: rarely enough that who is woken for, and waits a few ten microseconds, is not one in a hundred.
const NAP: Duration = Duration::from_millis(5);
/// Before everybody else, so that a CPU that is busy is no pause.
const NICE: i32 = -20;
/// Half as often as a hundredth, which is what is said of requests: a pause that is as long as a hundredth of a window is less of
/// the whole run.
const ONE_IN: usize = 200;

/// Watches all CPUs until it is asked what it has seen.
pub(super) struct Quiet {
    before: Vec<(u64, u64)>,
    begun: Instant,
    programs: HashMap<i32, u64>,
    ended: Arc<AtomicBool>,
    nappers: Vec<JoinHandle<Vec<Duration>>>,
}

/// What others did: to a CPU, the one to which they did most, and in all.
pub(super) struct Disturbance {
    /// Share of its time that the hypervisor gave them.
    pub(super) stolen: f64,
    /// How late it would wake up who goes before everybody else and is to be woken up every [`NAP`]: once in [`ONE_IN`].
    pub(super) late: Duration,
    /// CPUs that programs kept busy that were there before the measurement and after it.
    pub(super) others: f64,
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stolen, late, others } = self;
        write!(f, "{:.1} % of a CPU stolen, wakes up {late:.0?} late once in {ONE_IN}, ", 100.0 * stolen)?;
        write!(f, "{:.1} % of a CPU used by others", 100.0 * others)
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
        Ok(Self { before, begun: Instant::now(), programs: program_ticks()?, ended, nappers })
    }

    pub(super) fn finish(self) -> Result<Disturbance> {
        self.ended.store(true, Ordering::Relaxed);
        let naps = self.nappers.into_iter().filter_map(|napper| napper.join().ok());
        let late = naps.map(once).max().unwrap_or_default();
        let used_s = used_ticks(&self.programs, &program_ticks()?) as f64 / procfs::ticks_per_second() as f64;
        let others = used_s / self.begun.elapsed().as_secs_f64();
        Ok(Disturbance { stolen: stolen_most(&self.before, &cpu_times()?), late, others })
    }
}

/// Sleeps on a CPU again and again: how late it woke up, and would have every [`NAP`] while it did not, as requests are due
/// also while a CPU is gone.
fn nap(cpu: usize, ended: &AtomicBool) -> Vec<Duration> {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Not allowed on that CPU, or not before others: then pauses are seen less surely.
    let _ = sched_setaffinity(None, &set);
    let _ = rustix::process::setpriority_process(None, NICE);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let mut late = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        std::thread::sleep(NAP);
        late.extend(every_nap(began.elapsed().saturating_sub(NAP)));
    }
    late
}

/// How late everybody is who is due every [`NAP`] until the first is served.
fn every_nap(late: Duration) -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(late), |late| late.checked_sub(NAP))
}

/// The least time that no more than one in [`ONE_IN`] exceeds.
fn once(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let below = times.len() - times.len() / ONE_IN;
    times.get(below.saturating_sub(1)).copied().unwrap_or_default()
}

/// Ticks given to others and ticks in all, of each CPU.
fn cpu_times() -> Result<Vec<(u64, u64)>> {
    let stat = procfs::KernelStats::current().context("/proc/stat")?;
    Ok(stat.cpu_time.iter().map(Ticks::from).map(|ticks| (ticks.steal, ticks.total)).collect())
}

/// CPU time of each process but this one, and of those of its children that have ended, by its number; in ticks.
fn program_ticks() -> Result<HashMap<i32, u64>> {
    let own = std::process::id().cast_signed();
    let processes = procfs::process::all_processes().context("/proc")?;
    // One that has just ended is none.
    let stats = processes.filter_map(|process| process.ok()?.stat().ok());
    let ticks = |stat: procfs::process::Stat| {
        (stat.pid, (stat.utime + stat.stime).saturating_add_signed(stat.cutime + stat.cstime))
    };
    Ok(stats.filter(|stat| stat.pid != own).map(ticks).collect())
}

/// What those used in between that are in both: the others belong to the measurement.
fn used_ticks(before: &HashMap<i32, u64>, after: &HashMap<i32, u64>) -> u64 {
    after.iter().filter_map(|(pid, ticks)| Some(ticks.saturating_sub(*before.get(pid)?))).sum()
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
    }

    #[test]
    fn what_began_with_the_measurement_is_no_other_program() {
        let used = used_ticks(&[(1, 10), (2, 5), (3, 7)].into(), &[(1, 14), (2, 5), (4, 100)].into());
        assert_eq!(used, 4);
    }

    #[test]
    fn a_long_pause_is_that_of_everybody_who_was_due() {
        let of = |late_ms| every_nap(Duration::from_millis(late_ms)).map(|late| late.as_millis()).collect::<Vec<_>>();
        assert_eq!((of(12), of(4)), (vec![12, 7, 2], vec![4]));
    }

    #[test]
    fn one_in_two_hundred_may_be_later() {
        let times = |n: u64| (1..=n).rev().map(Duration::from_millis).collect();
        assert_eq!([once(times(200)), once(times(1000))].map(|time| time.as_millis()), [199, 995]);
        assert_eq!([once(times(1)), once(times(0))].map(|time| time.as_millis()), [1, 0]);
    }

    #[test]
    fn every_cpu_is_watched_while_it_lasts() {
        let quiet = Quiet::watch().expect("it is allowed");
        assert_eq!(quiet.nappers.len(), quiet.before.len());
        std::thread::sleep(Duration::from_millis(50));
        let seen = quiet.finish().expect("it is allowed");
        assert!((0.0..=1.0).contains(&seen.stolen) && seen.late > Duration::ZERO, "{seen}");
    }
}
