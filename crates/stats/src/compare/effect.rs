//! Effect of a variant: mean of the log ratios with Student's t, or of their middle where some are evidently far from the others.

use super::{signed_rank, trimmed};
use crate::batch::{RUNS_MIN, mean, student, variance};
use crate::paired::{log_ratios, paired_t};
use model::{Effect, EffectMethod, Estimate};
use statrs::distribution::ContinuousCDF;

/// Standard errors of the skewness from which on it is evident (Cramer, "Fundamental Statistics for Social Research",
/// 1998, p. 85): about one in 20 normal samples.
const SKEWED: f64 = 2.0;
/// Standard errors of the skewness, or of the kurtosis, from which on some blocks are evidently unlike the others: about one in
/// 25 normal samples. With two of each the choice of the method would cost a noticeable part of the error rate.
const UNLIKE: f64 = 2.5;
/// Range of confidences for which quantiles make sense.
const CONFIDENCES: std::ops::RangeInclusive<f64> = 0.5..=1.0 - 1e-9;

/// Effect over pairs (baseline, variant), one a block, with a two-sided interval of this `confidence`, 0.5 to 1; none
/// without a pair. There is no interval below [`RUNS_MIN`] pairs. Pairs in which one of both is not above 0 are left out.
///
/// Some blocks may have gone another way than the others: one start of a server in twenty takes 8 % more CPU time for a request
/// than all others, for as long as it runs. From 12 blocks on the method is then the trimmed mean, which such blocks do not make
/// uncertain. With fewer it is Hodges and Lehmann's ("Estimates of Location Based on Rank Tests", Annals of Mathematical Statistics
/// 34(2), 1963) where the log ratios are skewed and enough for a signed-rank interval of this confidence, and otherwise, as
/// without such blocks, the paired t. Of two variants that do not differ the log ratios are symmetric, and each method keeps its
/// error rate; that the choice keeps it too is simulated (`xtask calibrate`). With a real effect and a skew they say something
/// else: the mean ratio, and that of the typical block.
#[must_use]
pub fn effect(pairs: &[(f64, f64)], confidence: f64) -> Option<Effect> {
    let logs = log_ratios(pairs);
    if logs.is_empty() {
        return None;
    }
    let confidence = confidence.clamp(*CONFIDENCES.start(), *CONFIDENCES.end());
    let sd_log = (logs.len() >= 2).then(|| variance(&logs).sqrt());
    let n = logs.len() as u64;
    let shape = Shape::of(&logs);
    if let Some(middle) = trimmed::interval(&logs, confidence).filter(|_| shape.skewness.max(shape.kurtosis) > UNLIKE) {
        let [value, low, high] = [middle.centre, middle.low, middle.high].map(f64::exp);
        let ratio = Estimate { value, low: Some(low), high: Some(high), n };
        let (method, p_value) = (EffectMethod::TrimmedT, Some(middle.p_value));
        return Some(Effect { ratio, method, p_value, p_adjusted: None, sd_log });
    }
    if logs.len() >= RUNS_MIN
        && shape.skewness > SKEWED
        && let Some(ranked) = signed_rank::interval(&logs, confidence)
    {
        let [value, low, high] = [ranked.centre, ranked.low, ranked.high].map(f64::exp);
        let ratio = Estimate { value, low: Some(low), high: Some(high), n };
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

/// How a sample differs from a normal one, in standard errors under normality (all of them as in Joanes and Gill, "Comparing
/// measures of sample skewness and kurtosis", The Statistician 47(1), 1998).
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// G1, to whichever side.
    skewness: f64,
    /// G2: above 0 with heavier tails than a normal one.
    kurtosis: f64,
}

impl Shape {
    /// That of at least [`RUNS_MIN`] values; as normal as can be with fewer.
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let centre = mean(values);
        let moment = |power: i32| values.iter().map(|value| (value - centre).powi(power)).sum::<f64>() / n;
        let spread = moment(2);
        if values.len() < RUNS_MIN || spread <= 0.0 {
            return Self::default();
        }
        let skewness = moment(3) / spread.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
        let excess = moment(4) / spread.powi(2) - 3.0;
        let kurtosis = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0);
        let of_skewness = (6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0))).sqrt();
        let of_kurtosis = 2.0 * of_skewness * ((n * n - 1.0) / ((n - 3.0) * (n + 5.0))).sqrt();
        Self { skewness: skewness.abs() / of_skewness, kurtosis: kurtosis / of_kurtosis }
    }
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
    fn one_block_that_went_wrong_makes_it_the_mean_of_the_middle() {
        let mut blocks: Vec<(f64, f64)> = (0..12).map(|i| (100.0, 110.0 + f64::from(i % 4))).collect();
        assert_eq!(effect(&blocks, 0.95).unwrap().method, EffectMethod::PairedT);
        blocks.push((100.0, 40.0));
        let skewed = effect(&blocks, 0.95).unwrap();
        assert_eq!(skewed.method, EffectMethod::TrimmedT);
        assert!((1.10..1.13).contains(&skewed.ratio.value) && skewed.ratio.low.unwrap() > 1.09, "{skewed:?}");
        // With fewer blocks ranks have to do.
        let ranked = effect(&blocks[4..], 0.95).unwrap();
        assert_eq!(ranked.method, EffectMethod::HodgesLehmann);
        assert!((1.10..1.13).contains(&ranked.ratio.value), "{ranked:?}");
        // six blocks are too few for a signed-rank interval of 97 %
        let six = [(100.0, 100.0), (100.0, 101.0), (100.0, 100.0), (100.0, 101.0), (100.0, 99.0), (100.0, 30.0)];
        assert_eq!(effect(&six, 0.95).unwrap().method, EffectMethod::HodgesLehmann);
        assert_eq!(effect(&six, 0.97).unwrap().method, EffectMethod::PairedT);
    }

    /// PHP-FPM, of which one start in twenty takes 8 % more CPU time: "between 2.0 and 5.4 %, we cannot tell" after 17 blocks of
    /// which four went either way.
    #[test]
    fn blocks_that_went_either_way_hide_no_change() {
        let percent = [6.4, 3.8, 3.4, -4.2, 3.1, 3.9, 9.9, 3.8, 4.7, 3.2, 4.4, 3.3, 3.5, 3.3, 1.2, 4.7, 4.3];
        let blocks: Vec<(f64, f64)> = percent.iter().map(|change| (100.0, 100.0 + change)).collect();
        let found = effect(&blocks, 0.98).unwrap();
        assert_eq!(found.method, EffectMethod::TrimmedT);
        let (low, high) = (found.ratio.low.unwrap(), found.ratio.high.unwrap());
        assert!((1.03..1.04).contains(&low) && (1.04..1.05).contains(&high), "{found:?}");
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
