//! Backlog of an open loop: requests in flight, and due and not sent, tick by tick.
//!
//! Above the capacity it grows for ever; at the capacity it wanders. A straight line through a wander has a slope with a
//! large t, so the interval here is that of the increments from tick to tick, which are independent where the backlog
//! itself is not.

use crate::arrivals::trend;
use crate::batch::{mean, variance};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Growth in a second, as a share of the rate, that is growth (as rule ST-02 has it).
const GROWTH_SHARE: f64 = 0.002;
/// Requests; fewer are in flight for a thousand other reasons.
const GROWN_BY: f64 = 10.0;
/// Increments without which there is no interval.
const INCREMENTS_MIN: usize = 3;
/// One-sided confidence that it runs away, at each look.
const CONFIDENCE: f64 = 0.995;
/// Median of the size of a normal deviate: at the capacity itself a trial grows by more half of the time.
const MEDIAN_SIZE: f64 = 0.674_5;

/// True if the backlog of a trial at `rate_per_s` grows for certain: the trial fails however long it goes on, and may be
/// stopped. To be asked after each tick.
#[must_use]
pub fn runs_away(backlog: &[f64], rate_per_s: f64, tick_s: f64) -> bool {
    let increments = increments(backlog);
    let n = increments.len();
    if n < INCREMENTS_MIN || backlog[n] - backlog[0] < GROWN_BY {
        return false;
    }
    let Ok(student) = StudentsT::new(0.0, 1.0, (n - 1) as f64) else { return false };
    let half = student.inverse_cdf(CONFIDENCE) * (variance(&increments) / n as f64).sqrt();
    mean(&increments) - half > GROWTH_SHARE * rate_per_s * tick_s
}

/// True if the backlog of a finished trial at `rate_per_s` grew by more than one at the capacity itself does in half of all
/// trials, which keeps the search free of bias: 0.67 of the wander that its increments show, and of the root of the requests
/// at least, which Poisson arrivals alone make.
#[must_use]
pub fn backlog_grew(backlog: &[f64], rate_per_s: f64, tick_s: f64) -> bool {
    let Some((slope, _)) = trend(backlog) else { return false };
    let increments = increments(backlog);
    let n = increments.len() as f64;
    let requests = rate_per_s * tick_s * n;
    let wander = (variance(&increments) * n).max(requests).sqrt();
    slope * n > (GROWTH_SHARE * requests).max(MEDIAN_SIZE * wander).max(GROWN_BY)
}

fn increments(backlog: &[f64]) -> Vec<f64> {
    backlog.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const RATE: f64 = 10_000.0;

    /// Backlog of a server of `capacity` times the rate, with Poisson arrivals and exponential service, after a second.
    fn series(seconds: usize, capacity: f64, seed: u64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        let mut waiting = 0.0_f64;
        let all = (0..=seconds).map(|_| {
            waiting = (waiting + RATE * (1.0 - capacity) + (2.0 * RATE).sqrt() * noise.normal()).max(0.0);
            waiting
        });
        all.skip(1).collect()
    }

    fn share(of: u64, is: impl Fn(u64) -> bool) -> f64 {
        (0..of).filter(|seed| is(*seed)).count() as f64 / of as f64
    }

    #[test]
    fn twice_the_capacity_runs_away_within_a_few_ticks() {
        for seed in 0..200 {
            let all = series(6, 0.5, seed);
            let stopped = (1..=all.len()).find(|ticks| runs_away(&all[..*ticks], RATE, 1.0));
            assert!(stopped.is_some_and(|ticks| (4..=5).contains(&ticks)), "{seed}: {all:?}");
        }
    }

    #[test]
    fn what_is_held_is_hardly_ever_stopped_at_any_look() {
        let stopped = |capacity: f64| {
            share(2000, |seed| {
                let all = series(30, capacity, seed);
                (1..=all.len()).any(|ticks| runs_away(&all[..ticks], RATE, 1.0))
            })
        };
        let (below, at) = (stopped(1.05), stopped(1.0));
        assert!(below < 0.005 && at < 0.12, "{below} {at}");
    }

    #[test]
    fn the_capacity_itself_fails_in_about_half_of_the_trials_and_little_below_it_in_none() {
        let grew = |capacity: f64| share(2000, |seed| backlog_grew(&series(6, capacity, seed), RATE, 1.0));
        let (below, at, above) = (grew(1.03), grew(1.0), grew(0.97));
        assert!(below < 0.02 && (0.2..0.6).contains(&at) && above > 0.95, "{below} {at} {above}");
    }

    #[test]
    fn too_little_says_nothing_and_a_level_backlog_is_none() {
        assert!(!runs_away(&[0.0, 1e4, 2e4], RATE, 1.0));
        assert!(runs_away(&[0.0, 1e4, 2e4, 3e4], RATE, 1.0));
        assert!(!runs_away(&[0.0, 3.0, 6.0, 9.0], 10.0, 1.0), "nine requests");
        assert!(!backlog_grew(&[], RATE, 1.0) && !backlog_grew(&[5.0, 9.0], RATE, 1.0));
        assert!(!backlog_grew(&[800.0; 10], RATE, 1.0));
        assert!(!backlog_grew(&[60.0, 61.0, 9_000.0, 60.0, 60.0, 59.0], RATE, 1.0), "one stall");
    }
}
