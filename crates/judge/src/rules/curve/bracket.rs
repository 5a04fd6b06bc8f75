//! SA-02: how closely is the capacity known?

use crate::rules::saturation::held;
use crate::{Check, Outcome, Rule};
use model::human::{percent, rate};
use model::{FindingState, SweepEvidence};

/// The width that a search for a capacity aims at.
const WIDTH: f64 = 0.02;

pub(crate) const RULE: Rule = Rule {
    id: "SA-02",
    title: "coarse step",
    detects: "a capacity that lies anywhere between two rates, the last one held and the first one that was not",
    threshold: "the rates are more than 2 % apart (the catalogue's goal); a note, as it is a fact about the search",
    data: "a sweep over rates with one that was held below one that was not",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    if points.is_empty() {
        return Outcome::Unchecked("the sweep has no points");
    }
    if !sweep.over_rate {
        return Outcome::Pass; // a plateau over connections is no point between two loads
    }
    let Some(high) = points.iter().position(|point| !held(point)) else {
        return if points.len() < 2 { Outcome::Unchecked("one load is no curve") } else { Outcome::Pass };
    };
    let Some(low) = high.checked_sub(1) else {
        return Outcome::Unchecked("no rate was held");
    };
    let (low, high) = (points[low].load, points[high].load);
    let width = high / low - 1.0;
    if width <= WIDTH {
        return Outcome::Pass;
    }
    let message = format!(
        "the capacity lies between {} and {}, {} apart: read it as that range",
        rate(low),
        rate(high),
        percent(width)
    );
    let remedy = format!("look closer: --from {low:.0} --to {high:.0}");
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("low", low), ("high", high), ("width", width)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding};

    /// Rates of which the second and later were offered in full and came back as given.
    fn rates(curve: &[(f64, f64)]) -> SweepEvidence {
        let mut sweep = clean_sweep(curve);
        sweep.over_rate = true;
        for point in &mut sweep.points {
            point.evidence.cohort.planned = (point.load * 30.0) as u64;
        }
        sweep
    }

    #[test]
    fn the_range_is_named_and_a_close_one_is_silent() {
        let found = finding(check(&rates(&[(1000.0, 1000.0), (2000.0, 1999.0), (4000.0, 2100.0)])));
        assert_eq!(found.state, FindingState::Note);
        assert_eq!(found.message, "the capacity lies between 2,000/s and 4,000/s, 100 % apart: read it as that range");
        assert_eq!(found.remedy, "look closer: --from 2000 --to 4000");
        assert_eq!(check(&rates(&[(2000.0, 2000.0), (2030.0, 1950.0)])), Outcome::Pass);
    }

    #[test]
    fn connections_and_rates_that_were_all_held_pass() {
        assert_eq!(check(&clean_sweep(&[(1.0, 100.0), (2.0, 110.0)])), Outcome::Pass);
        assert_eq!(check(&rates(&[(1000.0, 1000.0), (2000.0, 2000.0)])), Outcome::Pass);
        assert!(matches!(check(&rates(&[(2000.0, 1500.0), (4000.0, 1500.0)])), Outcome::Unchecked(_)));
        assert!(matches!(check(&rates(&[(1000.0, 1000.0)])), Outcome::Unchecked(_)));
    }
}
