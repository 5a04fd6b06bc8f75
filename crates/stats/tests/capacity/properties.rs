//! What holds whatever the trials say.

use model::NS_PER_S as SECOND;
use proptest::prelude::*;
use stats::{CapacityOutcome, CapacitySearch, CapacitySettings, CapacityTimes, CapacityTrial, Obstacle, TrialPurpose};

/// What a trial says, by chance.
#[derive(Clone, Copy, Debug)]
struct Said {
    held: bool,
    achieved_share: f64,
    clean_share: Option<f64>,
    ran_away: bool,
    obstacle: u8,
}

fn said() -> impl Strategy<Value = Said> {
    let clean_share = prop::option::of(0.0..1.0);
    (any::<bool>(), 0.0..1.1, clean_share, any::<bool>(), 0_u8..60).prop_map(
        |(held, achieved_share, clean_share, ran_away, obstacle)| Said {
            held,
            achieved_share,
            clean_share,
            ran_away: ran_away && !held,
            obstacle,
        },
    )
}

fn settings() -> impl Strategy<Value = CapacitySettings> {
    let budget_s = prop_oneof![Just(0_u64), 1_u64..400, Just(5_000_u64)];
    (1.0..1e4, 1.0..1e4, 1.0..1e8, 0.02..0.3, budget_s, any::<u64>()).prop_map(
        |(from_per_s, factor, start_per_s, width, budget_s, seed): (f64, f64, f64, f64, u64, u64)| {
            let times = CapacityTimes { budget_ns: budget_s * SECOND, ..CapacityTimes::default() };
            CapacitySettings { from_per_s, to_per_s: from_per_s * factor, start_per_s, width, times, seed }
        },
    )
}

fn outcome(trial: &CapacityTrial, said: Said, settings: &CapacitySettings) -> CapacityOutcome {
    let obstacle = match said.obstacle {
        0 => Some(Obstacle::TargetGone),
        1 | 2 => Some(Obstacle::ClientCeiling { offered_per_s: trial.load_per_s * said.achieved_share }),
        _ => None,
    };
    CapacityOutcome {
        conditions: vec![said.held],
        achieved_per_s: trial.load_per_s * said.achieved_share,
        ran_away: said.ran_away,
        obstacle,
        clean_share: said.clean_share,
        measured_ns: trial.duration_ns,
        took_ns: trial.duration_ns + settings.times.overhead_ns,
        ..CapacityOutcome::default()
    }
}

/// A server without noise, to its end; the bracket after each trial before its ends are confirmed, and the result's.
fn narrowed(settings: CapacitySettings, capacity_per_s: f64) -> (Vec<(f64, f64)>, (f64, f64)) {
    let mut search = CapacitySearch::new(settings);
    let mut brackets = Vec::new();
    while let Some(trial) = search.next() {
        let is_narrowing = matches!(trial.purpose, TrialPurpose::Bracket | TrialPurpose::Narrow);
        search.apply(&CapacityOutcome {
            conditions: vec![trial.load_per_s <= capacity_per_s],
            achieved_per_s: trial.load_per_s.min(capacity_per_s),
            measured_ns: trial.duration_ns,
            took_ns: trial.duration_ns + settings.times.overhead_ns,
            ..CapacityOutcome::default()
        });
        let is_next = search.next().is_some_and(|next| next.purpose == TrialPurpose::Narrow);
        if is_narrowing && is_next {
            let (low, high) = search.bracket();
            brackets.push((low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY)));
        }
    }
    let (low, high) = search.bracket();
    (brackets, (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_trials_say_the_search_keeps_its_bounds_and_ends(
        settings in settings(),
        said in prop::collection::vec(said(), 1..40),
    ) {
        let mut search = CapacitySearch::new(settings);
        let mut trials = 0;
        while let Some(trial) = search.next() {
            prop_assert!(settings.from_per_s <= trial.load_per_s && trial.load_per_s <= settings.to_per_s, "{trial:?}");
            prop_assert!(trial.duration_ns > 0);
            search.apply(&outcome(&trial, said[trials % said.len()], &settings));
            trials += 1;
            prop_assert!(trials <= 1000);
            prop_assert!(search.spent_ns() <= settings.times.budget_ns);
            let (low, high) = search.bracket();
            if let (Some(low), Some(high)) = (low, high) {
                prop_assert!(low < high, "{low} {high} after {trials}");
            }
        }
        let result = search.result();
        prop_assert_eq!(search.bracket(), (result.low_per_s, result.high_per_s));
        prop_assert!(result.n + result.disturbed <= trials as u64);
        prop_assert_eq!(result.value_per_s.is_some(), result.low_per_s.is_some());
        prop_assert!(result.value_per_s.is_none_or(f64::is_finite));
        prop_assert!(!(result.is_confirmed.0 && result.low_per_s.is_none()));
    }

    #[test]
    fn without_noise_the_bracket_only_narrows_and_rises_with_the_capacity(
        capacity in 50.0..50_000.0,
        start in 10.0..100_000.0,
        seed in any::<u64>(),
    ) {
        let times = CapacityTimes { budget_ns: 3_600 * SECOND, ..CapacityTimes::default() };
        let settings =
            CapacitySettings { from_per_s: 10.0, to_per_s: 1e6, start_per_s: start, width: 0.03, times, seed };
        let (brackets, (low, high)) = narrowed(settings, capacity);
        prop_assert!(low <= capacity && capacity < high && high / low < 1.1, "{low} {high}");
        for pair in brackets.windows(2) {
            prop_assert!(pair[0].0 <= pair[1].0 && pair[1].1 <= pair[0].1, "{pair:?}");
        }
        let (_, (higher_low, higher_high)) = narrowed(settings, 1.2 * capacity);
        prop_assert!(low < higher_low && high < higher_high, "{low} {high} {higher_low} {higher_high}");
    }
}
