//! SA-04: goodput that falls past its peak.

use crate::facts::curve::fit_repeats;
use crate::facts::saturation::{FALLEN_SHARE, peak_index};
use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate};
use model::{FindingState, SweepEvidence};

pub(crate) const RULE: Rule = Rule {
    id: "SA-04",
    title: "goodput falls past its peak",
    detects: "The server did less under more load.",
    fires: &[Fires::note(
        "From a load past the peak up to the last one the goodput was below 90 % of the highest, and at the last \
             one it was lower by more than chance.",
    )],
    remarks: "Chance is judged by the number of levels, by the spread of the iterations and by the number of \
              responses.",
    applies: Applies::Always,
    needs: &[Need::Loads],
    conditions: "",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::UNMET;
    };
    let highest = points.iter().map(|point| point.goodput_per_s).fold(0.0, f64::max);
    // One load in the middle that is low is no overload.
    let stays_low = |at: &usize| points[*at..].iter().all(|point| point.goodput_per_s < FALLEN_SHARE * highest);
    let fallen = (peak + 1..points.len()).find(stays_low).filter(|_| stats::falls(&fit_repeats(sweep)));
    let Some(at) = fallen else { return Outcome::Pass };
    let lowest = points[at..].iter().map(|point| point.goodput_per_s).fold(f64::INFINITY, f64::min);
    let message = format!(
        "goodput falls from {} on, to {} ({} of the peak): overload makes this server slower",
        place(sweep, at),
        rate(lowest),
        percent(lowest / highest)
    );
    let remedy = format!("keep the load below {} by a connection limit or a queue in front", place(sweep, at));
    let figures = [("load", points[at].load), ("lowest_per_s", lowest), ("share", lowest / highest)];
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    #[test]
    fn a_fall_is_noted_with_the_load_it_begins_at() {
        let found = finding(judged_sweep(
            &RULE,
            &clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 190.0), (8.0, 150.0), (16.0, 80.0)]),
        ));
        assert_eq!(found.state, FindingState::Note);
        let expected = "goodput falls from 8 connections on, to 80.0/s (40 % of the peak): overload makes this server \
                        slower";
        assert_eq!(found.message, expected);
    }

    #[test]
    fn one_low_load_among_others_and_a_fall_within_chance_are_no_overload() {
        let curve = [(1.0, 100.0), (2.0, 200.0), (4.0, 150.0), (8.0, 198.0), (16.0, 199.0)];
        assert_eq!(judged_sweep(&RULE, &clean_sweep(&curve)), Outcome::Pass);
        let mut noisy = clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 195.0), (8.0, 178.0)]);
        assert!(matches!(judged_sweep(&RULE, &noisy), Outcome::Fired(_)));
        for point in &mut noisy.points {
            point.iterations_per_s = [0.93, 1.07].map(|noise| noise * point.goodput_per_s).to_vec();
        }
        assert_eq!(judged_sweep(&RULE, &noisy), Outcome::Pass);
    }

    #[test]
    fn a_plateau_passes_and_one_load_is_unchecked() {
        assert_eq!(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 185.0)])), Outcome::Pass);
        assert!(matches!(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0)])), Outcome::Unchecked(_)));
    }
}
