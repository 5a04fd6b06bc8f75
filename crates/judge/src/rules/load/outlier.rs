//! ST-07: outlier among the iterations.

use crate::sweep::place;
use crate::{Check, Outcome, Rule};
use model::human::rate;
use model::{FindingState, SweepEvidence};
use stats::RUNS_MIN;

/// In median absolute deviations, scaled as those of a normal distribution.
const DEVIATIONS: f64 = 3.0;
const NORMAL: f64 = 1.4826;
/// Iterations that agree closely have strays of no importance.
const SHARE: f64 = 0.05;

pub(crate) const RULE: Rule = Rule {
    id: "ST-07",
    title: "outlier",
    detects: "iteration disturbed by something else; reported, never dropped",
    threshold: "> 3 scaled median absolute deviations and > 5 % from the median: warning (plimsoll defaults)",
    data: "sweep with >= 6 iterations of a load",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    if sweep.points.iter().all(|point| point.iterations_per_s.len() < RUNS_MIN) {
        return Outcome::Unchecked("fewer than 6 iterations of each load");
    }
    let found = sweep.points.iter().enumerate().find_map(|(at, point)| Some((at, outlier(&point.iterations_per_s)?)));
    let Some((at, (which, centre))) = found else { return Outcome::Pass };
    let values = &sweep.points[at].iterations_per_s;
    let others: Vec<f64> = values.iter().enumerate().filter(|(i, _)| *i != which).map(|(_, value)| *value).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let message = format!(
        "iteration {} at {} had {}, the others about {}: mean {} with it, {} without",
        which + 1,
        place(sweep, at),
        rate(values[which]),
        rate(centre),
        rate(mean(values)),
        rate(mean(&others))
    );
    let remedy = "check what else ran then (points/ in the record), and measure again".to_owned();
    let figures = [("value_per_s", values[which]), ("median_per_s", centre), ("load", sweep.points[at].load)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

/// Position of the value that is furthest out, and the median; none when all are like each other.
fn outlier(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < RUNS_MIN {
        return None;
    }
    let centre = median(values);
    let off = |value: &f64| (value - centre).abs();
    let spread = NORMAL * median(&values.iter().map(off).collect::<Vec<_>>());
    let (which, furthest) = values.iter().enumerate().max_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
    (off(furthest) > DEVIATIONS * spread && off(furthest) > SHARE * centre).then_some((which, centre))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding};

    #[test]
    fn a_disturbed_iteration_is_told_with_and_without_it() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0)]);
        assert!(matches!(check(&sweep), Outcome::Unchecked(_)));
        sweep.points[1].iterations_per_s = vec![200.0, 202.0, 140.0, 198.0, 201.0, 199.0];
        let found = finding(check(&sweep));
        assert_eq!(found.state, FindingState::Warning);
        let expected = "iteration 3 at 2 connections had 140/s, the others about 200/s: mean 190/s with it, 200/s \
                        without";
        assert_eq!(found.message, expected);
        sweep.points[1].iterations_per_s = vec![200.0, 202.0, 192.0, 198.0, 201.0, 199.0];
        assert_eq!(check(&sweep), Outcome::Pass, "4 % off");
    }
}
