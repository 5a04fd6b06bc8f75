//! Goodput of two arms compared by their undisturbed seconds. What else happens on a machine only ever takes away from a
//! goodput, now from the one and now from the other, and on a shared one by more than what is looked for here.

use model::Estimate;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A second with as much as this share of all is one that nothing has disturbed.
const QUANTILE: f64 = 0.9;
/// Times the blocks are drawn anew, with replacement (percentile bootstrap, Efron and Tibshirani 1993).
const DRAWS: usize = 2000;
/// Of the interval.
const CONFIDENCE: f64 = 0.95;

/// The [`QUANTILE`] of the seconds of `after`, in parts of that of `before`, block by block; with the interval that draws of
/// blocks give.
pub(super) fn ratio(blocks: &[(&[f64], &[f64])], seed: u64) -> Estimate {
    let of = |blocks: &[(&[f64], &[f64])]| {
        let before = blocks.iter().flat_map(|(before, _)| before.iter().copied()).collect();
        let after = blocks.iter().flat_map(|(_, after)| after.iter().copied()).collect();
        quantile(after, QUANTILE) / quantile(before, QUANTILE)
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let draws = (0..DRAWS).map(|_| {
        let drawn: Vec<_> = blocks.iter().map(|_| blocks[(rng.next_u64() % blocks.len() as u64) as usize]).collect();
        of(&drawn)
    });
    let draws: Vec<f64> = draws.collect();
    let end = |share| Some(quantile(draws.clone(), share));
    let (low, high) = (end((1.0 - CONFIDENCE) / 2.0), end(f64::midpoint(1.0, CONFIDENCE)));
    Estimate { value: of(blocks), low, high, n: blocks.len() as u64 }
}

/// The value that a share of them is not above.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (share * values.len() as f64).ceil() as usize;
    values.get(at.max(1) - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_is_found_below_pauses_of_twenty() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        // Three seconds of each arm in thirty blocks, each with up to a fifth of it taken away by others.
        let mut seconds = |ceiling: f64| -> Vec<f64> {
            (0..3).map(|_| ceiling * (1.0 - 0.2 * (rng.next_u64() as f64 / u64::MAX as f64).powi(2))).collect()
        };
        let blocks: Vec<_> = (0..30).map(|_| (seconds(1000.0), seconds(970.0))).collect();
        let pairs: Vec<_> = blocks.iter().map(|(before, after)| (&before[..], &after[..])).collect();
        let found = ratio(&pairs, 1);
        let (low, high) = (found.low.unwrap_or_default(), found.high.unwrap_or_default());
        assert!(low <= 0.97 && 0.97 <= high && high - low < 0.02 && high < 1.0, "{found:?}");
        assert_eq!(found, ratio(&pairs, 1), "it is repeatable");
    }

    #[test]
    fn quantiles_are_values_that_are_there() {
        assert!((quantile(vec![3.0, 1.0, 2.0], 0.5) - 2.0).abs() < 1e-9);
        assert!((quantile(vec![3.0, 1.0, 2.0], 0.9) - 3.0).abs() < 1e-9);
        assert!(quantile(Vec::new(), 0.9).is_nan());
    }
}
