//! ST-03: goodput that varies between iterations.

use crate::facts::saturation::peak_index;
use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, plural, rate};
use model::{FindingState, SweepEvidence};
use stats::{RUNS_MIN, coefficient_of_variation};

const WARNING_CV: f64 = 0.03;
/// At the peak only. A single run with such a spread would be invalid; a sweep has repeated its peak, so that it is
/// known to within the range of its iterations: a bound on both sides.
const BOUND_CV: f64 = 0.10;

pub(crate) const RULE: Rule = Rule {
    id: "ST-03",
    title: "unstable between iterations",
    detects: "Goodput varied between iterations, so that peak and knee are partly chance.",
    fires: &[
        Fires::bound("The goodput of the iterations at the peak had a coefficient of variation of more than 10 %."),
        Fires::warning(
            "The goodput of the iterations at a load up to the peak had a coefficient of variation of more than 3 %.",
        ),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window],
    conditions: "a sweep with at least 2 iterations of each load up to the peak",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let Some(peak) = peak_index(&sweep.points) else {
        return Outcome::UNMET;
    };
    let variations: Vec<_> =
        sweep.points[..=peak].iter().map(|point| coefficient_of_variation(&point.iterations_per_s)).collect();
    let known = variations.iter().enumerate().filter_map(|(i, cv)| cv.map(|cv| (i, cv)));
    let unstable: Vec<_> = known.filter(|(_, cv)| *cv > WARNING_CV).collect();
    let Some((worst, worst_cv)) = unstable.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        let complete = variations.iter().all(Option::is_some);
        return if complete { Outcome::Pass } else { Outcome::Unchecked("a load up to the peak has no repeat") };
    };
    let peak_cv = variations[peak].unwrap_or(0.0);
    let (at, cv) = if peak_cv > BOUND_CV { (peak, peak_cv) } else { (worst, worst_cv) };
    let iterations = &sweep.points[at].iterations_per_s;
    let coarse = if iterations.len() < RUNS_MIN { ", a coarse estimate" } else { "" };
    let spread = format!("CV {} in {}{coarse}", percent(cv), plural(iterations.len() as u64, "iteration"));
    let (state, message) = if at == peak && cv > BOUND_CV {
        let low = iterations.iter().copied().fold(f64::INFINITY, f64::min);
        let high = iterations.iter().copied().fold(0.0, f64::max);
        (FindingState::Bound, format!("the peak is between {} and {}: {spread}", rate(low), rate(high)))
    } else {
        let others = match unstable.len() - 1 {
            0 => String::new(),
            n => format!(" (and {})", plural(n as u64, "other load")),
        };
        (FindingState::Warning, format!("goodput varies at {}{others}: {spread}", place(sweep, at)))
    };
    let figures = [
        ("cv", cv),
        ("cv_at_peak", peak_cv),
        ("load", sweep.points[at].load),
        ("iterations", iterations.len() as f64),
        ("points_fired", unstable.len() as f64),
    ];
    Outcome::fired(RULE.id, state, message, remedy(iterations.len()), figures)
}

fn remedy(iterations: usize) -> String {
    let more = RUNS_MIN.max(iterations.saturating_mul(2));
    format!("measure longer (-d), more often (--iterations {more}), or on a quieter machine")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    /// Peak at 4 connections, the third of four points.
    fn sweep() -> SweepEvidence {
        clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 201.0)])
    }

    #[test]
    fn a_load_that_varies_on_the_way_to_the_peak_warns() {
        let mut sweep = sweep();
        sweep.points[0].iterations_per_s = vec![94.0, 106.0];
        sweep.points[1].iterations_per_s = vec![120.0, 220.0];
        let found = finding(judged_sweep(&RULE, &sweep));
        assert_eq!(found.state, FindingState::Warning);
        assert_eq!(
            found.message,
            "goodput varies at 2 connections (and 1 other load): CV 42 % in 2 iterations, a coarse estimate"
        );
        assert!(found.remedy.contains("--iterations 6"), "{}", found.remedy);
        assert_eq!((found.evidence["load"], found.evidence["points_fired"]), (2.0, 2.0));
    }

    #[test]
    fn a_peak_that_varies_a_little_warns_and_a_lot_is_only_a_range() {
        let mut sweep = sweep();
        sweep.points[2].iterations_per_s = vec![195.0, 205.0];
        assert_eq!(finding(judged_sweep(&RULE, &sweep)).state, FindingState::Warning);
        sweep.points[1].iterations_per_s = vec![50.0, 290.0];
        sweep.points[2].iterations_per_s = vec![170.0, 230.0];
        let found = finding(judged_sweep(&RULE, &sweep));
        assert_eq!(found.state, FindingState::Bound);
        assert!(found.message.starts_with("the peak is between 170/s and 230/s: CV 21 %"), "{}", found.message);
    }

    #[test]
    fn six_iterations_are_no_coarse_estimate() {
        let mut sweep = sweep();
        sweep.points[2].iterations_per_s = vec![180.0, 220.0, 190.0, 210.0, 200.0, 200.0];
        let found = finding(judged_sweep(&RULE, &sweep));
        assert!(found.message.ends_with("in 6 iterations") && found.remedy.contains("--iterations 12"), "{found:?}");
    }

    #[test]
    fn silent_where_repeats_agree_and_past_the_peak() {
        let mut sweep = sweep();
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
        sweep.points[3].iterations_per_s = vec![101.0, 301.0];
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
    }

    #[test]
    fn one_iteration_is_unchecked_but_hides_no_other_load() {
        let mut sweep = sweep();
        sweep.points[0].iterations_per_s.truncate(1);
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
        sweep.points[1].iterations_per_s = vec![120.0, 220.0];
        assert_eq!(finding(judged_sweep(&RULE, &sweep)).state, FindingState::Warning);
        sweep.points.clear();
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }
}
