//! Blocks of a simulated comparison: each measures the baseline and every variant once, in shuffled order.

use super::environment::Machine;
use super::random::Random;
use stats::{BLOCK_REPEATS_MAX, should_repeat_block, shuffled_blocks};

/// Share of a disturbance that is still in what was measured in the undisturbed time.
const REMAINS: f64 = 0.1;
/// Largest share of a trial that is disturbed; any up to it is as likely.
const DISTURBED_MAX: f64 = 0.6;

/// Disturbed time that hits the baseline and the variant not alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uneven {
    /// How often a trial of the baseline, and of the variant, is disturbed.
    pub(super) chances: (f64, f64),
    /// True if blocks that were not measured alike are made again.
    pub(super) repeats: bool,
}

/// Blocks so far.
#[derive(Debug)]
pub(super) struct Blocks {
    machine: Machine,
    /// Log of the true ratio of each variant to the baseline.
    effects: Vec<f64>,
    uneven: Option<Uneven>,
    random: Random,
    seed: u64,
    /// Pairs (baseline, variant), of each variant.
    pub(super) pairs: Vec<Vec<(f64, f64)>>,
    /// Blocks made, with those that were made again.
    pub(super) made: usize,
}

impl Blocks {
    /// Variants of these true ratios.
    pub(super) fn new(machine: Machine, ratios: &[f64], seed: u64) -> Self {
        let effects: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let pairs = vec![Vec::new(); effects.len()];
        Self { machine, effects, uneven: None, random: Random::new(seed ^ 0xd157), seed, pairs, made: 0 }
    }

    /// The same with disturbed time.
    pub(super) fn beside(self, uneven: Uneven) -> Self {
        Self { uneven: Some(uneven), ..self }
    }

    /// Measures so many blocks more.
    pub(super) fn add(&mut self, blocks: usize) {
        for _ in 0..blocks {
            let mut figures = self.measure();
            for _ in 0..BLOCK_REPEATS_MAX {
                let shares: Vec<f64> = figures.iter().map(|(_, clean_share)| *clean_share).collect();
                if !self.uneven.is_some_and(|uneven| uneven.repeats) || !should_repeat_block(&shares) {
                    break;
                }
                figures = self.measure();
            }
            let (baseline, _) = figures[0];
            for (pairs, (figure, _)) in self.pairs.iter_mut().zip(&figures[1..]) {
                pairs.push((baseline, *figure));
            }
        }
    }

    /// Figure and undisturbed share of the baseline and of each variant.
    fn measure(&mut self) -> Vec<(f64, f64)> {
        let mut figures = vec![(0.0, 1.0); self.effects.len() + 1];
        let places: Vec<usize> = (0..figures.len()).collect();
        self.made += 1;
        for place in shuffled_blocks(&places, 1, (self.seed << 20).wrapping_add(self.made as u64)).concat() {
            let effect = if place == 0 { 0.0 } else { self.effects[place - 1] };
            let disturbed = self.disturbed(place == 0);
            figures[place] = ((self.machine.trial() + effect - REMAINS * disturbed).exp(), 1.0 - disturbed);
        }
        figures
    }

    /// Share of the next trial that is disturbed.
    fn disturbed(&mut self, is_baseline: bool) -> f64 {
        let Some(Uneven { chances: (baseline, variant), .. }) = self.uneven else { return 0.0 };
        let chance = if is_baseline { baseline } else { variant };
        if self.random.uniform() <= chance { DISTURBED_MAX * self.random.uniform() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::Environment;
    use super::*;

    fn blocks(seed: u64) -> Blocks {
        Blocks::new(Machine::new(Environment::Drift, 0.001, 100, seed), &[1.1, 0.9], seed)
    }

    #[test]
    fn each_variant_has_its_ratio_in_every_block_and_the_level_of_its_block() {
        let mut blocks = blocks(5);
        blocks.add(200);
        assert_eq!((blocks.made, blocks.pairs[0].len(), blocks.pairs[1].len()), (200, 200, 200));
        for (pairs, truth) in blocks.pairs.iter().zip([1.1, 0.9]) {
            let logs: Vec<f64> = pairs.iter().map(|(baseline, variant)| (variant / baseline).ln()).collect();
            let error = (stats::variance(&logs) / 200.0).sqrt();
            assert!((stats::mean(&logs) - f64::ln(truth)).abs() < 4.0 * error, "{}", stats::mean(&logs));
        }
        let mut again = self::blocks(5);
        again.add(200);
        assert_eq!(again.pairs, blocks.pairs, "the same for the same seed");
    }

    #[test]
    fn blocks_that_were_not_measured_alike_are_made_again() {
        let made = |repeats: bool| {
            let mut blocks = blocks(7).beside(Uneven { chances: (0.1, 0.4), repeats });
            blocks.add(100);
            assert_eq!(blocks.pairs[0].len(), 100);
            blocks.made
        };
        assert!(made(false) == 100 && (120..400).contains(&made(true)), "{}", made(true));
    }
}
