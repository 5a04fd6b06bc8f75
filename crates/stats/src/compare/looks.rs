//! When a comparison is over, so that looking at it again and again costs no error rate.
//!
//! To look after each block and stop at the first interval that excludes 1 flags 23 % of comparisons without an effect.
//! Two kinds of look do not:
//!
//! - *precision*: after each block, whether the interval is as narrow as wanted (Anscombe, "Large-sample theory of
//!   sequential estimation", 1952; Kelley, Darken and Chattopadhyay, "Sequential Accuracy in Parameter Estimation",
//!   Psychological Methods 23(3), 2018). It does not ask where the interval lies; what remains is that blocks which
//!   happen to agree stop it early, for which the interval is one of 97 %.
//! - *clear*: after 6, 12, 24, ... blocks, whether an interval of 99.9 % lies beyond the margin (Haybittle, British Journal of
//!   Radiology 44, 1971; Peto et al., British Journal of Cancer 34, 1976). Each such look adds at most 0.1 % of errors.

use super::call::call;
use super::effect::effect;
use super::precision::half_width;
use crate::batch::RUNS_MIN;
use model::{Call, Direction};

/// Error rate of the interval that is looked at for its width, so that it is 5 % in the end.
const PRECISE_ALPHA: f64 = 0.03;
/// Error rate of each interval that is looked at for where it lies.
const CLEAR_ALPHA: f64 = 0.001;
/// Share of the margin that the half width is to be by default: then two variants that do not differ are called the same,
/// and a change of nearly two margins is called better or worse, in 80 % of cases.
const MARGIN_SHARE: f64 = 0.6;

/// Plan of when to look and what to look for, made before the first block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// Relative half width of the interval at which it is over; 0.01 is 1 %.
    pub wanted_half_width: f64,
    /// Change that does not matter, relative.
    pub margin: f64,
    /// Blocks after which it is over in any case.
    pub blocks_max: u64,
    /// Variants that are compared with the baseline, at least 1; they share the error rate (Bonferroni).
    pub variants: usize,
}

/// Why a comparison is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The intervals of all variants are as narrow as wanted.
    Precise,
    /// Every variant is better or worse beyond doubt.
    Clear,
    /// All blocks that were allowed are done.
    BlocksEnded,
}

impl Looks {
    /// Half width that a margin asks for, relative: 0.6 of it.
    #[must_use]
    pub fn half_width_for(margin: f64) -> f64 {
        MARGIN_SHARE * margin
    }

    /// Confidence of the interval of each variant, given why it is over; none while it goes on.
    #[must_use]
    pub fn confidence(&self, stop: Option<Stop>) -> f64 {
        let alpha = if stop == Some(Stop::Clear) { CLEAR_ALPHA } else { PRECISE_ALPHA };
        1.0 - alpha / self.variants.max(1) as f64
    }

    /// Looks at the pairs (baseline, variant) of all blocks so far, of each variant; none if another block is to be made.
    /// To be asked after each block.
    #[must_use]
    pub fn look(&self, variants: &[&[(f64, f64)]]) -> Option<Stop> {
        let blocks = variants.iter().map(|pairs| pairs.len()).min().unwrap_or(0) as u64;
        let confidence = self.confidence(None);
        let is_precise = |pairs: &&[(f64, f64)]| {
            let half = effect(pairs, confidence).and_then(|effect| half_width(&effect.ratio));
            half.is_some_and(|half| half <= self.wanted_half_width)
        };
        if blocks >= RUNS_MIN as u64 && variants.iter().all(is_precise) {
            Some(Stop::Precise)
        } else if is_planned(blocks) && variants.iter().all(|pairs| self.is_clear(pairs)) {
            Some(Stop::Clear)
        } else {
            (blocks >= self.blocks_max).then_some(Stop::BlocksEnded)
        }
    }

    /// True if the whole interval lies beyond the margin, on whichever side.
    fn is_clear(&self, pairs: &[(f64, f64)]) -> bool {
        let effect = effect(pairs, self.confidence(Some(Stop::Clear)));
        effect.is_some_and(|effect| {
            matches!(call(&effect.ratio, Direction::HigherIsBetter, self.margin), Call::Better | Call::Worse)
        })
    }
}

