//! Duet: two variants measured at the same time, each with its load on CPUs of its own, which are swapped in each block.

use crate::{CompareLoad, CompareMetric, Estimate};
use serde::{Deserialize, Serialize};

/// What stands before the names of processes of the variant that is measured at the same time: others, but no disturbance.
pub const OTHER_VARIANT: &str = "other variant: ";

/// Begin of the names of load threads: of the load `part`, from 1, of several in one process, or of the only one (0).
#[must_use]
pub fn load_threads(part: u32) -> String {
    if part == 0 { "load-".to_owned() } else { format!("load{part}-") }
}

/// Plan of a duet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duet {
    /// Two sets of CPUs that have no physical core in common.
    pub sets: [DuetSet; 2],
}

/// CPUs of one of two servers that are measured at the same time, and of its load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuetSet {
    /// Of the server.
    pub server: Vec<u32>,
    /// Of the load threads; those of the server where there is one CPU only.
    pub load: Vec<u32>,
    /// True if both run on one physical core, and so take time from each other.
    pub one_core: bool,
}

impl DuetSet {
    /// All of them, in rising order.
    #[must_use]
    pub fn cpus(&self) -> Vec<u32> {
        let mut all = [&self.server[..], &self.load].concat();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What the set of CPUs does to a quantity, whichever variant runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionRecord {
    /// Quantity.
    pub metric: CompareMetric,
    /// Load.
    pub load: CompareLoad,
    /// On the second set over that on the first, with its 95 % interval; `n` is the number of blocks.
    pub ratio: Estimate,
    /// True if the whole interval lies beyond the margin of the comparison.
    pub is_large: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_each_cpu_once_and_load_threads_of_two_loads_are_told_apart() {
        let shared = DuetSet { server: vec![1], load: vec![1], one_core: true };
        let apart = DuetSet { server: vec![2, 3], load: vec![0], one_core: false };
        assert_eq!((shared.cpus(), apart.cpus()), (vec![1], vec![0, 2, 3]));
        let names = [0, 1, 2].map(load_threads);
        assert_eq!(names, ["load-", "load1-", "load2-"]);
        assert!(names.iter().all(|one| names.iter().all(|other| one == other || !other.starts_with(one.as_str()))));
    }
}
