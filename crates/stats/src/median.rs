//! Median of what was measured several times, its interval, and values that are far from it.

use crate::batch::{CONFIDENCE, RUNS_MIN};
use model::Estimate;
use statrs::distribution::{Binomial, DiscreteCDF};

/// In median absolute deviations, scaled as those of a normal distribution.
const DEVIATIONS: f64 = 3.0;
/// Standard deviation of normal values in median absolute deviations.
pub(crate) const DEVIATION_PER_MEDIAN: f64 = 1.4826;
/// Values that agree closely have strays of no importance.
const SHARE: f64 = 0.05;

/// Median; the mean of the middle two for an even count, NaN for none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Median of independent values with the 95 % interval between two of them, which supposes nothing of their distribution
/// (order statistics and the binomial distribution: Conover, "Practical Nonparametric Statistics", 3rd ed., section 3.2); no
/// interval below [`RUNS_MIN`] values. `n` is their number, the value is 0 when there are none.
#[must_use]
pub fn median_interval(values: &[f64]) -> Estimate {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return Estimate::default();
    }
    let rank = (n >= RUNS_MIN).then(|| rank_below(n));
    let (low, high) = (rank.map(|rank| sorted[rank]), rank.map(|rank| sorted[n - 1 - rank]));
    Estimate { value: median(&sorted), low, high, n: n as u64 }
}

/// The largest rank, from 0, such that no more than so many of `n` values lie below the median in at most half of the cases
/// that the confidence leaves. At least [`RUNS_MIN`] values have one.
fn rank_below(n: usize) -> usize {
    let below = Binomial::new(0.5, n as u64).expect("a probability");
    // The first that is too likely is one further.
    below.inverse_cdf((1.0 - CONFIDENCE) / 2.0).saturating_sub(1) as usize
}

/// Positions of values that are more than 3 scaled median absolute deviations and more than 5 % from the median (plimsoll
/// defaults); none of fewer than 6 values.
#[must_use]
pub fn strays(values: &[f64]) -> Vec<usize> {
    if values.len() < RUNS_MIN {
        return Vec::new();
    }
    let centre = median(values);
    let off = |value: &f64| (value - centre).abs();
    let spread = DEVIATION_PER_MEDIAN * median(&values.iter().map(off).collect::<Vec<_>>());
    let is_far = |value: &f64| off(value) > DEVIATIONS * spread && off(value) > SHARE * centre;
    values.iter().enumerate().filter(|(_, value)| is_far(value)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    #[test]
    fn median_of_odd_even_and_none() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&[]).is_nan());
    }

    /// Ranks as in tables of the sign test: 6 values 1st and 6th, 9 values 2nd and 8th, 20 values 6th and 15th.
    #[test]
    fn the_interval_of_a_median_is_between_two_of_the_values() {
        let ends = |n: u32| {
            let estimate = median_interval(&(1..=n).rev().map(f64::from).collect::<Vec<_>>());
            (estimate.low, estimate.high, estimate.n)
        };
        assert_eq!(ends(5), (None, None, 5));
        assert_eq!(ends(6), (Some(1.0), Some(6.0), 6));
        assert_eq!(ends(8), (Some(1.0), Some(8.0), 8));
        assert_eq!(ends(9), (Some(2.0), Some(8.0), 9));
        assert_eq!(ends(10), (Some(2.0), Some(9.0), 10));
        assert_eq!(ends(20), (Some(6.0), Some(15.0), 20));
        assert_eq!(ends(100), (Some(40.0), Some(61.0), 100));
        assert_eq!(median_interval(&[]), Estimate::default());
    }

    #[test]
    fn a_median_is_covered_however_skewed_the_values_are() {
        for n in [6, 10, 15, 40] {
            let covered = (0..2000).filter(|seed| {
                let mut noise = Noise::new(*seed);
                let values: Vec<f64> = (0..n).map(|_| (2.0 * noise.normal()).exp()).collect();
                let Estimate { low: Some(low), high: Some(high), .. } = median_interval(&values) else { return false };
                low <= 1.0 && 1.0 <= high
            });
            let share = covered.count() as f64 / 2000.0;
            assert!((0.94..=0.985).contains(&share), "{n} values: {share}");
        }
    }

    #[test]
    fn strays_are_far_in_deviations_and_in_percent() {
        assert_eq!(strays(&[200.0, 202.0, 140.0, 198.0, 201.0, 199.0]), [2]);
        assert!(strays(&[200.0, 200.0, 200.0, 200.0, 200.0, 204.0]).is_empty(), "2 % is of no importance");
        assert!(strays(&[100.0, 140.0, 180.0, 220.0, 260.0, 300.0]).is_empty(), "no further than the others");
        assert!(strays(&[200.0, 200.0, 200.0, 200.0, 100.0]).is_empty(), "too few to say");
    }
}
