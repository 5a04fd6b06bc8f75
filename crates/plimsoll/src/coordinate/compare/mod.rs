//! Comparison of variants in blocks: each block has a canary, unless this machine has no part in what is measured, and each
//! variant once, in shuffled order.
//!
//! A pure machine: the record of a comparison is made by putting its trials to the same machine again. A trial of which
//! too little was undisturbed is made again, a block in which one variant was disturbed more than the others is measured
//! again whole; neither asks what was measured. In a duet each block has both variants at the same time, twice: the second time
//! with their sets of CPUs swapped, so that a difference of these is in both variants.

mod block;
mod bound;
mod budget;
mod canary;

use super::Search;
pub(crate) use block::{Block, Made, Place};
pub(crate) use bound::Open;
pub(crate) use budget::{budget_text, least_blocks, refusal};
pub(crate) use canary::{canaries, deviating};
use model::{Bound, CompareEnd, CompareLoad, CompareMetric, CompareSettings};
use stats::{BLOCK_REPEATS_MAX, Looks, RUNS_MIN, Stop, effect, precision, shuffled_blocks};
use std::collections::BTreeMap;

/// Blocks after which the spread is known well enough to say how many are needed.
pub(crate) const PILOT: u64 = RUNS_MIN as u64;
/// Blocks that are measured again in any case; beyond them as many as count, on a machine that has quiet times.
const REPEATED_BLOCKS: u64 = 3;
/// Trials that are made again in any case; beyond them one in so many.
const REPEATED_TRIALS: u64 = 4;
const REPEATED_TRIALS_SHARE: u64 = 8;
/// Error rate of an interval that is looked at once, when all blocks are measured.
const ONE_LOOK_ALPHA: f64 = 0.05;
/// Quantities whose precision decides when to stop, and the exit code: the first known one of each load.
const PRIMARY: [(CompareLoad, &[CompareMetric]); 3] = [
    (CompareLoad::Fixed, &[CompareMetric::ServerCpuNsPerRequest, CompareMetric::ResponseP50Ns]),
    (CompareLoad::Saturated, &[CompareMetric::GoodputPerS]),
    (CompareLoad::Capacity, &[CompareMetric::CapacityPerS]),
];

/// One trial to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asked {
    /// Number of the trial, from 1.
    pub(crate) number: u64,
    /// Its block, from 0, those that were repeated included.
    pub(crate) block: u64,
    /// Blocks that count so far.
    pub(crate) counted: u64,
    /// Variant, from 0, the baseline; none for the canary.
    pub(crate) arm: Option<usize>,
    pub(crate) load: CompareLoad,
    /// Where it runs, and beside which; none outside a duet.
    pub(crate) place: Option<Place>,
    /// True if it takes the place of one that was too disturbed.
    pub(crate) is_again: bool,
    /// True if its block takes the place of one that was disturbed unevenly.
    pub(crate) is_block_again: bool,
    /// Time left within the budget; ns.
    pub(crate) left_ns: u64,
    /// About how long a block takes; ns.
    pub(crate) block_ns: u64,
    /// Blocks in all that are needed: those of an interval, and once the spread is known those of the wanted precision.
    pub(crate) blocks_needed: u64,
    /// Wanted half-width of the intervals, relative; none where the number of blocks is fixed.
    pub(crate) wanted: Option<f64>,
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) values: BTreeMap<CompareMetric, f64>,
    /// Share of its window that was undisturbed; none where nobody kept an account.
    pub(crate) clean_share: Option<f64>,
    /// True if so little of it was undisturbed that it says nothing.
    pub(crate) says_little: bool,
    pub(crate) took_ns: u64,
    /// What the values are if they are a bound.
    pub(crate) bound: Option<Bound>,
}

/// The blocks of a comparison.
#[derive(Clone, Debug)]
pub(crate) struct BlockSearch {
    settings: CompareSettings,
    /// Variants in the order of each block.
    orders: Vec<Vec<usize>>,
    /// All blocks, the one being measured last.
    blocks: Vec<Block>,
    trials: u64,
    spent_ns: u64,
}

impl BlockSearch {
    pub(crate) fn new(settings: CompareSettings) -> Self {
        let arms: Vec<usize> = (0..settings.arms as usize).collect();
        let attempts = settings.blocks_max.saturating_mul(u64::from(BLOCK_REPEATS_MAX) + 1);
        let orders = shuffled_blocks(&arms, attempts as usize, settings.seed);
        Self { settings, orders, blocks: Vec::new(), trials: 0, spent_ns: 0 }
    }

