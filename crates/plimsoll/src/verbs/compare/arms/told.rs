//! What is told of the blocks of a comparison while they are measured.

use super::Arms;
use crate::coordinate::compare::{Asked, Outcome, PILOT};
use model::human::{percent, plural, rate, time};
use model::{Bound, CompareLoad, CompareMetric};

/// What came of a block so far.
#[derive(Default)]
pub(super) struct Told {
    block: u64,
    /// By variant, in the order measured.
    values: Vec<(usize, Vec<String>)>,
    planned: bool,
}

impl Told {
    /// Takes in what a trial of a variant has shown.
    pub(super) fn take(&mut self, arm: usize, shown: Option<String>) {
        match self.values.iter_mut().find(|(of, _)| *of == arm) {
            Some((_, values)) => values.extend(shown),
            None => self.values.push((arm, shown.into_iter().collect())),
        }
    }
}

impl Arms<'_> {
    /// What stands before the progress of a trial.
    pub(super) fn label(&self, asked: &Asked) -> String {
        let what = match (asked.arm, asked.place) {
            (Some(arm), Some(place)) => {
                format!(
                    "'{}' and '{}' at once, {}",
                    self.arm_name(arm),
                    self.arm_name(place.beside),
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
        let told = std::mem::take(&mut self.told.values);
        if told.is_empty() {
            return;
        }
        let arms: Vec<String> =
            told.iter().map(|(arm, values)| format!("'{}' {}", self.arm_name(*arm), values.join(", "))).collect();
        self.progress.line(&format!("block {:>3}  {}", self.told.block + 1, arms.join("; ")));
    }

    /// Tells after the pilot how many blocks the wanted precision needs.
    fn tell_plan(&mut self, asked: &Asked) {
        if asked.counted < PILOT || self.told.planned {
            return;
        }
        self.told.planned = true;
        let needed = asked.blocks_needed;
        let more = needed.saturating_sub(asked.counted).max(1);
        let wanted = asked.wanted.map_or_else(String::new, |wanted| format!(" for intervals of ± {}", percent(wanted)));
        let more_ns = more.saturating_mul(asked.block_ns);
        let fits = if more_ns > asked.left_ns { "; the budget ends before" } else { "" };
        self.progress.line(&format!(
            "{needed} blocks are needed{wanted}: {} more, about {}{fits}",
            plural(more, "block"),
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
        if asked.is_block_again {
            self.progress.line("again the whole block: one variant was disturbed more than the others");
        }
    }
}

/// What a trial has shown, in a word or two.
pub(super) fn words(load: CompareLoad, outcome: &Outcome) -> Option<String> {
    let metric = match load {
        CompareLoad::Saturated => CompareMetric::GoodputPerS,
        CompareLoad::Capacity => CompareMetric::CapacityPerS,
        CompareLoad::Canary | CompareLoad::Fixed | CompareLoad::Stored => CompareMetric::ServerCpuNsPerRequest,
    };
    let value = |metric| outcome.values.get(&metric).copied();
    match metric {
        CompareMetric::GoodputPerS => value(metric).map(rate),
        CompareMetric::CapacityPerS => {
            let sign = match outcome.bound {
                Some(Bound::AtLeast) => ">= ",
                Some(Bound::AtMost) => "<= ",
                None => "",
            };
            value(metric).map(|per_s| format!("capacity {sign}{}", rate(per_s)))
        }
        _ => value(metric)
            .map(|ns| format!("{} CPU", time(ns)))
            .or_else(|| value(CompareMetric::ResponseP50Ns).map(|ns| format!("p50 {}", time(ns)))),
    }
}

/// Time that is left, as far as it is known: before the spread is known, all of it.
fn left(asked: &Asked) -> String {
    let is_spread_known = asked.wanted.is_none() || asked.counted >= PILOT;
    let more = asked.blocks_needed.saturating_sub(asked.counted);
    let by_need = if is_spread_known { more.saturating_mul(asked.block_ns) } else { u64::MAX };
    format!("about {} left", time(by_need.min(asked.left_ns) as f64))
}
