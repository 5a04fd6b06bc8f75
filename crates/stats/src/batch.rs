//! Means with intervals: over independent runs, and over batches of seconds inside one run.
//!
//! Seconds of one run are correlated, so their spread says too little about the spread of their mean. Batch
//! means mend that when the batches are long enough; when they are not, there is no honest interval.

use model::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewer runs than this give no interval.
pub const RUNS_MIN: usize = 6;
/// Fewer batches than this give no interval.
pub const BATCHES_MIN: usize = 10;
/// More batches than this only make them shorter, hence more correlated.
const BATCHES_MAX: usize = 20;
/// Batches correlated more than this with their successors make the interval too narrow.
const LAG_ONE_MAX: f64 = 0.2;
/// Two-sided confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// Mean of independent runs with a 95 % t interval; no interval below [`RUNS_MIN`] runs. `n` is the number of
/// runs, the value is 0 when there are none.
#[must_use]
pub fn mean_of_runs(runs: &[f64]) -> Estimate {
    let value = mean(runs);
    let n = runs.len() as u64;
    if runs.len() < RUNS_MIN {
        return Estimate { value, low: None, high: None, n };
    }
    let half = half_width(runs);
    Estimate { value, low: Some(value - half), high: Some(value + half), n }
}

/// Mean of a series of equally long pieces of one run with a 95 % interval by 10 to 20 batch means.
///
/// `n` is the number of batches; it is 1, and there is no interval, when the series has fewer than
/// [`BATCHES_MIN`] entries or the batches are still correlated: the lag-1 correlation of their means, and the
/// one that a first-order autoregression fitted to the whole series implies for batches of that length, must
/// both be below 0.2. The second is far less noisy than the first, which alone would let one correlated series
/// in four pass. A negative correlation makes the interval too wide, not too narrow, and is accepted.
#[must_use]
pub fn mean_of_series(series: &[f64]) -> Estimate {
    let value = mean(series);
    let shortest = series.len().div_ceil(BATCHES_MAX);
    let longest = series.len() / BATCHES_MIN;
    let lag_one = lag_one(series);
    for length in [shortest, longest] {
        if length == 0 || series.len() / length < BATCHES_MIN {
            continue;
        }
        // the rest that fills no batch is left out at the front, where a run is least settled
        let batches: Vec<f64> = series[series.len() % length..].chunks_exact(length).map(mean).collect();
        if self::lag_one(&batches) < LAG_ONE_MAX && lag_one_of_batches(lag_one, length) < LAG_ONE_MAX {
            let half = half_width(&batches);
            return Estimate { value, low: Some(value - half), high: Some(value + half), n: batches.len() as u64 };
        }
    }
    Estimate { value, low: None, high: None, n: 1 }
}

/// Standard deviation of independent runs relative to their mean (with n - 1); none for fewer than two runs or a mean
/// of 0. From two runs it is a coarse estimate: in four cases of ten it is off by a factor of two or more.
#[must_use]
pub fn coefficient_of_variation(runs: &[f64]) -> Option<f64> {
    let centre = mean(runs);
    (runs.len() >= 2 && centre > 0.0).then(|| variance(runs).sqrt() / centre)
}

/// Arithmetic mean; 0 for none.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Half of the t interval of the mean of at least two independent values.
pub(crate) fn half_width(values: &[f64]) -> f64 {
    half_width_at(values, CONFIDENCE)
}

/// The same at another confidence than 95 %.
pub(crate) fn half_width_at(values: &[f64], confidence: f64) -> f64 {
    let n = values.len() as f64;
    student(n - 1.0).inverse_cdf(0.5 + confidence / 2.0) * (variance(values) / n).sqrt()
}

/// Half of the 95 % t interval of a mean relative to it, of `n` independent values whose standard deviation is `spread` of that
/// mean; none for fewer than two.
#[must_use]
pub fn relative_half_width(spread: f64, n: f64) -> Option<f64> {
    (n >= 2.0).then(|| student(n - 1.0).inverse_cdf(0.5 + CONFIDENCE / 2.0) * spread / n.sqrt())
}

/// Student's t with at least one degree of freedom.
pub(crate) fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("at least two values")
}

