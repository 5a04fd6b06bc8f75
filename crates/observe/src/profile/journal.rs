//! What is sampled, handed over to be written down while it comes.

use model::{SampledProcess, SamplesAdded};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between two times that something is handed over: a kill loses no more.
const EVERY: Duration = Duration::from_millis(500);

/// Takes what is new, without delay. What it cannot take now it gives back, and gets again with what came meanwhile.
pub type Take = Box<dyn FnMut(SamplesAdded) -> Result<(), SamplesAdded> + Send>;

/// The way to whoever writes it down.
pub(super) struct Journal {
    take: Take,
    rounds: u128,
    /// Readings of the rings between two of those times.
    every: u128,
    /// Given back.
    held: Option<SamplesAdded>,
}

impl Journal {
    /// The rings are read once in `read_every`.
    pub(super) fn new(take: Take, read_every: Duration) -> Self {
        let every = (EVERY.as_millis() / read_every.as_millis().max(1)).max(1);
        Self { take, rounds: 0, every, held: None }
    }

    /// Another reading of the rings; true if what is new is to be told.
    pub(super) fn is_due(&mut self) -> bool {
        self.rounds += 1;
        self.rounds.is_multiple_of(self.every)
    }

    pub(super) fn tell(&mut self, added: SamplesAdded) {
        let added = match self.held.take() {
            Some(held) => joined(held, added),
            None => added,
        };
        self.held = (self.take)(added).err();
    }
}

/// What came first, and what came after it. It stays as small as what there is.
fn joined(first: SamplesAdded, mut then: SamplesAdded) -> SamplesAdded {
    let mut counts: BTreeMap<u32, u64> = first.counts.into_iter().collect();
    for (number, n) in then.counts {
        *counts.entry(number).or_default() += n;
    }
    let mut processes: BTreeMap<u32, SampledProcess> =
        first.processes.into_iter().map(|process| (process.pid, process)).collect();
    for mut process in then.processes {
        if let Some(known) = processes.remove(&process.pid).filter(|_| process.code.is_empty()) {
            process.code = known.code;
        }
        processes.insert(process.pid, process);
    }
    let mut stacks = first.stacks;
    stacks.append(&mut then.stacks);
    SamplesAdded { processes: processes.into_values().collect(), stacks, counts: counts.into_iter().collect(), ..then }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{SampledCode, SampledStack};
    use std::sync::mpsc::sync_channel;

    const ROUND: Duration = Duration::from_millis(20);

    fn added(sampled_ns: u64, chain: u64, counts: &[(u32, u64)]) -> SamplesAdded {
        let stack = SampledStack { is_waiting: false, pid: 7, chain: vec![chain] };
        SamplesAdded { sampled_ns, stacks: vec![stack], counts: counts.to_vec(), ..SamplesAdded::default() }
    }

    #[test]
    fn what_cannot_be_taken_comes_again_with_what_came_meanwhile() {
        let (to, from) = sync_channel(1);
        let mut journal = Journal::new(
            Box::new(move |added| {
                to.try_send(added).map_err(|error| match error {
                    std::sync::mpsc::TrySendError::Full(added) | std::sync::mpsc::TrySendError::Disconnected(added) => {
                        added
                    }
                })
            }),
            ROUND,
        );
        let mut first = added(1, 0xa, &[(0, 3)]);
        let code = vec![SampledCode { begin: 1, end: 2, ..SampledCode::default() }];
        first.processes = vec![SampledProcess { pid: 7, code, ..SampledProcess::default() }];
        journal.tell(added(0, 0x9, &[]));
        journal.tell(first);
        let mut second = added(2, 0xb, &[(0, 4), (1, 1)]);
        second.processes = vec![SampledProcess { pid: 7, name: Some("new".into()), ..SampledProcess::default() }];
        journal.tell(second);
        assert_eq!(from.recv().map(|added| added.sampled_ns), Ok(0));
        journal.tell(added(3, 0xc, &[(2, 9)]));
        let all = from.recv().unwrap();
        assert_eq!((all.sampled_ns, all.stacks.len(), all.counts), (3, 3, vec![(0, 7), (1, 1), (2, 9)]));
        let [process] = &all.processes[..] else { panic!("{:?}", all.processes) };
        assert_eq!((process.name.as_deref(), process.code.len()), (Some("new"), 1));
    }

    #[test]
    fn it_is_due_twice_a_second() {
        let mut journal = Journal::new(Box::new(|_| Ok(())), ROUND);
        assert_eq!((0..50).filter(|_| journal.is_due()).count(), 2);
    }
}
