//! sitespeed.io's compare plugin: a one-sided test at 5 % whether the iterations of the variant take longer.

use super::{Answer, Halves};

/// Quantile of the normal distribution that leaves 5 % above it.
const NORMAL_CRITICAL: f64 = 1.644_854;
/// Largest rank sum of the pairs in which the variant is the faster one at which the signed-rank test of 18 pairs is
/// significant, one-sided at 5 % (as in the tables, from the exact distribution).
const RANK_SUM_CRITICAL: usize = 47;

/// Its tests, by `--compare.testType`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Test {
    /// Of two independent samples.
    MannWhitney,
    /// Of pairs, which are made by the place in the order of the iterations.
    Wilcoxon,
}

/// Whether the times of the variant are significantly longer. By default the plugin does not ask whether they are shorter.
pub(super) fn compare(halves: &Halves, test: Test) -> Answer {
    let is_worse = match test {
        Test::MannWhitney => mann_whitney(halves) > NORMAL_CRITICAL,
        Test::Wilcoxon => faster_rank_sum(halves) <= RANK_SUM_CRITICAL,
    };
    Answer::of_all_trials(is_worse, false)
}

/// The U statistic of the variant in its standard deviations from what chance makes of it, without a correction for
/// continuity. Samples of more than 8 values have the normal approximation there; equal times do not occur here.
fn mann_whitney(Halves { baseline, variant }: &Halves) -> f64 {
    let [n, m] = [baseline, variant].map(|times| times.len() as f64);
    let longer = variant.iter().map(|time| baseline.iter().filter(|base| time > base).count()).sum::<usize>() as f64;
    (longer - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}

/// Sum of the ranks, by size, of the differences of the pairs in which the variant is the faster one.
fn faster_rank_sum(Halves { baseline, variant }: &Halves) -> usize {
    let mut differences: Vec<f64> = baseline.iter().zip(variant).map(|(base, time)| time - base).collect();
    differences.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    differences.iter().zip(1..).filter(|(difference, _)| **difference < 0.0).map(|(_, rank)| rank).sum()
}

#[cfg(test)]
mod tests {
    use super::super::TRIALS;
    use super::*;

    #[test]
    fn statistics_are_those_by_hand() {
        let halves = Halves { baseline: vec![1.0, 2.0, 3.0, 4.0], variant: vec![2.5, 1.5, 5.0, 6.5] };
        // Of 16 pairs 2 + 1 + 4 + 4 have a variant that takes longer; 8 are expected, the variance is 16 * 9 / 12.
        assert!((mann_whitney(&halves) - 3.0 / 12.0_f64.sqrt()).abs() < 1e-12);
        // The differences are 1.5, -0.5, 2 and 2.5: the one that is below 0 is the smallest.
        assert_eq!(faster_rank_sum(&halves), 1);
    }

    /// Number of the sets of ranks with each sum, over all 2^18 of them, which are as likely as each other.
    #[test]
    fn the_critical_rank_sum_is_that_of_eighteen_pairs() {
        let pairs = TRIALS / 2;
        let mut sets = vec![0_u64; pairs * (pairs + 1) / 2 + 1];
        sets[0] = 1;
        for rank in 1..=pairs {
            for sum in (rank..sets.len()).rev() {
                sets[sum] += sets[sum - rank];
            }
        }
        let at_most = |sum: usize| sets[..=sum].iter().sum::<u64>() as f64 / 2.0_f64.powi(pairs as i32);
        assert!(at_most(RANK_SUM_CRITICAL) < 0.05 && at_most(RANK_SUM_CRITICAL + 1) >= 0.05);
    }
}
