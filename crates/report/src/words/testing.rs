//! A made-up comparison for tests.

use model::{
    ArmRecord, BlockRecord, Call, CompareEnd, CompareLoad, CompareMetric, CompareRecord, CompareSettings, CompareTimes,
    CompareValues, EffectMethod, Environment, Estimate, FORMAT_COMPARE, Floor, FloorRecord, MetricRecord, Verdict,
    VerdictState,
};
use std::collections::BTreeMap;

/// Blocks, of which the fifth was measured again.
const BLOCKS: usize = 19;

/// A quantity of `gzip` against `plain`, without an interval; its values are those of baseline and variant.
pub(crate) fn metric(load: CompareLoad, metric: CompareMetric, [baseline, value]: [f64; 2]) -> MetricRecord {
    MetricRecord {
        metric,
        load,
        arm: "gzip".to_owned(),
        primary: false,
        baseline,
        value,
        ratio: Estimate { value: value / baseline, low: None, high: None, n: 18 },
        bound: None,
        call: Call::CannotTell,
        method: Some(EffectMethod::PairedT),
        p_value: Some(1e-6),
        p_adjusted: None,
        sd_log: Some(0.03),
        precision: None,
    }
}

/// `gzip` against `plain`, which costs 12 % CPU and 11 % goodput.
pub(crate) fn comparison() -> CompareRecord {
    use CompareMetric::{
        GoodputPerS, ResponseP50Ns, ResponseP90Ns, ResponseP99Ns, ServerCpuNsPerRequest, ServerRssBytes,
    };
    let (fixed, saturated) = (CompareLoad::Fixed, CompareLoad::Saturated);
    let known = |load, of, values, low, high, call, primary| MetricRecord {
        ratio: Estimate { low: Some(low), high: Some(high), ..metric(load, of, values).ratio },
        call,
        primary,
        ..metric(load, of, values)
    };
    let metrics = vec![
        known(fixed, ServerCpuNsPerRequest, [20_000.0, 22_400.0], 1.1, 1.14, Call::Worse, true),
        known(fixed, ResponseP50Ns, [1e6, 1.012e6], 1.005, 1.019, Call::SmallChange, false),
        known(fixed, ResponseP90Ns, [1.4e6, 1.41e6], 0.99, 1.02, Call::Same, false),
        known(fixed, ResponseP99Ns, [3e6, 3.1e6], 0.97, 1.1, Call::CannotTell, false),
        known(saturated, GoodputPerS, [2_000.0, 1_780.0], 0.87, 0.91, Call::Worse, true),
        known(saturated, ServerCpuNsPerRequest, [19_000.0, 21_400.0], 1.09, 1.16, Call::Worse, false),
        known(saturated, ServerRssBytes, [12e6, 12.1e6], 1.0, 1.02, Call::Same, false),
    ];
    let floor = Floor {
        comparisons: 200,
        flagged: 9,
        false_positives: Estimate { value: 0.045, low: Some(0.02), high: Some(0.08), n: 200 },
        effect_p95: 0.012,
        resolvable: Some(0.015),
        is_unreliable: false,
    };
    CompareRecord {
        format: FORMAT_COMPARE.to_owned(),
        sent_in_all: None,
        verdict: Verdict {
            state: VerdictState::Valid,
            findings: Vec::new(),
            unchecked: Vec::new(),
            unchecked_why: BTreeMap::new(),
        },
        arms: ["plain", "gzip"].map(arm).to_vec(),
        metrics,
        positions: Vec::new(),
        conditions: Vec::new(),
        aa_floor: vec![FloorRecord { metric: ServerCpuNsPerRequest, load: fixed, floor }],
        aa_floor_basis: "splits of the baseline".to_owned(),
        ended: CompareEnd::Precise,
        reason: CompareEnd::Precise.words().to_owned(),
        blocks: (0..BLOCKS).map(block).collect(),
        trials: Vec::new(),
        runs: Vec::new(),
        profiles: Vec::new(),
        unavailable: BTreeMap::new(),
        plan: Some(settings()),
        margin: 0.02,
        spent_ns: 540_000_000_000,
        environment: Environment::default(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: false,
        agent_lost: None,
    }
}

fn settings() -> CompareSettings {
    CompareSettings {
        arms: 2,
        loads: vec![CompareLoad::Fixed, CompareLoad::Saturated],
        rate_per_s: 800.0,
        connections: 32,
        seed: 1,
        blocks_max: 40,
        precision: Some(0.01),
        margin: 0.02,
        fail_if: Vec::new(),
        is_aa: false,
        capacity: None,
        duet: None,
        windows: None,
        at_once: None,
        without_canary: false,
        times: CompareTimes::default(),
    }
}

fn arm(name: &str) -> ArmRecord {
    ArmRecord { name: name.to_owned(), target: format!("nginx {name}"), ..ArmRecord::default() }
}

/// A machine that is slower and slower by 3 % until the end.
fn block(index: usize) -> BlockRecord {
    let drift = 1.0 + 0.03 * index as f64 / BLOCKS as f64;
    let wobble = if index.is_multiple_of(2) { 1.004 } else { 0.996 };
    let values = |cpu_ns: f64, per_s: f64| -> CompareValues {
        let fixed = [(CompareMetric::ServerCpuNsPerRequest, cpu_ns * drift * wobble)].into();
        let saturated = [(CompareMetric::GoodputPerS, per_s / drift / wobble)].into();
        [(CompareLoad::Fixed, fixed), (CompareLoad::Saturated, saturated)].into()
    };
    let arms = [("plain", values(20_000.0, 2_000.0)), ("gzip", values(22_400.0, 1_780.0))];
    let counted = index != 4;
    BlockRecord {
        order: vec!["plain".to_owned(), "gzip".to_owned()],
        values: arms.map(|(name, values)| (name.to_owned(), values)).into(),
        clean_shares: BTreeMap::new(),
        canary_cpu_ns_per_request: Some(9_000.0 * drift),
        canary_deviates: false,
        counted,
        uncounted_why: (!counted).then(|| "measured again".to_owned()),
        trials_repeated: 0,
        took_ns: 30_000_000_000,
    }
}
