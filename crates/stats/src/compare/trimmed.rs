//! Trimmed mean with the interval of Tukey and McLaughlin ("Less Vulnerable Confidence and Significance Procedures for Location
//! Based on a Single Sample", Sankhya A 25(3), 1963): a block that went wrong has no more weight than its neighbour.

use crate::batch::{mean, student};
use statrs::distribution::ContinuousCDF;

/// Fewer values have too few left in the middle for a useful interval.
pub(super) const VALUES_MIN: usize = 12;
/// Share that is left out at either end (Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", section 3.3).
const LEFT_OUT: f64 = 0.2;

/// Mean of the middle of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trimmed {
    pub(super) centre: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Two-sided, of a centre of 0.
    pub(super) p_value: f64,
}

/// Estimate with an interval of this confidence; none below [`VALUES_MIN`] values.
pub(super) fn interval(values: &[f64], confidence: f64) -> Option<Trimmed> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let left_out = (LEFT_OUT * sorted.len() as f64) as usize;
    let middle = &sorted[left_out..sorted.len() - left_out];
    let (first, last) = (*middle.first()?, *middle.last()?);
    // What was left out counts in the spread as the nearest that was not.
    let winsorized: Vec<f64> = sorted.iter().map(|value| value.clamp(first, last)).collect();
    let around = mean(&winsorized);
    let squares: f64 = winsorized.iter().map(|value| (value - around).powi(2)).sum();
    let n = middle.len() as f64;
    let (centre, error) = (mean(middle), (squares / (n * (n - 1.0))).sqrt());
    let t = student(n - 1.0);
    let half = t.inverse_cdf(0.5 + confidence / 2.0) * error;
    let p_value = match (error > 0.0, centre != 0.0) {
        (true, _) => 2.0 * t.sf(centre.abs() / error),
        (false, true) => 0.0,
        (false, false) => 1.0,
    };
    Some(Trimmed { centre, low: centre - half, high: centre + half, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    /// By hand: two of 12 are left out at either end, the middle is 3 to 10, and the winsorized squares add up to 91.
    #[test]
    fn the_interval_is_that_of_the_middle() {
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        let Trimmed { centre, low, high, p_value } = interval(&values, 0.95).unwrap();
        // t = 2.3646 with 7 degrees of freedom.
        let half = 2.364_624 * (91.0_f64 / 56.0).sqrt();
        assert!((centre - 6.5).abs() < 1e-12 && (high - centre - half).abs() < 1e-4, "{high}");
        assert!((centre - low - half).abs() < 1e-4 && p_value < 0.01, "{low} {p_value}");
        assert_eq!(interval(&values[1..], 0.95), None);
    }

    #[test]
    fn a_block_that_went_wrong_changes_no_more_than_its_neighbour_does() {
        let mut values: Vec<f64> = (1..=12).map(f64::from).collect();
        let before = interval(&values, 0.95);
        (values[0], values[11]) = (-1e9, 1e12);
        assert_eq!(interval(&values, 0.95), before);
        let same = interval(&[2.0; 12], 0.95).unwrap();
        assert_eq!((same.low, same.high, same.p_value), (2.0, 2.0, 0.0));
        assert_eq!(interval(&[0.0; 12], 0.95).unwrap().p_value, 1.0);
    }

    #[test]
    fn the_centre_is_covered_whatever_the_tails() {
        let tails: [fn(&mut Noise) -> f64; 3] = [
            Noise::normal,
            |noise| if noise.uniform() < 0.1 { 15.0 * noise.normal() } else { noise.normal() },
            |noise| noise.normal() / noise.uniform().sqrt().max(0.05),
        ];
        for tail in tails {
            for n in [12, 17, 24, 50] {
                let covered = (0..2000).filter(|seed| {
                    let mut noise = Noise::new(*seed);
                    let values: Vec<f64> = (0..n).map(|_| 3.0 + tail(&mut noise)).collect();
                    interval(&values, 0.95).is_some_and(|it| it.low <= 3.0 && 3.0 <= it.high)
                });
                let share = covered.count() as f64 / 2000.0;
                assert!((0.935..=0.98).contains(&share), "{n} values: {share}");
            }
        }
    }
}
