//! Comparisons of made-up variants, whose effect is known.

use super::*;
use crate::coordinate::{Measure, walk};
use crate::exit::CommandError;
use model::{Call, CompareTimes, Direction, NS_PER_S};
use std::sync::atomic::{AtomicBool, Ordering};

const CPU: CompareMetric = CompareMetric::ServerCpuNsPerRequest;
const TRIAL_NS: u64 = 6 * NS_PER_S;

fn settings() -> CompareSettings {
    CompareSettings {
        arms: 2,
        loads: vec![CompareLoad::Fixed, CompareLoad::Saturated],
        rate_per_s: 700.0,
        connections: 64,
        seed: 1,
        blocks_max: 1_000,
        precision: Some(0.01),
        margin: 0.02,
        fail_if: Vec::new(),
        is_aa: false,
        capacity: None,
        duet: None,
        windows: None,
        at_once: None,
        without_canary: false,
        times: CompareTimes { budget_ns: 3_600 * NS_PER_S, ..CompareTimes::default() },
    }
}

/// Variants whose values differ by a known ratio, with noise and a drift of the machine.
struct Lab<'a> {
    /// CPU time and goodput of each variant, in parts of the baseline's.
    ratios: Vec<f64>,
    noise: f64,
    state: u64,
    kept: Vec<Asked>,
    /// `stop` is set in the trial of this number.
    stop_at: Option<(u64, &'a AtomicBool)>,
    /// Trials that cannot be made.
    fails_at: u64,
    /// Undisturbed share of the trials of a variant in a block (as measured), if it is not all of it.
    disturbed: Vec<(u64, usize, f64)>,
    /// That of all trials at saturation.
    saturated_share: f64,
}

impl Default for Lab<'_> {
    fn default() -> Self {
        Self {
            ratios: vec![1.0, 1.0],
            noise: 0.01,
            state: 7,
            kept: Vec::new(),
            stop_at: None,
            fails_at: 0,
            disturbed: Vec::new(),
            saturated_share: 1.0,
        }
    }
}

impl Lab<'_> {
    /// About normal, of variance 1.
    fn normal(&mut self) -> f64 {
        let uniform = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform(&mut self.state)).sum::<f64>() - 6.0
    }

    /// The machine gets slower by the hour, and by steps.
    fn level(asked: &Asked) -> f64 {
        1.0 + 0.002 * asked.number as f64 + if asked.block > 10 { 0.1 } else { 0.0 }
    }
}

impl Measure<BlockSearch> for Lab<'_> {
    type Measured = u64;

    fn measure(&mut self, asked: &Asked) -> Result<(Outcome, u64), CommandError> {
        if let Some((at, stop)) = self.stop_at {
            stop.store(at == asked.number, Ordering::Relaxed);
        }
        if asked.number == self.fails_at {
            return Err(CommandError::target("it is gone"));
        }
        let noise = (self.noise * self.normal()).exp();
        let ratio = asked.arm.map_or(1.0, |arm| self.ratios[arm]) * Self::level(asked) * noise;
        let values = match asked.load {
            CompareLoad::Saturated => [(CompareMetric::GoodputPerS, 1_000.0 / ratio)].into(),
            _ => [(CPU, 50_000.0 * ratio)].into(),
        };
        let is_of = |one: &&(u64, usize, f64)| (one.0, Some(one.1)) == (asked.block, asked.arm);
        let share = self.disturbed.iter().find(is_of).map_or(1.0, |one| one.2);
        let share = if asked.load == CompareLoad::Saturated { share.min(self.saturated_share) } else { share };
        let says_little = share < 0.3;
        let outcome = Outcome { values, clean_share: Some(share), says_little, took_ns: TRIAL_NS, bound: None };
        Ok((outcome, asked.number))
    }

    fn keep(&mut self, asked: &Asked, number: u64) -> Result<(), CommandError> {
        assert_eq!(asked.number, number);
        self.kept.push(*asked);
        Ok(())
    }
}

fn compared(settings: CompareSettings, lab: &mut Lab<'_>) -> BlockSearch {
    let mut search = BlockSearch::new(settings);
    walk(&mut search, lab, &AtomicBool::new(false)).unwrap();
    search
}

fn called(search: &BlockSearch, arm: usize) -> (model::Effect, Call) {
    let confidence = search.confidence();
    let effect = effect(&search.pairs(arm, CompareLoad::Fixed, CPU), confidence).expect("there are blocks");
    (effect, stats::call(&effect.ratio, Direction::LowerIsBetter, search.settings().margin))
}

