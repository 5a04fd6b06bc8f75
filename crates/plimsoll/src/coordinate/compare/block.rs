//! One block of a comparison: its trials, and whether it counts.

use super::Outcome;
use model::{Bound, CompareLoad, CompareMetric};
use std::collections::{BTreeMap, VecDeque};

/// How often a trial is made again at most.
const REPEATS_MAX: u32 = 1;

/// One block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Variants in the order measured.
    pub(crate) order: Vec<usize>,
    left: VecDeque<Trial>,
    is_duet: bool,
    /// Times that this block was made before.
    repeats: u32,
    /// True if it counts even if it is disturbed.
    counts_anyway: bool,
    /// Trials in the order made; true for each that counts within the block.
    pub(crate) made: Vec<Made>,
}

/// A trial, what came of it, and whether it counts within its block.
pub(crate) type Made = (Trial, Outcome, bool);

/// One trial of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    /// Variant, from 0; none for the canary.
    pub(crate) arm: Option<usize>,
    pub(crate) load: CompareLoad,
    /// Where it runs, and beside which; none of one that is measured by itself.
    pub(crate) place: Option<Place>,
    /// True if it takes the place of another.
    pub(crate) is_again: bool,
    again: u32,
    pub(crate) before: ServedBefore,
}

/// What the server of a trial has done before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedBefore {
    /// It was started, or had a rest.
    Nothing,
    /// It had another load in the same block.
    OtherLoad,
    /// It had the same load in the same block, seconds ago.
    SameLoad,
}

/// Variants of a block of which one was disturbed more than another, or too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Uneven {
    pub(crate) load: CompareLoad,
    /// The variant that was disturbed most, and the share of its windows that was undisturbed.
    pub(crate) most: (usize, f64),
    /// The same of the variant that was disturbed least.
    pub(crate) least: (usize, f64),
}

/// Place of a trial beside another at the same time: in a duet, or where both take turns at sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Set of CPUs, or turn; from 0.
    pub(crate) set: usize,
    /// Variant that is measured at the same time, on the other set or in the other turns.
    pub(crate) beside: usize,
    /// True if that one is asked for next, false if it was asked for before.
    pub(crate) is_first: bool,
}

impl Block {
    /// Each variant once at each of the loads.
    pub(crate) fn new(order: Vec<usize>, loads: &[CompareLoad], repeats: u32, counts_anyway: bool) -> Self {
        let arms = order.iter().flat_map(|arm| loads.iter().map(|load| Trial::new(Some(*arm), *load, None)));
        let trials = arms.collect();
        Self::of(trials, order, false, repeats, counts_anyway)
    }

    /// All servers run, and the variants take turns within seconds: each of them has so many windows at each load. The order of
    /// every other round is that of the round before in reverse, so that what gets slower steadily does so for all alike. A
    /// search is not divided, and a load that two variants have `at_once`, in turns of a tenth of a second, has one window.
    pub(crate) fn in_turns(
        order: Vec<usize>,
        loads: &[CompareLoad],
        (windows, at_once): (u64, Option<CompareLoad>),
        repeats: u32,
        counts_anyway: bool,
    ) -> Self {
        let rounds = loads.iter().enumerate().flat_map(|(nth, load)| {
            let is_one = *load == CompareLoad::Capacity || Some(*load) == at_once;
            (0..if is_one { 1 } else { windows }).map(move |window| {
                let before = match (window, nth) {
                    (0, 0) => ServedBefore::Nothing,
                    (0, _) => ServedBefore::OtherLoad,
                    _ => ServedBefore::SameLoad,
                };
                (*load, before)
            })
        });
        let trials = rounds.enumerate().flat_map(|(round, (load, before))| {
            let mut arms = order.clone();
            if round % 2 == 1 {
                arms.reverse();
            }
            let [one, other] = [arms.first(), arms.last()].map(|arm| arm.copied().unwrap_or_default());
            let is_at_once = Some(load) == at_once;
            arms.into_iter().enumerate().map(move |(turn, arm)| {
                let beside = if turn == 0 { other } else { one };
                let place = Place { set: turn, beside, is_first: turn == 0 };
                Trial { before, ..Trial::new(Some(arm), load, is_at_once.then_some(place)) }
            })
        });
        let trials = trials.collect();
        Self::of(trials, order, false, repeats, counts_anyway)
    }

