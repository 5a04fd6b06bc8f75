//! Call chains as the kernel gives them, equal ones counted: what is kept while the load runs.

use super::maps::AllMaps;
use super::tree::Tree;
use model::{SampledProcess, SampledStack, SamplesAdded};
use std::collections::{BTreeMap, HashMap};

/// Most addresses kept: 64 MB. Samples with new stacks beyond that count as lost.
pub(super) const ADDRESSES_MAX: usize = 8 << 20;
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
    /// The process that has sampled.
    pub(super) own: u32,
    pub(super) names: Names,
}

impl Recorded {
    /// Time for which was sampled; ns.
    #[must_use]
    pub const fn sampled_ns(&self) -> u64 {
        self.sampled_ns
    }
}

/// Where names are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// In processes that run, and in the files of those that have ended.
    Running,
    /// In files alone: the processes are those of a recording that was written down.
    Files,
    /// Nowhere: the machine was started again, or is another one.
    Nowhere,
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
    pub(super) counts: HashMap<(Kind, u32, Box<[u64]>), Count>,
    addresses: usize,
    /// What is new since it was written down last; none where nothing is.
    new: Option<New>,
    /// Samples of what ran that were taken and could not be kept.
    pub(super) lost: u64,
    /// Records of switches that could not be.
    pub(super) lost_waits: u64,
    pub(super) tree: Tree,
    pub(super) maps: AllMaps,
    pub(super) reader_cpu_ns: u64,
}

/// How much is counted of a stack, and its place in the order in which stacks came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) n: u64,
    pub(super) number: u32,
}

/// New stacks, and what was counted by number.
#[derive(Debug, Default)]
struct New {
    stacks: Vec<SampledStack>,
    counts: BTreeMap<u32, u64>,
}

/// One address of a chain, outermost last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) is_kernel: bool,
    /// Inside the instruction that runs, or that calls.
    pub(super) address: u64,
}

impl Stacks {
    /// Empty ones, of which is kept what is new.
    pub(super) fn written_down() -> Self {
        Self { new: Some(New::default()), ..Self::default() }
    }

    /// Empty ones for a recording that was written down.
    pub(super) fn past() -> Self {
        Self { tree: Tree::past(), ..Self::default() }
    }

    /// Counts `n` more of a stack.
    pub(super) fn add(&mut self, kind: Kind, pid: u32, chain: &[u64], n: u64) {
        let key = (kind, pid, Box::from(chain));
        if let Some(count) = self.counts.get_mut(&key) {
            count.n += n;
            if let Some(new) = &mut self.new {
                *new.counts.entry(count.number).or_default() += n;
            }
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
        let number = self.counts.len() as u32;
        if let Some(new) = &mut self.new {
            new.stacks.push(SampledStack { is_waiting: kind == Kind::Waiting, pid, chain: chain.to_vec() });
            new.counts.insert(number, n);
        }
        self.counts.insert(key, Count { n, number });
    }

    /// What is new since this was asked last.
    pub(super) fn take_new(&mut self) -> SamplesAdded {
        let New { stacks, counts } = self.new.as_mut().map(std::mem::take).unwrap_or_default();
        let of_maps = self.maps.take_changed();
        let mut changed = self.tree.take_changed();
        changed.extend(&of_maps);
        let process = |pid| {
            let (name, parent) = self.tree.known(pid);
            let code = if of_maps.contains(&pid) { self.maps.code(pid) } else { Vec::new() };
            SampledProcess { pid, name, parent, code }
        };
        SamplesAdded {
            lost: self.lost,
            lost_waits: self.lost_waits,
            processes: changed.into_iter().map(process).collect(),
            stacks,
            counts: counts.into_iter().collect(),
            ..SamplesAdded::default()
        }
    }

    /// Process, places innermost first, and what is counted of each stack of a kind.
    pub(super) fn each(&self, kind: Kind) -> impl Iterator<Item = (u32, Vec<Place>, u64)> + '_ {
        let of_kind = self.counts.iter().filter(move |((of, ..), _)| *of == kind);
        of_kind.map(|((_, pid, chain), count)| (*pid, places(chain), count.n))
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
