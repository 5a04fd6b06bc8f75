//! Promises of samples that were written down, on arbitrary bytes, for the fuzz target and the tests that fuzz a little.

use crate::profile::{NameReader, Past, Scope, check_answer, find_generated};
use std::collections::BTreeSet;

/// Takes `data` as a `profile.samples`: no panic, neither while it is read nor while it becomes a profile, and no more is in
/// its stacks than was counted.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_samples(data: &[u8]) {
    let Past { begun, recorded } = match Past::read(data) {
        Ok(past) => past,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let scope =
        Scope { server: begun.server, companions: begun.companions, only_server: begun.only_server, own_name: "own" };
    let profile = recorded.resolve(&scope, &NameReader::default());
    let count = |line: &str| line.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok()).expect("a count");
    assert_eq!(profile.folded.lines().map(count).sum::<u64>(), profile.profiled.samples);
    assert!(profile.waits.lines().all(|line| count(line) < u64::MAX));
}

/// Takes `data` as a list of functions that were compiled just in time: no panic, only addresses are named that were asked for,
/// and each name is part of one line.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_perf_map(data: &[u8]) {
    let addresses: BTreeSet<u64> = [0, 1, 0x1000, 0x1008, 0x7fff_0000_0000, u64::MAX].into();
    let found = find_generated(data, &addresses).expect("memory can be read");
    for (address, name) in found {
        assert!(addresses.contains(&address) && !name.is_empty() && !name.contains('\n'), "{address:x} {name:?}");
    }
}

/// Takes `data` as what the process says that reads program files: no panic, and no more names than are agreed on.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_names(data: &[u8]) {
    check_answer(data);
}

/// Figures of one process that has used so much CPU time.
#[cfg(test)]
pub(crate) fn used(cpu_ns: u64) -> model::ProcessFigures {
    model::ProcessFigures { count: 1, cpu_ns, ..model::ProcessFigures::default() }
}
