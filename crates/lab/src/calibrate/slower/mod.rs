//! Is it slower? The answer of `plimsoll compare` beside the answers of crank and of sitespeed.io, from the same machine time.

mod crank;
mod plimsoll;
mod sitespeed;

use super::environment::{Environment, Machine};
use super::section::{Section, percent, quantile};
use crate::markdown::{Page, Table};
use crank::Threshold;
use sitespeed::Test;

/// Machine time that every way may use, a little under three minutes; s.
const BUDGET_S: f64 = 170.0;
/// Trials for which that time is enough. A trial is one measurement of one variant, with the start of its server.
const TRIALS: usize = 36;
/// Changes: one that has to be found, and one that does not matter, as it is within the margin.
const SLOWER: f64 = 1.03;
const LITTLE_SLOWER: f64 = 1.01;
const MARGIN: f64 = 0.02;
/// Standard deviation of the ratio of a block of a real server on a quiet machine, for which there is the goal.
const SPREAD: f64 = 0.010;
/// The same of a server that varies more.
const WIDER_SPREAD: f64 = 0.013;
/// Goals of plimsoll: share of the comparisons without a change that report one, and of those of the change that is found.
const FLAGGED: std::ops::RangeInclusive<f64> = 0.0..=0.05;
const CALLED: std::ops::RangeInclusive<f64> = 0.8..=1.0;

/// Machines, each with the standard deviation of the ratio of a block on it, were it quiet.
const MACHINES: [(Environment, f64); 6] = [
    (Environment::Quiet, SPREAD),
    (Environment::Quiet, WIDER_SPREAD),
    (Environment::Drift, SPREAD),
    (Environment::Step, SPREAD),
    (Environment::HeavyTails, SPREAD),
    (Environment::SlowTrials, SPREAD),
];

/// A way to tell whether a variant is slower.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Plimsoll,
    CrankCompare,
    RegressionBot(Threshold),
    Sitespeed(Test),
}

impl Way {
    const ALL: [Self; 6] = [
        Self::Plimsoll,
        Self::CrankCompare,
        Self::RegressionBot(Threshold::Deviations(2.0)),
        Self::RegressionBot(Threshold::Share(MARGIN)),
        Self::Sitespeed(Test::MannWhitney),
        Self::Sitespeed(Test::Wilcoxon),
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::Plimsoll => "`plimsoll compare`",
            Self::CrankCompare => "`crank compare`",
            Self::RegressionBot(Threshold::Deviations(_)) => "crank's RegressionBot, 2 deviations",
            Self::RegressionBot(Threshold::Share(_)) => "crank's RegressionBot, 2 %",
            Self::Sitespeed(Test::MannWhitney) => "sitespeed.io, Mann-Whitney",
            Self::Sitespeed(Test::Wilcoxon) => "sitespeed.io, Wilcoxon",
        }
    }

    /// The answer about a variant whose requests take `ratio` times as long as those of the baseline.
    fn answer(self, machine: Machine, ratio: f64, seed: u64) -> Answer {
        match self {
            Self::Plimsoll => plimsoll::answer(machine, ratio, seed),
            Self::CrankCompare => crank::compare(&Halves::measure(machine, ratio)),
            Self::RegressionBot(threshold) => crank::regression_bot(&Halves::measure(machine, ratio), threshold),
            Self::Sitespeed(test) => sitespeed::compare(&Halves::measure(machine, ratio), test),
        }
    }
}

/// What a way reports of one comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    /// True if any change is reported, also one that does not matter.
    is_flagged: bool,
    is_worse: bool,
    is_better: bool,
    /// Trials that it took.
    trials: usize,
}

impl Answer {
    /// The answer of a way that reports nothing but a variant that is worse or better, and always takes all trials.
    const fn of_all_trials(is_worse: bool, is_better: bool) -> Self {
        Self { is_flagged: is_worse || is_better, is_worse, is_better, trials: TRIALS }
    }
}

