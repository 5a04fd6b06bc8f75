//! How precise an effect is, and how many blocks a wanted precision needs.

use crate::batch::{RUNS_MIN, student};
use model::{Effect, Estimate, Precision};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// More blocks than this are said by nobody to be needed.
const BLOCKS_MAX: u64 = 1_000_000;
/// Share of cases in which the upper bound of the blocks needed is enough.
const ENOUGH: f64 = 0.9;

/// Smallest number of blocks, at least [`RUNS_MIN`], whose t interval of this confidence is no wider than
/// `wanted_half_width` (relative) to each side, where the log ratio differs by `sd_log` from block to block. At most
/// a million.
#[must_use]
pub fn blocks_needed(sd_log: f64, wanted_half_width: f64, confidence: f64) -> u64 {
    let wanted = wanted_half_width.max(0.0).ln_1p();
    let is_enough = |blocks: u64| {
        let n = blocks as f64;
        student(n - 1.0).inverse_cdf(0.5 + confidence / 2.0) * sd_log / n.sqrt() <= wanted
    };
    let mut enough = RUNS_MIN as u64;
    let mut too_few = enough;
    while !is_enough(enough) {
        if enough >= BLOCKS_MAX {
            return BLOCKS_MAX;
        }
        too_few = enough;
        enough = (2 * enough).min(BLOCKS_MAX);
    }
    while enough - too_few > 1 {
        let middle = too_few.midpoint(enough);
        if is_enough(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    enough
}

/// Precision of an effect whose interval has this confidence, and what the wanted one needs, which never depends on how
/// large the effect is.
#[must_use]
pub fn precision(effect: &Effect, wanted_half_width: f64, confidence: f64) -> Precision {
    let half_log = half_log(&effect.ratio);
    let n = effect.ratio.n as f64;
    // of a t interval it is the standard deviation itself; of a signed-rank interval, the one of a t interval as wide
    let spread =
        half_log.map(|half| half * n.sqrt() / student(n - 1.0).inverse_cdf(0.5 + confidence / 2.0)).or(effect.sd_log);
    let needed = |sd_log: f64| blocks_needed(sd_log, wanted_half_width, confidence);
    let at_most = |sd_log: f64| {
        let least = ChiSquared::new(n - 1.0).ok()?.inverse_cdf(1.0 - ENOUGH);
        Some(needed(sd_log * ((n - 1.0) / least).sqrt()))
    };
    let half_width = half_width(&effect.ratio);
    Precision {
        half_width,
        wanted_half_width,
        blocks_needed: spread.map(needed),
        blocks_needed_at_most: spread.and_then(at_most),
        is_reached: half_width.is_some_and(|half| half <= wanted_half_width),
    }
}

/// Half of an interval of a ratio, relative: the root of high over low, less 1.
pub(super) fn half_width(ratio: &Estimate) -> Option<f64> {
    half_log(ratio).map(f64::exp_m1)
}

/// Half of an interval of a ratio, on the log scale.
fn half_log(ratio: &Estimate) -> Option<f64> {
    Some((ratio.high? / ratio.low?).ln() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect;
    use crate::testing::Noise;

    /// Near `(1.96 s / h)^2 + 2`, the usual approximation for 95 %.
    #[test]
    fn blocks_needed_are_those_of_the_approximation() {
        for (sd, half, about) in
            [(0.01, 0.01, 6), (0.02, 0.01, 18), (0.05, 0.01, 99), (0.05, 0.03, 13), (0.1, 0.005, 1539)]
        {
            let needed = blocks_needed(sd, half, 0.95);
            let off = (needed as f64 / f64::from(about) - 1.0).abs();
            assert!(off < 0.2, "{sd} {half}: {needed}, about {about}");
        }
        assert_eq!((blocks_needed(0.0, 0.01, 0.95), blocks_needed(0.02, 0.0, 0.95)), (6, BLOCKS_MAX));
        assert!(blocks_needed(0.02, 0.01, 0.97) > blocks_needed(0.02, 0.01, 0.95));
    }

    #[test]
    fn a_block_less_would_not_do() {
        for (sd, half) in [(0.012, 0.01), (0.02, 0.004), (0.3, 0.05)] {
            let n = blocks_needed(sd, half, 0.97) as f64;
            let width = |n: f64| (student(n - 1.0).inverse_cdf(0.985) * sd / n.sqrt()).exp_m1();
            assert!(width(n) <= half && width(n - 1.0) > half, "{sd} {half}");
        }
    }

    fn pairs(blocks: usize, sd: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut noise = Noise::new(seed);
        (0..blocks).map(|_| (1.0, (sd * noise.normal()).exp())).collect()
    }

    #[test]
    fn the_bound_after_a_pilot_is_enough_in_nine_cases_of_ten() {
        let truth = blocks_needed(0.02, 0.01, 0.97);
        let (mut enough, mut seen) = (0_u32, 0_u32);
        for seed in 0..1000 {
            let pilot = effect(&pairs(6, 0.02, seed), 0.97).unwrap();
            let precision = precision(&pilot, 0.01, 0.97);
            assert!(precision.blocks_needed <= precision.blocks_needed_at_most);
            seen += 1;
            enough += u32::from(precision.blocks_needed_at_most.unwrap() >= truth);
        }
        let share = f64::from(enough) / f64::from(seen);
        assert!((0.87..=0.93).contains(&share), "{share}");
    }

    #[test]
    fn reached_is_what_the_interval_says() {
        let all = effect(&pairs(40, 0.02, 3), 0.97).unwrap();
        let (low, high) = (all.ratio.low.unwrap(), all.ratio.high.unwrap());
        let half = (high / low).sqrt() - 1.0;
        let [reached, missed] = [half + 1e-9, half - 1e-9].map(|wanted| precision(&all, wanted, 0.97));
        assert!((reached.half_width.unwrap() - half).abs() < 1e-12);
        assert!(reached.is_reached && reached.blocks_needed <= Some(40), "{reached:?}");
        assert!(!missed.is_reached && missed.blocks_needed > Some(40), "{missed:?}");
        let few = precision(&effect(&pairs(3, 0.02, 3), 0.97).unwrap(), 0.01, 0.97);
        assert_eq!((few.half_width, few.is_reached), (None, false));
        assert!(few.blocks_needed.is_some());
        let one = precision(&effect(&pairs(1, 0.02, 3), 0.97).unwrap(), 0.01, 0.97);
        assert_eq!((one.blocks_needed, one.blocks_needed_at_most), (None, None));
    }
}
