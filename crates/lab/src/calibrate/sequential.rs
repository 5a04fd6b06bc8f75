//! The design that most published comparisons have: all trials of the baseline, then all of the variant, and a t test.

use super::environment::Machine;
use stats::{mean, variance};

/// Trials of each, and the critical value of Student's t at 5 %, two-sided, for twice as many less two degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequential {
    pub(super) trials: usize,
    critical: f64,
}

/// Three iterations, as is usual.
pub(super) const THREE: Sequential = Sequential { trials: 3, critical: 2.776 };
pub(super) const TWELVE: Sequential = Sequential { trials: 12, critical: 2.074 };

impl Sequential {
    /// -1, 0 or 1: the variant is significantly lower, not significantly different, or higher.
    pub(super) fn compare(self, machine: &mut Machine, ratio: f64) -> i32 {
        let baseline: Vec<f64> = (0..self.trials).map(|_| machine.trial().exp()).collect();
        let variant: Vec<f64> = (0..self.trials).map(|_| ratio * machine.trial().exp()).collect();
        let difference = mean(&variant) - mean(&baseline);
        let error = ((variance(&baseline) + variance(&variant)) / self.trials as f64).sqrt();
        match difference / error {
            t if t > self.critical => 1,
            t if t < -self.critical => -1,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::Environment;
    use super::*;

    #[test]
    fn it_keeps_its_error_rate_on_a_quiet_machine_only() {
        for design in [THREE, TWELVE] {
            let flagged = |environment| {
                let of = |seed| design.compare(&mut Machine::new(environment, 0.02, 2 * design.trials, seed), 1.0);
                (0..2000).filter(|seed| of(*seed) != 0).count() as f64 / 2000.0
            };
            let (quiet, drift) = (flagged(Environment::Quiet), flagged(Environment::Drift));
            assert!((0.035..=0.065).contains(&quiet) && drift > 0.1, "{design:?}: {quiet} {drift}");
        }
        let mut machine = Machine::new(Environment::Quiet, 0.001, 24, 1);
        assert_eq!((TWELVE.compare(&mut machine, 1.1), TWELVE.compare(&mut machine, 0.9)), (1, -1));
    }
}
