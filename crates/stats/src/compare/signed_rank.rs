//! Hodges-Lehmann estimate with the interval of Wilcoxon's signed-rank test.
//!
//! The statistic is the number of Walsh averages (means of all pairs, of each value with itself too) on one side of a
//! centre (Tukey, 1949; Hollander and Wolfe, "Nonparametric Statistical Methods", section 3.3), so that estimate, interval
//! and p-value always agree.

use statrs::distribution::{ContinuousCDF, Normal};

/// More values than this have the statistic normally distributed, which differs by less than 0.002 from then on.
const EXACT_MAX: usize = 50;

/// Centre of a sample that is symmetric about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranked {
    pub(super) centre: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Two-sided, of a centre of 0.
    pub(super) p_value: f64,
}

/// Estimate with an interval of at least this confidence; none where the values are too few for one.
pub(super) fn interval(values: &[f64], confidence: f64) -> Option<Ranked> {
    let mut walsh = walsh_averages(values);
    let (null, all) = (Null::new(values.len()), walsh.len());
    let refused = null.refused((1.0 - confidence) / 2.0)?;
    let (not_above, not_below) =
        (walsh.iter().filter(|mean| **mean <= 0.0).count(), walsh.iter().filter(|mean| **mean >= 0.0).count());
    let p_value = f64::min(2.0 * null.at_most(not_above.min(not_below)), 1.0);
    let mut at = |place: usize| *walsh.select_nth_unstable_by(place, f64::total_cmp).1;
    let centre = f64::midpoint(at((all - 1) / 2), at(all / 2));
    Some(Ranked { centre, low: at(refused), high: at(all - 1 - refused), p_value })
}

/// Means of all pairs.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, one) in values.iter().enumerate() {
        means.extend(values[i..].iter().map(|other| f64::midpoint(*one, *other)));
    }
    means
}

/// Distribution of the statistic of a sample whose centre is the true one.
enum Null {
    /// Probability of at most 0, 1, 2, ...
    Exact(Vec<f64>),
    /// Mean and standard deviation.
    Normal(f64, f64),
}

impl Null {
    fn new(n: usize) -> Self {
        let sums = n * (n + 1) / 2;
        if n > EXACT_MAX {
            let variance = sums as f64 * (2.0 * n as f64 + 1.0) / 12.0;
            return Self::Normal(sums as f64 / 2.0, variance.sqrt());
        }
        // each rank is in the sum or not, with equal chances
        let mut shares = vec![0.0; sums + 1];
        shares[0] = 1.0;
        for rank in 1..=n {
            for sum in (0..=sums).rev() {
                let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
                shares[sum] = f64::midpoint(shares[sum], with);
            }
        }
        let mut sum = 0.0;
        for share in &mut shares {
            sum += *share;
            *share = sum;
        }
        Self::Exact(shares)
    }

    /// Probability of at most so many.
    fn at_most(&self, count: usize) -> f64 {
        match self {
            Self::Exact(shares) => shares.get(count).copied().unwrap_or(1.0),
            Self::Normal(mean, spread) => Normal::standard().cdf((count as f64 + 0.5 - mean) / spread),
        }
    }

    /// Largest count that is no more probable than `tail`, below 0.5; none if even 0 is.
    fn refused(&self, tail: f64) -> Option<usize> {
        match self {
            Self::Exact(shares) => shares.partition_point(|share| *share <= tail).checked_sub(1),
            Self::Normal(mean, spread) => {
                let count = (mean + spread * Normal::standard().inverse_cdf(tail) - 0.5).floor();
                (count >= 0.0).then_some(count as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_that_of_the_tables() {
        let five = Null::new(5);
        assert!((five.at_most(0) - 1.0 / 32.0).abs() < 1e-12 && (five.at_most(3) - 5.0 / 32.0).abs() < 1e-12);
        // critical values at 5 %, two-sided: 0 of 6, 8 of 10, 52 of 20, 137 of 30, 434 of 50
        for (n, critical) in [(6, 0), (10, 8), (20, 52), (30, 137), (50, 434)] {
            assert_eq!(Null::new(n).refused(0.025), Some(critical), "{n}");
        }
        assert_eq!(Null::new(5).refused(0.025), None);
        let Null::Exact(exact) = Null::new(EXACT_MAX) else { panic!("it is exact up to there") };
        let normal = Null::Normal(637.5, (1275.0_f64 * 101.0 / 12.0).sqrt());
        let off = exact.iter().enumerate().map(|(count, share)| (share - normal.at_most(count)).abs());
        assert!(off.fold(0.0, f64::max) < 0.002);
        assert!(Null::new(EXACT_MAX + 1).refused(0.025).is_some_and(|count| (440..475).contains(&count)));
    }

    /// Hollander and Wolfe, table 3.1 (Hamilton depression scale): estimate -0.46, interval of 96.1 % from -0.786 to -0.01.
    #[test]
    fn the_depression_scale_of_the_textbook() {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [878, 647, 598, 2050, 1060, 1290, 1060, 3140, 1290].map(|thousandths| f64::from(thousandths) / 1e3);
        let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        let Ranked { centre, low, high, p_value } = interval(&differences, 0.96).unwrap();
        assert!((centre - -0.46).abs() < 0.005 && (p_value - 0.039_06).abs() < 1e-4, "{centre} {p_value}");
        assert!((low - -0.786).abs() < 0.001 && (high - -0.01).abs() < 0.001, "{low} {high}");
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert!(interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).is_none());
        let six = interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        assert_eq!((six.centre, six.low, six.high, six.p_value), (3.5, 1.0, 6.0, 0.031_25));
        assert_eq!(interval(&[0.0; 8], 0.95).unwrap().p_value, 1.0);
    }
}
