//! Seeded noise.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded source of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Exponential, with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Student's t, which has heavy tails with few degrees of freedom (Bailey, "Polar generation of random variates with the
    /// t-distribution", Mathematics of Computation 62, 1994).
    pub(super) fn student(&mut self, freedom: f64) -> f64 {
        let radius = (freedom * (self.uniform().powf(-2.0 / freedom) - 1.0)).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_distributions_are_what_they_are_called() {
        let mut random = Random::new(1);
        let n = 200_000;
        let share = |is: &mut dyn FnMut() -> bool| (0..n).filter(|_| is()).count() as f64 / f64::from(n);
        let near = |is: f64, expected: f64| assert!((is - expected).abs() < 0.004, "{is}, expected {expected}");
        near(share(&mut || random.uniform() <= 0.3), 0.3);
        near(share(&mut || random.normal() < -1.644_9), 0.05);
        near(share(&mut || random.exponential(2.0) > 2.0), (-1.0_f64).exp());
        // 97.5 % of Student's t with 3 degrees of freedom are below 3.182
        near(share(&mut || random.student(3.0) > 3.182), 0.025);
    }
}
