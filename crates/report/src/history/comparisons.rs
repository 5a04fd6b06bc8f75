//! What a history keeps of a comparison: the effect of each variant, which what the machine does in a block cancels in, and the
//! CPU time of each variant and of the canary, which say by themselves what changed.

use super::figures::{HistoryEntry, Value, facts, history_run, rules};
use evidence::factors::of_compared_plan;
use model::{
    ArmLoadRecord, ArmRecord, CompareEnd, CompareLoad, CompareMetric, CompareRecord, Environment, Factor,
    HistoryQuantity, MetricRecord,
};
use std::collections::BTreeMap;

const CPU: CompareMetric = CompareMetric::ServerCpuNsPerRequest;
/// Loads in the order in which a quantity is taken from them.
const LOADS: [CompareLoad; 3] = [CompareLoad::Fixed, CompareLoad::Saturated, CompareLoad::Capacity];

/// An entry for each variant, the baseline among them.
pub(super) fn entries(name: &str, record: &CompareRecord) -> Result<Vec<HistoryEntry>, String> {
    match &record.plan {
        Some(plan) if plan.is_aa => Err("a server compared with itself (--aa)".to_owned()),
        None => Err("a comparison of stored runs".to_owned()),
        Some(_) if record.ended == CompareEnd::Stored => Err("a comparison of stored runs".to_owned()),
        Some(plan) => {
            let rate = plan.loads.contains(&CompareLoad::Fixed).then_some(plan.rate_per_s);
            let arms = record.arms.iter().enumerate();
            Ok(arms.map(|(index, arm)| entry(name, record, (index, arm), rate)).collect())
        }
    }
}

fn entry(name: &str, record: &CompareRecord, (index, arm): (usize, &ArmRecord), rate: Option<f64>) -> HistoryEntry {
    let run = record.runs.iter().find(|run| run.arm == arm.name);
    let environment = Environment { served: arm.served.clone(), ..record.environment.clone() };
    let canary_ns = canary_ns(record);
    let mut facts = facts(&environment, run.map(|of| &of.run.plan));
    if let Some(per_s) = rate {
        // Follows from what the baseline gets out, and may change without anybody's wish.
        facts.insert(("fixed load".to_owned(), "rate".to_owned()), model::human::rate(per_s));
    }
    HistoryEntry {
        run: history_run(name, &record.started, &record.verdict),
        factors: factors(record, (index, arm), run, &environment, canary_ns.is_some()),
        facts,
        figures: figures(record, (index, arm), canary_ns),
        canary_ns,
        interrupted: record.interrupted,
        rules: rules(&record.verdict),
    }
}

/// Geometric mean over the blocks that count; none unless all of them have one.
fn canary_ns(record: &CompareRecord) -> Option<f64> {
    let counted = record.blocks.iter().filter(|block| block.counted);
    let seen: Option<Vec<f64>> = counted.map(|block| block.canary_cpu_ns_per_request.filter(|ns| *ns > 0.0)).collect();
    seen.filter(|seen| !seen.is_empty()).map(|seen| stats::geometric_mean(&seen))
}

fn factors(
    record: &CompareRecord,
    (index, arm): (usize, &ArmRecord),
    run: Option<&ArmLoadRecord>,
    environment: &Environment,
    has_canary: bool,
) -> Vec<Factor> {
    let role = match (index, record.arms.first()) {
        (0, _) | (_, None) => format!("baseline '{}'", arm.name),
        (_, Some(baseline)) => format!("'{}' against '{}'", arm.name, baseline.name),
    };
    let canary = if has_canary { "measured" } else { "not measured" };
    let factor = |name: &str, value: String| Factor { name: name.to_owned(), value };
    let mut factors = vec![factor("kind", "comparison".to_owned()), factor("variant", role)];
    factors.extend(run.map(|of| of_compared_plan(&of.run.plan, of.load, environment)).unwrap_or_default());
    if let Some(plan) = record.plan.as_ref().filter(|plan| plan.loads.contains(&CompareLoad::Saturated)) {
        factors.push(factor("connections at saturation", plan.connections.to_string()));
    }
    let search = record.plan.as_ref().and_then(|plan| plan.capacity.as_ref());
    factors.extend(search.map(|search| factor("goal", search.goal.clone())));
    factors.push(factor("canary", canary.to_owned()));
    factors
}