#[test]
fn each_block_has_a_canary_and_each_variant_once_at_each_load_in_an_order_of_its_own() {
    let mut lab = Lab::default();
    let search = compared(CompareSettings { arms: 3, ..settings() }, &mut Lab { ratios: vec![1.0; 3], ..lab });
    lab = Lab { ratios: vec![1.0; 3], ..Lab::default() };
    let again = compared(CompareSettings { arms: 3, ..settings() }, &mut lab);
    assert_eq!(search.counted(), again.counted(), "the same seed gives the same");
    let orders: Vec<_> = again.blocks().iter().map(|block| block.order.clone()).collect();
    assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
    for block in 0..again.blocks().len() as u64 {
        let trials: Vec<_> = lab.kept.iter().filter(|asked| asked.block == block).collect();
        assert_eq!((trials.len(), trials[0].arm, trials[0].load), (7, None, CompareLoad::Canary));
        let order: Vec<_> = trials[1..].iter().step_by(2).filter_map(|asked| asked.arm).collect();
        assert_eq!(order, orders[block as usize]);
        let loads: Vec<_> = trials[1..].iter().map(|asked| asked.load).collect();
        assert_eq!(loads, [CompareLoad::Fixed, CompareLoad::Saturated].repeat(3));
    }
}

#[test]
fn a_known_effect_is_found_in_spite_of_drift_and_no_more_blocks_are_made_than_it_needs() {
    let mut lab = Lab { ratios: vec![1.0, 1.12], ..Lab::default() };
    let search = compared(settings(), &mut lab);
    let (effect, call) = called(&search, 1);
    assert!(effect.ratio.low.unwrap() < 1.12 && 1.12 < effect.ratio.high.unwrap(), "{effect:?}");
    assert_eq!(call, Call::Worse);
    assert!([Some(CompareEnd::Precise), Some(CompareEnd::Clear)].contains(&search.end()), "{:?}", search.end());
    assert!((PILOT..40).contains(&search.counted()), "{}", search.counted());
    let before_pilot: Vec<u64> =
        lab.kept.iter().filter(|asked| asked.counted < PILOT).map(|asked| asked.blocks_needed).collect();
    assert!(
        before_pilot.iter().all(|needed| *needed == PILOT),
        "progress names the blocks of an interval: {before_pilot:?}"
    );
}

#[test]
fn variants_that_do_not_differ_are_the_same() {
    let search = compared(settings(), &mut Lab { noise: 0.005, ..Lab::default() });
    assert_eq!((called(&search, 1).1, search.end()), (Call::Same, Some(CompareEnd::Clear)));
}

/// Two per cent matter, and three are there: until the intervals were narrow, "cannot tell" was the end.
#[test]
fn a_change_a_little_beyond_the_margin_is_called_and_one_on_the_margin_goes_on_until_it_is_precise() {
    let looks = CompareSettings { precision: Some(0.006), ..settings() };
    let beyond = compared(looks.clone(), &mut Lab { ratios: vec![1.0, 1.035], noise: 0.005, ..Lab::default() });
    assert_eq!((called(&beyond, 1).1, beyond.end()), (Call::Worse, Some(CompareEnd::Clear)));
    assert!(beyond.counted() <= 12, "{}", beyond.counted());
    let on = compared(looks, &mut Lab { ratios: vec![1.0, 1.02], noise: 0.01, ..Lab::default() });
    assert_eq!((called(&on, 1).1, on.end()), (Call::CannotTell, Some(CompareEnd::Precise)));
}

/// What is noisier cannot change the answer any more.
#[test]
fn a_variant_that_is_worse_in_something_needs_no_more_blocks_for_the_rest() {
    struct Uneven<'a>(Lab<'a>);
    impl Measure<BlockSearch> for Uneven<'_> {
        type Measured = u64;
        fn measure(&mut self, asked: &Asked) -> Result<(Outcome, u64), CommandError> {
            self.0.noise = if asked.load == CompareLoad::Saturated { 0.2 } else { 0.002 };
            self.0.measure(asked)
        }
        fn keep(&mut self, asked: &Asked, number: u64) -> Result<(), CommandError> {
            self.0.keep(asked, number)
        }
    }
    let measured = |ratio: f64| {
        let mut lab = Uneven(Lab { ratios: vec![1.0, ratio], state: 11, ..Lab::default() });
        let mut search = BlockSearch::new(CompareSettings { blocks_max: 20, ..settings() });
        walk(&mut search, &mut lab, &AtomicBool::new(false)).unwrap();
        (search.counted(), search.end())
    };
    assert_eq!(measured(1.1), (PILOT, Some(CompareEnd::Clear)), "it costs more CPU, whatever its goodput");
    assert_eq!(measured(0.95), (20, Some(CompareEnd::BlocksDone)), "its goodput may still be worse");
}

