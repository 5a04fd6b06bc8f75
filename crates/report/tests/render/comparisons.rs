//! Fixed records of comparisons.

use crate::fixtures::valid_run;
use model::{
    ArmLoadRecord, ArmProfile, ArmRecord, BlockRecord, Call, CompareEnd, CompareLoad, CompareMetric, CompareRecord,
    CompareSettings, CompareTimes, CompareTrialRecord, CompareValues, Duet, DuetSet, EffectMethod, Estimate,
    FORMAT_COMPARE, FailIfRecord, FailIfState, Floor, FloorRecord, FunctionChange, MetricRecord, NS_PER_S,
    PositionRecord, Precision, Profiled, SizeBand, Verdict, VerdictState,
};
use std::collections::BTreeMap;

const CPU: CompareMetric = CompareMetric::ServerCpuNsPerRequest;
pub(crate) const BLOCKS: usize = 8;

/// A variant that takes more CPU time and gets as much out.
pub(crate) fn compared() -> CompareRecord {
    let metrics = vec![
        metric(CPU, CompareLoad::Fixed, (40_000.0, 44_800.0), Some((1.10, 1.14)), Call::Worse),
        metric(
            CompareMetric::ResponseP50Ns,
            CompareLoad::Fixed,
            (2.0e6, 2.01e6),
            Some((1.002, 1.008)),
            Call::SmallChange,
        ),
        metric(CompareMetric::ResponseP99Ns, CompareLoad::Fixed, (8.0e6, 8.4e6), Some((0.97, 1.14)), Call::CannotTell),
        metric(
            CompareMetric::GoodputPerS,
            CompareLoad::Saturated,
            (2_000.0, 2_002.0),
            Some((0.995, 1.007)),
            Call::Same,
        ),
        metric(CompareMetric::ServerRssBytes, CompareLoad::Saturated, (1.0e7, 9.0e6), Some((0.88, 0.92)), Call::Better),
    ];
    let names = ["plain", "gzip"];
    CompareRecord {
        sent_in_all: Some(model::SentInAll { probe: 3, warmup: 40_000, window: 500_000, after: 12 }),
        format: FORMAT_COMPARE.to_owned(),
        verdict: Verdict {
            state: VerdictState::Valid,
            findings: Vec::new(),
            unchecked: vec!["ST-01".to_owned()],
            unchecked_why: BTreeMap::new(),
        },
        arms: vec![arm("plain", "nginx workers=1"), arm("gzip", "nginx workers=1 gzip=on")],
        metrics,
        positions: Vec::new(),
        conditions: Vec::new(),
        aa_floor: Vec::new(),
        aa_floor_basis: "not measured: plimsoll compare --aa compares the baseline with itself".to_owned(),
        ended: CompareEnd::Precise,
        reason: CompareEnd::Precise.words().to_owned(),
        blocks: (0..BLOCKS).map(|index| block(index, &names)).collect(),
        trials: vec![trial(None, CompareLoad::Canary), trial(Some("gzip"), CompareLoad::Fixed)],
        runs: names.iter().map(|name| of_arm(name)).collect(),
        profiles: Vec::new(),
        unavailable: [(CompareMetric::ResponseP90Ns, "too few responses in a window".to_owned())].into(),
        plan: Some(CompareSettings {
            arms: 2,
            loads: vec![CompareLoad::Fixed, CompareLoad::Saturated],
            rate_per_s: 1_400.0,
            connections: 64,
            seed: 1,
            blocks_max: 1_000,
            precision: Some(0.012),
            margin: 0.02,
            fail_if: Vec::new(),
            is_aa: false,
            capacity: None,
            duet: None,
            windows: None,
            at_once: None,
            without_canary: false,
            times: CompareTimes::default(),
        }),
        margin: 0.02,
        spent_ns: 240 * NS_PER_S,
        environment: valid_run().environment,
        started: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: false,
        agent_lost: None,
    }
}

/// The same while nothing is decided, with conditions of its own and a third variant.
pub(crate) fn undecided() -> CompareRecord {
    let mut record = compared();
    record.arms.push(arm("brotli", "nginx brotli=on"));
    record.metrics.truncate(1);
    let first = &mut record.metrics[0];
    (first.ratio, first.call, first.value) = (estimate(1.01, Some((0.97, 1.05)), 6), Call::CannotTell, 40_400.0);
    if let Some(precision) = &mut first.precision {
        precision.is_reached = false;
    }
    let second = MetricRecord { arm: "brotli".to_owned(), ..first.clone() };
    record.metrics.push(MetricRecord { ratio: estimate(1.3, None, 2), ..second });
    let condition = |arm: &str, state| FailIfRecord { condition: "cpu>2%".to_owned(), arm: arm.to_owned(), state };
    record.conditions = vec![condition("gzip", FailIfState::CannotTell), condition("brotli", FailIfState::Failed)];
    (record.ended, record.interrupted) = (CompareEnd::Interrupted, true);
    record.reason = CompareEnd::Interrupted.words().to_owned();
    record
}