fn figures(
    record: &CompareRecord,
    (index, arm): (usize, &ArmRecord),
    canary_ns: Option<f64>,
) -> BTreeMap<HistoryQuantity, Value> {
    let exactly = |value: f64| Value { value, is_bound: false, ends: None };
    let mut figures: BTreeMap<HistoryQuantity, Value> = BTreeMap::new();
    for metric in CompareMetric::ALL {
        let Some(compared) = compared(record, metric, &arm.name) else { continue };
        let ends = compared.ratio.low.zip(compared.ratio.high).map(|(low, high)| [low, high]);
        let is_bound = compared.bound.is_some();
        figures.insert(HistoryQuantity::ratio_of(metric), Value { ends, is_bound, ..exactly(compared.ratio.value) });
    }
    // The baseline is that of any variant.
    let other = record.arms.get(1).map_or("", |other| other.name.as_str());
    let own = match index {
        0 => compared(record, CPU, other).map(|compared| compared.baseline),
        _ => compared(record, CPU, &arm.name).map(|compared| compared.value),
    };
    figures.extend(own.map(|ns| (HistoryQuantity::ServerCpuNsPerRequest, exactly(ns))));
    if index == 0 {
        figures.extend(canary_ns.map(|ns| (HistoryQuantity::CanaryCpuNsPerRequest, exactly(ns))));
    }
    figures.retain(|_, figure| figure.value > 0.0 && figure.value.is_finite());
    figures
}