/// Times of all trials of a baseline, and then of all trials of a variant: how the other tools measure.
#[derive(Debug, PartialEq)]
struct Halves {
    baseline: Vec<f64>,
    variant: Vec<f64>,
}

impl Halves {
    fn measure(mut machine: Machine, ratio: f64) -> Self {
        // The figure of a machine falls where it is slow, as a rate does; a time rises.
        let mut times = |ratio: f64| (0..TRIALS / 2).map(|_| ratio / machine.trial().exp()).collect();
        Self { baseline: times(1.0), variant: times(ratio) }
    }
}

/// Shares of the answers, and the median time that they took.
#[derive(Debug)]
struct Shares {
    flagged: f64,
    worse: f64,
    better: f64,
    seconds: f64,
}

impl Shares {
    /// So many comparisons by this way; each has a machine of its own, of the same kind.
    fn of(way: Way, (environment, spread): (Environment, f64), ratio: f64, runs: u64) -> Self {
        // The ratio of two trials varies by the square root of 2 more than each of them.
        let machine = |seed| Machine::new(environment, spread / std::f64::consts::SQRT_2, TRIALS, seed);
        let answers: Vec<Answer> = (0..runs).map(|seed| way.answer(machine(seed), ratio, seed)).collect();
        let share = |is: fn(&Answer) -> bool| answers.iter().filter(|answer| is(answer)).count() as f64 / runs as f64;
        let mut seconds: Vec<f64> =
            answers.iter().map(|answer| BUDGET_S * answer.trials as f64 / TRIALS as f64).collect();
        Self {
            flagged: share(|answer| answer.is_flagged),
            worse: share(|answer| answer.is_worse),
            better: share(|answer| answer.is_better),
            seconds: quantile(&mut seconds, 0.5),
        }
    }
}

/// Answers about no change, about a change of 3 % and about one of 1 %, by machine and way.
pub(super) fn section(runs: u64) -> Section {
    let mut section = Section::default();
    let mut table = Table::new(COLUMNS);
    for machine in MACHINES {
        let (environment, spread) = machine;
        let words = format!("{}, {}", environment.words(), percent(spread));
        for way in Way::ALL {
            let [itself, slower, little_slower] =
                [1.0, SLOWER, LITTLE_SLOWER].map(|ratio| Shares::of(way, machine, ratio, runs));
            if way == Way::Plimsoll {
                section.expect(&format!("slower, {words}, A/A flagged"), itself.flagged, FLAGGED, runs);
            }
            if way == Way::Plimsoll && machine == MACHINES[0] {
                section.expect(&format!("slower, {words}, 3 % called worse"), slower.worse, CALLED, runs);
            }
            let shares = [itself.flagged, slower.worse, slower.better, little_slower.worse].map(percent);
            let seconds = [itself.seconds, slower.seconds].map(|seconds| format!("{seconds:.0} s"));
            table.texts([words.clone(), way.words().to_owned()].into_iter().chain(shares).chain(seconds));
        }
    }
    let page = Page::default().section("Is it slower? The ways of other tools");
    section.page = page.block(TEXT).block(table).block(CONCLUSION);
    section
}

const COLUMNS: &str = "machine, spread of a block | way | A/A flagged | 3 % called worse | called better | \
                       1 % called worse | time, A/A | time, 3 %";

const TEXT: &str = "\
Each way has the same machine time, 170 s, in which 18 blocks of two trials fit. The variant takes as long as the
baseline (*A/A*), or 3 % longer. The machines are those above. The spread is the standard deviation of the ratio of the
two trials of a block on a quiet machine; a fixed load of real servers has about 1.0 to 1.3 %.

- *`plimsoll compare`*: `stats::Looks` with a margin of 2 %. It ends after 6 or 12 blocks if the change can be called,
  after any block if the interval is narrow enough (± 0.6 %), and after 18 in any case. Here a variant is measured to
  the end before the next one of the block. In a real comparison the variants take turns within a second, so that a
  drift or a step changes their ratio less than it does here.