/// Blocks of two windows at each load, the fixed one at once where that is so.
fn in_turns(at_once: bool) -> CompareSettings {
    let at_once = at_once.then_some(model::AtOnce { turn_ns: NS_PER_S / 10, window_ns: 6 * NS_PER_S });
    CompareSettings { windows: Some(2), at_once, precision: None, blocks_max: 3, ..settings() }
}

#[test]
fn variants_take_turns_within_a_block_and_each_is_once_before_and_once_after_the_other() {
    let mut lab = Lab { noise: 0.0, ..Lab::default() };
    let search = compared(in_turns(false), &mut lab);
    for (block, trials) in search.blocks().iter().zip(lab.kept.chunks(9)) {
        let [one, other] = block.order[..] else { panic!("two variants") };
        let arms: Vec<usize> = trials.iter().filter_map(|asked| asked.arm).collect();
        assert_eq!(arms, [one, other, other, one].repeat(2));
        let before: Vec<ServedBefore> = trials[1..].iter().map(|asked| asked.before).collect();
        use ServedBefore::{Nothing, OtherLoad, SameLoad};
        assert_eq!(before, [Nothing, Nothing, SameLoad, SameLoad, OtherLoad, OtherLoad, SameLoad, SameLoad]);
        // The machine gets slower from trial to trial: what comes of it is in both.
        let of = |arm| block.value(arm, CompareLoad::Fixed, CPU).expect("it was measured");
        assert!((of(0) / of(1) - 1.0).abs() < 1e-5, "{} {}", of(0), of(1));
    }
}

#[test]
fn two_variants_have_the_fixed_load_at_once_and_each_has_the_first_turn_as_often() {
    let mut lab = Lab::default();
    let search = compared(CompareSettings { blocks_max: 16, ..in_turns(true) }, &mut lab);
    let mut firsts = [0, 0];
    for (block, trials) in search.blocks().iter().zip(lab.kept.chunks(7)) {
        let places: Vec<(usize, Place)> = trials.iter().filter_map(|asked| Some((asked.arm?, asked.place?))).collect();
        let [(one, at), (other, beside)] = places[..] else { panic!("{places:?}") };
        assert_eq!((at.set, at.beside, beside.set, beside.beside), (0, other, 1, one));
        assert!(at.is_first && !beside.is_first && trials[1].load == CompareLoad::Fixed);
        assert_eq!(block.order, [one, other]);
        firsts[one] += 1;
    }
    assert!(firsts.iter().all(|first| *first >= 4), "{firsts:?}");
}

#[test]
fn windows_of_a_turn_are_disturbed_together_and_not_each_by_itself() {
    let share_of = |disturbed: Vec<(u64, usize, f64)>| {
        let mut lab = Lab { disturbed, ..Lab::default() };
        let search = compared(in_turns(false), &mut lab);
        search.blocks().iter().filter(|block| !block.counts()).count()
    };
    assert_eq!(share_of(vec![(0, 1, 0.7)]), 1, "one variant was disturbed more");
    assert_eq!(share_of(vec![(0, 1, 0.7), (0, 0, 0.7)]), 0, "both alike");
}

#[test]
fn a_fixed_number_of_blocks_is_measured_whatever_they_say() {
    let fixed = CompareSettings { precision: None, blocks_max: 4, ..settings() };
    let search = compared(fixed, &mut Lab::default());
    assert_eq!((search.counted(), search.end()), (4, Some(CompareEnd::BlocksDone)));
    assert_eq!(called(&search, 1).1, Call::CannotTell, "too few for an interval");
}

