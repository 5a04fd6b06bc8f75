//! Fixed records of capacities.

use crate::fixtures::valid_run;
use model::{
    Arrivals, CapacityBracket, CapacityReason, CapacityRecord, CapacitySettings, CapacityTimes, ConditionRecord,
    Estimate, FORMAT_CAPACITY, Finding, FindingState, Load, MoreTime, NS_PER_S, RunRecord, TrialPurpose, TrialRecord,
    Verdict, VerdictState,
};
use std::collections::BTreeMap;

const GOAL: &str = "p99<100ms,errors<0.1%,send-rate>99%";
/// Load, goodput, p99 in ms, and purpose of each trial; the last but one was too disturbed.
pub(crate) const TRIALS: [(f64, f64, f64, TrialPurpose); 7] = [
    (500.0, 500.0, 8.0, TrialPurpose::Bracket),
    (2_000.0, 1_010.0, 900.0, TrialPurpose::Bracket),
    (1_000.0, 1_000.0, 40.0, TrialPurpose::Narrow),
    (1_030.0, 1_010.0, 300.0, TrialPurpose::ConfirmHigh),
    (1_000.0, 1_000.0, 44.0, TrialPurpose::ConfirmLow),
    (1_030.0, 700.0, 800.0, TrialPurpose::ConfirmHigh),
    (1_030.0, 1_010.0, 310.0, TrialPurpose::ConfirmHigh),
];

/// A server that holds 1,000 requests/s and not 1,030.
pub(crate) fn bracketed() -> CapacityRecord {
    let outcomes: Vec<TrialRecord> = TRIALS.iter().enumerate().map(|(i, trial)| outcome(i, trial)).collect();
    CapacityRecord {
        sent_in_all: Some(model::SentInAll { probe: 3, warmup: 40_000, window: 500_000, after: 12 }),
        thresholds: Vec::new(),
        format: FORMAT_CAPACITY.to_owned(),
        verdict: Verdict {
            state: VerdictState::Valid,
            findings: vec![Finding {
                rule: "LD-07".to_owned(),
                state: FindingState::Note,
                message: "one URL".to_owned(),
                remedy: "a mix of requests".to_owned(),
                evidence: BTreeMap::new(),
            }],
            unchecked: vec!["ST-01".to_owned()],
            unchecked_why: BTreeMap::new(),
        },
        capacity: CapacityBracket {
            value: Some(1_000.0),
            low: Some(1_000.0),
            high: Some(1_030.0),
            n: 6,
            reason: "both rates were tested again and confirmed; failed at 1,030/s: p99<100ms, backlog".to_owned(),
            ended: CapacityReason::Bracketed,
            low_confirmed: true,
            high_confirmed: true,
            estimate_per_s: Some(Estimate { value: 1_015.0, low: Some(1_004.0), high: Some(1_027.0), n: 6 }),
            noise: Some(0.005),
            disturbed: 1,
            failed: vec!["p99<100ms".to_owned(), "backlog".to_owned()],
            more: Some(MoreTime { ns: 90 * NS_PER_S, width: 0.01 }),
        },
        goal: GOAL.to_owned(),
        trials: TRIALS.iter().map(|(load, goodput, ..)| run(*load, *goodput)).collect(),
        outcomes,
        search: CapacitySettings {
            from_per_s: 1.0,
            to_per_s: 1e6,
            start_per_s: 500.0,
            width: 0.03,
            times: CapacityTimes::default(),
            seed: 1,
        },
        pilot_per_s: 1_008.0,
        spent_ns: 48 * NS_PER_S,
        limiter: None,
        environment: valid_run().environment,
        started: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: false,
        agent_lost: None,
    }
}

fn run(rate_per_s: f64, goodput_per_s: f64) -> RunRecord {
    let mut run = valid_run();
    run.plan.load = Load::Open { rate_per_s, arrivals: Arrivals::Poisson, connections: 256 };
    run.goodput_per_s.value = goodput_per_s;
    run
}

fn outcome(i: usize, (load, goodput, p99_ms, purpose): &(f64, f64, f64, TrialPurpose)) -> TrialRecord {
    let condition = |text: &str, value: f64, limit: f64, held| ConditionRecord {
        condition: text.to_owned(),
        value: Some(value),
        limit,
        held,
    };
    let counted = i != 5;
    TrialRecord {
        load_per_s: *load,
        purpose: *purpose,
        held: *p99_ms < 100.0,
        counted,
        obstacle: None,
        goodput_per_s: *goodput,
        conditions: vec![
            condition("p99<100ms", p99_ms * 1e6, 100e6, *p99_ms < 100.0),
            condition("errors<0.1%", 0.0, 0.001, true),
            condition("send-rate>99%", 1.0, 0.99, true),
        ],
        backlog_grew: *load > 1_000.0,
        ran_away: *load > 1_500.0,
        clean_share: Some(if counted { 1.0 } else { 0.2 }),
        took_ns: 7 * NS_PER_S,
        low_after: (i > 0).then_some(500.0),
        high_after: (i > 0).then_some(2_000.0),
    }
}

/// The same while nothing has failed.
pub(crate) fn unbounded() -> CapacityRecord {
    let mut record = bracketed();
    record.capacity.high = None;
    record.capacity.ended = CapacityReason::RangeEnded;
    record.capacity.reason = "the highest load allowed held".to_owned();
    (record.capacity.estimate_per_s, record.capacity.more) = (None, None);
    record.outcomes.truncate(1);
    record.trials.truncate(1);
    record
}
