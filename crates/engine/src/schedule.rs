//! When requests are sent in open loop: a pure function of index, seed and share.
//!
//! Every thread walks the same global sequence and takes each n-th instant of it, so that the union over all
//! threads is exactly the schedule, whatever their number (k6's execution segments, striped).

use model::{Arrivals, NS_PER_S, Turns};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Intended instants of all requests of a run.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    mean_gap_ns: f64,
    seed: u64,
    turns: Option<Turns>,
}

/// One part of a schedule: every `of`-th instant beginning with number `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which part; below `of`.
    pub index: u32,
    /// How many parts there are; above 0.
    pub of: u32,
}

/// Walks one share of a schedule in rising order.
#[derive(Clone, Debug)]
pub struct Cursor {
    schedule: Schedule,
    share: Share,
    number: u64,
    /// Of the schedule without turns, in which no rounding adds up.
    instant_ns: f64,
    /// The same as a whole number, in the turn of the load: it is read many times until the cursor moves on.
    due_ns: u64,
}

/// Odd increment of SplitMix64: stepping its state by it makes the n-th output addressable.
const SPLITMIX_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Schedule {
    /// Instants at `rate_per_s` requests per second over all shares.
    ///
    /// # Panics
    /// If the rate is not above 0.
    #[must_use]
    pub fn new(arrivals: Arrivals, rate_per_s: f64, seed: u64) -> Self {
        assert!(rate_per_s > 0.0, "the rate is validated in the plan");
        Self { arrivals, mean_gap_ns: NS_PER_S as f64 / rate_per_s, seed, turns: None }
    }

    /// The same requests in the turns of a load: what was due in a whole round is due in the turn, in the same order.
    #[must_use]
    pub const fn in_turns(self, turns: Option<Turns>) -> Self {
        Self { turns, ..self }
    }

    /// A cursor on the first instant of `share`.
    #[must_use]
    pub fn cursor(self, share: Share) -> Cursor {
        let mut cursor = Cursor { schedule: self, share, number: 0, instant_ns: self.gap_ns(0), due_ns: 0 };
        cursor.skip(u64::from(share.index));
        cursor
    }

    /// Gap before instant `number`; ns. Exponential by inversion for Poisson arrivals.
    fn gap_ns(&self, number: u64) -> f64 {
        match self.arrivals {
            Arrivals::Constant => {
                if number == 0 {
                    0.0
                } else {
                    self.mean_gap_ns
                }
            }
            Arrivals::Poisson => {
                let state = self.seed.wrapping_add(number.wrapping_mul(SPLITMIX_GAMMA));
                let bits = SplitMix64::from_seed(state.to_le_bytes()).next_u64();
                // 53 random bits, shifted by half a step so that 0 cannot occur.
                let uniform = ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
                -uniform.ln() * self.mean_gap_ns
            }
        }
    }
}

impl Cursor {
    /// The instant the cursor stands on; ns since the clock of the run started.
    #[inline]
    #[must_use]
    pub const fn instant_ns(&self) -> u64 {
        self.due_ns
    }

    /// Mean time between two instants of the whole schedule; ns.
    #[must_use]
    pub const fn mean_gap_ns(&self) -> f64 {
        self.schedule.mean_gap_ns
    }

    /// Moves to the next instant of the share.
    #[inline]
    pub fn advance(&mut self) {
        self.skip(u64::from(self.share.of));
    }

    fn skip(&mut self, steps: u64) {
        match self.schedule.arrivals {
            // Closed form, so that no rounding adds up.
            Arrivals::Constant => {
                self.number += steps;
                self.instant_ns = self.number as f64 * self.schedule.mean_gap_ns;
            }
            Arrivals::Poisson => {
                for _ in 0..steps {
                    self.number += 1;
                    self.instant_ns += self.schedule.gap_ns(self.number);
                }
            }
        }
        let at_ns = self.instant_ns as u64;
        self.due_ns = self.schedule.turns.map_or(at_ns, |turns| in_turn_ns(at_ns, turns));
    }
}

