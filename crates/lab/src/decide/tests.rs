//! Only a disturbed machine excuses a failed check.

use super::account::{Account, Disturbance};
use super::{BUDGET, Decider, budget, side_by_side};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// A measurement that others disturbed so much, and which one of several it is.
struct Measured(f64, usize);

impl Account for Measured {
    fn disturbance(&self) -> Disturbance {
        Disturbance::new(self.0, "a backup")
    }
}

/// How often is measured when the check fails `failures` times, and with what the test fails in the end.
fn decided(share: f64, decider: &Decider, failures: usize) -> (usize, Option<String>) {
    let mut measured = 0;
    let measure = || {
        measured += 1;
        Measured(share, measured)
    };
    let check = |measured: &Measured| assert!(measured.1 > failures, "number {} is too small", measured.1);
    let outcome = catch_unwind(AssertUnwindSafe(|| decider.decide("case", measure, check)));
    (measured, outcome.err().map(|panic| panic.downcast_ref::<String>().cloned().expect("a text")))
}

#[test]
fn a_check_that_holds_is_measured_once_however_disturbed() {
    assert_eq!(decided(0.5, &Decider::with(MINUTE, || 0.0), 0), (1, None));
}

#[test]
fn on_a_quiet_machine_a_failed_check_is_never_repeated() {
    let (measured, failed) = decided(0.01, &Decider::with(MINUTE, || 0.0), 1);
    let expected = "case: 1.0 % of the CPU time taken by a backup; failed with: number 1 is too small";
    assert_eq!((measured, failed.as_deref()), (1, Some(expected)));
}

#[test]
fn after_a_disturbance_a_quiet_stretch_is_awaited_and_decides() {
    assert_eq!(decided(0.5, &Decider::with(MINUTE, || 0.0), 2), (3, None));
}

#[test]
fn without_a_quiet_stretch_within_the_budget_the_test_is_undecided() {
    let (measured, undecided) = decided(0.5, &Decider::with(Duration::from_nanos(1), || 0.5), 1);
    let expected = "undecided: case: 50.0 % of the CPU time taken by a backup; failed with: number 1 is too small";
    assert_eq!((measured, undecided.as_deref()), (1, Some(expected)));
}

#[test]
fn a_measurement_that_does_not_end_is_a_failed_check_of_its_case() {
    let decider = Decider::with(Duration::from_nanos(1), || 0.5);
    let measure = || -> Measured { panic!("it does not end") };
    let outcome = catch_unwind(AssertUnwindSafe(|| decider.decide("case", measure, |_| {})));
    let text = outcome.expect_err("it fails").downcast_ref::<String>().cloned().expect("a text");
    assert!(text.contains("case: ") && text.ends_with("failed with: it does not end"), "{text}");
}

#[test]
fn a_machine_that_is_never_quiet_costs_minutes_and_not_a_minute_for_each_test() {
    assert_eq!(budget(0), BUDGET);
    let all: Duration = (0..400).map(budget).sum();
    assert!(all < 7 * BUDGET, "{all:?}");
}

#[test]
fn the_account_of_a_record_is_that_of_its_worst_part() {
    let account = |share: f64| json!({ "disturbance": { "taken_share": share, "cause": "steal" } });
    let sweep = json!({ "points": [account(0.01), account(0.2), account(0.0)] });
    assert_eq!(sweep.disturbance(), Disturbance::new(0.2, "steal"));
    let observed =
        json!({ "observed": { "machine": { "cpus": 2, "steal_max": 0.03 }, "others": { "cpu_cores": 0.5 } } });
    assert_eq!(observed.disturbance(), Disturbance::new(0.25, "other programs"));
    let both = json!({ "observed": observed["observed"], "disturbance": account(0.01)["disturbance"] });
    assert_eq!(both.disturbance().share, 0.01, "what a run says itself stands before what it observed");
    assert_eq!(json!({ "disturbance": null }).disturbance().share, 0.0);
}

/// Of such a trial there is nothing in the record but its figures: the runs in it are those that count.
#[test]
fn a_comparison_that_measured_trials_again_was_disturbed() {
    let trial = |clean_share: f64| json!({ "counted": clean_share > 0.9, "clean_share": clean_share });
    let run = json!({ "disturbance": { "taken_share": 0.0, "cause": null } });
    let comparison = json!({ "runs": [run], "trials": [trial(0.25), trial(1.0)] });
    assert_eq!(comparison.disturbance().share, 0.75);
    assert_eq!(json!({ "runs": [run], "trials": [trial(1.0)] }).disturbance().share, 0.0);
}

/// CI named `faults_beside_idle_loads_are_found` with "a scoped thread panicked", and not the fault.
#[test]
fn a_case_that_fails_beside_others_is_told_in_its_own_words() {
    let done = AtomicUsize::new(0);
    let act = |case| {
        assert_ne!(case, 3, "case {case} is not found");
        done.fetch_add(1, Ordering::Relaxed);
    };
    side_by_side(2, [1, 2], act);
    assert_eq!(done.swap(0, Ordering::Relaxed), 2);
    let panic = catch_unwind(AssertUnwindSafe(|| side_by_side(2, [1, 3, 5, 7], act))).expect_err("one is not found");
    assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains("case 3 is not found")));
    assert_eq!(done.into_inner(), 3, "the others are looked for all the same");
}
