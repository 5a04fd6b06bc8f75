//! The ratio of two results that were not measured together.

use crate::batch::RUNS_MIN;
use crate::median::median;
use model::Estimate;
use statrs::distribution::{ContinuousCDF, Normal};

/// Values of each that are looked at: all pairs are made.
const VALUES_MAX: usize = 1_000;

/// Median of `after / before` over all pairs of a value of one and one of the other, with the 95 % interval of Wilcoxon's
/// rank-sum test, which supposes that the two differ by a factor and nothing of their distribution (Hodges and Lehmann, "Estimates
/// of Location Based on Rank Tests", Ann. Math. Statist. 34(2), 1963). No interval below [`RUNS_MIN`] values of either; none at
/// all where one has no value above 0. `n` is the number of values of the one that has fewer.
#[must_use]
pub fn unpaired_ratio(before: &[f64], after: &[f64], confidence: f64) -> Option<Estimate> {
    let logs = |values: &[f64]| -> Vec<f64> {
        values
            .iter()
            .filter(|value| **value > 0.0 && value.is_finite())
            .take(VALUES_MAX)
            .map(|value| value.ln())
            .collect()
    };
    let (before, after) = (logs(before), logs(after));
    let (n, m) = (before.len(), after.len());
    if n == 0 || m == 0 {
        return None;
    }
    let mut ratios: Vec<f64> = before.iter().flat_map(|one| after.iter().map(move |other| other - one)).collect();
    ratios.sort_by(f64::total_cmp);
    let rank = (n.min(m) >= RUNS_MIN).then(|| rank_below(n as f64, m as f64, confidence));
    let end = |at: usize| ratios.get(at).map(|log| log.exp());
    let (low, high) = (rank.and_then(end), rank.and_then(|rank| end((n * m - 1).checked_sub(rank)?)));
    Some(Estimate { value: median(&ratios).exp(), low, high, n: n.min(m) as u64 })
}

/// Rank, from 0, of the lower end among all pairs: the normal approximation of the rank sum, with the correction for
/// continuity, which is exact or one too low for 6 to 10 values.
fn rank_below(n: f64, m: f64, confidence: f64) -> usize {
    let quantile = Normal::standard().inverse_cdf((1.0 + confidence) / 2.0);
    (n * m / 2.0 - quantile * (n * m * (n + m + 1.0) / 12.0).sqrt() - 0.5).max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::CONFIDENCE;
    use crate::testing::Noise;

    #[test]
    fn a_factor_is_found_and_an_interval_needs_six_of_each() {
        let before = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];
        let after = before.map(|value| 2.0 * value);
        let ratio = unpaired_ratio(&before, &after, CONFIDENCE).expect("both have values");
        assert!((ratio.value - 2.0).abs() < 0.01 && ratio.n == 6, "{ratio:?}");
        assert!(ratio.low.is_some_and(|low| low > 1.9) && ratio.high.is_some_and(|high| high < 2.1), "{ratio:?}");
        let few = unpaired_ratio(&before[..5], &after, CONFIDENCE).expect("both have values");
        assert_eq!((few.low, few.high, few.n), (None, None, 5));
        assert_eq!(unpaired_ratio(&[], &after, CONFIDENCE), None);
        assert_eq!(unpaired_ratio(&[0.0], &after, CONFIDENCE), None);
    }

    /// Critical values of the table of Mann and Whitney, two-sided 5 %.
    #[test]
    fn ranks_are_those_of_the_tables() {
        assert_eq!([6.0, 7.0, 8.0, 10.0].map(|n| rank_below(n, n, CONFIDENCE)), [5, 8, 12, 23]);
    }

    #[test]
    fn a_ratio_is_covered_however_skewed_the_values_are() {
        for (n, m) in [(6, 6), (10, 10), (6, 20)] {
            let covered = (0..1000).filter(|seed| {
                let mut noise = Noise::new(*seed);
                let mut values = |n: usize| (0..n).map(|_| noise.normal().exp()).collect::<Vec<f64>>();
                let (before, after) = (values(n), values(m));
                let ratio = unpaired_ratio(&before, &after, CONFIDENCE).expect("both have values");
                ratio.low.is_some_and(|low| low <= 1.0) && ratio.high.is_some_and(|high| high >= 1.0)
            });
            let share = covered.count() as f64 / 1000.0;
            assert!((0.93..=0.99).contains(&share), "{n} and {m} values: {share}");
        }
    }
}