#[test]
fn no_block_is_begun_that_does_not_fit_into_the_budget() {
    let times = CompareTimes { budget_ns: 100 * NS_PER_S, ..CompareTimes::default() };
    let mut lab = Lab { noise: 0.2, ..Lab::default() };
    let search = compared(CompareSettings { times, ..settings() }, &mut lab);
    // 30 s a block.
    assert_eq!((search.counted(), search.end(), search.spent_ns()), (3, Some(CompareEnd::BudgetEnded), 90 * NS_PER_S));
    assert_eq!(lab.kept[5].left_ns, 70 * NS_PER_S);
    assert_eq!((search.blocks_needed(), search.more_ns()), (PILOT, 90 * NS_PER_S), "three more for an interval");
}

#[test]
fn a_block_in_which_one_variant_was_disturbed_is_measured_again_whole() {
    let fixed = CompareSettings { precision: None, blocks_max: 6, ..settings() };
    let mut lab = Lab { disturbed: vec![(2, 1, 0.7)], ..Lab::default() };
    let search = compared(fixed, &mut lab);
    let counts: Vec<bool> = search.blocks().iter().map(Block::counts).collect();
    assert_eq!(counts, [true, true, false, true, true, true, true]);
    let again: Vec<&Asked> = lab.kept.iter().filter(|asked| asked.block_before.is_some()).collect();
    assert!(!again.is_empty() && again.iter().all(|asked| asked.block == 3));
    let uneven = Uneven { load: CompareLoad::Fixed, most: (1, 0.7), least: (0, 1.0) };
    assert_eq!(again[0].block_before, Some(uneven), "who was disturbed, and by how much");
    assert_eq!(search.pairs(1, CompareLoad::Fixed, CPU).len(), 6);
}

#[test]
fn a_block_in_which_all_were_disturbed_alike_counts() {
    let fixed = CompareSettings { precision: None, blocks_max: 6, ..settings() };
    let mut lab = Lab { disturbed: vec![(2, 0, 0.7), (2, 1, 0.7)], ..Lab::default() };
    assert_eq!(compared(fixed, &mut lab).blocks().len(), 6);
}

/// Steal that comes with full CPUs: each block was measured again, as if one variant had been disturbed more.
#[test]
fn a_block_in_which_one_load_is_disturbed_more_in_all_variants_counts() {
    let fixed = CompareSettings { precision: None, blocks_max: 6, ..settings() };
    let mut lab = Lab { saturated_share: 0.85, ..Lab::default() };
    assert_eq!(compared(fixed, &mut lab).blocks().len(), 6);
}

#[test]
fn a_machine_that_stays_uneven_comes_to_an_end_and_says_so() {
    let fixed = CompareSettings { precision: None, blocks_max: 2, ..settings() };
    let mut lab = Lab { disturbed: (0..20).map(|block| (block, 1, 0.7)).collect(), ..Lab::default() };
    let search = compared(fixed, &mut lab);
    // Two more of the first, and none of the second: it does not get better.
    assert_eq!((search.blocks().len(), search.counted()), (4, 2));
    assert!(search.blocks().iter().filter(|block| block.counts()).all(Block::is_disturbed));
}

#[test]
fn a_trial_that_says_little_is_made_again_within_its_block() {
    let fixed = CompareSettings { precision: None, blocks_max: 1, ..settings() };
    let mut lab = Lab { disturbed: vec![(0, 1, 0.1)], ..Lab::default() };
    let search = compared(fixed, &mut lab);
    assert_eq!(search.blocks()[0].repeated(), 2, "one more of each load, and neither was better");
    assert_eq!(lab.kept.iter().filter(|asked| asked.is_again && asked.block == 0).count(), 2);
}

#[test]
fn what_was_measured_before_an_interrupt_or_an_error_is_kept_and_whole_blocks_count() {
    let stop = AtomicBool::new(false);
    let mut lab = Lab { stop_at: Some((13, &stop)), ..Lab::default() };
    let mut search = BlockSearch::new(settings());
    walk(&mut search, &mut lab, &stop).unwrap();
    assert_eq!((lab.kept.len(), search.counted()), (12, 2), "the thirteenth was cut short");
    let mut lab = Lab { fails_at: 8, ..Lab::default() };
    let mut search = BlockSearch::new(settings());
    assert!(walk(&mut search, &mut lab, &AtomicBool::new(false)).is_err());
    assert_eq!((lab.kept.len(), search.counted(), search.end()), (7, 1, None));
}

