//! Values that are bounds, and why a ratio of them is one.
//!
//! A search that ended at an end of its range makes a bound of the value of its block; a rule makes one of all trials of a
//! variant at a load, such as the goodput of a client at its limit.

use crate::coordinate::compare::{Block, BlockSearch, Open};
use judge::verdict_in_comparison;
use model::human::plural;
use model::{ArmLoadRecord, ArmRecord, Bound, CompareLoad, CompareMetric, RunRecord};
use report::figures::figures;
use report::record::AnyRecord;

/// All trials of each variant at each load, merged, under the verdicts that count in a comparison.
pub(super) struct Merged<'a> {
    arms: &'a [ArmRecord],
    runs: Vec<ArmLoadRecord>,
}

impl<'a> Merged<'a> {
    pub(super) fn new(arms: &'a [ArmRecord], runs: &[ArmLoadRecord], is_duet: bool) -> Self {
        let weighed = |one: &ArmLoadRecord| {
            let verdict = verdict_in_comparison(one.load, &one.run.verdict, is_duet);
            ArmLoadRecord { run: RunRecord { verdict, ..one.run.clone() }, ..one.clone() }
        };
        Self { arms, runs: runs.iter().map(weighed).collect() }
    }

    /// What rules make of a quantity of a variant if that is a bound.
    fn bound(&self, arm: usize, load: CompareLoad, metric: CompareMetric) -> Option<Bound> {
        let arm = &self.arms.get(arm)?.name;
        let of = self.runs.iter().find(|one| (&one.arm, one.load) == (arm, load))?;
        bound(&of.run, metric)
    }

    /// On which sides the ratio of the variant `arm` to the baseline is open.
    pub(super) fn open(&self, search: &BlockSearch, arm: usize, load: CompareLoad, metric: CompareMetric) -> Open {
        search.open(arm, load).or(Open::of(self.bound(0, load, metric), self.bound(arm, load, metric)))
    }

    /// Which of the two variants has bounds, of which kind, in how many blocks; none where all values are known.
    pub(super) fn why(
        &self,
        search: &BlockSearch,
        arm: usize,
        load: CompareLoad,
        metric: CompareMetric,
    ) -> Option<String> {
        let of = |of: usize| {
            let name = super::name(self.arms, of);
            of_search(search, &name, of, load).into_iter().chain(words(&name, self.bound(of, load, metric)))
        };
        sentence(of(0).chain(of(arm)))
    }
}

/// What the verdict on a run makes of a quantity if that is a bound.
pub(super) fn bound(run: &RunRecord, metric: CompareMetric) -> Option<Bound> {
    // CPU time and memory are none, and what figures call `cpu` is the use of CPUs, which is none either.
    // A quantile that is not printed of one run (LD-04) may be compared, and is a bound all the same.
    let mut run = run.clone();
    run.verdict.findings.retain(|finding| finding.rule != "LD-04");
    figures(AnyRecord::Run(&run)).get(metric.short())?.bound
}

/// A variant whose value is a bound by the rules.
pub(super) fn words(name: &str, bound: Option<Bound>) -> Option<String> {
    let which = match bound? {
        Bound::AtLeast => "a lower",
        Bound::AtMost => "an upper",
    };
    Some(format!("that of '{name}' is only {which} bound by its findings"))
}

/// All of it in half a sentence; none if there is nothing to say.
pub(super) fn sentence(said: impl Iterator<Item = String>) -> Option<String> {
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", and "))
}

/// A variant whose searches ended at an end of their range.
fn of_search(search: &BlockSearch, name: &str, arm: usize, load: CompareLoad) -> Vec<String> {
    let blocks: Vec<&Block> = search.blocks().iter().filter(|block| block.counts()).collect();
    let kinds = [(Bound::AtLeast, "held the highest rate tried"), (Bound::AtMost, "failed at every rate tried")];
    let told = kinds.into_iter().filter_map(|(bound, words)| {
        let bounded = blocks.iter().filter(|block| block.bound(arm, load) == Some(bound)).count();
        let of = plural(blocks.len() as u64, "block");
        (bounded > 0).then(|| format!("'{name}' {words} in {bounded} of {of}"))
    });
    told.collect()
}
