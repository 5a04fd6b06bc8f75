//! What the search does with servers and machines that are not as they should be.

use model::NS_PER_S as SECOND;
use stats::{
    CapacityOutcome, CapacityReason, CapacityResult, CapacitySearch, CapacitySettings, CapacityTimes, CapacityTrial,
    Obstacle, TrialPurpose,
};

const SETTINGS: CapacitySettings = CapacitySettings {
    from_per_s: 10.0,
    to_per_s: 100_000.0,
    start_per_s: 500.0,
    width: 0.03,
    times: CapacityTimes {
        short_ns: 3 * SECOND,
        full_ns: 6 * SECOND,
        overhead_ns: 3 * SECOND / 2,
        budget_ns: 3_600 * SECOND,
    },
    seed: 1,
};

/// Outcome of a trial on a server without noise.
fn outcome(trial: &CapacityTrial, capacity_per_s: f64) -> CapacityOutcome {
    CapacityOutcome {
        conditions: vec![true, trial.load_per_s <= capacity_per_s],
        achieved_per_s: trial.load_per_s.min(capacity_per_s),
        measured_ns: trial.duration_ns,
        took_ns: trial.duration_ns + SETTINGS.times.overhead_ns,
        ..CapacityOutcome::default()
    }
}

/// All trials of a search, whether they counted, and its result.
fn walked(
    settings: CapacitySettings,
    mut of: impl FnMut(&CapacityTrial) -> CapacityOutcome,
) -> (Vec<(CapacityTrial, bool)>, CapacityResult) {
    let mut search = CapacitySearch::new(settings);
    let mut all = Vec::new();
    while let Some(trial) = search.next() {
        assert_eq!(search.next(), Some(trial), "the same until it is answered");
        let counts = search.apply(&of(&trial));
        all.push((trial, counts));
        assert!(all.len() <= 1000, "it ends");
    }
    (all, search.result())
}

fn count(all: &[(CapacityTrial, bool)], purpose: TrialPurpose) -> usize {
    all.iter().filter(|(trial, _)| trial.purpose == purpose).count()
}

#[test]
fn without_noise_the_capacity_is_bracketed_with_few_trials() {
    for capacity in [12.0, 77.7, 499.0, 501.0, 3_333.0, 90_000.0] {
        let (all, result) = walked(SETTINGS, |trial| outcome(trial, capacity));
        let (low, high) = (result.low_per_s.unwrap(), result.high_per_s.unwrap());
        assert!(low <= capacity && capacity < high && high / low < 1.08, "{capacity}: {result:?}");
        assert_eq!((result.reason, result.is_confirmed), (CapacityReason::Bracketed, (true, true)), "{result:?}");
        assert_eq!((result.failed.as_slice(), result.backlog_grew, result.n), (&[1][..], false, all.len() as u64));
        assert_eq!(result.value_per_s, Some(low), "it got out what was offered");
        // a vote is two trials, as the third could not change anything
        let confirming = [TrialPurpose::ConfirmLow, TrialPurpose::ConfirmHigh].map(|of| count(&all, of));
        assert!(confirming.iter().all(|votes| (2..=5).contains(votes)), "{capacity}: {confirming:?}");
        assert!(count(&all, TrialPurpose::Narrow) <= 25, "{capacity}: {}", all.len());
        assert!(all.iter().all(|(trial, counts)| *counts && !trial.is_again));
        assert!(all.iter().enumerate().all(|(i, (trial, _))| trial.number == i as u64 + 1));
    }
}

#[test]
fn the_goal_is_never_met() {
    let (all, result) = walked(SETTINGS, |trial| outcome(trial, 1.0));
    assert_eq!((result.low_per_s, result.high_per_s, result.reason), (None, Some(10.0), CapacityReason::NeverMet));
    assert_eq!((result.value_per_s, result.more), (None, None));
    assert_eq!(count(&all, TrialPurpose::Settle), 2, "two full-length trials make sure of it");
}

#[test]
fn the_highest_load_allowed_holds() {
    let (all, result) = walked(SETTINGS, |trial| outcome(trial, 1e9));
    let bounds = (result.low_per_s, result.high_per_s, result.reason);
    assert_eq!(bounds, (Some(100_000.0), None, CapacityReason::RangeEnded));
    assert_eq!((count(&all, TrialPurpose::Settle), result.value_per_s), (2, Some(100_000.0)));
}

#[test]
fn a_client_that_offers_no_more_is_a_lower_bound() {
    let ceiling = 2_900.0;
    let (_, result) = walked(SETTINGS, |trial| {
        let obstacle = Obstacle::ClientCeiling { offered_per_s: ceiling };
        CapacityOutcome { obstacle: (trial.load_per_s > ceiling).then_some(obstacle), ..outcome(trial, 1e9) }
    });
    assert_eq!((result.high_per_s, result.reason), (None, CapacityReason::ClientCeiling));
    assert!(result.low_per_s.is_some_and(|low| (0.9 * ceiling..=ceiling).contains(&low)), "{result:?}");
}

