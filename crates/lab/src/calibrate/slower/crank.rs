//! crank (dotnet/crank): averages of iterations that `crank compare` shows, and the rule of its RegressionBot.

use super::{Answer, Halves, MARGIN};
use stats::mean;

/// Iterations that `--exclude 1` leaves out at either end.
const EXCLUDED: usize = 1;
/// Runs behind the standard deviation and the average, the last of which is the one that the next ones are compared with.
const HISTORY: usize = 7;
/// Runs of a window: one, two after it that are like it, and two after these that are not.
const WINDOW: usize = 5;

/// How far a run has to be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
    /// So many standard deviations of the history.
    Deviations(f64),
    /// This share of the average of the history.
    Share(f64),
}

/// Change of the averages, as a reader judges it to whom no more than 2 % matters.
pub(super) fn compare(Halves { baseline, variant }: &Halves) -> Answer {
    let change = average(baseline).map_or(f64::NAN, |base| average(variant).map_or(f64::NAN, |now| now / base - 1.0));
    Answer::of_all_trials(change > MARGIN, change < -MARGIN)
}

/// Average of the iterations without the highest and the lowest; none of so few that nothing is left.
fn average(iterations: &[f64]) -> Option<f64> {
    let mut ordered = iterations.to_vec();
    ordered.sort_by(f64::total_cmp);
    ordered.get(EXCLUDED..ordered.len().checked_sub(EXCLUDED)?).filter(|left| !left.is_empty()).map(mean)
}

/// Whether any place of the series is reported as a change for the worse, and whether any as one for the better.
pub(super) fn regression_bot(Halves { baseline, variant }: &Halves, threshold: Threshold) -> Answer {
    let runs = [&baseline[..], &variant[..]].concat();
    // An average may be that of a shorter history. The window that ends with the last run is left out.
    let first = if matches!(threshold, Threshold::Deviations(_)) { HISTORY - 1 } else { 0 };
    let places = first..runs.len().saturating_sub(WINDOW);
    let reported = || places.clone().filter_map(|place| changed_after(&runs, place, threshold));
    Answer::of_all_trials(reported().any(|change| change > 0.0), reported().any(|change| change < 0.0))
}

/// The change that is reported after the run at this place; none if nothing is.
fn changed_after(runs: &[f64], place: usize, threshold: Threshold) -> Option<f64> {
    let history = &runs[(place + 1).saturating_sub(HISTORY)..=place];
    let average = mean(history);
    let limit = match threshold {
        Threshold::Deviations(number) => {
            number * mean(&history.iter().map(|run| (run - average).powi(2)).collect::<Vec<_>>()).sqrt()
        }
        Threshold::Share(share) => share * average,
    };
    let off = |after: usize| runs[place + after] - runs[place];
    let is_over = |after: usize| off(after).abs() >= limit;
    let has_changed = !is_over(1) && !is_over(2) && is_over(3) && is_over(4) && off(3).signum() == off(4).signum();
    has_changed.then(|| off(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(baseline: &[f64], variant: &[f64]) -> Halves {
        Halves { baseline: baseline.to_vec(), variant: variant.to_vec() }
    }

    #[test]
    fn an_iteration_at_either_end_does_not_count() {
        let strays = halves(&[100.0, 900.0, 101.0, 99.0, 1.0], &[103.0, 104.0, 102.0, 900.0, 1.0]);
        let answer = compare(&strays);
        assert!(answer.is_worse && !answer.is_better, "103 is 3 % above 100");
        let fewer = halves(&[100.0; 5], &[98.1; 5]);
        assert_eq!(compare(&fewer), Answer::of_all_trials(false, false));
        assert!(compare(&halves(&[100.0; 5], &[97.9; 5])).is_better);
        assert_eq!((average(&[1.0, 2.0]), average(&[])), (None, None));
    }

    #[test]
    fn the_bot_reports_two_runs_that_are_off_after_two_that_are_not() {
        let quiet = [100.0, 101.0, 99.0, 100.0, 101.0, 99.0, 100.0, 100.0, 100.0];
        let share = Threshold::Share(0.02);
        let said = |variant: &[f64]| regression_bot(&halves(&quiet, variant), share);
        assert_eq!(said(&[103.0, 103.0, 103.0]), Answer::of_all_trials(true, false));
        assert_eq!(said(&[97.0, 97.0, 97.0]), Answer::of_all_trials(false, true));
        for (variant, why) in [
            ([103.0, 100.0, 103.0], "one run alone is off"),
            ([103.0, 97.0, 103.0], "they are off in different directions"),
            ([101.0, 101.0, 101.0], "they are off by less"),
        ] {
            assert_eq!(said(&variant), Answer::of_all_trials(false, false), "{why}");
        }
        assert_eq!(said(&[103.0, 103.0]), Answer::of_all_trials(false, false), "no run after the window");
    }

    /// Standard deviation of the seven runs up to the one that the next ones are compared with: the square root of 4 / 7.
    #[test]
    fn a_threshold_in_deviations_is_of_the_last_seven_runs() {
        let quiet = [500.0, 100.0, 101.0, 99.0, 100.0, 101.0, 99.0, 100.0, 100.0, 100.0];
        let said = |number: f64| {
            regression_bot(&halves(&quiet, &[102.0, 102.0, 102.0]), Threshold::Deviations(number)).is_worse
        };
        let deviations = 2.0 / (4.0_f64 / 7.0).sqrt();
        assert!(said(deviations - 0.01) && !said(deviations + 0.01));
    }
}