/// 6, 12, 24, ...
const fn is_planned(blocks: u64) -> bool {
    let first = RUNS_MIN as u64;
    blocks >= first && blocks.is_multiple_of(first) && (blocks / first).is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const LOOKS: Looks = Looks { wanted_half_width: 0.012, margin: 0.02, blocks_max: 200, variants: 1 };

    /// Blocks until it is over, and why.
    fn made(looks: Looks, ratio: f64, sd: f64, seed: u64) -> (Vec<(f64, f64)>, Stop) {
        let mut noise = Noise::new(seed);
        let mut pairs = Vec::new();
        loop {
            pairs.push((1.0, ratio * (sd * noise.normal()).exp()));
            if let Some(stop) = looks.look(&vec![&pairs[..]; looks.variants]) {
                return (pairs, stop);
            }
        }
    }

    #[test]
    fn looks_for_what_is_clear_are_few_and_planned() {
        let planned: Vec<u64> = (0..200).filter(|blocks| is_planned(*blocks)).collect();
        assert_eq!(planned, [6, 12, 24, 48, 96, 192]);
    }

    #[test]
    fn without_an_effect_one_in_twenty_is_flagged_however_often_it_is_looked_at() {
        for sd in [0.01, 0.02, 0.04] {
            let mut flagged = 0;
            for seed in 0..1000 {
                let (pairs, stop) = made(LOOKS, 1.0, sd, seed);
                assert!(pairs.len() >= 6 && stop != Stop::BlocksEnded);
                let ratio = effect(&pairs, LOOKS.confidence(Some(stop))).unwrap().ratio;
                flagged += usize::from(ratio.low > Some(1.0) || ratio.high < Some(1.0));
            }
            assert!((20..=70).contains(&flagged), "{sd}: {flagged} of 1000");
        }
    }

    #[test]
    fn a_large_change_is_clear_long_before_it_is_precise() {
        let (pairs, stop) = made(LOOKS, 0.8, 0.05, 1);
        assert!(stop == Stop::Clear && pairs.len() <= 12, "{stop:?} after {}", pairs.len());
        let (pairs, stop) = made(LOOKS, 1.0, 0.05, 1);
        assert!(stop == Stop::Precise && pairs.len() > 50, "{stop:?} after {}", pairs.len());
        let (pairs, stop) = made(Looks { blocks_max: 9, ..LOOKS }, 1.0, 0.05, 1);
        assert_eq!((pairs.len(), stop), (9, Stop::BlocksEnded));
    }

    #[test]
    fn variants_share_the_error_rate_and_are_over_together() {
        let three = Looks { variants: 3, ..LOOKS };
        assert!((three.confidence(None) - 0.99).abs() < 1e-12 && (LOOKS.confidence(None) - 0.97).abs() < 1e-12);
        assert!((LOOKS.confidence(Some(Stop::Clear)) - 0.999).abs() < 1e-12);
        let (pairs, _) = made(LOOKS, 1.0, 0.02, 4);
        let mut rough: Vec<(f64, f64)> = pairs.clone();
        rough.iter_mut().enumerate().for_each(|(i, pair)| pair.1 *= if i % 2 == 0 { 1.2 } else { 0.9 });
        assert_eq!(Looks { variants: 2, ..LOOKS }.look(&[&pairs, &rough]), None, "one is not precise");
        assert_eq!(LOOKS.look(&[]), None);
    }

    #[test]
    fn the_default_width_decides_what_differs_not_at_all_and_by_two_margins() {
        let looks = Looks { wanted_half_width: Looks::half_width_for(0.02), ..LOOKS };
        let called = |ratio: f64, as_call: Call| {
            let right = (0..400).filter(|seed| {
                let (pairs, stop) = made(looks, ratio, 0.02, *seed);
                let ratio = effect(&pairs, looks.confidence(Some(stop))).unwrap().ratio;
                call(&ratio, Direction::HigherIsBetter, looks.margin) == as_call
            });
            right.count() as f64 / 400.0
        };
        let (same, worse) = (called(1.0, Call::Same), called(0.96, Call::Worse));
        assert!(same >= 0.8 && worse >= 0.8, "{same} {worse}");
    }
}
