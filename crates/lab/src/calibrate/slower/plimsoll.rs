//! `plimsoll compare`: looks after 6, 12, 24, ... blocks, and an end when the budget is used up.

use super::super::aa::{LOOKS, cpu_time};
use super::super::blocks::Blocks;
use super::super::environment::Machine;
use super::{Answer, TRIALS};
use model::Call;

/// Trials of a block: one of the baseline and one of the variant.
const TRIALS_OF_A_BLOCK: usize = 2;

/// The call at the first look that decides, or when no other block fits into the budget.
pub(super) fn answer(machine: Machine, ratio: f64, seed: u64) -> Answer {
    // Blocks have rates in them, which fall by as much as times rise.
    let mut blocks = Blocks::new(machine, &[1.0 / ratio], seed);
    loop {
        blocks.add(1);
        let times: Vec<(f64, f64)> =
            blocks.pairs[0].iter().map(|(base, variant)| (1.0 / base, 1.0 / variant)).collect();
        let variants = [vec![cpu_time(&times)]];
        let trials = TRIALS_OF_A_BLOCK * blocks.made;
        if LOOKS.look(&variants).is_some() || trials >= TRIALS {
            let call = LOOKS.call(&variants[0][0]);
            return Answer {
                is_flagged: matches!(call, Call::Worse | Call::Better | Call::SmallChange),
                is_worse: call == Call::Worse,
                is_better: call == Call::Better,
                trials,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::environment::Environment;
    use super::*;

    #[test]
    fn what_is_clear_at_the_first_look_takes_six_blocks_and_what_never_is_takes_the_budget() {
        let quiet = |noise: f64| Machine::new(Environment::Quiet, noise, TRIALS, 1);
        let clear = answer(quiet(0.001), 1.03, 1);
        assert_eq!(clear, Answer { is_flagged: true, is_worse: true, is_better: false, trials: 12 });
        let unclear = answer(quiet(0.1), 1.0, 1);
        assert_eq!(unclear, Answer { trials: TRIALS, ..Answer::default() });
    }

    #[test]
    fn a_change_that_does_not_matter_is_flagged_and_neither_worse_nor_better() {
        let small = answer(Machine::new(Environment::Quiet, 0.001, TRIALS, 1), 1.01, 1);
        assert!(small.is_flagged && !small.is_worse && !small.is_better, "{small:?}");
    }
}
