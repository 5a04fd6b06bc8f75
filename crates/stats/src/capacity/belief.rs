//! Belief about the capacity: what all votes so far leave of it, the noise of the server being unknown.
//!
//! A trial at load `x` holds with probability `1 / (1 + exp(-(ln C - ln x) / s))`: the server of each trial is a little
//! faster or slower than its median `C`. Capacity and noise are weighed on a grid by Bayes' rule, as PLRsearch (Konstantynowicz
//! and Polak, draft-vpolak-bmwg-plrsearch) does for losses. Answers are kept from being too sure by two things: any trial may
//! go wrong for reasons of its own, and the noise is at least about what saturated trials differ by in what they got out.

use crate::batch::variance;

/// Standard deviations of the log of the capacity from trial to trial that are weighed.
const NOISES: [f64; 7] = [0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16];
/// Weight of each noise beforehand relative to the next smaller one, in logarithms.
const LARGER: f64 = -0.5;
/// Share of trials that say the opposite of what the server would.
const LAPSES: f64 = 0.005;
/// Standard deviation of the logistic distribution with scale 1: pi / sqrt 3.
const LOGISTIC_DEVIATION: f64 = 1.813_799_364_234_217_8;
/// How far the capacity typically is from what was got out of the server above it, in logarithms.
const HINT_SPREAD: f64 = 0.05;
/// Weight of that hint against none.
const HINT_WEIGHT: f64 = 0.5;
/// Rates that saturated trials got out without which nothing is known of their spread.
const PLATEAUS_MIN: usize = 3;
/// Points of the grid; a range that would need more is weighed more coarsely.
const POINTS_MAX: usize = 4000;
/// More than this share of the belief at an end of the grid: the capacity may lie beyond it.
const EDGE_SHARE: f64 = 0.01;
/// Points of the grid that are its ends.
const EDGE_POINTS: f64 = 4.0;

/// Weights of capacities and noises.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// Logs of the capacities, rising evenly.
    grid: Vec<f64>,
    step: f64,
    /// Logs of the weights: of each noise, of each capacity.
    logs: Vec<Vec<f64>>,
}

impl Belief {
    /// Before any vote: a capacity between `low` and `high`, perhaps near `hint`; all in logarithms.
    pub(super) fn new(low: f64, high: f64, step: f64, hint: Option<f64>) -> Self {
        let points = (((high - low) / step).ceil().max(1.0) as usize + 1).min(POINTS_MAX);
        let step = (high - low) / (points - 1) as f64;
        let grid: Vec<f64> = (0..points).map(|i| low + step * i as f64).collect();
        let even = 1.0 / points as f64;
        let prior = |log: &f64| match hint {
            Some(hint) => {
                let near = step / (2.0 * HINT_SPREAD) * (-(log - hint).abs() / HINT_SPREAD).exp();
                ((1.0 - HINT_WEIGHT) * even + HINT_WEIGHT * near).ln()
            }
            None => even.ln(),
        };
        let prior: Vec<f64> = grid.iter().map(prior).collect();
        let of_noise = |i: usize| -> Vec<f64> { prior.iter().map(|log| log + LARGER * i as f64).collect() };
        let logs = (0..NOISES.len()).map(of_noise).collect();
        Self { grid, step, logs }
    }

    /// Takes in a trial at a load (in logarithms) that counts by `weight`, 0 to 1.
    pub(super) fn vote(&mut self, load: f64, held: bool, weight: f64) {
        for (noise, logs) in NOISES.iter().zip(&mut self.logs) {
            for (capacity, log) in self.grid.iter().zip(logs.iter_mut()) {
                *log += weight * likelihood((capacity - load) / noise, held).ln();
            }
        }
    }

    /// Logs of the lowest and the highest capacity that is weighed.
    pub(super) fn range(&self) -> (f64, f64) {
        (self.grid[0], self.grid[self.grid.len() - 1])
    }

