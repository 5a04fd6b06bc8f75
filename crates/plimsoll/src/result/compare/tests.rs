//! Comparisons made of trials in which the client was at its limit, or the server failed.

use super::bounds::bound;
use super::*;
use crate::result::Facts;
use model::{
    Address, ArmRecord, Begun, Bound, CompareMetric, CompareSettings, CompareTrialMade, Event, Finding, FindingState,
    Load, MeasurementKind, NS_PER_S, Phase, Plan, RunRecord, SessionEvent, Stop, Target, ThreadUse, Tick, Warmup,
};

const CONNECTIONS: u32 = 4;
const BLOCKS: u64 = 6;
/// Seconds of a window.
const SECONDS: u64 = 4;
const RUN: &str = include_str!("../../../../report/tests/stored/run");

/// A server, and the client that it was measured with.
#[derive(Clone, Copy)]
struct Variant {
    good_per_s: u64,
    failed_per_s: u64,
    /// Share of the time that the load thread ran.
    busy: f64,
}

const CALM: Variant = Variant { good_per_s: 1_000, failed_per_s: 0, busy: 0.5 };
const SATURATED: Variant = Variant { busy: 0.97, ..CALM };

fn settings(fail_if: &[&str]) -> CompareSettings {
    CompareSettings {
        arms: 2,
        loads: vec![CompareLoad::Saturated],
        rate_per_s: 0.0,
        connections: CONNECTIONS,
        seed: 1,
        blocks_max: BLOCKS,
        precision: None,
        margin: 0.02,
        fail_if: fail_if.iter().map(|one| (*one).to_owned()).collect(),
        is_aa: false,
        capacity: None,
        duet: None,
        windows: None,
        at_once: None,
        without_canary: true,
        times: model::CompareTimes { budget_ns: 3_600 * NS_PER_S, ..model::CompareTimes::default() },
    }
}

/// A second of a closed loop in which each request took its share of it.
fn tick(second: u64, variant: Variant, good: u64) -> Tick {
    let mut tick = Tick::empty(Phase::Measure, second * NS_PER_S, (second + 1) * NS_PER_S);
    let (failed, all) = (variant.failed_per_s, good + variant.failed_per_s);
    (tick.flow.sent, tick.flow.completed, tick.flow.good, tick.flow.failed) = (all, all, good, failed);
    tick.flow.outstanding_ns = u64::from(CONNECTIONS) * NS_PER_S;
    (tick.cohort.counts.planned, tick.cohort.counts.sent, tick.cohort.counts.completed, tick.cohort.counts.good) =
        (all, all, all, good);
    tick.cohort.status = [(200, all)].into();
    tick.cohort.failures = [("contract.body".to_owned(), failed)].into_iter().filter(|one| one.1 > 0).collect();
    let each_ns = u64::from(CONNECTIONS) * NS_PER_S / all;
    for i in 0..all {
        // A tenth more and less.
        let ns = each_ns * (90 + 20 * i / all) / 100;
        tick.histograms.response.record(ns);
        tick.histograms.service.record(ns);
    }
    let cpu_ns = (variant.busy * NS_PER_S as f64) as u64;
    tick.threads = vec![ThreadUse { cpu_ns, wall_ns: NS_PER_S, busy_max: variant.busy }];
    tick
}

/// A window in block number `block`, as the machine was then.
fn measured(variant: Variant, block: u64) -> Measured {
    let target = Target::at(Address::Tcp("127.0.0.1:1".parse().unwrap()));
    let (load, stop) = (Load::Closed { connections: CONNECTIONS }, Stop::Duration { duration_ns: SECONDS * NS_PER_S });
    let plan = Plan { warmup: Warmup::Fixed { duration_ns: NS_PER_S }, ..Plan::new(target, load, stop) };
    let mut builder = EvidenceBuilder::new(plan);
    builder.apply(&Event::Connected {
        requested: CONNECTIONS,
        established: CONNECTIONS,
        took_ns: 1,
        fruitless: Default::default(),
        tls: None,
    });
    builder.apply(&Event::Warmed { at_ns: 0, settled: true });
    for second in 0..SECONDS {
        let good = variant.good_per_s + block % 3;
        builder.apply(&Event::Tick(Box::new(tick(second, variant, good))));
    }
    builder.apply(&Event::Ended { at_ns: SECONDS * NS_PER_S, interrupted: false });
    Measured::Load(Box::new(builder))
}

