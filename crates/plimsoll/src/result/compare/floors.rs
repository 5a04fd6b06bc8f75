//! A/A floor: what comparing the baseline with itself gives on this machine.

use crate::coordinate::compare::BlockSearch;
use model::{CompareLoad, CompareMetric, Effect, FloorRecord, MetricRecord};
use stats::{CONFIDENCE, RUNS_MIN, effect, floor};

/// The floor of each quantity that was compared, and how it was found, or why it is not known.
pub(super) fn floors(search: &BlockSearch, metrics: &[MetricRecord]) -> (Vec<FloorRecord>, String) {
    if !search.settings().is_aa {
        return (Vec::new(), "not measured: plimsoll compare --aa compares the baseline with itself".to_owned());
    }
    let mut of: Vec<(CompareLoad, CompareMetric)> = metrics.iter().map(|one| (one.load, one.metric)).collect();
    of.dedup();
    let floors: Vec<FloorRecord> = of
        .into_iter()
        .filter_map(|(load, metric)| {
            let floor = floor(&comparisons(search, load, metric))?;
            Some(FloorRecord { metric, load, floor })
        })
        .collect();
    let basis = match floors.is_empty() {
        true => format!("not known: a comparison of the server with itself needs {RUNS_MIN} blocks"),
        false => "pairs of starts of the same server, in groups of consecutive blocks".to_owned(),
    };
    (floors, basis)
}

/// The starts of one server, each pair in each group of consecutive blocks.
fn comparisons(search: &BlockSearch, load: CompareLoad, metric: CompareMetric) -> Vec<Effect> {
    let arms = search.settings().arms as usize;
    let blocks: Vec<_> = search.blocks().iter().filter(|block| block.counts()).collect();
    let values: Vec<Vec<f64>> = (0..arms)
        .map(|arm| blocks.iter().map(|block| block.value(arm, load, metric).unwrap_or_default()).collect())
        .collect();
    let mut effects = Vec::new();
    for (i, one) in values.iter().enumerate() {
        for other in &values[i + 1..] {
            let pairs: Vec<(f64, f64)> = one.iter().copied().zip(other.iter().copied()).collect();
            effects.extend(groups(&pairs).filter_map(|group| effect(group, CONFIDENCE)));
        }
    }
    effects
}

/// Groups of as few blocks as give an interval; what is left over belongs to the last.
fn groups<T>(blocks: &[T]) -> impl Iterator<Item = &[T]> {
    let count = (blocks.len() / RUNS_MIN).max(1);
    (0..count).map(move |i| {
        let end = if i + 1 == count { blocks.len() } else { (i + 1) * RUNS_MIN };
        &blocks[i * RUNS_MIN..end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinate::Search;
    use crate::coordinate::compare::Outcome;
    use crate::result::compare::bounds::Merged;
    use model::{ArmRecord, CompareSettings, CompareTimes, NS_PER_S};

    /// A server of which each start is another by a percent or so, against itself.
    fn against_itself(blocks_max: u64) -> (Vec<FloorRecord>, String) {
        let mut search = BlockSearch::new(CompareSettings {
            arms: 4,
            loads: vec![CompareLoad::Saturated],
            rate_per_s: 1.0,
            connections: 1,
            seed: 1,
            blocks_max,
            precision: None,
            margin: 0.02,
            fail_if: Vec::new(),
            is_aa: true,
            capacity: None,
            duet: None,
            windows: None,
            at_once: None,
            without_canary: false,
            times: CompareTimes { budget_ns: 3_600 * NS_PER_S, ..CompareTimes::default() },
        });
        while let Some(asked) = search.next(0) {
            let per_s = 1_000.0 + f64::from((asked.number * 7_919 % 20) as u32);
            let values = [(CompareMetric::GoodputPerS, per_s)].into();
            search.apply(&asked, Outcome { values, took_ns: 1, ..Outcome::default() }, 0);
        }
        let arms: Vec<ArmRecord> = vec![ArmRecord::default(); 4];
        let (metrics, _) = super::super::effects::metrics(&search, &arms, &Merged::new(&arms, &[], false));
        floors(&search, &metrics)
    }

    #[test]
    fn all_pairs_of_starts_are_compared_in_groups_of_blocks() {
        let (floors, _) = against_itself(12);
        assert_eq!((floors.len(), floors[0].metric), (1, CompareMetric::GoodputPerS));
        assert_eq!(floors[0].floor.comparisons, 12, "6 pairs, 2 groups");
        assert!(floors[0].floor.resolvable.is_some_and(|change| (0.001..0.05).contains(&change)), "{floors:?}");
        let (none, why) = against_itself(3);
        assert!(none.is_empty() && why.contains("needs 6 blocks"), "{why}");
    }

    #[test]
    fn groups_have_as_many_blocks_as_give_an_interval() {
        let lengths = |n: usize| groups(&vec![0; n]).map(<[i32]>::len).collect::<Vec<_>>();
        assert_eq!((lengths(4), lengths(6), lengths(12), lengths(17)), (vec![4], vec![6], vec![6, 6], vec![6, 11]));
    }
}