    /// What is known by now; `plateaus` are the logs of the rates that saturated trials got out.
    pub(super) fn known(&self, plateaus: &[f64]) -> Known {
        let handicaps = handicaps(plateaus);
        let weighed =
            |(logs, handicap): (&Vec<f64>, &f64)| logs.iter().copied().fold(f64::NEG_INFINITY, f64::max) + handicap;
        let most = self.logs.iter().zip(&handicaps).map(weighed).fold(f64::NEG_INFINITY, f64::max);
        let mut weights = vec![0.0; self.grid.len()];
        let mut log_noise = 0.0;
        for ((logs, handicap), noise) in self.logs.iter().zip(&handicaps).zip(NOISES) {
            let mut of_noise = 0.0;
            for (weight, log) in weights.iter_mut().zip(logs) {
                let add = (log + handicap - most).exp();
                *weight += add;
                of_noise += add;
            }
            log_noise += of_noise * noise.ln();
        }
        let total: f64 = weights.iter().sum();
        let mut below = 0.0;
        let cumulative = weights.iter().map(|weight| {
            below += weight / total;
            below
        });
        let cumulative = cumulative.collect();
        Known { start: self.grid[0], step: self.step, cumulative, noise: (log_noise / total).exp() }
    }
}

/// Probability of the vote where the capacity lies `distance` standard deviations above the load.
fn likelihood(distance: f64, held: bool) -> f64 {
    let holds = 1.0 / (1.0 + (-distance * LOGISTIC_DEVIATION).exp());
    let agrees = if held { holds } else { 1.0 - holds };
    LAPSES + (1.0 - 2.0 * LAPSES) * agrees
}

/// By how much less plausible noises are that are smaller than the spread seen; in logarithms.
fn handicaps(plateaus: &[f64]) -> Vec<f64> {
    if plateaus.len() < PLATEAUS_MIN {
        return vec![0.0; NOISES.len()];
    }
    let freedom = (plateaus.len() - 1) as f64;
    let squares = variance(plateaus) * freedom;
    let seen = (squares / freedom).sqrt().max(NOISES[0] / 2.0);
    let plausible = |noise: f64| -freedom * noise.ln() - squares / (2.0 * noise * noise);
    let handicap = |noise: &f64| if *noise < seen { plausible(*noise) - plausible(seen) } else { 0.0 };
    NOISES.iter().map(handicap).collect()
}

/// What is known of the capacity.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Log of the first capacity.
    start: f64,
    step: f64,
    /// Share of the belief up to each capacity.
    cumulative: Vec<f64>,
    /// Standard deviation of the log of the capacity from trial to trial.
    pub(super) noise: f64,
}