#[test]
fn a_block_without_a_canary_is_the_same_otherwise() {
    let orders = |without_canary| {
        let fixed = CompareSettings { precision: None, blocks_max: 3, without_canary, ..settings() };
        let mut lab = Lab::default();
        let search = compared(fixed, &mut lab);
        assert_eq!((search.counted(), search.blocks()[0].canary().is_some()), (3, !without_canary));
        assert_eq!(canaries(search.blocks()).len(), if without_canary { 0 } else { 3 });
        let trials = lab.kept.iter().filter(|asked| asked.arm.is_some());
        trials.map(|asked| (asked.block, asked.arm, asked.load)).collect::<Vec<_>>()
    };
    assert_eq!(orders(true), orders(false));
}

#[test]
fn without_the_servers_cpu_time_the_median_response_decides() {
    let mut search = BlockSearch::new(CompareSettings { blocks_max: 1, precision: None, ..settings() });
    while let Some(asked) = search.next(0) {
        let values = match asked.load {
            CompareLoad::Fixed => [(CompareMetric::ResponseP50Ns, 1e6)].into(),
            _ => [(CompareMetric::GoodputPerS, 1e3)].into(),
        };
        search.apply(&asked, Outcome { values, took_ns: 1, ..Outcome::default() }, 0);
    }
    assert_eq!(search.primary(CompareLoad::Fixed), Some(CompareMetric::ResponseP50Ns));
    assert_eq!(search.primary(CompareLoad::Saturated), Some(CompareMetric::GoodputPerS));
    assert!(!search.blocks()[0].is_disturbed(), "nobody kept an account");
}

#[test]
fn blocks_whose_canary_is_far_off_are_found() {
    let mut search = BlockSearch::new(CompareSettings { blocks_max: 8, precision: None, ..settings() });
    while let Some(asked) = search.next(0) {
        let off = if asked.block == 5 { 1.3 } else { 1.0 + 0.001 * asked.block as f64 };
        let values = [(CPU, 20_000.0 * off)].into();
        search.apply(&asked, Outcome { values, took_ns: 1, ..Outcome::default() }, 0);
    }
    assert_eq!(deviating(search.blocks()), [5]);
    assert!(deviating(&search.blocks()[..5]).is_empty(), "too few");
}

/// Two servers at once, on two sets of CPUs of which the second is slower.
struct DuetLab {
    /// CPU time of the second variant, and on the second set, in parts of the first's.
    ratio: f64,
    slower: f64,
    noise: Lab<'static>,
    /// What hits both at the same time.
    common: f64,
    /// Undisturbed shares of both in a placement (block, set of the baseline), if they are not all of it.
    disturbed: Vec<(u64, usize, [f64; 2])>,
    kept: Vec<(Asked, Outcome)>,
}

impl DuetLab {
    fn new(ratio: f64, slower: f64) -> Self {
        let noise = Lab { noise: 0.002, ..Lab::default() };
        Self { ratio, slower, noise, common: 0.0, disturbed: Vec::new(), kept: Vec::new() }
    }
}

impl Measure<BlockSearch> for DuetLab {
    type Measured = Outcome;

    fn measure(&mut self, asked: &Asked) -> Result<(Outcome, Outcome), CommandError> {
        // Of 30 % from trial to trial; of two at once the second has that of the first.
        if asked.place.is_none_or(|place| place.is_first) {
            self.common = 0.3 * self.noise.normal();
        }
        let (arm, set) = (asked.arm.unwrap_or(0), asked.place.map_or(0, |place| place.set));
        let factor = |is: bool, factor: f64| if is { factor } else { 1.0 };
        let own = (self.common + self.noise.noise * self.noise.normal()).exp();
        let ratio = factor(arm == 1, self.ratio) * factor(set == 1, self.slower) * own;
        let set_of_baseline = if arm == 0 { set } else { 1 - set };
        let is_of = |one: &&(u64, usize, [f64; 2])| (one.0, one.1) == (asked.block, set_of_baseline);
        let share = self.disturbed.iter().find(is_of).map_or(1.0, |one| one.2[arm]);
        let values = [(CPU, 50_000.0 * ratio)].into();
        let outcome =
            Outcome { values, clean_share: Some(share), says_little: share < 0.3, took_ns: TRIAL_NS / 2, bound: None };
        Ok((outcome.clone(), outcome))
    }

    fn keep(&mut self, asked: &Asked, outcome: Outcome) -> Result<(), CommandError> {
        self.kept.push((*asked, outcome));
        Ok(())
    }
}

