//! What is told of the blocks of a comparison while they are measured.

use super::Arms;
use crate::coordinate::compare::{Asked, Outcome, PILOT};
use crate::result::uneven_words;
use model::human::{plural, rate, time};
use model::{Bound, CompareLoad, CompareMetric};

/// What came of a block so far.
#[derive(Default)]
pub(super) struct Told {
    block: u64,
    /// By variant, in the order measured, and load.
    outcomes: Vec<(usize, CompareLoad, Vec<Outcome>)>,
    /// Blocks that were needed when it was told last.
    planned: u64,
}

impl Told {
    /// Takes in what a trial of a variant has shown.
    pub(super) fn take(&mut self, arm: usize, load: CompareLoad, outcome: Outcome) {
        match self.outcomes.iter_mut().find(|(of, at, _)| (*of, *at) == (arm, load)) {
            Some((.., outcomes)) => outcomes.push(outcome),
            None => self.outcomes.push((arm, load, vec![outcome])),
        }
    }
}

impl Arms<'_> {
    /// What stands before the progress of a trial.
    pub(super) fn label(&self, asked: &Asked) -> String {
        let what = match (asked.arm, asked.place) {
            (Some(arm), Some(place)) => {
                format!(
                    "'{}' and '{}' {}, {}",
                    self.arm_name(arm),
                    self.arm_name(place.beside),
                    if self.options.is_in_turns { "in turns" } else { "at once" },
                    asked.load.words()
                )
            }
            (Some(arm), None) => format!("'{}', {}", self.arm_name(arm), asked.load.words()),
            (None, _) => "canary".to_owned(),
        };
        let what = if asked.is_again { format!("{what} again, as it was disturbed") } else { what };
        format!("block {} of about {}, {what}; {}: ", asked.counted + 1, asked.blocks_needed, left(asked))
    }

    /// Tells what came of the last block, and how many more there will be.
    pub(super) fn tell_block(&mut self) {
        let told = std::mem::take(&mut self.told.outcomes);
        if told.is_empty() {
            return;
        }
        let mut by_arm: Vec<(usize, Vec<String>)> = Vec::new();
        for (arm, load, outcomes) in &told {
            let shown = words(*load, outcomes);
            match by_arm.iter_mut().find(|(of, _)| of == arm) {
                Some((_, values)) => values.extend(shown),
                None => by_arm.push((*arm, shown.into_iter().collect())),
            }
        }
        let arms: Vec<String> =
            by_arm.iter().map(|(arm, values)| format!("'{}' {}", self.arm_name(*arm), values.join(", "))).collect();
        self.progress.line(&format!("block {:>3}  {}", self.told.block + 1, arms.join("; ")));
    }

    /// Tells at each look that has not decided everything after how many blocks it is looked next.
    fn tell_plan(&mut self, asked: &Asked) {
        let needed = asked.blocks_needed;
        if asked.counted < PILOT || asked.is_fixed || self.told.planned > asked.counted {
            return;
        }
        self.told.planned = needed;
        let more = needed.saturating_sub(asked.counted).max(1);
        let more_ns = more.saturating_mul(asked.block_ns);
        let fits = if more_ns > asked.left_ns { "; the budget ends before" } else { "" };
        self.progress.line(&format!(
            "after {} not every change can be called; the next look is after {}, in about {}{fits}",
            plural(asked.counted, "block"),
            plural(needed, "block"),
            time(more_ns as f64)
        ));
    }

    /// Tells, before the first trial of another block, what came of the last one and what is to come.
    pub(super) fn tell_before(&mut self, asked: &Asked) {
        if asked.block == self.told.block {
            return;
        }
        self.tell_block();
        self.told.block = asked.block;
        self.tell_plan(asked);
        if let Some(uneven) = &asked.block_before {
            let why = uneven_words(uneven, |arm| self.arm_name(arm).to_owned());
            self.progress.line(&format!("that block does not count, and is measured again: {why}"));
        }
    }
}

/// What the trials of a variant at a load have shown, in a word or two.
fn words(load: CompareLoad, outcomes: &[Outcome]) -> Option<String> {
    let value = |metric| {
        let known = outcomes.iter().map(|outcome| outcome.values.get(&metric).copied());
        let known: Vec<f64> = known.collect::<Option<_>>()?;
        Some(stats::geometric_mean(&known))
    };
    match load {
        CompareLoad::Saturated => value(CompareMetric::GoodputPerS).map(rate),
        CompareLoad::Capacity => {
            let sign = match outcomes.iter().find_map(|outcome| outcome.bound) {
                Some(Bound::AtLeast) => ">= ",
                Some(Bound::AtMost) => "<= ",
                None => "",
            };
            value(CompareMetric::CapacityPerS).map(|per_s| format!("capacity {sign}{}", rate(per_s)))
        }
        CompareLoad::Canary | CompareLoad::Fixed | CompareLoad::Stored => value(CompareMetric::ServerCpuNsPerRequest)
            .map(|ns| format!("{} CPU", time(ns)))
            .or_else(|| value(CompareMetric::ResponseP50Ns).map(|ns| format!("p50 {}", time(ns)))),
    }
}

/// Time that is left, as far as it is known: before the spread is known, all of it.
fn left(asked: &Asked) -> String {
    let is_spread_known = asked.is_fixed || asked.counted >= PILOT;
    let more = asked.blocks_needed.saturating_sub(asked.counted);
    let by_need = if is_spread_known { more.saturating_mul(asked.block_ns) } else { u64::MAX };
    format!("about {} left", time(by_need.min(asked.left_ns) as f64))
}