impl Known {
    /// Log of the capacity that this share of the belief lies below.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let at = self.cumulative.partition_point(|below| *below < share).min(self.cumulative.len() - 1);
        let before = if at == 0 { 0.0 } else { self.cumulative[at - 1] };
        let inside = (share - before) / (self.cumulative[at] - before).max(f64::MIN_POSITIVE);
        self.start + self.step * (at as f64 + inside.clamp(0.0, 1.0) - 0.5)
    }

    /// Share of the belief below a capacity (in logarithms).
    pub(super) fn below(&self, capacity: f64) -> f64 {
        let place = (capacity - self.start) / self.step + 0.5;
        if place.is_nan() || place <= 0.0 {
            return 0.0;
        }
        let at = place.floor() as usize;
        if at >= self.cumulative.len() {
            return 1.0;
        }
        let before = if at == 0 { 0.0 } else { self.cumulative[at - 1] };
        before + place.fract() * (self.cumulative[at] - before)
    }

    /// True if the capacity may lie below the grid, and above it.
    pub(super) fn is_at_edge(&self) -> (bool, bool) {
        let (first, last) = (self.start, self.start + self.step * (self.cumulative.len() - 1) as f64);
        let inside = EDGE_POINTS * self.step;
        (self.below(first + inside) > EDGE_SHARE, 1.0 - self.below(last - inside) > EDGE_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const STEP: f64 = 0.0025;

    fn belief(hint: Option<f64>) -> Belief {
        Belief::new(7.0 - 0.5, 7.0 + 0.5, STEP, hint)
    }

    #[test]
    fn before_any_vote_all_capacities_are_alike_and_a_hint_draws_half_of_the_belief() {
        let known = belief(None).known(&[]);
        assert!((known.quantile(0.5) - 7.0).abs() < STEP && (known.below(6.75) - 0.25).abs() < 0.01);
        let hinted = belief(Some(7.2)).known(&[]);
        assert!(hinted.below(7.35) - hinted.below(7.05) > 0.5 && hinted.below(6.9) > 0.15);
    }

    #[test]
    fn quantiles_and_shares_are_inverse() {
        let mut belief = belief(None);
        belief.vote(6.9, true, 1.0);
        belief.vote(7.1, false, 0.5);
        let known = belief.known(&[]);
        for share in [0.015, 0.1, 0.5, 0.9, 0.985] {
            assert!((known.below(known.quantile(share)) - share).abs() < 1e-9, "{share}");
        }
        assert_eq!((known.below(0.0), known.below(20.0)), (0.0, 1.0));
        assert!(known.quantile(0.0) >= 6.5 - STEP && known.quantile(1.0) <= 7.5 + STEP);
    }

    #[test]
    fn bisection_of_a_quiet_server_ends_at_its_capacity() {
        let mut belief = belief(None);
        for _ in 0..16 {
            let load = belief.known(&[]).quantile(0.5);
            belief.vote(load, load <= 7.123, 1.0);
        }
        let known = belief.known(&[]);
        let (low, high) = (known.quantile(0.015), known.quantile(0.985));
        assert!(
            low < 7.123 && 7.123 < high && high - low < 0.06 && known.noise < 0.015,
            "{low} {high} {}",
            known.noise
        );
    }

    #[test]
    fn noise_makes_it_less_sure_and_is_seen() {
        let mut covered = 0;
        for seed in 0..200 {
            let mut noise = Noise::new(seed);
            let mut belief = belief(None);
            let mut plateaus = Vec::new();
            for _ in 0..25 {
                let load = belief.known(&plateaus).quantile(0.5);
                let capacity = 7.05 + 0.04 * noise.normal();
                if load > capacity + 0.01 {
                    plateaus.push(capacity);
                }
                belief.vote(load, load <= capacity, 1.0);
            }
            let known = belief.known(&plateaus);
            covered += usize::from(known.quantile(0.015) <= 7.05 && 7.05 <= known.quantile(0.985));
            assert!(known.quantile(0.985) - known.quantile(0.015) < 0.2 && known.noise > 0.01, "{seed}");
        }
        assert!(covered >= 188, "{covered} of 200");
    }

    #[test]
    fn the_spread_of_what_was_got_out_rules_smaller_noises_out() {
        let spread = [6.95, 7.05, 7.0, 6.9, 7.1];
        assert!(belief(None).known(&spread).noise > 2.0 * belief(None).known(&[]).noise);
        assert_eq!(handicaps(&spread[..2]), [0.0; 7]);
        assert!(handicaps(&[7.0; 9]).iter().all(|handicap| *handicap == 0.0));
    }

    #[test]
    fn a_capacity_beyond_the_grid_is_noticed() {
        let mut belief = belief(None);
        assert_eq!(belief.known(&[]).is_at_edge(), (true, true), "nothing is known");
        belief.vote(6.9, true, 1.0);
        belief.vote(7.1, false, 1.0);
        belief.vote(6.95, true, 1.0);
        belief.vote(7.05, false, 1.0);
        assert_eq!(belief.known(&[]).is_at_edge(), (false, false));
        for _ in 0..6 {
            belief.vote(7.49, true, 1.0);
        }
        assert_eq!(belief.known(&[]).is_at_edge(), (false, true));
    }
}