/// A stall of the client is over in the next trial: the upper end that is known must not be thrown away for it.
#[test]
fn a_client_that_has_offered_more_is_not_at_its_ceiling() {
    let late = |offered_per_s| Some(Obstacle::ClientCeiling { offered_per_s });
    let mut has_stalled = false;
    let (all, result) = walked(SETTINGS, |trial| {
        // Of trials that narrow the first, at a load below one that was offered and failed.
        let stalls = trial.purpose == TrialPurpose::Narrow && !std::mem::replace(&mut has_stalled, true);
        CapacityOutcome { obstacle: late(trial.load_per_s).filter(|_| stalls), ..outcome(trial, 1_900.0) }
    });
    assert_eq!((result.reason, result.is_confirmed), (CapacityReason::Bracketed, (true, true)), "{result:?}");
    assert!(result.low_per_s <= Some(1_900.0) && result.high_per_s > Some(1_900.0), "{result:?}");
    let stalled = all.iter().position(|(_, counts)| !counts).unwrap();
    let (again, first) = (all[stalled + 1].0, all[stalled].0);
    assert!(again.is_again && (again.load_per_s, again.purpose) == (first.load_per_s, first.purpose), "{again:?}");
    assert_eq!((result.disturbed, all.iter().filter(|(_, counts)| !counts).count()), (0, 1), "it was not disturbed");
}

/// With no time left to ask again, one late trial made a ceiling of the client, and the upper end was thrown away.
#[test]
fn a_client_that_was_late_once_at_the_end_of_the_budget_is_not_at_its_ceiling() {
    let mut was_late_last = 0;
    for (budget_s, late) in (20..160).step_by(5).flat_map(|budget_s| (1..40).map(move |late| (budget_s, late))) {
        let times = CapacityTimes { budget_ns: budget_s * SECOND, ..SETTINGS.times };
        let (mut highest, mut is_late_below) = (0.0_f64, false);
        let (all, result) = walked(CapacitySettings { times, ..SETTINGS }, |trial| {
            let is_late = trial.number == late && trial.load_per_s <= highest;
            is_late_below |= is_late;
            highest = highest.max(trial.load_per_s);
            let obstacle = is_late.then_some(Obstacle::ClientCeiling { offered_per_s: trial.load_per_s / 2.0 });
            CapacityOutcome { obstacle, ..outcome(trial, 1_900.0) }
        });
        if is_late_below {
            assert_ne!(result.reason, CapacityReason::ClientCeiling, "{budget_s} s, trial {late}: {result:?}");
            was_late_last += u32::from(all.len() as u64 == late);
        }
    }
    assert!(was_late_last > 0, "in some of them it is the last that fits");
}

#[test]
fn a_client_that_can_no_longer_offer_what_it_has_offered_is_at_its_ceiling() {
    let (all, result) = walked(SETTINGS, |trial| {
        let is_late = trial.purpose != TrialPurpose::Bracket && trial.load_per_s > 1_500.0;
        let obstacle = is_late.then_some(Obstacle::ClientCeiling { offered_per_s: 1_500.0 });
        CapacityOutcome { obstacle, ..outcome(trial, 1_900.0) }
    });
    assert_eq!((result.high_per_s, result.reason), (None, CapacityReason::ClientCeiling), "{result:?}");
    assert!(result.low_per_s.is_some_and(|low| (1_400.0..=1_500.0).contains(&low)), "{result:?}");
    assert_eq!(all.iter().filter(|(_, counts)| !counts).count(), 4, "it was asked for three times more");
}

/// Whoever has no CPU sends late: that says nothing of what the client can offer.
#[test]
fn a_disturbed_trial_whose_client_was_late_is_asked_for_again() {
    let (all, result) = walked(SETTINGS, |trial| {
        let is_stolen = trial.number == 3;
        let obstacle = is_stolen.then_some(Obstacle::ClientCeiling { offered_per_s: 900.0 });
        CapacityOutcome { obstacle, clean_share: Some(if is_stolen { 0.0 } else { 1.0 }), ..outcome(trial, 9_000.0) }
    });
    assert_eq!((result.reason, result.disturbed), (CapacityReason::Bracketed, 1), "{result:?}");
    assert!(result.low_per_s <= Some(9_000.0) && result.high_per_s > Some(9_000.0), "{result:?}");
    let ((third, counted), (fourth, _)) = (all[2], all[3]);
    assert!(!counted && fourth.is_again && fourth.load_per_s == third.load_per_s, "{fourth:?}");
}

