//! Median of what was measured several times, and values that are far from it.

use crate::batch::RUNS_MIN;

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

    #[test]
    fn median_of_odd_even_and_none() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn strays_are_far_in_deviations_and_in_percent() {
        assert_eq!(strays(&[200.0, 202.0, 140.0, 198.0, 201.0, 199.0]), [2]);
        assert!(strays(&[200.0, 200.0, 200.0, 200.0, 200.0, 204.0]).is_empty(), "2 % is of no importance");
        assert!(strays(&[100.0, 140.0, 180.0, 220.0, 260.0, 300.0]).is_empty(), "no further than the others");
        assert!(strays(&[200.0, 200.0, 200.0, 200.0, 100.0]).is_empty(), "too few to say");
    }
}