/// The facts of a comparison of `a` with `b`, and all that was measured of them.
fn trials(variants: [Variant; 2], fail_if: &[&str]) -> (Facts, Vec<ComparedTrial>) {
    let mut facts = Facts::new(Begun {
        started: String::new(),
        measurement: MeasurementKind::Compare { arms: 2 },
        environment: Default::default(),
        limits: Default::default(),
    });
    let arm = |name: &str| ArmRecord { name: name.to_owned(), ..ArmRecord::default() };
    let settings = Box::new(settings(fail_if));
    facts.apply(&SessionEvent::Blocks {
        settings: settings.clone(),
        arms: vec![arm("a"), arm("b")],
        check: Vec::new(),
    });
    let (mut search, mut trials) = (BlockSearch::new(*settings), Vec::new());
    while let Some(asked) = search.next(0) {
        let arm = asked.arm.expect("there is no canary");
        let made = CompareTrialMade { arm: Some(arm as u64), load: asked.load, took_ns: NS_PER_S };
        let trial = ComparedTrial { made, measured: measured(variants[arm], asked.block) };
        search.apply(&asked, trial.outcome(&facts), 0);
        trials.push(trial);
    }
    facts.apply(&SessionEvent::Finished { interrupted: false });
    (facts, trials)
}

fn compared(variants: [Variant; 2], fail_if: &[&str]) -> CompareRecord {
    let (facts, trials) = trials(variants, fail_if);
    compare_record(&facts, &trials).unwrap()
}

#[track_caller]
fn goodput(record: &CompareRecord) -> &MetricRecord {
    let found = record.metrics.iter().find(|one| one.metric == CompareMetric::GoodputPerS);
    found.unwrap_or_else(|| panic!("no goodput: {record:#?}"))
}

fn states(record: &CompareRecord) -> Vec<FailIfState> {
    record.conditions.iter().map(|one| one.state).collect()
}

/// The client was compared with itself.
#[test]
fn variants_that_both_saturate_the_client_are_not_called_the_same() {
    let calm = compared([CALM, CALM], &["goodput<-3%"]);
    assert_eq!((goodput(&calm).call, states(&calm)), (Call::Same, vec![FailIfState::Passed]), "{:#?}", calm.verdict);
    assert_eq!(goodput(&calm).bound, None);

    let record = compared([SATURATED, SATURATED], &["goodput<-3%"]);
    let (verdict, goodput) = (&record.verdict, goodput(&record));
    assert!(verdict.state == VerdictState::Bound && verdict.findings[0].rule == "CL-01", "{verdict:#?}");
    assert_eq!((goodput.ratio.low, goodput.ratio.high, goodput.p_value), (None, None, None));
    assert_eq!((goodput.call, states(&record)), (Call::CannotTell, vec![FailIfState::CannotTell]));
    let why =
        "that of 'a' is only a lower bound by its findings, and that of 'b' is only a lower bound by its findings";
    assert_eq!(goodput.bound.as_deref(), Some(why));
}

#[test]
fn a_variant_that_is_slower_than_a_bound_of_the_baseline_is_worse_and_a_faster_one_is_open() {
    let slower = compared([SATURATED, Variant { good_per_s: 800, ..CALM }], &["goodput<-3%"]);
    let ratio = goodput(&slower).ratio;
    assert!(ratio.low.is_none() && ratio.high.is_some_and(|high| (0.79..0.81).contains(&high)), "{ratio:?}");
    assert_eq!((goodput(&slower).call, states(&slower)), (Call::Worse, vec![FailIfState::Failed]));
    let faster = compared([SATURATED, Variant { good_per_s: 1_200, ..CALM }], &["goodput<-3%"]);
    assert_eq!((goodput(&faster).call, states(&faster)), (Call::CannotTell, vec![FailIfState::CannotTell]));
    let least = compared([CALM, Variant { good_per_s: 1_200, ..SATURATED }], &["goodput<-3%"]);
    assert_eq!((goodput(&least).call, states(&least)), (Call::Better, vec![FailIfState::Passed]));
}

