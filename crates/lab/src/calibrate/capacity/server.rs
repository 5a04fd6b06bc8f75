//! Simulated server of known capacity, and the time that trials on it take.

use super::super::random::Random;
use model::NS_PER_S;
use stats::{CapacityOutcome, runs_away};

/// Warm-up before each trial, and rest after it; s.
const WARMUP_S: f64 = 1.0;
const REST_S: f64 = 0.5;

/// Server whose capacity in each trial is its own times `exp(noise * normal)`, with Poisson arrivals and exponential service.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) capacity_per_s: f64,
    noise: f64,
    random: Random,
    /// Time that all trials took; s.
    pub(super) spent_s: f64,
    pub(super) trials: usize,
}

impl Server {
    pub(super) fn new(capacity_per_s: f64, noise: f64, seed: u64) -> Self {
        Self { capacity_per_s, noise, random: Random::new(seed), spent_s: 0.0, trials: 0 }
    }

    /// A trial that is stopped when its backlog runs away.
    pub(super) fn trial(&mut self, load_per_s: f64, duration_ns: u64) -> CapacityOutcome {
        let seconds = (duration_ns / NS_PER_S) as usize;
        let now_per_s = self.capacity_per_s * (self.noise * self.random.normal()).exp();
        let mut waiting = 0.0;
        let mut backlog = Vec::new();
        let mut ran_away = false;
        for tick in 0..=seconds {
            let wander = (2.0 * load_per_s).sqrt() * self.random.normal();
            waiting = f64::max(waiting + load_per_s - now_per_s + wander, 0.0);
            // the first one is the warm-up
            if tick > 0 {
                backlog.push(waiting);
            }
            ran_away = runs_away(&backlog, load_per_s, 1.0);
            if ran_away {
                break;
            }
        }
        let took_s = WARMUP_S + backlog.len() as f64 + REST_S;
        self.spent_s += took_s;
        self.trials += 1;
        CapacityOutcome {
            conditions: vec![true],
            achieved_per_s: load_per_s.min(now_per_s),
            measured_ns: backlog.len() as u64 * NS_PER_S,
            tick_ns: NS_PER_S,
            took_ns: (took_s * NS_PER_S as f64) as u64,
            backlog,
            ran_away,
            ..CapacityOutcome::default()
        }
    }

    /// A trial of other tools: as long as it was planned, and held if its server kept up.
    pub(super) fn plain_trial(&mut self, load_per_s: f64, duration_s: f64) -> bool {
        self.spent_s += WARMUP_S + duration_s + REST_S;
        self.trials += 1;
        load_per_s <= self.capacity_per_s * (self.noise * self.random.normal()).exp()
    }
}
