//! Seeded noise for tests.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded source of normal deviates.
pub(crate) struct Noise {
    rng: Xoshiro256PlusPlus,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Uniform in (0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// `value` with a relative standard deviation of `share`.
    pub(crate) fn jitter(&mut self, value: f64, share: f64) -> f64 {
        value * (1.0 + share * self.normal())
    }
}