/// Variance (with n - 1) of at least two values.
#[must_use]
pub fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// Lag-1 autocorrelation; 0 for a constant series.
fn lag_one(values: &[f64]) -> f64 {
    let centre = mean(values);
    let variance: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    let covariance: f64 = values.windows(2).map(|w| (w[0] - centre) * (w[1] - centre)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// Lag-1 autocorrelation of means of `length` successive values of an AR(1) process whose own is `phi`:
/// covariance of two adjacent sums over the variance of one, both geometric series in `phi`.
fn lag_one_of_batches(phi: f64, length: usize) -> f64 {
    if length == 1 || phi <= 0.0 {
        return phi;
    }
    let b = length as f64;
    let tail = 1.0 - phi.powf(b);
    phi * tail * tail / (b * (1.0 - phi * phi) - 2.0 * phi * tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t with 9 and with 99 degrees of freedom is 2.262 and 1.984.
    #[test]
    fn a_relative_interval_is_as_wide_as_count_and_spread_make_it() {
        assert_eq!(relative_half_width(0.5, 1.9), None);
        for (spread, n, half) in [(0.5, 10.0, 2.262 * 0.5 / 3.1623), (1.0, 100.0, 0.1984), (0.0, 5.0, 0.0)] {
            let is = relative_half_width(spread, n).unwrap();
            assert!((is - half).abs() < 1e-3, "{spread} {n}: {is}");
        }
    }
    use crate::testing::Noise;

    /// First-order autoregression around 1000 with unit innovations, in its steady state.
    fn autoregression(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        let mut deviation = noise.normal() / (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                deviation = phi * deviation + noise.normal();
                1000.0 + deviation
            })
            .collect()
    }

    struct Coverage {
        withheld: usize,
        covering: usize,
        wrong: usize,
    }

    fn coverage(n: usize, phi: f64) -> Coverage {
        let mut count = Coverage { withheld: 0, covering: 0, wrong: 0 };
        for seed in 0..2000 {
            match mean_of_series(&autoregression(n, phi, seed)) {
                Estimate { low: Some(low), high: Some(high), .. } if low <= 1000.0 && 1000.0 <= high => {
                    count.covering += 1;
                }
                Estimate { low: None, .. } => count.withheld += 1,
                _ => count.wrong += 1,
            }
        }
        count
    }

    #[test]
    fn independent_seconds_are_covered() {
        for n in [10, 15, 30, 60, 300] {
            let Coverage { withheld, covering, wrong } = coverage(n, 0.0);
            let share = covering as f64 / (covering + wrong) as f64;
            assert!((0.92..=0.98).contains(&share), "n {n}: {share}");
            assert!(withheld < 2000 / 4, "n {n}: {withheld} withheld");
        }
    }

    #[test]
    fn correlated_seconds_are_withheld_or_covered() {
        for (n, phi) in [(30, 0.9), (60, 0.9), (120, 0.9), (60, 0.5), (300, 0.9), (2000, 0.9)] {
            let Coverage { withheld, covering, wrong } = coverage(n, phi);
            assert!(wrong < 2000 * 8 / 100, "n {n} phi {phi}: {withheld} withheld, {covering} covering, {wrong} wrong");
        }
        assert!(coverage(60, 0.9).withheld > 1800);
        assert!(coverage(2000, 0.9).covering > 1500, "long batches of a correlated series are fine");
    }

    #[test]
    fn runs_have_a_t_interval_from_six_on() {
        let runs = [10.0, 12.0, 11.0, 13.0, 9.0, 11.0];
        let five = mean_of_runs(&runs[..5]);
        assert_eq!((five.value, five.low, five.high, five.n), (11.0, None, None, 5));
        let six = mean_of_runs(&runs);
        // sd sqrt(2), t(0.975, 5) = 2.570582
        let half = 2.570_582 * (2.0_f64 / 6.0).sqrt();
        assert_eq!((six.value, six.n), (11.0, 6));
        assert!((six.high.unwrap() - 11.0 - half).abs() < 1e-5 && (11.0 - six.low.unwrap() - half).abs() < 1e-5);
        assert_eq!(mean_of_runs(&[]), Estimate::default());
    }

    #[test]
    fn the_coefficient_of_variation_is_relative_to_the_mean() {
        let two = coefficient_of_variation(&[95.0, 105.0]).unwrap();
        assert!((two - 50.0_f64.sqrt() / 100.0).abs() < 1e-12, "{two}");
        assert_eq!(coefficient_of_variation(&[7.0; 3]), Some(0.0));
        assert_eq!([&[][..], &[5.0], &[0.0, 0.0]].map(coefficient_of_variation), [None; 3]);
    }

    #[test]
    fn too_short_a_series_has_no_interval() {
        let nine = mean_of_series(&[1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 2.0]);
        assert_eq!((nine.value, nine.low, nine.high, nine.n), (2.0, None, None, 1));
        assert_eq!(mean_of_series(&[]).value, 0.0);
        let constant = mean_of_series(&[5.0; 60]);
        assert_eq!((constant.low, constant.high, constant.n), (Some(5.0), Some(5.0), 20));
    }

    #[test]
    fn correlation_of_batches_follows_from_the_series() {
        // one-step batches are the series itself; in the limit phi -> 1 nothing is gained
        assert_eq!(lag_one_of_batches(0.5, 1), 0.5);
        assert!((lag_one_of_batches(0.5, 2) - 0.375).abs() < 1e-12, "(phi + 2 phi^2 + phi^3) / (2 + 2 phi)");
        let series = autoregression(200_000, 0.8, 1);
        let batches: Vec<f64> = series.chunks_exact(5).map(mean).collect();
        assert!((lag_one(&batches) - lag_one_of_batches(0.8, 5)).abs() < 0.02);
    }
}
