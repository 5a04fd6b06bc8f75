//! Comparison of variants in blocks: each block has a canary, unless this machine has no part in what is measured, and each
//! variant in shuffled order: several short windows in turns where all servers can run at the same time, or else once.
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
pub(crate) use block::{Block, Made, Place, ServedBefore, Uneven};
pub(crate) use bound::Open;
pub(crate) use budget::{budget_text, least_blocks, refusal};
pub(crate) use canary::{canaries, deviating};
use model::{Bound, CompareEnd, CompareLoad, CompareMetric, CompareSettings};
use stats::{BLOCK_REPEATS_MAX, Looks, Quantity, RUNS_MIN, Stop, effect, precision, shuffled_blocks};
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
    pub(crate) before: ServedBefore,
    /// Where it runs, and beside which; none of one that is measured by itself.
    pub(crate) place: Option<Place>,
    /// True if it takes the place of one that was too disturbed.
    pub(crate) is_again: bool,
    /// How the block before it was disturbed, of which its block takes the place.
    pub(crate) block_before: Option<Uneven>,
    /// Time left within the budget; ns.
    pub(crate) left_ns: u64,
    /// About how long a block takes; ns.
    pub(crate) block_ns: u64,
    /// Blocks after which it is looked next whether all is decided, or at which the wanted precision is reached before; all
    /// of them where their number is fixed.
    pub(crate) blocks_needed: u64,
    /// True if their number is fixed.
    pub(crate) is_fixed: bool,
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

    /// Confidence of the intervals.
    pub(crate) fn confidence(&self) -> f64 {
        match self.looks() {
            Some(looks) => looks.confidence(),
            None => 1.0 - ONE_LOOK_ALPHA / (self.variants().max(1) as f64),
        }
    }

    /// When to look, and what for; none where the number of blocks is fixed.
    fn looks(&self) -> Option<Looks> {
        let settings = &self.settings;
        settings.precision.map(|wanted_half_width| Looks {
            wanted_half_width,
            margin: settings.margin,
            variants: self.variants(),
        })
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

    /// Whether the quantities that decide say all that is wanted.
    fn looked(&self) -> Option<CompareEnd> {
        let primaries = self.primaries();
        let of_arm = |arm: usize| {
            let quantity = |(load, metric): &(CompareLoad, CompareMetric)| Quantity {
                pairs: self.pairs(arm, *load, *metric),
                wanted: metric.wanted(),
            };
            primaries.iter().map(quantity).collect()
        };
        let variants: Vec<Vec<Quantity>> = (1..=self.variants()).map(of_arm).collect();
        match self.looks()?.look(&variants)? {
            Stop::Decided => Some(CompareEnd::Clear),
            Stop::Precise => Some(CompareEnd::Precise),
        }
    }

    /// The quantities that decide, one of each load at which one is known.
    fn primaries(&self) -> Vec<(CompareLoad, CompareMetric)> {
        self.settings.loads.iter().filter_map(|load| Some((*load, self.primary(*load)?))).collect()
    }

    /// Blocks in all that are needed: those of an interval, then those of the next look or, if these are fewer, those of the
    /// wanted precision.
    pub(crate) fn blocks_needed(&self) -> u64 {
        match self.settings.precision {
            Some(_) if self.counted() < PILOT => least_blocks(self.settings.blocks_max),
            Some(_) => {
                let planned = Looks::next_planned(self.counted());
                self.precision_needs().map_or(planned, |needed| needed.min(planned)).min(self.settings.blocks_max)
            }
            None => self.settings.blocks_max,
        }
    }

    /// Blocks in all that the quantities which decide need for the wanted precision; none before the pilot is over.
    fn precision_needs(&self) -> Option<u64> {
        let wanted = self.settings.precision.filter(|_| self.counted() >= PILOT)?;
        let confidence = self.confidence();
        let of_arms = self.primaries().into_iter().flat_map(|(load, metric)| {
            (1..=self.variants()).filter_map(move |arm| {
                let effect = effect(&self.pairs(arm, load, metric), confidence)?;
                precision(&effect, wanted, confidence).blocks_needed
            })
        });
        of_arms.max().map(|needed| needed.max(self.counted() + 1).min(self.settings.blocks_max))
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
            let (order, loads) = (order.clone(), &self.settings.loads);
            let block = match self.settings.windows {
                _ if self.settings.duet.is_some() => Block::duet(order, loads, repeats, counts_anyway),
                Some(windows) => {
                    let at_once = self.settings.at_once.map(|_| CompareLoad::Fixed);
                    Block::in_turns(order, loads, (windows, at_once), repeats, counts_anyway)
                }
                None => Block::new(order, loads, repeats, counts_anyway),
            };
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
        let before = self.blocks.iter().rev().nth(1).filter(|before| !before.counts());
        let block_before = before.and_then(Block::uneven);
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
            before: next.before,
            place: next.place,
            is_again: next.is_again,
            block_before,
            left_ns,
            block_ns: self.block_ns(),
            blocks_needed: self.blocks_needed(),
            is_fixed: self.settings.precision.is_none(),
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