    /// Two variants at the same time, then once more with their CPUs swapped, so that each was once on each set.
    pub(crate) fn duet(order: Vec<usize>, loads: &[CompareLoad], repeats: u32, counts_anyway: bool) -> Self {
        let [one, other] = [order.first(), order.last()].map(|arm| arm.copied().unwrap_or_default());
        let at_once = |load: CompareLoad, set: usize| {
            let place = |set, beside, is_first| Some(Place { set, beside, is_first });
            [
                Trial::new(Some(one), load, place(set, other, true)),
                Trial::new(Some(other), load, place(1 - set, one, false)),
            ]
        };
        let trials = loads.iter().flat_map(|load| [at_once(*load, 0), at_once(*load, 1)]).flatten().collect();
        Self::of(trials, order, true, repeats, counts_anyway)
    }

    fn of(trials: Vec<Trial>, order: Vec<usize>, is_duet: bool, repeats: u32, counts_anyway: bool) -> Self {
        let left = [Trial::new(None, CompareLoad::Canary, None)].into_iter().chain(trials).collect();
        Self { order, left, is_duet, repeats, counts_anyway, made: Vec::new() }
    }

    /// The same with no canary before its trials.
    pub(crate) fn without_canary(mut self) -> Self {
        self.left.retain(|trial| trial.arm.is_some());
        self
    }

    /// The next trial; none when all are made.
    pub(crate) fn next(&self) -> Option<Trial> {
        self.left.front().copied()
    }

    /// Takes in what came of it. One that says little is made again if it may be, but not of two at the same time.
    pub(crate) fn take(&mut self, outcome: Outcome, may_repeat: bool) {
        let Some(trial) = self.left.pop_front() else { return };
        let may_repeat = may_repeat && trial.arm.is_some() && trial.place.is_none();
        let is_repeated = outcome.says_little && may_repeat && trial.again < REPEATS_MAX;
        if is_repeated {
            self.left.push_front(Trial { is_again: true, again: trial.again + 1, ..trial });
        }
        self.made.push((trial, outcome, !is_repeated));
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// True if the result is made of it: one that will not get better counts as it is.
    pub(crate) fn counts(&self) -> bool {
        self.is_complete() && (self.counts_anyway || !self.is_disturbed())
    }

    /// Times that the block after it will have been made before.
    pub(crate) fn repeats_of_next(&self) -> u32 {
        if self.counts() { 0 } else { self.repeats + 1 }
    }

    /// True if one variant was disturbed more than the others, or too much.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.uneven().is_some()
    }

    /// Which variant was disturbed more than which other, at the first load at which that is so.
    pub(crate) fn uneven(&self) -> Option<Uneven> {
        if self.is_duet {
            let counted: Vec<(&Trial, &Outcome)> = self.counted().collect();
            return counted.chunks_exact(2).find_map(|both| uneven_pair(both[0], both[1]));
        }
        // A load that takes all CPUs may be disturbed more than another, in all variants alike.
        let mut by_load: BTreeMap<CompareLoad, BTreeMap<usize, Vec<Option<f64>>>> = BTreeMap::new();
        for (trial, outcome) in self.counted() {
            let Some(arm) = trial.arm else { continue };
            by_load.entry(trial.load).or_default().entry(arm).or_default().push(outcome.clean_share);
        }
        by_load.into_iter().find_map(|(load, arms)| uneven_load(load, &arms))
    }

    /// The trials that count within the block, without the canary.
    fn counted(&self) -> impl Iterator<Item = (&Trial, &Outcome)> {
        let counted = self.made.iter().filter(|(trial, _, counted)| trial.arm.is_some() && *counted);
        counted.map(|(trial, outcome, _)| (trial, outcome))
    }

    /// What was measured of each variant at each load.
    pub(crate) fn values(&self) -> BTreeMap<(usize, CompareLoad), BTreeMap<CompareMetric, f64>> {
        let mut values: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (trial, outcome) in self.counted() {
            let Some(arm) = trial.arm else { continue };
            let of_arm = values.entry((arm, trial.load)).or_default();
            let known =
                outcome.values.keys().filter_map(|metric| Some((*metric, self.value(arm, trial.load, *metric)?)));
            of_arm.extend(known);
        }
        values
    }

    /// A quantity of a variant; in a duet the geometric mean of both sets of CPUs.
    pub(crate) fn value(&self, arm: usize, load: CompareLoad, metric: CompareMetric) -> Option<f64> {
        self.mean(metric, |trial| (trial.arm, trial.load) == (Some(arm), load))
    }

    /// A quantity on a set of CPUs: the geometric mean of both variants.
    pub(crate) fn value_on(&self, set: usize, load: CompareLoad, metric: CompareMetric) -> Option<f64> {
        self.mean(metric, |trial| trial.load == load && trial.place.is_some_and(|place| place.set == set))
    }

