//! Call chains as the kernel gives them, equal ones counted: what is kept while the load runs.

use super::maps::AllMaps;
use super::tree::Tree;
use std::collections::HashMap;

/// Most addresses kept: 64 MB. Samples with new stacks beyond that count as lost.
const ADDRESSES_MAX: usize = 8 << 20;
/// Marks in a chain, in place of an address: what follows is of the kernel, of the program
/// (`PERF_CONTEXT_KERNEL`, `PERF_CONTEXT_USER`); everything from the last on is some mark.
const KERNEL: u64 = (-128_i64).cast_unsigned();
const USER: u64 = (-512_i64).cast_unsigned();
const MARK_MIN: u64 = (-4095_i64).cast_unsigned();

/// Everything that was sampled, not yet named.
#[derive(Debug)]
pub struct Recorded {
    pub(super) stacks: Stacks,
    /// Why nothing is known of what was waited for, if that is so.
    pub(super) no_waits: Option<String>,
    pub(super) sampled_ns: u64,
    pub(super) cpus: u32,
}

/// What is counted of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Samples in which it ran.
    Running,
    /// Time for which it waited; ns.
    Waiting,
}

/// Counted stacks.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// By process and chain, innermost first.
    counts: HashMap<(Kind, u32, Box<[u64]>), u64>,
    addresses: usize,
    /// Samples of what ran that were taken and could not be kept.
    pub(super) lost: u64,
    /// Records of switches that could not be.
    pub(super) lost_waits: u64,
    pub(super) tree: Tree,
    pub(super) maps: AllMaps,
    pub(super) reader_cpu_ns: u64,
}

/// One address of a chain, outermost last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) is_kernel: bool,
    /// Inside the instruction that runs, or that calls.
    pub(super) address: u64,
}

impl Stacks {
    /// Counts `n` more of a stack.
    pub(super) fn add(&mut self, kind: Kind, pid: u32, chain: &[u64], n: u64) {
        let key = (kind, pid, Box::from(chain));
        if let Some(count) = self.counts.get_mut(&key) {
            *count += n;
            return;
        }
        if self.addresses + chain.len() > ADDRESSES_MAX {
            match kind {
                Kind::Running => self.lost += 1,
                Kind::Waiting => self.lost_waits += 1,
            }
            return;
        }
        self.tree.seen(pid);
        self.maps.see(pid, self.tree.parent(pid));
        self.addresses += chain.len();
        self.counts.insert(key, n);
    }

    /// Process, places innermost first, and what is counted of each stack of a kind.
    pub(super) fn each(&self, kind: Kind) -> impl Iterator<Item = (u32, Vec<Place>, u64)> + '_ {
        let of_kind = self.counts.iter().filter(move |((of, ..), _)| *of == kind);
        of_kind.map(|((_, pid, chain), count)| (*pid, places(chain), *count))
    }
}

/// A chain without its marks.
fn places(chain: &[u64]) -> Vec<Place> {
    let (mut is_kernel, mut is_first, mut places) = (false, true, Vec::with_capacity(chain.len()));
    for &entry in chain {
        if entry >= MARK_MIN {
            is_kernel = entry == KERNEL || (is_kernel && entry != USER);
            is_first = true;
            continue;
        }
        // Callers are told by where they will go on, which may already be another function.
        let address = if is_first { entry } else { entry.saturating_sub(1) };
        is_first = false;
        places.push(Place { is_kernel, address });
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_lose_their_marks_and_callers_point_into_the_call() {
        let place = |is_kernel, address| Place { is_kernel, address };
        assert_eq!(
            places(&[KERNEL, 0xffff_0010, 0xffff_0020, USER, 0x40, 0x51]),
            [place(true, 0xffff_0010), place(true, 0xffff_001f), place(false, 0x40), place(false, 0x50)]
        );
        assert_eq!(places(&[]), []);
    }

    #[test]
    fn equal_stacks_are_counted_and_memory_is_bounded() {
        let mut stacks = Stacks::default();
        (0..3).for_each(|_| stacks.add(Kind::Running, 0, &[USER, 1, 2], 1));
        stacks.addresses = ADDRESSES_MAX - 3;
        stacks.add(Kind::Running, 0, &[USER, 1, 3], 1);
        stacks.add(Kind::Running, 0, &[USER, 1, 4], 1);
        stacks.add(Kind::Running, 0, &[USER, 1, 2], 1);
        stacks.add(Kind::Waiting, 0, &[USER, 1, 2], 1000);
        let mut counts: Vec<_> = stacks.each(Kind::Running).map(|(_, places, n)| (places[1].address, n)).collect();
        counts.sort_unstable();
        assert_eq!((counts.as_slice(), stacks.lost, stacks.lost_waits), ([(1, 4), (2, 1)].as_slice(), 1, 1));
        assert_eq!(stacks.each(Kind::Waiting).count(), 0);
    }
}
