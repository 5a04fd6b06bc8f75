//! Searches for the capacity of a variant within a block.

use crate::cli::compare::CompareArgs;
use crate::coordinate::capacity::{Asked, CapacityWalk};
use crate::coordinate::{Measure, walk};
use crate::exit::CommandError;
use crate::journal::Journal;
use crate::session::Session;
use crate::settings::capacity::REST_NS;
use crate::settings::compare::CompareOptions;
use crate::verbs::capacity::{bracket_text, judge_trial, measure_trial};
use clock::monotonic_ns;
use judge::goal::Goal;
use model::human::rate;
use model::{CapacitySettings, CompareLoad, SessionEvent, Stop, TrialMade, Warmup};
use stats::CapacityOutcome;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One search.
pub(super) struct BlockSearched<'a> {
    pub(super) args: &'a CompareArgs,
    pub(super) options: &'a CompareOptions,
    /// That of the comparison.
    pub(super) journal: &'a mut Journal,
    /// What the names of its trials begin with.
    pub(super) name: &'a str,
    /// What stands before the progress of each trial.
    pub(super) label: &'a str,
    pub(super) session: &'a mut Session,
    pub(super) stop: &'a AtomicBool,
}

impl BlockSearched<'_> {
    /// Searches until its time is over.
    pub(super) fn search(self, goal: &Goal, settings: CapacitySettings, pilot_per_s: f64) -> Result<(), CommandError> {
        self.journal.tell(SessionEvent::Search { settings, pilot_per_s });
        let stop = self.stop;
        walk(&mut CapacityWalk::new(settings), &mut Trials { of: self, goal }, stop)
    }

    /// Warm-up of a trial: a server that was under another load of the block is warm.
    fn warmup(&self, number: u64) -> Option<Warmup> {
        let is_cold = number == 1 && self.options.loads == [CompareLoad::Capacity];
        if is_cold { Some(self.options.warmup) } else { self.options.capacity.as_ref().map(|search| search.warmup) }
    }
}

/// The trials of a search.
struct Trials<'a> {
    of: BlockSearched<'a>,
    goal: &'a Goal,
}

impl Measure<CapacityWalk> for Trials<'_> {
    /// The directory of its events, and how it was made.
    type Measured = (String, TrialMade);

    fn measure(&mut self, asked: &Asked) -> Result<(CapacityOutcome, (String, TrialMade)), CommandError> {
        let begin_ns = monotonic_ns();
        let trial = &asked.trial;
        std::thread::sleep(Duration::from_nanos(REST_NS));
        let of = &mut self.of;
        let warmup = of.warmup(trial.number).unwrap_or(of.options.warmup);
        let load = of.options.searched_load(of.args, trial.load_per_s)?;
        let plan = of.session.plan(load, Stop::Duration { duration_ns: trial.duration_ns }, warmup);
        let name = format!("{}-{}-{:.0}", of.name, trial.number, trial.load_per_s);
        let label = format!("{}{}; at {}: ", of.label, bracket_text(asked.bracket), rate(trial.load_per_s));
        let (directory, made) = measure_trial((of.session, of.journal), &name, (plan, asked), &label, begin_ns)?;
        let judged = judge_trial(self.goal, of.session, of.journal, &directory, &made)?;
        Ok((judged.outcome, (directory, made)))
    }

    fn is_whole(&self) -> Result<(), CommandError> {
        self.of.session.check_agents()
    }

    fn leave_out(&mut self, (directory, _): (String, TrialMade)) {
        self.of.journal.leave_out(&directory);
    }

    fn keep(&mut self, _asked: &Asked, (directory, made): (String, TrialMade)) -> Result<(), CommandError> {
        self.of.journal.tell(SessionEvent::Trial { directory, trial: made });
        // A server that has ended leaves nothing more to try.
        self.of.session.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use crate::settings::capacity::CapacityOptions;
    use clap::Parser;
    use model::NS_PER_S;
    use stats::{CapacitySearch, effect};

    const BLOCKS: u64 = 6;
    const COMPARISONS: u64 = 200;
    /// Start, rest and what is waited for at the end of a trial.
    const AROUND_NS: u64 = NS_PER_S * 6 / 5;

    fn options() -> CapacityOptions {
        let words = ["plimsoll", "compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/", "--capacity"];
        let Verb::Compare(args) = Cli::try_parse_from(words).unwrap().verb else { panic!("another verb") };
        CapacityOptions::in_blocks(&args).unwrap_or_else(|error| panic!("{}", error.message))
    }

    /// Random numbers, about normal, of variance 1.
    struct Noise(u64);

    impl Noise {
        fn normal(&mut self) -> f64 {
            let mut uniform = || {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        }
    }

    /// What the search of a block finds on a server of a capacity that differs by `noise` from trial to trial.
    fn found(settings: CapacitySettings, capacity_per_s: f64, noise: f64, random: &mut Noise) -> f64 {
        let mut search = CapacitySearch::new(settings);
        while let Some(trial) = search.next() {
            let capacity_per_s = capacity_per_s * (noise * random.normal()).exp();
            search.apply(&CapacityOutcome {
                conditions: vec![trial.load_per_s <= capacity_per_s],
                achieved_per_s: trial.load_per_s.min(capacity_per_s),
                measured_ns: trial.duration_ns,
                took_ns: trial.duration_ns + AROUND_NS,
                ..CapacityOutcome::default()
            });
        }
        search.result().estimate_per_s.expect("it has held and failed").value
    }

    /// Ratios with their intervals of comparisons of a server with one of `ratio` times its capacity, whose closed loops
    /// differed by 3 %.
    fn compared(ratio: f64, noise: f64) -> Vec<model::Estimate> {
        let options = options();
        let of = |comparison| {
            let mut random = Noise(comparison);
            let pairs: Vec<(f64, f64)> = (0..BLOCKS)
                .map(|block| {
                    let level = 1_000.0 * (0.02 * random.normal()).exp();
                    let place = comparison * BLOCKS + block;
                    let mut search = |arm, pilot_per_s: f64, capacity_per_s| {
                        found(options.search_in_block(pilot_per_s, place, arm), capacity_per_s, noise, &mut random)
                    };
                    (search(0, 1_050.0, level), search(1, 1_080.0 * ratio, level * ratio))
                })
                .collect();
            effect(&pairs, 0.95).expect("there are blocks").ratio
        };
        (0..COMPARISONS).map(of).collect()
    }

    #[test]
    fn equal_capacities_are_told_apart_in_one_of_twenty_comparisons_however_little_they_vary() {
        for noise in [0.0, 0.01, 0.03] {
            let apart = |ratio: &&model::Estimate| ratio.low > Some(1.0) || ratio.high < Some(1.0);
            let share = compared(1.0, noise).iter().filter(apart).count() as f64 / COMPARISONS as f64;
            assert!(share <= 0.09, "noise {noise}: {share}");
        }
    }

    #[test]
    fn a_known_ratio_of_capacities_is_in_the_interval_and_is_seen() {
        let ratios = compared(0.9, 0.01);
        let holds = ratios.iter().filter(|ratio| ratio.low <= Some(0.9) && ratio.high >= Some(0.9)).count();
        let sees = ratios.iter().filter(|ratio| ratio.high < Some(0.98)).count();
        let of = |count: usize| count as f64 / COMPARISONS as f64;
        assert!(of(holds) >= 0.9 && of(sees) >= 0.9, "{} {}", of(holds), of(sees));
    }
}
