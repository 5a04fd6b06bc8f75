//! From the trials of a comparison to its record: effects, calls, floor and verdict.
//!
//! The search is made again from its trials, so that a record is the same for one that has just ended and for one that
//! is read back.

mod bounds;
mod capacity;
mod effects;
mod floors;
mod stored;
mod trial;

use super::Facts;
use crate::coordinate::Search;
use crate::coordinate::compare::{Block, BlockSearch, Made, Uneven, budget_text, canaries, deviating};
use bounds::Merged;
use capacity::FoundCapacity;
pub(super) use capacity::SearchedCapacity;
use evidence::EvidenceBuilder;
use judge::{ComparedLoad, ComparisonClaim, FailIf, judge_comparison, responses_differ};
use model::human::{count, percent, time};
use model::{
    ArmLoadRecord, ArmRecord, BlockRecord, Call, CompareEnd, CompareLoad, CompareRecord, CompareTrialRecord,
    CompareValues, Evidence, FORMAT_COMPARE, FailIfRecord, FailIfState, MetricRecord, Verdict, VerdictState,
};
use std::collections::BTreeMap;
pub(crate) use stored::stored_comparison;
use trial::stored_value as trial_values;
pub(super) use trial::{ComparedTrial, Measured, outcome};

/// Makes the record of a comparison.
///
/// # Errors
/// One line, when the facts are not those of a comparison whose blocks have begun.
pub(super) fn compare_record(facts: &Facts, trials: &[ComparedTrial]) -> Result<CompareRecord, String> {
    let (settings, arms) = facts.comparison.as_ref().ok_or("its blocks had not begun")?;
    let walked = Walked::new(facts, BlockSearch::new(settings.clone()), trials);
    let search = &walked.search;
    let loads = walked.merged();
    let known: Vec<(usize, CompareLoad, Evidence)> =
        loads.iter().map(|(arm, load, builder)| (*arm, *load, facts.evidence(builder))).collect();
    let verdict = verdict(&walked, arms, &known);
    let runs = loads.iter().zip(&known).map(|((arm, load, builder), (.., evidence))| ArmLoadRecord {
        arm: name(arms, *arm),
        load: *load,
        run: facts.load_record(evidence, builder),
    });
    let runs: Vec<ArmLoadRecord> = runs.collect();
    let merged = Merged::new(arms, &runs, settings.duet.is_some());
    let (mut metrics, unavailable) = effects::metrics(search, arms, &merged);
    let mut conditions = conditions(&settings.fail_if, &settings.loads, arms, &metrics)?;
    if verdict.state == VerdictState::Invalid {
        withhold(&mut metrics, &mut conditions);
    }
    let ended = ended(facts, search);
    let (aa_floor, aa_floor_basis) = floors::floors(search, &metrics);
    Ok(CompareRecord {
        format: FORMAT_COMPARE.into(),
        verdict,
        sent_in_all: facts.sent_in_all(trials.iter().flat_map(ComparedTrial::loads)),
        arms: arms.clone(),
        conditions,
        positions: effects::positions(search),
        metrics,
        aa_floor,
        aa_floor_basis,
        ended,
        reason: reason(facts, ended, search),
        blocks: walked.blocks(arms),
        trials: walked.trials(arms),
        runs,
        profiles: facts.arm_profiles.clone(),
        unavailable,
        plan: Some(settings.clone()),
        margin: settings.margin,
        spent_ns: search.spent_ns(),
        environment: facts.environment(),
        started: facts.begun.started.clone(),
        interrupted: facts.interrupted,
        agent_lost: facts.agent_lost.clone(),
    })
}

/// Why it ended.
fn ended(facts: &Facts, search: &BlockSearch) -> CompareEnd {
    match search.end() {
        _ if facts.gone.is_some() => CompareEnd::TargetGone,
        Some(end) => end,
        None => CompareEnd::Interrupted,
    }
}

/// The same in words.
fn reason(facts: &Facts, ended: CompareEnd, search: &BlockSearch) -> String {
    match (ended, &facts.gone) {
        (CompareEnd::BudgetEnded, None) => match search.more_ns() {
            0 => ended.words().to_owned(),
            more_ns => format!(
                "{}; {} of the {} blocks count after which it is looked next, so about {} more are needed: --budget {}",
                ended.words(),
                count(search.counted()),
                count(search.blocks_needed()),
                time(more_ns as f64),
                budget_text(search.spent_ns().saturating_add(more_ns))
            ),
        },
        (CompareEnd::TargetGone, Some(why)) => why.clone(),
        (CompareEnd::Interrupted, _) if facts.agent_lost.is_some() => "an agent was lost".to_owned(),
        _ => ended.words().to_owned(),
    }
}

