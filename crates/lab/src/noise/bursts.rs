//! Bursts of noise and the gaps between them: lengths at random from a seed, and the share that was asked for.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

use anyhow::{Result, ensure};

/// Longest burst where nothing else is said.
const LONGEST_S: f64 = 3.0;
/// Longest burst there may be: what it stops has to come back.
const LONGEST_MAX_S: f64 = 30.0;
/// Largest share: above it, the kernel's limit for real-time processes (95 % by default) would be the noise.
const SHARE_MAX: f64 = 0.9;

/// Range of the lengths of bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    pub(super) shortest_s: f64,
    pub(super) longest_s: f64,
}

/// The range as it is typed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LengthOptions {
    /// Shortest burst in seconds
    #[arg(long, value_name = "S", default_value_t = 0.02, allow_negative_numbers = true)]
    burst_min: f64,
    /// Longest burst in seconds [default: 3, or the shortest if that is longer]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    burst_max: Option<f64>,
}

impl LengthOptions {
    pub(super) fn lengths(self) -> Result<Lengths> {
        let shortest_s = self.burst_min;
        let longest_s = self.burst_max.unwrap_or_else(|| LONGEST_S.max(shortest_s));
        ensure!(
            0.0 < shortest_s && shortest_s <= longest_s && longest_s <= LONGEST_MAX_S,
            "bursts of {shortest_s} to {longest_s} s: not above 0, rising, and at most {LONGEST_MAX_S} s"
        );
        Ok(Lengths { shortest_s, longest_s })
    }
}

/// One burst at a random place in a stretch of time of which it is the wanted share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) before: Duration,
    pub(super) burst: Duration,
    pub(super) after: Duration,
}

/// Cycles without end. Lengths of bursts are log-uniform: as many between 20 and 40 ms as between 1 and 2 s.
#[derive(Debug)]
pub(super) struct Bursts {
    rng: Xoshiro256PlusPlus,
    share: f64,
    lengths: Lengths,
}

impl Bursts {
    pub(super) fn new(share: f64, lengths: Lengths, seed: u64) -> Result<Self> {
        ensure!(0.0 < share && share <= SHARE_MAX, "a share of {share} is not above 0 and at most {SHARE_MAX}");
        Ok(Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), share, lengths })
    }

    /// From 0 to below 1.
    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn cycle(&mut self) -> Cycle {
        let Lengths { shortest_s, longest_s } = self.lengths;
        let burst_s = shortest_s * (longest_s / shortest_s).powf(self.uniform());
        let idle_s = burst_s * (1.0 - self.share) / self.share;
        let before_s = idle_s * self.uniform();
        let [before, burst, after] = [before_s, burst_s, idle_s - before_s].map(Duration::from_secs_f64);
        Cycle { before, burst, after }
    }
}

impl Iterator for Bursts {
    type Item = Cycle;

    fn next(&mut self) -> Option<Cycle> {
        Some(self.cycle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parsed;

    const USUAL: Lengths = Lengths { shortest_s: 0.02, longest_s: LONGEST_S };

    fn cycles(share: f64, lengths: Lengths, seed: u64) -> Vec<Cycle> {
        Bursts::new(share, lengths, seed).unwrap().take(2000).collect()
    }

    #[test]
    fn each_cycle_has_the_share_that_was_asked_for() {
        for share in [0.05, 0.2, 0.4] {
            for Cycle { before, burst, after } in cycles(share, USUAL, 1) {
                let seen = burst.as_secs_f64() / (before + burst + after).as_secs_f64();
                assert!((seen - share).abs() < 1e-6, "{seen} of {share}");
            }
        }
    }

    #[test]
    fn lengths_are_log_uniform_within_their_range() {
        let bursts: Vec<f64> = cycles(0.2, USUAL, 1).iter().map(|cycle| cycle.burst.as_secs_f64()).collect();
        assert!(bursts.iter().all(|s| (USUAL.shortest_s - 1e-9..=LONGEST_S).contains(s)));
        let between = |low: f64, high: f64| bursts.iter().filter(|s| (low..high).contains(*s)).count();
        // A factor of two is 13.8 % of all lengths, wherever it lies.
        for count in [between(0.02, 0.04), between(0.2, 0.4), between(1.5, 3.0)] {
            assert!((230..320).contains(&count), "{count} of 2000");
        }
    }

    #[test]
    fn a_seed_is_repeatable_and_another_one_differs() {
        assert_eq!(cycles(0.2, USUAL, 7), cycles(0.2, USUAL, 7));
        assert_ne!(cycles(0.2, USUAL, 7), cycles(0.2, USUAL, 8));
    }

    #[test]
    fn one_length_alone_can_be_chosen_and_nonsense_cannot() {
        let one = Lengths { shortest_s: 0.5, longest_s: 0.5 };
        assert!(cycles(0.4, one, 3).iter().all(|cycle| cycle.burst == Duration::from_millis(500)));
        let taken = |line: &str| parsed::<LengthOptions>(line)?.lengths();
        assert_eq!(taken("").unwrap(), USUAL);
        assert_eq!(taken("--burst-min 4").unwrap(), Lengths { shortest_s: 4.0, longest_s: 4.0 });
        for line in ["--burst-min 0", "--burst-min 2 --burst-max 1", "--burst-max 60", "--burst-min -1"] {
            assert!(taken(line).is_err(), "{line}");
        }
        for share in [0.0, -0.1, 0.95, f64::NAN] {
            assert!(Bursts::new(share, USUAL, 1).is_err(), "{share}");
        }
    }
}