/// One server against itself.
pub(crate) fn floor() -> CompareRecord {
    let mut record = compared();
    if let Some(plan) = &mut record.plan {
        (plan.is_aa, plan.precision, plan.blocks_max) = (true, None, 12);
    }
    let share = Estimate { value: 1.0 / 12.0, low: Some(0.002), high: Some(0.385), n: 12 };
    let floor = |resolvable| Floor {
        comparisons: 12,
        flagged: 1,
        false_positives: share,
        effect_p95: 0.012,
        resolvable: Some(resolvable),
        is_unreliable: false,
    };
    record.aa_floor = vec![
        FloorRecord { metric: CPU, load: CompareLoad::Fixed, floor: floor(0.009) },
        FloorRecord { metric: CompareMetric::GoodputPerS, load: CompareLoad::Saturated, floor: floor(0.021) },
    ];
    record.aa_floor_basis = "pairs of starts of the same server, in groups of consecutive blocks".to_owned();
    record
}

/// Two servers at once on two CPUs, of which the second is slower.
pub(crate) fn duet() -> CompareRecord {
    let mut record = compared();
    record.metrics.retain(|metric| metric.load == CompareLoad::Fixed);
    if let Some(plan) = &mut record.plan {
        plan.loads = vec![CompareLoad::Fixed];
        let set = |cpu| DuetSet { server: vec![cpu], load: vec![cpu], one_core: true };
        plan.duet = Some(Duet { sets: [set(0), set(1)] });
    }
    let position = |metric, value: f64, is_large| PositionRecord {
        metric,
        load: CompareLoad::Fixed,
        ratio: estimate(value, Some((value - 0.02, value + 0.02)), BLOCKS as u64),
        is_large,
    };
    record.positions = vec![position(CPU, 1.1, true), position(CompareMetric::ResponseP99Ns, 1.01, false)];
    record.trials[1].cpu_set = Some(1);
    record
}

/// The profile of a variant in which one function changed; none where there is a reason.
pub(crate) fn arm_profile(unavailable: Option<String>) -> ArmProfile {
    ArmProfile {
        arm: "gzip".to_owned(),
        load: CompareLoad::Fixed,
        profile: unavailable.is_none().then(Profiled::default),
        unavailable,
        functions: vec![FunctionChange { name: "deflate".to_owned(), ..FunctionChange::default() }],
        php_functions: Vec::new(),
    }
}

fn arm(name: &str, target: &str) -> ArmRecord {
    ArmRecord {
        name: name.to_owned(),
        target: target.to_owned(),
        status: Some(200),
        size_bytes: Some(SizeBand { min: 100, max: 100 }),
        pilot_per_s: Some(2_000.0),
        ..ArmRecord::default()
    }
}

fn estimate(value: f64, ends: Option<(f64, f64)>, n: u64) -> Estimate {
    Estimate { value, low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1), n }
}

fn metric(
    metric: CompareMetric,
    load: CompareLoad,
    (baseline, value): (f64, f64),
    ends: Option<(f64, f64)>,
    call: Call,
) -> MetricRecord {
    let half_width = ends.map(|(low, high)| (high / low).sqrt() - 1.0);
    MetricRecord {
        metric,
        load,
        arm: "gzip".to_owned(),
        primary: matches!(metric, CPU | CompareMetric::GoodputPerS) && metric != CompareMetric::ServerRssBytes,
        baseline,
        value,
        ratio: estimate(value / baseline, ends, BLOCKS as u64),
        bound: None,
        call,
        method: Some(EffectMethod::PairedT),
        p_value: Some(0.001),
        p_adjusted: None,
        sd_log: Some(0.02),
        precision: Some(Precision {
            half_width,
            wanted_half_width: 0.012,
            blocks_needed: Some(20),
            blocks_needed_at_most: Some(31),
            is_reached: half_width.is_some_and(|half| half <= 0.02),
        }),
    }
}

fn block(index: usize, names: &[&str]) -> BlockRecord {
    let values = |off: f64| -> CompareValues {
        [
            (CompareLoad::Fixed, [(CPU, 40_000.0 * off)].into()),
            (CompareLoad::Saturated, [(CompareMetric::GoodputPerS, 2_000.0)].into()),
        ]
        .into()
    };
    let counted = index != 2;
    BlockRecord {
        order: if index.is_multiple_of(2) { names.to_vec() } else { names.iter().rev().copied().collect() }
            .into_iter()
            .map(str::to_owned)
            .collect(),
        values: [(names[0].to_owned(), values(1.0)), (names[1].to_owned(), values(1.1 + 0.005 * index as f64))].into(),
        clean_shares: names.iter().map(|name| ((*name).to_owned(), if counted { 1.0 } else { 0.7 })).collect(),
        canary_cpu_ns_per_request: Some(21_000.0),
        canary_deviates: index == 4,
        counted,
        uncounted_why: (!counted)
            .then(|| "one variant was disturbed more than the others, so the block was measured again".to_owned()),
        trials_repeated: u64::from(index == 3),
        took_ns: 30 * NS_PER_S,
    }
}

fn trial(arm: Option<&str>, load: CompareLoad) -> CompareTrialRecord {
    CompareTrialRecord {
        block: 0,
        arm: arm.map(str::to_owned),
        load,
        cpu_set: None,
        counted: true,
        values: [(CPU, 21_000.0)].into(),
        clean_share: Some(1.0),
        capacity: None,
        took_ns: 7 * NS_PER_S,
    }
}

fn of_arm(name: &str) -> ArmLoadRecord {
    ArmLoadRecord { arm: name.to_owned(), load: CompareLoad::Saturated, run: valid_run() }
}
