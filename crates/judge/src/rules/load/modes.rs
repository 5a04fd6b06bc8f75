//! ST-04: bimodal goodput of the iterations.

use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{plural, rate};
use model::{FindingState, SweepEvidence};
use stats::RUNS_MIN;

/// Distance of the two groups in standard deviations within them.
const GAP_SD: f64 = 5.0;
/// A smaller difference is no other way of working, however sharp.
const GAP_SHARE: f64 = 0.03;
/// Fewer are outliers (ST-07).
const MODE_MIN: usize = 3;

pub(crate) const RULE: Rule = Rule {
    id: "ST-04",
    title: "bimodal goodput",
    detects: "The iterations fall into two groups, as when restarts place memory or threads differently.",
    fires: &[Fires::warning(
        "The best split of the iterations of a load into two groups of at least 3 leaves their means more than 5 \
             standard deviations and more than 3 % apart.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Iterations],
    conditions: "",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let found = sweep.points.iter().enumerate().find_map(|(at, point)| Some((at, modes(&point.iterations_per_s)?)));
    let Some((at, [low, high])) = found else { return Outcome::Pass };
    let message = format!(
        "{} at {} fall into two groups, about {} and about {}: their mean never occurs",
        plural(sweep.points[at].iterations_per_s.len() as u64, "iteration"),
        place(sweep, at),
        rate(low),
        rate(high)
    );
    let remedy = "restart the server between iterations (--restart) and use more: --iterations 12".to_owned();
    let figures = [("low_per_s", low), ("high_per_s", high), ("load", sweep.points[at].load)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

/// Means of the two groups, if there are two.
fn modes(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < RUNS_MIN {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    let squares = |group: &[f64]| group.iter().map(|value| (value - mean(group)).powi(2)).sum::<f64>();
    let within = |at: &usize| squares(&sorted[..*at]) + squares(&sorted[*at..]);
    let at = (MODE_MIN..=sorted.len() - MODE_MIN).min_by(|a, b| within(a).total_cmp(&within(b)))?;
    let [low, high] = [mean(&sorted[..at]), mean(&sorted[at..])];
    let sd = (within(&at) / (sorted.len() - 2) as f64).sqrt();
    (high - low > GAP_SD * sd && high - low > GAP_SHARE * low).then_some([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    fn sweep(iterations_per_s: &[f64]) -> SweepEvidence {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0)]);
        sweep.points[1].iterations_per_s = iterations_per_s.to_vec();
        sweep
    }

    #[test]
    fn two_groups_warn() {
        let found = finding(judged_sweep(&RULE, &sweep(&[199.0, 160.0, 201.0, 161.0, 200.0, 159.0])));
        assert_eq!(found.state, FindingState::Warning);
        let expected = "6 iterations at 2 connections fall into two groups, about 160/s and about 200/s: their mean \
                        never occurs";
        assert_eq!(found.message, expected);
    }

    #[test]
    fn one_group_a_stray_and_a_sharp_but_small_gap_do_not() {
        for values in [
            [199.0, 190.0, 201.0, 195.0, 205.0, 193.0],
            [199.0, 160.0, 201.0, 199.5, 200.0, 200.5],
            [199.0, 199.1, 200.9, 201.0, 199.05, 200.95],
        ] {
            assert_eq!(judged_sweep(&RULE, &sweep(&values)), Outcome::Pass, "{values:?}");
        }
        assert!(matches!(judged_sweep(&RULE, &sweep(&[200.0, 160.0])), Outcome::Unchecked(_)));
    }

    #[test]
    fn spread_of_one_kind_is_seldom_taken_for_two() {
        // A linear congruential generator: even values between 90 and 110.
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            90.0 + 20.0 * (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        let taken = (0..1000).filter(|_| modes(&[0; 6].map(|_| next())).is_some()).count();
        assert!(taken < 80, "{taken} of 1,000");
    }
}
