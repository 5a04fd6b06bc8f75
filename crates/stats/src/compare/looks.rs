//! When a comparison is over, so that looking at it again and again costs no error rate.
//!
//! To look after each block and stop at the first interval that excludes 1 flags 23 % of comparisons without an effect.
//! Two kinds of look do not:
//!
//! - *decided*: after 6, 12, 24, ... blocks, whether what is to be called can be called. So few looks at intervals of 98 % miss the
//!   true change in 2 % of comparisons that end at the first of them, and in 5 % of those that end at the second or third
//!   (simulated below). The worst case is a change that is exactly the margin, which no number of blocks decides.
//! - *precision*: after each block, whether the interval is as narrow as wanted (Anscombe, "Large-sample theory of
//!   sequential estimation", 1952; Kelley, Darken and Chattopadhyay, "Sequential Accuracy in Parameter Estimation",
//!   Psychological Methods 23(3), 2018). It does not ask where the interval lies.

use super::call::call;
use super::effect::effect;
use super::precision::half_width;
use crate::batch::RUNS_MIN;
use model::{Call, Direction};

/// Error rate of each interval.
const ALPHA: f64 = 0.02;
/// Share of the margin that the half width is to be by default: what is not decided then differs from the margin, or from
/// nothing, by so little that more blocks are not worth their time.
const MARGIN_SHARE: f64 = 0.3;

/// Plan of when to look and what to look for, made before the first block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// Relative half width of the interval at which it is over; 0.01 is 1 %.
    pub wanted_half_width: f64,
    /// Change that does not matter, relative.
    pub margin: f64,
    /// Variants that are compared with the baseline, at least 1; they share the error rate (Bonferroni).
    pub variants: usize,
}

/// A quantity of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its values (baseline, variant) in all blocks so far.
    pub pairs: Vec<(f64, f64)>,
    /// Which way it is wanted to go.
    pub wanted: Direction,
}

/// Why a comparison is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Of every variant is known what decides.
    Decided,
    /// All intervals are as narrow as wanted.
    Precise,
}

impl Looks {
    /// Half width that a margin asks for, relative: 0.3 of it.
    #[must_use]
    pub fn half_width_for(margin: f64) -> f64 {
        MARGIN_SHARE * margin
    }

