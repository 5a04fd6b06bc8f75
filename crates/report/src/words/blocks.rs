//! Values by block in the order of time, with the canary beside them: what drifts in all of them is the machine.

use crate::words::compare::{baseline, decisive};
use model::human::{plural, rate};
use model::{BlockRecord, CompareLoad, CompareMetric, CompareRecord};

/// One line of a strip: number of the block from 1, value relative to the reference, and whether the block counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StripLine {
    pub(crate) name: String,
    pub(crate) points: Vec<StripPoint>,
}

/// One block of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StripPoint {
    pub(crate) block: usize,
    /// As it was measured.
    pub(crate) value: f64,
    /// Over the reference: 1 where it is the same.
    pub(crate) relative: f64,
    pub(crate) counted: bool,
}

/// Values of one quantity at one load, block by block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Strip {
    pub(crate) load: CompareLoad,
    pub(crate) metric: CompareMetric,
    /// The variants, the baseline first, relative to the geometric mean of the baseline.
    pub(crate) arms: Vec<StripLine>,
    /// The canary, relative to its own median; without points where there was none.
    pub(crate) canary: StripLine,
}

/// A strip for each quantity that decides, in the order of the record.
pub(crate) fn strips(record: &CompareRecord) -> Vec<Strip> {
    decisive(record).into_iter().filter_map(|(load, metric)| strip(record, load, metric)).collect()
}

fn strip(record: &CompareRecord, load: CompareLoad, metric: CompareMetric) -> Option<Strip> {
    let value = |block: &BlockRecord, arm: &str| {
        block.values.get(arm)?.get(&load)?.get(&metric).copied().filter(|value| *value > 0.0)
    };
    let base = baseline(record);
    let counted: Vec<f64> =
        record.blocks.iter().filter(|block| block.counted).filter_map(|block| value(block, base)).collect();
    let reference = stats::geometric_mean(&counted);
    if reference <= 0.0 {
        return None;
    }
    let arms = record.arms.iter().map(|arm| StripLine {
        name: arm.name.clone(),
        points: points(&record.blocks, reference, |block| value(block, &arm.name)),
    });
    Some(Strip { load, metric, arms: arms.collect(), canary: canary(&record.blocks) })
}

fn canary(blocks: &[BlockRecord]) -> StripLine {
    let value = |block: &BlockRecord| block.canary_cpu_ns_per_request.filter(|value| *value > 0.0);
    let mut seen: Vec<f64> = blocks.iter().filter_map(value).collect();
    seen.sort_by(f64::total_cmp);
    let points = match seen.get(seen.len() / 2) {
        Some(median) => points(blocks, *median, value),
        None => Vec::new(),
    };
    StripLine { name: "canary (CPU per request)".to_owned(), points }
}

fn points(blocks: &[BlockRecord], reference: f64, value: impl Fn(&BlockRecord) -> Option<f64>) -> Vec<StripPoint> {
    let numbered = blocks.iter().enumerate();
    let known = numbered.filter_map(|(i, block)| Some((i + 1, block.counted, value(block)?)));
    known.map(|(block, counted, value)| StripPoint { block, value, relative: value / reference, counted }).collect()
}

/// Where it was measured, with the rate or the connections.
pub(crate) fn place(record: &CompareRecord, load: CompareLoad) -> String {
    match (load, &record.plan) {
        (CompareLoad::Fixed, Some(plan)) => format!("at {}", rate(plan.rate_per_s)),
        (CompareLoad::Saturated, Some(plan)) => {
            format!("at saturation, {}", plural(u64::from(plan.connections), "connection"))
        }
        (CompareLoad::Fixed, None) => "at the fixed load".to_owned(),
        (CompareLoad::Saturated, None) => "at saturation".to_owned(),
        (CompareLoad::Capacity, _) => "by search".to_owned(),
        (CompareLoad::Canary, _) => "of the canary".to_owned(),
        (CompareLoad::Stored, _) => "in the stored runs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::comparison;

    #[test]
    fn a_strip_has_each_variant_and_the_canary_block_by_block() {
        let strips = strips(&comparison());
        let places: Vec<_> = strips.iter().map(|strip| (strip.load, strip.metric)).collect();
        let expected = [
            (CompareLoad::Fixed, CompareMetric::ServerCpuNsPerRequest),
            (CompareLoad::Saturated, CompareMetric::GoodputPerS),
        ];
        assert_eq!(places, expected);
        let [base, gzip] = &strips[0].arms[..] else { panic!("two variants") };
        assert_eq!((base.points.len(), base.points[2].block), (19, 3));
        assert!(base.points.iter().all(|point| (point.relative - 1.0).abs() < 0.1));
        assert!((gzip.points[0].relative / base.points[0].relative - 1.12).abs() < 0.02);
        assert_eq!(strips[0].canary.points.len(), 19);
        assert!(!strips[0].arms[0].points[4].counted, "a block that was measured again");
    }

    #[test]
    fn without_blocks_there_is_none() {
        let mut record = comparison();
        record.blocks.clear();
        assert!(strips(&record).is_empty());
    }
}