/// An instant of a round, moved to where it lies in the turn. In each second another load begins: whatever happens once a
/// second, such as a look at all processes, hits all of them as often.
const fn in_turn_ns(at_ns: u64, turns: Turns) -> u64 {
    let of = turns.of as u64;
    let round_ns = turns.turn_ns * of;
    let (rounds, within_ns) = (at_ns / round_ns, at_ns % round_ns);
    let begin_ns = rounds * round_ns;
    let place = (turns.index as u64 + begin_ns / NS_PER_S) % of;
    begin_ns + place * turns.turn_ns + within_ns / of
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instants(schedule: Schedule, share: Share, n: usize) -> Vec<u64> {
        let mut cursor = schedule.cursor(share);
        (0..n)
            .map(|_| {
                let at = cursor.instant_ns();
                cursor.advance();
                at
            })
            .collect()
    }

    proptest! {
        #[test]
        fn shares_partition_the_whole(seed in any::<u64>(), of in 1_u32..9, constant in any::<bool>()) {
            let arrivals = if constant { Arrivals::Constant } else { Arrivals::Poisson };
            let schedule = Schedule::new(arrivals, 1234.5, seed);
            let whole = instants(schedule, Share { index: 0, of: 1 }, 64 * of as usize);
            let mut parts: Vec<u64> =
                (0..of).flat_map(|index| instants(schedule, Share { index, of }, 64)).collect();
            parts.sort_unstable();
            prop_assert_eq!(whole, parts);
        }
    }

    #[test]
    fn loads_that_take_turns_send_the_same_one_after_the_other() {
        let of = |index| {
            let turns = Turns { turn_ns: 100_000_000, index, of: 2 };
            let schedule = Schedule::new(Arrivals::Poisson, 500.0, 9).in_turns(Some(turns));
            instants(schedule, Share { index: 0, of: 1 }, 5000)
        };
        let (first, second) = (of(0), of(1));
        let turns = |all: &[u64], second: u64| -> Vec<u64> {
            let within = all.iter().filter(|at| **at / NS_PER_S == second);
            let mut turns: Vec<u64> = within.map(|at| at % NS_PER_S / 100_000_000).collect();
            turns.dedup();
            turns
        };
        assert_eq!((turns(&first, 2), turns(&second, 2)), (vec![0, 2, 4, 6, 8], vec![1, 3, 5, 7, 9]));
        assert_eq!(
            (turns(&first, 3), turns(&second, 3)),
            (vec![1, 3, 5, 7, 9], vec![0, 2, 4, 6, 8]),
            "who begins changes"
        );
        let apart = |(one, other): (&u64, &u64)| one.abs_diff(*other) == 100_000_000;
        assert!(first.iter().zip(&second).all(apart) && first.is_sorted() && second.is_sorted());
        let end_s = *first.last().expect("there are some") as f64 / 1e9;
        assert!((5000.0 / end_s / 500.0 - 1.0).abs() < 0.05, "the mean rate is that of the schedule");
    }

    #[test]
    fn constant_instants_are_evenly_spaced() {
        let schedule = Schedule::new(Arrivals::Constant, 10_000.0, 7);
        assert_eq!(instants(schedule, Share { index: 0, of: 1 }, 4), [0, 100_000, 200_000, 300_000]);
        assert_eq!(instants(schedule, Share { index: 1, of: 2 }, 3), [100_000, 300_000, 500_000]);
    }

    #[test]
    fn poisson_gaps_are_exponential_with_the_stated_rate() {
        let schedule = Schedule::new(Arrivals::Poisson, 1000.0, 42);
        let n = 100_000_usize;
        let at = instants(schedule, Share { index: 0, of: 1 }, n);
        let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let var = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "mean {mean} ms");
        assert!((var.sqrt() / mean - 1.0).abs() < 0.02, "coefficient of variation {}", var.sqrt() / mean);
        // Counts per second of a Poisson process have variance equal to their mean.
        let mut counts = vec![0.0_f64; 90];
        for t in &at {
            if let Some(c) = counts.get_mut((t / NS_PER_S) as usize) {
                *c += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / 90.0;
        let var = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 89.0;
        assert!((0.6..1.6).contains(&(var / mean)), "index of dispersion {}", var / mean);
    }

    #[test]
    fn the_same_seed_gives_the_same_instants() {
        let at = |seed| instants(Schedule::new(Arrivals::Poisson, 50.0, seed), Share { index: 0, of: 1 }, 100);
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
    }
}
