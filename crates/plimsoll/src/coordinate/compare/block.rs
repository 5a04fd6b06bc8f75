//! One block of a comparison: its trials, and whether it counts.

use super::Outcome;
use model::{Bound, CompareLoad, CompareMetric};
use std::collections::{BTreeMap, VecDeque};

/// How often a trial is made again at most.
const REPEATS_MAX: u32 = 1;

/// One block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Variants in the order measured.
    pub(crate) order: Vec<usize>,
    left: VecDeque<Trial>,
    /// Times that this block was made before.
    repeats: u32,
    /// True if it counts even if it is disturbed.
    counts_anyway: bool,
    /// Trials in the order made; true for each that counts within the block.
    pub(crate) made: Vec<(Trial, Outcome, bool)>,
}

/// One trial of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    /// Variant, from 0; none for the canary.
    pub(crate) arm: Option<usize>,
    pub(crate) load: CompareLoad,
    /// True if it takes the place of another.
    pub(crate) is_again: bool,
    again: u32,
}

/// What was measured of one variant at one load in one block.
pub(crate) type Value<'a> = (usize, CompareLoad, &'a BTreeMap<CompareMetric, f64>);

impl Block {
    pub(crate) fn new(order: Vec<usize>, loads: &[CompareLoad], repeats: u32, counts_anyway: bool) -> Self {
        let trial = |arm, load| Trial { arm, load, is_again: false, again: 0 };
        let arms = order.iter().flat_map(|arm| loads.iter().map(|load| trial(Some(*arm), *load)));
        let left = [trial(None, CompareLoad::Canary)].into_iter().chain(arms).collect();
        Self { order, left, repeats, counts_anyway, made: Vec::new() }
    }

    /// The next trial; none when all are made.
    pub(crate) fn next(&self) -> Option<Trial> {
        self.left.front().copied()
    }

    /// Takes in what came of it. One that says little is made again if it may be.
    pub(crate) fn take(&mut self, outcome: Outcome, may_repeat: bool) {
        let Some(trial) = self.left.pop_front() else { return };
        let is_repeated = outcome.says_little && may_repeat && trial.again < REPEATS_MAX && trial.arm.is_some();
        if is_repeated {
            self.left.push_front(Trial { is_again: true, again: trial.again + 1, ..trial });
        }
        self.made.push((trial, outcome, !is_repeated));
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// True if the result is made of it: one that will not get better counts as it is.
    pub(crate) fn counts(&self) -> bool {
        self.is_complete() && (self.counts_anyway || !self.is_disturbed())
    }

    /// Times that the block after it will have been made before.
    pub(crate) fn repeats_of_next(&self) -> u32 {
        if self.counts() { 0 } else { self.repeats + 1 }
    }

    /// True if one variant was disturbed more than the others, or too much.
    pub(crate) fn is_disturbed(&self) -> bool {
        let counted = self.made.iter().filter(|(trial, _, counted)| trial.arm.is_some() && *counted);
        let shares: Option<Vec<f64>> = counted.map(|(_, outcome, _)| outcome.clean_share).collect();
        shares.is_some_and(|shares| !shares.is_empty() && stats::should_repeat_block(&shares))
    }

    /// The trials that count within the block, without the canary.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value<'_>> {
        let counted = self.made.iter().filter(|(_, _, counted)| *counted);
        counted.filter_map(|(trial, outcome, _)| Some((trial.arm?, trial.load, &outcome.values)))
    }

    pub(crate) fn value(&self, arm: usize, load: CompareLoad, metric: CompareMetric) -> Option<f64> {
        let mut values = self.values().filter(|(of, at, _)| (*of, *at) == (arm, load));
        values.find_map(|(.., values)| values.get(&metric).copied()).filter(|value| *value > 0.0)
    }

    /// What a variant's value at a load is if it is a bound.
    pub(crate) fn bound(&self, arm: usize, load: CompareLoad) -> Option<Bound> {
        let is_of = |trial: &Trial| (trial.arm, trial.load) == (Some(arm), load);
        let mut counted = self.made.iter().filter(|(trial, _, counted)| *counted && is_of(trial));
        counted.find_map(|(_, outcome, _)| outcome.bound)
    }

    /// What the canary has cost; ns per response.
    pub(crate) fn canary(&self) -> Option<f64> {
        let mut canaries = self.made.iter().filter(|(trial, ..)| trial.arm.is_none());
        canaries.find_map(|(_, outcome, _)| outcome.values.get(&CompareMetric::ServerCpuNsPerRequest).copied())
    }

    /// Undisturbed share of the windows of each variant, mean of its loads; without those of which it is not known.
    pub(crate) fn clean_shares(&self) -> BTreeMap<usize, f64> {
        let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (trial, outcome, _) in self.made.iter().filter(|(_, _, counted)| *counted) {
            if let Some((arm, share)) = trial.arm.zip(outcome.clean_share) {
                let sum = sums.entry(arm).or_default();
                *sum = (sum.0 + share, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(arm, (sum, n))| (arm, sum / n)).collect()
    }

    /// Trials that were made again.
    pub(crate) fn repeated(&self) -> u64 {
        self.made.iter().filter(|(_, _, counted)| !counted).count() as u64
    }

    /// Time that it took so far; ns.
    pub(crate) fn took_ns(&self) -> u64 {
        self.made.iter().map(|(_, outcome, _)| outcome.took_ns).sum()
    }
}