#[test]
fn a_client_that_offers_nothing_ends_it() {
    let obstacle = Some(Obstacle::ClientCeiling { offered_per_s: 0.0 });
    let (_, result) = walked(SETTINGS, |trial| CapacityOutcome { obstacle, ..outcome(trial, 1e9) });
    assert_eq!((result.low_per_s, result.high_per_s, result.n), (None, None, 0));
    assert_eq!(result.reason, CapacityReason::ClientCeiling);
}

#[test]
fn a_target_that_goes_away_leaves_what_was_found() {
    let (all, result) = walked(SETTINGS, |trial| {
        let obstacle = (trial.load_per_s > 3_000.0).then_some(Obstacle::TargetGone);
        CapacityOutcome { obstacle, ..outcome(trial, 1e9) }
    });
    assert_eq!((result.low_per_s, result.high_per_s), (Some(2_000.0), None));
    assert_eq!((result.reason, all.last().map(|(_, counts)| *counts)), (CapacityReason::TargetGone, Some(false)));
}

#[test]
fn a_server_that_gets_faster_under_the_search_is_no_bracket_as_any_other() {
    let mut is_faster = false;
    let (_, result) = walked(SETTINGS, |trial| {
        is_faster |= trial.purpose == TrialPurpose::ConfirmHigh;
        outcome(trial, if is_faster { 1_300.0 } else { 1_000.0 })
    });
    let (low, high) = (result.low_per_s.unwrap(), result.high_per_s.unwrap());
    assert_eq!(result.reason, CapacityReason::NonMonotone, "{result:?}");
    assert!(low <= 1_000.0 && high > 1_300.0, "widened over both: {result:?}");
}

#[test]
fn disturbed_trials_are_asked_for_again_and_count_in_the_end() {
    let (all, result) = walked(SETTINGS, |trial| {
        let clean_share = Some(if trial.number % 3 == 1 { 0.2 } else { 1.0 });
        CapacityOutcome { clean_share, ..outcome(trial, 1_234.0) }
    });
    assert!(result.low_per_s <= Some(1_234.0) && result.high_per_s > Some(1_234.0), "{result:?}");
    for pair in all.windows(2) {
        let ((before, counted), (after, _)) = (pair[0], pair[1]);
        assert_eq!(after.is_again, !counted);
        if !counted {
            assert_eq!((after.load_per_s, after.purpose), (before.load_per_s, before.purpose));
        }
    }
    assert_eq!(result.disturbed, all.iter().filter(|(_, counts)| !counts).count() as u64);
    // on a machine that is never quiet every fourth counts, by what was undisturbed of it
    let never = |trial: &CapacityTrial| CapacityOutcome { clean_share: Some(0.3), ..outcome(trial, 1_234.0) };
    let (all, result) = walked(SETTINGS, never);
    assert!(all.iter().take(4).map(|(_, counts)| *counts).eq([false, false, false, true]), "{all:?}");
    assert!(result.disturbed > 2 * result.n && result.low_per_s <= Some(1_234.0), "{result:?}");
}

#[test]
fn a_budget_that_ends_leaves_the_best_bracket_and_says_what_more_would_buy() {
    let budget = |seconds| CapacitySettings {
        times: CapacityTimes { budget_ns: seconds * SECOND, ..SETTINGS.times },
        ..SETTINGS
    };
    let mut last = f64::INFINITY;
    for seconds in [14, 30, 60, 300] {
        let (_, result) = walked(budget(seconds), |trial| outcome(trial, 1_234.0));
        let (low, high) = (result.low_per_s.unwrap(), result.high_per_s.unwrap());
        assert!(low <= 1_234.0 && 1_234.0 < high && high / low <= 1.05 * last, "{seconds}: {result:?}");
        assert!(result.spent_ns <= seconds * SECOND);
        last = high / low;
        if result.reason == CapacityReason::BudgetEnded {
            assert!(result.more.is_some_and(|more| more.ns > 0 && more.width == 0.03), "{result:?}");
        }
    }
    assert!(last < 1.05, "{last}");
    let (all, result) = walked(budget(1), |trial| outcome(trial, 1_234.0));
    assert_eq!((all.len(), result.reason), (0, CapacityReason::BudgetEnded));
    assert!(result.more.is_some_and(|more| more.ns > 100 * SECOND));
}

#[test]
fn a_growing_backlog_fails_a_trial_whose_conditions_hold() {
    let (_, result) = walked(SETTINGS, |trial| {
        let growth_per_s = (trial.load_per_s - 1_234.0).max(0.0);
        let backlog = (0..6).map(|tick| 100.0 + growth_per_s * f64::from(tick)).collect();
        CapacityOutcome { backlog, tick_ns: SECOND, ..outcome(trial, 1e9) }
    });
    assert!(result.backlog_grew && result.failed.is_empty(), "{result:?}");
    assert!(result.low_per_s.is_some_and(|low| (1_150.0..1_300.0).contains(&low)), "{result:?}");
}