    /// Confidence of the interval of each variant.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        1.0 - ALPHA / self.variants.max(1) as f64
    }

    /// Blocks after which it is looked next whether all is decided, where so many are measured: 6, 12, 24, ...
    #[must_use]
    pub const fn next_planned(blocks: u64) -> u64 {
        let mut planned = RUNS_MIN as u64;
        while planned <= blocks {
            planned = planned.saturating_mul(2);
        }
        planned
    }

    /// Looks at what decides of each variant; none if another block is to be made. To be asked after each block.
    #[must_use]
    pub fn look(&self, variants: &[Vec<Quantity>]) -> Option<Stop> {
        let all = || variants.iter().flatten();
        let blocks = all().map(|quantity| quantity.pairs.len()).min()? as u64;
        let is_planned = blocks > 0 && Self::next_planned(blocks - 1) == blocks;
        if is_planned && variants.iter().all(|quantities| self.is_settled(quantities)) {
            Some(Stop::Decided)
        } else {
            all().all(|quantity| self.is_precise(quantity)).then_some(Stop::Precise)
        }
    }

    /// True if nothing that a variant may still show changes the answer: it is worse in something, or all of it can be called.
    fn is_settled(&self, quantities: &[Quantity]) -> bool {
        let calls: Vec<Call> = quantities.iter().map(|quantity| self.call(quantity)).collect();
        calls.contains(&Call::Worse) || !calls.contains(&Call::CannotTell)
    }

    /// What may be called of a quantity.
    #[must_use]
    pub fn call(&self, quantity: &Quantity) -> Call {
        let effect = effect(&quantity.pairs, self.confidence());
        effect.map_or(Call::CannotTell, |effect| call(&effect.ratio, quantity.wanted, self.margin))
    }

    /// True if the interval of a quantity is as narrow as wanted.
    fn is_precise(&self, quantity: &Quantity) -> bool {
        let half = effect(&quantity.pairs, self.confidence()).and_then(|effect| half_width(&effect.ratio));
        half.is_some_and(|half| half <= self.wanted_half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const LOOKS: Looks = Looks { wanted_half_width: 0.006, margin: 0.02, variants: 1 };

    fn quantity(pairs: Vec<(f64, f64)>) -> Quantity {
        Quantity { pairs, wanted: Direction::LowerIsBetter }
    }

    /// What is called in the end, whether the interval holds the truth, and after how many blocks.
    fn compared(ratio: f64, sd: f64, blocks_max: u64, seed: u64) -> (Call, bool, u64) {
        let mut noise = Noise::new(seed);
        let mut variant = vec![quantity(Vec::new())];
        loop {
            variant[0].pairs.push((1.0, ratio * (sd * noise.normal()).exp()));
            let blocks = variant[0].pairs.len() as u64;
            let variants = [variant];
            if LOOKS.look(&variants).is_some() || blocks >= blocks_max {
                let [only] = &variants[0][..] else { panic!("one quantity") };
                let found = effect(&only.pairs, LOOKS.confidence()).expect("there are pairs").ratio;
                let is_held = found.low.is_none_or(|low| low <= ratio) && found.high.is_none_or(|high| ratio <= high);
                return (LOOKS.call(only), is_held, blocks);
            }
            [variant] = variants;
        }
    }

    /// Shares of comparisons in which this was called, and in which the interval misses the truth; and blocks on average.
    fn shares(ratio: f64, sd: f64, blocks_max: u64, as_call: Call) -> (f64, f64, f64) {
        let (mut called, mut missed, mut blocks) = (0_u32, 0_u32, 0);
        for seed in 0..1000 {
            let (call, is_held, made) = compared(ratio, sd, blocks_max, seed);
            called += u32::from(call == as_call);
            missed += u32::from(!is_held);
            blocks += made;
        }
        (f64::from(called) / 1000.0, f64::from(missed) / 1000.0, blocks as f64 / 1000.0)
    }

    #[test]
    fn looks_for_what_is_decided_are_few_and_planned() {
        let is_over = |blocks: &usize| LOOKS.look(&[vec![quantity([(1.0, 2.0), (1.0, 2.1)].repeat(*blocks / 2))]]);
        let planned: Vec<usize> = (2..200).step_by(2).filter(|blocks| is_over(blocks) == Some(Stop::Decided)).collect();
        assert_eq!(planned, [6, 12, 24, 48, 96, 192]);
        assert_eq!([0, 5, 6, 11, 12, 40].map(Looks::next_planned), [6, 6, 12, 12, 24, 48]);
    }

    #[test]
    fn without_an_effect_few_are_flagged_however_often_it_is_looked_at() {
        for sd in [0.006, 0.01, 0.02, 0.04] {
            let (same, missed, _) = shares(1.0, sd, 200, Call::Same);
            assert!(missed <= 0.035, "{sd}: {missed} are flagged");
            assert!(same >= 0.95, "{sd}: {same}");
        }
    }

    /// A change that is the margin is the worst case: it is called only by error, on either side.
    #[test]
    fn intervals_hold_the_truth_wherever_it_lies() {
        for (ratio, sd, blocks_max, most) in
            [(1.02, 0.01, 20, 0.06), (1.02, 0.02, 200, 0.09), (1.01, 0.02, 200, 0.05), (1.04, 0.02, 200, 0.05)]
        {
            let (_, missed, _) = shares(ratio, sd, blocks_max, Call::Worse);
            assert!(missed <= most, "{ratio} {sd} {blocks_max}: {missed}");
        }
        let (worse, ..) = shares(1.02, 0.02, 200, Call::Worse);
        assert!(worse <= 0.05, "a change that does not matter is called worse in {worse}");
    }

    /// Three per cent where two matter: what the wish for narrow intervals never decided in time.
    #[test]
    fn a_change_of_a_margin_and_a_half_is_called_in_few_blocks() {
        let (worse, _, blocks) = shares(1.03, 0.006, 9, Call::Worse);
        assert!(worse >= 0.9 && blocks < 8.0, "{worse} after {blocks}");
        let (worse, _, blocks) = shares(1.03, 0.01, 200, Call::Worse);
        assert!(worse >= 0.9 && blocks < 15.0, "{worse} after {blocks}");
    }

    #[test]
    fn a_large_change_is_decided_long_before_it_is_precise() {
        let (call, _, blocks) = compared(1.25, 0.05, 200, 1);
        assert_eq!((call, blocks), (Call::Worse, 6));
        let (_, _, blocks) = compared(1.02, 0.01, 200, 1);
        assert!(blocks > 12, "what is on the margin goes on until it is precise: {blocks}");
    }

    #[test]
    fn variants_share_the_error_rate() {
        let two = Looks { variants: 2, ..LOOKS };
        assert!((two.confidence() - 0.99).abs() < 1e-12 && (LOOKS.confidence() - 0.98).abs() < 1e-12);
        let so_many = |blocks: usize| quantity(vec![(1.0, 2.0); blocks]);
        assert_eq!(LOOKS.call(&so_many(5)), Call::CannotTell, "too few for an interval");
        assert_eq!((LOOKS.look(&[vec![so_many(5)]]), LOOKS.look(&[])), (None, None));
        assert_eq!(LOOKS.look(&[vec![so_many(7)]]), Some(Stop::Precise));
        let open = quantity([(1.0, 1.5), (1.0, 0.7)].repeat(6));
        assert_eq!(LOOKS.look(&[vec![so_many(12), open.clone()]]), Some(Stop::Decided), "it is worse in something");
        assert_eq!(LOOKS.look(&[vec![so_many(12)], vec![open]]), None, "the other variant is open");
    }
}
