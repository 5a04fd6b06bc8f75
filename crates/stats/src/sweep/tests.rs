//! Sweeps against made-up servers with noise, odd trials and a knee that is known.

use super::*;
use crate::testing::Noise;

const NOISE: f64 = 0.03;

fn closed(to: f64, seed: u64) -> SweepSettings {
    SweepSettings { loads: Vec::new(), from: 1.0, to, points: 8, iterations: 2, over_rate: false, seed }
}

/// A sweep that has ended: what it measured first, and how often it measured.
struct Swept {
    sweep: Sweep,
    first_pass: Vec<f64>,
    trials: usize,
}

impl Swept {
    /// Against `goodput(load, noise)`, which is all that is measured of it in closed loop.
    fn against(mut sweep: Sweep, seed: u64, mut goodput: impl FnMut(f64, &mut Noise) -> f64) -> Self {
        let mut noise = Noise::new(seed);
        let over_rate = sweep.settings.over_rate;
        let (mut first_pass, mut trials) = (Vec::new(), 0);
        while let Next::Measure { load, iteration } = sweep.next() {
            if iteration == 0 {
                first_pass.push(load);
            }
            trials += 1;
            let outcome = Outcome {
                goodput_per_s: goodput(load, &mut noise),
                offered_per_s: over_rate.then_some(load),
                good_share: 1.0,
            };
            sweep.apply(load, outcome);
        }
        assert_eq!(sweep.expected_measurements(), trials);
        Self { sweep, first_pass, trials }
    }

    /// Against a server of an exact goodput, with noise where it is not the rate offered.
    fn of(sweep: Sweep, seed: u64, exact: impl Fn(f64) -> f64) -> Self {
        let over_rate = sweep.settings.over_rate;
        Self::against(sweep, seed, |load, noise| match exact(load) {
            held if over_rate && held >= load => load,
            less => noise.jitter(less, NOISE),
        })
    }

    fn end(&self) -> RiseEnd {
        self.sweep.rise_end().expect("it has ended")
    }

    fn highest(&self) -> f64 {
        self.first_pass.iter().copied().fold(0.0, f64::max)
    }

    fn curve(&self) -> Vec<LoadPoint> {
        let point = |p: &Point| LoadPoint { load: p.load, goodput_per_s: p.goodput_per_s() };
        self.sweep.points.iter().map(point).collect()
    }
}

#[test]
fn pools_are_followed_past_saturation_and_no_further() {
    for workers in [1.0, 2.0, 4.0, 5.0, 16.0, 23.0, 64.0] {
        let (mut most, mut off_most, mut missed) = (0, 0.0_f64, 0);
        for seed in 0..60 {
            let swept = Swept::of(Sweep::new(closed(1024.0, seed)), seed, |n| 200.0 * n.min(workers));
            let first = &swept.first_pass;
            missed += usize::from(!saturated(&swept.sweep.points));
            assert!(first.iter().any(|n| *n >= 1.5 * workers), "{workers} {seed}: {first:?}");
            assert!(first.iter().all(|n| n.fract() == 0.0));
            most = most.max(first.len());
            let pool = fit_pool(&swept.curve()).unwrap();
            off_most = off_most.max((pool.knee / workers - 1.0).abs());
        }
        assert!(missed <= 2, "{workers}: {missed} of 60 plateaus not believed");
        assert!(most <= 14, "{workers}: {most} points");
        assert!(off_most < 0.15, "{workers}: knee off by {off_most}");
    }
}

#[test]
fn the_knee_is_filled_in_on_both_sides() {
    for seed in 0..60 {
        let first = Swept::of(Sweep::new(closed(1024.0, seed)), seed, |n| 200.0 * n.min(4.0)).first_pass;
        assert!(first.contains(&3.0) && (first.contains(&5.0) || first.contains(&6.0)), "{seed}: {first:?}");
    }
    // the ramp alone uses up the plan, and still the knee gets its points
    let first = Swept::of(Sweep::new(closed(1024.0, 1)), 1, |n| 200.0 * n.min(64.0)).first_pass;
    assert!(first.contains(&45.0) && first.contains(&91.0), "{first:?}");
}

#[test]
fn the_ramp_rises_and_the_repeats_are_shuffled_blocks() {
    let settings = SweepSettings { iterations: 3, ..closed(1024.0, 7) };
    let mut sweep = Sweep::new(settings);
    let mut order: Vec<Vec<f64>> = vec![Vec::new(); 3];
    while let Next::Measure { load, iteration } = sweep.next() {
        order[iteration].push(load);
        sweep.apply(load, Outcome { goodput_per_s: load.min(4.0), offered_per_s: None, good_share: 1.0 });
        if iteration > 1 {
            assert_eq!(sweep.expected_measurements(), 3 * order[0].len());
        }
    }
    assert_eq!(order[0][..5], [1.0, 2.0, 4.0, 8.0, 16.0]);
    assert_eq!(order[1][..3], [4.0, 8.0, 16.0], "the end rests on these");
    assert_eq!((order[0].len(), sweep.expected_measurements()), (8, 24));
    assert_ne!(order[1], order[2]);
    for block in &mut order {
        block.sort_by(f64::total_cmp);
    }
    assert_eq!(order[0], order[1]);
    assert_eq!(order[0], order[2]);
}