/// Of an invalid comparison nothing is called, and no condition has passed or failed.
fn withhold(metrics: &mut [MetricRecord], conditions: &mut [FailIfRecord]) {
    metrics.iter_mut().for_each(|metric| metric.call = Call::CannotTell);
    conditions.iter_mut().for_each(|condition| condition.state = FailIfState::CannotTell);
}

/// What came of the conditions of `--fail-if`, for each variant.
fn conditions(
    texts: &[String],
    loads: &[CompareLoad],
    arms: &[ArmRecord],
    metrics: &[MetricRecord],
) -> Result<Vec<FailIfRecord>, String> {
    let mut records = Vec::new();
    for text in texts {
        for condition in FailIf::parse(text)? {
            let load = condition.load(loads)?;
            for arm in arms.iter().skip(1) {
                let of = |metric: &&MetricRecord| {
                    (metric.metric, metric.load, &metric.arm) == (condition.metric, load, &arm.name)
                };
                let state = metrics.iter().find(of).map_or(FailIfState::CannotTell, |one| condition.judge(&one.ratio));
                records.push(FailIfRecord { condition: condition.to_string(), arm: arm.name.clone(), state });
            }
        }
    }
    Ok(records)
}

fn verdict(walked: &Walked<'_>, arms: &[ArmRecord], known: &[(usize, CompareLoad, Evidence)]) -> Verdict {
    let names: Vec<String> = (0..arms.len()).map(|arm| name(arms, arm)).collect();
    let loads: Vec<ComparedLoad<'_>> = known
        .iter()
        .map(|(arm, load, evidence)| ComparedLoad {
            arm: names.get(*arm).map_or("", String::as_str),
            is_baseline: *arm == 0,
            load: *load,
            evidence,
        })
        .collect();
    let blocks = walked.search.blocks();
    let differ = arms.iter().skip(1).find_map(|arm| {
        let baseline = arms.first()?;
        let words = responses_differ((baseline.status, baseline.size_bytes), (arm.status, arm.size_bytes))?;
        Some(format!("'{}' and '{}': {words}", baseline.name, arm.name))
    });
    judge_comparison(&ComparisonClaim {
        loads: &loads,
        blocks: walked.search.counted(),
        repeated: blocks.iter().filter(|block| block.is_complete() && !block.counts()).count() as u64,
        canaries: canaries(blocks).len() as u64,
        deviating: &deviating(blocks).iter().map(|block| *block as u64 + 1).collect::<Vec<_>>(),
        uneven: blocks.iter().filter(|block| block.counts() && block.is_disturbed()).count() as u64,
        responses_differ: differ.as_deref(),
        is_duet: walked.search.settings().duet.is_some(),
    })
}

fn name(arms: &[ArmRecord], arm: usize) -> String {
    arms.get(arm).map_or_else(String::new, |arm| arm.name.clone())
}

/// A search that is made again from its trials.
struct Walked<'a> {
    facts: &'a Facts,
    search: BlockSearch,
    trials: &'a [ComparedTrial],
    /// Block of each trial, and its place in that; none of one that was cut short or not asked for.
    places: Vec<Option<(usize, usize)>>,
}

impl<'a> Walked<'a> {
    fn new(facts: &'a Facts, mut search: BlockSearch, trials: &'a [ComparedTrial]) -> Self {
        let mut places = Vec::new();
        for trial in trials {
            let asked = search.next(0);
            let is_asked = |arm: Option<usize>, load| {
                arm.map(|arm| arm as u64) == trial.made.arm && load == trial.made.load && !trial.is_cut()
            };
            let asked = asked.filter(|asked| is_asked(asked.arm, asked.load));
            places.push(asked.map(|asked| {
                let place = search.blocks().last().map_or(0, |block| block.made.len());
                search.apply(&asked, trial.outcome(facts), 0);
                (asked.block as usize, place)
            }));
        }
        Self { facts, search, trials, places }
    }

    /// True if a trial is part of the result.
    fn counts(&self, index: usize) -> bool {
        let Some(Some((block, _))) = self.places.get(index) else { return false };
        let is_counted = self.search.blocks().get(*block).is_some_and(Block::counts);
        is_counted && self.made(index).is_some_and(|(.., counted)| *counted)
    }

    /// A trial as it stands in its block.
    fn made(&self, index: usize) -> Option<&Made> {
        let (block, place) = (*self.places.get(index)?)?;
        self.search.blocks().get(block)?.made.get(place)
    }

