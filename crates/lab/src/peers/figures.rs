//! The few statistics of the side-by-side page.

use stats::median;

/// Median and range of per-round ratios: the only figure that a shared machine's drift leaves alone.
#[derive(Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// Ratios `ours / theirs`, round by round.
pub(super) fn ratio(ours: &[f64], theirs: &[f64]) -> Ratio {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let min = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let max = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Ratio { median: median(&ratios), min, max }
}

/// Standard deviation of counts (population form: the window is all there is).
pub(super) fn standard_deviation(counts: &[u64]) -> f64 {
    let n = counts.len() as f64;
    let mean = counts.iter().map(|&count| count as f64).sum::<f64>() / n;
    let variance = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / n;
    variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::{Ratio, ratio, standard_deviation};

    #[test]
    fn ratios_are_taken_round_by_round() {
        let expected = Ratio { median: 0.5, min: 0.25, max: 2.0 };
        assert_eq!(ratio(&[1.0, 1.0, 2.0], &[2.0, 4.0, 1.0]), expected);
    }

    #[test]
    fn deviation_of_equal_and_alternating_counts() {
        assert!(standard_deviation(&[10; 5]).abs() < 1e-12);
        assert!((standard_deviation(&[8, 12, 8, 12]) - 2.0).abs() < 1e-12);
    }
}
