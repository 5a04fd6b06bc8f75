//! Machines that are not quiet: how the figure of a trial differs from what it would be.

use super::random::Random;

/// What happens on a machine while it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Environment {
    /// Each trial is off by normal noise.
    Quiet,
    /// Besides, the level drifts: first-order autoregression from trial to trial with coefficient 0.95 and a standard
    /// deviation of 5 %.
    Drift,
    /// Besides, everything gets 10 % slower at some trial of the comparison.
    Step,
    /// The noise is Student's t with 2.5 degrees of freedom.
    HeavyTails,
    /// Besides, each tenth trial is slower by 10 % on average, exponentially distributed.
    SlowTrials,
}

impl Environment {
    pub(super) const ALL: [Self; 5] = [Self::Quiet, Self::Drift, Self::Step, Self::HeavyTails, Self::SlowTrials];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Drift => "drift",
            Self::Step => "step",
            Self::HeavyTails => "heavy tails",
            Self::SlowTrials => "slow trials",
        }
    }
}

const DRIFT: f64 = 0.05;
const DRIFT_KEPT: f64 = 0.95;
const STEP: f64 = -0.1;
const TAIL_FREEDOM: f64 = 2.5;
const SLOW_SHARE: f64 = 0.1;
const SLOWER_BY: f64 = 0.1;

/// A machine, trial by trial.
#[derive(Debug)]
pub(super) struct Machine {
    environment: Environment,
    noise: f64,
    random: Random,
    level: f64,
    /// Trials until the step.
    steady: f64,
}

impl Machine {
    /// With noise of this standard deviation from trial to trial, relative. The step comes within `trials`.
    pub(super) fn new(environment: Environment, noise: f64, trials: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let level = DRIFT * random.normal();
        let steady = trials as f64 * random.uniform();
        Self { environment, noise, random, level, steady }
    }

    /// Log of what the figure of the next trial is multiplied by.
    pub(super) fn trial(&mut self) -> f64 {
        self.steady -= 1.0;
        self.level = DRIFT_KEPT * self.level + DRIFT * (1.0 - DRIFT_KEPT * DRIFT_KEPT).sqrt() * self.random.normal();
        let noise = self.noise * self.random.normal();
        match self.environment {
            Environment::Quiet => noise,
            Environment::Drift => noise + self.level,
            Environment::Step => noise + if self.steady < 0.0 { STEP } else { 0.0 },
            Environment::HeavyTails => self.noise * self.random.student(TAIL_FREEDOM),
            Environment::SlowTrials if self.random.uniform() <= SLOW_SHARE => {
                noise - self.random.exponential(SLOWER_BY)
            }
            Environment::SlowTrials => noise,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(environment: Environment) -> f64 {
        let mut machine = Machine::new(environment, 0.02, 20_000, 3);
        let trials: Vec<f64> = (0..20_000).map(|_| machine.trial()).collect();
        stats::variance(&trials).sqrt()
    }

    #[test]
    fn each_adds_to_the_noise() {
        assert!((spread(Environment::Quiet) - 0.02).abs() < 0.001);
        let drift = spread(Environment::Drift);
        assert!((drift - 0.02_f64.hypot(DRIFT)).abs() < 0.01, "{drift}");
        for environment in [Environment::Step, Environment::HeavyTails, Environment::SlowTrials] {
            assert!(spread(environment) > 0.025, "{environment:?}");
        }
    }
}