    /// The trials of each variant at each load, merged: those that count, or while none do, all. Of searches the lower end
    /// of the last one: their rates differ.
    fn merged(&self) -> Vec<(usize, CompareLoad, EvidenceBuilder)> {
        let any_counts = (0..self.trials.len()).any(|index| self.counts(index));
        let mut merged: BTreeMap<(usize, CompareLoad), EvidenceBuilder> = BTreeMap::new();
        for (index, trial) in self.trials.iter().enumerate() {
            let Some(arm) = trial.made.arm.filter(|_| self.counts(index) || !any_counts) else { continue };
            let arms = self.search.settings().arms;
            if arm >= arms {
                continue;
            }
            let place = (arm as usize, trial.made.load);
            match (&trial.measured, merged.get_mut(&place)) {
                (Measured::Load(load), Some(builder)) => builder.merge(load),
                (Measured::Load(load), None) => drop(merged.insert(place, (**load).clone())),
                (Measured::Search(searched), _) => {
                    let found = self.found(trial);
                    let at_low = found.as_ref().and_then(|found| searched.at_low(found));
                    merged.extend(at_low.map(|builder| (place, builder.clone())));
                }
            }
        }
        merged.into_iter().map(|((arm, load), builder)| (arm, load, builder)).collect()
    }

    /// What a search for a capacity has found; none of other trials.
    fn found(&self, trial: &ComparedTrial) -> Option<FoundCapacity> {
        match &trial.measured {
            Measured::Load(_) => None,
            Measured::Search(searched) => Some(searched.found(&self.facts.compared_goal()?, self.facts.limits())),
        }
    }

    fn trials(&self, arms: &[ArmRecord]) -> Vec<CompareTrialRecord> {
        let record = |(index, trial): (usize, &ComparedTrial)| {
            let outcome = trial.outcome(self.facts);
            let last = self.search.blocks().len().saturating_sub(1);
            let place = self.made(index).and_then(|(trial, ..)| trial.place);
            CompareTrialRecord {
                block: self.places[index].map_or(last, |(block, _)| block) as u64,
                arm: trial.made.arm.map(|arm| name(arms, arm as usize)),
                load: trial.made.load,
                cpu_set: place.map(|place| place.set as u64),
                counted: self.counts(index),
                values: outcome.values,
                clean_share: outcome.clean_share,
                capacity: self.found(trial).map(|found| found.bracket),
                took_ns: trial.made.took_ns,
            }
        };
        self.trials.iter().enumerate().map(record).collect()
    }

    fn blocks(&self, arms: &[ArmRecord]) -> Vec<BlockRecord> {
        let deviating = deviating(self.search.blocks());
        let begun = self.search.blocks().iter().enumerate().filter(|(_, block)| !block.made.is_empty());
        begun.map(|(index, block)| block_record(block, deviating.contains(&index), arms)).collect()
    }
}

/// Which variant was disturbed more than which other, in half a sentence.
pub(crate) fn uneven_words(uneven: &Uneven, name: impl Fn(usize) -> String) -> String {
    let disturbed = |(_, clean): (usize, f64)| percent(1.0 - clean);
    format!(
        "at {} '{}' was disturbed for {} of its time and '{}' for {}",
        uneven.load.words(),
        name(uneven.most.0),
        disturbed(uneven.most),
        name(uneven.least.0),
        disturbed(uneven.least)
    )
}

fn block_record(block: &Block, canary_deviates: bool, arms: &[ArmRecord]) -> BlockRecord {
    let mut values: BTreeMap<String, CompareValues> = BTreeMap::new();
    for ((arm, load), of_load) in block.values() {
        values.entry(name(arms, arm)).or_default().insert(load, of_load);
    }
    let why = match (block.is_complete(), block.counts()) {
        (_, true) => None,
        (true, false) => {
            let why = block.uneven().map_or_else(String::new, |uneven| uneven_words(&uneven, |arm| name(arms, arm)));
            Some(format!("{why}, so the block was measured again"))
        }
        (false, false) => Some("not complete".to_owned()),
    };
    BlockRecord {
        order: block.order.iter().map(|arm| name(arms, *arm)).collect(),
        values,
        clean_shares: block.clean_shares().into_iter().map(|(arm, share)| (name(arms, arm), share)).collect(),
        canary_cpu_ns_per_request: block.canary(),
        canary_deviates,
        counted: block.counts(),
        uncounted_why: why,
        trials_repeated: block.repeated(),
        took_ns: block.took_ns(),
    }
}

#[cfg(test)]
mod tests;