/// A quantity of a variant, at the fixed load if it was measured there.
fn compared<'a>(record: &'a CompareRecord, metric: CompareMetric, arm: &str) -> Option<&'a MetricRecord> {
    let at = |load| record.metrics.iter().find(|one| one.metric == metric && one.load == load && one.arm == arm);
    LOADS.into_iter().find_map(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;
    use crate::history::history;
    use crate::record::AnyRecord;
    use crate::words::testing::{comparison, metric};
    use model::{CompareCapacity, HistoryFigure, HistoryRecord, HistorySettings};

    const SETTINGS: HistorySettings =
        HistorySettings { false_alarms: 0.01, change_min: 0.01, with_bounds: false, by_canary: true, seed: 1 };
    const DAYS: usize = 28;

    /// Half a percent up or down, in no order.
    fn wobble(day: usize, of: usize) -> f64 {
        1.0 + 0.005 * (((day * 7_919 + of * 104_729) % 21) as f64 / 10.0 - 1.0)
    }

    /// A comparison each day, on a machine and with a variant that cost so many times as much as on the first day.
    fn days(settings: HistorySettings, machine: fn(usize) -> f64, variant: fn(usize) -> f64) -> HistoryRecord {
        let entries = (0..DAYS).flat_map(|day| {
            let mut record = comparison();
            record.started = format!("2026-01-{:02}T03:00:00Z", day + 1);
            for block in &mut record.blocks {
                block.canary_cpu_ns_per_request = Some(9_000.0 * machine(day) * wobble(day, 1));
            }
            for metric in record.metrics.iter_mut().filter(|metric| metric.metric == CPU) {
                metric.baseline *= machine(day) * wobble(day, 2);
                metric.value *= machine(day) * wobble(day, 2) * variant(day) * wobble(day, 3);
                metric.ratio.value = metric.value / metric.baseline;
            }
            let name = format!("day-{}", day + 1);
            super::super::entries(Named { name: &name, record: AnyRecord::Compare(&record) }).expect("two variants")
        });
        history(entries.collect(), settings, Vec::new())
    }

    /// A figure of the variant with this in its role.
    fn figure<'a>(record: &'a HistoryRecord, role: &str, quantity: HistoryQuantity) -> &'a HistoryFigure {
        let series = record.series.iter().find(|series| series.factors[1].value.starts_with(role));
        let figures = &series.unwrap_or_else(|| panic!("no {role}")).figures;
        figures.iter().find(|figure| figure.quantity == quantity).unwrap_or_else(|| panic!("no {quantity:?}"))
    }

    const CPU_NS: HistoryQuantity = HistoryQuantity::ServerCpuNsPerRequest;
    const SLOWER: fn(usize) -> f64 = |day| if day < 12 { 1.0 } else { 1.2 };

    #[test]
    fn a_machine_that_its_canary_shows_to_be_slower_is_no_change_of_the_server() {
        let record = days(SETTINGS, SLOWER, |_| 1.0);
        for role in ["baseline 'plain'", "'gzip' against"] {
            assert_eq!(figure(&record, role, CPU_NS).changes, [], "{role}");
        }
        assert_eq!(figure(&record, "'gzip' against", HistoryQuantity::ServerCpuRatio).changes, []);
        assert!(!record.is_worse);
        let canary = &figure(&record, "baseline", HistoryQuantity::CanaryCpuNsPerRequest).changes;
        assert_eq!((canary.len(), canary[0].at, canary[0].is_worse), (1, 12, false), "it is the machine's");

        let raw = days(HistorySettings { by_canary: false, ..SETTINGS }, SLOWER, |_| 1.0);
        let changes = &figure(&raw, "baseline", CPU_NS).changes;
        assert_eq!((changes.len(), changes[0].at, raw.is_worse), (1, 12, true), "as it was measured");
    }

    #[test]
    fn a_change_of_which_a_bound_is_known_is_one_in_the_history() {
        let mut record = comparison();
        record
            .metrics
            .iter_mut()
            .for_each(|metric| metric.bound = Some("that of 'plain' is only a lower bound".into()));
        let entries = super::super::entries(Named { name: "day", record: AnyRecord::Compare(&record) }).unwrap();
        let is_bound = |quantity| entries[1].figures.get(&quantity).map(|figure| figure.is_bound);
        assert_eq!((is_bound(HistoryQuantity::ServerCpuRatio), is_bound(CPU_NS)), (Some(true), Some(false)));
    }

    /// It stood in the page of the history, and in no history.
    #[test]
    fn the_ratio_of_capacities_is_in_the_history_and_another_goal_is_another_series() {
        let mut record = comparison();
        record.metrics.push(metric(CompareLoad::Capacity, CompareMetric::CapacityPerS, [900.0, 810.0]));
        let plan = record.plan.as_mut().expect("it has a plan");
        plan.capacity = Some(CompareCapacity { goal: "p99<100ms".to_owned(), budget_ns: 1 });
        let entries = entries("c", &record).expect("two variants");
        let ratio = entries[1].figures[&HistoryQuantity::CapacityRatio].value;
        assert!((ratio - 0.9).abs() < 1e-9, "{ratio}");
        assert!(entries.iter().all(|entry| entry.factors.iter().any(|factor| factor.value == "p99<100ms")));
        // The trial that was the lower end chose its window and warm-up: the same job was split into series by chance.
        let run: model::RunRecord = serde_json::from_str(include_str!("../../tests/stored/run")).unwrap();
        let arms = record.arms.iter().map(|arm| arm.name.clone());
        let of = |arm| ArmLoadRecord { arm, load: CompareLoad::Capacity, run: run.clone() };
        record.runs = arms.map(of).collect();
        let names = |record: &CompareRecord| {
            let of = |entry: &HistoryEntry| entry.factors.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
            super::entries("c", record).expect("two variants").iter().flat_map(of).collect::<Vec<_>>()
        };
        let names = names(&record);
        assert!(names.contains(&"load threads".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| ["measured window", "warm-up"].contains(&name.as_str())), "{names:?}");
    }

    #[test]
    fn a_change_of_the_server_is_found_beside_one_of_the_machine() {
        let record = days(SETTINGS, SLOWER, |day| if day < 19 { 1.0 } else { 1.05 });
        for quantity in [CPU_NS, HistoryQuantity::ServerCpuRatio] {
            let changes = &figure(&record, "'gzip' against", quantity).changes;
            assert_eq!((changes.len(), changes[0].at, changes[0].is_worse), (1, 19, true), "{quantity:?}: {changes:?}");
            assert!((changes[0].ratio.value - 1.05).abs() < 0.01, "{changes:?}");
        }
        assert!(figure(&record, "baseline", CPU_NS).changes.is_empty() && record.is_worse);
        let effect = figure(&record, "'gzip' against", HistoryQuantity::ServerCpuRatio);
        assert_eq!((effect.intervals.len(), effect.intervals[0], effect.canary_ns), (DAYS, Some([1.1, 1.14]), None));
        let all = figure(&record, "baseline", CPU_NS).canary_ns.expect("it is normalised");
        assert!((all / 10_800.0 - 1.0).abs() < 0.02, "{all}");
    }

    #[test]
    fn results_without_a_canary_are_a_series_of_their_own_and_stay_as_they_are() {
        let mut record = comparison();
        record.blocks[7].canary_cpu_ns_per_request = None;
        let entries = entries("c", &record).expect("two variants");
        assert!(entries.iter().all(|entry| entry.canary_ns.is_none()));
        assert!(entries[0].factors.iter().any(|factor| factor.name == "canary" && factor.value == "not measured"));
        let cpu = entries[1].figures[&CPU_NS].value;
        assert_eq!((cpu, entries[0].figures[&CPU_NS].value), (22_400.0, 20_000.0));
    }

    #[test]
    fn what_is_no_comparison_of_variants_is_left_out_with_the_reason() {
        let mut record = comparison();
        record.plan.iter_mut().for_each(|plan| plan.is_aa = true);
        assert!(entries("c", &record).unwrap_err().contains("--aa"));
        record.plan = None;
        assert!(entries("c", &record).unwrap_err().contains("stored runs"));
    }
}