#[test]
fn two_cores_are_recognised() {
    // C = 175/s, D = 12 ms, soft: the published curve of a site on two cores
    let soft = |n: f64| ((0.012 / n).powi(8) + (1.0_f64 / 175.0).powi(8)).powf(-1.0 / 8.0);
    for seed in 0..60 {
        let swept = Swept::of(Sweep::new(closed(1024.0, seed)), seed, soft);
        assert!(swept.end() != RiseEnd::Reached && swept.first_pass.len() <= 13, "{seed}: {:?}", swept.first_pass);
        let knee = fit_pool(&swept.curve()).unwrap().knee;
        assert!((knee / 2.1 - 1.0).abs() < 0.15, "{seed}: {knee}");
    }
}

#[test]
fn a_fall_ends_the_ramp_as_soon_as_it_is_measured_twice() {
    for seed in 0..60 {
        let server = |n: f64| 100.0 * n.min(8.0) / (1.0 + 0.02 * (n - 8.0).max(0.0));
        let swept = Swept::of(Sweep::new(closed(1024.0, seed)), seed, server);
        assert!(swept.end() != RiseEnd::Reached && swept.highest() <= 64.0, "{seed}: {:?}", swept.first_pass);
    }
}

#[test]
fn a_rising_curve_is_followed_to_the_end() {
    for seed in 0..200 {
        let swept = Swept::of(Sweep::new(closed(256.0, seed)), seed, |n| 90.0 * n);
        assert_eq!(swept.first_pass, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0], "{seed}");
        assert_eq!(swept.end(), RiseEnd::Reached);
    }
    // 12 % a doubling is little, and still not nothing
    let rising = |seed| Swept::of(Sweep::new(closed(256.0, seed)), seed, |n| 90.0 * n.powf(0.165));
    let stopped = (0..400).filter(|seed| rising(*seed).highest() < 256.0).count();
    assert_eq!(stopped, 0, "of 400 stopped early");
}

/// One trial in `odd` of each load does something else, between a fifth and five times of what it should.
fn with_odd_trials(spread: f64, odd: f64) -> impl Fn(f64, &mut Noise) -> f64 {
    move |exact, noise| {
        let usual = noise.jitter(exact, spread).max(exact * 0.05);
        if noise.uniform() < odd { usual * 5f64.powf(2.0 * noise.uniform() - 1.0) } else { usual }
    }
}

/// A sweep up to 128 connections ended at 2, by one odd trial at 1.
#[test]
fn noise_and_odd_trials_end_no_rise_before_the_knee() {
    const SEEDS: u64 = 30;
    for (spread, odd) in [(0.03, 0.1), (0.1, 0.0), (0.1, 0.2), (0.3, 0.0), (0.3, 0.1)] {
        for knee in [16.0, 64.0, 300.0] {
            let (mut early, mut trials_most) = (0, 0);
            for seed in 0..SEEDS {
                let measured = with_odd_trials(spread, odd);
                let server = |n: f64, noise: &mut Noise| measured(200.0 * n.min(knee), noise);
                let swept = Swept::against(Sweep::new(closed(1024.0, seed)), seed, server);
                early += usize::from(swept.highest() < knee);
                trials_most = trials_most.max(swept.trials);
            }
            assert!(early <= 1, "{spread} {odd} {knee}: {early} of {SEEDS} ended early");
            // Eleven loads of the ramp and at most four put in, twice each, and no load more often than that.
            assert!(trials_most <= 30, "{spread} {odd} {knee}: {trials_most} trials");
        }
    }
}

#[test]
fn one_odd_trial_at_any_place_ends_nothing() {
    for at in 0..8 {
        for factor in [0.0, 0.05, 0.3, 0.8, 3.0, 8.0] {
            let mut trial = 0;
            let server = |n: f64, noise: &mut Noise| {
                trial += 1;
                noise.jitter(100.0 * n, 0.02) * if trial == at + 1 { factor } else { 1.0 }
            };
            let swept = Swept::against(Sweep::new(closed(128.0, 5)), 5, server);
            assert_eq!((swept.highest(), swept.end()), (128.0, RiseEnd::Reached), "trial {at} times {factor}");
            assert!(swept.trials <= 2 * (8 + 5), "{}", swept.trials);
        }
    }
}

#[test]
fn a_plateau_that_varies_wildly_takes_no_more_trials_than_a_curve_that_rises() {
    for seed in 0..60 {
        let wild = |n: f64, noise: &mut Noise| noise.jitter(200.0 * n.min(2.0), 0.4).max(10.0);
        let swept = Swept::against(Sweep::new(closed(128.0, seed)), seed, wild);
        assert!(swept.first_pass.len() >= HANDFUL && swept.trials <= 26, "{seed}: {:?}", swept.first_pass);
    }
}