fn duet(lab: &mut DuetLab, blocks_max: u64) -> BlockSearch {
    let loads = vec![CompareLoad::Fixed];
    let settings =
        CompareSettings { loads, blocks_max, precision: None, duet: Some(model::Duet::default()), ..settings() };
    let mut search = BlockSearch::new(settings);
    walk(&mut search, lab, &AtomicBool::new(false)).unwrap();
    search
}

#[test]
fn each_block_of_a_duet_has_both_variants_at_once_on_either_set_of_cpus() {
    let mut lab = DuetLab::new(1.0, 1.0);
    let search = duet(&mut lab, 8);
    assert_eq!((search.counted(), lab.kept.len()), (8, 8 * 5));
    for block in lab.kept.chunks(5) {
        assert_eq!((block[0].0.load, block[0].0.place), (CompareLoad::Canary, None));
        let places: Vec<(usize, Place)> =
            block[1..].iter().filter_map(|(asked, _)| Some((asked.arm?, asked.place?))).collect();
        let [(one, at), (other, beside), (again, swapped), (last, _)] = places[..] else { panic!("{places:?}") };
        assert_eq!((one, other, again, last), (beside.beside, at.beside, one, other));
        assert_eq!((at.set, beside.set, swapped.set), (0, 1, 1), "{places:?}");
        assert!(at.is_first && !beside.is_first && swapped.is_first);
    }
    let first_on_0: Vec<_> = lab.kept.chunks(5).filter_map(|block| block[1].0.arm).collect();
    assert!(first_on_0.contains(&0) && first_on_0.contains(&1), "{first_on_0:?}");
}

#[test]
fn a_slower_cpu_is_no_effect_as_the_sets_are_swapped_and_would_be_one_if_they_were_not() {
    let mut lab = DuetLab::new(1.0, 1.1);
    let search = duet(&mut lab, 12);
    let of = |pairs: &[(f64, f64)]| effect(pairs, 0.95).expect("pairs").ratio;
    let swapped = of(&search.pairs(1, CompareLoad::Fixed, CPU));
    assert!(
        (swapped.value - 1.0).abs() < 0.005 && swapped.low <= Some(1.0) && Some(1.0) <= swapped.high,
        "{swapped:?}"
    );
    assert_eq!(called(&search, 1).1, Call::Same);
    let value = |arm: usize, set: usize| -> Vec<f64> {
        let is_of = |(asked, _): &&(Asked, Outcome)| {
            asked.arm == Some(arm) && asked.place.is_some_and(|place| place.set == set)
        };
        lab.kept.iter().filter(is_of).map(|(_, outcome)| outcome.values[&CPU]).collect()
    };
    let unswapped: Vec<(f64, f64)> = value(0, 0).into_iter().zip(value(1, 1)).collect();
    assert!(of(&unswapped).low > Some(1.09), "{:?}", of(&unswapped));
    let position = of(&search.sets(CompareLoad::Fixed, CPU));
    assert!((position.value - 1.1).abs() < 0.005 && position.low > Some(1.09), "{position:?}");
}

#[test]
fn noise_that_hits_both_at_once_is_in_neither_the_effect_nor_its_interval() {
    let search = duet(&mut DuetLab::new(1.03, 0.8), 8);
    let (effect, call) = called(&search, 1);
    assert!((effect.ratio.value - 1.03).abs() < 0.005 && effect.sd_log < Some(0.01), "{effect:?}");
    assert_eq!(call, Call::Worse);
}

#[test]
fn a_duet_is_measured_again_where_one_was_disturbed_more_and_kept_where_both_were() {
    let mut lab = DuetLab::new(1.0, 1.0);
    lab.disturbed = vec![(1, 0, [0.2, 0.25]), (3, 1, [0.9, 0.7])];
    let search = duet(&mut lab, 6);
    let counts: Vec<bool> = search.blocks().iter().map(Block::counts).collect();
    assert_eq!(counts, [true, true, true, false, true, true, true]);
    assert!(lab.kept.iter().all(|(asked, _)| !asked.is_again), "none of two at once by itself");
    assert!(lab.kept.iter().filter(|(asked, _)| asked.block_before.is_some()).all(|(asked, _)| asked.block == 4));
    // Figures of which one rests on the undisturbed time and the other on all are not alike.
    let mut lab = DuetLab::new(1.0, 1.0);
    lab.disturbed = vec![(0, 0, [0.29, 0.31])];
    assert!(!duet(&mut lab, 2).blocks()[0].counts());
}
