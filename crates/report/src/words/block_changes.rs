//! What single blocks of a comparison say, and what makes more of them in less time.

use crate::words::changes::signed;
use model::{CompareLoad, CompareRecord, MetricRecord};

/// Threads of a machine of which each of two servers may have half.
const DUET_CPUS: u32 = 4;

/// The changes that the blocks show one by one, where they are too few for an interval; none where they are enough.
pub(super) fn one_by_one(record: &CompareRecord, metric: &MetricRecord) -> Option<String> {
    let baseline = &record.arms.first()?.name;
    let value = |block: &model::BlockRecord, arm: &String| {
        block.values.get(arm)?.get(&metric.load)?.get(&metric.metric).copied().filter(|value| *value > 0.0)
    };
    let counted = record.blocks.iter().filter(|block| block.counted);
    let changes: Vec<String> =
        counted.filter_map(|block| Some(signed(value(block, &metric.arm)? / value(block, baseline)? - 1.0))).collect();
    let is_few = !changes.is_empty() && changes.len() < stats::RUNS_MIN;
    let of = if changes.len() == 1 { "the block" } else { "the blocks" };
    is_few.then(|| format!("{of} gave {}", changes.join(", ")))
}

/// What would decide in less time.
pub(super) fn sooner(record: &CompareRecord, metric: &MetricRecord) -> Option<&'static str> {
    let plan = record.plan.as_ref().filter(|plan| plan.duet.is_none() && metric.load == CompareLoad::Fixed)?;
    let has_several = plan.loads.len() > 1;
    let has_cores = plan.at_once.is_none() && record.arms.len() == 2 && record.environment.cpus >= DUET_CPUS;
    match (has_cores, has_several) {
        (true, _) => Some("--duet measures two servers that plimsoll starts on CPUs of their own, with fewer blocks"),
        (false, true) => Some("--only fixed makes the blocks shorter"),
        (false, false) => None,
    }
}