#[test]
fn a_rate_is_bisected_round_the_capacity() {
    for seed in 0..60 {
        let settings = SweepSettings { from: 100.0, over_rate: true, ..closed(100_000.0, seed) };
        let swept = Swept::of(Sweep::new(settings), seed, |r| r.min(700.0));
        let first = &swept.first_pass;
        assert!(swept.end() == RiseEnd::NotHeld && first.len() <= 9, "{seed}: {first:?}");
        assert_eq!(first[..5], [100.0, 200.0, 400.0, 800.0, 1600.0], "{seed}");
        let fit = fit_rate(&swept.curve()).unwrap();
        assert!((fit.plateau_per_s / 700.0 - 1.0).abs() < 0.05, "{seed}: {fit:?}");
        assert!(fit.knee.is_some_and(|r| (560.0..=745.0).contains(&r)), "{seed}: {fit:?}");
    }
}

#[test]
fn rates_that_something_held_up_once_end_nothing() {
    for at in 0..7 {
        let mut trial = 0;
        let settings = SweepSettings { from: 100.0, over_rate: true, ..closed(25_600.0, 3) };
        // Two trials in a row, whatever they are of.
        let server = |rate: f64, _: &mut Noise| {
            trial += 1;
            if (at + 1..=at + 2).contains(&trial) { rate * 0.3 } else { rate.min(10_000.0) }
        };
        let swept = Swept::against(Sweep::new(settings), 3, server);
        assert!(swept.highest() >= 12_800.0, "{at}: {:?}", swept.first_pass);
    }
}

#[test]
fn a_rate_beyond_the_client_is_not_the_servers_limit() {
    let mut sweep = Sweep::new(SweepSettings { over_rate: true, iterations: 1, ..closed(1e6, 0) });
    let mut loads = Vec::new();
    while let Next::Measure { load, .. } = sweep.next() {
        loads.push(load);
        let offered = load.min(1000.0);
        sweep.apply(load, Outcome { goodput_per_s: offered, offered_per_s: Some(offered), good_share: 1.0 });
    }
    assert_eq!(sweep.rise_end(), Some(RiseEnd::ClientBehind));
    assert_eq!(loads.len(), 15, "1 to 4096: two past 1250, which are measured twice");
    assert_eq!(loads[13..], [2048.0, 4096.0]);
}

#[test]
fn a_narrow_range_gets_smaller_steps() {
    let narrow = Swept::of(Sweep::new(SweepSettings { from: 4.0, ..closed(16.0, 0) }), 0, |n| n);
    assert_eq!(narrow.first_pass, [4.0, 6.0, 8.0, 11.0, 16.0]);
    assert_eq!(narrow.end(), RiseEnd::Reached);
    let one = SweepSettings { from: 4.0, ..closed(4.0, 0) };
    assert_eq!(Swept::of(Sweep::new(one), 0, |n| n).first_pass, [4.0]);
}

#[test]
fn loads_of_a_list_are_all_measured_and_no_others() {
    let listed = SweepSettings { loads: vec![4.0, 8.0, 16.0, 300.0], iterations: 3, ..closed(300.0, 5) };
    let mut sweep = Sweep::new(listed.clone());
    let mut asked = Vec::new();
    while let Next::Measure { load, .. } = sweep.next() {
        assert_eq!(sweep.expected_measurements(), 12, "after {asked:?}");
        asked.push(load);
        // A plateau, and then a fall: neither ends it, and the knee gets no points of its own.
        let goodput_per_s = if load > 16.0 { 1.0 } else { 100.0 };
        sweep.apply(load, Outcome { goodput_per_s, offered_per_s: None, good_share: 1.0 });
    }
    assert_eq!((&asked[..4], sweep.rise_end()), (&listed.loads[..], Some(RiseEnd::Reached)));
    for block in asked.chunks(4) {
        let mut block = block.to_vec();
        block.sort_by(f64::total_cmp);
        assert_eq!(block, listed.loads);
    }
    let dead = Swept::of(Sweep::new(listed), 0, |_| 0.0);
    assert_eq!((dead.first_pass.len(), dead.trials, dead.end()), (4, 4, RiseEnd::NothingGood));
}

#[test]
fn a_dead_target_is_given_up() {
    let swept = Swept::of(Sweep::new(closed(1024.0, 0)), 0, |_| 0.0);
    assert_eq!((swept.first_pass.len(), swept.trials, swept.end()), (2, 4, RiseEnd::NothingGood));
}

#[test]
#[should_panic(expected = "was not asked for")]
fn an_outcome_nobody_asked_for_is_a_bug() {
    let outcome = Outcome { goodput_per_s: 1.0, offered_per_s: None, good_share: 1.0 };
    Sweep::new(closed(8.0, 0)).apply(3.0, outcome);
}