- *`crank compare`*: `crank --iterations 18 --exclude 1` for the baseline and then for the variant: the highest and the
  lowest iteration are left out, and the others are averaged (`src/Microsoft.Crank.Controller/Program.cs`). `crank
  compare` prints the change of the averages in percent and judges nothing (`ResultComparer.cs` there). Here its reader
  calls a change worse or better if it is more than 2 %.
- *crank's RegressionBot* reads a series of runs, of which the last 18 are those of the variant. It reports a change
  where the next two runs after a run differ from that run by less than the threshold, and the two runs after these
  differ from it by at least the threshold, both in the same direction
  (`src/Microsoft.Crank.RegressionBot/Program.cs`). The threshold is 2 standard deviations of the last 7 runs, as the
  team of ASP.NET has set it (`build/regressions.config.yml` of aspnet/Benchmarks), or 2 % of their average. A report
  counts wherever in the series it is.
- *sitespeed.io*: its compare plugin (`lib/plugins/compare`) tests whether the 18 iterations of the variant are greater
  than the 18 of the baseline. A p-value below 0.05 is significant, however small the change is. The default is the
  Mann-Whitney U test without a correction for continuity; the signed-rank test of Wilcoxon takes the n-th iterations of
  both for a pair. The plugin recommends at least 20 iterations.

The rules are those of crank 0.2.0-alpha (commit e5f71f49), aspnet/Benchmarks (commit 012efec6) and sitespeed.io 42.3.0.

- *A/A flagged*: any change is reported although there is none; of plimsoll also a *small change*. The goal of plimsoll
  is at most 5 % on every machine.
- *3 % called worse*: the goal of plimsoll is at least 80 % on the quiet machine with a spread of 1.0 %. There is no
  goal for 1.3 %, for which 18 blocks are too few to call it so often. *Called better*: of the same variants.
- *1 % called worse*: of variants that are 1 % slower, which is less than matters.
- *Time*: median over the comparisons.
";

const CONCLUSION: &str = "\
On a quiet machine the averages and the tests of the other tools find 3 % more often than plimsoll does: they always
take all the time, and call a change whose interval is not wholly beyond the margin. The tests also call changes that do
not matter, and no way but that of plimsoll keeps its error rate on machines that drift or change in between.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(spread: f64) -> Machine {
        Machine::new(Environment::Quiet, spread, TRIALS, 3)
    }

    #[test]
    fn every_way_finds_a_large_change_and_none_takes_more_than_its_time() {
        for way in Way::ALL {
            let answer = way.answer(quiet(0.002), 1.2, 3);
            assert!(answer.is_flagged && answer.is_worse && !answer.is_better, "{way:?}: {answer:?}");
            assert!((12..=TRIALS).contains(&answer.trials), "{way:?}: {answer:?}");
        }
    }

    #[test]
    fn a_faster_variant_is_called_better_by_those_that_ask_for_it() {
        let better: Vec<bool> = Way::ALL.map(|way| way.answer(quiet(0.002), 1.0 / 1.2, 3).is_better).to_vec();
        assert_eq!(better, [true, true, true, true, false, false], "sitespeed.io asks for what is slower alone");
    }

    /// The step makes everything slower, and the variant of a tool that measures one after the other gets the blame.
    #[test]
    fn a_machine_that_becomes_slower_makes_the_times_of_the_variant_longer() {
        let all = |way| Shares::of(way, (Environment::Step, 0.001), 1.0, 200);
        assert!(all(Way::CrankCompare).worse > 0.7 && all(Way::CrankCompare).better < 0.01);
        assert!(all(Way::Sitespeed(Test::MannWhitney)).worse > 0.7);
        assert!(all(Way::Plimsoll).flagged < 0.05);
    }

    #[test]
    fn goals_are_of_plimsoll_and_are_met_by_few_runs() {
        let Section { page, missed } = section(60);
        assert_eq!(missed, [""; 0]);
        let rows = page.to_string().lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(rows, 2 + MACHINES.len() * Way::ALL.len());
    }
}