    pub(crate) const fn settings(&self) -> &CompareSettings {
        &self.settings
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub(crate) const fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Blocks that count.
    pub(crate) fn counted(&self) -> u64 {
        self.blocks.iter().filter(|block| block.counts()).count() as u64
    }

    /// Values of the variant `arm` in each block that counts, beside those of the baseline: `(baseline, variant)`.
    pub(crate) fn pairs(&self, arm: usize, load: CompareLoad, metric: CompareMetric) -> Vec<(f64, f64)> {
        let blocks = self.blocks.iter().filter(|block| block.counts());
        blocks.filter_map(|block| Some((block.value(0, load, metric)?, block.value(arm, load, metric)?))).collect()
    }

    /// On which sides the ratios of the variant `arm` at a load are open.
    pub(crate) fn open(&self, arm: usize, load: CompareLoad) -> Open {
        let blocks = self.blocks.iter().filter(|block| block.counts());
        blocks.map(|block| Open::of(block.bound(0, load), block.bound(arm, load))).fold(Open::default(), Open::or)
    }

    /// Values on the first and on the second set of CPUs in each block of a duet that counts, whichever variant ran there.
    pub(crate) fn sets(&self, load: CompareLoad, metric: CompareMetric) -> Vec<(f64, f64)> {
        let blocks = self.blocks.iter().filter(|block| block.counts());
        blocks.filter_map(|block| Some((block.value_on(0, load, metric)?, block.value_on(1, load, metric)?))).collect()
    }

    /// The quantity of `load` that decides; none where none of them is known of all variants in all blocks.
    pub(crate) fn primary(&self, load: CompareLoad) -> Option<CompareMetric> {
        let of_load = PRIMARY.iter().find(|(of, _)| *of == load)?;
        of_load.1.iter().copied().find(|metric| self.is_known(load, *metric))
    }

    /// True if a quantity is known of all variants in all blocks that count, at least one.
    pub(crate) fn is_known(&self, load: CompareLoad, metric: CompareMetric) -> bool {
        let counted = self.counted() as usize;
        counted > 0 && (0..self.settings.arms as usize).all(|arm| self.pairs(arm, load, metric).len() == counted)
    }

    /// Confidence of the intervals of a quantity.
    pub(crate) fn confidence(&self, load: CompareLoad, metric: CompareMetric) -> f64 {
        let Some(looks) = self.looks() else { return 1.0 - ONE_LOOK_ALPHA / (self.variants().max(1) as f64) };
        let is_primary = self.primary(load) == Some(metric);
        looks.confidence(if is_primary { self.look(&looks, load, metric) } else { None })
    }

    /// When to look, and what for; none where the number of blocks is fixed.
    fn looks(&self) -> Option<Looks> {
        let settings = &self.settings;
        settings.precision.map(|wanted_half_width| Looks {
            wanted_half_width,
            margin: settings.margin,
            blocks_max: settings.blocks_max,
            variants: self.variants(),
        })
    }

    fn look(&self, looks: &Looks, load: CompareLoad, metric: CompareMetric) -> Option<Stop> {
        let pairs: Vec<Vec<(f64, f64)>> = (1..=self.variants()).map(|arm| self.pairs(arm, load, metric)).collect();
        looks.look(&pairs.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Variants without the baseline.
    const fn variants(&self) -> usize {
        (self.settings.arms as usize).saturating_sub(1)
    }

    /// About how long a block takes; ns.
    pub(crate) fn block_ns(&self) -> u64 {
        let complete: Vec<u64> = self.blocks.iter().filter(|block| block.is_complete()).map(Block::took_ns).collect();
        match complete.len() as u64 {
            0 => self.settings.times.block_ns,
            n => complete.iter().sum::<u64>() / n,
        }
    }

    /// Why no more blocks are measured; none while there are more to come.
    pub(crate) fn end(&self) -> Option<CompareEnd> {
        if self.blocks.last().is_some_and(|block| !block.is_complete()) {
            return None;
        }
        if let Some(end) = self.looked() {
            Some(end)
        } else if self.counted() >= self.settings.blocks_max || self.blocks.len() >= self.orders.len() {
            Some(CompareEnd::BlocksDone)
        } else if self.spent_ns.saturating_add(self.block_ns()) > self.settings.times.budget_ns {
            Some(CompareEnd::BudgetEnded)
        } else {
            None
        }
    }

    /// Whether the intervals that decide are all that is wanted.
    fn looked(&self) -> Option<CompareEnd> {
        let looks = self.looks().filter(|_| self.counted() >= PILOT)?;
        let primary = self.settings.loads.iter().filter_map(|load| Some((*load, self.primary(*load)?)));
        let stops: Option<Vec<Stop>> = primary.map(|(load, metric)| self.look(&looks, load, metric)).collect();
        let stops = stops.filter(|stops| !stops.is_empty() && !stops.contains(&Stop::BlocksEnded))?;
        let is_clear = stops.contains(&Stop::Clear);
        Some(if is_clear { CompareEnd::Clear } else { CompareEnd::Precise })
    }

    /// Blocks in all that are needed: before the pilot is over those of an interval, then those of the wanted precision.
    pub(crate) fn blocks_needed(&self) -> u64 {
        self.precision_needs().unwrap_or_else(|| match self.settings.precision {
            Some(_) => least_blocks(self.settings.blocks_max),
            None => self.settings.blocks_max,
        })
    }

    /// Blocks in all that the quantities which decide need for the wanted precision; none before the pilot is over.
    fn precision_needs(&self) -> Option<u64> {
        let wanted = self.settings.precision.filter(|_| self.counted() >= PILOT)?;
        let primary = self.settings.loads.iter().filter_map(|load| Some((*load, self.primary(*load)?)));
        let of_arms = primary.flat_map(|(load, metric)| {
            let confidence = self.confidence(load, metric);
            (1..=self.variants()).filter_map(move |arm| {
                let effect = effect(&self.pairs(arm, load, metric), confidence)?;
                precision(&effect, wanted, confidence).blocks_needed
            })
        });
        of_arms.max().map(|needed| needed.min(self.settings.blocks_max))
    }

    /// About how much longer the blocks take that are still needed, at the pace so far; 0 where enough of them count. ns
    pub(crate) fn more_ns(&self) -> u64 {
        let more = self.blocks_needed().saturating_sub(self.counted());
        let each_ns = self.spent_ns.checked_div(self.counted()).unwrap_or(0).max(self.block_ns());
        more.saturating_mul(each_ns)
    }

    /// Begins the next block.
    fn begin(&mut self) {
        if let Some(order) = self.orders.get(self.blocks.len()) {
            let repeats = self.blocks.last().map_or(0, Block::repeats_of_next);
            let repeated = self.blocks.iter().filter(|block| !block.counts()).count() as u64;
            let counts_anyway = repeats >= BLOCK_REPEATS_MAX
                || repeated >= self.counted().max(REPEATED_BLOCKS.min(self.settings.blocks_max));
            let block = if self.settings.duet.is_some() { Block::duet } else { Block::new };
            let block = block(order.clone(), &self.settings.loads, repeats, counts_anyway);
            self.blocks.push(if self.settings.without_canary { block.without_canary() } else { block });
        }
    }
}

impl Search for BlockSearch {
    type Trial = Asked;
    type Outcome = Outcome;

    fn next(&mut self, _now_ns: u64) -> Option<Asked> {
        if self.blocks.last().is_none_or(Block::is_complete) {
            if self.end().is_some() {
                return None;
            }
            self.begin();
        }
        let is_block_again = self.blocks.iter().rev().nth(1).is_some_and(|before| !before.counts());
        let (block, counted) = (self.blocks.len() as u64 - 1, self.counted());
        let (number, left_ns) = (self.trials + 1, self.settings.times.budget_ns.saturating_sub(self.spent_ns));
        let next = self.blocks.last()?.next()?;
        let (arm, load) = (next.arm, next.load);
        Some(Asked {
            number,
            block,
            counted,
            arm,
            load,
            place: next.place,
            is_again: next.is_again,
            is_block_again,
            left_ns,
            block_ns: self.block_ns(),
            blocks_needed: self.blocks_needed(),
            wanted: self.settings.precision,
        })
    }

    /// All trials are part of the result, which says which of them counted.
    fn apply(&mut self, _asked: &Asked, outcome: Outcome, _now_ns: u64) -> bool {
        self.trials += 1;
        self.spent_ns = self.spent_ns.saturating_add(outcome.took_ns);
        // What is measured again must fit into the time, and on a machine that is never quiet it helps nothing.
        let repeated: u64 = self.blocks.iter().map(Block::repeated).sum();
        let may_help = repeated < (self.trials / REPEATED_TRIALS_SHARE).max(REPEATED_TRIALS);
        let has_time = self.spent_ns.saturating_add(outcome.took_ns) <= self.settings.times.budget_ns;
        if let Some(block) = self.blocks.last_mut() {
            block.take(outcome, has_time && may_help);
        }
        true
    }
}

#[cfg(test)]
mod tests;
