//! The overhead table: each quantity of each variant against the baseline, with interval and number of blocks.

use crate::bounds::sign;
use crate::figures::of_run;
use crate::words::changes::{interval, signed};
use crate::words::compare::{baseline, value};
use model::{ArmLoadRecord, Call, CompareLoad, CompareMetric, CompareRecord, Estimate, KnownFigure};

/// One quantity of one variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Overhead<'a> {
    pub(crate) load: CompareLoad,
    pub(crate) metric: CompareMetric,
    pub(crate) arm: &'a str,
    pub(crate) baseline: KnownFigure,
    pub(crate) value: KnownFigure,
    /// Variant over baseline; `n` is the number of blocks. None of values that are bounds.
    pub(crate) ratio: Option<Estimate>,
    /// None of what was not compared block by block.
    pub(crate) call: Option<Call>,
}

/// Loads in the order of the table.
const LOADS: [CompareLoad; 4] =
    [CompareLoad::Capacity, CompareLoad::Saturated, CompareLoad::Fixed, CompareLoad::Stored];
/// Quantities in the order of the table.
const METRICS: [CompareMetric; 8] = [
    CompareMetric::CapacityPerS,
    CompareMetric::GoodputPerS,
    CompareMetric::ServerCpuNsPerRequest,
    CompareMetric::ResponseP50Ns,
    CompareMetric::ResponseP90Ns,
    CompareMetric::ResponseP95Ns,
    CompareMetric::ResponseP99Ns,
    CompareMetric::ServerRssBytes,
];

/// All quantities by load, quantity and variant. What was not compared block by block is that of all blocks merged, without
/// an interval, as far as the verdict on these lets it be told.
pub(crate) fn overheads(record: &CompareRecord) -> Vec<Overhead<'_>> {
    let variants = record.arms.iter().skip(1);
    let names: Vec<&str> = variants.map(|arm| arm.name.as_str()).collect();
    let places = LOADS.iter().flat_map(|load| METRICS.iter().map(move |metric| (*load, *metric)));
    places.flat_map(|(load, metric)| names.iter().filter_map(move |arm| overhead(record, load, metric, arm))).collect()
}

fn overhead<'a>(
    record: &'a CompareRecord,
    load: CompareLoad,
    metric: CompareMetric,
    arm: &'a str,
) -> Option<Overhead<'a>> {
    let compared = record.metrics.iter().find(|it| it.load == load && it.metric == metric && it.arm == arm);
    if let Some(it) = compared {
        let (baseline, value) = (KnownFigure::exactly(it.baseline), KnownFigure::exactly(it.value));
        return Some(Overhead { load, metric, arm, baseline, value, ratio: Some(it.ratio), call: Some(it.call) });
    }
    let of = |name: &str| {
        let run = record.runs.iter().find(|run| run.load == load && run.arm == name)?;
        merged(run, metric).filter(|figure| figure.value > 0.0)
    };
    let (baseline, value) = (of(baseline(record))?, of(arm)?);
    let is_exact = baseline.bound.is_none() && value.bound.is_none();
    let ratio = is_exact.then(|| Estimate { value: value.value / baseline.value, low: None, high: None, n: 1 });
    Some(Overhead { load, metric, arm, baseline, value, ratio, call: None })
}

/// Response times of all trials merged, as far as they may be told; other quantities are compared block by block or are not
/// known.
fn merged(run: &ArmLoadRecord, metric: CompareMetric) -> Option<KnownFigure> {
    let name = match metric {
        CompareMetric::ResponseP50Ns => "p50",
        CompareMetric::ResponseP90Ns => "p90",
        CompareMetric::ResponseP95Ns => "p95",
        CompareMetric::ResponseP99Ns => "p99",
        CompareMetric::ServerCpuNsPerRequest
        | CompareMetric::GoodputPerS
        | CompareMetric::ServerRssBytes
        | CompareMetric::CapacityPerS => return None,
    };
    of_run(&run.run).get(name).copied()
}

impl Overhead<'_> {
    /// A value in its unit, as a bound where it is one.
    pub(crate) fn shown(&self, figure: &KnownFigure) -> String {
        format!("{}{}", sign(figure.bound), value(self.metric, figure.value))
    }

    /// The change; none of values that are bounds.
    pub(crate) fn change(&self) -> Option<String> {
        self.ratio.map(|ratio| signed(ratio.value - 1.0))
    }

    /// Blocks that were compared; none of what was not compared block by block.
    pub(crate) fn blocks(&self) -> Option<u64> {
        self.call.and(self.ratio).map(|ratio| ratio.n)
    }
}

/// Columns of [`rows`].
pub(crate) fn header(record: &CompareRecord) -> Vec<String> {
    let baseline = match baseline(record) {
        "" => "baseline".to_owned(),
        name => format!("{name} (baseline)"),
    };
    ["quantity", "load", "variant", &baseline, "variant's", "change", "95 % interval", "blocks", "call"]
        .map(str::to_owned)
        .to_vec()
}

/// The table in words.
pub(crate) fn rows(record: &CompareRecord) -> Vec<Vec<String>> {
    overheads(record).iter().map(row).collect()
}

fn row(it: &Overhead<'_>) -> Vec<String> {
    let none = || "-".to_owned();
    vec![
        it.metric.words().to_owned(),
        it.load.words().to_owned(),
        it.arm.to_owned(),
        it.shown(&it.baseline),
        it.shown(&it.value),
        it.change().unwrap_or_else(none),
        it.ratio.as_ref().and_then(interval).unwrap_or_else(none),
        it.blocks().map_or_else(|| "merged".to_owned(), |blocks| blocks.to_string()),
        it.call.map_or("-", Call::words).to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::comparison;

    #[test]
    fn saturation_comes_first_and_each_quantity_has_its_interval_and_blocks() {
        let record = comparison();
        let rows = rows(&record);
        assert_eq!(rows[0][..3], ["goodput", "saturation", "gzip"]);
        assert_eq!(rows[0][5..], ["-11 %", "-13.0 to -9.0 %", "18", "worse"]);
        let cpu = rows.iter().find(|row| row[0] == "server CPU per request" && row[1] == "fixed load").unwrap();
        assert_eq!(cpu[3..7], ["20.0 µs", "22.4 µs", "+12 %", "+10.0 to +14.0 %"]);
    }
}
