//! How fast the CPUs run. Reading it may interrupt each of them, so it is read seldom.

use super::{Context, Figured};
use crate::files::{Files, Missing};

/// CPUs that are asked at most.
const ASKED_MAX: usize = 64;

/// Frequencies of now.
pub(super) fn frequency(context: &Context<'_>) -> Result<Figured, Missing> {
    let all = of_cpus(context.files, "cpufreq/scaling_cur_freq");
    let (Some(min), Some(max)) = (all.iter().min(), all.iter().max()) else {
        return Err(Missing::Because("the CPUs do not tell their frequency, as in most virtual machines"));
    };
    let mean = sum(&all) / all.len() as u64;
    let hz = |khz: u64| khz.saturating_mul(1000);
    Ok(Figured::gauges([("mean_hz", hz(mean)), ("min_hz", hz(*min)), ("max_hz", hz(*max))]))
}

/// Times the CPUs were slowed down because they were too hot.
pub(super) fn throttling(context: &Context<'_>) -> Result<Figured, Missing> {
    let all = of_cpus(context.files, "thermal_throttle/core_throttle_count");
    if all.is_empty() {
        return Err(Missing::Because("the CPUs do not tell whether heat slows them, as in most virtual machines"));
    }
    Ok(Figured::counters([("core_throttles", sum(&all))]).of_cpus(all.len()))
}

fn sum(all: &[u64]) -> u64 {
    all.iter().fold(0, |sum, n| sum.saturating_add(*n))
}

/// A number that each CPU has a file for.
fn of_cpus(files: &Files, file: &str) -> Vec<u64> {
    let names = files.names("/sys/devices/system/cpu");
    let cpus = names.iter().filter(|name| {
        name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|digit| digit.is_ascii_digit()))
    });
    let numbers =
        cpus.take(ASKED_MAX).filter_map(|cpu| files.number(&format!("/sys/devices/system/cpu/{cpu}/{file}")).ok());
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_of_all_processors_are_in_hertz() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, khz) in [("cpu0", "1000000"), ("cpu1", "3000000"), ("cpufreq", "9")] {
            let dir = root.path().join("sys/devices/system/cpu").join(cpu).join("cpufreq");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("scaling_cur_freq"), khz).unwrap();
        }
        let files = Files::below(root.path());
        let context = Context::new(&files, None);
        let gauges = frequency(&context).unwrap().gauges;
        assert_eq!(
            (gauges["mean_hz"], gauges["min_hz"], gauges["max_hz"]),
            (2_000_000_000, 1_000_000_000, 3_000_000_000)
        );
        assert!(throttling(&context).is_err());
    }
}
