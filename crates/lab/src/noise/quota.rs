//! A quota that is changed half-way: a CPU control group, of version 1 or 2, that server or client are put into.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::pause::sleep;
use crate::usage::process_cpu_s;

const V1: &str = "/sys/fs/cgroup/cpu";
const V2: &str = "/sys/fs/cgroup";
/// Period of a quota; us.
const PERIOD_US: f64 = 100_000.0;
/// Smallest quota that the kernel takes; us.
const QUOTA_MIN_US: f64 = 1_000.0;
/// Between two readings of the CPU time used.
const STEP: Duration = Duration::from_secs(1);
/// Waits for the group to be empty, and how often.
const REMOVAL: Duration = Duration::from_millis(50);
const REMOVALS_MAX: usize = 100;

/// Control group with a CPU quota; removed with this value.
pub(super) struct Group {
    path: PathBuf,
    is_v2: bool,
}

impl Group {
    /// Makes one without a quota.
    pub(super) fn new() -> Result<Self> {
        let name = format!("plimsoll-noise-{}", std::process::id());
        let is_v1 = Path::new(V1).join("cgroup.procs").exists();
        let controllers = fs::read_to_string(Path::new(V2).join("cgroup.subtree_control")).unwrap_or_default();
        ensure!(
            is_v1 || controllers.split_whitespace().any(|name| name == "cpu"),
            "there is no control group for CPU time"
        );
        let path = Path::new(if is_v1 { V1 } else { V2 }).join(name);
        fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self { path, is_v2: !is_v1 })
    }

    /// Gives all in it together so much of one CPU.
    fn limit(&self, cpus: f64) -> Result<()> {
        let quota_us = (cpus * PERIOD_US).max(QUOTA_MIN_US).round();
        match self.is_v2 {
            true => self.write("cpu.max", &format!("{quota_us} {PERIOD_US}")),
            false => {
                self.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                self.write("cpu.cfs_quota_us", &quota_us.to_string())
            }
        }
    }

    fn add(&self, pid: i32) -> Result<()> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// Time for which it was stopped so far, the sum of all CPUs.
    fn stopped(&self) -> Result<Duration> {
        stopped(&fs::read_to_string(self.path.join("cpu.stat"))?)
            .context("cpu.stat does not tell how long it was throttled")
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.path.join(file);
        fs::write(&path, text).with_context(|| format!("writing {text} to {}", path.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..REMOVALS_MAX {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(REMOVAL);
        }
        eprintln!("cannot remove {}", self.path.display());
    }
}

/// Sets the quota `half` after the begin: `share` less than what `pids` have used until then in the busier
/// seconds. Returns
/// the share of the time since for which the group was stopped.
pub(super) fn change(group: &Group, pids: &[i32], share: f64, half: Duration, ended: &AtomicBool) -> Result<f64> {
    let used = used(pids, half, ended)?;
    let cpus = used * (1.0 - share);
    eprintln!("    a quota of {:.1} % of a CPU, of {:.1} % used", 100.0 * cpus, 100.0 * used);
    group.limit(cpus)?;
    pids.iter().try_for_each(|pid| group.add(*pid))?;
    let began = Instant::now();
    while sleep(STEP, ended) {}
    let share = group.stopped()?.as_secs_f64() / began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
    // Threads on two CPUs are stopped at the same time, and each counts.
    Ok(share.min(1.0))
}

/// CPU time per second that `pids` have used together in the busier seconds: the loads past the knee, without spikes.
fn used(pids: &[i32], time: Duration, ended: &AtomicBool) -> Result<f64> {
    let began = Instant::now();
    let (mut seconds, mut before, mut at) = (Vec::new(), cpu_s(pids)?, began);
    while began.elapsed() < time && sleep(STEP, ended) {
        let (now, used) = (Instant::now(), cpu_s(pids)?);
        seconds.push((used - before) / (now - at).as_secs_f64());
        (before, at) = (used, now);
    }
    Ok(upper_quartile(seconds))
}

fn upper_quartile(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * 3 / 4).copied().unwrap_or(0.0)
}

/// CPU time that `pids` have used so far; s.
fn cpu_s(pids: &[i32]) -> Result<f64> {
    pids.iter().map(|pid| process_cpu_s(*pid)).sum()
}

/// Of `cpu.stat`: nanoseconds in version 1, microseconds in version 2.
fn stopped(stat: &str) -> Option<Duration> {
    let of = |name: &str| -> Option<u64> {
        let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    of("throttled_usec").map(Duration::from_micros).or_else(|| of("throttled_time").map(Duration::from_nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_is_not_what_is_used() {
        let used = upper_quartile(vec![0.03, 0.07, 0.02, 0.08, 0.3, 0.08, 0.01, 0.04]);
        assert!((used - 0.08).abs() < 1e-9, "{used}");
        assert!(upper_quartile(Vec::new()).abs() < 1e-9);
    }

    #[test]
    fn the_time_it_was_stopped_is_read_in_both_versions() {
        let v1 = "nr_periods 200\nnr_throttled 50\nthrottled_time 1000000\n";
        let v2 = "usage_usec 7\nnr_periods 200\nnr_throttled 50\nthrottled_usec 1000\n";
        assert_eq!([v1, v2].map(stopped), [Some(Duration::from_millis(1)); 2]);
        assert_eq!(stopped("nr_periods 0\n"), None);
    }
}