    /// Geometric mean of some trials; none where one of them does not know the quantity.
    fn mean(&self, metric: CompareMetric, is_of: impl Fn(&Trial) -> bool) -> Option<f64> {
        let known = |outcome: &Outcome| outcome.values.get(&metric).copied().filter(|value| *value > 0.0);
        let of = self.counted().filter(|(trial, _)| is_of(trial));
        match of.map(|(_, outcome)| known(outcome)).collect::<Option<Vec<f64>>>()?.as_slice() {
            [] => None,
            [one] => Some(*one),
            all => Some(stats::geometric_mean(all)),
        }
    }

    /// What a variant's value at a load is if it is a bound.
    pub(crate) fn bound(&self, arm: usize, load: CompareLoad) -> Option<Bound> {
        let is_of = |trial: &Trial| (trial.arm, trial.load) == (Some(arm), load);
        let mut counted = self.made.iter().filter(|(trial, _, counted)| *counted && is_of(trial));
        counted.find_map(|(_, outcome, _)| outcome.bound)
    }

    /// What the canary has cost; ns per response.
    pub(crate) fn canary(&self) -> Option<f64> {
        let mut canaries = self.made.iter().filter(|(trial, ..)| trial.arm.is_none());
        canaries.find_map(|(_, outcome, _)| outcome.values.get(&CompareMetric::ServerCpuNsPerRequest).copied())
    }

    /// Undisturbed share of the windows of each variant, mean of its loads; without those of which it is not known.
    pub(crate) fn clean_shares(&self) -> BTreeMap<usize, f64> {
        let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (trial, outcome, _) in self.made.iter().filter(|(_, _, counted)| *counted) {
            if let Some((arm, share)) = trial.arm.zip(outcome.clean_share) {
                let sum = sums.entry(arm).or_default();
                *sum = (sum.0 + share, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(arm, (sum, n))| (arm, sum / n)).collect()
    }

    /// Trials that were made again.
    pub(crate) fn repeated(&self) -> u64 {
        self.made.iter().filter(|(_, _, counted)| !counted).count() as u64
    }

    /// Time that it took so far; ns.
    pub(crate) fn took_ns(&self) -> u64 {
        self.made.iter().map(|(_, outcome, _)| outcome.took_ns).sum()
    }
}

impl Trial {
    const fn new(arm: Option<usize>, load: CompareLoad, place: Option<Place>) -> Self {
        Self { arm, load, place, is_again: false, again: 0, before: ServedBefore::Nothing }
    }
}

/// The variants of two at the same time of which one was disturbed more than the other, or whose figures rest on different parts
/// of the window.
fn uneven_pair(one: (&Trial, &Outcome), other: (&Trial, &Outcome)) -> Option<Uneven> {
    let shares = one.1.clean_share.zip(other.1.clean_share);
    let is_uneven = one.1.says_little != other.1.says_little
        || shares.is_some_and(|(one, other)| stats::should_repeat_duet([one, other]));
    let of = |of: (&Trial, &Outcome)| (of.0.arm.unwrap_or_default(), of.1.clean_share.unwrap_or(1.0));
    let ((most, least), load) = (sorted(of(one), of(other)), one.0.load);
    is_uneven.then_some(Uneven { load, most, least })
}

/// The same of the variants at a load, each by the mean of its windows; none where nobody kept an account.
fn uneven_load(load: CompareLoad, arms: &BTreeMap<usize, Vec<Option<f64>>>) -> Option<Uneven> {
    let mean = |shares: &Vec<Option<f64>>| {
        let known: Option<Vec<f64>> = shares.iter().copied().collect();
        known.map(|known| known.iter().sum::<f64>() / known.len().max(1) as f64)
    };
    let shares: Option<Vec<(usize, f64)>> = arms.iter().map(|(arm, shares)| Some((*arm, mean(shares)?))).collect();
    let shares = shares?;
    let (first, rest) = shares.split_first()?;
    let (most, least) =
        rest.iter().fold((*first, *first), |(most, least), one| (sorted(most, *one).0, sorted(least, *one).1));
    let clean: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    stats::should_repeat_block(&clean).then_some(Uneven { load, most, least })
}

/// The one with the smaller share first.
fn sorted(one: (usize, f64), other: (usize, f64)) -> ((usize, f64), (usize, f64)) {
    if other.1 < one.1 { (other, one) } else { (one, other) }
}
