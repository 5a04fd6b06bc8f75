//! Effect of a variant: mean of the log ratios with Student's t, or Hodges-Lehmann where they are evidently skewed.

use super::signed_rank;
use crate::batch::{RUNS_MIN, mean, student, variance};
use crate::paired::{log_ratios, paired_t};
use model::{Effect, EffectMethod, Estimate};
use statrs::distribution::ContinuousCDF;

/// Standard errors of the skewness from which on it is evident (Cramer, "Fundamental Statistics for Social Research",
/// 1998, p. 85): about one in 20 normal samples.
const SKEWED: f64 = 2.0;
/// Range of confidences for which quantiles make sense.
const CONFIDENCES: std::ops::RangeInclusive<f64> = 0.5..=1.0 - 1e-9;

/// Effect over pairs (baseline, variant), one a block, with a two-sided interval of this `confidence`, 0.5 to 1; none
/// without a pair. There is no interval below [`RUNS_MIN`] pairs. Pairs in which one of both is not above 0 are left out.
///
/// The method is Hodges and Lehmann's ("Estimates of Location Based on Rank Tests", Annals of Mathematical Statistics
/// 34(2), 1963) where the skewness of the log ratios is above two of its standard errors and the blocks are enough for a
/// signed-rank interval of this confidence, and the paired t otherwise. Of two variants that do not differ the log ratios
/// are symmetric, and each method keeps its error rate; that the choice keeps it too is simulated (`xtask calibrate`).
/// With a real effect and a skew both say something else: the mean ratio, and that of the typical block.
#[must_use]
pub fn effect(pairs: &[(f64, f64)], confidence: f64) -> Option<Effect> {
    let logs = log_ratios(pairs);
    if logs.is_empty() {
        return None;
    }
    let confidence = confidence.clamp(*CONFIDENCES.start(), *CONFIDENCES.end());
    let sd_log = (logs.len() >= 2).then(|| variance(&logs).sqrt());
    if logs.len() >= RUNS_MIN
        && is_skewed(&logs)
        && let Some(ranked) = signed_rank::interval(&logs, confidence)
    {
        let [value, low, high] = [ranked.centre, ranked.low, ranked.high].map(f64::exp);
        let ratio = Estimate { value, low: Some(low), high: Some(high), n: logs.len() as u64 };
        let (method, p_value) = (EffectMethod::HodgesLehmann, Some(ranked.p_value));
        return Some(Effect { ratio, method, p_value, p_adjusted: None, sd_log });
    }
    let p_value = (logs.len() >= RUNS_MIN).then(|| t_test(&logs));
    let ratio = paired_t(&logs, confidence);
    Some(Effect { ratio, method: EffectMethod::PairedT, p_value, p_adjusted: None, sd_log })
}

/// Two-sided p-value of a mean of 0.
fn t_test(logs: &[f64]) -> f64 {
    let error = (variance(logs) / logs.len() as f64).sqrt();
    let centre = mean(logs).abs();
    match (error > 0.0, centre > 0.0) {
        (true, _) => 2.0 * student(logs.len() as f64 - 1.0).sf(centre / error),
        (false, true) => 0.0,
        (false, false) => 1.0,
    }
}

