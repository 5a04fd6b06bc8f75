//! SA-04: goodput that falls past its peak.

use crate::facts::saturation::{FALLEN_SHARE, peak_index};
use crate::sweep::place;
use crate::{Check, Outcome, Rule};
use model::human::{percent, rate};
use model::{FindingState, SweepEvidence};

pub(crate) const RULE: Rule = Rule {
    id: "SA-04",
    title: "goodput falls past its peak",
    detects: "server that does less under more load",
    threshold: "goodput past the peak < 0.9 of the highest: note (plimsoll default)",
    data: "sweep of >= 2 loads",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    let (Some(peak), true) = (peak_index(points), points.len() >= 2) else {
        return Outcome::Unchecked("only one load measured");
    };
    let highest = points.iter().map(|point| point.goodput_per_s).fold(0.0, f64::max);
    let fallen = (peak + 1..points.len()).find(|at| points[*at].goodput_per_s < FALLEN_SHARE * highest);
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
    use crate::testing::{clean_sweep, finding};

    #[test]
    fn a_fall_is_noted_with_the_load_it_begins_at() {
        let found =
            finding(check(&clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 190.0), (8.0, 150.0), (16.0, 80.0)])));
        assert_eq!(found.state, FindingState::Note);
        let expected = "goodput falls from 8 connections on, to 80.0/s (40 % of the peak): overload makes this server \
                        slower";
        assert_eq!(found.message, expected);
    }

    #[test]
    fn a_plateau_passes_and_one_load_is_unchecked() {
        assert_eq!(check(&clean_sweep(&[(1.0, 100.0), (2.0, 200.0), (4.0, 185.0)])), Outcome::Pass);
        assert!(matches!(check(&clean_sweep(&[(1.0, 100.0)])), Outcome::Unchecked(_)));
    }
}
