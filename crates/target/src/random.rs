//! Random numbers by position: the same seed and position give the same, whichever worker asks and in whatever order.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Odd increment of SplitMix64: stepping its state by it makes the n-th output addressable.
const SPLITMIX_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// How long a sleep takes when it is drawn; every value is bounded by the route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dist {
    Exponential {
        mean_ns: u64,
    },
    Uniform {
        min_ns: u64,
        max_ns: u64,
    },
    /// By the mean of the values and the standard deviation of their logarithm.
    Lognormal {
        mean_ns: u64,
        sigma: f64,
    },
}

/// The generator of `seed`, standing before its `index`-th number.
pub(super) fn generator(seed: u64, index: u64) -> SplitMix64 {
    SplitMix64::from_seed(seed.wrapping_add(index.wrapping_mul(SPLITMIX_GAMMA)).to_le_bytes())
}

impl Dist {
    /// The `index`-th draw of `seed`; ns, at most `cap_ns`.
    pub(super) fn draw_ns(self, seed: u64, index: u64, cap_ns: u64) -> u64 {
        // Two numbers for each draw.
        let mut generator = generator(seed, index.wrapping_mul(2));
        let (first, second) = (uniform(generator.next_u64()), uniform(generator.next_u64()));
        let ns = match self {
            Self::Exponential { mean_ns } => -first.ln() * mean_ns as f64,
            Self::Uniform { min_ns, max_ns } => min_ns as f64 + first * (max_ns - min_ns) as f64,
            Self::Lognormal { mean_ns, sigma } => {
                // Box and Muller; the mean of exp(m + sigma z) is exp(m + sigma^2 / 2).
                let normal = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos();
                mean_ns as f64 * (sigma * normal - sigma * sigma / 2.0).exp()
            }
        };
        (ns as u64).min(cap_ns)
    }
}

/// 53 random bits, shifted by half a step so that neither 0 nor 1 can occur.
fn uniform(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const DRAWS: u64 = 40_000;

    /// Mean and standard deviation.
    fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let mean = values.clone().sum::<f64>() / DRAWS as f64;
        (mean, (values.map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64).sqrt())
    }

    /// The standard error of a mean of this many draws is below 1 % of it for all of these.
    #[test]
    fn draws_have_the_mean_and_spread_of_their_distribution() {
        let exponential = Dist::Exponential { mean_ns: 5 * MS };
        let uniform = Dist::Uniform { min_ns: 2 * MS, max_ns: 8 * MS };
        let lognormal = Dist::Lognormal { mean_ns: 5 * MS, sigma: 0.5 };
        for (dist, deviation_ms) in
            [(exponential, 5.0), (uniform, 6.0 / 12.0f64.sqrt()), (lognormal, 5.0 * (0.25f64.exp() - 1.0).sqrt())]
        {
            let (mean, spread) = moments((0..DRAWS).map(|index| dist.draw_ns(7, index, u64::MAX) as f64 / 1e6));
            assert!((mean - 5.0).abs() < 0.1, "{dist:?}: mean {mean} ms");
            assert!((spread - deviation_ms).abs() < 0.2, "{dist:?}: deviation {spread} ms, not {deviation_ms}");
        }
        let logarithms = (0..DRAWS).map(|index| (lognormal.draw_ns(7, index, u64::MAX) as f64).ln());
        assert!((moments(logarithms).1 - 0.5).abs() < 0.02);
    }

    #[test]
    fn draws_depend_on_seed_and_index_alone_and_are_capped() {
        let dist = Dist::Exponential { mean_ns: MS };
        let draws = |seed| (0..20).map(|index| dist.draw_ns(seed, index, 2 * MS)).collect::<Vec<_>>();
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        assert!((0..200).all(|index| dist.draw_ns(1, index, 2 * MS) <= 2 * MS));
        assert!((0..200).any(|index| dist.draw_ns(1, index, 2 * MS) == 2 * MS));
        let narrow = Dist::Uniform { min_ns: 3, max_ns: 3 };
        assert_eq!(narrow.draw_ns(1, 0, MS), 3);
    }
}
