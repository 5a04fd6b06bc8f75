//! The effect of a change, from blocks that measured with it and without.
//!
//! `d = ln(after / before)` of each block; the effect is `exp(mean d)`, and its 95 % interval `exp(mean d -+ t s / sqrt n)`
//! with Student's t for n - 1 degrees of freedom (Student, "The Probable Error of a Mean", Biometrika 6(1), 1908). Blocks
//! are taken for independent, which the shuffled order within them and a server started again for each are for.

use crate::batch::{CONFIDENCE, RUNS_MIN, half_width_at, mean};
use model::Estimate;

/// Geometric mean of `after / before` over the blocks, with its 95 % interval; none below [`RUNS_MIN`] blocks. Blocks in
/// which one of both is not above 0 are left out; without any the value is 0.
#[must_use]
pub fn paired_ratio(blocks: &[(f64, f64)]) -> Estimate {
    let logs = log_ratios(blocks);
    if logs.is_empty() { Estimate::default() } else { paired_t(&logs, CONFIDENCE) }
}

/// `ln(after / before)` of each block in which both are above 0.
pub(crate) fn log_ratios(blocks: &[(f64, f64)]) -> Vec<f64> {
    let is_usable = |value: f64| value > 0.0 && value.is_finite();
    let usable = blocks.iter().filter(|(before, after)| is_usable(*before) && is_usable(*after));
    usable.map(|(before, after)| (after / before).ln()).collect()
}

/// Effect of at least one log ratio, with an interval of this `confidence` from [`RUNS_MIN`] of them on.
pub(crate) fn paired_t(logs: &[f64], confidence: f64) -> Estimate {
    let centre = mean(logs);
    let half = (logs.len() >= RUNS_MIN).then(|| half_width_at(logs, confidence));
    let at = |distance: f64| (centre + distance).exp();
    let (low, high) = (half.map(|half| at(-half)), half.map(at));
    Estimate { value: centre.exp(), low, high, n: logs.len() as u64 }
}

/// Geometric mean of what is above 0; 0 without any.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    if logs.is_empty() { 0.0 } else { mean(&logs).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    /// By hand, with t = 2.5706 for 5 degrees of freedom as in the tables.
    #[test]
    fn the_interval_is_that_of_paired_logs() {
        let blocks = [(100.0, 200.0), (100.0, 210.0), (110.0, 205.0), (95.0, 190.0), (105.0, 212.0), (98.0, 199.0)];
        let ratio = paired_ratio(&blocks);
        for (is, expected) in
            [(ratio.value, 2.000_947), (ratio.low.unwrap(), 1.920_286), (ratio.high.unwrap(), 2.084_997)]
        {
            assert!((is - expected).abs() < 1e-5, "{ratio:?}");
        }
        assert_eq!(ratio.n, 6);
    }

    #[test]
    fn too_few_blocks_have_a_value_and_no_interval() {
        let ratio = paired_ratio(&[(100.0, 200.0), (0.0, 1.0), (100.0, 200.0)]);
        assert!((ratio.value - 2.0).abs() < 1e-12);
        assert_eq!((ratio.low, ratio.high, ratio.n), (None, None, 2));
        assert_eq!(paired_ratio(&[]), Estimate::default());
        assert_eq!((geometric_mean(&[]), geometric_mean(&[4.0, 9.0]).round()), (0.0, 6.0));
    }

    /// A/A: without an effect the interval has 1 in it in 95 of 100 cases, however the level of the blocks drifts.
    #[test]
    fn one_is_covered_as_often_as_is_said() {
        let covered = (0..2000).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let block = |level: f64| (level * (1.0 + 0.02 * noise.normal()), level * (1.0 + 0.02 * noise.normal()));
            let blocks: Vec<_> = (0..8).map(|i| 1_000.0 + 50.0 * f64::from(i)).map(block).collect();
            let Estimate { low: Some(low), high: Some(high), .. } = paired_ratio(&blocks) else { return false };
            low <= 1.0 && 1.0 <= high
        });
        let share = covered.count() as f64 / 2000.0;
        assert!((0.935..=0.965).contains(&share), "{share}");
    }
}
