//! From switches of threads to time spent waiting: where a thread was when it left its CPU, and how long until it was back.
//!
//! The kernel samples some of the switches with their call chains, each standing for as many as it tells, and tells of every
//! return. Each CPU has its own list of them, and a thread may come back on another one, so that they are put in order first.

use super::stacks::{Kind, Stacks};
use std::collections::HashMap;

/// Threads whose return is awaited; more than ever run at a time.
const AWAY_MAX: usize = 100_000;

/// What a CPU's list says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) time_ns: u64,
    pub(super) tid: u32,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A sample: it leaves its CPU from `chain`; `weight` switches went by for this one.
    Leaves { pid: u32, chain: Box<[u64]>, weight: u64 },
    /// It has left because others had to run, and waits for nothing else.
    Preempted,
    /// It runs again.
    Returns,
}

/// Threads that are away, and what is not in order yet.
#[derive(Debug, Default)]
pub(super) struct Waits {
    switches: Vec<Switch>,
    away: HashMap<u32, Away>,
    /// Latest time that had been told when all lists were read last: nothing from before it can still come.
    told_ns: u64,
}

#[derive(Debug)]
struct Away {
    pid: u32,
    chain: Box<[u64]>,
    weight: u64,
    since_ns: u64,
}

impl Waits {
    pub(super) fn push(&mut self, switch: Switch) {
        self.switches.push(switch);
    }

    /// All lists have been read once more: adds what is certain to `stacks`.
    pub(super) fn settle(&mut self, stacks: &mut Stacks) {
        let complete_ns = self.told_ns;
        self.told_ns = self.switches.iter().map(|switch| switch.time_ns).max().unwrap_or(0).max(complete_ns);
        self.settle_to(complete_ns, stacks);
    }

    /// The lists are at their end. Who has not come back waited for nothing that happened.
    pub(super) fn finish(&mut self, stacks: &mut Stacks) {
        self.settle_to(u64::MAX, stacks);
        self.away.clear();
    }

    fn settle_to(&mut self, complete_ns: u64, stacks: &mut Stacks) {
        // Stable: of the same instant and CPU the sample comes before what is told of the switch.
        self.switches.sort_by_key(|switch| switch.time_ns);
        let certain = self.switches.partition_point(|switch| switch.time_ns <= complete_ns);
        for Switch { time_ns, tid, what } in self.switches.drain(..certain) {
            match what {
                What::Leaves { pid, chain, weight } if self.away.len() < AWAY_MAX => {
                    self.away.insert(tid, Away { pid, chain, weight, since_ns: time_ns });
                }
                What::Leaves { .. } => stacks.lost_waits += 1,
                What::Preempted => drop(self.away.remove(&tid)),
                What::Returns => {
                    if let Some(Away { pid, chain, weight, since_ns }) = self.away.remove(&tid) {
                        stacks.add(Kind::Waiting, pid, &chain, (time_ns - since_ns) * weight);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(time_ns: u64, tid: u32, chain: u64, weight: u64) -> Switch {
        Switch { time_ns, tid, what: What::Leaves { pid: tid, chain: [chain].into(), weight } }
    }

    fn is(what: What, time_ns: u64, tid: u32) -> Switch {
        Switch { time_ns, tid, what }
    }

    fn waited(stacks: &Stacks) -> Vec<(u64, u64)> {
        let mut waited: Vec<_> = stacks.each(Kind::Waiting).map(|(_, places, ns)| (places[0].address, ns)).collect();
        waited.sort_unstable();
        waited
    }

    #[test]
    fn a_wait_lasts_from_leaving_to_returning_on_whatever_cpu() {
        let (mut waits, mut stacks) = (Waits::default(), Stacks::default());
        // The list of the CPU that it returns on is read first.
        waits.push(is(What::Returns, 150, 7));
        waits.push(leaves(100, 7, 0xa, 1));
        waits.push(leaves(110, 8, 0xb, 3));
        waits.settle(&mut stacks);
        assert_eq!(waited(&stacks), [], "another list may still tell of what was before");
        waits.push(is(What::Returns, 210, 8));
        waits.settle(&mut stacks);
        assert_eq!(waited(&stacks), [(0xa, 50)]);
        waits.push(leaves(300, 7, 0xa, 1));
        waits.finish(&mut stacks);
        assert_eq!(waited(&stacks), [(0xa, 50), (0xb, 3 * 100)], "and nothing of the one that never came back");
    }

    #[test]
    fn who_was_preempted_has_not_waited() {
        let (mut waits, mut stacks) = (Waits::default(), Stacks::default());
        waits.push(leaves(100, 7, 0xa, 1));
        waits.push(is(What::Preempted, 100, 7));
        waits.push(is(What::Returns, 150, 7));
        // Nor does a return count whose begin was not sampled.
        waits.push(is(What::Returns, 160, 9));
        waits.finish(&mut stacks);
        assert_eq!(waited(&stacks), []);
    }
}
