//! Smallest effect that a machine can resolve: what comparing something with itself gives (A/A).

use crate::batch::{CONFIDENCE, mean};
use model::{Effect, Estimate, Floor};
use statrs::distribution::{Beta, ContinuousCDF};

/// Standard errors at which a change is shown in 80 % of cases at 5 % of errors: 1.96 + 0.84.
const RESOLVED: f64 = 2.8;
/// Share of flagged comparisons above which small effects may not be called.
pub const FLAGGED_MAX: f64 = 0.1;

/// Floor by comparisons none of which has an effect; none without any. Those without an interval do not count.
#[must_use]
pub fn floor(comparisons: &[Effect]) -> Option<Floor> {
    let counted: Vec<(&Effect, f64, f64)> =
        comparisons.iter().filter_map(|effect| Some((effect, effect.ratio.low?, effect.ratio.high?))).collect();
    if counted.is_empty() {
        return None;
    }
    let n = counted.len();
    let flagged = counted.iter().filter(|(_, low, high)| *low > 1.0 || *high < 1.0).count();
    let mut sizes: Vec<f64> = counted.iter().map(|(effect, ..)| effect.ratio.value.ln().abs().exp_m1()).collect();
    sizes.sort_by(f64::total_cmp);
    let variances: Vec<f64> =
        counted.iter().filter_map(|(effect, ..)| Some(effect.sd_log?.powi(2) / effect.ratio.n as f64)).collect();
    let share = flagged as f64 / n as f64;
    let (low, high) = share_interval(flagged as u64, n as u64);
    Some(Floor {
        comparisons: n as u64,
        flagged: flagged as u64,
        false_positives: Estimate { value: share, low: Some(low), high: Some(high), n: n as u64 },
        effect_p95: sizes[(n * 95).div_ceil(100) - 1],
        resolvable: (!variances.is_empty()).then(|| RESOLVED * mean(&variances).sqrt()),
        is_unreliable: share > FLAGGED_MAX,
    })
}

/// Change that is shown in 80 % of comparisons of so many blocks whose log ratio differs by `sd_log`, relative: the floor
/// that a comparison can say of itself.
#[must_use]
pub fn resolvable(sd_log: f64, blocks: u64) -> f64 {
    RESOLVED * sd_log / (blocks.max(1) as f64).sqrt()
}

/// Exact 95 % interval of a share, `hits` of `of`, which is not 0 (Clopper and Pearson, "The Use of Confidence or Fiducial
/// Limits", Biometrika 26(4), 1934).
#[must_use]
pub fn share_interval(hits: u64, of: u64) -> (f64, f64) {
    let (hits, misses) = (hits as f64, (of - hits) as f64);
    let quantile = |a: f64, b: f64, share: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(share));
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let low = if hits > 0.0 { quantile(hits, misses + 1.0, tail) } else { 0.0 };
    let high = if misses > 0.0 { quantile(hits + 1.0, misses, 1.0 - tail) } else { 1.0 };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect;
    use crate::testing::Noise;

    fn with_itself(comparisons: u64, bias: f64) -> Vec<Effect> {
        let of = |seed| {
            let mut noise = Noise::new(seed);
            let pairs: Vec<_> = (0..10).map(|_| (1.0, (bias + 0.02 * noise.normal()).exp())).collect();
            effect(&pairs, 0.95)
        };
        (0..comparisons).filter_map(of).collect()
    }

    /// As R's `binom.test` has them.
    #[test]
    fn intervals_of_shares_are_those_of_the_tables() {
        for (hits, of, low, high) in [(0, 20, 0.0, 0.168_433), (2, 40, 0.006_113, 0.169_197), (10, 10, 0.691_503, 1.0)]
        {
            let (is_low, is_high) = share_interval(hits, of);
            assert!((is_low - low).abs() < 1e-5 && (is_high - high).abs() < 1e-5, "{hits} of {of}: {is_low} {is_high}");
        }
    }

    #[test]
    fn a_quiet_machine_flags_one_in_twenty_and_resolves_three_standard_errors() {
        let floor = floor(&with_itself(400, 0.0)).unwrap();
        assert_eq!(floor.comparisons, 400);
        assert!((10..=32).contains(&floor.flagged) && !floor.is_unreliable, "{floor:?}");
        assert!(floor.false_positives.low < Some(0.05) && floor.false_positives.high > Some(0.05), "{floor:?}");
        // 0.02 / sqrt(10) = 0.0063
        assert!((floor.resolvable.unwrap() - 2.8 * 0.0063).abs() < 0.001, "{floor:?}");
        assert!((floor.effect_p95 - 1.96 * 0.0063).abs() < 0.002, "{floor:?}");
        assert!((resolvable(0.02, 10) - 2.8 * 0.006_325).abs() < 1e-5);
    }

    #[test]
    fn a_machine_that_favours_one_place_is_told() {
        let floor = floor(&with_itself(40, 0.02)).unwrap();
        assert!(floor.is_unreliable && floor.effect_p95 > 0.02, "{floor:?}");
        assert_eq!(super::floor(&[]), None);
        let few = effect(&[(1.0, 1.1)], 0.95).unwrap();
        assert_eq!(super::floor(&[few]), None);
    }
}