/// What others took they took of all variants of a block alike; of runs by themselves nothing of the kind is known.
#[test]
fn disturbance_opens_no_side_of_variants_that_were_measured_in_turn() {
    let (facts, _) = trials([CALM, CALM], &[]);
    let (_, arms) = facts.comparison.as_ref().unwrap();
    let mut runs = compared([CALM, CALM], &[]).runs;
    for one in &mut runs {
        one.run.verdict.findings.push(finding("EN-01"));
    }
    assert_eq!(bound(&runs[0].run, CompareMetric::GoodputPerS), Some(Bound::AtLeast));
    let search = BlockSearch::new(settings(&[]));
    let merged = Merged::new(arms, &runs, false);
    let open = merged.open(&search, 1, CompareLoad::Saturated, CompareMetric::GoodputPerS);
    assert_eq!(open, crate::coordinate::compare::Open::default());
}

/// A p99 that is too rare to be printed alone may be compared, and was then no bound any more: "worse", for certain.
#[test]
fn a_quantile_that_is_not_printed_is_a_bound_all_the_same() {
    let with = |mut finding: Finding, key: &str| {
        finding.evidence = [(key.to_owned(), 5e6)].into();
        finding
    };
    let mut run = stored(1_000.0, &[]);
    run.verdict.findings = vec![with(finding("CL-03"), "p99_at_most_ns"), with(finding("LD-04"), "p99_tail_n")];
    assert_eq!(bound(&run, CompareMetric::ResponseP99Ns), Some(Bound::AtMost));
}

/// What CI reads said `passed` beside an exit code of 4.
#[test]
fn conditions_of_an_invalid_comparison_cannot_be_told() {
    let broken = Variant { failed_per_s: 300, ..CALM };
    let record = compared([broken, CALM], &["goodput<-3%", "p50>900%"]);
    assert_eq!(record.verdict.state, VerdictState::Invalid, "{:#?}", record.verdict);
    assert_eq!(states(&record), [FailIfState::CannotTell; 2]);
    let mut invalid = stored(1_000.0, &[]);
    invalid.verdict.state = VerdictState::Invalid;
    let record = of_stored([stored(1_000.0, &[]), invalid], "goodput<-3%");
    assert_eq!(states(&record), [FailIfState::CannotTell]);
}

fn finding(rule: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        state: FindingState::Bound,
        message: String::new(),
        remedy: String::new(),
        evidence: BTreeMap::new(),
    }
}

/// A run with a goodput known to 1 %, and rules that made a bound of it.
fn stored(goodput_per_s: f64, rules: &[&str]) -> RunRecord {
    let mut run: RunRecord = serde_json::from_str(RUN).unwrap();
    let goodput = &mut run.goodput_per_s;
    (goodput.value, goodput.low, goodput.high) =
        (goodput_per_s, Some(0.99 * goodput_per_s), Some(1.01 * goodput_per_s));
    run.verdict.findings = rules.iter().map(|rule| finding(rule)).collect();
    run
}

fn of_stored(runs: [RunRecord; 2], fail_if: &str) -> CompareRecord {
    let named = ["a", "b"].into_iter().zip(runs).map(|(name, run)| (name.to_owned(), name.to_owned(), run));
    stored_comparison(named.collect(), 0.02, &[fail_if.to_owned()]).unwrap()
}

/// `a` may do 6,000/s and more as well: `at most 20 % better` is all that is known.
#[test]
fn a_stored_run_that_is_a_bound_opens_its_side() {
    let of = |one: &[&str], other: &[&str]| of_stored([stored(5_000.0, one), stored(6_000.0, other)], "goodput<+10%");
    assert_eq!((goodput(&of(&[], &[])).call, states(&of(&[], &[]))), (Call::Better, vec![FailIfState::Passed]));
    for rule in ["CL-01", "EN-01"] {
        let record = of(&[rule], &[]);
        let one = goodput(&record);
        assert_eq!((one.call, states(&record)), (Call::CannotTell, vec![FailIfState::CannotTell]), "{rule}");
        assert!(one.ratio.low.is_none() && one.ratio.high.is_some_and(|high| high > 1.2), "{one:?}");
        assert_eq!(one.bound.as_deref(), Some("that of 'a' is only a lower bound by its findings"));
        assert_eq!(goodput(&of(&[], &[rule])).call, Call::Better, "it is at least that");
    }
}