/// True if the sample skewness G1 is above [`SKEWED`] of its standard errors under normality (both as in Joanes and Gill,
/// "Comparing measures of sample skewness and kurtosis", The Statistician 47(1), 1998). Needs three values.
fn is_skewed(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let centre = mean(values);
    let moment = |power: i32| values.iter().map(|value| (value - centre).powi(power)).sum::<f64>() / n;
    let spread = moment(2);
    if spread <= 0.0 {
        return false;
    }
    let skewness = moment(3) / spread.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    let error = (6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0))).sqrt();
    skewness.abs() > SKEWED * error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    /// By hand, with t = 2.5706 for 5 degrees of freedom as in the tables; the p-value by R's `t.test`.
    #[test]
    fn the_interval_is_that_of_paired_logs() {
        let blocks = [(100.0, 200.0), (100.0, 210.0), (110.0, 205.0), (95.0, 190.0), (105.0, 212.0), (98.0, 199.0)];
        let Effect { ratio, method, p_value, p_adjusted, sd_log } = effect(&blocks, 0.95).unwrap();
        for (is, expected) in
            [(ratio.value, 2.000_947), (ratio.low.unwrap(), 1.920_286), (ratio.high.unwrap(), 2.084_997)]
        {
            assert!((is - expected).abs() < 1e-5, "{ratio:?}");
        }
        assert_eq!((ratio.n, method, p_adjusted), (6, EffectMethod::PairedT, None));
        assert!(p_value.unwrap() < 1e-6 && (sd_log.unwrap() - 0.039_205).abs() < 1e-4, "{p_value:?} {sd_log:?}");
        let wider = effect(&blocks, 0.97).unwrap().ratio;
        assert!(wider.low < ratio.low && wider.high > ratio.high && wider.value == ratio.value);
    }

    #[test]
    fn too_few_blocks_have_a_value_and_no_interval() {
        let few = effect(&[(100.0, 200.0), (0.0, 1.0), (f64::INFINITY, 1.0), (100.0, 200.0)], 0.95).unwrap();
        assert!((few.ratio.value - 2.0).abs() < 1e-12);
        assert_eq!((few.ratio.low, few.ratio.high, few.ratio.n, few.p_value), (None, None, 2, None));
        assert_eq!(few.sd_log, Some(0.0));
        assert_eq!((effect(&[], 0.95), effect(&[(f64::NAN, 1.0)], 0.95)), (None, None));
        assert_eq!(effect(&[(1.0, 2.0)], 0.95).unwrap().sd_log, None);
    }

    #[test]
    fn blocks_that_are_all_the_same_are_certain() {
        let p_value = |variant: f64| effect(&[(4.0, variant); 6], 0.95).unwrap().p_value;
        assert_eq!(p_value(4.0), Some(1.0));
        assert!(p_value(5.0).is_some_and(|p_value| p_value < 1e-9));
    }

    #[test]
    fn one_block_that_went_wrong_makes_it_hodges_lehmann() {
        let mut blocks: Vec<(f64, f64)> = (0..12).map(|i| (100.0, 110.0 + f64::from(i % 4))).collect();
        assert_eq!(effect(&blocks, 0.95).unwrap().method, EffectMethod::PairedT);
        blocks.push((100.0, 40.0));
        let skewed = effect(&blocks, 0.95).unwrap();
        assert_eq!(skewed.method, EffectMethod::HodgesLehmann);
        assert!((1.10..1.13).contains(&skewed.ratio.value) && skewed.ratio.low.unwrap() > 1.0, "{skewed:?}");
        // six blocks are too few for a signed-rank interval of 97 %
        let six = [(100.0, 100.0), (100.0, 101.0), (100.0, 100.0), (100.0, 101.0), (100.0, 99.0), (100.0, 30.0)];
        assert_eq!(effect(&six, 0.95).unwrap().method, EffectMethod::HodgesLehmann);
        assert_eq!(effect(&six, 0.97).unwrap().method, EffectMethod::PairedT);
    }

    /// The choice of the method by what is seen costs no error rate, whatever the tails.
    #[test]
    fn without_an_effect_one_in_twenty_is_flagged_with_normal_and_heavy_tails() {
        let tails: [fn(&mut Noise) -> f64; 3] = [
            Noise::normal,
            |noise| noise.normal() / noise.uniform().sqrt().max(0.05),
            |noise| if noise.uniform() < 0.1 { -8.0 * noise.uniform().ln() } else { noise.normal() },
        ];
        for (name, tail) in ["normal", "heavy", "skewed trials"].iter().zip(tails) {
            for n in [6, 12, 25] {
                let flagged = (0..2000).filter(|seed| {
                    let mut noise = Noise::new(*seed);
                    let mut trial = || (0.02 * tail(&mut noise)).exp();
                    let pairs: Vec<_> = (0..n).map(|_| (trial(), trial())).collect();
                    effect(&pairs, 0.95).is_some_and(|effect| effect.p_value < Some(0.05))
                });
                let share = flagged.count() as f64 / 2000.0;
                assert!((0.02..=0.07).contains(&share), "{name}, {n} blocks: {share}");
            }
        }
    }

    #[test]
    fn p_value_and_interval_say_the_same() {
        for seed in 0..500 {
            let mut noise = Noise::new(seed);
            let pairs: Vec<_> = (0..9).map(|_| (1.0, (0.3 + noise.normal() / noise.uniform()).exp())).collect();
            let Effect { ratio, p_value, .. } = effect(&pairs, 0.95).unwrap();
            let holds_one = ratio.low.unwrap() <= 1.0 && 1.0 <= ratio.high.unwrap();
            assert_eq!(holds_one, p_value.unwrap() > 0.05, "{ratio:?} {p_value:?}");
        }
    }
}
