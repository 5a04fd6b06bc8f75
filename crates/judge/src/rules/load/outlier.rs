//! ST-07: outlier among the iterations.

use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::rate;
use model::{FindingState, SweepEvidence};
use stats::{median, strays};

pub(crate) const RULE: Rule = Rule {
    id: "ST-07",
    title: "outlier",
    detects: "Something else disturbed an iteration, which is reported and never dropped.",
    fires: &[Fires::warning(
        "The goodput of an iteration is more than 3 scaled median absolute deviations and more than 5 % from the \
             median; or, in a comparison, the canary's CPU time in a block is, or one variant of a block stayed \
             disturbed more than another.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Iterations],
    conditions: "",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let found = sweep.points.iter().enumerate().find_map(|(at, point)| Some((at, outlier(&point.iterations_per_s)?)));
    let Some((at, (which, centre))) = found else { return Outcome::Pass };
    let values = &sweep.points[at].iterations_per_s;
    let others: Vec<f64> = values.iter().enumerate().filter(|(i, _)| *i != which).map(|(_, value)| *value).collect();
    let message = format!(
        "iteration {} at {} had {}, the others about {}: mean {} with it, {} without",
        which + 1,
        place(sweep, at),
        rate(values[which]),
        rate(centre),
        rate(stats::mean(values)),
        rate(stats::mean(&others))
    );
    let remedy = "check what else ran then (points/ in the record), and measure again".to_owned();
    let figures = [("value_per_s", values[which]), ("median_per_s", centre), ("load", sweep.points[at].load)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

/// Position of the value that is furthest out, and the median; none when all are like each other.
fn outlier(values: &[f64]) -> Option<(usize, f64)> {
    let centre = median(values);
    let off = |at: &usize| (values[*at] - centre).abs();
    let furthest = strays(values).into_iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    Some((furthest, centre))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    #[test]
    fn a_disturbed_iteration_is_told_with_and_without_it() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0)]);
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
        sweep.points[1].iterations_per_s = vec![200.0, 202.0, 140.0, 198.0, 201.0, 199.0];
        let found = finding(judged_sweep(&RULE, &sweep));
        assert_eq!(found.state, FindingState::Warning);
        let expected = "iteration 3 at 2 connections had 140/s, the others about 200/s: mean 190/s with it, 200/s \
                        without";
        assert_eq!(found.message, expected);
        sweep.points[1].iterations_per_s = vec![200.0, 202.0, 192.0, 198.0, 201.0, 199.0];
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass, "4 % off");
    }
}
